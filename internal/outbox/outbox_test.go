package outbox_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/outbox"
)

// world is a store and a journal in RAM, with faults.
type world struct {
	mu      sync.Mutex
	rows    []row
	place   int64
	journal []im.Promise // appended, in order, each id once
	applied []im.MessageID

	// failAppend and failApply are asked before each step; an error stops it.
	failAppend func(im.Promise) error
	failApply  func(im.Promise) error
	// hangs makes AppendEvent store, then wait until its context ends, like a
	// journal that nobody hears of again.
	hangs bool
}

type row struct {
	place int64
	p     im.Promise
}

func (w *world) add(p im.Promise) im.Promise {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.place++
	p.ID = im.NewMessageID(time.Now(), [10]byte{8: byte(w.place >> 8), 9: byte(w.place)})
	w.rows = append(w.rows, row{w.place, p})
	return p
}

func (w *world) notice(u im.UserID, text string) im.Promise {
	return w.add(im.Promise{Conversation: im.Me(u), Event: im.Event{Type: im.EventContactRequested, Text: text}})
}

// change is a promise of a roster change.
func (w *world) change(g string, rev uint64) im.Promise {
	return w.add(im.Promise{Conversation: im.Group(g), Event: im.Event{Type: im.EventMemberLeft}, IfRoster: rev - 1, SetRoster: rev})
}

func (w *world) Pending(_ context.Context, after int64, limit int) (ps []im.Promise, last int64, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	last = after
	for _, r := range w.rows {
		if r.place > after && len(ps) < limit {
			ps, last = append(ps, r.p), r.place
		}
	}
	return ps, last, nil
}

func (w *world) PendingOf(ctx context.Context, c im.ConversationID) (ps []im.Promise, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range w.rows {
		if r.p.Conversation == c {
			ps = append(ps, r.p)
		}
	}
	return ps, ctx.Err()
}

func (w *world) Apply(ctx context.Context, p im.Promise, seq uint64) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	if w.failApply != nil {
		if err := w.failApply(p); err != nil {
			return err
		}
	}
	i := slices.IndexFunc(w.rows, func(r row) bool { return r.p.ID == p.ID })
	if i < 0 {
		return nil
	}
	w.rows = slices.Delete(w.rows, i, i+1)
	w.applied = append(w.applied, p.ID)
	if want := w.seqOf(p.ID); want != seq {
		return fmt.Errorf("applied with seq %d, is %d", seq, want)
	}
	return nil
}

func (w *world) seqOf(id im.MessageID) uint64 {
	return uint64(slices.IndexFunc(w.journal, func(p im.Promise) bool { return p.ID == id }) + 1)
}

func (w *world) AppendEvent(ctx context.Context, p im.Promise, apply func(uint64) error) (uint64, error) {
	w.mu.Lock()
	err := ctx.Err()
	if err == nil && w.failAppend != nil {
		err = w.failAppend(p)
	}
	if err == nil && w.seqOf(p.ID) == 0 {
		w.journal = append(w.journal, p)
	}
	seq, hangs := w.seqOf(p.ID), w.hangs
	w.mu.Unlock()
	if err != nil {
		return 0, err
	}
	if hangs {
		<-ctx.Done()
		return 0, ctx.Err()
	}
	// A change of a roster is applied with its entry; nothing else keeps the
	// committer waiting for the directory.
	if (apply != nil) != (p.SetRoster != 0) {
		return 0, fmt.Errorf("apply on the committer: %v, roster change: %v", apply != nil, p.SetRoster != 0)
	}
	if apply != nil {
		err = apply(seq)
	}
	return seq, err
}

func (w *world) texts() (texts []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range w.journal {
		texts = append(texts, p.Event.Text)
	}
	return texts
}

func (w *world) left() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.rows)
}

var errFault = errors.New("fault")

func TestDriveAppliesRosterChangesWithTheirEntry(t *testing.T) {
	w := &world{}
	r := outbox.New(w, w, outbox.Options{})
	p := w.change("g", 1)
	if err := r.Drive(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	if w.left() != 0 || !slices.Equal(w.applied, []im.MessageID{p.ID}) {
		t.Fatalf("left %d, applied %v", w.left(), w.applied)
	}
}

// Who wants to know of roster changes is told once the directory has them; of
// notices, and of what was not applied, nothing.
func TestAppliedIsTold(t *testing.T) {
	w := &world{}
	var told []string
	r := outbox.New(w, w, outbox.Options{Applied: func(p im.Promise, seq uint64) {
		w.mu.Lock()
		defer w.mu.Unlock()
		told = append(told, fmt.Sprintf("%s %d at %d, %d left", p.Conversation, p.SetRoster, seq, len(w.rows)))
	}})
	if err := r.Drive(t.Context(), w.notice("u", "hello")); err != nil {
		t.Fatal(err)
	}
	w.failApply = func(im.Promise) error { return errors.New("no") }
	p := w.change("g", 1)
	if r.Drive(t.Context(), p) == nil || told != nil {
		t.Fatalf("told %q of what was not applied", told)
	}
	w.failApply = nil
	if left, err := r.Replay(t.Context()); left != 1 || err != nil { // it waits after the failure
		t.Fatal(left, err)
	}
	if err := r.Drive(t.Context(), p); err != nil || !slices.Equal(told, []string{"grp:g 1 at 2, 0 left"}) {
		t.Errorf("told %q, %v", told, err)
	}
}

func TestDriveAppendsAndApplies(t *testing.T) {
	w := &world{}
	r := outbox.New(w, w, outbox.Options{Registerer: prometheus.NewRegistry()})
	p := w.notice("a", "1")
	if err := r.Drive(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	if w.left() != 0 || !slices.Equal(w.applied, []im.MessageID{p.ID}) {
		t.Fatal(w.rows, w.applied)
	}
	if err := r.Drive(t.Context(), p); err != nil { // it is done: nothing happens
		t.Fatal(err)
	}
	if len(w.journal) != 1 {
		t.Fatal(w.journal)
	}
}

// Whoever asked is gone: the drive goes on.
func TestDriveSurvivesItsCaller(t *testing.T) {
	w := &world{}
	r := outbox.New(w, w, outbox.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, p := range []im.Promise{
		w.notice("a", "1"),
		w.add(im.Promise{Conversation: "grp:g", IfRoster: 1, SetRoster: 2}),
	} {
		if err := r.Drive(ctx, p); err != nil {
			t.Fatal(err)
		}
	}
	if w.left() != 0 {
		t.Fatal(w.rows)
	}
}

// A journal that never answers holds a drive for Timeout, not for ever.
func TestDriveIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{hangs: true}
		r := outbox.New(w, w, outbox.Options{Timeout: time.Minute})
		start := time.Now()
		err := r.Drive(context.Background(), w.add(im.Promise{Conversation: "grp:g", SetRoster: 1}))
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Minute {
			t.Fatal(err, time.Since(start))
		}
	})
}

// A notice is not overtaken by the next one of its feed.
func TestNoticesStayInOrder(t *testing.T) {
	w := &world{}
	r := outbox.New(w, w, outbox.Options{})
	w.failAppend = func(im.Promise) error { return errFault }
	if err := r.Drive(t.Context(), w.notice("a", "asked")); !errors.Is(err, errFault) {
		t.Fatal(err)
	}
	w.failAppend = nil
	second := w.notice("a", "removed")
	w.notice("a", "later")
	if err := r.Drive(t.Context(), second); err != nil {
		t.Fatal(err)
	}
	if got := w.texts(); !slices.Equal(got, []string{"asked", "removed"}) {
		t.Fatal(got)
	}
}

// Each place to crash in leaves a promise that the next start carries out, once.
func TestReplayAfterCrash(t *testing.T) {
	for _, c := range []struct {
		name  string
		crash func(t *testing.T, w *world, p im.Promise)
		want  int // applied by the crashed process
	}{
		{"after the promise", func(*testing.T, *world, im.Promise) {}, 0},
		{"after the append", func(t *testing.T, w *world, p im.Promise) {
			w.failApply = func(im.Promise) error { return errFault }
			if err := outbox.New(w, w, outbox.Options{}).Drive(t.Context(), p); !errors.Is(err, errFault) {
				t.Fatal(err)
			}
			w.failApply = nil
		}, 0},
		{"after it was applied", func(t *testing.T, w *world, p im.Promise) {
			if err := outbox.New(w, w, outbox.Options{}).Drive(t.Context(), p); err != nil {
				t.Fatal(err)
			}
		}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := &world{}
			p := w.add(im.Promise{Conversation: "grp:g", IfRoster: 3, SetRoster: 4})
			c.crash(t, w, p)
			if len(w.applied) != c.want {
				t.Fatalf("applied %d times before the start", len(w.applied))
			}
			if left, err := outbox.New(w, w, outbox.Options{}).Replay(t.Context()); left != 0 || err != nil {
				t.Fatal(left, err)
			}
			if w.left() != 0 || len(w.journal) != 1 || len(w.applied) != 1 {
				t.Fatalf("left %d, journal %v, applied %v", w.left(), w.journal, w.applied)
			}
		})
	}
}

// Start replays at once; a failure is tried again, less and less often; a
// conversation that fails does not hold up another one, but its own.
func TestRunnerBacksOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{}
		var tries, lonely atomic.Int32
		w.failAppend = func(p im.Promise) error {
			switch p.Conversation {
			case im.Me("good"):
				return nil
			case im.Me("lonely"):
				lonely.Add(1)
				return errFault
			}
			if p.Event.Text != "bad 1" {
				t.Errorf("%q was tried before the one it waits for", p.Event.Text)
			}
			tries.Add(1)
			return errFault
		}
		w.notice("bad", "bad 1")
		w.notice("bad", "bad 2")
		w.notice("lonely", "lonely")
		for i := range 600 { // more than a page
			w.notice("good", fmt.Sprint(i))
		}
		r := outbox.New(w, w, outbox.Options{Interval: time.Second})
		r.Start()
		synctest.Wait()
		if w.left() != 3 || tries.Load() != 1 {
			t.Fatalf("at the start: %d left, %d tries", w.left(), tries.Load())
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		for _, n := range []int32{tries.Load(), lonely.Load()} {
			if n < 150 || n > 200 { // 1, 2, 4, 8, 16, 20, 20 … seconds
				t.Fatalf("%d tries in an hour", n)
			}
		}
		w.mu.Lock()
		w.failAppend = nil
		w.mu.Unlock()
		time.Sleep(20 * time.Second)
		synctest.Wait()
		if w.left() != 0 {
			t.Fatalf("%d left", w.left())
		}
		got := slices.DeleteFunc(w.texts(), func(s string) bool { return !strings.HasPrefix(s, "bad") })
		if !slices.Equal(got, []string{"bad 1", "bad 2"}) {
			t.Fatal(got)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

// A drive that failed is taken up by the running replays.
func TestRunnerTakesUpFailedDrive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{}
		r := outbox.New(w, w, outbox.Options{Interval: time.Second})
		r.Start()
		synctest.Wait()
		w.mu.Lock()
		w.failApply = func(im.Promise) error { return errFault }
		w.mu.Unlock()
		if err := r.Drive(t.Context(), w.add(im.Promise{Conversation: "grp:g", SetRoster: 1})); err == nil {
			t.Fatal("no error")
		}
		w.mu.Lock()
		w.failApply = nil
		w.mu.Unlock()
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if w.left() != 0 || len(w.journal) != 1 {
			t.Fatal(w.rows, w.journal)
		}
		r.Close()
	})
}

// A replay that meets a promise under way does not drive it as well: the entry
// would be delivered twice. One that its maker has given up is taken up.
func TestRunnerLeavesWhatIsDriven(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{}
		slow := &slowAppender{world: w, hold: make(chan struct{})}
		r := outbox.New(w, slow, outbox.Options{Interval: time.Second, Timeout: time.Minute})
		r.Start()
		synctest.Wait()
		driven := make(chan error, 1)
		go func() { driven <- r.Drive(t.Context(), w.add(im.Promise{Conversation: "grp:g", SetRoster: 1})) }()
		w.notice("nobody drives", "forgotten")
		time.Sleep(10 * time.Second) // replays come and go
		if n := slow.appends.Load(); n != 1 {
			t.Errorf("%d appends", n)
		}
		close(slow.hold)
		if err := <-driven; err != nil {
			t.Error(err)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if n := slow.appends.Load(); n != 2 || w.left() != 0 {
			t.Errorf("%d appends, %d left", n, w.left())
		}
		r.Close()
	})
}

// slowAppender counts appends and lets them wait for hold.
type slowAppender struct {
	*world
	appends atomic.Int32
	hold    chan struct{}
}

func (s *slowAppender) AppendEvent(ctx context.Context, p im.Promise, apply func(uint64) error) (uint64, error) {
	s.appends.Add(1)
	<-s.hold
	return s.world.AppendEvent(ctx, p, apply)
}

// The entry is stored but the answer took longer than anybody waited: the change
// still follows it.
func TestLateApplyIsNotCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{}
		late := &lateAppender{world: w}
		p := w.add(im.Promise{Conversation: "grp:g", SetRoster: 1})
		if err := outbox.New(w, late, outbox.Options{}).Drive(t.Context(), p); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		w.journal = append(w.journal, p)
		if err := late.apply(1); err != nil || w.left() != 0 {
			t.Fatal(err, w.rows)
		}
	})
}

// lateAppender gives up at its context's end and leaves the rest for later.
type lateAppender struct {
	*world
	apply func(uint64) error
}

func (l *lateAppender) AppendEvent(ctx context.Context, _ im.Promise, apply func(uint64) error) (uint64, error) {
	l.apply = apply
	<-ctx.Done()
	return 0, ctx.Err()
}

func TestCloseWithoutStart(t *testing.T) {
	r := outbox.New(&world{}, &world{}, outbox.Options{})
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	r.Start() // does nothing any more
}
