package gateway

import (
	"context"
	"io"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

// parkConn is a scriptConn that parks. mu guards its fields too.
type parkConn struct {
	*scriptConn
	resume   func()
	nudged   bool
	parks    int
	received uint64
}

func newPark(frames ...*wire.ClientFrame) *parkConn {
	return &parkConn{scriptConn: newScript(wire.Protobuf(), frames...)}
}

func (c *parkConn) ReadMessage() ([]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.in) == 0 && !c.closed && !c.nudged {
		c.cond.Wait()
	}
	switch {
	case c.closed:
		return nil, io.EOF
	case len(c.in) == 0:
		c.nudged = false
		return nil, wire.ErrNudged
	}
	b := c.in[0]
	c.in = c.in[1:]
	c.received += uint64(len(b))
	return b, nil
}

func (c *parkConn) Received() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.received
}

func (c *parkConn) Park(resume func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || len(c.in) > 0 {
		return false
	}
	c.resume = resume
	c.parks++
	return true
}

func (c *parkConn) Nudge() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.resume == nil {
		c.nudged = true
		c.cond.Broadcast()
	}
}

func (c *parkConn) say(frames ...*wire.ClientFrame) {
	c.scriptConn.say(frames...)
	c.wake()
}

func (c *parkConn) Close(code wire.Code, reason string) error {
	defer c.wake()
	return c.scriptConn.Close(code, reason)
}

func (c *parkConn) wake() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.resume != nil {
		go c.resume()
		c.resume = nil
	}
}

// want compares what was heard since the last call, how often it has parked,
// and whether it is parked now.
func (c *parkConn) want(t *testing.T, parks int, parked bool, heard ...string) {
	t.Helper()
	synctest.Wait()
	if got := c.heard(); !slices.Equal(got, heard) {
		t.Fatalf("heard %q, want %q", got, heard)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.parks != parks || (c.resume != nil) != parked {
		t.Fatalf("parked %d times, now: %v; want %d, %v", c.parks, c.resume != nil, parks, parked)
	}
}

// parks is a session that has logged in and parked.
func (w *world) parks(user string) *parkConn {
	w.t.Helper()
	c := newPark(hello(user, "1", phone))
	go w.g.Serve(c)
	c.want(w.t.(*testing.T), 1, true, "welcome "+user)
	return c
}

func ping() *wire.ClientFrame { return wire.NewClientFrame(&wire.Ping{}) }

func TestWhoIsSilentParks(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		c := w.parks("ann")
		// Whoever speaks more often than every parkAfter keeps the goroutine.
		for range 20 {
			c.say(ping())
			c.want(t, 1, false, "pong")
			time.Sleep(parkAfter - 2*tickFor(&w.g.o))
		}
		time.Sleep(parkAfter + 2*w.g.o.Heartbeat.Every)
		c.want(t, 2, true)
		// Pushes do not need it.
		w.g.ToUsers([]im.UserID{"ann"}, parcel(entry(dm, 1, "x")))
		w.g.Flush()
		c.want(t, 2, true, "push dm:ann:bob#1=x")
		// What comes after a long silence is all done before it parks again: at once
		// if it was one message, else when it is silent again.
		time.Sleep(2 * parkAfter)
		c.say(wire.NewClientFrame(&wire.Received{Conversation: string(dm), Seq: 1}))
		c.want(t, 3, true)
		if got := len(w.logic.markList()); got != 1 {
			t.Errorf("%d marks", got)
		}
		time.Sleep(2 * parkAfter)
		c.say(text(string(dm), 1, "y"), ping())
		c.want(t, 3, false, "ack 1 dm:ann:bob 1", "pong")
		time.Sleep(parkAfter + 2*w.g.o.Heartbeat.Every)
		c.want(t, 4, true)
		c.say(wire.NewClientFrame(&wire.Bye{}))
		synctest.Wait()
		if got := w.g.Stats().Connections; got != 0 {
			t.Errorf("%d connections", got)
		}
	})
}

// TestParkedHeartbeat: a parked session is asked for a sign of life, and given
// up without one, like any other.
func TestParkedHeartbeat(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		c := w.parks("ann")
		o := &w.g.o.Heartbeat
		time.Sleep(o.Silence - time.Second)
		c.want(t, 1, true)
		time.Sleep(2 * time.Second)
		c.want(t, 1, true, "ping")
		c.say(wire.NewClientFrame(&wire.Pong{}))
		c.want(t, 2, true)
		time.Sleep(o.Dead - time.Second)
		c.want(t, 2, true, "ping", "ping", "ping")
		time.Sleep(2 * time.Second)
		c.want(t, 2, false, "error heartbeat_timeout")
		if closed, code := c.isClosed(); !closed || code != wire.CodeHeartbeatTimeout || w.g.Stats().Connections != 0 {
			t.Errorf("closed %v, %s; %d connections", closed, code, w.g.Stats().Connections)
		}
	})
}

// TestParkedSessionsEnd: whatever ends a session also ends a parked one.
func TestParkedSessionsEnd(t *testing.T) {
	for _, c := range []struct {
		name  string
		end   func(*world, *parkConn)
		heard []string
		code  wire.Code
	}{
		{"revoked", func(w *world, _ *parkConn) {
			w.g.Control(im.Control{User: "ann", Session: "s-1"})
		}, []string{"kick session_revoked"}, wire.Code(im.CodeSessionRevoked)},
		{"drain", func(w *world, _ *parkConn) {
			if err := w.g.Drain(context.Background(), time.Second); err != nil {
				w.t.Error(err)
			}
		}, []string{"go_away"}, wire.CodeGoingAway},
		{"close", func(w *world, _ *parkConn) { _ = w.g.Close() }, nil, wire.CodeGoingAway},
		{"the peer", func(_ *world, c *parkConn) { _ = c.Close("", "") }, nil, ""},
		{"slow", func(w *world, c *parkConn) {
			c.take(0)
			w.g.ToUsers([]im.UserID{"ann"}, parcel(entry(dm, 1, "x")))
			w.g.Flush()
			time.Sleep(w.g.o.Limits.Write + time.Second)
		}, nil, wire.Code(im.CodeSlowConsumer)},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := newWorld(t)
				conn := w.parks("ann")
				c.end(w, conn)
				conn.want(t, 1, false, c.heard...)
				if closed, code := conn.isClosed(); !closed || code != c.code || w.g.Stats().Connections != 0 {
					t.Errorf("closed %v, %q; %d connections", closed, code, w.g.Stats().Connections)
				}
			})
		})
	}
}
