package remote

import (
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/skein-im/skein/internal/bus/mem"
	"github.com/skein-im/skein/internal/im"
)

// Marks are passed on without being waited for, over a bad bus too; each is
// answered once, also when nobody is there to take it.
func TestMarks(t *testing.T) {
	in(t, "g1 l1 l2", func(t *testing.T, w *world) {
		var mu sync.Mutex
		answers := map[im.Code]int{}
		mark := func(c im.ConversationID, seq uint64) {
			began := time.Now()
			w.nodes["g1"].Logic().Mark(t.Context(), im.Actor{User: "b"}, c, seq, 0, func(err error) {
				mu.Lock()
				answers[im.CodeOf(err)]++
				mu.Unlock()
			})
			if time.Since(began) != 0 {
				t.Error("a mark was waited for")
			}
		}
		want := func(code im.Code, n int) {
			t.Helper()
			mu.Lock()
			defer mu.Unlock()
			if answers[code] != n || len(answers) != 1 {
				t.Fatalf("answers %v, want %d of %q", answers, n, code)
			}
			clear(answers)
		}
		all := w.burst1("g1", 200)
		pass(time.Second)
		w.stored(all)
		for i := range 10 {
			mark(dm(i), 20)
		}
		pass(3 * markDelay)
		want("", 10)
		mark(dm(3), 21)
		pass(3 * markDelay)
		want(im.CodeInvalidArgument, 1)
		clear(w.store.marks)
		w.hub.SetFaults(mem.Faults{Drop: 0.2, Duplicate: 0.3, Reorder: 0.2, Delay: time.Millisecond})
		for i := range 200 {
			mark(dm(i%10), uint64(i/10+1))
			pass(time.Millisecond)
		}
		w.hub.SetFaults(mem.Faults{})
		pass(2 * attemptTime)
		want("", 200)
		for i := range 10 {
			if w.store.marks[dm(i)] != 20 {
				t.Errorf("mark of %s is at %d", dm(i), w.store.marks[dm(i)])
			}
		}

		w.kill("l1")
		w.kill("l2")
		mark(dm(0), 20)
		pass(defaultTime - time.Second)
		mu.Lock()
		if len(answers) != 0 {
			t.Errorf("answered %v by nobody", answers)
		}
		mu.Unlock()
		pass(2 * time.Second)
		want(im.CodeUnavailable, 1)
	})
}

// What is in no hurry leaves with what is.
func TestMarksLeaveWithMessages(t *testing.T) {
	in(t, "g1 l1", func(t *testing.T, w *world) {
		w.stored(w.burst1("g1", 10))
		l := w.nodes["g1"].router.links["l1"]
		frames := func() (written, read uint64) {
			l.r.mu.Lock()
			defer l.r.mu.Unlock()
			return l.written, l.read
		}
		written, read := frames()
		for i := range 10 {
			w.nodes["g1"].Logic().Mark(t.Context(), im.Actor{User: "b"}, dm(i), 1, 0, func(err error) {
				if err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		if n, _ := frames(); n != written {
			t.Error("marks do not wait for company")
		}
		all := w.burst1("g1", 1)
		// The node gives what answers it has when it took the message, and with its ack.
		if n, m := frames(); n != written+1 || m > read+4 {
			t.Errorf("%d frames out and %d in for a message and ten marks", n-written, m-read)
		}
		w.stored(all)
	})
}

// A mark that waited for company when its node was given up goes its way with
// the next one, though nothing else is sent.
func TestMarksAfterAMove(t *testing.T) {
	in(t, "g1 l1", func(t *testing.T, w *world) {
		w.stored(w.burst1("g1", 10))
		var answered atomic.Int32
		mark := func(c im.ConversationID) {
			w.nodes["g1"].Logic().Mark(t.Context(), im.Actor{User: "b"}, c, 1, 0, func(err error) {
				if err != nil {
					t.Error(err)
				}
				answered.Add(1)
			})
		}
		w.store.setAway("l1", true)
		mark(dm(1))
		w.send("g1", "a", dm(0)) // which the node turns away
		pass(2 * suspectTime)
		w.store.setAway("l1", false)
		pass(sendPatience)
		mark(dm(2))
		pass(3 * markDelay)
		if n := answered.Load(); n != 2 {
			t.Fatalf("%d of two marks are answered", n)
		}
	})
}

// What a node cannot do now, or never, to a mark: it is asked again, or told.
func TestMarksThatFail(t *testing.T) {
	in(t, "gl1 l2", func(t *testing.T, w *world) {
		var there im.ConversationID
		for i := 0; w.nodes["gl1"].router.home(string(there), time.Now()).name != "l2" || i == 0; i++ {
			there = dm(i)
		}
		all := []*sent{w.send("gl1", "a", there)}
		pass(100 * time.Millisecond)
		w.stored(all)
		var mu sync.Mutex
		var got []im.Code
		mark := func(c im.ConversationID) {
			w.nodes["gl1"].Logic().Mark(t.Context(), im.Actor{User: "b"}, c, 1, 0, func(err error) {
				mu.Lock()
				got = append(got, im.CodeOf(err))
				mu.Unlock()
			})
		}
		want := func(codes ...im.Code) {
			t.Helper()
			mu.Lock()
			defer mu.Unlock()
			if !slices.Equal(got, codes) {
				t.Fatalf("answers %q, want %q", got, codes)
			}
			got = nil
		}
		errs := []error{im.Errorf(im.CodeOverloaded, "later"), nil}
		w.store.onMark = func() error {
			err := errs[0]
			errs = errs[1:]
			return err
		}
		mark(there)
		pass(attemptTime / 2)
		want()
		pass(attemptTime)
		want("")
		if w.store.marks[there] != 1 {
			t.Error("the mark is not stored")
		}

		// A panic ends the mark where it happens: there, and here when it has moved.
		w.store.onMark = func() error { panic("as it is asked to") }
		mark(there)
		pass(3 * markDelay)
		want(im.CodeInternal)
		w.hub.Block("l2")
		mark(there)
		pass(3 * markDelay)
		w.kill("l2")
		pass(2 * deadAfter)
		want(im.CodeInternal)
		w.store.onMark = nil
		mark(there)
		want("")
	})
}
