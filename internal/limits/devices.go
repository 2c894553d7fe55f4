package limits

import (
	"cmp"
	"container/list"
	"math"
	"net/netip"
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

// Rates are the buckets that each device has, one for each class, and what those have
// together that belong together.
type Rates struct {
	Sends   Rate // default 200/s, 1000
	Marks   Rate // default 500/s, 2000
	Reads   Rate // default 50/s, 200
	Calls   Rate // default 50/s, 100
	Signals Rate // default 20/s, 100

	// PerAccount, PerAddress and PerNetwork are how many devices' worth of each bucket all
	// devices of an account, of an address (an IPv6 /64) and of a network (Network) have
	// together. Default 4, 50 and 100; below 0: no bound.
	PerAccount, PerAddress, PerNetwork int
	// BytesPerDay is how many bytes of messages an account may send in a day, all at once
	// if it likes. Default 1 GiB; below 0: no bound.
	BytesPerDay int64
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
	r.PerAccount, r.PerAddress, r.PerNetwork = cmp.Or(r.PerAccount, 4), cmp.Or(r.PerAddress, 50), cmp.Or(r.PerNetwork, 100)
	r.BytesPerDay = cmp.Or(r.BytesPerDay, 1<<30)
}

// level is what a bucket is counted for.
type level uint8

const (
	ofDevice level = iota
	ofAccount
	ofAddress
	ofNetwork
	levels
)

// rule is a Rate in the form the buckets use; depth 0: there is no bound.
type rule struct {
	rate     Rate
	interval int64 // nanoseconds a token takes
	depth    int64 // nanoseconds a full bucket holds
	flood    uint32
}

// rules are those of each level, the last one of each the bytes of messages.
type rules [levels][classes + 1]rule

// bytes is the place of the bytes among the classes.
const bytes = classes

func newRules(r Rates) *rules {
	all := new(rules)
	for l, worth := range [levels]int{1, r.PerAccount, r.PerAddress, r.PerNetwork} {
		if worth < 0 {
			continue
		}
		set := func(c Class, r Rate) {
			r = Rate{r.PerSecond * float64(worth), r.Burst * worth}
			interval := max(int64(float64(time.Second)/r.PerSecond), 1)
			all[l][c] = rule{rate: r, interval: interval, depth: interval * int64(r.Burst), flood: uint32(min(FloodFactor*r.Burst, math.MaxUint32))}
		}
		set(Sends, r.Sends)
		set(Marks, r.Marks)
		set(Reads, r.Reads)
		set(Calls, r.Calls)
		set(Signals, r.Signals)
	}
	if r.BytesPerDay > 0 {
		const day = 24 * time.Hour
		interval := max(int64(day)/r.BytesPerDay, 1)
		all[ofAccount][bytes] = rule{interval: interval, depth: interval * r.BytesPerDay}
	}
	return all
}

// bucket is a token bucket kept as the time at which it will be full again
// (GCRA): no goroutine, a few numbers. It belongs to a share.
type bucket struct {
	full int64 // Unix nanoseconds
	// told is when the last who was refused was told to come again: each is given a
	// time of its own.
	told int64
	// refused counts refusals on connections, of a device whichever of its buckets refused
	// it. Who comes again in time is admitted, and takes one back: only who goes on
	// regardless gathers them.
	refused uint32
}

// over is how long n tokens are not there yet.
func (b *bucket) over(r *rule, n, now int64) int64 {
	if r.depth == 0 {
		return 0
	}
	return max(b.full, now) + min(n*r.interval, r.depth) - now - r.depth
}

// spend takes n tokens that are there.
func (b *bucket) spend(r *rule, n, now int64) {
	if r.depth > 0 {
		b.full = min(max(b.full, now)+n*r.interval, now+r.depth)
	}
}

// refuse tells how long one waits that is over.
func (b *bucket) refuse(r *rule, over, now int64) time.Duration {
	// Who never waits must not push the others' times away without end.
	b.told = min(max(b.told+r.interval, now+over), now+over+r.interval*int64(r.flood))
	return time.Duration(b.told - now)
}

const (
	// maxIdle bounds the shares that are remembered though they have no connection
	// here: some 30 MB.
	maxIdle = 1 << 17
	// forgetEvery is how often those are looked through that are remembered so.
	forgetEvery = 10 * time.Second
)

// Devices are the allowances of the devices that are connected to this process, or
// asked something a moment ago, and of the accounts, addresses and networks that they
// belong to. What was used does not come back by connecting anew, as another device or
// through the other door; a share that is full again is as good as a new one and is
// forgotten. It is safe for concurrent use.
//
// It is no cache: the share of a connection stays as long as that does.
type Devices struct {
	in atomic.Pointer[inEffect]

	mu sync.Mutex
	of map[shareKey]*share
	// idle are those that nobody uses, the one that was used last at the end; when
	// there are too many the first is forgotten, which is the most likely to be full.
	idle *list.List
	// due: idle is looked through in a while.
	due bool
}

// shareKey is a device of an account (sessions without a device, tokens for programs,
// have one together, which is named ""), an account, an address or a network.
type shareKey struct {
	level  level
	who    string // the user, the address or the network
	device string
}

// share is what one of these may ask, at both doors.
type share struct {
	key shareKey
	// Guarded by Devices.mu: who uses it; its place in idle and when it is to be
	// full, when nobody does.
	users int
	idle  *list.Element
	until int64

	mu sync.Mutex
	// buckets is nil until something is asked: most that are connected are silent.
	buckets *[classes + 1]bucket
}

// Allowance is what a connection takes from: the shares of its device and of what that
// belongs to, nil where there is none.
type Allowance [levels]*share

// inEffect are the rates with the rules that they make.
type inEffect struct {
	rates Rates
	rules *rules
}

// NewDevices makes the allowances; fields of r that are zero take their default.
func NewDevices(r Rates) *Devices {
	d := &Devices{of: map[shareKey]*share{}, idle: list.New()}
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

// Enter gives a connection of a device from an address its allowance, until Leave.
func (d *Devices) Enter(u im.UserID, device, addr string) *Allowance {
	address, network := addressKeys(addr)
	d.mu.Lock()
	defer d.mu.Unlock()
	a := &Allowance{ofDevice: d.enter(shareKey{ofDevice, string(u), device}), ofAccount: d.enter(shareKey{ofAccount, string(u), ""})}
	if address != "" {
		a[ofAddress], a[ofNetwork] = d.enter(shareKey{ofAddress, address, ""}), d.enter(shareKey{ofNetwork, network, ""})
	}
	return a
}

// addressKeys are what an address is counted under: an IPv4 address or an IPv6 /64, and its
// network. Loopback, and what is no address, has none: a proxy on this machine is everybody.
func addressKeys(addr string) (address, network string) {
	ip, err := netip.ParseAddr(addr)
	if err != nil {
		if ap, err := netip.ParseAddrPort(addr); err == nil {
			ip = ap.Addr()
		}
	}
	ip = ip.Unmap().WithZone("")
	if !ip.IsValid() || ip.IsLoopback() {
		return "", ""
	}
	address = ip.String()
	if p, err := ip.Prefix(64); err == nil && ip.Is6() {
		address = p.String()
	}
	return address, Network(ip.String())
}

// enter finds or makes a share, and has it used. Caller holds mu.
func (d *Devices) enter(k shareKey) *share {
	s := d.of[k]
	switch {
	case s == nil:
		s = &share{key: k}
		d.of[k] = s
	case s.idle != nil:
		d.idle.Remove(s.idle)
		s.idle = nil
	}
	s.users++
	return s
}

// Leave ends the use of an allowance, at a time in Unix nanoseconds.
func (d *Devices) Leave(a *Allowance, now int64) {
	for _, s := range a {
		if s != nil {
			d.leave(s, now)
		}
	}
}

func (d *Devices) leave(s *share, now int64) {
	full := s.full()
	d.mu.Lock()
	defer d.mu.Unlock()
	if s.users--; s.users > 0 {
		return
	}
	if full <= now {
		delete(d.of, s.key)
		return
	}
	if d.idle.Len() >= maxIdle {
		d.forget(d.idle.Front())
	}
	s.until, s.idle = full, d.idle.PushBack(s)
	if !d.due {
		d.due = true
		time.AfterFunc(forgetEvery, func() { d.sweep(now + int64(forgetEvery)) })
	}
}

// sweep forgets the shares that are full and that nobody uses.
func (d *Devices) sweep(now int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var next *list.Element
	for e := d.idle.Front(); e != nil; e = next {
		next = e.Next()
		if e.Value.(*share).until <= now {
			d.forget(e)
		}
	}
	if d.due = d.idle.Len() > 0; d.due {
		time.AfterFunc(forgetEvery, func() { d.sweep(now + int64(forgetEvery)) })
	}
}

// forget drops one that nobody uses. Caller holds mu.
func (d *Devices) forget(e *list.Element) {
	delete(d.of, d.idle.Remove(e).(*share).key)
}

// full is when everything may be asked again at once.
func (s *share) full() (at int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.buckets == nil {
		return 0
	}
	for i := range s.buckets {
		at = max(at, s.buckets[i].full)
	}
	return at
}

// lock takes the locks of all shares, in the order of their levels.
func (a *Allowance) lock() {
	for _, s := range a {
		if s == nil {
			continue
		}
		s.mu.Lock()
		if s.buckets == nil {
			s.buckets = new([classes + 1]bucket)
		}
	}
}

func (a *Allowance) unlock() {
	for _, s := range a {
		if s != nil {
			s.mu.Unlock()
		}
	}
}

// take takes n tokens of a class and size bytes from all shares, or from none: then it
// tells how long to wait for the one that lacks most. Caller holds the locks.
func (a *Allowance) take(rs *rules, c Class, n, size, now int64) (wait time.Duration) {
	var worst *bucket
	var lacks int64
	var by *rule
	look := func(l int, c Class, n int64) {
		b, r := &a[l].buckets[c], &rs[l][c]
		if over := b.over(r, n, now); over > lacks {
			worst, lacks, by = b, over, r
		}
	}
	for l := range a {
		if a[l] == nil {
			continue
		}
		look(l, c, n)
		if size > 0 {
			look(l, bytes, size)
		}
	}
	own := &a[ofDevice].buckets[c]
	if worst != nil {
		return worst.refuse(by, lacks, now)
	}
	had := int64(0) // when all who were refused had their time
	if own.full <= now {
		own.refused = 0
	}
	for l := range a {
		if a[l] == nil {
			continue
		}
		b := &a[l].buckets[c]
		b.spend(&rs[l][c], n, now)
		a[l].buckets[bytes].spend(&rs[l][bytes], size, now)
		had = max(had, b.told)
	}
	switch {
	case now >= had:
		own.refused = 0
	case own.refused > 0:
		own.refused--
	}
	return 0
}

// Take asks for a token of a class, for a request of so many bytes on a connection: those
// of messages count. When there is none it tells how long to wait, and whether so many were
// refused that the peer does not listen.
func (d *Devices) Take(a *Allowance, c Class, size int, now int64) (wait time.Duration, flood bool) {
	if c == None {
		return 0, false
	}
	rs := d.in.Load().rules
	a.lock()
	defer a.unlock()
	if wait = a.take(rs, c, 1, counted(c, size), now); wait > 0 {
		b := &a[ofDevice].buckets[c]
		b.refused++
		flood = b.refused > rs[ofDevice][c].flood
	}
	return wait, flood
}

// counted are the bytes of a request that count.
func counted(c Class, size int) int64 {
	if c != Sends {
		return 0
	}
	return int64(size)
}

// More asks for n further tokens for a request that has one, all or none of them: of
// more than a bucket holds as many as that. When they are not there it tells how long to
// wait for them.
func (d *Devices) More(u im.UserID, device, addr string, c Class, n int, now int64) (wait time.Duration) {
	a, rs := d.Enter(u, device, addr), d.in.Load().rules
	defer d.Leave(a, now)
	a.lock()
	defer a.unlock()
	for l, s := range a {
		if s == nil || rs[l][c].depth == 0 {
			continue
		}
		r := &rs[l][c]
		all := min(int64(n)*r.interval, r.depth)
		// Its own token was taken a moment ago: with it a full bucket is enough.
		if over := max(s.buckets[c].full, now) + all - now - max(r.depth, all+r.interval); over > 0 {
			wait = max(wait, time.Duration(over))
		}
	}
	if wait > 0 {
		return wait
	}
	for l, s := range a {
		if s != nil {
			s.buckets[c].spend(&rs[l][c], int64(n), now)
		}
	}
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
func (d *Devices) Ask(u im.UserID, device, addr string, c Class, now int64) Quota {
	a, rs := d.Enter(u, device, addr), d.in.Load().rules
	defer d.Leave(a, now)
	a.lock()
	defer a.unlock()
	q := Quota{Rate: rs[ofDevice][c].rate, Wait: a.take(rs, c, 1, 0, now), Left: math.MaxInt}
	for l, s := range a {
		if r := &rs[l][c]; s != nil && r.depth > 0 {
			full := max(s.buckets[c].full-now, 0)
			q.Full, q.Left = max(q.Full, time.Duration(full)), min(q.Left, int((r.depth-full)/r.interval))
		}
	}
	return q
}

// Bytes counts the bytes of a message that came with a request which Ask admitted. When
// there are too many it tells how long to wait.
func (d *Devices) Bytes(u im.UserID, device, addr string, size int, now int64) time.Duration {
	a, rs := d.Enter(u, device, addr), d.in.Load().rules
	defer d.Leave(a, now)
	a.lock()
	defer a.unlock()
	b, r := &a[ofAccount].buckets[bytes], &rs[ofAccount][bytes]
	if over := b.over(r, int64(size), now); over > 0 {
		return b.refuse(r, over, now)
	}
	b.spend(r, int64(size), now)
	return 0
}
