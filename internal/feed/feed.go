// Package feed runs followers: those that do something about every entry of the
// journal, in the order of positions, at least once, whatever crashes. Nothing that
// must not be lost hangs on dispatch, which may lose anything: it hangs here.
//
// It owns how a follower gets on: where it is (a place of the journal, kept in the
// directory), who works on it, when it is tried again, what is set aside. It must not
// know what a follower does, nor the stores, which it reaches through im.Follow and
// Store.
//
// A follower runs on every node that may do its work; one of them does. Who that is
// is a row in the directory: its holder makes a number in it grow every few seconds,
// and another node that saw the same number for TakeAfter takes its place. No clock
// is compared with another's. Nothing but economy rests on it: a node that was frozen
// and comes back handles for a moment what another one handles as well, and its
// cursor is refused.
//
// Goroutines: one per follower, from Start to Close, that looks and works, and while
// it works one more that notes where it is and that it is there. Locks: keeper.mu and
// metrics.mu guard a few values each and are never held during a call.
//
// Invariants:
//   - the place moves behind what the handler has done, never before: whatever
//     crashes, all behind the last place that was noted is handled again;
//   - entries of a conversation are handled in their order; what is handled again
//     begins again somewhere before, also in the order;
//   - who does not hold a follower moves no cursor;
//   - an entry is passed over only after it was noted as set aside, and only one that
//     failed alone.
package feed

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/skein-im/skein/internal/im"
)

// Handler does something about entries. It gets them in order; after an error it gets
// the same ones again, or a part of them, so doing something twice must be harmless.
// An error is taken for an entry's fault that goes away or does not: see Permanent
// and Later. A panic is an error. When ctx ends it should return soon.
type Handler func(ctx context.Context, entries []im.Entry) error

// Store keeps where followers are, and who works on them. internal/directory is one.
type Store interface {
	// Follower returns what is kept of a follower.
	Follower(ctx context.Context, name string, shard int) (im.FollowerState, error)
	// LeadFollower makes holder the one who works on it, if it is still as it was seen:
	// of several who try at most one succeeds.
	LeadFollower(ctx context.Context, seen im.FollowerState, holder string) (bool, error)
	// SaveFollower notes the place, and makes Beat grow. It is false, and nothing was
	// noted, if Holder is not who works on it.
	SaveFollower(ctx context.Context, s im.FollowerState) (bool, error)
	// LeaveFollower makes room for others.
	LeaveFollower(ctx context.Context, name string, shard int, holder string) error
	// SetAside notes an entry that a follower goes on without; twice is once.
	SetAside(ctx context.Context, p im.SetAside) error
}

// Options say what a follower is. Those that are not told to be optional must be set.
type Options struct {
	// Name names the follower for ever: its place is kept under it.
	Name string
	// Shard is the part of the journal, 0 as long as there is one.
	Shard   int
	Journal im.Follow
	Store   Store
	Handler Handler
	// Node is how logs and the directory name this process. Optional.
	Node string
	// Alone: no other process has the store, so whoever worked on it is gone.
	Alone bool
	// Page is how many entries the handler gets at most. Default 500.
	Page int
	// Gather is the least time between two looks that find all there is: what is stored
	// meanwhile shares the handler's next call. Default 50 ms.
	Gather time.Duration
	// Tries is how often an entry may fail alone before it is set aside. Default 12,
	// which takes some two minutes.
	Tries      int
	Logger     *slog.Logger          // optional
	Registerer prometheus.Registerer // optional
}

// How often things are done, and how long is waited for them.
const (
	// pollEvery is how often is looked for what other processes stored.
	pollEvery = time.Second
	// saveEvery is how often a place that moved is noted, beatEvery one that did not.
	saveEvery = time.Second
	beatEvery = 3 * time.Second
	// lookEvery is how often a node looks whether there is work to take over, and
	// TakeAfter how long nobody may have shown to be there by then.
	lookEvery = 2 * time.Second
	TakeAfter = 10 * time.Second
	// storeTime bounds a question to the directory.
	storeTime = 5 * time.Second
	// What failed is tried again after retryLeast, and after twice as long each time up
	// to retryMost.
	retryLeast = 100 * time.Millisecond
	retryMost  = 30 * time.Second
)

// Follower is one that runs, or waits for its turn. Use New.
type Follower struct {
	o       Options
	holder  string
	metrics *metrics
	wake    chan struct{} // holds one
	life    context.Context
	end     context.CancelFunc
	running sync.WaitGroup
}

// New makes a follower; Start begins.
func New(o Options) *Follower {
	if o.Page <= 0 {
		o.Page = 500
	}
	if o.Gather <= 0 {
		o.Gather = 50 * time.Millisecond
	}
	if o.Tries <= 0 {
		o.Tries = 12
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	o.Logger = o.Logger.With("follower", o.Name, "shard", o.Shard)
	f := &Follower{o: o, holder: o.Node + "/" + rand.Text(), metrics: newMetrics(&o), wake: make(chan struct{}, 1)}
	f.life, f.end = context.WithCancel(context.Background())
	return f
}

// Start begins to look for work.
func (f *Follower) Start() { f.running.Go(f.run) }

// Wake tells that something was stored. It costs nothing and never waits.
func (f *Follower) Wake() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// Close ends the work, after what the handler is doing, and notes where it is.
func (f *Follower) Close() {
	f.end()
	f.running.Wait()
}

func (f *Follower) run() {
	for f.life.Err() == nil {
		state, ok := f.contend()
		if !ok {
			return
		}
		f.o.Logger.Info("feed: working", "node", f.o.Node, "from", state.Place.Pos)
		f.lead(state)
	}
}

// pause waits; it is false if ctx ends meanwhile.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// backoff is how long is waited before the n-th try again, n from 0.
func backoff(n int) time.Duration {
	return min(retryLeast<<min(n, 20), retryMost)
}

// The classes of a handler's errors.
var (
	errPermanent = errors.New("feed: permanent")
	errLater     = errors.New("feed: later")
)

type classed struct {
	error
	class error
}

func (c classed) Unwrap() []error { return []error{c.error, c.class} }

// Permanent marks an error of a handler: this entry will fail for ever. Of several
// entries, one of them will. It is found and set aside at once.
func Permanent(err error) error { return classed{err, errPermanent} }

// Later marks an error of a handler that is no entry's fault: what it needs is not
// there now. It is tried again for as long as that takes, and nothing is set aside.
func Later(err error) error { return classed{err, errLater} }
