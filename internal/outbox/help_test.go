package outbox_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/outbox"
)

// countedStore counts the looks at one conversation and lets them wait for hold.
type countedStore struct {
	*world
	looks atomic.Int32
	hold  chan struct{}
}

func (s *countedStore) PendingOf(ctx context.Context, c im.ConversationID) ([]im.Promise, error) {
	s.looks.Add(1)
	if s.hold != nil {
		<-s.hold
	}
	return s.world.PendingOf(ctx, c)
}

// One who needs a promise of another process does not wait until it is old.
func TestHelpDrivesWhatIsYoung(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{}
		r := outbox.New(w, w, outbox.Options{Shared: true})
		r.Start()
		defer r.Close()
		p := w.change("g", 1)
		other := w.change("other", 1)
		if err := r.Help(t.Context(), p.Conversation); err != nil {
			t.Fatal(err)
		}
		if len(w.applied) != 1 || w.applied[0] != p.ID || w.left() != 1 {
			t.Errorf("applied %v, want %s and not %s", w.applied, p.ID, other.ID)
		}
		if err := r.Help(t.Context(), p.Conversation); err != nil { // nothing is there
			t.Error(err)
		}
		refused := errors.New("no")
		w.failAppend = func(im.Promise) error { return refused }
		if err := r.Help(t.Context(), other.Conversation); !errors.Is(err, refused) {
			t.Errorf("got %v", err)
		}
	})
}

// Many who ask at once cost two looks: the one under way when they came, which
// may have begun too early for them, and one for all of them.
func TestHelpIsShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &countedStore{world: &world{}, hold: make(chan struct{})}
		r := outbox.New(s, s.world, outbox.Options{})
		var all sync.WaitGroup
		ask := func() {
			all.Go(func() {
				if err := r.Help(t.Context(), "grp:g"); err != nil {
					t.Error(err)
				}
			})
		}
		ask()
		synctest.Wait()
		for range 50 {
			ask()
		}
		synctest.Wait()
		s.change("g", 1) // the first look may not have it, theirs has to
		close(s.hold)
		all.Wait()
		if n := s.looks.Load(); n != 2 || s.left() != 0 {
			t.Errorf("%d looks, %d left", n, s.left())
		}
	})
}

// The caller's end ends its wait and nothing else; Close waits for the rest,
// and after it nobody is helped.
func TestHelpAndGivingUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &countedStore{world: &world{}, hold: make(chan struct{})}
		s.change("g", 1)
		r := outbox.New(s, s.world, outbox.Options{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := r.Help(ctx, "grp:g"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		closed := make(chan struct{})
		go func() {
			r.Close()
			close(closed)
		}()
		synctest.Wait()
		select {
		case <-closed:
			t.Error("closed while a promise is being driven")
		default:
		}
		close(s.hold)
		<-closed
		if err := r.Help(t.Context(), "grp:g"); im.CodeOf(err) != im.CodeUnavailable {
			t.Errorf("after the end: %v", err)
		}
	})
}

// With others on the same store, what is there at the start is theirs until it
// is 5 s old.
func TestSharedRunnerSparesOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{}
		p := w.change("g", 1)
		r := outbox.New(w, w, outbox.Options{Interval: time.Second, Shared: true})
		r.Start()
		defer r.Close()
		time.Sleep(4 * time.Second)
		synctest.Wait()
		if w.left() != 1 {
			t.Errorf("%s was not left to its maker", p.ID)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if w.left() != 0 {
			t.Error("what was left behind was not taken up after 6 s")
		}
	})
}
