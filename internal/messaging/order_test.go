package messaging

import (
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// queued waits until n items wait behind what the committer has in its hands.
func (w *world) queued(n int) {
	for {
		w.queue.mu.Lock()
		is := len(w.queue.items)
		w.queue.mu.Unlock()
		if is == n {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

func (w *world) wantOutcome(got <-chan outcome, what string, seq uint64, code im.Code) {
	w.t.Helper()
	select {
	case o := <-got:
		if o.ack.Seq != seq || im.CodeOf(o.err) != code {
			w.t.Fatalf("%s: seq %d, %v; want %d, %q", what, o.ack.Seq, o.err, seq, code)
		}
	case <-time.After(time.Minute):
		w.t.Fatalf("%s: no answer", what)
	}
}

// The first of three was refused because too much waited; the second was taken,
// and the first, sent again as told, stood behind it (SPEC §5.9).
func TestOverloadKeepsTheOrder(t *testing.T) {
	w := newWorld(t, func(o *Options) { o.MaxQueued = 1 })
	entered, release := w.holdAppend()
	before := w.start("alice", w.message(ab, "0"))
	<-entered
	queued := w.start("alice", w.message(ab, "queued before the first was refused"))
	m1, m2 := w.message(ab, "first"), w.message(ab, "second")
	w.wantOutcome(w.start("alice", m1), "first", 0, im.CodeOverloaded)
	release()
	w.wantOutcome(before, "before", 1, "")
	w.wantOutcome(queued, "what was queued before", 2, "")
	w.wantOutcome(w.start("alice", m2), "second, behind the first", 0, im.CodeOutOfOrder)
	other := im.DM("alice", "carol")
	w.wantOutcome(w.start("alice", w.message(other, "elsewhere")), "another conversation", 1, "")
	w.wantOutcome(w.start("bob", w.message(ab, "another sender")), "another connection", 3, "")
	w.wantOutcome(w.start("alice", m1), "first again", 4, "")
	w.wantOutcome(w.start("alice", m2), "second again", 5, "")
}

// What the committer refuses for now holds up what was queued behind it already,
// in the same batch and in later ones, of the same connection and conversation
// only; what it refuses for good does not.
func TestRefusedByTheCommitterKeepsTheOrder(t *testing.T) {
	for name, c := range map[string]struct {
		fail  error
		fails int // that many appends
		deny  error
		code  im.Code
	}{
		"full disk":  {fail: im.ErrJournalFull, fails: 1, code: im.CodeStorageFull},
		"store away": {fail: im.ErrJournalUnavailable, fails: 1, code: im.CodeUnavailable},
		// The batch, and the first message alone: the second could be stored.
		"one is not stored":     {fail: errors.New("cannot be stored"), fails: 2, code: im.CodeInternal},
		"one cannot be decided": {deny: im.Errorf(im.CodeUnavailable, "the directory is away"), code: im.CodeUnavailable},
		"for good":              {deny: im.Errorf(im.CodeNotContact, "no"), code: im.CodeNotContact},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			entered, release := w.holdAppend()
			busy := w.start("carol", w.message(im.DM("carol", "dave"), "keeps the committer busy"))
			<-entered
			m1, m2, m3 := w.message(ab, "1"), w.message(ab, "2"), w.message(ab, "3")
			got1, got2 := w.start("alice", m1), w.start("alice", m2)
			bob := w.start("bob", w.message(ab, "another sender"))
			w.queued(3)
			var mu sync.Mutex
			denied, fails := false, c.fails
			w.members.onMaySend = func(u im.UserID) error {
				mu.Lock()
				defer mu.Unlock()
				if u != "alice" || denied {
					return nil
				}
				denied = true
				return c.deny
			}
			w.journal.setFail(func(after bool) error {
				mu.Lock()
				defer mu.Unlock()
				if after || fails == 0 {
					return nil
				}
				fails--
				return c.fail
			})
			release()
			w.wantOutcome(busy, "busy", 1, "")
			w.wantOutcome(got1, "1", 0, c.code)
			if name == "for good" {
				w.wantOutcome(got2, "2 behind what is refused for good", 1, "")
				return
			}
			o2 := <-got2
			if o2.err == nil || !im.ForNow(o2.err) {
				t.Fatalf("2 was queued behind 1: seq %d, %v", o2.ack.Seq, o2.err)
			}
			<-bob
			w.wantOutcome(w.start("alice", m3), "3", 0, im.CodeOutOfOrder)
			for i, m := range []im.Message{m1, m2, m3} {
				o := <-w.start("alice", m)
				if o.err != nil {
					t.Fatal(i+1, o.err)
				}
			}
			w.wantOrder(ab, "alice", "1", "2", "3")
		})
	}
}

// wantOrder is what a sender's messages say in a conversation, in the order of
// their seqs.
func (w *world) wantOrder(c im.ConversationID, u im.UserID, texts ...string) {
	w.t.Helper()
	w.journal.mu.Lock()
	defer w.journal.mu.Unlock()
	var got []string
	for _, e := range w.journal.entries[c] {
		if e.Sender == u {
			got = append(got, words(&e))
		}
	}
	if len(got) != len(texts) {
		w.t.Fatalf("stored %q, want %q", got, texts)
	}
	for i := range got {
		if got[i] != texts[i] {
			w.t.Fatalf("stored %q, want %q", got, texts)
		}
	}
}

// A message waited too long and was refused, the next one, younger, was not: its
// connection was gone by then, so nobody saw the refusal. The client sent both
// again on another connection, and the first stood behind the second.
func TestTooOldHoldsUpTheYounger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(o *Options) {
			o.Known = func(im.ConversationID) (im.Head, bool) { return im.Head{}, false }
		})
		defer w.Close()
		leave := make(chan bool)
		var once sync.Once
		w.journal.setFail(func(bool) error {
			once.Do(func() { <-leave })
			return nil
		})
		busy := w.start("carol", w.message(im.DM("carol", "dave"), "keeps the committer busy"))
		synctest.Wait()
		m1, m2 := w.message(ab, "1"), w.message(ab, "2")
		old := w.start("alice", m1)
		time.Sleep(staleAfter / 2)
		young := w.start("alice", m2)
		time.Sleep(staleAfter/2 + time.Second)
		close(leave)
		if o := <-busy; o.err != nil {
			t.Fatal(o.err)
		}
		w.wantOutcome(old, "the one that waited too long", 0, im.CodeUnavailable)
		w.wantOutcome(young, "the one behind it", 0, im.CodeOutOfOrder)
		w.mu.Lock()
		delete(w.lanes, "alice") // another connection
		w.mu.Unlock()
		w.wantOutcome(w.start("alice", m1), "1 again", 1, "")
		w.wantOutcome(w.start("alice", m2), "2 again", 2, "")
	})
}

// Messages that wait for a roster change and are given up hold up what came
// behind them.
func TestGivenUpForARosterChangeKeepsTheOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.Close()
		g := im.Group("g")
		w.members.setRoster(g, 5) // the journal never gets there
		m1, m2 := w.message(g, "1"), w.message(g, "2")
		got1, got2 := w.start("alice", m1), w.start("alice", m2)
		w.wantOutcome(got1, "1", 0, im.CodeUnavailable)
		w.wantOutcome(got2, "2", 0, im.CodeUnavailable)
		w.members.setRoster(g, 0)
		w.members.Refresh(g)
		w.wantOutcome(w.start("alice", w.message(g, "3")), "3", 0, im.CodeOutOfOrder)
		w.wantOutcome(w.start("alice", m1), "1 again", 1, "")
		w.wantOutcome(w.start("alice", m2), "2 again", 2, "")
	})
}

// Another node may yet store what is refused for good here: what is behind it
// waits as well.
func TestARefusalInDoubtHoldsUp(t *testing.T) {
	w := newWorld(t)
	var o im.Order
	from := func(at uint64, doubt bool) im.Actor {
		return im.Actor{User: "alice", Connection: "c", Order: &o, Turn: im.Turn{At: at}, Doubt: doubt}
	}
	send := func(a im.Actor, m im.Message) (code im.Code) {
		got := make(chan outcome, 1)
		w.Send(t.Context(), a, m, func(a im.Ack, err error) { got <- outcome{a, err} })
		return im.CodeOf((<-got).err)
	}
	recall := w.message(ab, "")
	recall = recalling(recall, 7)
	if code := send(from(1, true), recall); code != im.CodeNotFound {
		t.Fatal(code)
	}
	if code := send(from(2, false), w.message(ab, "behind")); code != im.CodeOutOfOrder {
		t.Fatalf("what is behind it was answered with %q", code)
	}
	if code := send(from(4, true), w.message(ab, "later")); code != im.CodeOutOfOrder {
		t.Fatal(code)
	}
	later := from(4, false)
	later.Turn.Since = 4
	if code := send(later, w.message(ab, "after the gateway went on")); code != "" {
		t.Fatal(code)
	}
}

func TestOrderCostsNothingWhileNothingIsRefused(t *testing.T) {
	var o im.Order
	at := im.Turn{At: 7}
	if n := testing.AllocsPerRun(100, func() {
		if o.Behind("c", ab, at) {
			t.Fatal("nothing was refused")
		}
	}); n != 0 {
		t.Fatalf("%v allocations", n)
	}
}
