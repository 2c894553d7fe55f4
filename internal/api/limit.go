package api

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/skein-im/skein/internal/cache"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/limits"
)

// Limit is a token bucket: Burst requests at once, PerSecond on average.
type Limit struct {
	PerSecond float64
	Burst     int
}

// classFailure counts failed authentications of an address. It has no methods.
const classFailure Class = "failure"

// DefaultLimits are the limits of the rate classes for who has no device's rates:
// per address for strangers and for ClassCredential, per account for ClassAdmin,
// for all who use the admin key together. Password guessing is throttled besides,
// in the account package.
func DefaultLimits() map[Class]Limit {
	return map[Class]Limit{
		ClassCredential: {PerSecond: 5, Burst: 300}, // an office behind one address at nine o'clock
		ClassRead:       {PerSecond: 50, Burst: 200},
		ClassWrite:      {PerSecond: 20, Burst: 100},
		ClassMark:       {PerSecond: 20, Burst: 100},
		ClassSend:       {PerSecond: 50, Burst: 200},
		ClassAdmin:      {PerSecond: 500, Burst: 1000},
		classFailure:    {PerSecond: 1, Burst: 60},
	}
}

// LimiterOptions are the settings of a Limiter. The zero value is usable.
type LimiterOptions struct {
	// Limits replaces the limits of the classes it has; see DefaultLimits.
	Limits map[Class]Limit
	// Devices are the rates of devices, the same as those of the connections of this
	// process. Default: its own.
	Devices *limits.Devices
	// Unlimited switches rate limits off, for load tests.
	Unlimited bool
	// MaxBuckets bounds how many actors and addresses are counted at a time.
	// Default 65536, about 20 MB.
	MaxBuckets int
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Limiter counts calls by class and by who makes them. Both doors take from the
// same one, so that nobody gets more by using both. It is safe for concurrent use.
//
// What a user's device may do is counted in the device's own buckets (Devices); the
// Limiter keeps the token buckets of everybody else, and of the classes that do not
// belong to a device. The table is bounded: buckets that were not used for long are
// forgotten first, which are the ones most likely to be full again.
type Limiter struct {
	devices *limits.Devices // nil: not limited
	limits  map[Class]Limit
	now     func() time.Time

	mu      sync.Mutex
	buckets cache.Cache[bucketKey, *rate.Limiter]
}

type bucketKey struct {
	class Class
	who   string
}

// quota is what a caller is told of a bucket.
type quota struct {
	limit     Limit
	remaining int
	// full is when the bucket will be full again.
	full time.Duration
	// wait is how long to wait before the next request, 0 when it may come now.
	wait time.Duration
}

// NewLimiter makes a Limiter.
func NewLimiter(o LimiterOptions) *Limiter {
	most := DefaultLimits()
	for class, l := range o.Limits {
		most[class] = l
	}
	switch {
	case o.Unlimited:
		most, o.Devices = nil, nil
	case o.Devices == nil:
		o.Devices = limits.NewDevices(limits.Rates{})
	}
	if o.MaxBuckets == 0 {
		o.MaxBuckets = 1 << 16
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Limiter{devices: o.Devices, limits: most, now: o.Now, buckets: cache.New[bucketKey, *rate.Limiter](o.MaxBuckets)}
}

// of is what a class counts as in a device's buckets, None if it does not belong to
// the device.
func (c Class) of() limits.Class {
	switch c {
	case ClassRead:
		return limits.Reads
	case ClassWrite:
		return limits.Calls
	case ClassSend:
		return limits.Sends
	case ClassMark:
		return limits.Marks
	}
	return limits.None
}

// more counts n further requests of a class for a call that was admitted as one of
// them, by a device.
func (l *Limiter) more(class Class, actor im.Actor, n int) error {
	if l.devices == nil || actor.User == "" || n <= 0 {
		return nil
	}
	wait := l.devices.More(actor.User, actor.Device.ID, addressOf(actor), class.of(), n, l.now().UnixNano())
	if wait == 0 {
		return nil
	}
	e := im.Errorf(im.CodeRateLimited, "these are %d requests of this kind, and too many were made just now", n+1)
	e.RetryAfter = wait
	return e
}

// bytes counts the bytes of a request that sends a message, which came over HTTP: those of
// connections their gateway counted.
func (l *Limiter) bytes(class Class, actor im.Actor, n int) error {
	if l.devices == nil || actor.User == "" || class != ClassSend {
		return nil
	}
	wait := l.devices.Bytes(actor.User, actor.Device.ID, addressOf(actor), n, l.now().UnixNano())
	if wait == 0 {
		return nil
	}
	e := im.Errorf(im.CodeRateLimited, "this account has sent as many bytes of messages as it may in a day")
	e.RetryAfter = wait
	return e
}

// addressOf is an actor's address, "" where they have none.
func addressOf(actor im.Actor) string {
	if addr := parseAddr(actor.Address); addr.IsValid() {
		return addr.String()
	}
	return ""
}

// OfDevice is what a call of a method counts as in a device's buckets when it comes
// over a connection: there every call is one of the device's.
func OfDevice() func(method string) limits.Class {
	of := map[string]limits.Class{}
	for _, m := range Methods() {
		of[m.Name] = m.Class.of()
	}
	return func(method string) limits.Class {
		if c := of[method]; c != limits.None {
			return c
		}
		return limits.Calls
	}
}

// hashes tells the methods whose calls wait for a turn at hashing a password in the
// account package.
func hashes(method string) bool {
	switch strings.TrimPrefix(method, "skein.v1.") {
	case "AccountService/Register", "AccountService/Login", "AccountService/ChangePassword", "AccountService/ResetPassword", "AccountService/UpgradeGuest",
		"AccountService/DeleteAccount", "AccountService/BeginTotp", "AccountService/DisableTotp", "AccountService/NewRecoveryCodes",
		"AccountService/ChangeUsername", "AccountService/LinkIdentity", "AccountService/UnlinkIdentity", "AccountService/BeginExport", "AdminService/ClaimAdmin":
		return true
	}
	return false
}

// WaitElsewhere tells the methods that do not wait in the line of passwords and tokens,
// because they do so where passwords are hashed.
func WaitElsewhere() func(method string) bool { return hashes }

// NeedNoToken tells the methods that anyone may call.
func NeedNoToken() func(method string) bool {
	open := map[string]bool{}
	for _, m := range Methods() {
		open[m.Name] = m.Who == Anyone
	}
	return func(method string) bool { return open[method] }
}

// admit counts a call of a class by an actor, whose Address is the client's. What
// belongs to the device of a connection was counted by its gateway.
func (l *Limiter) admit(class Class, actor im.Actor) (quota, bool) {
	if c := class.of(); c != limits.None && actor.User != "" {
		if l.devices == nil || actor.Connection != "" {
			return quota{}, true
		}
		q := l.devices.Ask(actor.User, actor.Device.ID, addressOf(actor), c, l.now().UnixNano())
		return quota{limit: Limit(q.Rate), remaining: q.Left, full: q.Full, wait: q.Wait}, q.Wait == 0
	}
	addr := parseAddr(actor.Address)
	who := "a " + addressKey(addr)
	switch {
	case class == ClassCredential && (addr.IsValid() || actor.User == ""):
	case actor.User != "": // also on a transport without addresses, whatever the class
		who = "u " + string(actor.User)
	case actor.Role != im.ServerUser:
		who = "k"
	}
	return l.take(class, who)
}

// take takes a token from the bucket of class and who. A class without a limit
// is not limited, and says so by ok with the zero quota.
func (l *Limiter) take(class Class, who string) (q quota, ok bool) {
	limit, limited := l.limits[class]
	if !limited {
		return quota{}, true
	}
	now := l.now()
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.bucket(bucketKey{class, who}, limit)
	ok = b.AllowN(now, 1)
	tokens := b.TokensAt(now)
	q = quota{limit: limit, remaining: max(0, int(tokens)), full: seconds((float64(limit.Burst) - tokens) / limit.PerSecond)}
	if !ok {
		q.wait = max(seconds((1-tokens)/limit.PerSecond), time.Millisecond)
	}
	return q, ok
}

// bucket finds or makes a bucket. l.mu is held.
func (l *Limiter) bucket(key bucketKey, limit Limit) *rate.Limiter {
	b, ok := l.buckets.Get(key)
	if !ok {
		b = rate.NewLimiter(rate.Limit(limit.PerSecond), limit.Burst)
		l.buckets.Put(key, b)
	}
	return b
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// write tells the quota in headers: the bucket's size, what is left of it, and
// in how many seconds it is full again.
func (q quota) write(h http.Header) {
	if q.limit.Burst == 0 {
		return
	}
	h.Set("RateLimit-Limit", strconv.Itoa(q.limit.Burst))
	h.Set("RateLimit-Remaining", strconv.Itoa(q.remaining))
	h.Set("RateLimit-Reset", strconv.Itoa(int(math.Ceil(q.full.Seconds()))))
}

func limited(q quota) error {
	err := im.Errorf(im.CodeRateLimited, "too many requests of this kind; at most %d at once and %g a second", q.limit.Burst, q.limit.PerSecond)
	err.RetryAfter = q.wait
	return err
}

// busy counts the requests under way by address. It has no more addresses than
// there are requests.
type busy struct {
	mu sync.Mutex
	n  map[string]int
}

// enter reports whether one more is allowed; then leave has to follow.
func (b *busy) enter(who string, most int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if most >= 0 && b.n[who] >= most {
		return false
	}
	if b.n == nil {
		b.n = make(map[string]int)
	}
	b.n[who]++
	return true
}

func (b *busy) leave(who string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.n[who]--; b.n[who] == 0 {
		delete(b.n, who)
	}
}
