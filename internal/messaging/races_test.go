package messaging

import (
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// holdAppend keeps the next append from beginning until release is called, or
// the test ends.
func (w *world) holdAppend() (entered <-chan bool, release func()) {
	in, out := make(chan bool), make(chan bool)
	release = sync.OnceFunc(func() { close(out) })
	w.t.Cleanup(release)
	var once sync.Once
	w.journal.setFail(func(bool) error {
		once.Do(func() {
			in <- true
			<-out
		})
		return nil
	})
	return in, release
}

// remove takes bob out of g with an event, as the group package does.
func (w *world) remove(g im.ConversationID, rev uint64) {
	w.t.Helper()
	_, err := w.AppendEvent(w.t.Context(), im.Promise{
		ID: w.id(), Conversation: g, Event: im.Event{Type: im.EventMemberRemoved, Users: []im.UserID{"bob"}}, IfRoster: rev - 1, SetRoster: rev,
	}, func(seq uint64) error {
		w.members.setRoster(g, rev)
		w.members.mu.Lock()
		defer w.members.mu.Unlock()
		for i := range w.members.rows["bob"] {
			if m := &w.members.rows["bob"][i]; m.Conversation == g {
				m.Until = seq
			}
		}
		return nil
	})
	if err != nil {
		w.t.Error(err)
	}
}

// A removal and a later message happened between the look at the memberships
// and the look at the heads; the removed member was shown the message.
func TestRemovalDuringAReadShowsNothingLater(t *testing.T) {
	g := im.Group("g")
	for name, read := range map[string]func(w *world) []im.Entry{
		"resume": func(w *world) []im.Entry {
			r := w.sync("bob", im.SyncQuery{Position: w.journal.begin(), Timeline: "t1"})
			return r.Conversations[0].Told.Entries
		},
		"cold": func(w *world) []im.Entry { return w.sync("bob", im.SyncQuery{}).Conversations[0].Told.Entries },
		"pull": func(w *world) []im.Entry {
			r, err := w.Pull(t.Context(), im.Actor{User: "bob"}, im.PullQuery{Conversation: g, From: 1})
			if err != nil {
				t.Fatal(err)
			}
			return r.Entries
		},
		"digest": func(w *world) []im.Entry {
			same, _, err := w.Compare(t.Context(), im.Actor{User: "bob"}, w.journal.begin(), im.HeadHash(g, 2))
			if err != nil || !same {
				t.Errorf("digest: %v, %v", same, err)
			}
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.members.add("bob", im.Membership{Conversation: g, First: 1})
			w.mustSend("alice", g, "for bob")
			w.journal.mu.Lock()
			w.journal.onHeads = func() {
				w.remove(g, 1)
				w.mustSend("alice", g, "not for bob")
			}
			w.journal.mu.Unlock()
			for _, e := range read(w) {
				if e.Seq > 2 {
					t.Errorf("bob was removed at 2 and shown %d: %q", e.Seq, words(&e))
				}
			}
		})
	}
}

// A message and the join that follows it in the same batch: the message must be
// delivered before the newcomer is in the roster, or it is pushed to them.
func TestWhatCameBeforeAJoinLeavesBeforeIt(t *testing.T) {
	w := newWorld(t)
	w.out.slow = func() { time.Sleep(20 * time.Millisecond) }
	g := im.Group("g")
	if _, err := w.members.MaySend(t.Context(), "alice", g, im.EntryMessage); err != nil { // from now on RAM knows
		t.Fatal(err)
	}
	entered, release := w.holdAppend()
	first := w.start("alice", w.message(ab, "keeps the committer busy"))
	<-entered
	before := w.start("alice", w.message(g, "before the join"))
	joined := make(chan error, 1)
	go func() {
		_, err := w.AppendEvent(t.Context(), im.Promise{ID: w.id(), Conversation: g, Event: im.Event{Type: im.EventMemberAdded}, SetRoster: 1}, func(uint64) error {
			if s := w.out.seqs(g); !slices.Equal(s, []uint64{1}) {
				t.Errorf("delivered %v when the join was applied, want what came before it", s)
			}
			return nil
		})
		joined <- err
	}()
	for { // both are queued behind the first
		w.queue.mu.Lock()
		n := len(w.queue.items)
		w.queue.mu.Unlock()
		if n == 2 {
			break
		}
		runtime.Gosched()
	}
	release()
	<-first
	if o := <-before; o.err != nil {
		t.Fatal(o.err)
	}
	if err := <-joined; err != nil {
		t.Fatal(err)
	}
}

// One conversation that cannot be read must not keep the others, or the server,
// from storing.
func TestDamagedConversationStopsNobodyElse(t *testing.T) {
	w := newWorld(t)
	bad := im.DM("alice", "carol")
	w.journal.damaged = map[im.ConversationID]bool{bad: true}
	entered, release := w.holdAppend()
	first := w.start("alice", w.message(ab, "1"))
	<-entered
	broken := w.start("alice", w.message(bad, "x"))
	second := w.start("alice", w.message(ab, "2"))
	release()
	for i, got := range []<-chan outcome{first, second} {
		if o := <-got; o.err != nil || o.ack.Seq != uint64(i+1) {
			t.Errorf("message %d: %+v", i+1, o)
		}
	}
	o := <-broken
	wantCode(t, o.err, im.CodeInternal)
	w.mustSend("alice", ab, "3")
}

// Large messages are bounded by their bytes, not by their number.
func TestOverloadCountsBytes(t *testing.T) {
	w := newWorld(t)
	entered, release := w.holdAppend()
	big := func() im.Message {
		m := w.message(ab, "")
		m = saying(m, strings.Repeat("x", 1<<20))
		return m
	}
	taken := []<-chan outcome{w.start("alice", big())}
	<-entered
	for range 70 {
		got := w.start("alice", big())
		select {
		case o := <-got:
			wantCode(t, o.err, im.CodeOverloaded)
			if n := len(taken); n < 60 || n > 64 {
				t.Errorf("rejected after %d MiB", n)
			}
			release()
			for _, c := range taken {
				if o := <-c; o.err != nil {
					t.Error(o.err)
				}
			}
			if a := w.mustSend("bob", ab, "room again"); a.Seq != uint64(len(taken)+1) {
				t.Error(a)
			}
			return
		default:
			taken = append(taken, got)
		}
	}
	t.Fatal("70 MiB were taken")
}

// A sync has a bounded size; what does not fit is pulled.
func TestSyncIsBoundedInBytes(t *testing.T) {
	w := newWorld(t)
	for i := range 40 {
		m := w.message(im.DM("alice", im.UserID(rune('a'+i%26))+im.UserID(rune('a'+i/26))), "")
		m = saying(m, strings.Repeat("x", 60<<10))
		if _, err := w.send("alice", m); err != nil {
			t.Fatal(err)
		}
	}
	for _, q := range []im.SyncQuery{{}, {Position: w.journal.begin(), Timeline: "t1"}} {
		size := 0
		r := w.sync("alice", q)
		for _, c := range r.Conversations {
			for _, e := range c.Told.Entries {
				size += len(e.Body)
			}
		}
		if len(r.Conversations) != 40 || size == 0 || size > 1<<20 {
			t.Errorf("%d conversations, %d bytes", len(r.Conversations), size)
		}
	}
}

// A commit between moving a mark and remembering it hid the receipt from the
// other side's next sync.
func TestReceiptOfAMovingMarkIsFound(t *testing.T) {
	w := newWorld(t)
	w.mustSend("alice", ab, "1")
	w.mustSend("alice", ab, "2")
	if err := w.Mark(t.Context(), im.Actor{User: "bob"}, ab, 1, 0); err != nil { // the floor is known
		t.Fatal(err)
	}
	w.elsewhere()
	before := w.sync("alice", im.SyncQuery{})
	q := im.SyncQuery{Position: before.Position, Timeline: before.Timeline}
	w.journal.mu.Lock()
	w.journal.onMarks = func() { // the mark is set, and not remembered yet
		if r := w.sync("alice", q); len(r.Conversations) != 1 || r.Conversations[0].PeerReceived != 2 {
			t.Errorf("while it moves: %+v", r.Conversations)
		}
		w.elsewhere()
	}
	w.journal.mu.Unlock()
	if err := w.Mark(t.Context(), im.Actor{User: "bob"}, ab, 2, 0); err != nil {
		t.Fatal(err)
	}
	r := w.sync("alice", q)
	if len(r.Conversations) != 1 || r.Conversations[0].PeerReceived != 2 {
		t.Fatalf("%+v", r.Conversations)
	}
}

// What waits for a roster is not overtaken: neither by what comes while it waits
// and would be stored at once, nor by what is taken from the queue together with
// its next attempt.
func TestNothingOvertakesWhatIsHeld(t *testing.T) {
	for name, meanwhile := range map[string]func(w *world, g im.ConversationID) <-chan outcome{
		"between two attempts": func(w *world, g im.ConversationID) <-chan outcome {
			w.members.setRoster(g, 7)
			return w.start("alice", w.message(g, "2"))
		},
		"with the next attempt": func(w *world, g im.ConversationID) <-chan outcome {
			entered, release := w.holdAppend()
			other := w.start("alice", w.message(ab, "elsewhere"))
			<-entered
			w.members.setRoster(g, 7)
			time.Sleep(time.Second) // the attempt is due while the committer is busy
			got := w.start("alice", w.message(g, "2"))
			release()
			<-other
			return got
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &world{t: t, journal: newMemJournal(), members: newFakeMembers(), out: &recorder{}}
				w.Service = New(Options{Journal: w.journal, Marks: w.journal, Recalls: w.journal, Labels: w.journal, Lookups: w.journal, Pages: w.journal, Permissions: w.members, Members: w.members, Deliverer: w.out})
				defer w.Close()
				g := im.Group("g")
				if _, err := w.AppendEvent(t.Context(), im.Promise{ID: w.id(), Conversation: g, Event: im.Event{Type: im.EventGroupCreated}, SetRoster: 7}, nil); err != nil {
					t.Fatal(err)
				}
				first := w.start("alice", w.message(g, "1"))
				time.Sleep(103 * time.Millisecond) // some attempts later, and none is due now
				second := meanwhile(w, g)
				for i, c := range []<-chan outcome{first, second} {
					if o := <-c; o.err != nil || o.ack.Seq != uint64(i+2) {
						t.Fatalf("message %d: %+v", i+1, o)
					}
				}
			})
		})
	}
}
