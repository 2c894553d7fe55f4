package journaltest

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// waitMarks sets marks and returns when they are durable.
func (f *fixture) waitMarks(marks ...im.Mark) {
	f.Helper()
	done := make(chan error, 2) // a second call would be a bug the test can see
	if err := f.marks.SetMarks(f.ctx, marks, im.MarkWait{Stored: func(err error) { done <- err }, Soon: true}); err != nil {
		f.Fatalf("SetMarks: %v", err)
	}
	select {
	case err := <-done:
		if err != nil {
			f.Fatalf("the marks are not stored: %v", err)
		}
	case <-time.After(time.Minute):
		f.Fatalf("nobody says that the marks are stored")
	}
	if len(done) > 0 {
		f.Fatalf("it was said twice")
	}
}

// Who waits is called once: for new marks, for marks that are stored already, for
// marks behind, for none, and for those that somebody else set and nobody waited
// for.
func testMarkWait(_ *testing.T, f *fixture) {
	c := im.Group("g")
	m := im.Mark{User: "u", Conversation: c, Received: 5, Read: 4, ReadCount: 3}
	f.waitMarks()
	f.waitMarks(m)
	f.waitMarks(m)
	f.waitMarks(im.Mark{User: "u", Conversation: c, Received: 2})
	f.wantMark(m)
	f.setMarks(im.Mark{User: "v", Conversation: c, Received: 7})
	f.waitMarks(im.Mark{User: "v", Conversation: c, Received: 7}, m)
	f.reopen()
	f.waitMarks(m)
	f.wantMark(m)
	f.wantMark(im.Mark{User: "v", Conversation: c, Received: 7})
	// Not soon is soon enough for who has time.
	done := make(chan error, 1)
	if err := f.marks.SetMarks(f.ctx, []im.Mark{{User: "u", Conversation: c, Received: 8}}, im.MarkWait{Stored: func(err error) { done <- err }}); err != nil {
		f.Fatalf("SetMarks: %v", err)
	}
	select {
	case err := <-done:
		if err != nil {
			f.Fatalf("the mark is not stored: %v", err)
		}
	case <-time.After(time.Minute):
		f.Fatalf("nobody says that the mark is stored")
	}
}

// What somebody was told to be durable is there after a crash, also when it was
// another call that had set it. (A mark was answered when it was in memory.)
func testMarkWaitCrash(t *testing.T, f *fixture) {
	if f.store.Crash == nil {
		t.Skip("the engine's durability is the database server's")
	}
	c := im.Group("g")
	for n := uint64(1); n <= 20; n++ {
		f.setMarks(im.Mark{User: "v", Conversation: c, Received: n})
		if n%2 == 0 {
			f.waitMarks(im.Mark{User: "u", Conversation: c, Received: n, Read: n, ReadCount: n}, im.Mark{User: "v", Conversation: c, Received: n})
		} else {
			f.waitMarks(im.Mark{User: "u", Conversation: c, Received: n, Read: n, ReadCount: n})
			f.waitMarks(im.Mark{User: "v", Conversation: c, Received: n})
		}
		f.crash()
		f.wantMark(im.Mark{User: "u", Conversation: c, Received: n, Read: n, ReadCount: n})
		f.wantMark(im.Mark{User: "v", Conversation: c, Received: n})
	}
}

// Many wait at the same time, with many marks that nobody waits for: each finds
// its mark stored when it is called.
func testManyMarkWaits(t *testing.T, f *fixture) {
	const users, rounds = 64, 10
	var all sync.WaitGroup
	for u := range users {
		all.Go(func() {
			user := im.UserID(fmt.Sprint("u", u))
			for n := uint64(1); n <= rounds; n++ {
				done := make(chan error, 1)
				mark := im.Mark{User: user, Conversation: "grp:g", Received: n, Read: n, ReadCount: n}
				rest := im.Mark{User: user, Conversation: im.Group(fmt.Sprint(n)), Received: n}
				if err := f.marks.SetMarks(f.ctx, []im.Mark{rest}, im.MarkWait{}); err != nil {
					t.Errorf("SetMarks: %v", err)
					return
				}
				if err := f.marks.SetMarks(f.ctx, []im.Mark{mark}, im.MarkWait{Stored: func(err error) { done <- err }, Soon: true}); err != nil {
					t.Errorf("SetMarks: %v", err)
					return
				}
				select {
				case err := <-done:
					if err != nil {
						t.Errorf("%s: %v", user, err)
					}
				case <-time.After(time.Minute):
					t.Errorf("%s waits for its mark %d for ever", user, n)
					return
				}
			}
		})
	}
	all.Wait()
	if f.store.Crash != nil {
		f.crash()
	}
	for u := range users {
		f.wantMark(im.Mark{User: im.UserID(fmt.Sprint("u", u)), Conversation: "grp:g", Received: rounds, Read: rounds, ReadCount: rounds})
	}
}
