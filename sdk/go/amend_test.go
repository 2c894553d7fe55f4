package skein

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/skein-im/skein/wire"
)

// shown is what somebody sees who does nothing but what the events of some processes
// say: the text of each message by its seq.
type shown map[uint64]string

func (s shown) follow(conversation string, events []Event) {
	for _, e := range events {
		var m *Message
		switch e := e.(type) {
		case *MessageEvent:
			m = e.Message
		case *AckEvent:
			m = e.Message
		case *ChangedEvent:
			m = e.Message
		case *GapEvent: // what lies before it is no longer held
			maps.DeleteFunc(s, func(seq uint64, _ string) bool { return seq <= e.To })
		case *RecallEvent:
			if _, ok := s[e.Target]; ok && e.Conversation == conversation {
				s[e.Target] = ""
			}
		}
		if m != nil && m.Conversation == conversation && m.Kind == wire.EntryKind_ENTRY_KIND_MESSAGE {
			s[m.Seq] = m.Text
		}
	}
}

// says is what the journal says of these messages.
func (f *fake) says(conversation string, s shown) shown {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := shown{}
	for seq := range s {
		out[seq] = f.journal[conversation][seq-1].GetContent().GetText()
	}
	return out
}

// checkHistory reads a conversation in pages and compares with what amends nothing.
func (r *rig) checkHistory(conversation string, pages ...int) {
	r.t.Helper()
	var want []string
	r.do(func() {
		for _, e := range r.journal[conversation] {
			if !amends(e) {
				want = append(want, fmt.Sprint(e.Seq, e.GetContent().GetText(), e.Recalled))
			}
		}
	})
	for _, n := range pages {
		var got []string
		for before := uint64(0); ; {
			ms, err := r.c.Conversation(conversation).History(bg, before, n)
			if err != nil {
				r.t.Fatal(err)
			}
			if len(ms) == 0 {
				break
			}
			if len(ms) < n && len(got)+len(ms) < len(want) {
				r.t.Errorf("a page of %d has %d, and is not the last", n, len(ms))
			}
			var page []string
			for _, m := range ms {
				page = append(page, fmt.Sprint(m.Seq, m.Text, m.Recalled))
			}
			got, before = append(page, got...), ms[0].Seq
		}
		eq(r.t, fmt.Sprint(conversation, " in pages of ", n), got, want)
	}
}

// amendSome edits and recalls n times, three messages of ten at most; one of them is
// recalled, in the end.
func (r *rig) amendSome(n int, targets ...uint64) {
	for i := range n {
		target := targets[i%len(targets)]
		if i == n-1 {
			r.takeBack(dm, target)
		} else {
			r.edit(dm, target, fmt.Sprint("edit ", i))
		}
	}
}

func lose(*fakeConn, *wire.Entry) []*wire.Entry { return nil }

// amendmentWays are how n amendments of ten messages reach a device; end ends a process
// whose events are told apart.
func amendmentWays(end func()) map[string]func(r *rig, n int) {
	return map[string]func(r *rig, n int){
		"pushed": func(r *rig, n int) { r.amendSome(n, 2, 5, 10) },
		"resumed": func(r *rig, n int) {
			r.end()
			r.amendSome(n, 2, 5, 10)
			r.dial()
		},
		"resumed, and a message": func(r *rig, n int) {
			r.end()
			r.amendSome(n, 2, 5, 10)
			r.say(dm, "bob", "after")
			r.dial()
		},
		"resumed, of what is new": func(r *rig, n int) {
			r.end()
			r.sayMany(dm, "bob", 3)
			r.amendSome(n, 2, 11, 12)
			r.dial()
		},
		"in a pulled hole": func(r *rig, n int) {
			r.do(func() { r.onPush = lose })
			r.amendSome(n, 2, 5, 10)
			r.do(func() { r.onPush = nil })
			r.say(dm, "bob", "after")
		},
		"behind a hole": func(r *rig, n int) {
			r.end()
			r.do(func() { r.deltaMax = 5 })
			r.sayMany(dm, "bob", 20)
			r.amendSome(n, 2, 15, 29)
			r.sayMany(dm, "bob", 2)
			r.dial()
		},
		"in and behind a hole, walked in steps": func(r *rig, n int) {
			r.end()
			r.do(func() { r.deltaMax, r.walkMax = 5, 4 })
			r.sayMany(dm, "bob", 20)
			r.amendSome(n, 2, 15, 29)
			r.sayMany(dm, "bob", 3)
			r.amendSome(n, 5, 16, 30+uint64(n))
			r.dial()
		},
		"of the last message": func(r *rig, n int) {
			r.end()
			r.amendSome(n, 10)
			r.dial()
		},
		"with restarts in between": func(r *rig, n int) {
			r.end()
			for i := range n {
				r.amendSome(1+min(i, 1), 1+uint64(i)%9)
				if i < 5 {
					r.dial()
					end()
				}
			}
			r.dial()
		},
		"after a restart with a hole": func(r *rig, n int) {
			r.end()
			r.do(func() {
				r.deltaMax = 0
				r.onFrame = func(_ *fakeConn, f *wire.ClientFrame) bool { return f.GetPull() != nil }
			})
			r.amendSome(n, 2, 5, 10)
			r.dial()
			end()
			r.do(func() { r.onFrame = nil })
			r.dial()
		},
	}
}

// None, one, two and many amendments, however they reach a device: it keeps what they
// made of the messages, tells the program, and its cursor is where the server's head is.
func TestAmendments(t *testing.T) {
	var seen []Event // of processes that have ended
	var running *rig
	ways := amendmentWays(func() {
		running.end()
		seen = append(seen, running.events.all()...)
	})
	for way, do := range ways {
		for _, n := range []int{0, 1, 2, 7, 120} {
			t.Run(fmt.Sprint(way, " ", n), func(t *testing.T) {
				inBubble(t, func(t *testing.T, r *rig) {
					r.dial()
					r.sayMany(dm, "bob", 10)
					pause(time.Second)
					first := r.events
					running, seen = r, nil
					do(r, n)
					pause(2 * time.Minute)
					s := shown{}
					s.follow(dm, first.all())
					s.follow(dm, seen)
					if r.events != first {
						s.follow(dm, r.events.all())
					}
					r.checkStore(dm)
					eq(t, "what the events say", s, r.says(dm, s))
					r.checkHistory(dm, 3, 100)
					eq(t, "gaps", len(eventsOf[*GapEvent](r.events)), 0)
					sum, _ := r.c.Conversation(dm).Summary(bg)
					if sum.Last == nil || sum.Last.Text != r.says(dm, shown{sum.Last.Seq: ""})[sum.Last.Seq] || sum.Last.Target != 0 {
						t.Errorf("last = %+v", sum.Last)
					}
					eq(t, "unread", sum.Unread, r.stateOf(dm).Unread)
					syncs := len(r.syncs())
					pause(10 * time.Minute)
					eq(t, "syncs in peace", len(r.syncs())-syncs, 0)
				})
			})
		}
	}
}

func (f *fake) stateOf(conversation string) *wire.ConversationState {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.state(conversation)
}

// The events of a change: who recalled is told of what was pushed, not of what is told
// by its outcome; each change is told once, and nothing of what the window lacks.
func TestEventsOfAmendments(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.say(dm, "bob", "before the window")
		r.say(dm, "bob", "x")
		r.dial()
		r.sayMany(dm, "bob", 4) // 3 … 6
		synctest.Wait()
		check := func(what string, changed, recalled []string) {
			t.Helper()
			pause(time.Minute)
			var c, k []string
			for _, e := range eventsOf[*ChangedEvent](r.events) {
				c = append(c, fmt.Sprint(e.Message.Seq, " ", e.Message.Text))
			}
			for _, e := range eventsOf[*RecallEvent](r.events) {
				k = append(k, fmt.Sprint(e.Target, " by ", e.By, " ", e.Message != nil))
			}
			eq(t, what+": changed", c, changed)
			eq(t, what+": recalled", k, recalled)
		}
		r.takeBack(dm, 1)
		r.edit(dm, 2, "edited")
		check("pushed", []string{"2 edited"}, []string{"1 by bob true"})
		r.edit(dm, 1, "not any more")
		r.takeBack(dm, 3)
		r.edit(dm, 3, "nor this")
		check("pushed again", []string{"2 edited"}, []string{"1 by bob true", "3 by bob true"})
		r.end()
		r.edit(dm, 4, "once")
		r.edit(dm, 4, "twice")
		r.edit(dm, 5, "and taken back")
		r.takeBack(dm, 5)
		r.takeBack(dm, 1)
		r.dial()
		check("resumed", []string{"4 twice"}, []string{"5 by  false"})
		broadcast(r.fake, &wire.Resync{})
		r.restart()
		check("told again", nil, nil)
		r.checkStore(dm)
	})
}

// 2,000 amendments of three messages cost a device that was away three entries. In a
// hole they may cost a page, and are no gap.
func TestManyAmendmentsAreFewEntries(t *testing.T) {
	for _, way := range []string{"away", "missed", "list"} {
		t.Run(way, func(t *testing.T) {
			inBubble(t, func(t *testing.T, r *rig) {
				r.dial()
				r.sayMany(dm, "bob", 10)
				pause(time.Minute)
				if way == "missed" {
					r.do(func() { r.onPush = lose })
				} else {
					r.end()
				}
				for i := range 2000 {
					r.edit(dm, []uint64{1, 5, 10}[i%3], fmt.Sprint("edit ", i))
				}
				r.do(func() { r.onPush, r.told = nil, 0 })
				switch way {
				case "missed":
					broadcast(r.fake, &wire.Heads{Heads: []*wire.Head{{Conversation: dm, Seq: 2010}}})
				case "list":
					r.do(func() { r.deltaMax = 0 }) // the position is told, the entries are not
					r.dial()
				default:
					r.dial()
				}
				pause(time.Minute)
				r.checkStore(dm)
				if r.told > 10 || way == "away" && r.told != 3 {
					t.Errorf("%d entries told", r.told)
				}
				eq(t, "gaps", len(eventsOf[*GapEvent](r.events)), 0)
				eq(t, "changes", len(eventsOf[*ChangedEvent](r.events)), 3)
			})
		})
	}
}

// A window that begins anew: what was amended before it is not kept and not told, what
// of it is in the window is as it is now.
func TestAmendmentsInAGap(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.dial(WithMaxGap(20))
		r.sayMany(dm, "bob", 10)
		pause(time.Minute)
		r.end()
		r.do(func() { r.deltaMax = 10 })
		r.sayMany(dm, "bob", 200)
		r.amendSome(30, 3, 50, 205)
		r.sayMany(dm, "bob", 8)
		r.dial(WithMaxGap(20))
		pause(time.Minute)
		gaps := eventsOf[*GapEvent](r.events)
		if len(gaps) != 1 || gaps[0].From != 11 || gaps[0].To < 50 {
			t.Fatalf("gaps = %+v", gaps)
		}
		for _, e := range eventsOf[*ChangedEvent](r.events) {
			if e.Message.Seq != 3 {
				t.Errorf("told of %+v", e.Message)
			}
		}
		r.checkStore(dm)
		eq(t, "unread", len(r.events.messages()) > 0, true)
		n, _ := r.c.Conversation(dm).Unread(bg)
		eq(t, "unread", n, r.stateOf(dm).Unread)
		r.checkHistory(dm, 7, 40, 1000)
		r.checkStore(dm)
	})
}

// A new device: the list shows the last message, whatever was amended since, and what
// is read of the past is as it is now.
func TestListShowsTheLastMessage(t *testing.T) {
	for _, n := range []int{0, 1, 2, 50, 300} {
		for _, walk := range []int{0, 1, 7} {
			t.Run(fmt.Sprint(n, walk), func(t *testing.T) {
				inBubble(t, func(t *testing.T, r *rig) {
					r.walkMax = walk
					r.sayMany(dm, "bob", 9)
					r.amendSome(n, 2, 8, 9)
					r.dial()
					v := r.c.Conversation(dm)
					s, err := v.Summary(bg)
					if err != nil || s.High != uint64(9+n) || s.Unread != r.stateOf(dm).Unread || (s.Last == nil) != (n >= 200) {
						t.Fatalf("%+v, %v", s, err)
					}
					if s.Last != nil && (s.Last.Seq != 9 || s.Last.Text != r.says(dm, shown{9: ""})[9]) {
						t.Errorf("last = %+v", s.Last)
					}
					r.checkStore(dm)
					eq(t, "events", len(eventsOf[*MessageEvent](r.events))+len(eventsOf[*ChangedEvent](r.events)), 0)
					// Amended live, in the window and before it.
					r.edit(dm, 1, "edited before the window")
					r.edit(dm, 9, "edited in it")
					synctest.Wait()
					r.checkStore(dm)
					r.checkHistory(dm, 4, 100)
					r.checkStore(dm)
					if s, _ = v.Summary(bg); s.Last == nil || s.Last.Seq != 9 {
						t.Errorf("last = %+v", s.Last)
					}
					// The mark of another device at an amendment.
					for read := uint64(8); read <= s.High; read += 1 + uint64(n)/5 {
						r.do(func() { r.markRead(dm, read) })
						broadcast(r.fake, &wire.Receipt{Conversation: dm, User: "alice", Read: read})
						pause(time.Second)
						got, _ := v.Unread(bg)
						eq(t, fmt.Sprint("unread, read up to ", read), got, r.stateOf(dm).Unread)
					}
				})
			})
		}
	}
}

// The list read again tells of a conversation that is known: what was amended in it
// meanwhile is known afterwards.
func TestListReadAgain(t *testing.T) {
	for _, after := range []int{0, 1, 3} {
		inBubble(t, func(t *testing.T, r *rig) {
			r.dial()
			r.sayMany(dm, "bob", 10)
			pause(time.Minute)
			r.end()
			r.amendSome(9, 2, 5, 10)
			r.sayMany(dm, "bob", after)
			r.amendSome(2, 3)
			snap, _ := r.store.Load(bg)
			snap.Meta.Position = ""
			if err := r.store.Apply(bg, &Batch{Meta: &snap.Meta}); err != nil {
				t.Fatal(err)
			}
			r.dial()
			pause(time.Minute)
			r.checkStore(dm)
			eq(t, "resets", len(eventsOf[*ResetEvent](r.events)), 0)
		})
	}
}

// What amends is not shown, and proves what the device knows all the same: a server
// that is put back to before it begins anew, also after a restart of the device.
func TestServerPutBackBeforeAnAmendment(t *testing.T) {
	for _, way := range []string{"pushed", "unknown", "resumed", "pulled", "waits"} {
		for _, restart := range []bool{false, true} {
			t.Run(fmt.Sprint(way, restart), func(t *testing.T) {
				inBubble(t, func(t *testing.T, r *rig) {
					r.dial()
					r.sayMany(dm, "bob", 4)
					pause(time.Minute)
					blind := func(_ *fakeConn, f *wire.ClientFrame) bool { return f.GetPull() != nil }
					switch way {
					case "pushed":
						r.takeBack(dm, 2)
					case "unknown":
						r.edit(dm, 2, "edited")
					case "resumed":
						r.end()
						r.edit(dm, 2, "edited")
						r.dial()
					case "pulled":
						r.do(func() { r.onPush = lose })
						r.edit(dm, 2, "edited")
						broadcast(r.fake, &wire.Heads{Heads: []*wire.Head{{Conversation: dm, Seq: 5}}})
					case "waits": // behind a hole, told by a state
						r.do(func() { r.onPush, r.onFrame, r.deltaMax = lose, blind, 1 })
						r.say(dm, "bob", "m5")
						r.edit(dm, 2, "edited")
						broadcast(r.fake, &wire.Resync{})
					}
					synctest.Wait()
					if restart {
						r.end()
					}
					r.do(func() {
						r.onPush, r.onFrame, r.deltaMax = nil, nil, 50
						for _, c := range r.conns {
							c.close()
						}
					})
					if way == "waits" {
						r.putBack(dm, 5)
					} else {
						r.putBack(dm, 4)
					}
					pause(time.Millisecond)
					r.sayMany(dm, "bob", 3)
					if restart {
						r.dial()
					}
					pause(time.Minute)
					resets := len(eventsOf[*ResetEvent](r.events))
					if restart && way == "waits" { // what waits is forgotten, and the position with it
						return
					}
					eq(t, "resets", resets, 1)
					r.checkStore(dm)
				})
			})
		}
	}
}

// Whatever is amended in whatever order, however a device misses it: what it keeps is
// what the server has, what it pages back to as well, what is unread too, and so is
// what the events say.
func TestAmendmentsAnyhow(t *testing.T) {
	for seed := range uint64(60) {
		inBubble(t, func(t *testing.T, r *rig) {
			rng := rand.New(rand.NewPCG(seed, 11))
			r.walkMax = []int{0, 3, 20}[seed%3]
			r.deltaMax = []int{50, 3}[seed%2]
			r.named = []int{1000, 2}[seed/2%2]
			gap := WithMaxGap([]uint64{0, 15}[seed/4%2])
			r.sayMany(dm, "bob", rng.IntN(30))
			r.dial(gap)
			s, from := shown{}, 0
			collect := func() {
				all := r.events.all()
				s.follow(dm, all[from:])
				from = len(all)
			}
			for range 60 {
				n := 0
				r.do(func() { n = len(r.journal[dm]) })
				target := 1 + uint64(rng.IntN(n+1))
				plain := false
				r.do(func() { plain = target <= uint64(n) && !amends(r.journal[dm][target-1]) })
				switch p := rng.IntN(16); {
				case p < 4:
					r.sayMany(dm, "bob", 1+rng.IntN(5))
				case p < 8 && plain:
					r.edit(dm, target, fmt.Sprint("edit ", n))
				case p == 8 && plain:
					r.takeBack(dm, target)
				case p == 9:
					r.do(func() { r.onPush = lose })
				case p == 10:
					r.do(func() { r.onPush = nil })
				case p == 11:
					pause(time.Second)
					r.end()
					collect()
					for range rng.IntN(30) {
						if plain {
							r.edit(dm, target, "edited while away")
						}
						r.sayMany(dm, "bob", rng.IntN(2))
					}
					r.dial(gap)
					from = 0
				case p == 12:
					r.hangUp()
				case p == 13:
					broadcast(r.fake, &wire.Resync{})
				case p == 14:
					_, _ = r.c.Conversation(dm).History(bg, target, 1+rng.IntN(9))
				default:
					_ = r.c.Conversation(dm).MarkRead(bg, target)
				}
				if rng.IntN(2) == 0 {
					synctest.Wait()
				}
			}
			r.do(func() { r.onPush = nil })
			pause(5 * time.Minute)
			collect()
			if len(r.journal[dm]) == 0 {
				return
			}
			r.checkStore(dm)
			sum, _ := r.c.Conversation(dm).Summary(bg)
			eq(t, "unread", sum.Unread, r.stateOf(dm).Unread)
			eq(t, "what the events say", s, r.says(dm, s))
			r.checkHistory(dm, 4, 100)
			r.checkStore(dm)
			if t.Failed() {
				t.Errorf("seed %d", seed)
			}
		})
	}
}
