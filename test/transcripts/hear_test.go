package transcripts

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
// preparations made (SPEC §6.1, §6.5). The reader calls it.
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
	case *wire.ServerFrame_Heads:
		old = true
		for _, h := range x.Heads.Heads {
			last, known := c.seen[h.Conversation]
			old = old && (!known || h.Seq <= last)
		}
	}
	return old
}

// receive waits for the next frame, kept ones first.
func (c *conn) receive() heard {
	if len(c.kept) > 0 {
		h := c.kept[0]
		c.kept = c.kept[1:]
		return h
	}
	return c.fresh(time.Now().Add(patience))
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
func (c *conn) expect(v vars, pattern any) error {
	h := c.receive()
	if h.end != nil {
		return fmt.Errorf("got %v", h)
	}
	if err := v.match(pattern, h.value); err != nil {
		return fmt.Errorf("got %v\n\t%w", h, err)
	}
	return nil
}

// find waits for a frame that matches. Those before it are kept in their
// order, or dropped.
func (c *conn) find(v vars, pattern any, drop bool) error {
	var passed []heard
	deadline := time.Now().Add(patience)
	for {
		var h heard
		if len(c.kept) > 0 {
			h, c.kept = c.kept[0], c.kept[1:]
		} else {
			h = c.fresh(deadline)
		}
		if h.end != nil {
			return fmt.Errorf("got %v\n\tafter %v", h, passed)
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
		return fmt.Errorf("there is %v", c.kept)
	}
	ping, err := c.encode(`{"ping":{}}`)
	if err != nil {
		return err
	}
	if err := c.link.write(ping); err != nil {
		return err
	}
	if h := c.fresh(time.Now().Add(patience)); h.end != nil || h.frame() != "pong" {
		return fmt.Errorf("got %v", h)
	}
	return nil
}

// closed expects the end of the connection.
func (c *conn) closed(number int, transport string) error {
	h := c.receive()
	switch {
	case h.end == nil || errors.Is(h.end, errNothing):
		return fmt.Errorf("got %v", h)
	case transport == "ws" && number != 0 && h.code != number:
		return fmt.Errorf("got %v", h)
	}
	c.over = true
	return nil
}
