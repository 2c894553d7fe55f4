package account_test

import (
	"bytes"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/account"
	"github.com/skein-im/skein/internal/directory/postgres"
	"github.com/skein-im/skein/internal/directory/sqlite"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/pg/pgtest"
)

// logged collects the log.
type logged struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logged) take() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.b.Reset()
	return l.b.String()
}

// two are two processes over one store, of each engine.
func two(t *testing.T, test func(t *testing.T, a, b *fixture, log *logged)) {
	shared := func(log *logged) func(*account.Options) {
		return func(o *account.Options) {
			o.Shared = true
			o.Logger = slog.New(slog.NewTextHandler(log, nil))
		}
	}
	t.Run("sqlite", func(t *testing.T) {
		log := &logged{}
		a := start(t, shared(log))
		b := *a
		db, err := sqlite.Open(a.path, sqlite.Options{})
		if err != nil {
			t.Fatal(err)
		}
		b.db, b.Service = db, account.New(db, b.options)
		t.Cleanup(b.close)
		test(t, a, &b, log)
	})
	t.Run("postgres", func(t *testing.T) {
		log := &logged{}
		u := pgtest.Database(t)
		var nodes [2]*fixture
		for i := range nodes {
			f := &fixture{t: t, clock: newClock(), controls: &controls{}}
			if i > 0 {
				f.clock = nodes[0].clock
			}
			f.options = account.Options{Now: f.clock.Now, OpenRegistration: true, Control: f.controls.add, Argon: account.Argon{MemoryKiB: 64, Time: 1, Threads: 1}}
			shared(log)(&f.options)
			db, err := postgres.Open(t.Context(), u, postgres.Options{MaxConns: 4})
			if err != nil {
				t.Fatal(err)
			}
			f.db, f.Service = db, account.New(db, f.options)
			t.Cleanup(f.close)
			nodes[i] = f
		}
		test(t, nodes[0], nodes[1], log)
	})
}

// A code that one node printed is good when another starts; who starts an hour
// later has a new one.
func TestClaimOfAnotherNode(t *testing.T) {
	two(t, func(t *testing.T, a, b *fixture, log *logged) {
		code := must(a.PrepareClaim(t.Context()))
		if code == "" {
			t.Fatal("no code")
		}
		if other := must(b.PrepareClaim(t.Context())); other != "" || !strings.Contains(log.take(), "another node") {
			t.Errorf("the second has the code %q, or does not say that there is one", other)
		}
		if again := must(a.PrepareClaim(t.Context())); again != "" {
			t.Error("a new code though the first is young")
		}
		a.clock.Advance(time.Hour + time.Millisecond)
		later := must(b.PrepareClaim(t.Context()))
		_, err := a.ClaimAdmin(t.Context(), home, code, "admin", password)
		want(t, err, im.CodePermissionDenied)
		log.take()
		if _, err := a.ClaimAdmin(t.Context(), home, later, "admin", password); err != nil {
			t.Fatal(err)
		}
		if over := must(b.PrepareClaim(t.Context())); over != "" || log.take() != "" {
			t.Errorf("a code %q, or a word of one, though there is an administrator", over)
		}
	})
}

// Who used the old refresh token a second time is found out on any node, from
// the moment on in which the new tokens were used on one.
func TestRefreshReuseOnAnotherNode(t *testing.T) {
	two(t, func(t *testing.T, a, b *fixture, _ *logged) {
		first := a.register("alice", phone("d1"))
		second := must(a.Refresh(t.Context(), first.Refresh))
		retried := must(b.Refresh(t.Context(), first.Refresh)) // an honest retry
		if retried.Access != second.Access || retried.Refresh != second.Refresh {
			t.Error("the retry got other tokens")
		}
		a.good(second.Access)
		_, err := b.Refresh(t.Context(), first.Refresh)
		want(t, err, im.CodeTokenReused)
		a.bad(second.Access, im.CodeSessionRevoked)
	})
}

// Ends are seen by all nodes at once, also those that no Control told of.
func TestEndsOnAnotherNode(t *testing.T) {
	two(t, func(t *testing.T, a, b *fixture, _ *logged) {
		one, other := a.register("alice", phone("d1")), a.login("alice", phone("d2"))
		gone := b.register("bob", phone("d1"))
		connected := []im.SessionID{one.Session, other.Session, gone.Session}
		live := func(want ...im.SessionID) {
			t.Helper()
			var got []im.SessionID
			for _, u := range []im.UserID{one.User, gone.User} {
				for _, s := range must(b.Sessions(t.Context(), u)) {
					got = append(got, s.ID)
				}
			}
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) {
				t.Errorf("live are %v, want %v", got, want)
			}
		}
		live(connected...)
		if n, err := a.Revoke(t.Context(), one.User, one.Session); err != nil || n != 1 {
			t.Fatal(n, err)
		}
		b.bad(one.Access, im.CodeSessionRevoked)
		live(other.Session, gone.Session)
		if err := b.ChangePassword(t.Context(), actorOf(other), password, "another horse"); err != nil {
			t.Fatal(err)
		}
		_, err := a.Login(t.Context(), home, account.Credentials{Username: "alice", Password: password})
		want(t, err, im.CodeBadCredentials)
		a.clock.Advance(61 * 24 * time.Hour)
		live()
	})
}
