package skein

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/skein-im/skein/wire"
)

func TestRecallErases(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		c := r.dial()
		r.say(dm, "bob", "oops")
		r.do(func() {
			r.append(nil, &wire.Entry{Conversation: dm, Sender: "bob", Kind: wire.EntryKind_ENTRY_KIND_RECALL, Target: 1})
		})
		synctest.Wait()
		rec := eventsOf[*RecallEvent](r.events)
		if len(rec) != 1 || rec[0].Target != 1 || rec[0].By != "bob" {
			t.Errorf("recalls = %+v", rec)
		}
		ms, _ := c.Conversation(dm).History(bg, 0, 10)
		if !ms[0].Recalled || ms[0].Text != "" {
			t.Errorf("message = %+v, want it erased", ms[0])
		}
		r.checkStore(dm)
	})
}

// An event of a later server has its place in the conversation, and no effect.
func TestUnknownEventKeepsItsPlace(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		c := r.dial()
		r.say(grp, "bob", "before")
		r.do(func() {
			r.append(nil, &wire.Entry{Conversation: grp, Kind: wire.EntryKind_ENTRY_KIND_EVENT, Event: &wire.Event{Type: 99}})
		})
		r.say(grp, "bob", "after")
		synctest.Wait()
		eq(t, "messages", r.events.messages(), []string{"before", "after"})
		s, err := c.Conversation(grp).Summary(bg)
		eq(t, "err", err, nil)
		eq(t, "last applied", s.High, 3)
		eq(t, "member", s.Member, true)
		r.checkStore(grp)
	})
}

func TestContactEvents(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		c := r.dial()
		r.do(func() {
			r.append(nil, &wire.Entry{
				Conversation: "me:alice", Kind: wire.EntryKind_ENTRY_KIND_EVENT,
				Event: &wire.Event{Type: wire.EventType_EVENT_TYPE_CONTACT_REQUESTED, Users: []string{"bob"}, Text: "hi"},
			})
		})
		synctest.Wait()
		ev := eventsOf[*ContactEvent](r.events)
		if len(ev) != 1 || ev[0].User != "bob" || ev[0].Event.Text != "hi" {
			t.Errorf("events = %+v", ev)
		}
		list, _ := c.Conversations(bg)
		eq(t, "the own feed is no conversation", len(list), 0)
	})
}

func TestSlowHandlerLosesNothing(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		c, err := Dial(bg, "tcp://fake", WithToken("tok"), WithStore(r.store), WithDialer(r.dialer()))
		if err != nil {
			t.Fatal(err)
		}
		r.sayMany(dm, "bob", 1000)
		synctest.Wait()
		r.do(func() {
			r.append(nil, &wire.Entry{Conversation: dm, Sender: "bob", Kind: wire.EntryKind_ENTRY_KIND_RECALL, Target: 900})
		})
		var got []string
		for e := range c.Events(bg) {
			if m, ok := e.(*MessageEvent); ok {
				time.Sleep(10 * time.Millisecond)
				got = append(got, m.Message.Text)
				if len(got) == 1000 {
					break
				}
			}
		}
		eq(t, "first", got[0], "m1")
		eq(t, "last", got[999], "m1000")
		eq(t, "a recalled one is told without its content", got[899], "")
		c.Close()
		left, err := r.store.Feed(bg, 0, 10)
		if err != nil || len(left) != 1 { // the recall
			t.Errorf("%d events left, want 1", len(left))
		}
	})
}

// However fast they are handled, at most 64 events come again after a crash: the
// one before them is saved as handled by then.
func TestFewEventsComeAgain(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		c, err := Dial(bg, "tcp://fake", WithToken("tok"), WithStore(r.store), WithDialer(r.dialer()))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		r.sayMany(dm, "bob", 300)
		synctest.Wait()
		most := uint64(0)
		for e := range c.Events(bg) {
			m, ok := e.(*MessageEvent)
			if !ok {
				continue
			}
			// No time passes here: nothing is saved for being old.
			left, err := r.store.Feed(bg, 0, 1)
			if err != nil || len(left) == 0 {
				t.Fatalf("%s is saved as handled while its handler runs: %v", m.Message.Text, err)
			}
			most = max(most, m.Message.Seq-left[0].Seq+1)
			if m.Message.Text == "m300" {
				break
			}
		}
		eq(t, "told, and not saved as handled", most, 64)
	})
}

// Events not handled when the process ends come after the restart; handled ones do not.
func TestEventsSurviveRestart(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		c, err := Dial(bg, "tcp://fake", WithToken("tok"), WithStore(r.store), WithDialer(r.dialer()))
		if err != nil {
			t.Fatal(err)
		}
		r.sayMany(dm, "bob", 10)
		synctest.Wait()
		for e := range c.Events(bg) {
			m, ok := e.(*MessageEvent)
			if !ok {
				continue
			}
			pause(time.Second) // now everything that may be saved is
			left, err := r.store.Feed(bg, 0, 1)
			if err != nil || len(left) == 0 || left[0].Seq > m.Message.Seq {
				t.Errorf("%s is saved as handled while its handler runs", m.Message.Text)
			}
			if m.Message.Text == "m4" {
				break
			}
		}
		c.Close()
		r.dial()
		eq(t, "messages", r.events.messages(), []string{"m5", "m6", "m7", "m8", "m9", "m10"})
	})
}
