package skein

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/skein-im/skein/wire"
)

func TestCloseFlushes(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		c := r.dial()
		r.say(dm, "bob", "x")
		synctest.Wait()
		if err := c.Conversation(dm).MarkRead(bg, 1); err != nil {
			t.Fatal(err)
		}
		for i := range 10 {
			if _, err := c.Conversation(grp).SendAsync(bg, fmt.Sprint(i)); err != nil {
				t.Fatal(err)
			}
		}
		start := time.Now()
		r.end()
		if d := time.Since(start); d > time.Second {
			t.Errorf("Close took %v", d)
		}
		eq(t, "stored", len(r.texts()), 11)
		eq(t, "read mark", r.read[dm], 1)
		eq(t, "bye", len(frames(r.fake, (*wire.ClientFrame).GetBye)), 1)
		if _, err := c.Conversation(dm).Send(bg, "x"); !errors.Is(err, ErrClosed) {
			t.Errorf("Send after Close: %v", err)
		}
		if err := c.Call(bg, "x/y", &wire.Ping{}, &wire.Pong{}); !errors.Is(err, ErrClosed) {
			t.Errorf("Call after Close: %v", err)
		}
		if err := c.Close(); err != nil {
			t.Errorf("second Close: %v", err)
		}
	})
}

// What was received in a group is told some 2 s late, so that much becomes one mark. Close
// tells it at once: it took those 2 s.
func TestCloseTellsMarksAtOnce(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.dial()
		r.say(grp, "bob", "x")
		synctest.Wait()
		start := time.Now()
		r.end()
		if d := time.Since(start); d >= 10*time.Millisecond {
			t.Errorf("Close took %v", d)
		}
		eq(t, "received", r.received, map[string]uint64{grp: 1})
		eq(t, "bye", len(frames(r.fake, (*wire.ClientFrame).GetBye)), 1)
	})
}

// Also what comes while Close still waits for an answer.
func TestCloseTellsMarksThatCome(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		c := r.dial()
		r.do(func() { // messages are not answered
			r.onFrame = func(_ *fakeConn, f *wire.ClientFrame) bool { return f.GetSend() != nil }
		})
		if _, err := c.Conversation(dm).SendAsync(bg, "x"); err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(time.Second, func() { r.say(grp, "bob", "y") })
		r.end()
		eq(t, "received", r.received, map[string]uint64{grp: 1})
	})
}

func TestCloseDoesNotWaitForever(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		c := r.dial()
		r.do(func() { r.onFrame = func(*fakeConn, *wire.ClientFrame) bool { return true } })
		p, _ := c.Conversation(dm).SendAsync(bg, "x")
		start := time.Now()
		r.end()
		if d := time.Since(start); d > 4*time.Second {
			t.Errorf("Close took %v", d)
		}
		if _, err := p.Wait(bg); !errors.Is(err, ErrClosed) {
			t.Errorf("Wait: %v", err)
		}
	})
}
