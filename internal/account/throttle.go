package account

import (
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/skein-im/skein/internal/cache"
	"github.com/skein-im/skein/internal/im"
)

// throttleEntries bounds the table (about 15 MB); the half that was used last is
// always there.
const throttleEntries = 1 << 17

// What the entries of the table count.
const (
	// failures of one user from one address
	countPair = iota
	// failures from one address, whoever was meant
	countAddress
	// failures of one user, from all addresses that are not their own
	countUser
	// that the user was right at this address before: it is their own
	countOwn
	// registrations from one address
	countRegistrations
	// logins by a provider that an address began
	countBegins
	counts
)

// slope is how the wait grows: `free` failures cost nothing, then it doubles
// from a second up to `most`.
type slope struct {
	free int
	most time.Duration
}

// slopes: a person who mistypes feels nothing; one address guessing at one
// user gets some hundred guesses a day; many addresses guessing at one user
// get one guess a minute together.
var slopes = [counts]slope{
	countPair:    {free: 5, most: 15 * time.Minute},
	countAddress: {free: 30, most: 15 * time.Minute},
	countUser:    {free: 100, most: time.Minute},
}

// codesOf stands before a user's id where codes are counted: no username has a colon. Who
// tries codes had the password right. From addresses that are not the user's own they get
// 10 tries and then one in a quarter of an hour together: of a million codes, of which
// three are right, some hundred a day.
const codesOf = "code:"

var codeSlope = slope{free: 10, most: 15 * time.Minute}

// forgetAfter is how long after its wait a failure is held against anybody.
const forgetAfter = time.Hour

type throttleKey struct {
	count         int
	user, address string
}

type throttleEntry struct {
	failures int
	// until is the end of the wait, or of the time that registrations have used up.
	until time.Time
}

// throttle slows down guessing. Attempts are charged when they have failed;
// hashParallel bounds how many are under way uncharged.
type throttle struct {
	now                  func() time.Time
	registrationsPerHour int

	mu    sync.Mutex
	table cache.Cache[throttleKey, *throttleEntry]
}

func newThrottle(now func() time.Time, registrationsPerHour int) *throttle {
	return &throttle{now: now, registrationsPerHour: registrationsPerHour, table: cache.New[throttleKey, *throttleEntry](throttleEntries)}
}

// check tells whether an attempt may be made. own reports, when it is asked,
// whether the address is the user's own in a way that the table has forgotten;
// it is asked without the lock, and only if it decides.
func (t *throttle) check(user, addr string, own func() bool) error {
	addr = addressKey(addr)
	wait, others := t.waits(user, addr)
	if others > wait && !own() {
		wait = others
	}
	return limited(wait, "too many wrong attempts")
}

// waits are how long to wait because of this user at this address, and because
// of anything else, which does not count at an address of the user's own.
func (t *throttle) waits(user, addr string) (pair, others time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	pair = t.wait(throttleKey{countPair, user, addr})
	if _, own := t.table.Peek(throttleKey{countOwn, user, addr}); own {
		return pair, 0
	}
	return pair, max(t.wait(throttleKey{countAddress, "", addr}), t.wait(throttleKey{countUser, user, ""}))
}

func (t *throttle) wait(k throttleKey) time.Duration {
	if e, ok := t.table.Peek(k); ok {
		return e.until.Sub(t.now())
	}
	return 0
}

// attempt charges an attempt before it is made, or tells how long to wait: of many at
// once no more are made than may be. What was right is taken back by right.
func (t *throttle) attempt(user, addr string, own func() bool) error {
	if err := t.check(user, addr, own); err != nil {
		return err
	}
	addr = addressKey(addr)
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := limited(t.wait(throttleKey{countPair, user, addr}), "too many wrong attempts"); err != nil {
		return err // others were charged meanwhile
	}
	t.charges(user, addr)
	return nil
}

// right takes back what attempt charged, and is succeeded.
func (t *throttle) right(user, addr string) {
	t.succeeded(user, addr)
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, k := range []throttleKey{{countAddress, "", addressKey(addr)}, {countUser, user, ""}} {
		if e, ok := t.table.Peek(k); ok && e.failures > 0 {
			e.failures--
			if e.failures <= slopeOf(k).free {
				e.until = t.now()
			}
		}
	}
}

func slopeOf(k throttleKey) slope {
	if k.count == countUser && strings.HasPrefix(k.user, codesOf) {
		return codeSlope
	}
	return slopes[k.count]
}

// failed charges a wrong attempt. With user "" only the address is charged.
func (t *throttle) failed(user, addr string) {
	addr = addressKey(addr)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.charges(user, addr)
}

func (t *throttle) charges(user, addr string) {
	_, own := t.table.Peek(throttleKey{countOwn, user, addr})
	t.charge(throttleKey{countAddress, "", addr})
	if user == "" {
		return
	}
	t.charge(throttleKey{countPair, user, addr})
	if !own {
		t.charge(throttleKey{countUser, user, ""})
	}
}

func (t *throttle) charge(k throttleKey) {
	e, now := t.entry(k), t.now()
	if now.Sub(e.until) > forgetAfter {
		e.failures = 0
	}
	e.failures++
	s, wait := slopeOf(k), time.Duration(0)
	if over := e.failures - s.free; over > 0 {
		wait = min(s.most, time.Second<<min(over-1, 20))
	}
	e.until = now.Add(wait)
}

// succeeded takes back what the user mistyped here and remembers the address
// as their own. The address stays charged for its attempts at others.
func (t *throttle) succeeded(user, addr string) {
	addr = addressKey(addr)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.table.Delete(throttleKey{countPair, user, addr})
	t.entry(throttleKey{countOwn, user, addr})
}

// register charges a registration, or tells how long to wait for one. An
// address may use up to an hour's worth at once.
func (t *throttle) register(addr string) error {
	if t.registrationsPerHour < 0 {
		return nil
	}
	return t.spend(countRegistrations, addr, t.registrationsPerHour, "too many registrations from this address")
}

// spend charges an address for something of which it may do so many an hour, all at once
// if it likes, or tells how long to wait.
func (t *throttle) spend(count int, addr string, perHour int, why string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	e, now := t.entry(throttleKey{count, "", addressKey(addr)}), t.now()
	used := now
	if e.until.After(now) {
		used = e.until
	}
	used = used.Add(time.Hour / time.Duration(perHour))
	if wait := used.Sub(now) - time.Hour; wait > 0 {
		return limited(wait, why)
	}
	e.until = used
	return nil
}

// entry returns the entry of a key, made if need be, and has it used.
func (t *throttle) entry(k throttleKey) *throttleEntry {
	e, ok := t.table.Get(k)
	if !ok {
		e = &throttleEntry{}
		t.table.Put(k, e)
	}
	return e
}

func limited(wait time.Duration, why string) error {
	if wait <= 0 {
		return nil
	}
	e := im.Errorf(im.CodeRateLimited, "%s; wait %d seconds", why, int((wait+time.Second-1)/time.Second))
	e.RetryAfter = wait
	return e
}

// addressKey is what counts as one address: an IPv4 address, an IPv6 /64.
func addressKey(addr string) string {
	ip, err := netip.ParseAddr(addr)
	if err != nil {
		return addr
	}
	ip = ip.Unmap().WithZone("")
	if ip.Is6() {
		if p, err := ip.Prefix(64); err == nil {
			return p.String()
		}
	}
	return ip.String()
}
