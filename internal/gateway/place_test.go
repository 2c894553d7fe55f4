package gateway

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

func at(pos uint64) string { return im.Place{Era: 7, Pos: pos}.String() }

// looked is a session whose positions are looked up, and the store behind it.
type looked struct {
	*world
	t *testing.T
	c *scriptConn
	// pos is the journal's position, states what changed for ann in it.
	pos    uint64
	states []im.ConversationState
	during func() // the look
	reset  bool
	looks  []im.SyncQuery
}

func newLooked(t *testing.T) *looked {
	w := &looked{world: newWorld(t, func(o *Options) { o.PlaceEvery = 10 * time.Second }), t: t, pos: 5}
	w.logic.sync = func(q im.SyncQuery) (im.SyncResult, error) {
		if q.Heads {
			w.looks = append(w.looks, q)
			if w.during != nil {
				w.during()
			}
			return im.SyncResult{Position: at(w.pos), Conversations: w.states, Reset: w.reset}, nil
		}
		return im.SyncResult{Position: at(w.pos)}, nil
	}
	w.c = w.parked("ann", "1", wire.Protobuf())
	w.sync()
	return w
}

func (w *looked) sync() {
	w.c.say(wire.NewClientFrame(&wire.Sync{Number: 1}))
	synctest.Wait()
	w.c.heard()
}

// says stores an entry of a dm of ann's and pushes it unless it is lost.
func (w *looked) says(c im.ConversationID, seq uint64, lost bool) {
	w.pos++
	w.states = slices.DeleteFunc(w.states, func(st im.ConversationState) bool { return st.Conversation == c })
	w.states = append(w.states, im.ConversationState{Conversation: c, Head: im.Head{Seq: seq, Pos: w.pos}, First: 1})
	if !lost {
		w.g.ToUsers([]im.UserID{"ann"}, parcel(entry(c, seq, "x")))
		w.g.Flush()
	}
	synctest.Wait()
}

// positions waits until it is time, has something written, and returns the
// positions that are pushed then, and what is told with them.
func (w *looked) positions() (got []string) {
	time.Sleep(11 * time.Second)
	w.c.heard()
	w.c.say(wire.NewClientFrame(&wire.Ping{}))
	time.Sleep(time.Second)
	synctest.Wait()
	got = w.c.heard()
	if len(got) == 0 || got[0] != "pong" {
		w.t.Fatalf("heard %q", got)
	}
	return got[1:]
}

func (w *looked) want(what string, want ...string) {
	w.t.Helper()
	if got := w.positions(); !slices.Equal(got, want) {
		w.t.Errorf("%s: %q, want %q", what, got, want)
	}
}

// A look at the store ends with the session that it is for.
func TestALookEndsWithItsSession(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newLooked(t)
		ended := make(chan error, 1)
		w.logic.syncing = func(ctx context.Context) error {
			<-ctx.Done()
			ended <- ctx.Err()
			return ctx.Err()
		}
		time.Sleep(11 * time.Second)
		w.c.say(wire.NewClientFrame(&wire.Ping{}))
		synctest.Wait()
		w.g.Control(im.Control{User: "ann", Code: im.CodeSessionRevoked})
		select {
		case err := <-ended:
			if !errors.Is(err, context.Canceled) {
				t.Errorf("it ended with %v", err)
			}
		case <-time.After(time.Minute):
			t.Fatal("it was not begun")
		}
	})
}

// Where parcels come from other nodes a busy connection is told the position up to
// which Logic knows of nothing that was not told here; what was lost on the way is
// never passed.
func TestPlacesPassNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newLooked(t)
		other := im.DM("ann", "cem")
		w.says(dm, 1, false)
		w.says(other, 1, false)
		w.want("all was told", "push @"+at(7))
		if q := w.looks[0]; q.Position != at(5) || len(w.looks) != 1 {
			t.Errorf("%+v", w.looks)
		}
		w.want("nothing is new")
		w.states = nil
		w.says(dm, 2, false)
		w.says(other, 2, true)
		w.want("one was lost")
		if q := w.looks[len(w.looks)-1]; q.Position != at(7) {
			t.Errorf("asked from %v", q)
		}
		w.g.ToUsers([]im.UserID{"ann"}, im.Parcel{Head: &im.ParcelHead{Conversation: other, Seq: 2}})
		w.g.Flush()
		w.want("it was told by a beacon", "push @"+at(9))

		w.states = nil
		w.says(dm, 3, false)
		w.during = func() {
			w.during = nil
			for _, s := range w.g.users.Of("ann") {
				s.Misses()
			}
		}
		w.want("something was dropped meanwhile")
		w.want("and has not been synced")
		w.sync()
		w.says(dm, 4, false)
		w.during = func() { w.during = nil; w.c.say(wire.NewClientFrame(&wire.Sync{Number: 2})) }
		got := w.positions()
		if slices.Contains(got, "push @"+at(11)) && !slices.Contains(got[:1], "push @"+at(11)) {
			t.Errorf("a position behind a newer Sync: %q", got)
		}
		w.reset = true
		w.says(dm, 5, false)
		w.want("another history")
	})
}

// Who compares is looked nothing up for, and goes on from there.
func TestPlacesOfWhoCompares(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newLooked(t)
		digest := uint64(1)
		w.logic.compare = func(string, uint64) (bool, string, error) { return true, at(8), nil }
		for range 5 {
			time.Sleep(6 * time.Second)
			w.c.say(wire.NewClientFrame(&wire.Ping{Position: at(5), Digest: &digest}))
			synctest.Wait()
		}
		if len(w.looks) != 0 {
			t.Fatalf("looked up %+v", w.looks)
		}
		w.pos = 9
		w.want("later", "push @"+at(9))
		if w.looks[0].Position != at(8) {
			t.Errorf("%+v", w.looks)
		}
	})
}

// A receipt that was lost is told before a position that passes its mark.
func TestPlacesTellMarks(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newLooked(t)
		w.pos = 6
		w.states = []im.ConversationState{{Conversation: dm, Head: im.Head{Seq: 9, Pos: 2}, MarksOnly: true, First: 1, Read: 4, PeerReceived: 9, PeerRead: 8}}
		w.want("marks", "receipt dm:ann:bob ann 0 4", "receipt dm:ann:bob bob 9 8", "push @"+at(6))
	})
}

// Of a group counts what its members here were told, and the roster that is known here.
func TestPlacesOfGroups(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newLooked(t)
		state := func(seq, until uint64) {
			w.pos++
			w.states = []im.ConversationState{{Conversation: grp, Head: im.Head{Seq: seq, Pos: w.pos}, First: 1, Until: until}}
		}
		w.set("ann", grp)
		w.toGroup(grp, rosterEntry(grp, 1, im.EventGroupCreated, "ann"))
		state(1, 0)
		w.want("created", "push @"+at(6))
		w.toGroup(grp, entry(grp, 2, "x"))
		state(2, 0)
		w.want("told", "push @"+at(7))
		state(3, 0)
		w.want("lost")
		state(3, 3)
		if got := w.positions(); slices.Contains(got, "push @"+at(9)) {
			t.Errorf("removed, and nobody told here: %q", got)
		}
	})
}
