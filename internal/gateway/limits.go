package gateway

import (
	"sync"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// rateClass is a bucket of the command table.
type rateClass uint8

const (
	classNone rateClass = iota
	classSend
	classMark
	classRead
	classCall
	classSignal
	rateClasses
)

// floodFactor times a bucket's burst rejected in a row ends the connection.
const floodFactor = 10

// rule is a Rate in the form the buckets use.
type rule struct {
	interval int64 // nanoseconds a token takes
	depth    int64 // nanoseconds a full bucket holds
	flood    uint32
}

func newRules(r Rates) (rules [rateClasses]rule) {
	set := func(c rateClass, r Rate) {
		interval := max(int64(float64(time.Second)/r.PerSecond), 1)
		rules[c] = rule{interval: interval, depth: interval * int64(r.Burst), flood: uint32(floodFactor * r.Burst)}
	}
	set(classSend, r.Sends)
	set(classMark, r.Marks)
	set(classRead, r.Reads)
	set(classCall, r.Calls)
	set(classSignal, r.Signals)
	return rules
}

// bucket is a token bucket kept as the time at which it will be full again
// (GCRA): no goroutine, a few numbers. It belongs to an allowance.
type bucket struct {
	full int64 // Unix nanoseconds
	// told is when the last who was refused was told to come again: each is given a
	// time of its own.
	told int64
	// rejected counts refusals. Who comes again in time is admitted, and takes one
	// back: only who goes on regardless gathers them.
	rejected uint32
}

// take asks for a token. When there is none it tells how long to wait, and
// whether so many were refused that the peer does not listen.
func (b *bucket) take(r *rule, now int64) (wait time.Duration, flood bool) {
	if b.full <= now {
		b.full = now
		b.rejected = 0
	}
	if over := b.full + r.interval - now - r.depth; over > 0 {
		b.rejected++
		b.told = max(b.told+r.interval, now+over)
		return time.Duration(b.told - now), b.rejected > r.flood
	}
	b.full += r.interval
	switch {
	case now >= b.told: // all who were refused had their time
		b.rejected = 0
	case b.rejected > 0:
		b.rejected--
	}
	return 0, false
}

// maxIdleRates bounds the devices that are remembered though they have no
// connection here.
const maxIdleRates = 1 << 16

// rates are the allowances of the devices that are, or were a moment ago,
// connected here. What a device used does not come back by connecting anew; an
// allowance that is full again is as good as a new one and is forgotten.
type rates struct {
	rules [rateClasses]rule

	mu   sync.Mutex
	of   map[rateKey]*allowance
	idle int // without a session
}

// rateKey is a device of an account.
type rateKey struct {
	user   im.UserID
	device string
}

// allowance is what one device may ask over all its connections here.
type allowance struct {
	key rateKey
	// Guarded by rates.mu: who uses it, and when it was to be full when nobody did.
	sessions int
	until    int64

	mu      sync.Mutex
	buckets [rateClasses]bucket
}

func newRates(r Rates) *rates { return &rates{rules: newRules(r), of: map[rateKey]*allowance{}} }

// enter gives a session its device's allowance, until leave.
func (r *rates) enter(u im.UserID, device string) *allowance {
	r.mu.Lock()
	defer r.mu.Unlock()
	k := rateKey{u, device}
	a := r.of[k]
	switch {
	case a == nil:
		a = &allowance{key: k}
		r.of[k] = a
	case a.sessions == 0:
		r.idle--
	}
	a.sessions++
	return a
}

// leave ends a session's use of it, at a time in Unix nanoseconds.
func (r *rates) leave(a *allowance, now int64) {
	full := a.full()
	r.mu.Lock()
	defer r.mu.Unlock()
	if a.sessions--; a.sessions > 0 {
		return
	}
	if full <= now || r.idle >= maxIdleRates {
		delete(r.of, a.key)
		return
	}
	r.idle++
	a.until = full
	time.AfterFunc(time.Duration(full-now), func() { r.forget(a, full) })
}

// forget drops an allowance that is full and that nobody has used since.
func (r *rates) forget(a *allowance, full int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if a.sessions == 0 && a.until == full && r.of[a.key] == a {
		delete(r.of, a.key)
		r.idle--
	}
}

// full is when everything may be asked again at once.
func (a *allowance) full() (at int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i := range a.buckets {
		at = max(at, a.buckets[i].full)
	}
	return at
}

// take asks for a token of a class; see bucket.take.
func (r *rates) take(a *allowance, c rateClass, now int64) (wait time.Duration, flood bool) {
	if c == classNone {
		return 0, false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.buckets[c].take(&r.rules[c], now)
}
