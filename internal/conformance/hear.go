package conformance

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/skein-im/skein/wire"
)

// note remembers which entries the connection has seen, and tells whether the
// frame is old news: a beacon about them, or the push of an entry that the
// preparations made (SPEC §6.1, §6.5), or a Ping that the case does not wait for,
// which is answered. The reader calls it.
func (c *conn) note(f *wire.ServerFrame) (old bool) {
	see := func(conversation string, seq uint64) bool {
		was := c.seen[conversation]
		c.seen[conversation] = max(was, seq)
		return seq > was
	}
	switch x := f.Frame.(type) {
	case *wire.ServerFrame_Push:
		old = true
		for _, e := range x.Push.Entries {
			fresh := see(e.Conversation, e.Seq)
			old = old && !fresh && strings.HasPrefix(e.Conversation, "me:")
		}
	case *wire.ServerFrame_SendAck:
		see(x.SendAck.Conversation, x.SendAck.Seq)
	case *wire.ServerFrame_Range:
		see(x.Range.Conversation, x.Range.Head)
	case *wire.ServerFrame_SyncDelta:
		for _, s := range x.SyncDelta.Conversations {
			see(s.Conversation, s.Seq)
		}
	case *wire.ServerFrame_Ping:
		if c.answers {
			return c.pong() == nil
		}
	case *wire.ServerFrame_Heads:
		old = true
		for _, h := range x.Heads.Heads {
			last, known := c.seen[h.Conversation]
			old = old && (!known || h.Seq <= last)
		}
	}
	return old
}

// mismatch is an answer that is not the expected one.
type mismatch struct {
	got string // what came
	why string // where it differs, "" if that is plain
}

func (m *mismatch) Error() string {
	if m.why == "" {
		return "got " + m.got
	}
	return "got " + m.got + "\n\t" + m.why
}

func got(h heard) error { return &mismatch{got: h.String()} }

// receive waits for the next frame, kept ones first.
func (c *conn) receive() heard {
	if len(c.kept) > 0 {
		h := c.kept[0]
		c.kept = c.kept[1:]
		return h
	}
	return c.fresh(time.Now().Add(c.patience))
}

var errNothing = errors.New("nothing came")

// fresh waits for a frame from the socket.
func (c *conn) fresh(deadline time.Time) heard {
	timer := time.NewTimer(time.Until(deadline))
	defer timer.Stop()
	select {
	case h, ok := <-c.in:
		if !ok {
			return heard{end: io.EOF}
		}
		return h
	case <-timer.C:
		return heard{end: errNothing}
	}
}

// expect takes the next frame, which must match.
func (c *conn) expect(v *vars, pattern any) error {
	h := c.receive()
	if h.end != nil {
		return got(h)
	}
	if err := v.match(pattern, h.value); err != nil {
		return &mismatch{got: h.String(), why: err.Error()}
	}
	return nil
}

// find waits for a frame that matches. Those before it are kept in their
// order, or dropped.
func (c *conn) find(v *vars, pattern any, drop bool) error {
	var passed []heard
	deadline := time.Now().Add(c.patience)
	for {
		var h heard
		if len(c.kept) > 0 {
			h, c.kept = c.kept[0], c.kept[1:]
		} else {
			h = c.fresh(deadline)
		}
		if h.end != nil {
			return &mismatch{got: h.String(), why: fmt.Sprintf("after %v", passed)}
		}
		if v.match(pattern, h.value) == nil {
			if !drop {
				c.kept = append(passed, c.kept...)
			}
			return nil
		}
		passed = append(passed, h)
	}
}

// nothing finds out by a Ping that no frame has come.
func (c *conn) nothing() error {
	if len(c.kept) > 0 {
		return &mismatch{got: fmt.Sprint(c.kept)}
	}
	ping, err := c.encode(`{"ping":{}}`)
	if err != nil {
		return err
	}
	if err := c.link.write(ping); err != nil {
		return &mismatch{got: "the end of the connection", why: err.Error()}
	}
	if h := c.fresh(time.Now().Add(c.patience)); h.end != nil || h.kind() != "pong" {
		return &mismatch{got: h.String(), why: "a Ping and its Pong were to find nothing before them"}
	}
	return nil
}

// closed expects the end of the connection.
func (c *conn) closed(number int, transport string) error {
	h := c.receive()
	switch {
	case h.end == nil || errors.Is(h.end, errNothing):
		return got(h)
	case transport == "ws" && number != 0 && h.code != number:
		return got(h)
	}
	c.over = true
	return nil
}
