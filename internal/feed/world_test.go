package feed_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/skein-im/skein/internal/feed"
	"github.com/skein-im/skein/internal/im"
)

// world is a journal and a directory that several nodes have.
type world struct {
	t *testing.T

	mu      sync.Mutex
	entries []im.Entry // entry n has position n+1
	era     uint64
	agreed  uint64 // of what was told in an era of before
	failing error  // of the journal

	state   im.FollowerState
	aside   []im.SetAside
	handled map[uint64]int // how often, by position
	order   []uint64
	saves   int
}

func newWorld(t *testing.T) *world {
	return &world{t: t, era: 1, handled: map[uint64]int{}}
}

// store adds entries of two conversations.
func (w *world) store(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for range n {
		p := len(w.entries)
		w.entries = append(w.entries, im.Entry{Conversation: im.Group(fmt.Sprint(p % 2)), Seq: uint64(p/2) + 1, Pos: uint64(p) + 1, Stored: time.Now()})
	}
}

func (w *world) After(ctx context.Context, after im.Place, limit int) (im.Followed, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case ctx.Err() != nil:
		return im.Followed{}, ctx.Err()
	case w.failing != nil:
		return im.Followed{}, w.failing
	case after != im.Place{} && after.Era != w.era && after.Pos > w.agreed:
		return im.Followed{}, im.ErrOtherHistory
	}
	now := im.Place{Era: w.era, Pos: uint64(len(w.entries))}
	end := min(after.Pos+uint64(limit), now.Pos)
	return im.Followed{Entries: w.entries[min(after.Pos, end):end:end], UpTo: now.At(end), Now: now}, nil
}

func (w *world) Agree(_ context.Context, p im.Place) (im.Place, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return p.At(min(p.Pos, w.agreed)), nil
}

// node is one of those that may work.
type node struct {
	*world
	name     string
	feed     *feed.Follower
	registry *prometheus.Registry
	// dead: nothing it asks of the directory arrives any more; frozen: its handler
	// does not go on.
	dead   bool
	frozen chan struct{}
	// broken says what becomes of an entry.
	broken func(*im.Entry) error
	calls  int
}

var errDead = errors.New("nobody answers")

func (w *world) node(name string, change ...func(*feed.Options)) *node {
	n := &node{world: w, name: name, registry: prometheus.NewRegistry()}
	o := feed.Options{Name: "f", Journal: w, Store: n, Handler: n.handle, Node: name, Page: 10, Registerer: n.registry}
	for _, c := range change {
		c(&o)
	}
	n.feed = feed.New(o)
	n.feed.Start()
	return n
}

func (n *node) handle(ctx context.Context, entries []im.Entry) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.calls++
	if frozen := n.frozen; frozen != nil {
		n.mu.Unlock()
		<-frozen
		n.mu.Lock()
	}
	for i := range entries {
		if n.broken != nil {
			if err := n.broken(&entries[i]); err != nil {
				return err
			}
		}
	}
	for i := range entries {
		n.handled[entries[i].Pos]++
		n.order = append(n.order, entries[i].Pos)
	}
	return nil
}

// kill ends a node as a crash does: nothing that it does counts any more.
func (n *node) kill() {
	n.mu.Lock()
	n.dead = true
	n.mu.Unlock()
	n.feed.Close()
}

func (n *node) Follower(_ context.Context, name string, shard int) (im.FollowerState, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.dead {
		return im.FollowerState{}, errDead
	}
	s := n.state
	s.Name, s.Shard = name, shard
	return s, nil
}

func (n *node) LeadFollower(_ context.Context, seen im.FollowerState, holder string) (bool, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.dead {
		return false, errDead
	}
	if seen.Holder != n.state.Holder || seen.Beat != n.state.Beat {
		return false, nil
	}
	n.state.Holder = holder
	n.state.Beat++
	return true, nil
}

// SaveFollower requires that nothing was passed over.
func (n *node) SaveFollower(_ context.Context, s im.FollowerState) (bool, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.dead {
		return false, errDead
	}
	if s.Holder != n.state.Holder {
		return false, nil
	}
	for pos := uint64(1); pos <= s.Place.Pos; pos++ {
		if n.handled[pos] == 0 && !n.isAside(pos) {
			n.t.Errorf("%s notes that it is at %d, and %d was not handled", n.name, s.Place.Pos, pos)
		}
	}
	n.state.Place, n.state.Updated = s.Place, s.Updated
	n.state.Beat++
	n.saves++
	return true, nil
}

func (n *node) LeaveFollower(_ context.Context, _ string, _ int, holder string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.dead {
		return errDead
	}
	if n.state.Holder == holder {
		n.state.Holder = ""
		n.state.Beat++
	}
	return nil
}

func (n *node) SetAside(_ context.Context, p im.SetAside) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.dead {
		return errDead
	}
	if !n.isAside(p.Pos) {
		n.aside = append(n.aside, p)
	}
	return nil
}

func (w *world) isAside(pos uint64) bool {
	return slices.ContainsFunc(w.aside, func(p im.SetAside) bool { return p.Pos == pos })
}

// complete requires that all was handled or set aside, each conversation in order.
func (w *world) complete(times int) {
	w.t.Helper()
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	for pos := uint64(1); pos <= uint64(len(w.entries)); pos++ {
		if n := w.handled[pos]; n > times || n == 0 && !w.isAside(pos) {
			w.t.Errorf("%d was handled %d times", pos, n)
		}
	}
	seen := map[uint64]bool{}
	for _, pos := range w.order {
		if pos > 2 && !seen[pos-2] && !w.isAside(pos-2) {
			w.t.Errorf("%d was handled before %d", pos, pos-2)
		}
		seen[pos] = true
	}
}

// figure is what a node shows.
func (n *node) figure(name string) float64 {
	n.t.Helper()
	families, err := n.registry.Gather()
	if err != nil {
		n.t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "skein_feed_"+name {
			return f.GetMetric()[0].GetGauge().GetValue() + f.GetMetric()[0].GetCounter().GetValue()
		}
	}
	n.t.Fatalf("no figure %s", name)
	return 0
}

func (w *world) locked(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f()
}
