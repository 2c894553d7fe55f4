package skein

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/skein-im/skein/wire"
)

// keepMine makes the fake keep what the user sets by calls.
func (r *rig) keepMine() {
	r.onCall = func(m *wire.Call) *wire.Result {
		var q wire.SetMyStateRequest
		if err := proto.Unmarshal(m.GetBody(), &q); err != nil || m.Method != "skein.v1.MessageService/SetMyState" {
			r.t.Errorf("%s: %v", m.Method, err)
		}
		s := &wire.MyState{Conversation: q.Conversation}
		if old := r.mine[q.Conversation]; old != nil {
			proto.Merge(s, old)
		}
		s.Revision++
		if q.Pinned != nil {
			s.Pinned = *q.Pinned
		}
		if q.Draft != nil {
			s.Draft = *q.Draft
		}
		if q.Folder != nil {
			s.Folder = strings.TrimSpace(*q.Folder)
		}
		if q.ClearedBelow != nil {
			s.ClearedBelow = max(s.ClearedBelow, *q.ClearedBelow)
		}
		s.Deleted = append(s.Deleted, ranges(q.Delete...)...)
		slices.SortFunc(s.Deleted, func(a, b *wire.SeqRange) int { return int(a.First) - int(b.First) })
		r.mine[q.Conversation] = s
		body, err := proto.Marshal(&wire.SetMyStateResponse{State: s})
		if err != nil {
			r.t.Error(err)
		}
		return &wire.Result{Response: &wire.Result_Body{Body: body}}
	}
}

// setElsewhere makes a change on the user's other device, of which this one is told at
// once or not.
func (r *rig) setElsewhere(s *wire.MyState, told bool) {
	r.do(func() { r.mine[s.Conversation] = s })
	if told {
		broadcast(r.fake, s)
		synctest.Wait()
	}
}

func (r *rig) checkMine(what string, want *wire.MyState) {
	r.t.Helper()
	s, err := r.c.Conversation(want.Conversation).Summary(bg)
	if err != nil || !proto.Equal(s.Mine, want) {
		r.t.Errorf("%s: %v, %v; want %v", what, s.Mine, err, want)
	}
}

// What the user sets here or on another device is known here, of two states the newer
// one, also after a restart and when it was set while this device was away.
func TestMyState(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.keepMine()
		r.say(dm, "bob", "hello")
		c := r.dial()
		synctest.Wait()
		r.checkMine("nothing set", &wire.MyState{Conversation: dm})
		got, err := c.Conversation(dm).SetMyState(bg, &wire.SetMyStateRequest{Pinned: proto.Bool(true), Conversation: "grp:other"})
		if err != nil || !got.GetPinned() || got.GetConversation() != dm {
			t.Fatalf("%v, %v", got, err)
		}
		pause(time.Second)
		r.checkMine("set here", &wire.MyState{Conversation: dm, Revision: 1, Pinned: true})
		r.setElsewhere(&wire.MyState{Conversation: dm, Revision: 2, Draft: "so"}, true)
		r.checkMine("set elsewhere", &wire.MyState{Conversation: dm, Revision: 2, Draft: "so"})
		broadcast(r.fake, &wire.MyState{Conversation: dm, Revision: 1, Pinned: true})
		broadcast(r.fake, &wire.MyState{Conversation: "grp:unknown", Revision: 1})
		pause(time.Second)
		r.checkMine("an older one", &wire.MyState{Conversation: dm, Revision: 2, Draft: "so"})
		told := eventsOf[*MyStateEvent](r.events)
		if len(told) != 2 || told[1].State.Draft != "so" {
			t.Errorf("%d events: %v", len(told), told)
		}
		r.end()
		r.setElsewhere(&wire.MyState{Conversation: dm, Revision: 3, Hidden: true}, false)
		r.say(dm, "bob", "again") // the fake tells a state only with an entry
		r.dial()
		pause(time.Second)
		r.checkMine("set while away", &wire.MyState{Conversation: dm, Revision: 3, Hidden: true})
		r.end()
		snap, err := r.store.Load(bg)
		if err != nil || len(snap.Conversations) != 1 || !snap.Conversations[0].Mine.GetHidden() {
			t.Errorf("stored: %+v, %v", snap, err)
		}
	})
}

// A conversation is hidden until the next message, and marked as unread until the user
// reads on, whatever the device heard first.
func TestHiddenUntilTheNextMessage(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.keepMine()
		r.say(dm, "bob", "one")
		r.dial()
		synctest.Wait()
		check := func(what string, hidden, unread bool) {
			t.Helper()
			s, err := r.c.Conversation(dm).Summary(bg)
			if err != nil || s.Hidden != hidden || s.MarkedUnread != unread {
				t.Errorf("%s: hidden %t, marked %t, %v", what, s.Hidden, s.MarkedUnread, err)
			}
		}
		check("nothing set", false, false)
		r.setElsewhere(&wire.MyState{Conversation: dm, Revision: 1, Hidden: true, HiddenCount: 1, Unread: true}, true)
		pause(time.Second)
		check("set", true, true)
		if err := r.c.Conversation(dm).MarkRead(bg, 1); err != nil {
			t.Fatal(err)
		}
		pause(time.Second)
		check("read on", true, false)
		r.say(dm, "bob", "two")
		pause(time.Second)
		check("a message came", false, false)
		// The message was there before the state that hides it was heard, and the other
		// way round.
		r.setElsewhere(&wire.MyState{Conversation: dm, Revision: 2, Hidden: true, HiddenCount: 1}, true)
		pause(time.Second)
		check("hidden before the last message", false, false)
		r.setElsewhere(&wire.MyState{Conversation: dm, Revision: 3, Hidden: true, HiddenCount: 2}, true)
		pause(time.Second)
		check("hidden after it", true, false)
	})
}

// A folder is in the list of each device, stays where something else is set, and ends.
func TestFolder(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.keepMine()
		r.say(dm, "bob", "hello")
		c := r.dial()
		synctest.Wait()
		v := c.Conversation(dm)
		if name, err := v.SetFolder(bg, "  Work "); err != nil || name != "Work" {
			t.Fatalf("%q, %v", name, err)
		}
		if _, err := v.SetMyState(bg, &wire.SetMyStateRequest{Pinned: proto.Bool(true)}); err != nil {
			t.Fatal(err)
		}
		r.checkMine("in a folder", &wire.MyState{Conversation: dm, Revision: 2, Pinned: true, Folder: "Work"})
		r.setElsewhere(&wire.MyState{Conversation: dm, Revision: 3, Folder: "Home"}, true)
		pause(time.Second)
		r.checkMine("moved elsewhere", &wire.MyState{Conversation: dm, Revision: 3, Folder: "Home"})
		r.end()
		snap, err := r.store.Load(bg)
		if err != nil || len(snap.Conversations) != 1 || snap.Conversations[0].Mine.GetFolder() != "Home" {
			t.Errorf("stored: %+v, %v", snap, err)
		}
		r.dial()
		synctest.Wait()
		if name, err := r.c.Conversation(dm).SetFolder(bg, ""); err != nil || name != "" {
			t.Errorf("%q, %v", name, err)
		}
		r.checkMine("in no folder", &wire.MyState{Conversation: dm, Revision: 4})
	})
}

// What the user has cleared is not shown: not in the list, not in any page of history,
// stored here or not, and what comes later is.
func TestClearedIsNotShown(t *testing.T) {
	for _, low := range []int{1, 5, 8} { // with all of it stored, a part, and the last message only
		inBubble(t, func(t *testing.T, r *rig) {
			r.keepMine()
			r.sayMany(dm, "bob", low)
			c := r.dial() // the window begins at the last one
			r.sayMany(dm, "bob", 8-low)
			pause(time.Second)
			v := c.Conversation(dm)
			for _, below := range []uint64{0, 1, 4, 8, 9} {
				if _, err := v.SetMyState(bg, &wire.SetMyStateRequest{ClearedBelow: &below}); err != nil {
					t.Fatal(err)
				}
				for before := uint64(0); before <= 9; before++ {
					for _, limit := range []int{1, 3, 50} {
						ms, err := v.History(bg, before, limit)
						end := uint64(9)
						if before > 0 {
							end = before
						}
						want := min(limit, int(end-min(end, max(below, 1))))
						if err != nil || len(ms) != want || want > 0 && (ms[0].Seq < below || ms[len(ms)-1].Seq != end-1) {
							t.Errorf("low %d, cleared below %d: %d before %d: %d messages, %v; want %d", low, below, limit, before, len(ms), err, want)
						}
					}
				}
				s, err := v.Summary(bg)
				if err != nil || (s.Last != nil) != (below < 9) {
					t.Errorf("cleared below %d: the list shows %v, %v", below, s.Last, err)
				}
			}
			r.say(dm, "bob", "new")
			pause(time.Second)
			if s, err := v.Summary(bg); err != nil || s.Last == nil || s.Last.Text != "new" {
				t.Errorf("%+v, %v", s, err)
			}
		})
	}
}
