package later

import (
	"context"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// Lease is where who works is noted, as of internal/feed's followers.
type Lease interface {
	Follower(ctx context.Context, name string, shard int) (im.FollowerState, error)
	LeadFollower(ctx context.Context, seen im.FollowerState, holder string) (bool, error)
	SaveFollower(ctx context.Context, s im.FollowerState) (bool, error)
	LeaveFollower(ctx context.Context, name string, shard int, holder string) error
}

const (
	// What the leases are kept under.
	sendsName, timersName, retentionName, erasuresName = "later", "timers", "retention", "erasures"
	// beatEvery is how often who works shows to be there, takeAfter after what time
	// without that another one takes over.
	beatEvery = 3 * time.Second
	takeAfter = 10 * time.Second
)

// leasing is this process's part in the lease. It is the worker's.
type leasing struct {
	name   string
	store  Lease
	holder string
	alone  bool

	held  bool
	place im.Place  // of who works: kept with the lease, as it was found or set
	beat  time.Time // when it was last told
	seen  im.FollowerState
	since time.Time // when seen was seen first
}

// work tells whether this process is the one who works. now never goes back.
func (l *leasing) work(ctx context.Context, now time.Time) (bool, error) {
	if l.held {
		if now.Sub(l.beat) < beatEvery {
			return true, nil
		}
		held, err := l.store.SaveFollower(ctx, im.FollowerState{Name: l.name, Holder: l.holder, Updated: now, Place: l.place})
		if err != nil {
			l.held = now.Sub(l.beat) < takeAfter
			return false, err
		}
		l.held, l.beat = held, now
		return held, nil
	}
	state, err := l.store.Follower(ctx, l.name, 0)
	if err != nil {
		return false, err
	}
	if l.since.IsZero() || state.Holder != l.seen.Holder || state.Beat != l.seen.Beat {
		l.seen, l.since = state, now
	}
	if state.Holder != "" && !l.alone && now.Sub(l.since) < takeAfter {
		return false, nil
	}
	led, err := l.store.LeadFollower(ctx, state, l.holder)
	l.held, l.beat, l.place = led && err == nil, now, state.Place
	return l.held, err
}

// move notes where who works is; false: another one works.
func (l *leasing) move(ctx context.Context, to im.Place, now time.Time) (bool, error) {
	held, err := l.store.SaveFollower(ctx, im.FollowerState{Name: l.name, Holder: l.holder, Updated: now, Place: to})
	if err == nil {
		l.held, l.beat = held, now
		if held {
			l.place = to
		}
	}
	return held && err == nil, err
}

// leave makes room for others.
func (l *leasing) leave(ctx context.Context) {
	if l.held {
		_ = l.store.LeaveFollower(ctx, l.name, 0, l.holder) // otherwise they wait for takeAfter
		l.held = false
	}
}
