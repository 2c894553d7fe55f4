package account_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/account"
	"github.com/skein-im/skein/internal/im"
)

func (f *fixture) try(addr, name, password string) error {
	_, err := f.Login(background, addr, account.Credentials{Username: name, Password: password})
	return err
}

// guess tries wrong passwords.
func (f *fixture) guess(n int, addr, name string, code im.Code) {
	f.t.Helper()
	for range n {
		want(f.t, f.try(addr, name, "wrong password"), code)
	}
}

func retryAfter(t *testing.T, err error) time.Duration {
	t.Helper()
	var e *im.Error
	if !errors.As(err, &e) || e.Code != im.CodeRateLimited {
		t.Fatalf("got %v, want rate_limited", err)
	}
	return e.RetryAfter
}

// Guessing gets slower and slower, also with the right password in between;
// somebody elsewhere feels nothing; a success makes up for it.
func TestThrottleGrows(t *testing.T) {
	for _, name := range []string{"alice", "nobody"} {
		f := start(t)
		f.register("alice", phone("d1"))
		const thief = "198.51.100.1"
		f.guess(6, thief, name, im.CodeBadCredentials)
		for _, wait := range []time.Duration{1, 2, 4, 8, 16} {
			if got := retryAfter(t, f.try(thief, name, password)); got != wait*time.Second {
				t.Errorf("%s: wait %v, want %v", name, got, wait*time.Second)
			}
			f.clock.Advance(wait * time.Second)
			f.guess(1, thief, name, im.CodeBadCredentials)
		}
		for range 20 {
			f.clock.Advance(15 * time.Minute)
			f.guess(1, thief, name, im.CodeBadCredentials)
		}
		if got := retryAfter(t, f.try(thief, name, password)); got != 15*time.Minute {
			t.Errorf("%s: wait %v at last", name, got)
		}
		if err := f.try("203.0.113.9", "alice", password); err != nil {
			t.Errorf("elsewhere: %v", err)
		}
		f.clock.Advance(15 * time.Minute)
		if err := f.try(thief, "alice", password); err != nil {
			t.Errorf("after the wait: %v", err)
		}
		f.guess(5, thief, "alice", im.CodeBadCredentials)
	}
}

// One address that guesses at many users is slowed down as a whole, but not
// for a user who was right there before.
func TestThrottleAddress(t *testing.T) {
	f := start(t)
	f.register("alice", phone("d1"))
	f.register("bobby", phone("d1"))
	const office = "198.51.100.1"
	if err := f.try(office, "alice", password); err != nil {
		t.Fatal(err)
	}
	for i := range 31 {
		f.guess(1, office, fmt.Sprintf("victim%d", i), im.CodeBadCredentials)
	}
	retryAfter(t, f.try(office, "bobby", password))
	if err := f.try(office, "alice", password); err != nil {
		t.Errorf("at an address of her own: %v", err)
	}
	// Her own success does not clear the address for guesses at others.
	retryAfter(t, f.try(office, "bobby", password))
}

// from tries a password with a device that is named.
func (f *fixture) from(addr, name, password, device string) error {
	_, err := f.Login(background, addr, account.Credentials{Username: name, Password: password, Device: phone(device)})
	return err
}

// Many addresses that guess at one user are slowed down together; the user is
// not locked out where they have been, even if the server has restarted since.
func TestThrottleUser(t *testing.T) {
	f := start(t)
	f.register("alice", phone("d1"))
	f.restart()
	for i := range 101 {
		f.guess(1, fmt.Sprintf("198.51.100.%d", i), "alice", im.CodeBadCredentials)
	}
	if got := retryAfter(t, f.try("198.51.100.200", "alice", password)); got > time.Minute {
		t.Errorf("wait %v", got)
	}
	if err := f.try(home, "alice", password); err != nil {
		t.Errorf("at home: %v", err)
	}
	f.clock.Advance(time.Minute)
	if err := f.try("198.51.100.200", "alice", password); err != nil {
		t.Errorf("after the wait: %v", err)
	}
}

// While a name is guessed at from everywhere its owner gets in: with a device that they
// signed in with before, wherever it is, also after a restart and after they signed out,
// and with a new one where they never were. Neither is told from who guesses before.
func TestAGuessedNameIsNotLockedOut(t *testing.T) {
	const known = "a-device-id-of-22-char"
	f := start(t)
	tokens := f.register("alice", phone(known))
	if _, err := f.Revoke(t.Context(), tokens.User, ""); err != nil {
		t.Fatal(err)
	}
	f.restart()
	guess := func() {
		for i := range 120 {
			_ = f.try(fmt.Sprintf("198.51.%d.7", i), "alice", "wrong password")
		}
		for i := range 120 { // also again, so that all have had their tries
			_ = f.try(fmt.Sprintf("198.51.%d.7", i), "alice", "wrong password")
			_ = f.try(fmt.Sprintf("198.51.%d.8", i), "alice", "wrong password")
		}
	}
	guess()
	retryAfter(t, f.try("198.51.3.9", "alice", password))
	if err := f.from("198.51.3.9", "alice", password, known); err != nil {
		t.Errorf("with a device of before, among those who guess: %v", err)
	}
	if err := f.try("203.0.113.9", "alice", password); err != nil {
		t.Errorf("where they never were: %v", err)
	}
	// A device id that is short may be guessed, and makes nobody known.
	f.login("alice", phone("d1"))
	retryAfter(t, f.from("198.51.4.9", "alice", password, "d1"))
}

// Whoever has a device id of somebody's gets no further with it than with an address of
// theirs.
func TestThrottleKnownDevice(t *testing.T) {
	const known = "a-device-id-of-22-char"
	f := start(t)
	f.register("alice", phone(known))
	for i := range 6 {
		want(t, f.from(fmt.Sprintf("198.51.%d.7", i), "alice", "wrong password", known), im.CodeBadCredentials)
	}
	if got := retryAfter(t, f.from("203.0.113.9", "alice", password, known)); got != time.Second {
		t.Errorf("wait %v", got)
	}
	if err := f.try("203.0.113.9", "alice", password); err != nil {
		t.Errorf("without it: %v", err)
	}
	if err := f.from(home, "bobby", password, known); im.CodeOf(err) != im.CodeBadCredentials {
		t.Errorf("somebody else's name: %v", err)
	}
}

// However many networks somebody has, the guesses at a name in a day are bounded.
func TestNewPlacesAreBounded(t *testing.T) {
	f := start(t)
	f.register("alice", phone("d1"))
	checked := 0
	for i := range 3000 {
		if im.CodeOf(f.try(fmt.Sprintf("10.%d.%d.7", i/256, i%256), "alice", "wrong password")) == im.CodeBadCredentials {
			checked++
		}
	}
	if checked < 500 || checked > 620 {
		t.Errorf("%d guesses of 3000 networks at once were checked, want some 500", checked)
	}
	retryAfter(t, f.try("203.0.113.9", "alice", password))
	if err := f.try(home, "alice", password); err != nil {
		t.Errorf("at home: %v", err)
	}
}

// An IPv6 network counts as one address.
func TestThrottleIPv6(t *testing.T) {
	f := start(t)
	f.register("alice", phone("d1"))
	for i := range 6 {
		f.guess(1, fmt.Sprintf("2001:db8:0:1::%d", i+1), "alice", im.CodeBadCredentials)
	}
	retryAfter(t, f.try("2001:db8:0:1:ffff::1", "alice", password))
	if err := f.try("2001:db8:0:2::1", "alice", password); err != nil {
		t.Errorf("another network: %v", err)
	}
}

func TestThrottleForgets(t *testing.T) {
	f := start(t)
	f.register("alice", phone("d1"))
	f.guess(6, "198.51.100.1", "alice", im.CodeBadCredentials)
	f.clock.Advance(time.Hour + 2*time.Second)
	f.guess(6, "198.51.100.1", "alice", im.CodeBadCredentials)
}

func TestThrottleRegistrations(t *testing.T) {
	f := start(t, func(o *account.Options) { o.RegistrationsPerHour = 4 })
	register := func(addr string, i int) error {
		_, err := f.Register(background, addr, account.Registration{Username: fmt.Sprintf("user%d", i), Password: password})
		return err
	}
	for i := range 4 {
		if err := register(home, i); err != nil {
			t.Fatal(err)
		}
	}
	if got := retryAfter(t, register(home, 4)); got != 15*time.Minute {
		t.Errorf("wait %v", got)
	}
	if err := register("192.0.2.2", 5); err != nil {
		t.Errorf("another address: %v", err)
	}
	f.clock.Advance(15 * time.Minute)
	if err := register(home, 6); err != nil {
		t.Errorf("after the wait: %v", err)
	}
	retryAfter(t, register(home, 7))
}

// Guessing the code of the first administrator is slowed down as well.
func TestThrottleClaims(t *testing.T) {
	f := start(t)
	code := must(f.PrepareClaim(t.Context()))
	claim := func(addr, code string) error {
		_, err := f.ClaimAdmin(background, addr, code, "admin", password)
		return err
	}
	for range 31 {
		want(t, claim("198.51.100.1", "guess"), im.CodePermissionDenied)
	}
	retryAfter(t, claim("198.51.100.1", code))
	if err := claim(home, code); err != nil {
		t.Errorf("elsewhere: %v", err)
	}
}

// What a user mistypes at an address of their own slows down nobody elsewhere.
func TestThrottleOwnMistakes(t *testing.T) {
	f := start(t)
	f.register("alice", phone("d1"))
	for range 101 {
		f.guess(1, home, "alice", im.CodeBadCredentials)
		f.clock.Advance(15 * time.Minute)
	}
	f.clock.Advance(-15 * time.Minute)
	retryAfter(t, f.try(home, "alice", password))
	if err := f.try("203.0.113.9", "alice", password); err != nil {
		t.Errorf("elsewhere: %v", err)
	}
}
