package gateway

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/skein-im/skein/internal/im"
)

const (
	// loginsUnderway is how many handshakes, each with its first sync, ask Logic at
	// the same time.
	loginsUnderway = 64
	// loginWait is how long a handshake may wait for its turn. Who would have to wait
	// for longer, at the pace of the last ones, is refused at once.
	loginWait = 3 * time.Second
	// A refused one is told to come back within these bounds: when those before it
	// will be done, and not all at once.
	loginRetryLeast, loginRetryMost = time.Second, 20 * time.Second
)

// admission lets handshakes in as fast as Logic answers them. A storm of
// reconnects at a slow database would otherwise become work that nobody waits for
// any more by the time it is done, and the reason for the next storm.
type admission struct {
	now   func() time.Time
	slots chan struct{}

	mu      sync.Mutex
	waiting int
	// each is what one takes, as of the last ones.
	each time.Duration
}

func newAdmission(now func() time.Time, underway int) *admission {
	return &admission{now: now, slots: make(chan struct{}, underway)}
}

// enter waits for a turn, which ends with leave, or refuses.
func (a *admission) enter(ctx context.Context) (leave func(), err error) {
	select {
	case a.slots <- struct{}{}: // nobody waits, most of the time
		return a.begin(), nil
	default:
	}
	a.mu.Lock()
	expected := a.each * time.Duration(a.waiting+1) / time.Duration(cap(a.slots))
	if expected > loginWait {
		a.mu.Unlock()
		return nil, busy(expected)
	}
	a.waiting++
	a.mu.Unlock()
	defer func() {
		a.mu.Lock()
		a.waiting--
		a.mu.Unlock()
	}()
	timer := time.NewTimer(loginWait)
	defer timer.Stop()
	select {
	case a.slots <- struct{}{}:
		return a.begin(), nil
	case <-timer.C:
		return nil, busy(loginWait)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func busy(expected time.Duration) error {
	wait := min(max(expected, loginRetryLeast), loginRetryMost)
	return &im.Error{Code: im.CodeUnavailable, Message: "too many log in at the same time", RetryAfter: wait + rand.N(wait)}
}

func (a *admission) begin() (leave func()) {
	began := a.now()
	return func() {
		took := a.now().Sub(began)
		a.mu.Lock()
		a.each += (took - a.each) / 8
		a.mu.Unlock()
		<-a.slots
	}
}
