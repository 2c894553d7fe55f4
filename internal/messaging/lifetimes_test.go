package messaging

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// fakePeriods are periods, and a clock that says when it is.
type fakePeriods struct {
	mu    sync.Mutex
	all   map[im.ConversationID][]im.Period
	now   time.Time
	asked int
	// promised are the promises to all conversations.
	promised []im.Promise
}

func (f *fakePeriods) PendingOf(context.Context, im.ConversationID) ([]im.Promise, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.promised, nil
}

func (f *fakePeriods) EndPeriods(_ context.Context, c im.ConversationID, first uint64, rest []uint64) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []im.Period
	for _, p := range f.all[c] {
		switch {
		case p.After == first:
			p.Gone, p.Lifetime = true, 0
		case slices.Contains(rest, p.After):
			all[len(all)-1].Until = p.Until
			continue
		}
		all = append(all, p)
	}
	f.all[c] = all
	return nil
}

func (f *fakePeriods) Periods(_ context.Context, cs []im.ConversationID) (map[im.ConversationID][]im.Period, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked++
	out := maps.Clone(f.all)
	maps.DeleteFunc(out, func(c im.ConversationID, _ []im.Period) bool { return !slices.Contains(cs, c) })
	return out, nil
}

func (f *fakePeriods) clock() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.now
}

func (f *fakePeriods) is(now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.now = now
}

var noon = time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)

// saidAt is when the entry seq of perishing was said.
func saidAt(seq int) time.Time { return noon.Add(time.Duration(seq) * time.Minute) }

// perishing is a group in which alice says one of 40 messages each minute, every second
// one with a mention of bob, who was a member in some windows.
func perishing(t *testing.T, windows []im.Window, periods ...im.Period) (*world, *fakePeriods, im.ConversationID) {
	g := im.Group("g")
	f := &fakePeriods{all: map[im.ConversationID][]im.Period{g: periods}, now: noon}
	w := newWorld(t, func(o *Options) { o.Periods, o.Now = f, f.clock })
	w.journal.now = f.clock
	w.members.add("alice", im.Membership{Conversation: g, First: 1})
	for seq := 1; seq <= 40; seq++ {
		f.is(saidAt(seq))
		text := fmt.Sprint(seq)
		if seq%2 == 0 {
			text += " @bob"
		}
		w.mention("alice", g, text)
	}
	last := windows[len(windows)-1]
	w.members.add("bob", im.Membership{Conversation: g, First: last.First, Until: last.Until, Earlier: windows[:len(windows)-1]})
	return w, f, g
}

func somePeriods() []im.Period {
	return []im.Period{{After: 4, Until: 11, Lifetime: 5 * time.Minute}, {After: 11, Until: 14, Lifetime: 20 * time.Minute}, {After: 14, Until: 20}, {After: 20, Lifetime: 10 * time.Minute}}
}

// alive are those of seqs that are not gone.
func alive(seqs []uint64, periods []im.Period, now time.Time) (left []uint64) {
	for _, seq := range seqs {
		gone := false
		for _, p := range periods {
			in := p.After < seq && (p.Until == 0 || seq <= p.Until)
			gone = gone || in && p.Lifetime > 0 && !saidAt(int(seq)).Add(p.Lifetime).After(now)
		}
		if !gone {
			left = append(left, seq)
		}
	}
	return left
}

// What is gone is nobody's to read: a member pulls what is left of their windows, by
// pages of any size, both ways and from a date; it alone is unread and mentions them.
func TestGoneIsBetweenWindows(t *testing.T) {
	for name, windows := range windowCases() {
		t.Run(name, func(t *testing.T) {
			w, f, g := perishing(t, windows, somePeriods()...)
			for _, now := range []time.Time{saidAt(40), saidAt(40).Add(59 * time.Second), saidAt(41), saidAt(45), saidAt(50).Add(-1), saidAt(50), saidAt(60)} {
				f.is(now)
				want := alive(theirs(windows), somePeriods(), now)
				w.reads("bob", g, want)
				even := slices.DeleteFunc(slices.Clone(want), func(seq uint64) bool { return seq%2 == 1 })
				for _, st := range w.sync("bob", im.SyncQuery{}).Conversations {
					if st.Conversation != g {
						continue
					}
					if int(st.Unread) != len(want) || !slices.Equal(st.MentionSeqs, even) || int(st.UnreadMentions) != len(even) {
						t.Errorf("%s: unread %d, mentions %v, want %v", now, st.Unread, st.MentionSeqs, want)
					}
				}
				var listed []uint64
				es, _, err := w.Mentions(t.Context(), im.Actor{User: "bob"}, "", 100)
				if err != nil {
					t.Fatal(err)
				}
				for _, e := range slices.Backward(es) {
					listed = append(listed, e.Seq)
				}
				if !slices.Equal(listed, even) {
					t.Errorf("%s: mentions %v, want %v", now, listed, even)
				}
			}
		})
	}
}

// reads checks what a user pulls, up and down.
func (w *world) reads(u im.UserID, c im.ConversationID, want []uint64) {
	w.t.Helper()
	for _, limit := range []int{1, 3, 100} {
		for _, back := range []bool{false, true} {
			var got []uint64
			q := im.PullQuery{Conversation: c, Limit: limit, Backward: back}
			for n := 0; n < 200; n++ {
				r, err := w.Pull(w.t.Context(), im.Actor{User: u}, q)
				if err != nil {
					w.t.Fatal(err)
				}
				seqs := seqsOf(r.Entries)
				if back {
					slices.Reverse(seqs)
				}
				got = append(got, seqs...)
				if r.First == 0 || back && r.First <= 1 || !back && r.Stretch.Last >= r.Head {
					break
				}
				if q.From = r.Stretch.Last + 1; back {
					q.From = r.First - 1
				}
			}
			if back {
				slices.Reverse(got)
			}
			if !slices.Equal(got, want) {
				w.t.Fatalf("%s pulls %v by %d (backward %t), want %v", u, got, limit, back, want)
			}
		}
	}
}

// A device that was away for longer than the lifetime is told of the conversation, of
// what is left, and of what the gone entries made of what is left; its cold start has
// the last one that is left.
func TestAwayForLongerThanTheLifetime(t *testing.T) {
	f := &fakePeriods{all: map[im.ConversationID][]im.Period{}, now: noon}
	w := newWorld(t, func(o *Options) { o.Periods, o.Now = f, f.clock })
	w.journal.now = f.clock
	kept := w.mustSend("alice", ab, "kept").Seq
	for range 20 { // it is not among the entries that are looked at for news
		w.mustSend("alice", ab, "more")
	}
	at := w.sync("bob", im.SyncQuery{})
	begins := w.mustSend("alice", ab, "what begins it").Seq // in the place of the event
	f.all[ab] = []im.Period{{After: begins, Lifetime: time.Minute}}
	for n := range 3 {
		w.mustSend("alice", ab, fmt.Sprint(n))
	}
	if _, err := w.send("alice", recalling(im.Message{Conversation: ab, ID: w.id()}, kept)); err != nil {
		t.Fatal(err)
	}
	f.is(noon.Add(2 * time.Minute))
	st := w.sync("bob", im.SyncQuery{Timeline: at.Timeline, Position: at.Position}).Conversations[0]
	if got := seqsOf(st.Told.Entries); !slices.Equal(got, []uint64{begins}) || st.Unread != 21 || st.First != st.Head.Seq+1 || st.Told.Last != st.Head.Seq {
		t.Errorf("told %v, unread %d, first %d of %d, up to %d", got, st.Unread, st.First, st.Head.Seq, st.Told.Last)
	}
	if got := st.Told.Touched; len(got) != 1 || got[0].Seq != kept || !got[0].Recalled {
		t.Errorf("touched %+v, want the recall of %d", got, kept)
	}
	if !slices.Equal(st.Lifetimes, f.all[ab]) {
		t.Errorf("lifetimes %v", st.Lifetimes)
	}
	cold := w.sync("bob", im.SyncQuery{}).Conversations[0]
	if got := seqsOf(cold.Told.Entries); !slices.Equal(got, []uint64{begins}) {
		t.Errorf("the last one is %v", got)
	}
}

// Nothing is done to what is gone: all that names it finds no such message.
func TestGoneIsNotFound(t *testing.T) {
	w, f, g := perishing(t, []im.Window{{First: 1}}, somePeriods()...)
	w.pin("alice", g, 38, false)
	w.wantPins("bob", g, "38 by alice")
	f.is(saidAt(41)) // 5–14 and 21–31 are gone
	for seq, want := range map[uint64]im.Code{4: "", 5: im.CodeNotFound, 11: im.CodeNotFound, 31: im.CodeNotFound, 38: ""} {
		ask := map[string]error{}
		_, ask["pin"] = w.pin("alice", g, seq, true)
		if want != "" {
			_, ask["recall"] = w.send("alice", recalling(im.Message{Conversation: g, ID: w.early()}, seq))
		}
		_, _, ask["edits"] = w.Edits(t.Context(), im.Actor{User: "bob"}, g, seq, 0, 1)
		_, ask["delete"] = w.SetMyState(t.Context(), im.Actor{User: "bob"}, g, im.MyChange{Delete: im.NewSeqSet(im.SeqRange{First: seq, Last: seq})})
		for what, err := range ask {
			if got := im.CodeOf(err); got != want {
				t.Errorf("%s of %d: %v, want %q", what, seq, err, want)
			}
		}
	}
	f.is(saidAt(60))
	w.wantPins("bob", g, "")
}

// The directory is asked about a conversation once in half a minute by those who read in
// it, each time by a sync, and never by who writes.
// A lifetime was changed, and changed again before anybody wrote: the entry of the first
// change is the last one of the period before it, and gone in its time, although that period
// was looked at when it ended one entry earlier.
func TestPeriodThatEndsLater(t *testing.T) {
	w, f, g := perishing(t, []im.Window{{First: 1}}, im.Period{After: 10, Until: 19, Lifetime: 20 * time.Minute}, im.Period{After: 20})
	f.is(saidAt(39).Add(30 * time.Second))
	left := append(theirs([]im.Window{{First: 1, Until: 10}}), theirs([]im.Window{{First: 20, Until: 40}})...)
	w.reads("bob", g, left) // all of it is gone: nothing of it will be for the next 20 minutes
	f.mu.Lock()
	f.all[g] = []im.Period{{After: 10, Until: 20, Lifetime: 20 * time.Minute}, {After: 21}}
	f.mu.Unlock()
	f.is(saidAt(41))
	w.reads("bob", g, slices.DeleteFunc(left, func(seq uint64) bool { return seq == 20 }))
}

func TestPeriodsAreAskedForSeldom(t *testing.T) {
	w, f, g := perishing(t, []im.Window{{First: 1}})
	if f.asked != 0 {
		t.Errorf("asked %d times for what was written", f.asked)
	}
	for range 5 {
		w.reads("bob", g, theirs([]im.Window{{First: 1}}))
	}
	if f.asked != 1 {
		t.Errorf("asked %d times by pulls", f.asked)
	}
	w.sync("bob", im.SyncQuery{})
	if f.asked != 2 {
		t.Errorf("asked %d times with a sync", f.asked)
	}
}
