package messaging

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// Who marks by a call is answered when the mark is durable, and nobody is told of
// it before: 8 of 8 marks that had been answered over HTTP were gone after a crash.
func TestMarksAreAnsweredWhenDurable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.mustSend("alice", ab, "1")
		w.mustSend("alice", ab, "2")
		w.journal.unwritten = true
		bob := im.Actor{User: "bob"}
		answers := make(chan error, 3)
		for range 2 { // the second one finds the mark in memory
			go func() { answers <- w.MarkRead(t.Context(), bob, ab, 1) }()
			synctest.Wait()
		}
		if len(answers) > 0 || len(w.out.receipts) > 0 {
			t.Fatalf("%d answers, receipts %+v", len(answers), w.out.receipts)
		}
		// A frame is not waited for, but who is told of it waits.
		if err := w.Mark(t.Context(), bob, ab, 2, 2); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if len(answers) > 0 || len(w.out.receipts) > 0 {
			t.Fatalf("%d answers, receipts %+v", len(answers), w.out.receipts)
		}
		w.journal.write()
		synctest.Wait()
		if len(answers) != 2 || <-answers != nil || <-answers != nil || len(w.out.receipts) != 2 || w.out.receipts[1].Read != 2 {
			t.Fatalf("%d answers, receipts %+v", len(answers), w.out.receipts)
		}

		// One that is not written for long is told as what it is: repeat it.
		w.mustSend("alice", ab, "3")
		go func() { answers <- w.MarkRead(t.Context(), bob, ab, 3) }()
		time.Sleep(2 * markPatience)
		synctest.Wait()
		if len(answers) != 1 {
			t.Fatal("no answer")
		}
		wantCode(t, <-answers, im.CodeUnavailable)
		if len(w.out.receipts) != 2 {
			t.Fatalf("receipts %+v", w.out.receipts)
		}
	})
}

// A sync tells of marks that are durable: its own device's, and the other side's.
func TestSyncTellsDurableMarks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.mustSend("alice", ab, "1")
		from := w.sync("alice", im.SyncQuery{})
		w.journal.unwritten = true
		if err := w.Mark(t.Context(), im.Actor{User: "bob"}, ab, 1, 1); err != nil {
			t.Fatal(err)
		}
		type answer struct {
			q im.SyncQuery
			r im.SyncResult
			e error
		}
		answers := make(chan answer, 4)
		for _, u := range []im.UserID{"alice", "bob"} {
			for _, q := range []im.SyncQuery{{}, {Position: from.Position, Timeline: from.Timeline}} {
				go func() {
					r, err := w.Sync(t.Context(), im.Actor{User: u}, q)
					answers <- answer{q, r, err}
				}()
			}
		}
		synctest.Wait()
		if len(answers) > 0 {
			t.Fatalf("%d were told of a mark that may be lost: %+v", len(answers), <-answers)
		}
		w.journal.write()
		synctest.Wait()
		if len(answers) != 4 {
			t.Fatalf("%d answers", len(answers))
		}
		for range 4 {
			a := <-answers
			if a.e != nil || len(a.r.Conversations) == 0 || a.r.Conversations[0].Read+a.r.Conversations[0].PeerRead == 0 {
				t.Errorf("%+v: %+v, %v", a.q, a.r, a.e)
			}
		}
	})
}
