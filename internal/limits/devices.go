package limits

import (
	"container/list"
	"sync"
	"sync/atomic"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// Class is what a request counts as: by what it does, not by how it comes.
type Class uint8

// The classes. What is None is not counted here.
const (
	None    Class = iota
	Sends         // messages and recalls
	Marks         // received, read
	Reads         // Sync, Pull, and methods that only read
	Calls         // all other methods
	Signals       // Typing, Signal, WatchPresence, Ping, Pong, unknown frames
	classes
)

// FloodFactor times a bucket's burst refused in a row is a flood.
const FloodFactor = 10

// Rate is a token bucket: so many per second, so many at once.
type Rate struct {
	PerSecond float64
	Burst     int
}

// Rates are the buckets that each device has, one for each class.
type Rates struct {
	Sends   Rate // default 200/s, 1000
	Marks   Rate // default 500/s, 2000
	Reads   Rate // default 50/s, 200
	Calls   Rate // default 50/s, 100
	Signals Rate // default 20/s, 100
}

func (r *Rates) defaults() {
	set := func(r *Rate, per float64, burst int) {
		if r.PerSecond <= 0 {
			r.PerSecond = per
		}
		if r.Burst <= 0 {
			r.Burst = burst
		}
	}
	set(&r.Sends, 200, 1000)
	set(&r.Marks, 500, 2000)
	set(&r.Reads, 50, 200)
	set(&r.Calls, 50, 100)
	set(&r.Signals, 20, 100)
}

// rule is a Rate in the form the buckets use.
type rule struct {
	rate     Rate
	interval int64 // nanoseconds a token takes
	depth    int64 // nanoseconds a full bucket holds
	flood    uint32
}

func newRules(r Rates) (rules [classes]rule) {
	set := func(c Class, r Rate) {
		interval := max(int64(float64(time.Second)/r.PerSecond), 1)
		rules[c] = rule{rate: r, interval: interval, depth: interval * int64(r.Burst), flood: uint32(FloodFactor * r.Burst)}
	}
	set(Sends, r.Sends)
	set(Marks, r.Marks)
	set(Reads, r.Reads)
	set(Calls, r.Calls)
	set(Signals, r.Signals)
	return rules
}

// bucket is a token bucket kept as the time at which it will be full again
// (GCRA): no goroutine, a few numbers. It belongs to an Allowance.
type bucket struct {
	full int64 // Unix nanoseconds
	// told is when the last who was refused was told to come again: each is given a
	// time of its own.
	told int64
	// refused counts refusals on connections. Who comes again in time is admitted, and
	// takes one back: only who goes on regardless gathers them.
	refused uint32
}

// take asks for a token. When there is none it tells how long to wait.
func (b *bucket) take(r *rule, now int64) (wait time.Duration) {
	if b.full <= now {
		b.full = now
		b.refused = 0
	}
	if over := b.full + r.interval - now - r.depth; over > 0 {
		// Who never waits must not push the others' times away without end.
		b.told = min(max(b.told+r.interval, now+over), now+over+r.interval*int64(r.flood))
		return time.Duration(b.told - now)
	}
	b.full += r.interval
	switch {
	case now >= b.told: // all who were refused had their time
		b.refused = 0
	case b.refused > 0:
		b.refused--
	}
	return 0
}

const (
	// maxIdle bounds the devices that are remembered though they have no connection
	// here: some 15 MB.
	maxIdle = 1 << 16
	// forgetEvery is how often those are looked through that are remembered so.
	forgetEvery = 10 * time.Second
)

// Devices are the allowances of the devices that are connected to this process, or
// asked something a moment ago. What a device used does not come back by
// connecting anew; an allowance that is full again is as good as a new one and is
// forgotten. It is safe for concurrent use.
//
// It is no cache: the allowance of a connection stays as long as that does.
type Devices struct {
	in atomic.Pointer[inEffect]

	mu sync.Mutex
	of map[deviceKey]*Allowance
	// idle are those that nobody uses, the one that was used last at the end; when
	// there are too many the first is forgotten, which is the most likely to be full.
	idle *list.List
	// due: idle is looked through in a while.
	due bool
}

// deviceKey is a device of an account; sessions without a device (tokens for
// programs) have one together, which is named "".
type deviceKey struct {
	user   im.UserID
	device string
}

// Allowance is what one device may ask, at both doors.
type Allowance struct {
	key deviceKey
	// Guarded by Devices.mu: who uses it; its place in idle and when it is to be
	// full, when nobody does.
	users int
	idle  *list.Element
	until int64

	mu      sync.Mutex
	buckets [classes]bucket
}

// inEffect are the rates with the rules that they make.
type inEffect struct {
	rates Rates
	rules [classes]rule
}

// NewDevices makes the allowances; fields of r that are zero take their default.
func NewDevices(r Rates) *Devices {
	d := &Devices{of: map[deviceKey]*Allowance{}, idle: list.New()}
	d.SetRates(r)
	return d
}

// SetRates changes the rates of all devices from the next request on; fields of r that are
// zero take their default. A bucket keeps what is in it, as time until it is full.
func (d *Devices) SetRates(r Rates) {
	r.defaults()
	d.in.Store(&inEffect{rates: r, rules: newRules(r)})
}

// Rates are those of every device.
func (d *Devices) Rates() Rates { return d.in.Load().rates }

// Enter gives a connection its device's allowance, until Leave.
func (d *Devices) Enter(u im.UserID, device string) *Allowance {
	d.mu.Lock()
	defer d.mu.Unlock()
	k := deviceKey{u, device}
	a := d.of[k]
	switch {
	case a == nil:
		a = &Allowance{key: k}
		d.of[k] = a
	case a.idle != nil:
		d.idle.Remove(a.idle)
		a.idle = nil
	}
	a.users++
	return a
}

// Leave ends the use of an allowance, at a time in Unix nanoseconds.
func (d *Devices) Leave(a *Allowance, now int64) {
	full := a.full()
	d.mu.Lock()
	defer d.mu.Unlock()
	if a.users--; a.users > 0 {
		return
	}
	if full <= now {
		delete(d.of, a.key)
		return
	}
	if d.idle.Len() >= maxIdle {
		d.forget(d.idle.Front())
	}
	a.until, a.idle = full, d.idle.PushBack(a)
	if !d.due {
		d.due = true
		time.AfterFunc(forgetEvery, func() { d.sweep(now + int64(forgetEvery)) })
	}
}

// sweep forgets the allowances that are full and that nobody uses.
func (d *Devices) sweep(now int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var next *list.Element
	for e := d.idle.Front(); e != nil; e = next {
		next = e.Next()
		if e.Value.(*Allowance).until <= now {
			d.forget(e)
		}
	}
	if d.due = d.idle.Len() > 0; d.due {
		time.AfterFunc(forgetEvery, func() { d.sweep(now + int64(forgetEvery)) })
	}
}

// forget drops one that nobody uses. Caller holds mu.
func (d *Devices) forget(e *list.Element) {
	delete(d.of, d.idle.Remove(e).(*Allowance).key)
}

// full is when everything may be asked again at once.
func (a *Allowance) full() (at int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i := range a.buckets {
		at = max(at, a.buckets[i].full)
	}
	return at
}

// Take asks for a token of a class, for a connection. When there is none it tells
// how long to wait, and whether so many were refused that the peer does not
// listen.
func (d *Devices) Take(a *Allowance, c Class, now int64) (wait time.Duration, flood bool) {
	if c == None {
		return 0, false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	b, r := &a.buckets[c], &d.in.Load().rules[c]
	if wait = b.take(r, now); wait > 0 {
		b.refused++
		flood = b.refused > r.flood
	}
	return wait, flood
}

// More asks for n further tokens for a request that has one, all or none of them: of
// more than a bucket holds as many as that. When they are not there it tells how long to
// wait for them.
func (d *Devices) More(u im.UserID, device string, c Class, n int, now int64) (wait time.Duration) {
	a, r := d.Enter(u, device), &d.in.Load().rules[c]
	defer d.Leave(a, now)
	a.mu.Lock()
	defer a.mu.Unlock()
	b := &a.buckets[c]
	all := min(int64(n)*r.interval, r.depth)
	full := max(b.full, now)
	// Its own token was taken a moment ago: with it a full bucket is enough.
	if over := full + all - now - max(r.depth, all+r.interval); over > 0 {
		return time.Duration(over)
	}
	b.full = min(full+all, now+r.depth)
	return 0
}

// Quota is what a device is told of a bucket.
type Quota struct {
	Rate
	// Left is how many may come now.
	Left int
	// Full is when all of them are back.
	Full time.Duration
	// Wait is how long to wait before the next, 0 when this one may pass.
	Wait time.Duration
}

// Ask takes a token for a request that belongs to no connection. There is nothing
// to close for who does not listen, so refusals here are no flood.
func (d *Devices) Ask(u im.UserID, device string, c Class, now int64) Quota {
	a, r := d.Enter(u, device), &d.in.Load().rules[c]
	defer d.Leave(a, now)
	a.mu.Lock()
	defer a.mu.Unlock()
	b := &a.buckets[c]
	q := Quota{Rate: r.rate, Wait: b.take(r, now)}
	q.Full = time.Duration(max(b.full-now, 0))
	q.Left = int((r.depth - int64(q.Full)) / r.interval)
	return q
}
