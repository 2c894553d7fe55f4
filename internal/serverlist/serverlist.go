// Package serverlist has lists of the deployment's own, which administrators change now and
// then and every node has whole in memory.
//
// It owns what a node knows of a list: all of it, as of a revision. It must not know what a
// list means, nor how anything is stored.
//
// Who changes a list tells the other nodes (Options.Changed) before the change is answered:
// each that is heard knows it by then. One that could not be told looks by itself every
// lookEvery, where several share the store.
//
// Goroutines: one, from Start to Close, where the store is shared. Locks: reading, around
// what reads the store and puts it into memory.
package serverlist

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// Store keeps lists. internal/directory is one; its comments say more.
type Store interface {
	ServerList(ctx context.Context, name string) (revision uint64, value string, err error)
	ServerListRevision(ctx context.Context, name string) (uint64, error)
	ChangeServerList(ctx context.Context, name string, at time.Time, change func(value string) (string, error)) (revision uint64, value string, err error)
}

const (
	// lookEvery is how often is looked for changes that nobody told of.
	lookEvery = 2 * time.Second
	// lookTime bounds a look.
	lookTime = 5 * time.Second
)

// Options say what a List needs.
type Options struct {
	Store Store
	// Name is what the list is kept under.
	Name string
	// Shared: other processes change it as well.
	Shared bool
	// Changed has the other nodes look again; it returns when they have, or after a few
	// seconds. Optional.
	Changed func(ctx context.Context)
	Now     func() time.Time
	Logger  *slog.Logger
}

// Known is a list as of a revision; nobody changes it. Revision 0: it was never set.
type Known[T any] struct {
	Revision uint64
	All      []T
}

// List is one. It is safe for concurrent use.
type List[T any] struct {
	o       Options
	took    func(*Known[T])
	known   atomic.Pointer[Known[T]]
	reading sync.Mutex
	life    context.Context
	end     context.CancelFunc
	done    sync.WaitGroup
}

// New makes a List that knows nothing yet. took, if not nil, is called with what it knows
// from then on, one after the other, before anybody is told that it changed.
func New[T any](o Options, took func(*Known[T])) *List[T] {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Changed == nil {
		o.Changed = func(context.Context) {}
	}
	l := &List[T]{o: o, took: took}
	l.known.Store(&Known[T]{})
	l.life, l.end = context.WithCancel(context.Background())
	return l
}

// Start reads the list, and begins to look for what others changed. Without the list a node
// must not serve, so an error is the start's.
func (l *List[T]) Start(ctx context.Context) error {
	if err := l.Look(ctx); err != nil {
		return err
	}
	if l.o.Shared {
		l.done.Go(l.watch)
	}
	return nil
}

// Close ends that.
func (l *List[T]) Close() {
	l.end()
	l.done.Wait()
}

func (l *List[T]) watch() {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for failed := false; ; {
		select {
		case <-l.life.Done():
			return
		case <-tick.C:
		}
		ctx, cancel := context.WithTimeout(l.life, lookTime)
		err := l.Look(ctx)
		cancel()
		if err != nil && !failed && l.life.Err() == nil {
			l.o.Logger.Warn("a list of the deployment cannot be read, trying again", "list", l.o.Name, "err", err)
		}
		failed = err != nil
	}
}

// Known is what this node knows.
func (l *List[T]) Known() *Known[T] { return l.known.Load() }

// Look reads what changed, if anything did.
func (l *List[T]) Look(ctx context.Context) error {
	l.reading.Lock()
	defer l.reading.Unlock()
	r, err := l.o.Store.ServerListRevision(ctx, l.o.Name)
	if err != nil || r == l.known.Load().Revision {
		return err
	}
	r, value, err := l.o.Store.ServerList(ctx, l.o.Name)
	if err != nil {
		return err
	}
	return l.take(r, value)
}

func (l *List[T]) take(revision uint64, value string) error {
	all, err := decode[T](l.o.Name, value)
	if err != nil {
		return err
	}
	k := &Known[T]{revision, all}
	if l.took != nil {
		l.took(k)
	}
	l.known.Store(k)
	return nil
}

func decode[T any](name, value string) (all []T, err error) {
	if value == "" {
		return nil, nil
	}
	if err := json.Unmarshal([]byte(value), &all); err != nil {
		return nil, im.Wrap(fmt.Errorf("the list %s of the server: %w", name, err), im.CodeInternal, "what was stored cannot be read")
	}
	return all, nil
}

// Change puts what change makes of the list in its place; it may be called more than once,
// and its error changes nothing. When Change returns, this node and those that are heard go
// by the new one.
func (l *List[T]) Change(ctx context.Context, change func(all []T) ([]T, error)) error {
	_, _, err := l.o.Store.ChangeServerList(ctx, l.o.Name, l.o.Now(), func(value string) (string, error) {
		all, err := decode[T](l.o.Name, value)
		if err != nil {
			return "", err
		}
		if all, err = change(all); err != nil {
			return "", err
		}
		b, err := json.Marshal(all)
		return string(b), err
	})
	if err != nil {
		return err
	}
	if err := l.Look(ctx); err != nil { // it is stored
		return im.Wrap(err, im.CodeUnknown, "it was changed; this node does not go by it yet")
	}
	l.o.Changed(ctx)
	return nil
}
