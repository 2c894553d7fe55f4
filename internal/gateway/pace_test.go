package gateway

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/skein-im/skein/internal/gateway/here"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

// crowd is a group of paceFrom users with a connection each; the i-th one's id is n-<i+1>.
type crowd struct {
	*world
	t    testing.TB
	all  []*scriptConn
	last uint64
}

func newCrowd(t testing.TB, n int) *crowd {
	w := &crowd{world: newWorld(t), t: t}
	for i := range n {
		u := im.UserID(fmt.Sprintf("u%d", i))
		w.set(u, grp)
		w.all = append(w.all, w.parked(string(u), "1", wire.Protobuf()))
	}
	return w
}

// says stores n messages by nobody here.
func (w *crowd) says(n int) {
	for range n {
		w.last++
		w.toGroup(grp, entry(grp, w.last, "x"))
	}
}

// opens stores a message, which is pushed at once, and then n more.
func (w *crowd) opens(n int) {
	w.says(1)
	synctest.Wait()
	w.says(n)
}

// changes stores a change of the roster.
func (w *crowd) changes(t im.EventType, users ...im.UserID) {
	w.last++
	w.toGroup(grp, rosterEntry(grp, w.last, t, users...))
}

// pushed is a Push of the messages from one to another.
func pushed(from, to int) string {
	var b strings.Builder
	b.WriteString("push")
	for seq := from; seq <= to; seq++ {
		fmt.Fprintf(&b, " %s#%d=x", grp, seq)
	}
	return b.String()
}

// The first entry after quiet goes at once; what follows goes to each device in one
// frame each 100 ms, all of it and in order.
func TestStormIsPaced(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newCrowd(t, paceFrom)
		w.says(1)
		for _, c := range w.all {
			c.hears(t, pushed(1, 1))
		}
		w.says(3)
		w.all[0].hears(t)
		time.Sleep(paceEvery - time.Millisecond)
		w.says(1)
		w.all[0].hears(t)
		time.Sleep(time.Millisecond)
		for _, c := range w.all {
			c.hears(t, pushed(2, 5))
		}
		for range 50 { // 200 in a second
			w.says(4)
			time.Sleep(20 * time.Millisecond)
		}
		time.Sleep(paceEvery)
		synctest.Wait()
		for _, c := range w.all {
			frames := c.heard()
			if len(frames) > 11 {
				t.Fatalf("%d frames in a second", len(frames))
			}
			if got := strings.ReplaceAll(strings.Join(frames, ""), "push", ""); "push"+got != pushed(6, 205) {
				t.Fatalf("heard %s", got)
			}
		}
		time.Sleep(paceEvery)
		w.says(1)
		w.all[7].hears(t, pushed(206, 206))
	})
}

// A group of few is pushed everything at once.
func TestFewAreNotPaced(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newCrowd(t, 20)
		for seq := 1; seq < 10; seq++ {
			w.says(1)
			w.all[3].hears(t, pushed(seq, seq))
		}
	})
}

// What is held is bounded, and goes at once beyond.
func TestHeldIsBounded(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newCrowd(t, paceFrom)
		w.says(1)
		w.all[0].hears(t, pushed(1, 1))
		w.says(maxHeld)
		w.all[0].hears(t, pushed(2, maxHeld+1))
		long := strings.Repeat("y", maxHeldBytes/2)
		for range 2 {
			w.last++
			w.toGroup(grp, entry(grp, w.last, long))
		}
		synctest.Wait()
		if got := w.all[0].heard(); len(got) != 1 {
			t.Fatalf("%d frames after %d bytes", len(got), 2*len(long))
		}
	})
}

// Acks do not wait, and nothing overtakes anything: who sends in a storm is pushed
// what was stored before their message, and then the ack, however many send at once.
func TestAcksPassAStormInOrder(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newCrowd(t, paceFrom)
		replies := map[byte]func(im.Ack, error){}
		w.logic.send = func(_ im.Actor, m im.Message, r func(im.Ack, error)) { replies[m.ID[15]] = r }
		w.opens(2)
		for i, c := range w.all {
			c.hears(t, pushed(1, 1))
			if i < 20 {
				c.say(text(string(grp), byte(i), "x"))
			}
		}
		synctest.Wait()
		var p im.Parcel
		for i := range 20 {
			w.last++
			e := entry(grp, w.last, "x")
			e.Sender, e.ID = im.UserID(fmt.Sprintf("u%d", i)), im.MessageID(msgID(byte(i)))
			p.Entries = append(p.Entries, e)
			p.Origin = append(p.Origin, im.ConnectionID("n-"+base36(i+1)))
			replies[byte(i)](im.Ack{Seq: e.Seq, Follows: true}, nil)
		}
		w.g.ToGroup(grp, p)
		w.g.Flush()
		for i := range 20 {
			w.all[i].hears(t, pushed(2, 3+i), fmt.Sprintf("ack %d %s %d", i, grp, 4+i))
		}
		w.all[20].hears(t)
		time.Sleep(paceEvery)
		w.all[0].hears(t, pushed(5, 23))
		w.all[19].hears(t)
		w.all[20].hears(t, pushed(2, 23))
	})
}

func base36(n int) string { return string("0123456789abcdefghijklmnopqrstuvwxyz"[n]) }

// Who is added in a storm sees what follows, who is removed what went before, and
// the entry itself both.
func TestRosterChangesInAStorm(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newCrowd(t, paceFrom)
		late := w.parked("late", "1", wire.Protobuf())
		w.opens(1)
		w.changes(im.EventMemberAdded, "late") // 3
		w.says(1)
		w.all[0].hears(t, pushed(1, 1))
		late.hears(t)
		w.changes(im.EventMemberRemoved, "u0") // 5
		w.all[0].hears(t, "push grp:g#2=x grp:g#3=member_added grp:g#4=x grp:g#5=member_removed")
		w.says(1)
		time.Sleep(paceEvery + time.Millisecond) // and what the pauses take
		w.all[0].hears(t)
		late.hears(t, "push grp:g#3=member_added grp:g#4=x grp:g#5=member_removed grp:g#6=x")
		w.all[1].hears(t, pushed(1, 1), "push grp:g#2=x grp:g#3=member_added grp:g#4=x grp:g#5=member_removed grp:g#6=x")
		// Who logs in reads it, and is pushed what comes behind.
		w.says(1)
		w.set("new", grp)
		come := w.parked("new", "1", wire.Protobuf())
		w.says(1)
		time.Sleep(paceEvery + time.Millisecond) // and what the pauses take
		come.hears(t, pushed(8, 8))
		// The end of the group is told at once, after what is held.
		w.says(1)
		w.changes(im.EventGroupDismissed)
		come.hears(t, pushed(9, 9), "push grp:g#10=group_dismissed")
		time.Sleep(paceEvery + time.Millisecond) // and what the pauses take
		come.hears(t)
	})
}

// What was seen before a gap is pushed before the Heads that tell of it.
func TestGapInAStorm(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newCrowd(t, paceFrom)
		w.opens(1)
		w.all[0].hears(t, pushed(1, 1))
		w.g.ToGroup(grp, im.Parcel{Head: &im.ParcelHead{Conversation: grp, Seq: 5}})
		w.g.Flush()
		synctest.Wait()
		if got := w.all[0].heard(); len(got) < 2 || got[0] != pushed(2, 2) || got[1] != "heads grp:g#5" {
			t.Fatalf("heard %q", got)
		}
	})
}

// A position is told behind all that it stands for (SPEC §7.7).
func TestPositionWaitsForWhatIsHeld(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newCrowd(t, paceFrom)
		c := w.all[5]
		c.say(wire.NewClientFrame(&wire.Sync{Number: 1}))
		c.hears(t, "delta 1 p1")
		w.g.Position("at1")
		w.opens(1)
		c.hears(t, pushed(1, 1))
		told := make(chan struct{})
		go func() {
			w.g.Position("at2")
			close(told)
		}()
		time.Sleep(paceEvery / 2)
		w.g.ToUsers([]im.UserID{"u5"}, im.Parcel{Receipt: &im.Mark{User: "bob", Conversation: dm, Received: 2}})
		w.g.Flush()
		c.hears(t, "receipt dm:ann:bob bob 2 0")
		<-told
		w.g.ToUsers([]im.UserID{"u5"}, im.Parcel{Receipt: &im.Mark{User: "bob", Conversation: dm, Received: 3}})
		w.g.Flush()
		synctest.Wait()
		got := c.heard()
		at := slices.IndexFunc(got, func(s string) bool { return strings.Contains(s, "@at2") })
		if at < 0 || !slices.Contains(got[:at], pushed(2, 2)) && !strings.HasPrefix(got[at], pushed(2, 2)) {
			t.Fatalf("heard %q", got)
		}
	})
}

// What is held when the stores went back is of no history.
func TestHeldIsForgottenWithItsHistory(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newCrowd(t, paceFrom)
		w.opens(1)
		w.all[0].hears(t, pushed(1, 1))
		w.g.WentBack()
		time.Sleep(2 * paceEvery)
		synctest.Wait()
		if got := strings.Join(w.all[0].heard(), " "); strings.Contains(got, "push") || !strings.Contains(got, "resync") {
			t.Fatalf("heard %q", got)
		}
	})
}

// Position and Close return while something is held.
func TestCloseInAStorm(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newCrowd(t, paceFrom)
		w.opens(2)
		done := make(chan struct{})
		go func() {
			w.g.Position("at")
			close(done)
		}()
		_ = w.g.Close()
		<-done
	})
}

// Releasing what is held gives up no ack whose delivery is under way: that would have
// the whole group's roster read again.
func TestReleaseWaitsForDeliveries(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newCrowd(t, paceFrom)
		var reply func(im.Ack, error)
		w.logic.send = func(_ im.Actor, _ im.Message, r func(im.Ack, error)) { reply = r }
		c := w.all[0]
		time.Sleep(20 * time.Millisecond) // the wheel's ticks give up as well, every 250 ms, and none may come first
		c.say(text(string(grp), 9, "x"))
		synctest.Wait()
		reply(im.Ack{Seq: 3, Follows: true}, nil)
		time.Sleep(ackPatienceAlone - paceEvery/2)
		w.opens(1)
		time.Sleep(paceEvery) // what is held is released when the ack has waited for as long as it does
		c.hears(t, pushed(1, 1), pushed(2, 2))
		e := entry(grp, 3, "x")
		e.Sender, e.ID = "u0", im.MessageID(msgID(9))
		w.g.ToGroup(grp, im.Parcel{Entries: []im.Entry{e}, Origin: []im.ConnectionID{"n-1"}})
		w.g.Flush()
		c.hears(t, "ack 9 grp:g 3")
	})
}

// The larger a group, the more seldom its sessions are written to.
func TestPaceIsBySize(t *testing.T) {
	for n, want := range map[int]time.Duration{
		1: 100 * time.Millisecond, paceFrom: 100 * time.Millisecond, 4000: 100 * time.Millisecond,
		10_000: 250 * time.Millisecond, 30_000: 500 * time.Millisecond,
	} {
		g := &here.Group{Members: map[*here.Member]here.Place{}}
		for range n {
			g.Members[new(here.Member)] = here.Place{}
		}
		if got := paceOf(g); got != want {
			t.Errorf("with %d sessions: %v, want %v", n, got, want)
		}
	}
}

// Others have the group while its many sessions are being pushed something: what
// they do meanwhile reaches each session once and in order, and no ack waits.
func TestStormWhileItLeaves(t *testing.T) {
	for _, more := range []int{0, 1, maxHeld} { // so many that all is told at once
		t.Run(fmt.Sprint(more), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := newCrowd(t, 2*paceChunk+9)
				late := w.parked("late", "1", wire.Protobuf())
				var reply func(im.Ack, error)
				w.logic.send = func(_ im.Actor, _ im.Message, r func(im.Ack, error)) { reply = r }
				w.all[5].say(text(string(grp), 9, "x"))
				w.opens(2)
				g := w.g.groups.Locked(grp, false)
				times := 0
				w.g.release(g, func(g *here.Group) {
					w.g.groups.Unlock(g)
					if times++; times == 1 {
						w.says(1)                              // 4
						w.changes(im.EventMemberAdded, "late") // 5
						w.changes(im.EventMemberRemoved, "u7") // 6
						w.last++
						e := entry(grp, w.last, "x") // 7
						e.Sender, e.ID = "u5", im.MessageID(msgID(9))
						reply(im.Ack{Seq: e.Seq, Follows: true}, nil)
						w.g.ToGroup(grp, im.Parcel{Entries: []im.Entry{e}, Origin: []im.ConnectionID{"n-6"}})
						w.g.Flush()
						w.says(more)
					}
					g.Lock()
				})
				w.g.groups.Unlock(g)
				if want := map[int]int{0: 2, 1: 2, maxHeld: 1}[more]; times != want {
					t.Fatalf("let others go %d times, want %d", times, want)
				}
				end := int(w.last)
				between := " grp:g#4=x grp:g#5=member_added grp:g#6=member_removed"
				rest := strings.TrimPrefix(pushed(8, end), "push")
				author := []string{"push grp:g#1=x grp:g#2=x grp:g#3=x" + between, "ack 9 grp:g 7"}
				if more < maxHeld {
					w.all[5].has(t, author...)
					author = nil
				}
				w.all[7].has(t, "push grp:g#1=x grp:g#2=x grp:g#3=x"+between)
				time.Sleep(paceEvery + time.Millisecond) // and what the pauses take
				for i, c := range w.all {
					switch i {
					case 5:
						c.has(t, append(author, "push"+rest)...)
					case 7:
						c.has(t)
					default:
						c.has(t, "push grp:g#1=x grp:g#2=x grp:g#3=x"+between+" grp:g#7=x"+rest)
					}
				}
				late.has(t, "push grp:g#5=member_added grp:g#6=member_removed grp:g#7=x"+rest)
			})
		})
	}
}

// has is hears for pushes that may come in any number of frames.
func (c *scriptConn) has(t *testing.T, want ...string) {
	t.Helper()
	synctest.Wait()
	var got []string
	for _, f := range c.heard() {
		if n := len(got) - 1; n >= 0 && strings.HasPrefix(f, "push") && strings.HasPrefix(got[n], "push") {
			got[n] += strings.TrimPrefix(f, "push")
		} else {
			got = append(got, f)
		}
	}
	want = slices.DeleteFunc(want, func(s string) bool { return s == "push" }) // of nothing
	if !slices.Equal(got, want) {
		t.Fatalf("heard %q\nwant  %q", got, want)
	}
}

// Numbers that begin again when the stores went back are told to those, too, who were
// told more of the gone history.
func TestToldIsForgottenWithItsHistory(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newCrowd(t, paceFrom)
		w.opens(3)
		time.Sleep(paceEvery)
		w.all[0].hears(t, pushed(1, 1), pushed(2, 4))
		w.g.WentBack()
		time.Sleep(time.Second)
		synctest.Wait()
		for _, c := range w.all {
			c.heard()
		}
		w.last = 1
		w.says(1)
		w.all[0].hears(t, pushed(2, 2))
	})
}
