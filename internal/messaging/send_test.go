package messaging

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/skein-im/skein/internal/im"
)

var ab = im.DM("alice", "bob")

// Invariant 1: nothing is answered or delivered before the journal has it.
func TestAckComesAfterTheAppend(t *testing.T) {
	w := newWorld(t)
	entered, leave := make(chan bool, 1), make(chan bool)
	release := sync.OnceFunc(func() { close(leave) })
	t.Cleanup(release)
	w.journal.setFail(func(after bool) error {
		if after {
			entered <- true
			<-leave
		}
		return nil
	})
	got := w.start("alice", w.message(ab, "hi"))
	<-entered
	select {
	case o := <-got:
		t.Fatalf("answered %+v while the append was under way", o)
	default:
	}
	if s := w.out.seqs(ab); len(s) != 0 {
		t.Fatalf("delivered %v while the append was under way", s)
	}
	release()
	w.journal.setFail(nil)
	if o := <-got; o.err != nil || o.ack.Seq != 1 {
		t.Fatalf("outcome %+v", o)
	}
}

// A journal that fails is never asked to store again, and nobody is told
// "stored".
func TestFailedJournalStopsTheService(t *testing.T) {
	w := newWorld(t)
	w.journal.setFail(func(after bool) error {
		if after {
			return im.ErrJournalFailed
		}
		return nil
	})
	_, err := w.send("alice", w.message(ab, "1"))
	wantCode(t, err, im.CodeUnknown)
	if err := w.failure(); !errors.Is(err, im.ErrJournalFailed) {
		t.Fatal(err)
	}
	w.journal.setFail(nil)
	_, err = w.send("bob", w.message(ab, "2"))
	wantCode(t, err, im.CodeUnavailable)
	if s := w.out.seqs(ab); len(s) != 0 {
		t.Fatalf("delivered %v", s)
	}
	if w.journal.appends != 1 {
		t.Fatalf("asked the failed journal %d times", w.journal.appends)
	}
}

func TestFullDiskRejectsAndRecovers(t *testing.T) {
	w := newWorld(t)
	w.journal.setFail(func(after bool) error { return im.ErrJournalFull })
	m := w.message(ab, "1")
	_, err := w.send("alice", m)
	wantCode(t, err, im.CodeStorageFull)
	w.journal.setFail(nil)
	if a, err := w.send("alice", m); err != nil || a.Seq != 1 {
		t.Fatal(a, err)
	}
}

// Invariant 4: the append went through but its answer was lost. Asking again
// with the same ids finds the entry; it is stored and delivered once.
func TestUnknownOutcomeIsResolvedByLooking(t *testing.T) {
	w := newWorld(t)
	lost := 0
	w.journal.setFail(func(after bool) error {
		if after && lost < 3 {
			lost++
			return im.ErrOutcomeUnknown
		}
		return nil
	})
	a, err := w.send("alice", w.message(ab, "hi"))
	if err != nil || a.Seq != 1 {
		t.Fatal(a, err)
	}
	if n := len(w.journal.entries[ab]); n != 1 {
		t.Fatalf("%d entries", n)
	}
}

// … and it reaches the others, although the second attempt reports a duplicate.
func TestUnknownOutcomeIsDelivered(t *testing.T) {
	w := newWorld(t)
	once := true
	w.journal.setFail(func(after bool) error {
		if after && once {
			once = false
			return im.ErrOutcomeUnknown
		}
		return nil
	})
	w.mustSend("alice", ab, "hi")
	w.mustSend("alice", ab, "what came before is delivered when this is answered")
	if s := w.out.seqs(ab); len(s) == 0 || s[0] != 1 {
		t.Fatalf("delivered %v", s)
	}
}

func TestResendGetsTheOriginalAndIsNotDelivered(t *testing.T) {
	w := newWorld(t)
	m := w.message(ab, "hi")
	first, err := w.send("alice", m)
	if err != nil {
		t.Fatal(err)
	}
	w.mustSend("bob", ab, "ho")
	again, err := w.send("alice", m)
	if !first.Follows || again.Follows {
		t.Errorf("a delivery follows: first %v, again %v", first.Follows, again.Follows)
	}
	first.Follows = false
	if err != nil || again != first {
		t.Fatalf("first %+v, again %+v, %v", first, again, err)
	}
	other := m
	other = saying(other, "something else")
	_, err = w.send("alice", other)
	wantCode(t, err, im.CodeIdConflict)
	if s := w.out.seqs(ab); !slices.Equal(s, []uint64{1, 2}) {
		t.Fatalf("delivered %v", s)
	}
}

func TestRefusalsBeforeTheQueue(t *testing.T) {
	w := newWorld(t)
	me := w.message(im.Me("alice"), "x")
	_, err := w.send("alice", me)
	wantCode(t, err, im.CodePermissionDenied)

	event := w.message(ab, "x")
	event.Kind = im.EntryEvent
	_, err = w.send("alice", event)
	wantCode(t, err, im.CodeInvalidArgument)

	bad := w.message("dm:bob:alice", "x")
	_, err = w.send("alice", bad)
	wantCode(t, err, im.CodeInvalidArgument)

	future := w.message(ab, "x")
	future.ID = im.NewMessageID(time.Now().Add(25*time.Hour), [10]byte{})
	_, err = w.send("alice", future)
	wantCode(t, err, im.CodeClockSkew)
	if w.journal.appends != 0 {
		t.Fatal("asked the journal")
	}
}

// Invariant 5: what does not fit is rejected at once, and what was taken is
// answered all the same.
func TestOverloadRejectsBeforeItQueues(t *testing.T) {
	w := newWorld(t, func(o *Options) { o.MaxQueued = 4 })
	entered, release := w.holdAppend()
	var taken []<-chan outcome
	taken = append(taken, w.start("alice", w.message(ab, "0")))
	<-entered
	for i := range 4 {
		taken = append(taken, w.start("alice", w.message(ab, fmt.Sprint(i))))
	}
	o := <-w.start("alice", w.message(ab, "too many"))
	wantCode(t, o.err, im.CodeOverloaded)
	if e := im.Public(o.err); e.RetryAfter == 0 {
		t.Fatal("no retry_after")
	}
	release()
	for i, c := range taken {
		if o := <-c; o.err != nil || o.ack.Seq != uint64(i+1) {
			t.Fatalf("send %d: %+v", i, o)
		}
	}
}

// Invariant 3 and the order of invariant 2: the roster moves between the
// decision and the append; all of a sender's messages are decided anew and
// keep their order.
func TestRosterChangeKeepsTheOrder(t *testing.T) {
	w := newWorld(t)
	g := im.Group("g")
	w.mustSend("alice", g, "first") // caches revision 0
	if _, err := w.AppendEvent(t.Context(), im.Promise{ID: w.id(), Conversation: g, Event: im.Event{Type: im.EventMemberLeft}, SetRoster: 1}, nil); err != nil {
		t.Fatal(err)
	}
	w.members.setRoster(g, 1) // known to the directory, not to the cache
	var got []<-chan outcome
	for i := range 100 {
		got = append(got, w.start("alice", w.message(g, fmt.Sprint(i))))
	}
	for i, c := range got {
		if o := <-c; o.err != nil || o.ack.Seq != uint64(i+3) {
			t.Fatalf("message %d: %+v", i, o)
		}
	}
}

// A message of somebody who was removed after it was sent but before it was
// stored is refused.
func TestRemovedMembersMessageIsRefused(t *testing.T) {
	w := newWorld(t)
	g := im.Group("g")
	w.mustSend("mallory", g, "still in")
	if _, err := w.AppendEvent(t.Context(), im.Promise{ID: w.id(), Conversation: g, Event: im.Event{Type: im.EventMemberRemoved, Users: []im.UserID{"mallory"}}, SetRoster: 1}, func(uint64) error {
		w.members.setRoster(g, 1)
		w.members.mu.Lock()
		w.members.deny["mallory"] = im.Errorf(im.CodeNotFound, "no such conversation")
		w.members.mu.Unlock()
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	_, err := w.send("mallory", w.message(g, "out"))
	wantCode(t, err, im.CodeNotFound)
	if n := len(w.journal.entries[g]); n != 2 {
		t.Fatalf("%d entries", n)
	}
}

// The directory lags behind the journal for a while: sends to that group wait,
// others go on, and when it never catches up the sender hears a retryable code.
func TestRosterThatLagsHoldsOnlyItsGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, journal: newMemJournal(), members: newFakeMembers(), out: &recorder{}}
		w.Service = New(Options{Journal: w.journal, Marks: w.journal, Recalls: w.journal, Labels: w.journal, Lookups: w.journal, Pages: w.journal, Permissions: w.members, Members: w.members, Deliverer: w.out})
		defer w.Close()
		g := im.Group("g")
		if _, err := w.AppendEvent(t.Context(), im.Promise{ID: w.id(), Conversation: g, Event: im.Event{Type: im.EventGroupCreated}, SetRoster: 7}, nil); err != nil {
			t.Fatal(err)
		}
		waits := w.start("alice", w.message(g, "1"))
		synctest.Wait()
		if a := w.mustSend("alice", ab, "elsewhere"); a.Seq != 1 {
			t.Fatal(a)
		}
		behind := w.start("alice", w.message(g, "2"))
		time.Sleep(100 * time.Millisecond)
		w.members.setRoster(g, 7)
		for i, c := range []<-chan outcome{waits, behind} {
			if o := <-c; o.err != nil || o.ack.Seq != uint64(i+2) {
				t.Fatalf("%d: %+v", i, o)
			}
		}
		w.members.setRoster(g, 3)
		w.members.Refresh(g)
		o := <-w.start("alice", w.message(g, "3"))
		wantCode(t, o.err, im.CodeUnavailable)
	})
}

// Answers of a conversation come in the order of the sends, refusals included.
func TestAnswersComeInOrder(t *testing.T) {
	w := newWorld(t)
	w.members.deny["mallory"] = im.Errorf(im.CodeNotContact, "no")
	var mu sync.Mutex
	var order []int
	var wg sync.WaitGroup
	for i := range 200 {
		u := im.UserID("alice")
		if i%3 == 0 {
			u = "mallory"
		}
		wg.Add(1)
		w.Send(t.Context(), im.Actor{User: u}, w.message(ab, fmt.Sprint(i)), func(im.Ack, error) {
			mu.Lock()
			order = append(order, i)
			mu.Unlock()
			wg.Done()
		})
	}
	wg.Wait()
	if !slices.IsSorted(order) {
		t.Fatalf("order %v", order)
	}
}

// An event's change is visible before its entry is delivered; when applying
// fails, the entry is delivered with the next attempt.
func TestEventIsAppliedBeforeItIsDelivered(t *testing.T) {
	w := newWorld(t)
	g := im.Group("g")
	p := im.Promise{ID: w.id(), Conversation: g, Event: im.Event{Type: im.EventGroupCreated}, SetRoster: 1}
	_, err := w.AppendEvent(t.Context(), p, func(uint64) error { return errors.New("directory is away") })
	if err == nil {
		t.Fatal("no error")
	}
	if s := w.out.seqs(g); len(s) != 0 {
		t.Fatalf("delivered %v without being applied", s)
	}
	seq, err := w.AppendEvent(t.Context(), p, func(seq uint64) error {
		if s := w.out.seqs(g); len(s) != 0 {
			t.Errorf("delivered %v before it was applied", s)
		}
		return nil
	})
	if err != nil || seq != 1 {
		t.Fatal(seq, err)
	}
	w.mustSend("alice", ab, "flushes the batch")
	if s := w.out.seqs(g); !slices.Equal(s, []uint64{1}) {
		t.Fatalf("delivered %v", s)
	}
}

// Two changes of a group at the same time: one wins, the other hears conflict.
func TestConcurrentRosterChange(t *testing.T) {
	w := newWorld(t)
	g := im.Group("g")
	for i, want := range []im.Code{"", im.CodeConflict} {
		_, err := w.AppendEvent(t.Context(), im.Promise{ID: w.id(), Conversation: g, SetRoster: uint64(i + 1)}, nil)
		wantCode(t, err, want)
	}
}

func TestRecall(t *testing.T) {
	w := newWorld(t, func(o *Options) { o.RecallWindow = time.Hour })
	now := time.UnixMilli(1)
	w.Service.now = func() time.Time { return now } // memJournal stores at position ms
	recall := func(u im.UserID, target uint64) error {
		m := im.Message{Conversation: ab, Kind: im.EntryRecall, Target: target, ID: w.id()}
		m.ID = im.NewMessageID(now, [10]byte(m.ID[6:]))
		_, err := w.send(u, m)
		return err
	}
	send := func(u im.UserID) uint64 {
		m := w.message(ab, "secret")
		m.ID = im.NewMessageID(now, [10]byte(m.ID[6:]))
		a, err := w.send(u, m)
		if err != nil {
			t.Fatal(err)
		}
		return a.Seq
	}
	mine := send("alice")
	wantCode(t, recall("alice", 99), im.CodeNotFound)
	w.members.recall = im.Errorf(im.CodePermissionDenied, "not yours")
	wantCode(t, recall("bob", mine), im.CodePermissionDenied)
	wantCode(t, recall("alice", mine), "")
	if e := w.journal.entries[ab][0]; !e.Recalled || e.Body != nil {
		t.Fatalf("content still there: %+v", e)
	}
	wantCode(t, recall("alice", 2), im.CodeNotFound) // a recall cannot be recalled
	late := send("alice")
	now = now.Add(2 * time.Hour)
	wantCode(t, recall("alice", late), im.CodeTooLate)
	w.members.recall = nil // an admin may still
	wantCode(t, recall("bob", late), "")
}

func TestReplyBeyondTheHead(t *testing.T) {
	w := newWorld(t)
	w.mustSend("alice", ab, "1")
	m := w.message(ab, "2")
	m.ReplyTo = 2
	_, err := w.send("alice", m)
	wantCode(t, err, im.CodeInvalidArgument)
	m.ReplyTo = 1
	if _, err := w.send("alice", m); err != nil {
		t.Fatal(err)
	}
}

// A dm's membership rows are written once, before its first entry.
func TestFirstMessageOpensTheDM(t *testing.T) {
	w := newWorld(t)
	w.mustSend("alice", ab, "1")
	w.mustSend("bob", ab, "2")
	if !slices.Equal(w.members.opened, []im.ConversationID{ab}) {
		t.Fatalf("opened %v", w.members.opened)
	}
}

// Close answers everything that was taken.
func TestCloseAnswersWhatItTook(t *testing.T) {
	w := newWorld(t)
	var got []<-chan outcome
	for i := range 500 {
		got = append(got, w.start("alice", w.message(ab, fmt.Sprint(i))))
	}
	w.Close()
	for i, c := range got {
		if o := <-c; o.err != nil {
			t.Fatalf("%d: %v", i, o.err)
		}
	}
	_, err := w.send("alice", w.message(ab, "late"))
	wantCode(t, err, im.CodeUnavailable)
}

// An ack is lost, the sender is removed, and asks again: the message is stored,
// and that is what they are told. Another one is refused.
func TestAResendOfSomebodyWhoWasRemoved(t *testing.T) {
	w := newWorld(t)
	m := w.message(ab, "hi")
	first, err := w.send("alice", m)
	if err != nil {
		t.Fatal(err)
	}
	w.members.mu.Lock()
	w.members.deny["alice"] = im.Errorf(im.CodeNotContact, "no")
	w.members.mu.Unlock()
	again, err := w.send("alice", m)
	if err != nil || again.Seq != first.Seq || again.Count != first.Count || !again.Stored.Equal(first.Stored) {
		t.Fatal(again, err)
	}
	if _, err := w.send("alice", w.message(ab, "another")); im.CodeOf(err) != im.CodeNotContact {
		t.Fatal(err)
	}
	changed := m
	changed = saying(changed, "other words")
	if _, err := w.send("alice", changed); im.CodeOf(err) != im.CodeNotContact {
		t.Fatal(err)
	}
	if n := len(w.journal.entries[ab]); n != 1 {
		t.Fatalf("%d entries", n)
	}
}
