package account_test

import (
	"context"
	"crypto/sha256"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/account"
	"github.com/skein-im/skein/internal/directory"
	"github.com/skein-im/skein/internal/directory/sqlite"
	"github.com/skein-im/skein/internal/im"
)

// The directory is the store.
var _ account.Store = (*directory.DB)(nil)

const (
	password = "correct horse"
	home     = "192.0.2.1"
)

// clock is a clock that tests move.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock { return &clock{now: time.UnixMilli(1_700_000_000_000)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// controls collects what the service asks of the gateways.
type controls struct {
	mu  sync.Mutex
	all []im.Control
}

func (c *controls) add(x im.Control) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all = append(c.all, x)
}

func (c *controls) take() []im.Control {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := c.all
	c.all = nil
	return all
}

// fixture is a service on a directory of its own.
type fixture struct {
	*account.Service
	t        *testing.T
	path     string
	db       *directory.DB
	clock    *clock
	controls *controls
	options  account.Options
}

func start(t *testing.T, change ...func(*account.Options)) *fixture {
	t.Helper()
	f := &fixture{t: t, path: filepath.Join(t.TempDir(), "directory.db"), clock: newClock(), controls: &controls{}}
	f.options = account.Options{
		Now:              f.clock.Now,
		OpenRegistration: true,
		Control:          f.controls.add,
		Argon:            account.Argon{MemoryKiB: 64, Time: 1, Threads: 1},
	}
	for _, c := range change {
		c(&f.options)
	}
	f.open()
	t.Cleanup(f.close)
	return f
}

func (f *fixture) open() {
	f.t.Helper()
	db, err := sqlite.Open(f.path, sqlite.Options{})
	if err != nil {
		f.t.Fatal(err)
	}
	f.db, f.Service = db, account.New(db, f.options)
}

func (f *fixture) close() {
	f.t.Helper()
	if err := f.Service.Close(); err != nil {
		f.t.Error(err)
	}
	if err := f.db.Close(); err != nil {
		f.t.Error(err)
	}
}

// restart stops the service and starts it again on the same directory.
func (f *fixture) restart() {
	f.t.Helper()
	f.close()
	f.open()
}

func (f *fixture) register(name string, device im.Device) account.Tokens {
	f.t.Helper()
	t, err := f.Register(f.t.Context(), home, account.Registration{Username: name, Password: password, Device: device, StayLoggedIn: true})
	if err != nil {
		f.t.Fatalf("register %s: %v", name, err)
	}
	return t
}

func (f *fixture) login(name string, device im.Device) account.Tokens {
	f.t.Helper()
	t, err := f.Login(f.t.Context(), home, account.Credentials{Username: name, Password: password, Device: device, StayLoggedIn: true})
	if err != nil {
		f.t.Fatalf("login %s: %v", name, err)
	}
	return t
}

// hello authenticates a connection.
func (f *fixture) hello(token string, connection im.ConnectionID, device im.Device) (im.Actor, error) {
	return f.Authenticate(f.t.Context(), im.Handshake{Token: token, Connection: connection, Device: device, Client: "test/1", Address: home})
}

// http authenticates an HTTP request.
func (f *fixture) http(token string) (im.Actor, error) {
	return f.Authenticate(f.t.Context(), im.Handshake{Token: token, Address: home})
}

func (f *fixture) good(token string) {
	f.t.Helper()
	if _, err := f.http(token); err != nil {
		f.t.Errorf("a good token was answered with %v", err)
	}
}

func (f *fixture) bad(token string, code im.Code) {
	f.t.Helper()
	_, err := f.http(token)
	want(f.t, err, code)
}

func want(t *testing.T, err error, code im.Code) {
	t.Helper()
	if im.CodeOf(err) != code {
		t.Errorf("got %v, want %q", err, code)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func phone(id string) im.Device {
	return im.Device{ID: id, Class: im.DevicePhone, Name: "phone " + id}
}

func actorOf(t account.Tokens) im.Actor {
	return im.Actor{User: t.User, Session: t.Session, Address: home}
}

// race runs fn n times at once and returns the errors.
func race(n int, fn func(i int) error) []error {
	errs := make([]error, n)
	var ready, done sync.WaitGroup
	ready.Add(n)
	for i := range n {
		done.Go(func() {
			ready.Done()
			ready.Wait()
			errs[i] = fn(i)
		})
	}
	done.Wait()
	return errs
}

// oneWins checks that exactly one succeeded and all others got the code.
func oneWins(t *testing.T, errs []error, code im.Code) {
	t.Helper()
	won := 0
	for _, err := range errs {
		switch {
		case err == nil:
			won++
		case im.CodeOf(err) != code:
			t.Errorf("a loser got %v, want %q", err, code)
		}
	}
	if won != 1 {
		t.Errorf("%d won, want 1", won)
	}
}

func sum(s string) []byte {
	h := sha256.Sum256([]byte(s))
	return h[:]
}

func long(n int) string { return strings.Repeat("x", n) }

var background = context.Background()
