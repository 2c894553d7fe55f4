package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/coder/websocket"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/skein-im/skein/wire"
)

// heard is a frame, or how the connection ended.
type heard struct {
	frame *wire.ServerFrame
	text  string // canonical JSON
	value any
	end   error // then there is no frame
	code  int   // close code of a WebSocket
}

func (h heard) String() string {
	switch {
	case errors.Is(h.end, errNothing):
		return "nothing"
	case h.end != nil && h.code > 0:
		return fmt.Sprintf("the end of the connection (close code %d)", h.code)
	case h.end != nil:
		return fmt.Sprintf("the end of the connection (%v)", h.end)
	}
	return h.text
}

// kind names what the frame carries, as JSON does.
func (h heard) kind() string {
	m, _ := h.value.(map[string]any)
	for k := range m {
		return k
	}
	return ""
}

// conn is one connection of a transcript.
type conn struct {
	codec wire.Codec
	link  link
	// own: the server is Skein itself, whose bytes are settled beyond SPEC.
	own bool
	// patience is how long anything that must come may take.
	patience time.Duration
	in       chan heard // closed after the end
	// kept are frames that came before an expected one, or after.
	kept []heard
	// seen is the last entry of each conversation this connection knows of. It
	// belongs to the reader.
	seen    map[string]uint64
	ready   bool // it has been welcomed
	refused int  // status of a refused handshake
	over    bool // its end was expected
	answers bool // Pings of the server's are answered and not told
	pace    pace

	mu  sync.Mutex
	log []string // what was heard, all of it
}

func (c *conn) logf(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.log = append(c.log, clip(fmt.Sprintf(format, args...)))
}

func (r *run) dial(codecName string, seen map[string]uint64, deflate bool) (*conn, error) {
	c := &conn{codec: wire.JSON(), in: make(chan heard, 1<<14), seen: seen, own: r.server.Own, patience: r.patience, answers: !r.script.hearsPings()}
	if codecName == wire.ProtobufName {
		c.codec = wire.Protobuf()
	}
	var err error
	if r.variant.transport == "ws" {
		c.link, c.refused, err = dialWS(r.ctx, r.server.ws(), codecName, deflate)
	} else {
		c.link, err = dialTCP(r.ctx, r.server.TCP, codecName)
	}
	if c.refused != 0 {
		return c, nil
	}
	if err == nil {
		go c.reader()
	}
	return c, err
}

func (c *conn) reader() {
	defer close(c.in)
	for {
		raw, err := c.link.read()
		if err == nil {
			if err = c.decode(raw); err == nil {
				continue
			}
		}
		h := heard{end: err}
		var ce websocket.CloseError
		if errors.As(err, &ce) {
			h.code = int(ce.Code)
		}
		c.logf("%v", h)
		c.in <- h
		return
	}
}

// decode passes a message on as canonical JSON. What a server writes as JSON is
// canonical already (SPEC §1.3). How many entries share a Push, and whether it
// carries a position, depends on the moment (SPEC §7.7): here each entry has its own
// Push, without one.
func (c *conn) decode(raw []byte) error {
	f := &wire.ServerFrame{}
	if err := c.codec.Decode(raw, f); err != nil {
		return fmt.Errorf("the server sent what is no frame: %w: %q", err, raw)
	}
	text, err := wire.JSON().Append(nil, f)
	if err != nil {
		return err
	}
	if !c.codec.Binary() {
		if err := canonical(raw, text, c.own); err != nil {
			return err
		}
	}
	c.logf("%s", text)
	frames := []*wire.ServerFrame{f}
	if es := f.GetPush().GetEntries(); f.GetPush() != nil {
		frames = frames[:0]
		for _, e := range es {
			frames = append(frames, wire.NewServerFrame(&wire.Push{Entries: []*wire.Entry{e}}))
		}
	}
	for _, f := range frames {
		if c.note(f) {
			continue
		}
		if text, err = wire.JSON().Append(nil, f); err != nil {
			return err
		}
		value, err := parseJSON(string(text))
		if err != nil {
			return err
		}
		c.in <- heard{frame: f, text: string(text), value: value}
	}
	return nil
}

// pong answers a Ping of the server's.
func (c *conn) pong() error {
	b, err := c.encode(`{"pong":{}}`)
	if err != nil {
		return err
	}
	return c.link.write(b)
}

// encode turns the text of a frame into a message of the connection's codec.
func (c *conn) encode(text string) ([]byte, error) {
	if !c.codec.Binary() {
		return []byte(text), nil
	}
	f := &wire.ClientFrame{}
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal([]byte(text), f); err != nil {
		return nil, err
	}
	var tree map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &tree); err != nil {
		return nil, err
	}
	keepUnknown(f.ProtoReflect(), tree)
	return proto.Marshal(f)
}

// keepUnknown gives a message an unknown field for every name that it does not
// have, down to the frame's own fields.
func keepUnknown(m protoreflect.Message, tree map[string]json.RawMessage) {
	n := protowire.Number(2000)
	for name, raw := range tree {
		d := m.Descriptor().Fields().ByJSONName(name)
		var sub map[string]json.RawMessage
		switch {
		case d == nil:
			m.SetUnknown(protowire.AppendBytes(protowire.AppendTag(m.GetUnknown(), n, protowire.BytesType), raw))
			n++
		case d.Message() != nil && !d.IsList() && !d.IsMap() && d.Message().FullName() != "google.protobuf.Struct" && json.Unmarshal(raw, &sub) == nil:
			keepUnknown(m.Mutable(d).Message(), sub)
		}
	}
}

// canonical holds what a server wrote as JSON against the canonical mapping of the
// same frame (SPEC 1.3): Skein's bytes are just so; another server's have no white
// space, the fields in an order of its own, and maybe fields that are newer than
// this program.
func canonical(raw, text []byte, own bool) error {
	if own {
		if string(raw) != string(text) {
			return fmt.Errorf("the server wrote %s, canonical is %s (SPEC §1.3)", raw, text)
		}
		return nil
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, raw); err != nil || compact.Len() != len(raw) {
		return fmt.Errorf("the server wrote white space that means nothing: %s (SPEC §1.3)", raw)
	}
	got, err := parseJSON(string(raw))
	if err != nil {
		return err
	}
	want, err := parseJSON(string(text))
	if err != nil {
		return err
	}
	if at := differs("", want, got); at != "" {
		return fmt.Errorf("the server wrote %s, canonical is %s; they differ at %s (SPEC §1.3)", raw, text, at)
	}
	return nil
}

// differs finds the first place where got lacks something of want, or has another
// value.
func differs(at string, want, got any) string {
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			return at
		}
		for k, x := range w {
			y, ok := g[k]
			if !ok {
				return at + "." + k
			}
			if d := differs(at+"."+k, x, y); d != "" {
				return d
			}
		}
		return ""
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(w) {
			return at
		}
		for i := range w {
			if d := differs(fmt.Sprintf("%s[%d]", at, i), w[i], g[i]); d != "" {
				return d
			}
		}
		return ""
	}
	if want != got {
		return at + "."
	}
	return ""
}

// pace keeps a client within the rate of signals, the least of all (SPEC 1.5), so
// that cases which say much are not refused for that.
type pace struct {
	burst, perSecond float64
	left             float64
	at               time.Time
}

func (p *pace) set(r *wire.Rate) {
	p.burst, p.perSecond, p.left, p.at = float64(r.GetBurst()), r.GetPerSecond(), float64(r.GetBurst()), time.Now()
}

// wait takes one, and waits for it.
func (p *pace) wait(ctx context.Context) error {
	if p.burst == 0 || p.perSecond == 0 {
		return nil
	}
	now := time.Now()
	p.left, p.at = min(p.left+now.Sub(p.at).Seconds()*p.perSecond, p.burst), now
	if p.left--; p.left >= 1 { // one is left for the Ping that finds out whether nothing came
		return nil
	}
	timer := time.NewTimer(time.Duration((1 - p.left) / p.perSecond * float64(time.Second)))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
