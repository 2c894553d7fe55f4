package remote

import (
	"context"
	"sync"
	"time"

	"github.com/skein-im/skein/internal/im"
)

const (
	// maxRepair is how many conversations are compared one by one; beyond that every
	// session here compares all it has.
	maxRepair  = 50_000
	repairPage = 5_000
	// repairAgain is the pause after an attempt that failed.
	repairAgain = 500 * time.Millisecond
	repairTime  = 10 * time.Second
)

// repairs brings back what the bus lost on its way to this gateway: the heads
// of all conversations with entries after a position go to the sessions as
// beacons. A second reading follows a little later, for what was stored at the
// time of the first by a node that was not heard.
type repairs struct {
	n    *Node
	mu   sync.Mutex
	from uint64
	due  bool // there is something to do
	wake chan struct{}
}

func (r *repairs) init(n *Node) { r.n, r.wake = n, make(chan struct{}, 1) }

// since asks for a repair from a position on.
func (r *repairs) since(pos uint64) {
	r.mu.Lock()
	if !r.due || pos < r.from {
		r.from, r.due = pos, true
	}
	r.mu.Unlock()
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

func (r *repairs) take() (from uint64, due bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	from, due = r.from, r.due
	r.due = false
	return from, due
}

func (r *repairs) run() {
	for {
		select {
		case <-r.wake:
		case <-r.n.done:
			return
		}
		from, due := r.take()
		if !due {
			continue
		}
		err := r.repair(from)
		if err != nil {
			r.n.o.Logger.Warn("remote: what the bus lost cannot be looked up yet", "err", err)
			r.since(from)
		}
		select {
		case <-time.After(repairAgain):
		case <-r.n.done:
			return
		}
		if err == nil {
			_ = r.repair(from) // what the first one found is not told again
		}
	}
}

func (r *repairs) repair(from uint64) error {
	g := r.n.gateway()
	if g == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), repairTime)
	defer cancel()
	groups := false
	heads, more, err := r.n.router.changed(ctx, from, maxRepair)
	if err != nil {
		return err
	}
	r.n.metrics.repaired.Add(float64(len(heads)))
	var to [2]im.UserID
	for i := range heads {
		h := &heads[i]
		if h.Conversation.Kind() == im.KindGroup {
			groups = true
			g.ToGroup(h.Conversation, im.Parcel{Head: h})
		} else {
			g.ToUsers(members(h.Conversation, &to), im.Parcel{Head: h})
		}
	}
	if more || groups {
		// Somebody here may have become a member of a group that this node knows nothing of.
		g.Verify(more)
	}
	g.Flush()
	return nil
}
