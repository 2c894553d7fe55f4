package skein

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/skein-im/skein/wire"
)

// The server was put back to an older copy of itself, and is past where it was
// before when the device returns: its position says nothing, the newest entry it
// has does. Without it the device shows none of the three new messages.
func TestServerPutBackAndPastItsEnd(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		c := r.dial()
		r.sayMany(dm, "bob", 4)
		if _, err := c.Conversation(dm).Send(bg, "mine, and lost"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		r.end()
		r.do(func() {
			r.journal[dm], r.changes, r.pos = r.journal[dm][:2], r.changes[:2], 2
		})
		pause(time.Minute)
		r.sayMany(dm, "bob", 3)
		r.dial()
		synctest.Wait()
		r.checkStore(dm)
		eq(t, "resets", len(eventsOf[*ResetEvent](r.events)), 1)
	})
}

// Told to sync by a server that went back under the connection, the device proves
// what it knew by what it knew then, not by what is pushed from then on; and it
// tells no mark before it is answered.
func TestServerPutBackUnderTheConnection(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.dial()
		r.sayMany(dm, "bob", 5)
		synctest.Wait()
		refused := 0
		var said []*wire.Newest
		r.do(func() {
			r.journal[dm], r.changes, r.pos = r.journal[dm][:2], r.changes[:2], 2
			r.read = map[string]uint64{}
			r.onFrame = func(c *fakeConn, f *wire.ClientFrame) bool {
				if f.GetReceived() != nil || f.GetRead() != nil {
					if refused < 3 {
						t.Error("a mark of the old history")
					}
					return false
				}
				s := f.GetSync()
				if s == nil || refused == 3 {
					return false
				}
				refused++
				said = append(said, s.Newest)
				reply(c, &wire.SyncDelta{Number: s.Number, Error: &wire.Error{Code: string(wire.CodeUnavailable), RetryAfterMs: 100}})
				return true
			}
			for _, c := range r.conns {
				reply(c, &wire.Resync{})
			}
		})
		pause(10 * time.Millisecond)
		r.sayMany(dm, "bob", 6) // pushed while the Sync is refused; it goes past what was known
		pause(time.Minute)
		r.checkStore(dm)
		eq(t, "resets", len(eventsOf[*ResetEvent](r.events)), 1)
		for i, n := range said {
			if n.GetSeq() != 5 || n.GetPos() != 5 {
				t.Errorf("Sync %d is proved by %v, want the 5th entry", i+1, n)
			}
		}
	})
}

// The server goes back while a Sync is unanswered. What was pushed before and waits
// for the answer is of the history that is gone, and nothing of it is shown in the
// one in its place, also where that is not so far yet.
func TestServerPutBackWhilePushesWait(t *testing.T) {
	for _, since := range []int{0, 1, 4} {
		t.Run(fmt.Sprint(since, " new messages"), func(t *testing.T) {
			inBubble(t, func(t *testing.T, r *rig) {
				r.dial()
				r.sayMany(dm, "bob", 5)
				synctest.Wait()
				var asked []*wire.Sync
				r.do(func() {
					r.onFrame = func(_ *fakeConn, f *wire.ClientFrame) bool {
						if s := f.GetSync(); s != nil {
							asked = append(asked, s)
							return true
						}
						return false
					}
					for _, c := range r.conns {
						reply(c, &wire.Resync{}) // pushes were dropped
					}
				})
				synctest.Wait()
				r.sayMany(dm, "bob", 2)
				synctest.Wait()
				r.do(func() {
					r.journal[dm], r.changes, r.pos = r.journal[dm][:2], r.changes[:2], 2
				})
				pause(time.Second) // nothing is stored at the same time in both
				r.sayMany(dm, "bob", since)
				r.do(func() {
					r.onFrame = nil
					for _, c := range r.conns {
						reply(c, &wire.Resync{})
						for _, s := range asked {
							reply(c, r.delta(s))
						}
					}
				})
				pause(time.Minute)
				r.sayMany(dm, "bob", 6)
				pause(time.Minute)
				r.checkStore(dm)
				eq(t, "resets", len(eventsOf[*ResetEvent](r.events)), 1)
			})
		})
	}
}

// A message is acknowledged while the pushes before it are lost. Before they are
// pulled the server is put back to where everything is that the device applied. What
// waits is of the history that is gone: it is not shown in the one in its place, and
// the message is sent again, also by a device that was started anew meanwhile.
func TestServerPutBackWhileAnAckWaits(t *testing.T) {
	for _, tt := range []struct {
		name    string
		restart bool
		resets  int
	}{{"the connection is lost", false, 1}, {"the device is started anew", true, 0}} {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, r *rig) {
				c := r.dial()
				r.sayMany(dm, "bob", 3)
				synctest.Wait()
				r.do(func() {
					r.onPush = func(*fakeConn, *wire.Entry) []*wire.Entry { return nil }
					r.onFrame = func(_ *fakeConn, f *wire.ClientFrame) bool { return f.GetPull() != nil }
				})
				r.sayMany(dm, "bob", 2)
				if _, err := c.Conversation(dm).Send(bg, "mine"); err != nil {
					t.Fatal(err)
				}
				pause(time.Second)
				if tt.restart {
					r.end()
				}
				r.do(func() {
					eq(t, "stored before the server goes back", len(r.journal[dm]), 6)
					r.onPush, r.onFrame = nil, nil
					r.journal[dm], r.changes, r.pos = r.journal[dm][:3], r.changes[:3], 3
					clear(r.byID)
					for _, c := range r.conns {
						c.close()
					}
				})
				r.sayMany(dm, "bob", 5)
				if tt.restart {
					r.dial()
				}
				pause(time.Minute)
				r.checkStore(dm)
				eq(t, "resets", len(eventsOf[*ResetEvent](r.events)), tt.resets)
				mine := 0
				for _, e := range r.journal[dm] {
					if e.Sender == "alice" {
						mine++
					}
				}
				eq(t, "messages of the device", mine, 1)
			})
		})
	}
}
