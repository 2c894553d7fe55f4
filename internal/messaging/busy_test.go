package messaging

import (
	"testing"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// setBusy has somebody lock a conversation in the store, or let it go.
func (j *memJournal) setBusy(c im.ConversationID, busy bool) {
	j.mu.Lock()
	j.busy = map[im.ConversationID]bool{c: busy}
	j.mu.Unlock()
}

// Somebody keeps a conversation locked in the database: what is sent there is
// refused, to be tried again later at any node, and everybody else goes on.
func TestABusyConversationIsRefusedAlone(t *testing.T) {
	w := newWorld(t, shared(nil))
	other := im.DM("x", "y")
	w.journal.setBusy(ab, true)
	first := w.message(ab, "1")
	for i, refused := range []im.Message{first, w.message(ab, "2")} {
		_, err := w.send([]im.UserID{"alice", "bob"}[i], refused)
		e := im.Public(err)
		if e.Code != im.CodeUnavailable || e.RetryAfter <= 0 || !e.Everywhere {
			t.Fatalf("%+v", e)
		}
		if a, err := w.send("x", w.message(other, "hi")); err != nil || a.Seq == 0 {
			t.Fatal(a, err)
		}
	}
	w.journal.setBusy(ab, false)
	if a, err := w.send("alice", first); err != nil || a.Seq != 1 {
		t.Fatal(a, err)
	}
}

// The outcome of a batch is unknown, and when it is asked for again one of its
// conversations is locked: nobody may say that nothing was stored there.
func TestABusyConversationOfUnknownOutcome(t *testing.T) {
	w := newWorld(t, shared(nil))
	m := w.message(ab, "1")
	asked := 0
	w.journal.setFail(func(after bool) error {
		if asked++; after && asked <= 2 {
			w.journal.setBusy(ab, true)
			return im.ErrOutcomeUnknown
		}
		return nil
	})
	began := time.Now()
	if _, err := w.send("alice", m); im.CodeOf(err) != im.CodeUnknown || time.Since(began) > unknownPatience/2 {
		t.Fatalf("%v after %s", err, time.Since(began))
	}
	w.journal.setFail(nil)
	w.journal.setBusy(ab, false)
	if a, err := w.send("alice", m); err != nil || a.Seq != 1 {
		t.Fatal(a, err)
	}
	if n := len(w.journal.entries[ab]); n != 1 {
		t.Errorf("%d entries", n)
	}
}
