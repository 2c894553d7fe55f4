package account

import (
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/skein-im/skein/internal/cache"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/limits"
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
	// failures of one user from one network
	countPlace
	// networks from which one user was guessed at for the first time
	countPlaces
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

// While many addresses guess at one user, a network (limits.Network) that has not guessed at
// them within newPlaceFor has newPlaceTries that do not wait for the others: so whoever
// comes with the right password from where they never were is not kept out. Of such
// networks there are newPlaces for a user in that time, so that guesses are bounded
// whatever somebody has of them.
const (
	newPlaceTries = 2
	newPlaces     = 500
	newPlaceFor   = 24 * time.Hour
)

// doubtAfter is after how many failures one more makes an address doubted (limits.Doubted):
// it matters only while many wait, and not for who is known there.
const doubtAfter = 1

// minKnownDevice is how long a device id is at least by which a device is known: those of
// the SDKs are random, 22 characters. A short one may be guessed.
const minKnownDevice = 16

// origin is where an attempt comes from: its address, and the device that it names.
type origin struct{ addr, device string }

// known is what is known of an origin: that the user signed in with this device, or at this
// address, before.
type known struct{ device, address bool }

func (k known) any() bool { return k.device || k.address }

// deviceKey is what failures with a known device are counted under: no address has a space.
func (o origin) deviceKey() string { return "device " + o.device }

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

// check tells whether an attempt may be made, and what is known of where it comes from. ask
// tells of the store what the table has forgotten; it is asked without the lock, and only
// if it decides.
func (t *throttle) check(user string, from origin, ask func() known) (known, error) {
	from.addr = addressKey(from.addr)
	k, wait := t.waits(user, from, known{})
	if wait > 0 && !k.device {
		k, wait = t.waits(user, from, ask())
	}
	return k, limited(wait, "too many wrong attempts")
}

// waits are how long to wait, for somebody of whom the table knows what it knows, and k
// besides. Who has a device of the user's is held to what was tried with that alone, who is
// at an address of theirs to what was tried at that.
func (t *throttle) waits(user string, from origin, k known) (known, time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, own := t.table.Peek(throttleKey{countOwn, user, from.deviceKey()}); own {
		k.device = true
	}
	if _, own := t.table.Peek(throttleKey{countOwn, user, from.addr}); own {
		k.address = true
	}
	if k.device {
		return k, t.wait(throttleKey{countPair, user, from.deviceKey()})
	}
	pair := t.wait(throttleKey{countPair, user, from.addr})
	if k.address {
		return k, pair
	}
	name := t.wait(throttleKey{countUser, user, ""})
	if name > 0 && t.newPlace(user, from) {
		name = 0
	}
	return k, max(pair, t.wait(throttleKey{countAddress, "", from.addr}), name)
}

// newPlace tells whether a network may try without waiting for others that guess at the
// user. Who tries codes has the password: there is no such place for them. Caller holds mu.
func (t *throttle) newPlace(user string, from origin) bool {
	if user == "" || strings.HasPrefix(user, codesOf) {
		return false
	}
	now := t.now()
	if e, ok := t.table.Peek(throttleKey{countPlace, user, limits.Network(from.addr)}); ok && now.Sub(e.until) < newPlaceFor && e.failures > 0 {
		return e.failures < newPlaceTries
	}
	e, ok := t.table.Peek(throttleKey{countPlaces, user, ""})
	return !ok || e.until.Sub(now) <= newPlaceFor-newPlaceFor/newPlaces
}

// lane is how far an origin is trusted.
func (t *throttle) lane(from origin, k known) limits.Lane {
	if k.any() {
		return limits.Known
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if e, ok := t.table.Peek(throttleKey{countAddress, "", addressKey(from.addr)}); ok && e.failures > doubtAfter && t.now().Sub(e.until) <= forgetAfter {
		return limits.Doubted
	}
	return limits.Unknown
}

func (t *throttle) wait(k throttleKey) time.Duration {
	if e, ok := t.table.Peek(k); ok {
		return e.until.Sub(t.now())
	}
	return 0
}

// attempt charges an attempt before it is made, or tells how long to wait: of many at
// once no more are made than may be. What was right is taken back by right.
func (t *throttle) attempt(user string, from origin, ask func() known) error {
	k, err := t.check(user, from, ask)
	if err != nil {
		return err
	}
	from.addr = addressKey(from.addr)
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := limited(t.wait(pairKey(user, from, k)), "too many wrong attempts"); err != nil {
		return err // others were charged meanwhile
	}
	t.charges(user, from, k)
	return nil
}

// pairKey is what failures of a user from one place are counted under.
func pairKey(user string, from origin, k known) throttleKey {
	if k.device {
		return throttleKey{countPair, user, from.deviceKey()}
	}
	return throttleKey{countPair, user, from.addr}
}

// right takes back what attempt charged, and is succeeded.
func (t *throttle) right(user string, from origin) {
	t.succeeded(user, from)
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, k := range []throttleKey{{countAddress, "", addressKey(from.addr)}, {countUser, user, ""}} {
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
func (t *throttle) failed(user string, from origin, k known) {
	from.addr = addressKey(from.addr)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.charges(user, from, k)
}

func (t *throttle) charges(user string, from origin, k known) {
	if _, own := t.table.Peek(throttleKey{countOwn, user, from.addr}); own {
		k.address = true
	}
	t.charge(throttleKey{countAddress, "", from.addr})
	if user == "" {
		return
	}
	t.charge(pairKey(user, from, k))
	if !k.any() {
		t.charge(throttleKey{countUser, user, ""})
		t.chargePlace(user, from)
	}
}

// chargePlace counts a failure of a network, and the network if it is the first one.
func (t *throttle) chargePlace(user string, from origin) {
	now := t.now()
	e := t.entry(throttleKey{countPlace, user, limits.Network(from.addr)})
	if now.Sub(e.until) >= newPlaceFor {
		e.failures = 0
	}
	if e.failures++; e.failures == 1 {
		all := t.entry(throttleKey{countPlaces, user, ""})
		if all.until.Before(now) {
			all.until = now
		}
		// Never further than the whole: what was spent comes back within newPlaceFor.
		all.until = minTime(all.until.Add(newPlaceFor/newPlaces), now.Add(newPlaceFor))
	}
	e.until = now
}

func minTime(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
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

// succeeded takes back what the user mistyped here and remembers the address, and the
// device, as their own. The address stays charged for its attempts at others.
func (t *throttle) succeeded(user string, from origin) {
	from.addr = addressKey(from.addr)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.table.Delete(throttleKey{countPair, user, from.addr})
	t.entry(throttleKey{countOwn, user, from.addr})
	if len(from.device) >= minKnownDevice {
		t.table.Delete(throttleKey{countPair, user, from.deviceKey()})
		t.entry(throttleKey{countOwn, user, from.deviceKey()})
	}
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
