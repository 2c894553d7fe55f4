// Package outbox carries out promises: entries that a directory transaction
// said will be appended to the journal.
//
// A change that needs the directory and the journal takes three steps:
//
//  1. the business package commits what must be remembered together with an
//     im.Promise, whose entry id is fixed in that moment;
//  2. the entry is appended to the journal (Appender);
//  3. the directory makes the change visible with the entry's seq and deletes
//     the promise, in one transaction (Store.Apply).
//
// A crash anywhere leaves the promise, and the Runner takes the steps 2 and 3
// again: the id makes 2 harmless, the missing row makes 3 harmless. So several
// processes over one store may drive the same promise at the same time, each
// from wherever it got to. A promise of another process is left to that process for
// a while (Options.Shared), unless somebody cannot go on without it (Help).
//
// It must not know what a promise is about; the business packages make them,
// the store applies them.
//
// Goroutines: one, from Start to Close, that replays; one for each conversation
// that is helped, until that is done. Drive runs on the caller's. Locks: Runner.mu guards the back-off table and the
// table of helps only; nothing is called while it is held.
//
// Invariants:
//   - a promise that was committed is appended and applied, sooner or later,
//     exactly once, whatever becomes of the one who made it;
//   - promises of one conversation are appended in the order they were made;
//   - a promise that keeps failing holds up its own conversation only.
package outbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/skein-im/skein/internal/im"
)

// Store keeps the promises.
type Store interface {
	// Pending returns at most limit promises after a place, in the order they
	// were made, and the place of the last one returned.
	Pending(ctx context.Context, after int64, limit int) (ps []im.Promise, last int64, err error)
	// PendingOf returns a conversation's promises in the order they were made.
	PendingOf(ctx context.Context, c im.ConversationID) ([]im.Promise, error)
	// Apply makes the change of a promise visible with its entry's seq and deletes
	// the promise, in one transaction. Without the promise it does nothing.
	Apply(ctx context.Context, p im.Promise, seq uint64) error
}

// Appender appends promised entries to the journal.
type Appender interface {
	// AppendEvent stores the entry durably, or finds that it is stored already,
	// calls apply (nil: nothing) with its seq before the entry, or anything behind it in
	// its conversation, is delivered, and returns the seq. An error of apply is returned.
	AppendEvent(ctx context.Context, p im.Promise, apply func(seq uint64) error) (uint64, error)
}

// Options are all optional.
type Options struct {
	// Interval is the time between two replays. Default 3 s. A conversation whose
	// promise failed waits twice as long each time, up to 20 intervals.
	Interval time.Duration
	// Timeout bounds one drive. Default 30 s.
	Timeout time.Duration
	// Shared: other processes have the same store. What is there at the start may
	// be under way, and what is 5 s old is taken for left behind by one of them; if
	// it is not, it is driven twice, which costs an append and nothing else.
	Shared bool
	Now    func() time.Time
	// Applied is told of every roster change that was made visible, with its
	// entry's seq, before the entry is delivered. It must not block.
	Applied    func(p im.Promise, seq uint64)
	Logger     *slog.Logger
	Registerer prometheus.Registerer
}

const (
	page        = 256
	maxBackoff  = 20 // intervals
	sharedSpare = 5 * time.Second
)

// Runner drives promises.
type Runner struct {
	store    Store
	appender Appender
	o        Options

	stop  chan struct{}
	done  chan struct{}
	start sync.Once
	close sync.Once

	mu     sync.Mutex
	behind map[im.ConversationID]backoff
	// helping has, for a conversation, the help under way and the next one.
	helping map[im.ConversationID]*help
	helps   sync.WaitGroup // added to under mu, while not closing

	pending prometheus.Gauge
	driven  *prometheus.CounterVec
}

// backoff tells when a conversation whose promise failed is tried again.
type backoff struct {
	failures int
	next     time.Time
}

// New makes a Runner. Drive works at once; Start begins the replays.
func New(store Store, appender Appender, o Options) *Runner {
	if o.Interval <= 0 {
		o.Interval = 3 * time.Second
	}
	if o.Timeout <= 0 {
		o.Timeout = 30 * time.Second
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Applied == nil {
		o.Applied = func(im.Promise, uint64) {}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	metrics := promauto.With(o.Registerer)
	return &Runner{
		store: store, appender: appender, o: o,
		stop:   make(chan struct{}),
		done:   make(chan struct{}),
		behind: make(map[im.ConversationID]backoff), helping: make(map[im.ConversationID]*help),
		pending: metrics.NewGauge(prometheus.GaugeOpts{
			Name: "skein_outbox_pending_promises",
			Help: "Promised entries that the last replay left undone.",
		}),
		driven: metrics.NewCounterVec(prometheus.CounterOpts{
			Name: "skein_outbox_drives_total",
			Help: "Promised entries driven to the journal, by result.",
		}, []string{"result"}),
	}
}

// Drive appends and applies a promise that was just committed. It goes on when
// ctx is cancelled, for Options.Timeout at most. After an error the promise
// stands and is replayed: the change may be late, it is not undone.
func (r *Runner) Drive(ctx context.Context, p im.Promise) error {
	if err := r.driveTo(ctx, p); err != nil {
		r.failed(p.Conversation)
		return err
	}
	r.succeeded(p.Conversation)
	return nil
}

// driveTo drives p, and before it what else its conversation has pending, so
// that a notice whose drive failed is not overtaken by the next one. A group
// has one promise at a time, which needs no look.
func (r *Runner) driveTo(ctx context.Context, p im.Promise) error {
	if p.SetRoster != 0 {
		return r.drive(ctx, p)
	}
	rows, err := r.pendingOf(ctx, p.Conversation)
	if err != nil {
		return err
	}
	for _, row := range rows {
		if err := r.drive(ctx, row); err != nil {
			return err
		}
		if row.ID == p.ID {
			break
		}
	}
	return nil
}

func (r *Runner) pendingOf(ctx context.Context, c im.ConversationID) ([]im.Promise, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.o.Timeout)
	defer cancel()
	rows, err := r.store.PendingOf(ctx, c)
	if err != nil {
		return nil, fmt.Errorf("promises of %s: %w", c, err)
	}
	return rows, nil
}

// drive takes the steps 2 and 3 for one promise.
func (r *Runner) drive(ctx context.Context, p im.Promise) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.o.Timeout)
	defer cancel()
	apply := func(seq uint64) error {
		// A time of its own: the entry is stored, so the change must follow, also
		// when the append took long and nobody waits for it any more.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.o.Timeout)
		defer cancel()
		err := r.store.Apply(ctx, p, seq)
		if err == nil && p.SetRoster != 0 {
			r.o.Applied(p, seq)
		}
		return err
	}
	var err error
	if p.SetRoster != 0 || p.Event.Type == im.EventLifetimeChanged {
		_, err = r.appender.AppendEvent(ctx, p, apply)
	} else {
		// Nothing is decided by what changes with the entry, so it need not wait for the directory, and
		// neither need everybody whose messages are stored behind it.
		var seq uint64
		if seq, err = r.appender.AppendEvent(ctx, p, nil); err == nil {
			err = apply(seq)
		}
	}
	if err != nil {
		r.driven.WithLabelValues("failed").Inc()
		return fmt.Errorf("drive promise %s of %s: %w", p.ID, p.Conversation, err)
	}
	r.driven.WithLabelValues("ok").Inc()
	return nil
}

// Replay drives every promise there is, except those of conversations that
// wait after a failure, and returns how many are left undone and the failures.
func (r *Runner) Replay(ctx context.Context) (left int, err error) { return r.replay(ctx, 0) }

// replay leaves promises that are younger than spare to those who made them: a
// Drive is under way, and a second one would have the entry delivered twice.
func (r *Runner) replay(ctx context.Context, spare time.Duration) (left int, err error) {
	var errs []error
	skip := make(map[im.ConversationID]bool)
	defer func() { r.pending.Set(float64(left)) }()
	for after := int64(0); ; {
		rows, last, err := r.store.Pending(ctx, after, page)
		if err != nil {
			return left, errors.Join(append(errs, fmt.Errorf("read promises: %w", err))...)
		}
		if len(rows) == 0 {
			r.forgetExcept(skip)
			return left, errors.Join(errs...)
		}
		after = last
		for _, p := range rows {
			switch {
			case skip[p.Conversation] || r.waits(p.Conversation) || r.isDriven(p, spare):
				skip[p.Conversation] = true
				left++
				continue
			case ctx.Err() != nil || r.closing():
				return left + 1, errors.Join(append(errs, ctx.Err())...)
			}
			if err := r.drive(ctx, p); err != nil {
				skip[p.Conversation] = true
				left++
				r.failed(p.Conversation)
				errs = append(errs, err)
				continue
			}
			r.succeeded(p.Conversation)
		}
	}
}

// Start begins to replay: at once, and then every Interval.
func (r *Runner) Start() {
	r.start.Do(func() { go r.run() })
}

// Close stops replaying and helping, after the promises that are being driven.
func (r *Runner) Close() error {
	r.close.Do(func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		close(r.stop)
	})
	r.start.Do(func() { close(r.done) })
	<-r.done
	r.helps.Wait()
	return nil
}

func (r *Runner) run() {
	defer close(r.done)
	ticker := time.NewTicker(r.o.Interval)
	defer ticker.Stop()
	spare, first := r.o.Timeout, time.Duration(0) // alone: what is there at the start was left behind, nobody drives it
	if r.o.Shared {
		spare, first = sharedSpare, sharedSpare
	}
	for now := first; ; now = spare {
		if left, err := r.replay(context.Background(), now); err != nil {
			r.o.Logger.Warn("outbox: promises are left undone and will be tried again", "left", left, "err", err)
		}
		select {
		case <-r.stop:
			return
		case <-ticker.C:
		}
	}
}

func (r *Runner) closing() bool {
	select {
	case <-r.stop:
		return true
	default:
		return false
	}
}

func (r *Runner) waits(c im.ConversationID) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	b, ok := r.behind[c]
	return ok && r.o.Now().Before(b.next)
}

// isDriven tells whether the one who made p may still be driving it: it is
// young, and no drive of its conversation has failed.
func (r *Runner) isDriven(p im.Promise, spare time.Duration) bool {
	if r.o.Now().Sub(p.ID.Time()) >= spare {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	_, failed := r.behind[p.Conversation]
	return !failed
}

func (r *Runner) failed(c im.ConversationID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	b := r.behind[c]
	factor := min(1<<min(b.failures, 10), maxBackoff)
	b.failures++
	b.next = r.o.Now().Add(time.Duration(factor) * r.o.Interval)
	r.behind[c] = b
}

func (r *Runner) succeeded(c im.ConversationID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.behind, c)
}

// forgetExcept drops the waits of conversations that have nothing pending.
func (r *Runner) forgetExcept(pending map[im.ConversationID]bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for c := range r.behind {
		if !pending[c] {
			delete(r.behind, c)
		}
	}
}
