package sdkconformance

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"time"

	"github.com/skein-im/skein/wire"
)

// begin is when what the scenarios tell was stored: an entry's time is its seq in
// seconds after it.
const begin = 1767225600000

// completer gives frames of a scenario the fields that they leave out, as
// sdk/conformance/README.md lists them.
type completer struct {
	conversation string
	timeline     string
	sync, pull   any // numbers of the last ones
	id           any // of the last Send
	call         asked
	// head is the highest seq that was told of the conversation.
	head uint64
}

// frame completes what the server sends.
func (c *completer) frame(f map[string]any) error {
	for kind, body := range f {
		m, ok := body.(map[string]any)
		if !ok {
			return fmt.Errorf("%s is not an object", kind)
		}
		if kind == "error" {
			numbered(m)
		}
		if e, ok := m["error"].(map[string]any); ok {
			numbered(e)
		}
		switch kind {
		case "welcome":
			c.welcome(m)
		case "push":
			return c.entries(m, "entries", "")
		case "syncDelta":
			return c.delta(m)
		case "range":
			return c.stretch(m)
		case "sendAck":
			c.ack(m)
		case "result":
			return c.result(m)
		case "sendError":
			put(m, "id", c.id)
		case "receipt", "typing", "signal", "floor":
			put(m, "conversation", c.conversation)
		case "myState":
			put(m, "conversation", c.conversation)
		}
	}
	return nil
}

// numbered gives an error the number of its code.
func numbered(e map[string]any) {
	name, _ := e["code"].(string)
	for _, c := range wire.Codes() {
		if string(c.Code) == name {
			put(e, "codeNumber", num(int64(c.Number)))
		}
	}
}

func (c *completer) tell(conversation string, seq uint64) {
	if conversation == c.conversation {
		c.head = max(c.head, seq)
	}
}

// put sets what is not set.
func put(m map[string]any, key string, value any) {
	if _, ok := m[key]; !ok && value != nil {
		m[key] = value
	}
}

func num(n int64) json.Number { return json.Number(fmt.Sprint(n)) }

func (c *completer) welcome(m map[string]any) {
	put(m, "version", num(1))
	put(m, "user", "alice")
	put(m, "session", "session-1")
	put(m, "timeline", c.timeline)
	c.timeline, _ = m["timeline"].(string)
	put(m, "serverTimeMs", num(time.Now().UnixMilli()))
	put(m, "heartbeat", map[string]any{"idleMs": num(30_000), "silenceMs": num(45_000), "deadMs": num(60_000)})
	rate := map[string]any{"burst": num(1000), "perSecond": num(1000)}
	put(m, "limits", map[string]any{
		"frameBytes": num(262_144), "contentBytes": num(65_536), "mentions": num(100), "pullEntries": num(500), "inFlight": num(128),
		"sends": rate, "marks": rate, "reads": rate, "calls": rate, "signals": rate, "serverFrameBytes": num(2 << 20),
		"extraKeys": num(16), "extraBytes": num(4096), "signalBytes": num(1024), "deviceConnections": num(32),
		"pulls": num(50), "pullsEntries": num(5000), "idempotencyKeys": num(1000),
	})
}

func (c *completer) delta(m map[string]any) error {
	put(m, "number", c.sync)
	put(m, "timeline", c.timeline)
	states, _ := m["conversations"].([]any)
	for _, s := range states {
		s, ok := s.(map[string]any)
		if !ok {
			return fmt.Errorf("a conversation is not an object")
		}
		put(s, "conversation", c.conversation)
		put(s, "count", s["seq"])
		if n := number(s["seq"]); n != nil {
			put(s, "lastAtMs", num(begin+n.Int64()*1000))
		}
		if n := number(s["seq"]); n != nil {
			c.tell(s["conversation"].(string), n.Uint64())
		}
		put(s, "firstSeq", num(1))
		if err := c.entries(s, "entries", s["conversation"].(string)); err != nil {
			return err
		}
		if err := c.entries(s, "touched", s["conversation"].(string)); err != nil {
			return err
		}
		if first := edge(s, 0); first != nil {
			put(s, "fromSeq", first)
		}
		c.last(s)
	}
	return nil
}

func (c *completer) stretch(m map[string]any) error {
	put(m, "number", c.pull)
	put(m, "conversation", c.conversation)
	conversation, _ := m["conversation"].(string)
	if err := c.entries(m, "entries", conversation); err != nil {
		return err
	}
	if err := c.entries(m, "touched", conversation); err != nil {
		return err
	}
	put(m, "firstSeq", edge(m, 0))
	put(m, "lastSeq", edge(m, -1))
	put(m, "head", m["lastSeq"])
	c.last(m)
	return nil
}

// edge is the seq of the first (0) or last (-1) entry, nil if there is none.
func edge(m map[string]any, i int) any {
	list, _ := m["entries"].([]any)
	if len(list) == 0 {
		return nil
	}
	if i < 0 {
		i = len(list) - 1
	}
	return list[i].(map[string]any)["seq"]
}

// last completes the name of an entry that is not told.
func (c *completer) last(m map[string]any) {
	e, ok := m["last"].(map[string]any)
	if !ok {
		return
	}
	put(e, "conversation", m["conversation"])
	conversation, _ := e["conversation"].(string)
	if n := number(e["seq"]); n != nil {
		put(e, "id", entryID(conversation, n.Uint64()))
		put(e, "storedAtMs", num(begin+n.Int64()*1000))
		put(e, "pos", e["seq"])
	}
}

// entries completes those of a list. A text stands for a message's content.
func (c *completer) entries(m map[string]any, key, conversation string) error {
	if conversation == "" {
		conversation = c.conversation
	}
	list, _ := m[key].([]any)
	for _, e := range list {
		e, ok := e.(map[string]any)
		if !ok {
			return fmt.Errorf("an entry is not an object")
		}
		n := number(e["seq"])
		if n == nil {
			return fmt.Errorf("the entry %s has no seq", show(e))
		}
		put(e, "conversation", conversation)
		conversation, _ := e["conversation"].(string)
		if text, ok := e["text"]; ok {
			delete(e, "text")
			e["content"] = map[string]any{"type": "text", "text": text}
		}
		put(e, "id", entryID(conversation, n.Uint64()))
		put(e, "storedAtMs", num(begin+n.Int64()*1000))
		put(e, "pos", e["seq"])
		c.tell(conversation, n.Uint64())
		switch {
		case e["event"] != nil:
			put(e, "kind", "ENTRY_KIND_EVENT")
		case e["target"] != nil:
			put(e, "kind", "ENTRY_KIND_RECALL")
		default:
			put(e, "kind", "ENTRY_KIND_MESSAGE")
		}
		if e["kind"] == "ENTRY_KIND_MESSAGE" {
			put(e, "count", e["seq"])
		}
		if _, ok := e["count"]; !ok {
			return fmt.Errorf("the entry %s needs a count", show(e))
		}
	}
	return nil
}

func (c *completer) ack(m map[string]any) {
	put(m, "id", c.id)
	put(m, "conversation", c.conversation)
	put(m, "count", m["seq"])
	put(m, "pos", m["seq"])
	if n := number(m["seq"]); n != nil {
		put(m, "storedAtMs", num(begin+n.Int64()*1000))
	}
}

// entryID is the id of an entry whose id no scenario names: a UUIDv7 of its time.
func entryID(conversation string, seq uint64) string {
	id := sha256.Sum256(fmt.Appendf(nil, "%s %d", conversation, seq))
	var ms [8]byte
	binary.BigEndian.PutUint64(ms[:], begin+seq*1000)
	copy(id[:6], ms[2:])
	id[6] = id[6]&0x0f | 0x70
	id[8] = id[8]&0x3f | 0x80
	return base64.StdEncoding.EncodeToString(id[:16])
}
