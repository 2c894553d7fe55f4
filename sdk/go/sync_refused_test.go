package skein

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/skein-im/skein/wire"
)

// refuseSyncs answers the next n Syncs that match with an error.
func (r *rig) refuseSyncs(n int, code wire.Code, retryMs uint32, match func(*wire.Sync) bool) {
	r.do(func() {
		r.onFrame = func(c *fakeConn, f *wire.ClientFrame) bool {
			s := f.GetSync()
			if s == nil || n == 0 || !match(s) {
				return false
			}
			n--
			e := wire.NewError(code, "refused")
			e.RetryAfterMs = retryMs
			reply(c, &wire.SyncDelta{Number: s.Number, Error: e})
			return true
		}
	})
}

func (r *rig) state() State {
	s, _ := r.c.State()
	return s
}

func (r *rig) syncs() []*wire.Sync {
	return frames(r.fake, func(f *wire.ClientFrame) *wire.Sync { return f.GetSync() })
}

// A refused Sync once stopped all receiving, until the connection was given up
// half a minute later.
func TestRefusedSyncIsAskedAgain(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.dial(WithBackoff(func(int) time.Duration { return 100 * time.Millisecond }))
		r.say(dm, "bob", "a")
		synctest.Wait()
		r.refuseSyncs(2, wire.CodeRateLimited, 3000, func(*wire.Sync) bool { return true })
		r.do(func() { r.onPush = func(*fakeConn, *wire.Entry) []*wire.Entry { return nil } })
		r.say(grp, "bob", "not pushed")
		r.do(func() { r.onPush = nil })
		broadcast(r.fake, &wire.Resync{})
		synctest.Wait()
		r.say(dm, "bob", "b")
		synctest.Wait()
		eq(t, "received meanwhile", r.events.messages(), []string{"a", "b"})
		broadcast(r.fake, &wire.Resync{}) // does not make it ask any sooner
		pause(3 * time.Second)
		eq(t, "syncs before the time", len(r.syncs()), 1)
		pause(100 * time.Millisecond)
		eq(t, "syncs after the first wait", len(r.syncs()), 2)
		pause(3100 * time.Millisecond)
		eq(t, "syncs after the second wait", len(r.syncs()), 3)
		eq(t, "received in the end", r.events.messages(), []string{"a", "b", "not pushed"})
		eq(t, "connections", r.connections(), 1)
		pause(time.Minute)
		eq(t, "syncs in peace", len(r.syncs()), 3)
		r.checkStore(dm)
		r.checkStore(grp)
	})
}

// The first Sync of a connection: what is pushed before its answer waits, as the
// answer may begin anew; the connection is kept.
func TestRefusedFirstSync(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.dial()
		r.sayMany(dm, "bob", 5)
		pause(time.Minute)
		r.end()
		r.do(func() {
			r.changes, r.noSync = r.changes[:1], true // the position is from nowhere: a reset
			r.onFrame = func(c *fakeConn, f *wire.ClientFrame) bool {
				if h := f.GetHello(); h != nil {
					r.hello(c, h)
					e := wire.NewError(wire.CodeUnavailable, "not now")
					e.RetryAfterMs = 1000
					reply(c, &wire.SyncDelta{Number: h.Sync.Number, Error: e})
					r.append(nil, &wire.Entry{
						Conversation: dm, Sender: "bob", Kind: wire.EntryKind_ENTRY_KIND_MESSAGE,
						Content: &wire.Content{Type: "text", Body: &wire.Content_Text{Text: "between"}},
					})
					return true
				}
				return false
			}
		})
		start := time.Now()
		r.dial(WithBackoff(func(int) time.Duration { return 0 }))
		eq(t, "time until connected", time.Since(start), time.Second)
		eq(t, "messages", r.events.messages(), []string{"between"})
		all := r.events.all()
		began := slices.IndexFunc(all, func(e Event) bool { _, ok := e.(*ResetEvent); return ok })
		came := slices.IndexFunc(all, func(e Event) bool { _, ok := e.(*MessageEvent); return ok })
		if began < 0 || came < began {
			t.Errorf("the message is event %d, the reset event %d", came, began)
		}
		eq(t, "connections", r.connections(), 2)
		r.checkStore(dm)
	})
}

func TestRefusedPage(t *testing.T) {
	const list = 250
	cold := func(t *testing.T, r *rig) {
		for i := range list {
			r.say(fmt.Sprintf("grp:g%03d", i), "bob", "old")
		}
	}
	paged := func(s *wire.Sync) bool { return s.Cursor != "" }
	all := func(t *testing.T, r *rig, want int) {
		t.Helper()
		got, _ := r.c.Conversations(bg)
		eq(t, "conversations", len(got), want)
		eq(t, "connections", r.connections(), 1)
	}
	t.Run("for now", func(t *testing.T) {
		inBubble(t, func(t *testing.T, r *rig) {
			cold(t, r)
			r.refuseSyncs(1, wire.CodeRateLimited, 2000, paged)
			r.dial(WithBackoff(func(int) time.Duration { return time.Millisecond }))
			r.say(dm, "bob", "new")
			pause(2 * time.Second)
			eq(t, "syncs before the time", len(r.syncs()), 1)
			pause(time.Second)
			all(t, r, list+1)
			eq(t, "syncs", len(r.syncs()), 3)
			eq(t, "messages", r.events.messages(), []string{"new"})
		})
	})
	t.Run("its cursor", func(t *testing.T) {
		inBubble(t, func(t *testing.T, r *rig) {
			cold(t, r)
			r.refuseSyncs(1, wire.CodeInvalidArgument, 0, paged)
			r.dial()
			pause(time.Second)
			all(t, r, list)
			eq(t, "the second", r.syncs()[1].Cursor, "")
		})
	})
	t.Run("its cursor again", func(t *testing.T) {
		inBubble(t, func(t *testing.T, r *rig) {
			cold(t, r)
			r.refuseSyncs(-1, wire.CodeInvalidArgument, 0, paged)
			r.dial()
			pause(time.Minute)
			all(t, r, 100)
			if n := len(r.syncs()); n > 4 {
				t.Errorf("%d syncs: it asks in a circle", n)
			}
			r.say(dm, "bob", "new")
			synctest.Wait()
			eq(t, "messages", r.events.messages(), []string{"new"})
		})
	})
}

// Any error in the fix range that belonged to something else once made the list begin anew.
func TestForeignErrorLeavesTheListAlone(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		for i := range 250 {
			r.say(fmt.Sprintf("grp:g%03d", i), "bob", "old")
		}
		r.do(func() {
			r.onFrame = func(c *fakeConn, f *wire.ClientFrame) bool {
				if f.GetSync().GetCursor() != "" {
					reply(c, wire.NewError(wire.CodeNotFound, "somebody typed into nowhere"))
				}
				return false
			}
		})
		r.dial()
		pause(time.Second)
		got, _ := r.c.Conversations(bg)
		eq(t, "conversations", len(got), 250)
		eq(t, "syncs", len(r.syncs()), 2)
	})
}

// A position the server refuses is given up, once on a connection.
func TestRefusedPosition(t *testing.T) {
	for name, stays := range map[string]bool{"once": false, "whatever it is": true} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, r *rig) {
				r.dial()
				r.sayMany(dm, "bob", 2)
				synctest.Wait()
				r.refuseSyncs(-1, wire.CodeInvalidArgument, 0, func(s *wire.Sync) bool { return stays || s.Position != "" })
				broadcast(r.fake, &wire.Resync{})
				pause(time.Second)
				eq(t, "syncs", len(r.syncs()), 2)
				if stays {
					eq(t, "state", r.state(), StateStopped)
					return
				}
				r.say(dm, "bob", "after")
				synctest.Wait()
				eq(t, "messages", r.events.messages(), []string{"m1", "m2", "after"})
				r.checkStore(dm)
			})
		})
	}
}
