package messaging

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// looks does what the timer of a conversation is for.
func (w *world) looks(c im.ConversationID) time.Time {
	w.t.Helper()
	again, err := w.TimeIsUp(w.t.Context(), im.Timer{Kind: im.TimerLifetime, Conversation: c})
	if err != nil {
		w.t.Fatal(err)
	}
	return again
}

// empty are the entries that the store gave up.
func (w *world) empty(c im.ConversationID) (seqs []uint64) {
	w.journal.mu.Lock()
	defer w.journal.mu.Unlock()
	for _, e := range w.journal.entries[c] {
		if len(e.Body) == 0 {
			seqs = append(seqs, e.Seq)
		}
	}
	return seqs
}

// What is gone for ten seconds is given up, nothing else; the next look is when the next
// one goes, and not sooner than a sixtieth of the lifetime. Periods that are gone become
// one, and stay gone.
func TestGoneIsGivenUp(t *testing.T) {
	windows := []im.Window{{First: 1}}
	w, f, g := perishing(t, windows, somePeriods()...)
	now := saidAt(41)
	for range 2 { // done again, it does nothing more
		f.is(now)
		again := w.looks(g)
		// 5–11 are over, 12–14 live for 20 minutes: gone at 32–34; 21–30 are gone, 31 not
		// for ten seconds.
		if want := []uint64{5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30}; !slices.Equal(w.empty(g), want) {
			t.Fatalf("given up are %v, want %v", w.empty(g), want)
		}
		if want := saidAt(41).Add(goneFor); !again.Equal(want) {
			t.Fatalf("the next look is at %s, want %s", again, want)
		}
		if want := []im.Period{{After: 4, Until: 14, Gone: true}, {After: 14, Until: 20}, {After: 20, Lifetime: 10 * time.Minute}}; !slices.Equal(f.all[g], want) {
			t.Fatalf("periods %v, want %v", f.all[g], want)
		}
		w.reads("bob", g, alive(theirs(windows), somePeriods(), now))
	}
	f.is(saidAt(41).Add(goneFor + time.Second))
	if again := w.looks(g); !again.Equal(saidAt(42).Add(goneFor)) {
		t.Errorf("then at %s", again)
	}
	f.is(saidAt(60))
	if again := w.looks(g); !again.Equal(saidAt(70)) { // nothing is left: what comes has a lifetime
		t.Errorf("with nothing left at %s", again)
	}
	if got := w.empty(g); len(got) != 30 || slices.Contains(got, 20) || slices.Contains(got, 4) {
		t.Errorf("in the end %v is given up", got)
	}
	w.lifetimes.forget() // as after a restart
	f.is(saidAt(61))
	w.looks(g)
	w.reads("bob", g, theirs([]im.Window{{First: 1, Until: 4}, {First: 15, Until: 20}}))
	if len(w.empty(g)) != 30 {
		t.Errorf("after a restart %v is given up", w.empty(g))
	}
}

// Of a period that is over, and all of it gone, nothing is looked at any more.
func TestNothingMoreGoes(t *testing.T) {
	w, f, g := perishing(t, []im.Window{{First: 1}}, im.Period{After: 4, Until: 11, Lifetime: time.Minute}, im.Period{After: 11})
	f.is(saidAt(41))
	if again := w.looks(g); !again.IsZero() {
		t.Errorf("again at %s", again)
	}
	w.reads("bob", g, theirs([]im.Window{{First: 1, Until: 4}, {First: 12}}))
}

// What is stored between the entry that ends a period and the period's row is not taken
// for the old one's.
func TestNothingIsGivenUpBeforeItsPeriodIsKnown(t *testing.T) {
	w, f, g := perishing(t, []im.Window{{First: 1}}, im.Period{After: 4, Lifetime: time.Minute})
	f.is(saidAt(60))
	f.promised = []im.Promise{{Conversation: g, Event: im.Event{Type: im.EventLifetimeChanged}}}
	if again := w.looks(g); !again.Equal(saidAt(60).Add(minPause)) || len(w.empty(g)) > 0 {
		t.Errorf("again at %s, given up: %v", again, w.empty(g))
	}
	f.promised = nil
	f.all[g] = []im.Period{{After: 4, Until: 10, Lifetime: time.Minute}, {After: 11}}
	w.looks(g)
	if want := []uint64{5, 6, 7, 8, 9, 10}; !slices.Equal(w.empty(g), want) {
		t.Errorf("given up are %v, want %v", w.empty(g), want)
	}
}

// Who reacted to a message that stays is known, though their reactions disappear; it is
// given up with the message.
func TestReactionsStayWithTheirMessage(t *testing.T) {
	g := im.Group("g")
	f := &fakePeriods{all: map[im.ConversationID][]im.Period{}, now: noon}
	w := newWorld(t, func(o *Options) { o.Periods, o.Now, o.EditWindow = f, f.clock, time.Hour })
	w.journal.now = f.clock
	const users = 300
	for u := range users {
		w.members.add(im.UserID(fmt.Sprint("user", u)), im.Membership{Conversation: g, First: 1})
	}
	seq := w.say("user0", g, "stays for an hour")
	f.all[g] = []im.Period{{After: 0, Until: 2, Lifetime: time.Hour}, {After: 2, Until: 402, Lifetime: time.Minute}, {After: 402}}
	w.say("user0", g, "stays, too")
	react := func(target uint64) {
		for u := range users {
			if _, err := w.react(im.UserID(fmt.Sprint("user", u)), g, target, "yes", false); err != nil {
				t.Fatal(err)
			}
		}
	}
	react(seq)
	for range 100 {
		w.say("user0", g, "goes soon")
	}
	f.is(noon.Add(5 * time.Minute))
	w.looks(g)
	left := 2 + len(w.carriers(g))
	if given := len(w.empty(g)); given != 402-left || left == 2 || left > 70 {
		t.Fatalf("%d are given up, %d stay", given, left)
	}
	if n := len(w.who("user1", g, seq, "yes", 1000)); n != users {
		t.Errorf("%d reacted", n)
	}
	w.say("user0", g, "for ever")
	f.is(noon.Add(62 * time.Minute))
	w.looks(g)
	if got := w.carriers(g); len(got) != 0 {
		t.Errorf("%v carry reactions to what is given up", got)
	}
	if want := []im.Period{{Until: 402, Gone: true}, {After: 402}}; !slices.Equal(f.all[g], want) {
		t.Errorf("periods %v, want %v", f.all[g], want)
	}
}

// carriers are the entries behind the second whose body the store has.
func (w *world) carriers(c im.ConversationID) (seqs []uint64) {
	w.journal.mu.Lock()
	defer w.journal.mu.Unlock()
	for _, e := range w.journal.entries[c] {
		if e.Seq > 2 && e.Seq <= 402 && len(e.Body) > 0 {
			seqs = append(seqs, e.Seq)
		}
	}
	return seqs
}

// Many pages take several looks, between which others have their turn.
func TestManyAreGivenUpInTurns(t *testing.T) {
	g := im.Group("g")
	f := &fakePeriods{all: map[im.ConversationID][]im.Period{g: {{After: 1, Lifetime: time.Minute}}}, now: noon}
	w := newWorld(t, func(o *Options) { o.Periods, o.Now = f, f.clock })
	w.journal.now = f.clock
	w.members.add("alice", im.Membership{Conversation: g, First: 1})
	const n = givenPages*givenPage + 10
	var got []<-chan outcome
	for range n {
		got = append(got, w.start("alice", w.message(g, strings.Repeat("x", 3))))
	}
	for _, c := range got {
		if o := <-c; o.err != nil {
			t.Fatal(o.err)
		}
	}
	f.is(noon.Add(2 * time.Minute))
	if again := w.looks(g); !again.Equal(f.now) || len(w.empty(g)) != givenPages*givenPage {
		t.Errorf("%d are given up, again at %s", len(w.empty(g)), again)
	}
	if again := w.looks(g); !again.After(f.now) || len(w.empty(g)) != n-1 {
		t.Errorf("%d are given up then, again at %s", len(w.empty(g)), again)
	}
}

// A conversation whose entries are all gone, and where the user has a draft, is told with
// it, and with nothing that was said.
func TestDraftWhereAllIsGone(t *testing.T) {
	f := &fakePeriods{all: map[im.ConversationID][]im.Period{ab: {{Lifetime: time.Minute}}}, now: noon}
	w := newWorld(t, func(o *Options) { o.Periods, o.Now = f, f.clock })
	w.journal.now = f.clock
	w.mustSend("alice", ab, "goes")
	draft := "not yet"
	w.setMine("bob", ab, im.MyChange{Draft: &draft})
	for _, given := range []bool{false, true} {
		f.is(noon.Add(2 * time.Minute))
		if given {
			w.looks(ab)
		}
		all := w.sync("bob", im.SyncQuery{}).Conversations
		if len(all) != 1 || all[0].Conversation != ab || all[0].Unread != 0 || len(all[0].Told.Entries) != 0 || all[0].First != 2 || all[0].Mine.Draft != draft {
			t.Errorf("given up %t: told %+v", given, all)
		}
	}
}
