package messaging

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// setLocked has somebody lock a conversation in the store, for less than a second so
// far, or let it go.
func (j *memJournal) setLocked(c im.ConversationID, locked bool) {
	j.mu.Lock()
	j.locked = map[im.ConversationID]bool{c: locked}
	j.mu.Unlock()
}

// refused waits until n items were told to be Locked, counted from the beginning.
func (j *memJournal) refused(t *testing.T, n int) {
	t.Helper()
	for began := time.Now(); ; time.Sleep(time.Millisecond) {
		j.mu.Lock()
		held := j.held
		j.mu.Unlock()
		if held >= n {
			return
		}
		if time.Since(began) > patience() {
			t.Fatalf("%d items were told to be locked, want %d", held, n)
		}
	}
}

func unanswered(t *testing.T, what string, all ...<-chan outcome) {
	t.Helper()
	for i, c := range all {
		select {
		case o := <-c:
			t.Fatalf("%s: message %d was answered: %+v", what, i+1, o)
		default:
		}
	}
}

// Somebody has a conversation locked in the store for a moment. What is sent there
// waits aside in its order, in whatever batch it came; all others are stored and
// answered meanwhile.
func TestALockedConversationWaitsAside(t *testing.T) {
	w := newWorld(t, shared(nil))
	other := im.DM("x", "y")
	w.mustSend("alice", ab, "opened")
	w.mustSend("x", other, "opened")
	w.journal.setLocked(ab, true)
	all := []<-chan outcome{w.start("alice", w.message(ab, "2"))}
	w.journal.refused(t, 1)
	all = append(all, w.start("bob", w.message(ab, "3")), w.start("alice", w.message(ab, "4")))
	w.journal.refused(t, 5) // two or more attempts of them together
	for i := range 40 {
		if a := w.mustSend("x", other, "meanwhile"); a.Seq != uint64(i+2) {
			t.Fatalf("seq %d", a.Seq)
		}
	}
	unanswered(t, "locked", all...)
	w.journal.setLocked(ab, false)
	for i, c := range all {
		w.wantOutcome(c, "let go", uint64(i+2), "")
	}
	w.mustSend("x", other, "what came before is delivered when this is answered")
	if got := w.out.seqs(ab); !slices.Equal(got, []uint64{1, 2, 3, 4}) {
		t.Errorf("delivered %v", got)
	}
	if w.queue.mu.Lock(); w.queue.held != 0 {
		t.Errorf("%d are counted as held", w.queue.held)
	}
	w.queue.mu.Unlock()
}

// The lock is held for too long: what waited is refused for now, the first with what
// it is, those behind it of the same connection as out of order (SPEC §5.9), and all
// are stored in order when they come again.
func TestALockThatLasts(t *testing.T) {
	w := newWorld(t, shared(nil))
	w.mustSend("alice", ab, "opened")
	w.journal.setLocked(ab, true)
	m2, m3, m4 := w.message(ab, "2"), w.message(ab, "3"), w.message(ab, "4")
	first, second, third := w.start("alice", m2), w.start("alice", m3), w.start("bob", m4)
	w.journal.refused(t, 3)
	w.journal.setBusy(ab, true)
	w.journal.setLocked(ab, false)
	o := <-first
	if e := im.Public(o.err); e == nil || e.Code != im.CodeUnavailable || e.RetryAfter <= 0 || !e.Everywhere {
		t.Fatalf("the first: %+v", o)
	}
	w.wantOutcome(third, "another's", 0, im.CodeUnavailable)
	if o := <-second; !im.ForNow(o.err) {
		t.Fatalf("behind it: %+v", o)
	}
	w.journal.setBusy(ab, false)
	w.wantOutcome(w.start("alice", m3), "before the first came again", 0, im.CodeOutOfOrder)
	w.wantOutcome(w.start("alice", m2), "the first again", 2, "")
	w.wantOutcome(w.start("alice", m3), "the second again", 3, "")
	w.wantOutcome(w.start("bob", m4), "the other's again", 4, "")
}

// One holder follows the other, so that the store never says that it is busy: nobody
// waits for ever.
func TestALockThatChangesHands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.mustSend("alice", ab, "opened")
		w.journal.setLocked(ab, true)
		began := time.Now()
		m := w.message(ab, "2")
		w.wantOutcome(w.start("alice", m), "locked", 0, im.CodeUnavailable)
		if took := time.Since(began); took < time.Second || took > 5*time.Second {
			t.Errorf("refused after %s", took)
		}
		w.journal.setLocked(ab, false)
		w.wantOutcome(w.start("alice", m), "again", 2, "")
		w.Close()
	})
}

// An event waits for a lock as well, before the messages that came after it; but not
// for what they wait for, which may be that event.
func TestAnEventWaitsForALock(t *testing.T) {
	w := newWorld(t, shared(nil))
	g := im.Group("g")
	w.mustSend("alice", g, "opened")
	w.journal.setLocked(g, true)
	event := make(chan outcome, 2)
	change := func(rev uint64) {
		seq, err := w.change(g, rev, func() error { return nil })
		event <- outcome{im.Ack{Seq: seq}, err}
	}
	go change(1)
	w.journal.refused(t, 1)
	at := newGate(t)
	w.members.setOnMaySend(func(im.UserID) error { at.pass(); return nil })
	behind := w.start("bob", w.message(g, "behind the event"))
	w.journal.refused(t, 3) // it is tried again and again
	unanswered(t, "locked", event, behind)
	w.journal.setLocked(g, false)
	w.wantOutcome(event, "the event", 2, "")
	at.in(t, 1)
	// Now the message is with an admitter, who may wait for a second event.
	w.journal.setLocked(g, true)
	w.journal.mu.Lock()
	held := w.journal.held
	w.journal.mu.Unlock()
	go change(2)
	w.journal.refused(t, held+1)
	w.journal.setLocked(g, false)
	w.wantOutcome(event, "the second event", 3, "")
	w.members.setOnMaySend(nil)
	at.open()
	w.wantOutcome(behind, "behind the events", 4, "")
}

// Closing does not wait for somebody else's lock, and leaves nothing without an answer.
func TestCloseWhileLocked(t *testing.T) {
	w := newWorld(t, shared(nil))
	w.mustSend("alice", ab, "opened")
	g := im.Group("g")
	w.journal.mu.Lock()
	w.journal.locked = map[im.ConversationID]bool{ab: true, g: true}
	w.journal.mu.Unlock()
	message, event := w.start("alice", w.message(ab, "2")), make(chan error, 1)
	go func() {
		_, err := w.change(g, 1, func() error { return nil })
		event <- err
	}()
	w.journal.refused(t, 2)
	w.Close()
	w.wantOutcome(message, "message", 0, im.CodeUnavailable)
	if err := <-event; im.CodeOf(err) != im.CodeUnavailable {
		t.Errorf("event: %v", err)
	}
}

// What was asked for before, with no answer, is not told to be locked: it may be
// stored, or be what holds the lock.
func TestAnUnknownOutcomeWaitsForTheLock(t *testing.T) {
	w := newWorld(t, shared(nil))
	w.mustSend("alice", ab, "opened")
	asked := 0
	w.journal.setFail(func(after bool) error {
		if asked++; after && asked == 2 {
			w.journal.setLocked(ab, true)
			return im.ErrOutcomeUnknown
		}
		return nil
	})
	m := w.message(ab, "2")
	w.wantOutcome(w.start("alice", m), "unknown", 0, im.CodeUnknown)
	w.journal.setFail(nil)
	w.journal.setLocked(ab, false)
	w.wantOutcome(w.start("alice", m), "again", 2, "")
	if n := len(w.journal.entries[ab]); n != 2 {
		t.Errorf("%d entries", n)
	}
}

// One damaged conversation has the batch stored one by one: what is locked in it waits
// in order all the same.
func TestLockedInABatchThatIsStoredOneByOne(t *testing.T) {
	w := newWorld(t, shared(nil))
	w.mustSend("alice", ab, "opened")
	bad, busy := im.DM("u", "v"), im.DM("x", "y")
	w.mustSend("u", bad, "opened")
	w.mustSend("x", busy, "opened")
	w.journal.mu.Lock()
	w.journal.damaged = map[im.ConversationID]bool{bad: true}
	w.journal.mu.Unlock()
	w.journal.setLocked(ab, true)
	entered, release := w.holdAppend()
	keeps := w.start("x", w.message(busy, "keeps the committer busy"))
	<-entered
	all := []<-chan outcome{w.start("alice", w.message(ab, "2")), w.start("alice", w.message(ab, "3"))}
	damaged := w.start("u", w.message(bad, "2"))
	w.queued(3)
	release()
	w.wantOutcome(keeps, "before", 2, "")
	w.wantOutcome(damaged, "damaged", 0, im.CodeInternal)
	w.journal.refused(t, 1)
	w.journal.setLocked(ab, false)
	for i, c := range all {
		w.wantOutcome(c, "let go", uint64(i+2), "")
	}
}
