package account_test

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/skein-im/skein/internal/account"
	"github.com/skein-im/skein/internal/directory/sqlite"
	"github.com/skein-im/skein/internal/im"
)

func TestAuthenticateConnection(t *testing.T) {
	f := start(t)
	tokens := f.register("alice", phone("d1"))
	f.controls.take()
	actor, err := f.hello(tokens.Access, "c1", phone("d1"))
	if err != nil {
		t.Fatal(err)
	}
	wantActor := im.Actor{User: tokens.User, Session: tokens.Session, Connection: "c1", Device: phone("d1"), Address: home, ExpiresMs: tokens.AccessExpires.UnixMilli()}
	if actor != wantActor {
		t.Errorf("got %+v, want %+v", actor, wantActor)
	}
	wantControl := im.Control{User: tokens.User, Yield: true, By: phone("d1"), ByConnection: "c1", At: f.clock.Now(), Class: im.DevicePhone}
	if all := f.controls.take(); len(all) != 1 || all[0] != wantControl {
		t.Errorf("controls %+v, want %+v", all, wantControl)
	}
}

// The class of a session is the one it was bound with: a device does not get
// around the policy by naming another class later.
func TestAuthenticateClassIsTheSessions(t *testing.T) {
	f := start(t)
	tokens := f.register("alice", phone("d1"))
	f.controls.take()
	actor, err := f.hello(tokens.Access, "c1", im.Device{ID: "d1", Class: im.DeviceWeb})
	if err != nil || actor.Device.Class != im.DevicePhone {
		t.Errorf("actor %+v, %v", actor, err)
	}
	if c := f.controls.take(); len(c) != 1 || c[0].Class != im.DevicePhone {
		t.Errorf("controls %+v", c)
	}
}

func TestAuthenticateHTTP(t *testing.T) {
	f := start(t)
	tokens := must(f.Mint(t.Context(), account.Minting{User: "u"}))
	f.controls.take()
	actor, err := f.http(tokens.Access)
	if err != nil || actor.User != "u" || actor.Connection != "" {
		t.Errorf("actor %+v, %v", actor, err)
	}
	if all := f.controls.take(); len(all) != 0 {
		t.Errorf("an HTTP request makes connections yield: %+v", all)
	}
	// It did not bind the session either.
	if _, err := f.hello(tokens.Access, "c1", phone("any")); err != nil {
		t.Error(err)
	}
	f.bad("", im.CodeUnauthenticated)
}

func TestAuthenticateRefuses(t *testing.T) {
	f := start(t)
	tokens := f.register("alice", phone("d1"))
	for _, token := range []string{"nonsense", "ska_", "ska_" + long(43), tokens.Access + "x", tokens.Access[:46], tokens.Refresh, "skk_" + tokens.Access[4:], " " + tokens.Access} {
		f.bad(token, im.CodeTokenInvalid)
		_, err := f.hello(token, "c1", phone("d1"))
		want(t, err, im.CodeTokenInvalid)
	}
	_, err := f.hello("", "c1", phone("d1"))
	want(t, err, im.CodeTokenInvalid)
	for name, d := range map[string]im.Device{
		"no id":             {Class: im.DevicePhone},
		"id alphabet":       {ID: "a:b"},
		"long id":           {ID: long(65)},
		"long name":         {ID: "d1", Name: long(101)},
		"control character": {ID: "d1", Name: "a\nb"},
	} {
		_, err := f.hello(tokens.Access, "c1", d)
		if im.CodeOf(err) != im.CodeInvalidArgument {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err = f.Authenticate(t.Context(), im.Handshake{Token: tokens.Access, Connection: "c1", Device: phone("d1"), Client: long(101)})
	want(t, err, im.CodeInvalidArgument)
	f.clock.Advance(24 * time.Hour)
	f.bad(tokens.Access, im.CodeTokenExpired)
	_, err = f.hello(tokens.Access, "c1", phone("d1"))
	want(t, err, im.CodeTokenExpired)
}

func TestAuthenticateDevice(t *testing.T) {
	f := start(t)
	tokens := f.register("alice", phone("d1"))
	_, err := f.hello(tokens.Access, "c1", phone("d2"))
	want(t, err, im.CodeDeviceMismatch)

	minted := must(f.Mint(t.Context(), account.Minting{User: "u"}))
	if _, err := f.hello(minted.Access, "c1", phone("d1")); err != nil {
		t.Fatal(err)
	}
	f.restart()
	_, err = f.hello(minted.Access, "c2", phone("d2"))
	want(t, err, im.CodeDeviceMismatch)
	if _, err := f.hello(minted.Access, "c3", phone("d1")); err != nil {
		t.Error(err)
	}
}

// Two devices say the first Hello of a minted token at once: one has it.
func TestAuthenticateFirstHelloAtOnce(t *testing.T) {
	f := start(t)
	minted := must(f.Mint(t.Context(), account.Minting{User: "u"}))
	errs := race(8, func(i int) error {
		_, err := f.Authenticate(background, im.Handshake{Token: minted.Access, Connection: im.ConnectionID("c" + strconv.Itoa(i)), Device: phone("d" + strconv.Itoa(i))})
		return err
	})
	oneWins(t, errs, im.CodeDeviceMismatch)
	for i, err := range errs {
		if err == nil {
			if got := must(f.Sessions(t.Context(), "u")); len(got) != 1 || got[0].Device != phone("d"+strconv.Itoa(i)) {
				t.Errorf("d%d won, the session is %+v", i, got)
			}
		}
	}
}

func TestAuthenticateAdminKey(t *testing.T) {
	key := must(account.NewAdminKey(zeros{}))
	f := start(t, func(o *account.Options) { o.AdminKeyHash = account.HashKey(key) })
	actor, err := f.http(key)
	if err != nil || actor != (im.Actor{Role: im.ServerOwner, Address: home}) {
		t.Errorf("actor %+v, %v", actor, err)
	}
	_, err = f.hello(key, "c1", phone("d1"))
	want(t, err, im.CodePermissionDenied)
	f.bad(key[:len(key)-1]+"B", im.CodeTokenInvalid)

	none := start(t)
	none.bad(key, im.CodeTokenInvalid)
	// What needs a user's own session refuses the key.
	want(t, f.Logout(t.Context(), actor), im.CodePermissionDenied)
	want(t, f.ChangePassword(t.Context(), actor, password, "another password"), im.CodePermissionDenied)
	_, err = f.UpdateProfile(t.Context(), actor, im.ProfileChange{DM: account.DMEveryone})
	want(t, err, im.CodePermissionDenied)
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

func TestDevicePolicies(t *testing.T) {
	for policy, change := range map[string]func(c *im.Control){
		"":      func(*im.Control) {},
		"class": func(*im.Control) {},
		"one":   func(c *im.Control) { c.Class = im.DeviceUnspecified },
		"all":   nil,
	} {
		t.Run(policy, func(t *testing.T) {
			f := start(t, func(o *account.Options) { o.DevicePolicy = policy })
			tokens := f.register("alice", phone("d1"))
			if _, err := f.hello(tokens.Access, "c9", phone("d1")); err != nil {
				t.Fatal(err)
			}
			c := im.Control{User: tokens.User, Yield: true, By: phone("d1"), ByConnection: "c9", At: f.clock.Now(), Class: im.DevicePhone}
			if change == nil {
				if all := f.controls.take(); len(all) != 0 {
					t.Errorf("controls %+v: nobody yields", all)
				}
				return
			}
			change(&c)
			if all := f.controls.take(); len(all) != 1 || all[0] != c {
				t.Errorf("controls %+v, want %+v", all, c)
			}
		})
	}
}

// Who may not have the session does not push anybody out.
func TestRefusedHelloMakesNobodyYield(t *testing.T) {
	f := start(t)
	tokens := f.register("alice", phone("d1"))
	f.hello(tokens.Access, "c1", phone("d2"))
	f.clock.Advance(25 * time.Hour)
	f.hello(tokens.Access, "c1", phone("d1"))
	if all := f.controls.take(); len(all) != 0 {
		t.Errorf("controls %+v", all)
	}
}

// gateway does what the package comment asks of a gateway.
type gateway struct {
	mu    sync.Mutex
	conns map[im.ConnectionID]*conn
}

type conn struct {
	session im.SessionID // "" until authenticated
	early   []im.Control
	closed  bool
}

func (g *gateway) control(c im.Control) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, conn := range g.conns {
		conn.apply(c)
	}
}

func (c *conn) apply(x im.Control) {
	switch {
	case c.session == "":
		c.early = append(c.early, x)
	case !x.Yield && (x.Session == "" || x.Session == c.session):
		c.closed = true
	}
}

// connect returns whether the connection is open in the end.
func (g *gateway) connect(s *account.Service, id im.ConnectionID, token string) {
	g.mu.Lock()
	g.conns[id] = &conn{}
	g.mu.Unlock()
	actor, err := s.Authenticate(background, im.Handshake{Token: token, Connection: id, Device: phone("d1")})
	g.mu.Lock()
	defer g.mu.Unlock()
	c := g.conns[id]
	if err != nil {
		c.closed = true
		return
	}
	c.session = actor.Session
	for _, x := range c.early {
		c.apply(x)
	}
}

// pausing calls functions after a token was read and before sessions are ended.
type pausing struct {
	account.Store
	afterRead, beforeEnd func()
}

func (p *pausing) EndSessions(ctx context.Context, u im.UserID, s im.SessionID, at time.Time) ([]im.SessionID, error) {
	p.beforeEnd()
	return p.Store.EndSessions(ctx, u, s, at)
}

func (p *pausing) TokenByHash(ctx context.Context, h im.TokenHash) (im.TokenState, error) {
	s, err := p.Store.TokenByHash(ctx, h)
	p.afterRead()
	return s, err
}

// A connection that authenticates while its session is being ended is closed
// in the end: when the revoke comes between the read and the answer, when the
// Hello comes between the call and the commit of the revoke, and whenever else.
func TestRevokeAgainstAuthenticate(t *testing.T) {
	f := start(t)
	g := &gateway{conns: map[im.ConnectionID]*conn{}}
	f.options.Control = g.control
	f.restart()
	tokens := f.register("alice", phone("d1"))

	store := &pausing{Store: f.db, afterRead: func() {}, beforeEnd: func() {}}
	paused := account.New(store, f.options)
	defer paused.Close()
	g.connect(paused, "before", tokens.Access)
	if g.conns["before"].closed {
		t.Fatal("a good connection was closed")
	}
	store.afterRead = func() { must(f.Revoke(background, tokens.User, tokens.Session)) }
	g.connect(paused, "between", tokens.Access)
	store.afterRead = func() {}
	tokens = f.login("alice", phone("d1"))
	store.beforeEnd = func() {
		g.connect(f.Service, "before the commit", tokens.Access)
		if g.conns["before the commit"].closed {
			t.Error("closed before the revoke")
		}
	}
	must(paused.Revoke(background, tokens.User, tokens.Session))
	for id, c := range g.conns {
		if !c.closed {
			t.Errorf("%s is open", id)
		}
	}
	for i := range 30 {
		tokens := f.login("alice", phone("d1"))
		id := im.ConnectionID(strconv.Itoa(i))
		race(2, func(i int) error {
			if i == 0 {
				g.connect(f.Service, id, tokens.Access)
				return nil
			}
			_, err := f.Revoke(background, tokens.User, "")
			return err
		})
		if !g.conns[id].closed {
			t.Errorf("round %d: the connection is open", i)
		}
	}
}

// counting counts the writes of signs of life.
type counting struct {
	account.Store
	mu     sync.Mutex
	writes int
	rows   int
	fail   error
}

func (c *counting) SessionsSeen(ctx context.Context, seen []im.SessionSeen) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.writes++
	if c.fail != nil {
		return c.fail
	}
	c.rows += len(seen)
	return c.Store.SessionsSeen(ctx, seen)
}

func (c *counting) failWith(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fail = err
}

func (c *counting) take() (writes, rows int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	writes, rows, c.writes, c.rows = c.writes, c.rows, 0, 0
	return writes, rows
}

// A storm of logins costs two writes for 600 sessions, none while it
// lasts; Sessions tells the news at once; a write that failed is made up for.
func TestSignsOfLifeAreWrittenBehind(t *testing.T) {
	path := t.TempDir() + "/d.db"
	synctest.Test(t, func(t *testing.T) {
		db, err := sqlite.Open(path, sqlite.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		store := &counting{Store: db}
		s := account.New(store, account.Options{})
		var all []account.Tokens
		for i := range 600 {
			all = append(all, must(s.Mint(background, account.Minting{User: im.UserID("u" + strconv.Itoa(i)), Device: phone("d1")})))
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		store.take()
		for i, tokens := range all {
			for range 3 {
				if _, err := s.Authenticate(background, im.Handshake{Token: tokens.Access, Connection: im.ConnectionID(strconv.Itoa(i)), Device: phone("d1"), Client: "c/1", Address: home}); err != nil {
					t.Fatal(err)
				}
			}
		}
		at := time.Now()
		if writes, _ := store.take(); writes != 0 {
			t.Errorf("%d writes while the storm lasted", writes)
		}
		check := func(sessions []im.Session, err error) {
			t.Helper()
			if err != nil || len(sessions) != 1 || sessions[0].LastAddress != home || sessions[0].Client != "c/1" || !sessions[0].LastSeen.Truncate(time.Millisecond).Equal(at.Truncate(time.Millisecond)) {
				t.Errorf("sessions %+v, %v", sessions, err)
			}
		}
		check(s.Sessions(background, "u7"))

		store.failWith(im.Errorf(im.CodeStorageFull, "full"))
		time.Sleep(time.Minute)
		synctest.Wait()
		if writes, _ := store.take(); writes == 0 {
			t.Error("nothing was tried")
		}
		check(s.Sessions(background, "u7"))
		store.failWith(nil)
		time.Sleep(time.Minute)
		synctest.Wait()
		if writes, rows := store.take(); writes != 2 || rows != 600 {
			t.Errorf("%d writes of %d rows, want 2 of 600", writes, rows)
		}
		check(db.Sessions(background, "u7", time.Now()))

		// Close writes what is held.
		if _, err := s.Authenticate(background, im.Handshake{Token: all[0].Access, Address: "192.0.2.77", Client: "bad\x00client"}); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		sessions, err := db.Sessions(background, "u0", time.Now())
		if err != nil || len(sessions) != 1 || sessions[0].LastAddress != "192.0.2.77" || sessions[0].Client != "c/1" {
			t.Errorf("sessions %+v, %v", sessions, err)
		}
	})
}

func TestMetrics(t *testing.T) {
	registry := prometheus.NewRegistry()
	f := start(t, func(o *account.Options) { o.Registerer = registry })
	f.good(f.register("alice", phone("d1")).Access)
	f.bad("nonsense", im.CodeTokenInvalid)
	got := map[string]float64{}
	for _, family := range must(registry.Gather()) {
		for _, m := range family.GetMetric() {
			key := family.GetName()
			for _, l := range m.GetLabel() {
				key += " " + l.GetValue()
			}
			got[key] = m.GetCounter().GetValue()
		}
	}
	for _, key := range []string{"register ok", "authenticate ok", "authenticate token_invalid"} {
		if got["skein_account_requests_total "+key] != 1 {
			t.Errorf("%s: %v in %v", key, got["skein_account_requests_total "+key], got)
		}
	}
}
