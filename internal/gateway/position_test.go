package gateway

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/skein-im/skein/internal/gateway/outgoing"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

// A position travels with what is pushed: behind it, once, and to those only who
// synced before it was read and missed nothing since (SPEC §7.7).
func TestPositionsTravelWithPushes(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		n, seq := 0, uint64(0)
		announce := func() {
			n++
			w.g.Position(fmt.Sprint("at", n))
		}
		say := func() string {
			seq++
			w.g.ToUsers([]im.UserID{"ann"}, parcel(entry(dm, seq, "x")))
			w.g.Flush()
			return fmt.Sprintf("push dm:ann:bob#%d=x", seq)
		}
		announce()
		a, b := w.parked("ann", "1", wire.Protobuf()), w.parked("ann", "2", wire.JSON())
		x := say()
		a.hears(t, x)
		b.hears(t, x)
		a.say(wire.NewClientFrame(&wire.Sync{Number: 1}))
		a.hears(t, "delta 1 p1")
		x = say()
		a.hears(t, x)
		b.hears(t, x)
		announce() // it may have been read before the answer
		x = say()
		a.hears(t, x)
		b.hears(t, x)
		announce() // this one was not
		a.hears(t) // nothing is written for its sake
		x = say()
		a.hears(t, x, "push @at3")
		b.hears(t, x) // never synced
		x = say()
		a.hears(t, x)
		b.hears(t, x)
		announce()
		a.say(wire.NewClientFrame(&wire.Ping{}))
		a.hears(t, "pong", "push @at4")
		b.say(wire.NewClientFrame(&wire.Sync{Number: 2, Position: "p0"}))
		b.hears(t, "delta 2 p1")
		announce()
		announce()
		x = say()
		a.hears(t, x, "push @at6")
		b.hears(t, x, "push @at6")

		// What was dropped, or may have been, is synced first.
		announce()
		w.g.users.Of("ann")[1].Compare() // the first session is the last of the list
		w.g.Flush()
		a.hears(t, "resync")
		announce()
		x = say()
		a.hears(t, x)
		b.hears(t, x, "push @at8")
		a.say(wire.NewClientFrame(&wire.Sync{Number: 3, Position: "at6"}))
		a.hears(t, "delta 3 p1")
		announce()
		announce()
		x = say()
		a.hears(t, x, "push @at10")
		b.hears(t, x, "push @at10")
	})
}

// A Sync that is dropped into, refused, not complete, or that knows of a
// membership that this gateway does not, lets no position be told.
func TestPositionsNeedAWholeSync(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		a := w.parked("ann", "1", wire.Protobuf())
		s := w.g.users.Of("ann")[0]
		var res im.SyncResult
		var during func()
		w.logic.sync = func(im.SyncQuery) (im.SyncResult, error) {
			if during != nil {
				during()
			}
			return res, nil
		}
		told := func(q *wire.Sync) bool {
			a.say(wire.NewClientFrame(q))
			synctest.Wait()
			return s.Is(outgoing.MayTell)
		}
		check := func(what string, q *wire.Sync, want bool) {
			t.Helper()
			if got := told(q); got != want {
				t.Errorf("%s: told %v, want %v", what, got, want)
			}
		}
		check("whole", &wire.Sync{Position: "p"}, true)
		during = s.Misses
		check("dropped into", &wire.Sync{Position: "p"}, false)
		during = nil
		res.Next = "more"
		check("the first page of a resume", &wire.Sync{Position: "p"}, false)
		res.Next = ""
		check("the last page of it", &wire.Sync{Position: "p", Cursor: "more"}, true)
		res.Next = "more"
		check("the first page of a list", &wire.Sync{}, true)
		s.Misses()
		check("a further page after a drop", &wire.Sync{Cursor: "more"}, false)
		res = im.SyncResult{Conversations: []im.ConversationState{{Conversation: grp}}}
		check("a group that nobody told here", &wire.Sync{Position: "p"}, false)
		w.set("ann", grp)
		w.g.verifier.user("ann")
		synctest.Wait()
		check("now it is known", &wire.Sync{Position: "p"}, true)
		w.logic.sync = func(im.SyncQuery) (im.SyncResult, error) { return im.SyncResult{}, im.Errorf(im.CodeUnavailable, "no") }
		check("refused", &wire.Sync{Position: "p"}, false)
	})
}
