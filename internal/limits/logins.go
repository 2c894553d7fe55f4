package limits

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/skein-im/skein/internal/im"
)

const (
	// loginsUnderway is how many of a line are under way at the same time.
	loginsUnderway = 64
	// loginWait is how long one may wait for its turn. Who would have to wait
	// for longer, at the pace of the last ones, is refused at once.
	loginWait = 3 * time.Second
	// A refused one is told to come back within these bounds: when those before it
	// will be done, and not all at once.
	loginRetryLeast, loginRetryMost = time.Second, 20 * time.Second
)

// Logins is a line of those who log in: they are let in as fast as they are
// answered. A storm of reconnects at a slow database would otherwise become work
// that nobody waits for any more by the time it is done, and the reason for the
// next storm.
//
// Handshakes of connections and what checks passwords over HTTP have a line each:
// whoever tries passwords keeps nobody out who has a token.
type Logins struct {
	now   func() time.Time
	slots chan struct{}

	mu      sync.Mutex
	waiting int
	// each is what one takes, as of the last ones.
	each time.Duration
}

// NewLogins makes a line.
func NewLogins(now func() time.Time) *Logins { return newLogins(now, loginsUnderway) }

func newLogins(now func() time.Time, underway int) *Logins {
	return &Logins{now: now, slots: make(chan struct{}, underway)}
}

// Enter waits for a turn, which ends with leave, or refuses.
func (l *Logins) Enter(ctx context.Context) (leave func(), err error) {
	select {
	case l.slots <- struct{}{}: // nobody waits, most of the time
		return l.begin(), nil
	default:
	}
	l.mu.Lock()
	expected := l.each * time.Duration(l.waiting+1) / time.Duration(cap(l.slots))
	if expected > loginWait {
		l.mu.Unlock()
		return nil, busy(expected)
	}
	l.waiting++
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		l.waiting--
		l.mu.Unlock()
	}()
	timer := time.NewTimer(loginWait)
	defer timer.Stop()
	select {
	case l.slots <- struct{}{}:
		return l.begin(), nil
	case <-timer.C:
		return nil, busy(loginWait)
	case <-ctx.Done():
		return nil, im.Wrap(ctx.Err(), im.CodeUnavailable, "the request was given up")
	}
}

func busy(expected time.Duration) error {
	wait := min(max(expected, loginRetryLeast), loginRetryMost)
	return &im.Error{Code: im.CodeUnavailable, Message: "too many log in at the same time", RetryAfter: wait + rand.N(wait)}
}

func (l *Logins) begin() (leave func()) {
	began := l.now()
	return func() {
		took := l.now().Sub(began)
		l.mu.Lock()
		l.each += (took - l.each) / 8
		l.mu.Unlock()
		<-l.slots
	}
}
