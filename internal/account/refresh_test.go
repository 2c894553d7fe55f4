package account_test

import (
	"testing"
	"time"

	"github.com/skein-im/skein/internal/account"
	"github.com/skein-im/skein/internal/im"
)

func (f *fixture) refresh(token string) account.Tokens {
	f.t.Helper()
	t, err := f.Refresh(f.t.Context(), token)
	if err != nil {
		f.t.Fatalf("refresh: %v", err)
	}
	return t
}

// reused checks that using the token ends the session, and says so.
func (f *fixture) reused(token string, of account.Tokens) {
	f.t.Helper()
	f.controls.take()
	_, err := f.Refresh(f.t.Context(), token)
	want(f.t, err, im.CodeTokenReused)
	f.bad(of.Access, im.CodeSessionRevoked)
	_, err = f.Refresh(f.t.Context(), of.Refresh)
	want(f.t, err, im.CodeSessionRevoked)
	closed := f.controls.take()
	if len(closed) != 1 || closed[0].Session != of.Session || closed[0].User != of.User || closed[0].Code != im.CodeSessionRevoked || closed[0].Yield {
		f.t.Errorf("controls %+v", closed)
	}
}

func TestRefreshRotates(t *testing.T) {
	f := start(t)
	first := f.register("alice", phone("d1"))
	f.clock.Advance(20 * time.Hour)
	second := f.refresh(first.Refresh)
	if second.User != first.User || second.Session != first.Session || second.Access == first.Access || second.Refresh == first.Refresh {
		t.Errorf("%+v after %+v", second, first)
	}
	if second.AccessExpires.Sub(f.clock.Now()) != 24*time.Hour || second.RefreshExpires.Sub(f.clock.Now()) != 60*24*time.Hour {
		t.Errorf("lifetimes of %+v", second)
	}
	f.good(first.Access) // requests under way do not fail
	f.good(second.Access)
	f.clock.Advance(4 * time.Hour)
	f.bad(first.Access, im.CodeTokenExpired)
	// A session that is used goes on beyond its first end.
	for range 4 {
		f.clock.Advance(50 * 24 * time.Hour)
		second = f.refresh(second.Refresh)
		f.good(second.Access)
	}
	if sessions := must(f.Sessions(t.Context(), first.User)); len(sessions) != 1 {
		t.Errorf("sessions %+v", sessions)
	}
}

// An answer that was lost is given again, the very same, also after a restart
// and to several at once.
func TestRefreshHonestRetry(t *testing.T) {
	f := start(t)
	first := f.register("alice", phone("d1"))
	second := f.refresh(first.Refresh)
	f.clock.Advance(29 * time.Second)
	if again := f.refresh(first.Refresh); again != second {
		t.Errorf("a retry got %+v, want %+v", again, second)
	}
	f.restart()
	if again := f.refresh(first.Refresh); !same(again, second) {
		t.Errorf("a retry after a restart got %+v, want %+v", again, second)
	}
	f.good(second.Access)
	third := f.refresh(second.Refresh)
	f.good(third.Access)
}

func TestRefreshAtOnce(t *testing.T) {
	f := start(t)
	first := f.register("alice", phone("d1"))
	got := make([]account.Tokens, 6)
	for _, err := range race(len(got), func(i int) (err error) {
		got[i], err = f.Refresh(background, first.Refresh)
		return err
	}) {
		if err != nil {
			t.Error(err)
		}
	}
	for _, tokens := range got[1:] {
		if !same(tokens, got[0]) {
			t.Errorf("two answers for one exchange: %+v and %+v", got[0], tokens)
		}
	}
}

func same(a, b account.Tokens) bool {
	return a.User == b.User && a.Session == b.Session && a.Access == b.Access && a.Refresh == b.Refresh &&
		a.AccessExpires.Equal(b.AccessExpires) && a.RefreshExpires.Equal(b.RefreshExpires)
}

func TestRefreshReuseEndsTheSession(t *testing.T) {
	t.Run("too late", func(t *testing.T) {
		f := start(t)
		first := f.register("alice", phone("d1"))
		second := f.refresh(first.Refresh)
		f.clock.Advance(31 * time.Second)
		f.reused(first.Refresh, second)
	})
	t.Run("new access token in use", func(t *testing.T) {
		f := start(t)
		first := f.register("alice", phone("d1"))
		second := f.refresh(first.Refresh)
		f.good(second.Access)
		f.reused(first.Refresh, second)
	})
	t.Run("new access token in use, written down", func(t *testing.T) {
		f := start(t)
		first := f.register("alice", phone("d1"))
		second := f.refresh(first.Refresh)
		f.good(second.Access)
		f.restart()
		f.reused(first.Refresh, second)
	})
	t.Run("new refresh token in use", func(t *testing.T) {
		f := start(t)
		first := f.register("alice", phone("d1"))
		third := f.refresh(f.refresh(first.Refresh).Refresh)
		f.reused(first.Refresh, third)
	})
	t.Run("an old one of the family", func(t *testing.T) {
		f := start(t)
		first := f.register("alice", phone("d1"))
		last := first
		for range 5 {
			f.clock.Advance(24 * time.Hour)
			last = f.refresh(last.Refresh)
		}
		f.reused(first.Refresh, last)
	})
	t.Run("other sessions stay", func(t *testing.T) {
		f := start(t)
		other := f.register("alice", phone("d1"))
		first := f.login("alice", phone("d2"))
		second := f.refresh(first.Refresh)
		f.clock.Advance(time.Hour)
		f.reused(first.Refresh, second)
		f.good(other.Access)
	})
}

func TestRefreshRefuses(t *testing.T) {
	f := start(t)
	tokens := f.register("alice", phone("d1"))
	for _, token := range []string{"", "skr_", "nonsense", tokens.Access, "skr_" + tokens.Access[4:], tokens.Refresh + "x", "skr_" + long(43)} {
		_, err := f.Refresh(t.Context(), token)
		want(t, err, im.CodeTokenInvalid)
	}
	f.bad(tokens.Refresh, im.CodeTokenInvalid) // a refresh token opens nothing
	f.clock.Advance(60 * 24 * time.Hour)
	_, err := f.Refresh(t.Context(), tokens.Refresh)
	want(t, err, im.CodeTokenInvalid)
}

// A refresh that meets the end of its session leaves no good token.
func TestRefreshAgainstRevoke(t *testing.T) {
	f := start(t)
	for i := range 20 {
		name := "user" + string(rune('a'+i))
		first := f.register(name, phone("d1"))
		var second account.Tokens
		errs := race(2, func(i int) (err error) {
			if i == 0 {
				second, err = f.Refresh(background, first.Refresh)
				return err
			}
			_, err = f.Revoke(background, first.User, "")
			return err
		})
		if errs[1] != nil {
			t.Fatal(errs[1])
		}
		if errs[0] == nil {
			f.bad(second.Access, im.CodeSessionRevoked)
		} else {
			want(t, errs[0], im.CodeSessionRevoked)
		}
		f.bad(first.Access, im.CodeSessionRevoked)
	}
}
