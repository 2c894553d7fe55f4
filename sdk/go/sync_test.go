package skein

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/skein-im/skein/wire"
)

func TestPushesDuplicatedReorderedGapped(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.dial()
		var stash []*wire.Entry
		r.onPush = func(_ *fakeConn, e *wire.Entry) []*wire.Entry {
			switch e.Seq % 5 {
			case 2: // late
				stash = append(stash, e)
				return nil
			case 3: // lost
				return nil
			case 0: // twice, after the late one
				return append([]*wire.Entry{e, e}, stash...)
			}
			return []*wire.Entry{e}
		}
		var want []string
		for i := range 50 {
			want = append(want, r.say(dm, "bob", fmt.Sprintf("m%d", i)).Content.GetText())
			synctest.Wait()
		}
		pause(time.Second)
		r.checkStore(dm)
		eq(t, "messages", r.events.messages(), want)
	})
}

func TestLostLastPush(t *testing.T) {
	repairs := map[string]func(r *rig){
		"by Heads":  func(r *rig) { broadcast(r.fake, &wire.Heads{Heads: []*wire.Head{{Conversation: dm, Seq: 3}}}) },
		"by digest": func(r *rig) { time.Sleep(31 * time.Second) },
		"by Resync": func(r *rig) { broadcast(r.fake, &wire.Resync{}) },
	}
	for name, repair := range repairs {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, r *rig) {
				r.dial()
				r.say(dm, "bob", "a")
				r.say(dm, "bob", "b")
				synctest.Wait()
				r.do(func() { r.onPush = func(*fakeConn, *wire.Entry) []*wire.Entry { return nil } })
				r.say(dm, "bob", "c")
				synctest.Wait()
				eq(t, "before", r.events.messages(), []string{"a", "b"})
				repair(r)
				synctest.Wait()
				eq(t, "after", r.events.messages(), []string{"a", "b", "c"})
				r.checkStore(dm)
			})
		})
	}
}

// A lost push to a conversation the client has never heard of.
func TestLostFirstPushOfUnknownConversation(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.dial()
		r.onPush = func(*fakeConn, *wire.Entry) []*wire.Entry { return nil }
		r.say(grp, "bob", "a")
		r.do(func() { r.onPush = nil; r.titles[grp] = "The Group" })
		r.say(grp, "bob", "b")
		synctest.Wait()
		eq(t, "messages", r.events.messages(), []string{"a", "b"})
		s, err := r.c.Conversation(grp).Summary(bg)
		if err != nil {
			t.Fatal(err)
		}
		eq(t, "title", s.Title, "The Group")
		r.checkStore(grp)
	})
}

// While heads agree, pings move the position on and nobody re-syncs.
func TestDigestAgrees(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		c := r.dial()
		for i := range 5 {
			r.say(dm, "bob", fmt.Sprint("m", i))
			if _, err := c.Conversation(grp).Send(bg, "x"); err != nil {
				t.Fatal(err)
			}
			pause(40 * time.Second)
		}
		if n := len(frames(r.fake, (*wire.ClientFrame).GetSync)); n != 0 {
			t.Errorf("%d syncs, want none", n)
		}
		pings := frames(r.fake, (*wire.ClientFrame).GetPing)
		if len(pings) < 5 {
			t.Errorf("%d pings in 200 s", len(pings))
		}
		last := pings[len(pings)-1]
		if last.Digest == nil || last.Position == "" || last.Position == "0" {
			t.Errorf("last ping = %v, want a digest since a position that moved", last)
		}
	})
}

// A client that never stops sending compares heads all the same.
func TestBusyClientComparesHeads(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		c := r.dial()
		r.onPush = func(*fakeConn, *wire.Entry) []*wire.Entry { return nil }
		r.say(dm, "bob", "lost")
		for range 10 {
			pause(10 * time.Second)
			if _, err := c.Conversation(grp).Send(bg, "x"); err != nil {
				t.Fatal(err)
			}
		}
		eq(t, "messages", r.events.messages(), []string{"lost"})
	})
}

func TestServerPingIsAnswered(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.dial()
		broadcast(r.fake, &wire.Ping{})
		synctest.Wait()
		eq(t, "pongs", len(frames(r.fake, (*wire.ClientFrame).GetPong)), 1)
	})
}

func TestResumeAfterRestart(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.dial()
		r.say(dm, "bob", "a")
		synctest.Wait()
		r.end()
		r.sayMany(dm, "bob", 120) // more than a delta carries
		r.say(grp, "bob", "new group")
		r.dial()
		pause(time.Second)
		r.checkStore(dm)
		r.checkStore(grp)
		ms := r.events.messages()
		eq(t, "messages", len(ms), 121)
		h := r.hellos[1].Sync
		if h.Position == "" || h.Timeline != "t1" {
			t.Errorf("second Hello's sync = %v, want the position", h)
		}
		n, _ := r.c.Conversation(dm).Unread(bg)
		eq(t, "unread", n, 121)
	})
}

// Cold: only the last entry of each conversation, as history; no events.
func TestColdStartInPages(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		for i := range 250 {
			c := fmt.Sprintf("grp:g%03d", i)
			r.say(c, "bob", "old")
			r.say(c, "bob", "last "+c)
		}
		c := r.dial()
		pause(time.Second)
		list, err := c.Conversations(bg)
		if err != nil {
			t.Fatal(err)
		}
		eq(t, "conversations", len(list), 250)
		eq(t, "events", len(r.events.messages()), 0)
		for _, s := range list {
			if s.Last == nil || s.Last.Text != "last "+s.ID || s.Unread != 2 {
				t.Fatalf("summary = %+v", s)
			}
		}
		v := c.Conversation("grp:g007")
		ms, err := v.History(bg, 0, 10)
		if err != nil {
			t.Fatal(err)
		}
		eq(t, "history", texts(ms), []string{"old", "last grp:g007"})
	})
}

// What is pushed while the list is read is news, also of conversations on later pages.
func TestPushesDuringTheList(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		for i := range 250 {
			r.say(fmt.Sprintf("grp:g%03d", i), "bob", "old")
		}
		paged := false
		r.onFrame = func(_ *fakeConn, f *wire.ClientFrame) bool {
			if f.GetSync().GetCursor() != "" && !paged {
				paged = true
				for _, c := range []string{"grp:g003", "grp:g249", "grp:brandnew"} {
					r.append(nil, &wire.Entry{
						Conversation: c, Sender: "bob", Kind: wire.EntryKind_ENTRY_KIND_MESSAGE,
						Content: &wire.Content{Type: "text", Body: &wire.Content_Text{Text: "new " + c}},
					})
				}
			}
			return false
		}
		c := r.dial()
		pause(time.Second)
		got := r.events.messages()
		slices.Sort(got)
		eq(t, "events", got, []string{"new grp:brandnew", "new grp:g003", "new grp:g249"})
		list, _ := c.Conversations(bg)
		eq(t, "conversations", len(list), 251)
		for _, id := range []string{"grp:g003", "grp:g249", "grp:brandnew", "grp:g100"} {
			r.checkStore(id)
		}
	})
}

// A crash in the middle of the list: it goes on where it was.
func TestListGoesOnAfterRestart(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		for i := range 250 {
			r.say(fmt.Sprintf("grp:g%03d", i), "bob", "old")
		}
		r.onFrame = func(c *fakeConn, f *wire.ClientFrame) bool { return f.GetSync().GetCursor() != "" } // never answered
		r.dial()
		r.do(func() { r.onFrame = nil })
		c := r.restart()
		pause(time.Second)
		list, _ := c.Conversations(bg)
		eq(t, "conversations", len(list), 250)
	})
}

func TestTimelineChange(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		c := r.dial()
		r.sayMany(dm, "bob", 5)
		synctest.Wait()
		// The server comes back from a backup that lacks the last three, and a send was under way.
		r.do(func() {
			r.onSend = func(*fakeConn, *wire.Send) verdict { return verdict{noStore: true, hangUp: true} }
		})
		p, _ := c.Conversation(dm).SendAsync(bg, "mine")
		synctest.Wait()
		r.do(func() {
			r.onSend = nil
			r.timeline, r.journal[dm], r.changes = "t2", r.journal[dm][:2], r.changes[:2]
		})
		if m, err := p.Wait(bg); err != nil || m.Seq != 3 {
			t.Fatalf("the outbox after a reset: %v, %v", m, err)
		}
		synctest.Wait()
		r.checkStore(dm)
		eq(t, "resets", len(eventsOf[*ResetEvent](r.events)), 1)
		r.say(dm, "bob", "after")
		synctest.Wait()
		eq(t, "last", r.events.messages()[len(r.events.messages())-1], "after")
		ms, err := c.Conversation(dm).History(bg, 0, 10)
		eq(t, "history", texts(ms), []string{"m1", "m2", "mine", "after"})
		eq(t, "err", err, nil)
	})
}

// The same timeline, but a position the server cannot read.
func TestUnreadablePosition(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.dial()
		r.sayMany(dm, "bob", 5)
		pause(time.Minute)
		r.do(func() { r.changes = r.changes[:1] })
		r.restart()
		r.checkStore(dm)
		eq(t, "resets", len(eventsOf[*ResetEvent](r.events)), 1)
	})
}

// What is pushed before a delta that turns out to begin anew is not forgotten with the rest.
func TestPushesBeforeAReset(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.dial()
		r.sayMany(dm, "bob", 5)
		pause(time.Minute)
		r.do(func() { r.changes, r.noSync = r.changes[:1], true })
		r.onFrame = func(c *fakeConn, f *wire.ClientFrame) bool {
			h := f.GetHello()
			if h == nil {
				return false
			}
			r.hello(c, h)
			d := r.delta(h.Sync) // read before the push …
			r.append(nil, &wire.Entry{
				Conversation: dm, Sender: "bob", Kind: wire.EntryKind_ENTRY_KIND_MESSAGE,
				Content: &wire.Content{Type: "text", Body: &wire.Content_Text{Text: "between"}},
			})
			reply(c, d) // … sent after it
			return true
		}
		r.restart()
		r.checkStore(dm)
		eq(t, "messages", r.events.messages(), []string{"between"})
	})
}

// An acknowledged message whose entry is left out with a gap leaves the outbox.
func TestStoredMessageInAGap(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		c := r.dial()
		r.say(dm, "bob", "x")
		synctest.Wait()
		r.do(func() {
			r.onPush = func(*fakeConn, *wire.Entry) []*wire.Entry { return nil }
			r.onFrame = func(_ *fakeConn, f *wire.ClientFrame) bool { return f.GetPull() != nil } // no repair
		})
		r.say(dm, "bob", "lost")
		if m, err := c.Conversation(dm).Send(bg, "mine"); err != nil || m.Seq != 3 {
			t.Fatalf("Send = %v, %v", m, err)
		}
		if m, err := c.Conversation(dm).Send(bg, "mine too"); err != nil || m.Seq != 4 {
			t.Fatalf("a hole holds up what comes after it: %v, %v", m, err)
		}
		r.end()
		r.do(func() { r.onPush, r.onFrame = nil, nil })
		r.sayMany(dm, "bob", 2000)
		c = r.dial()
		pause(time.Second)
		eq(t, "gaps", len(eventsOf[*GapEvent](r.events)), 1)
		out, _ := c.Outbox(bg)
		eq(t, "outbox", len(out), 0)
		r.checkStore(dm)
	})
}

// Acknowledged, not applied yet, and then the server loses it: it is sent again.
func TestStoredMessageOfALostTimeline(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		c := r.dial()
		r.say(dm, "bob", "x")
		synctest.Wait()
		r.do(func() {
			r.onPush = func(*fakeConn, *wire.Entry) []*wire.Entry { return nil }
			r.onFrame = func(_ *fakeConn, f *wire.ClientFrame) bool { return f.GetPull() != nil }
		})
		r.say(dm, "bob", "lost")
		if m, err := c.Conversation(dm).Send(bg, "mine"); err != nil || m.Seq != 3 {
			t.Fatalf("Send = %v, %v", m, err)
		}
		r.do(func() {
			r.onPush, r.onFrame = nil, nil
			r.timeline, r.journal[dm], r.changes = "t2", r.journal[dm][:1], r.changes[:1]
			clear(r.byID)
			clear(r.read)
		})
		r.hangUp()
		pause(time.Minute)
		r.checkStore(dm)
		eq(t, "stored", r.texts(), []string{"x", "lost", "mine", "mine"})
	})
}

// The head was learned and the position moved on, but the entries never came:
// the next process asks for them.
func TestKnownMissingIsPulledAfterRestart(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.dial()
		r.say(dm, "bob", "a")
		synctest.Wait()
		r.end()
		r.sayMany(dm, "bob", 3)
		r.do(func() {
			r.deltaMax = 0
			r.onFrame = func(_ *fakeConn, f *wire.ClientFrame) bool { return f.GetPull() != nil }
		})
		r.dial()
		r.do(func() { r.onFrame = nil })
		r.restart()
		r.checkStore(dm)
		eq(t, "messages", r.events.messages(), []string{"m1", "m2", "m3"})
	})
}

func TestLargeGap(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.dial()
		r.sayMany(dm, "bob", 3)
		synctest.Wait()
		r.end()
		r.sayMany(dm, "bob", 2000)
		c := r.dial()
		pause(time.Second)
		gaps := eventsOf[*GapEvent](r.events)
		if len(gaps) != 1 || gaps[0].From != 4 {
			t.Fatalf("gaps = %+v, want one from 4", gaps)
		}
		eq(t, "messages after the gap", len(r.events.messages()), 2003-gaps[0].To)
		r.checkStore(dm)
		// Nothing is lost: history reads what was left out.
		var seqs []uint64
		for before := uint64(0); ; {
			ms, err := c.Conversation(dm).History(bg, before, 150)
			if err != nil {
				t.Fatal(err)
			}
			if len(ms) == 0 {
				break
			}
			for i := len(ms) - 1; i >= 0; i-- {
				seqs = append(seqs, ms[i].Seq)
			}
			before = ms[0].Seq
			if before == 1 {
				break
			}
		}
		if len(seqs) != 2003 {
			t.Fatalf("history has %d entries, want 2003", len(seqs))
		}
		for i, s := range seqs {
			if s != uint64(2003-i) {
				t.Fatalf("history skips at %d", s)
			}
		}
		s, _ := c.Conversation(dm).Summary(bg)
		eq(t, "low", s.Low, 1)
		r.checkStore(dm)
	})
}

func TestNoGapLimit(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.opts = []Option{WithMaxGap(0)}
		r.dial()
		first := r.events
		r.say(dm, "bob", "x")
		r.restart()
		second := r.events
		r.sayMany(dm, "bob", 10)
		r.end() // at once: what lies in the socket comes to the next client
		r.sayMany(dm, "bob", 1500)
		r.dial()
		pause(time.Second)
		eq(t, "messages", len(first.messages())+len(second.messages())+len(r.events.messages()), 1511)
		r.checkStore(dm)
	})
}

// Group entries before the user was added are not theirs to read, and no gap.
func TestJoinedGroup(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.dial()
		r.do(func() { r.first[grp] = 700; r.onPush = func(*fakeConn, *wire.Entry) []*wire.Entry { return nil } })
		r.sayMany(grp, "bob", 699)
		r.do(func() {
			r.onPush = nil
			r.append(nil, &wire.Entry{
				Conversation: grp, Sender: "bob", Kind: wire.EntryKind_ENTRY_KIND_EVENT,
				Event: &wire.Event{Type: wire.EventType_EVENT_TYPE_MEMBER_ADDED, Users: []string{"alice"}},
			})
		})
		r.say(grp, "bob", "welcome")
		synctest.Wait()
		eq(t, "messages", r.events.messages(), []string{"welcome"})
		eq(t, "group events", len(eventsOf[*GroupEvent](r.events)), 1)
		eq(t, "gaps", len(eventsOf[*GapEvent](r.events)), 0)
		ms, err := r.c.Conversation(grp).History(bg, 0, 50)
		eq(t, "history", len(ms), 2)
		eq(t, "err", err, nil)
	})
}

// Who was removed from a group and is added again while connected goes on there
// at once: with the entry that added them, or, if that was lost, with the next
// that comes.
func TestBackInAGroup(t *testing.T) {
	for _, lost := range []bool{false, true} {
		inBubble(t, func(t *testing.T, r *rig) {
			r.dial()
			roster := func(typ wire.EventType) {
				r.do(func() {
					r.append(nil, &wire.Entry{
						Conversation: grp, Sender: "bob", Kind: wire.EntryKind_ENTRY_KIND_EVENT,
						Event: &wire.Event{Type: typ, Users: []string{"alice"}},
					})
				})
			}
			nothing := func(*fakeConn, *wire.Entry) []*wire.Entry { return nil }
			r.say(grp, "bob", "one")
			if _, err := r.c.Conversation(grp).Send(bg, "mine"); err != nil {
				t.Fatal(err)
			}
			roster(wire.EventType_EVENT_TYPE_MEMBER_REMOVED)
			synctest.Wait()
			r.do(func() { r.onPush = nothing })
			r.say(grp, "bob", "not for alice")
			// Sending was reading, but the server that is asked does not know that yet.
			r.do(func() {
				r.first[grp], r.read[grp], r.earlier[grp] = 5, 0, []*wire.Window{{FirstSeq: 1, UntilSeq: 3}}
			})
			if !lost {
				r.do(func() { r.onPush = nil })
			}
			roster(wire.EventType_EVENT_TYPE_MEMBER_ADDED)
			r.do(func() { r.onPush = nil })
			r.say(grp, "bob", "two")
			synctest.Wait()
			eq(t, "messages", r.events.messages(), []string{"one", "two"})
			eq(t, "group events", len(eventsOf[*GroupEvent](r.events)), 2)
			eq(t, "gaps", len(eventsOf[*GapEvent](r.events)), 0)
			s, err := r.c.Conversation(grp).Summary(bg)
			if err != nil || !s.Member || s.Low != 1 || s.High != 6 || s.Unread != 1 {
				t.Errorf("%+v, %v", s, err)
			}
		})
	}
}
