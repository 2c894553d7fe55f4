package messaging

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/skein-im/skein/internal/entrycodec"
	"github.com/skein-im/skein/internal/im"
)

// shared is the setting of a node among others: what is known of heads is known
// to the journal's memory only.
func shared(known map[im.ConversationID]im.Head) func(*Options) {
	return func(o *Options) {
		o.Known = func(c im.ConversationID) (im.Head, bool) {
			h, ok := known[c]
			return h, ok
		}
	}
}

// A node stored an entry and was killed before it delivered it. The sender
// repeats it here: the members are told that there is something.
func TestAResendRemindsTheOthers(t *testing.T) {
	w := newWorld(t, shared(nil))
	m := w.message(ab, "hi")
	if _, err := w.send("alice", m); err != nil {
		t.Fatal(err)
	}
	if len(w.out.reminded) != 0 {
		t.Fatalf("reminded of %v", w.out.reminded)
	}
	if _, err := w.send("alice", m); err != nil {
		t.Fatal(err)
	}
	if r := w.out.reminded; len(r) != 1 || r[0].Conversation != ab || r[0].Seq != 1 {
		t.Fatalf("reminded of %v", r)
	}
}

// A database that cannot be reached refuses, and the node goes on when it is back.
func TestAnAbsentStoreRefuses(t *testing.T) {
	w := newWorld(t, shared(nil))
	w.journal.setFail(func(after bool) error {
		if !after {
			return im.ErrJournalUnavailable
		}
		return nil
	})
	m := w.message(ab, "hi")
	if _, err := w.send("alice", m); im.CodeOf(err) != im.CodeUnavailable {
		t.Fatal(err)
	}
	w.journal.setFail(nil)
	if a, err := w.send("alice", m); err != nil || a.Seq != 1 {
		t.Fatal(a, err)
	}
	select {
	case err := <-w.failed:
		t.Fatalf("gave up: %v", err)
	default:
	}
}

// The connection broke during the commit and the database is away for ten
// seconds: nothing is answered until it tells what became of the batch.
func TestUnknownIsAskedWhileTheStoreIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, shared(nil))
		var since time.Time
		w.journal.setFail(func(after bool) error {
			switch {
			case since.IsZero() && after:
				since = time.Now()
				return im.ErrOutcomeUnknown
			case !since.IsZero() && !after && time.Since(since) < 10*time.Second:
				return im.ErrJournalUnavailable
			}
			return nil
		})
		a, err := w.send("alice", w.message(ab, "hi"))
		if err != nil || a.Seq != 1 || time.Since(since) < 10*time.Second {
			t.Fatal(a, err, time.Since(since))
		}
		w.mustSend("alice", ab, "what came before is delivered when this is answered")
		if s := w.out.seqs(ab); len(s) == 0 || s[0] != 1 {
			t.Fatalf("delivered %v", s)
		}
	})
}

// It stays away: whoever waits is told that the outcome is not known, and the
// process goes on.
func TestUnknownForGoodIsSaidSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, shared(nil))
		w.journal.setFail(func(bool) error { return im.ErrOutcomeUnknown })
		if _, err := w.send("alice", w.message(ab, "hi")); im.CodeOf(err) != im.CodeUnknown {
			t.Fatal(err)
		}
		w.journal.setFail(nil)
		w.mustSend("bob", ab, "it is back")
	})
}

// Whoever changes a group's roster is gone after the entry was stored and before
// the directory shows it: who wants to write there carries it out.
func TestAHeldGroupIsHelped(t *testing.T) {
	grp := im.Group("g")
	w := newWorld(t, shared(nil))
	w.members.setRoster(grp, 1)
	out := make([]im.Appended, 2)
	event := func(ifRoster, setRoster uint64) im.Append {
		return im.Append{Entry: im.Entry{Conversation: grp, ID: w.id(), Kind: im.EntryEvent, Body: entrycodec.Event(&im.Event{})}, IfRoster: ifRoster, SetRoster: setRoster}
	}
	if err := w.journal.Append(t.Context(), []im.Append{event(0, 1), event(1, 2)}, out); err != nil || out[1].Status != im.Stored {
		t.Fatal(out, err)
	}
	w.members.onHelp = func(c im.ConversationID) {
		if c != grp {
			t.Errorf("helped %s", c)
		}
		w.members.current[c] = 2
	}
	w.mustSend("alice", grp, "hi")
	if len(w.members.helped) != 1 {
		t.Fatalf("helped %v", w.members.helped)
	}
}

// A mark that what is known of the head allows needs no question to the store.
func TestMarkWithinWhatIsKnown(t *testing.T) {
	known := map[im.ConversationID]im.Head{}
	w := newWorld(t, shared(known))
	w.mustSend("alice", ab, "hi")
	w.mustSend("alice", ab, "hi")
	known[ab] = im.Head{Seq: 1, Count: 1}
	asked := false
	w.journal.onHeads = func() { asked = true }
	if err := w.Mark(t.Context(), im.Actor{User: "bob"}, ab, 1, 1); err != nil {
		t.Fatal(err)
	}
	if asked {
		t.Error("the store was asked")
	}
	if err := w.Mark(t.Context(), im.Actor{User: "bob"}, ab, 2, 2); err != nil { // beyond what is known
		t.Fatal(err)
	}
	if err := w.Mark(t.Context(), im.Actor{User: "bob"}, ab, 3, 3); im.CodeOf(err) != im.CodeInvalidArgument {
		t.Fatal(err)
	}
}

// The database is cut off from this node for ten seconds while it appends. Others
// have been given the message meanwhile, and may have refused it: it is found if
// it was stored, and not stored late.
func TestNothingIsStoredLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, shared(nil))
		var since time.Time
		w.journal.setFail(func(after bool) error {
			switch {
			case since.IsZero() && !after: // the request is lost
				since = time.Now()
				return im.ErrOutcomeUnknown
			case time.Since(since) < 10*time.Second && !after:
				return im.ErrJournalUnavailable
			}
			return nil
		})
		m := w.message(ab, "hi")
		waiting := w.start("alice", m)
		synctest.Wait()
		behind := w.start("alice", w.message(ab, "behind it"))
		w.wantOutcome(waiting, "the one that waited", 0, im.CodeUnavailable)
		w.wantOutcome(behind, "the one behind it", 0, im.CodeOutOfOrder)
		if n := len(w.journal.entries[ab]); n != 0 {
			t.Fatalf("%d entries were stored late", n)
		}
		if a, err := w.send("alice", m); err != nil || a.Seq != 1 {
			t.Fatal(a, err)
		}
	})
}

// A message that waited in this process before it came here is as old as it is: the
// sender was told for good that it is not stored, and must not see it stored when the
// node gets to it, ten seconds later. Found by cut-database (1 of 65,000).
func TestNothingIsStoredThatWaitedElsewhere(t *testing.T) {
	w := newWorld(t, shared(nil))
	got := make(chan error, 1)
	w.Send(t.Context(), im.Actor{User: "alice", Connection: "c", Had: time.Now().Add(-10 * time.Second)}, w.message(ab, "hi"), func(_ im.Ack, err error) { got <- err })
	select {
	case err := <-got:
		wantCode(t, err, im.CodeUnavailable)
	case <-time.After(patience()):
		t.Fatal("no answer")
	}
	w.journal.mu.Lock()
	defer w.journal.mu.Unlock()
	if n := len(w.journal.entries[ab]); n != 0 {
		t.Fatalf("%d entries were stored late", n)
	}
}

// What waited too long takes what was sent behind it with it: otherwise it would be
// stored elsewhere after that.
func TestAStaleMessageIsNotOvertaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, shared(nil))
		gate := make(chan struct{})
		var once sync.Once
		w.journal.setFail(func(after bool) error {
			if !after {
				once.Do(func() { <-gate }) // the commit before them takes long
			}
			return nil
		})
		w.start("carol", w.message(im.DM("carol", "dave"), "first"))
		synctest.Wait()
		stale := w.start("alice", w.message(ab, "1"))
		time.Sleep(staleAfter - time.Millisecond)
		fresh, other := w.start("alice", w.message(ab, "2")), w.start("carol", w.message(im.DM("carol", "dave"), "second"))
		time.Sleep(2 * time.Millisecond)
		close(gate)
		w.wantOutcome(stale, "the stale one", 0, im.CodeUnavailable)
		w.wantOutcome(fresh, "the one behind it", 0, im.CodeOutOfOrder)
		if o := <-other; o.err != nil {
			t.Error(o.err)
		}
	})
}

// Who sent a message may take it back as long as nothing was decided.
func TestWithdrawn(t *testing.T) {
	w := newWorld(t, shared(nil))
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(im.ErrWithdrawn)
	got := make(chan error, 1)
	w.Send(ctx, im.Actor{User: "alice"}, w.message(ab, "1"), func(_ im.Ack, err error) { got <- err })
	if err := <-got; im.CodeOf(err) != im.CodeUnavailable {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop() // an end of another kind changes nothing
	w.Send(ctx, im.Actor{User: "alice"}, w.message(ab, "2"), func(_ im.Ack, err error) { got <- err })
	if err := <-got; err != nil {
		t.Fatal(err)
	}
}
