package skein

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/skein-im/skein/wire"
)

// periods are those of a conversation, as its entries say.
func (f *fake) periods(conversation string) (all []Lifetime) {
	for _, e := range f.journal[conversation] {
		if e.GetEvent().GetType() != wire.EventType_EVENT_TYPE_LIFETIME_CHANGED {
			continue
		}
		n := len(all)
		if n > 0 && all[n-1].Until == 0 {
			all[n-1].Until = e.Seq - 1
		}
		if n > 0 && all[n-1].Until == all[n-1].After { // nothing was written in it
			if all = all[:n-1]; n > 1 {
				all[n-2].Until = e.Seq - 1
			}
		}
		all = append(all, Lifetime{After: e.Seq, Seconds: e.Event.LifetimeS})
	}
	for i := range all {
		l := &all[i]
		for _, e := range f.journal[conversation] {
			if !l.in(e.Seq) {
				continue
			}
			if l.Seconds == 0 || l.end(e) > time.Now().Add(-f.late).UnixMilli() {
				break
			}
			l.Gone = e.Seq
		}
	}
	return all
}

// lifetimes are the periods as they are told: those that are not over.
func (f *fake) lifetimes(conversation string) (out []*wire.Lifetime) {
	for _, l := range f.periods(conversation) {
		if l.Seconds > 0 && (l.Until == 0 || max(l.Gone, l.After) < l.Until) {
			out = append(out, &wire.Lifetime{After: l.After, Until: l.Until, LifetimeS: l.Seconds})
		}
	}
	return out
}

// left are the user's times of membership without what is gone.
func (f *fake) left(conversation string) (earlier []*wire.Window, first uint64) {
	gaps := f.periods(conversation)
	gaps = slices.DeleteFunc(gaps, func(l Lifetime) bool { return l.Gone <= f.floor[conversation] })
	if floor := f.floor[conversation]; floor > 0 {
		gaps = slices.Insert(gaps, 0, Lifetime{Gone: floor})
	}
	first = f.first[conversation]
	if len(gaps) == 0 {
		return f.earlier[conversation], first
	}
	cut := func(from, until uint64) uint64 {
		for _, g := range gaps {
			if g.Gone < from || until != 0 && g.After+1 > until {
				continue
			}
			if from <= g.After {
				earlier = append(earlier, &wire.Window{FirstSeq: from, UntilSeq: g.After})
			}
			from = g.Gone + 1
		}
		return from
	}
	for _, w := range f.earlier[conversation] {
		if from := cut(w.FirstSeq, w.UntilSeq); from <= w.UntilSeq {
			earlier = append(earlier, &wire.Window{FirstSeq: from, UntilSeq: w.UntilSeq})
		}
	}
	return earlier, cut(max(first, 1), f.until[conversation])
}

// setLifetime begins a period.
func (f *fake) setLifetime(conversation string, seconds uint32) {
	f.do(func() {
		f.append(nil, &wire.Entry{
			Conversation: conversation, Sender: "bob", Kind: wire.EntryKind_ENTRY_KIND_EVENT,
			Event: &wire.Event{Type: wire.EventType_EVENT_TYPE_LIFETIME_CHANGED, LifetimeS: seconds},
		})
	})
}

// checkLeft compares what is shown of a conversation, and what is unread there, with what
// the server says.
func (r *rig) checkLeft(what, conversation string) {
	r.t.Helper()
	var want []uint64
	var st *wire.ConversationState
	r.do(func() {
		for _, e := range r.journal[conversation] {
			if r.sees(e) && !amends(e) && !r.fake.gone(e) {
				want = append(want, e.Seq)
			}
		}
		st = r.fake.state(conversation)
	})
	ms, err := r.c.Conversation(conversation).History(bg, 0, 1000)
	var got []uint64
	for _, m := range ms {
		got = append(got, m.Seq)
		if m.Kind == wire.EntryKind_ENTRY_KIND_MESSAGE && !m.Recalled && m.Text == "" {
			r.t.Errorf("%s: %d is empty", what, m.Seq)
		}
	}
	if err != nil || !slices.Equal(got, want) {
		r.t.Errorf("%s: shown %v, %v; want %v", what, got, err, want)
	}
	s, err := r.c.Conversation(conversation).Summary(bg)
	if err != nil || s.Unread != st.Unread || s.UnreadMentions != st.UnreadMentions {
		r.t.Errorf("%s: %d unread, %d mentions, %v; the server says %d, %d", what, s.Unread, s.UnreadMentions, err, st.Unread, st.UnreadMentions)
	}
	if (s.Last == nil) != (len(want) == 0) || s.Last != nil && s.Last.Seq != want[len(want)-1] {
		r.t.Errorf("%s: the last one is %+v, want that of %v", what, s.Last, want)
	}
}

// keptOf are the entries of which the store has what they say.
func (r *rig) keptOf(conversation string) (out []uint64) {
	es, err := r.store.Entries(bg, conversation, 1, 1<<60, 1<<30)
	if err != nil {
		r.t.Fatal(err)
	}
	for _, e := range es {
		if e.Content != nil || e.Event != nil {
			out = append(out, e.Seq)
		}
	}
	return out
}

// What disappears is gone at its time: of none, one, two and many messages; with the
// connection and without it; and it is told once.
func TestDisappears(t *testing.T) {
	for _, n := range []int{0, 1, 2, 700} {
		for _, offline := range []bool{false, true} {
			inBubble(t, func(t *testing.T, r *rig) {
				r.dial()
				r.say(dm, "bob", "stays")
				r.setLifetime(dm, 60)
				r.sayMany(dm, "bob", n)
				pause(time.Second)
				r.checkLeft("before", dm)
				if offline {
					r.do(func() { r.onHello = func(*wire.Hello) *wire.ServerFrame { return wire.NewServerFrame(&wire.GoAway{}) } })
					r.hangUp()
				}
				pause(58 * time.Second)
				eq(t, "unread just before", must(r.c.Conversation(dm).Unread(bg)), n+1)
				eq(t, "stored just before", len(r.keptOf(dm)), n+2)
				pause(time.Second)
				eq(t, "unread then", must(r.c.Conversation(dm).Unread(bg)), 1)
				eq(t, "stored then", r.keptOf(dm), []uint64{1, 2})
				var told []string
				for _, e := range eventsOf[*GoneEvent](r.events) {
					told = append(told, fmt.Sprint(e.Conversation, " ", e.From, " ", e.To))
				}
				var want []string
				if n > 0 {
					want = append(want, fmt.Sprint(dm, " 3 ", n+2))
				}
				eq(t, "told", told, want)
				r.checkLeft("then", dm)
				r.do(func() { r.onHello = nil })
				pause(3 * time.Minute)
				r.restart()
				pause(time.Second)
				r.checkLeft("after a restart", dm)
				eq(t, "pulls", len(frames(r.fake, (*wire.ClientFrame).GetPull)), 0)
			})
		}
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// A device whose clock is wrong goes by the server's.
func TestDisappearsByTheServersClock(t *testing.T) {
	for _, ahead := range []time.Duration{-time.Hour, time.Hour} { // the server's clock
		inBubble(t, func(t *testing.T, r *rig) {
			r.ahead, r.late = ahead, -ahead
			r.setLifetime(dm, 600)
			e := r.say(dm, "bob", "goes") // by this clock; the server's says that it was said
			r.do(func() { e.StoredAtMs += ahead.Milliseconds() })
			r.dial()
			pause(590 * time.Second)
			eq(t, "just before", len(r.keptOf(dm)), 1) // what a new device has of it
			pause(11 * time.Second)
			eq(t, "then", len(r.keptOf(dm)), 0)
		})
	}
}

// After a long time away without a connection the first thing that is shown is without
// what is gone, and an event that waited for it tells nothing.
func TestDisappearsWhileClosed(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.dial()
		r.setLifetime(dm, 60)
		r.sayMany(dm, "bob", 3)
		pause(time.Second)
		r.end()
		pause(time.Hour)
		nobody := func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("no connection") }
		c, err := Dial(bg, "tcp://fake", WithOffline(), WithToken("tok"), WithStore(r.store), WithDialer(nobody))
		if err != nil {
			t.Fatal(err)
		}
		ms, _ := c.Conversation(dm).History(bg, 0, 10)
		eq(t, "shown", len(ms), 1)
		eq(t, "unread", must(c.Conversation(dm).Unread(bg)), 0)
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		eq(t, "stored", r.keptOf(dm), []uint64{1})
	})
}

// Edits and recalls of what is about to go, and of what is gone, show nothing of it again;
// a lifetime that is switched off and on concerns what is said in its period alone.
func TestDisappearsWithAmendments(t *testing.T) {
	for _, late := range []time.Duration{-time.Second, 0, time.Second} { // the server's clock
		inBubble(t, func(t *testing.T, r *rig) {
			r.late = late
			r.dial()
			r.setLifetime(grp, 60) // 1
			r.sayMany(grp, "bob", 4)
			r.setLifetime(grp, 0) // 6
			r.say(grp, "bob", "stays")
			r.setLifetime(grp, 120) // 8
			r.say(grp, "bob", "for two minutes")
			pause(59 * time.Second)
			r.edit(grp, 2, "other words")
			r.edit(grp, 3, "other words")
			r.recall(grp, 4)
			pause(100 * time.Millisecond)
			pause(10 * time.Second)
			r.checkLeft("after a minute", grp)
			eq(t, "stored", r.keptOf(grp), []uint64{1, 6, 7, 8, 9})
			changed := len(eventsOf[*ChangedEvent](r.events)) + len(eventsOf[*RecallEvent](r.events))
			r.edit(grp, 2, "more")
			r.edit(grp, 3, "more")
			r.recall(grp, 5)
			pause(5 * time.Second)
			r.checkLeft("changed when it was gone", grp)
			eq(t, "events of what is gone", len(eventsOf[*ChangedEvent](r.events))+len(eventsOf[*RecallEvent](r.events)), changed)
			r.hangUp()
			pause(5 * time.Second)
			r.checkLeft("on another connection", grp)
			pause(2 * time.Minute)
			r.checkLeft("after two minutes", grp)
			eq(t, "stored", r.keptOf(grp), []uint64{1, 6, 7, 8})
			r.store = NewMemoryStore()
			r.restart()
			pause(time.Second)
			r.checkLeft("on a new device", grp)
		})
	}
}

// Whatever happens in a conversation whose messages disappear, a device that was there all
// the time, or comes back, or is new, shows what the server says is left, and counts as it
// does.
func TestWhatDisappearsAgreesWithTheServer(t *testing.T) {
	for seed := range uint64(120) {
		inBubble(t, func(t *testing.T, r *rig) {
			rng := rand.New(rand.NewPCG(seed, 11))
			r.late = []time.Duration{0, time.Second, -time.Second}[seed%3]
			r.named = []int{1000, 2}[seed%2]
			r.dial()
			in := true
			for step := range 40 {
				r.disappearingStep(rng, &in)
				if rng.IntN(3) > 0 {
					pause([]time.Duration{time.Second, 25 * time.Second, 50 * time.Second}[rng.IntN(3)])
					continue
				}
				pause(6 * time.Minute) // what was set to go may be asked for
				if in && len(r.theirs()) > 0 {
					r.checkLeft(fmt.Sprintf("seed %d, step %d", seed, step), grp)
				}
				if t.Failed() {
					return
				}
			}
		})
	}
}

// disappearingStep does one thing of many.
func (r *rig) disappearingStep(rng *rand.Rand, in *bool) {
	seqs := r.theirs()
	one := func() uint64 { return seqs[rng.IntN(len(seqs))] }
	switch n := rng.IntN(16); {
	case n < 5 || len(seqs) == 0:
		for range 1 + rng.IntN(4) {
			r.do(func() { r.append(nil, mentioning(rng, &wire.Entry{Kind: wire.EntryKind_ENTRY_KIND_MESSAGE})) })
		}
	case n < 8:
		r.setLifetime(grp, []uint32{60, 150, 0, 600}[rng.IntN(4)])
	case n == 8:
		_ = r.c.Conversation(grp).MarkRead(bg, one())
	case n == 9:
		seq := one()
		r.do(func() { r.markRead(grp, seq) })
		broadcast(r.fake, &wire.Receipt{Conversation: grp, User: "alice", Read: seq})
	case n == 10:
		r.restart()
	case n == 11:
		r.hangUp()
	case n == 12 && rng.IntN(2) == 0:
		*in = !*in
		r.roster(*in)
	default:
		seq := one()
		r.do(func() {
			target := r.journal[grp][seq-1]
			if target.Kind != wire.EntryKind_ENTRY_KIND_MESSAGE || target.Recalled {
				return
			}
			e := &wire.Entry{Conversation: grp, Sender: "bob", Kind: wire.EntryKind_ENTRY_KIND_RECALL, Target: seq}
			if n > 13 {
				e = mentioning(rng, &wire.Entry{Kind: wire.EntryKind_ENTRY_KIND_EDIT, Target: seq, Content: target.Content})
			}
			r.append(nil, e)
		})
	}
	synctest.Wait()
}

// A device that has not all of what was unread asks the server, a little later, what is left
// of it. One that is closed before it asked does so after its next start: it showed what was
// gone as unread until somebody wrote there.
func TestClosedBeforeItAskedWhatIsLeft(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.setLifetime(dm, 60)
		r.sayMany(dm, "bob", 5)
		r.dial()
		pause(59 * time.Second)
		eq(t, "unread before", must(r.c.Conversation(dm).Unread(bg)), 5)
		pause(2 * time.Second) // it is gone, and not asked yet
		r.restart()
		pause(10 * time.Second)
		eq(t, "unread then", must(r.c.Conversation(dm).Unread(bg)), 0)
		r.checkLeft("then", dm)
	})
}

// The entry of a change that was changed again before anybody wrote goes with what was said
// before it (SPEC §4.27), at its time and without being told, however often it was changed.
func TestChangedAgainAtOnce(t *testing.T) {
	for _, changes := range [][]uint32{{0}, {0, 120}, {120, 0}, {0, 0, 90}, {120, 90, 0}, {120, 0, 60}} {
		inBubble(t, func(t *testing.T, r *rig) {
			r.dial()
			r.setLifetime(dm, 60)
			r.say(dm, "bob", "goes")
			pause(30 * time.Second)
			for _, seconds := range changes {
				r.setLifetime(dm, seconds)
			}
			r.say(dm, "bob", "behind")
			pause(time.Second)
			r.checkLeft(fmt.Sprint(changes, " before"), dm)
			pause(30 * time.Second)
			r.checkLeft(fmt.Sprint(changes, " what was said is gone"), dm)
			pause(31 * time.Second)
			r.checkLeft(fmt.Sprint(changes, " the changes are gone with it"), dm)
			eq(t, "questions", len(frames(r.fake, (*wire.ClientFrame).GetSync)), 0)
			pause(2 * time.Minute)
			r.checkLeft(fmt.Sprint(changes, " in the end"), dm)
		})
	}
}
