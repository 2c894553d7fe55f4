package account_test

import (
	"strings"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/account"
	"github.com/skein-im/skein/internal/im"
)

var moderator = im.Actor{User: "mo", Role: im.ServerModerator}

// Who is banned is told so at every door, with the reason, and only who proves who they are;
// when the ban is over they log in anew.
func TestBan(t *testing.T) {
	f := start(t)
	ctx := t.Context()
	bob := f.register("bobby", phone("p"))
	f.controls.take()
	until := f.clock.Now().Add(48 * time.Hour)
	n, err := f.Ban(ctx, moderator, bob.User, until, "spam")
	if err != nil || n != 1 {
		t.Fatalf("%d sessions, %v", n, err)
	}
	if c := f.controls.take(); len(c) != 1 || c[0].User != bob.User || c[0].Session != "" || c[0].Code != im.CodeBanned ||
		c[0].Text != "the account is banned until 2023-11-16 22:13 UTC: spam" {
		t.Errorf("connections: %+v", c)
	}
	banned := func(what string, err error) {
		t.Helper()
		if im.CodeOf(err) != im.CodeBanned || !strings.Contains(err.Error(), "spam") || !strings.Contains(err.Error(), "2023-11-16 22:13 UTC") {
			t.Errorf("%s: %v", what, err)
		}
	}
	_, err = f.http(bob.Access)
	banned("a call", err)
	_, err = f.hello(bob.Access, "c1", phone("p"))
	banned("a Hello", err)
	_, err = f.Refresh(ctx, bob.Refresh)
	banned("a refresh", err)
	_, err = f.Login(ctx, home, account.Credentials{Username: "bobby", Password: password})
	banned("a login", err)
	_, err = f.Mint(ctx, account.Minting{User: bob.User})
	banned("a minted token", err)
	_, err = f.Login(ctx, home, account.Credentials{Username: "bobby", Password: "wrong horse"})
	want(t, err, im.CodeBadCredentials)

	// Banned again by a repeat: connections are told again.
	if n, err := f.Ban(ctx, moderator, bob.User, until, "spam"); err != nil || n != 0 || len(f.controls.take()) != 1 {
		t.Errorf("again: %d, %v", n, err)
	}
	f.clock.Advance(48 * time.Hour)
	f.bad(bob.Access, im.CodeSessionRevoked)
	f.good(f.login("bobby", phone("p")).Access)

	_, err = f.Ban(ctx, moderator, bob.User, time.Time{}, "")
	if err != nil {
		t.Fatal(err)
	}
	f.clock.Advance(365 * 24 * time.Hour)
	_, err = f.Login(ctx, home, account.Credentials{Username: "bobby", Password: password})
	want(t, err, im.CodeBanned)
	if err := f.Unban(ctx, moderator, bob.User); err != nil {
		t.Fatal(err)
	}
	f.good(f.login("bobby", phone("p")).Access)
}

func TestBanRefused(t *testing.T) {
	f := start(t)
	ctx := t.Context()
	bob := f.register("bobby", phone("p"))
	_, err := f.Ban(ctx, moderator, bob.User, f.clock.Now(), "")
	want(t, err, im.CodeInvalidArgument)
	_, err = f.Ban(ctx, moderator, "nobody", time.Time{}, "")
	want(t, err, im.CodeNotFound)
	_, err = f.Ban(ctx, im.Actor{User: bob.User, Role: im.ServerOwner}, bob.User, time.Time{}, "")
	want(t, err, im.CodePermissionDenied)
	_, err = f.Ban(ctx, im.Actor{User: "x"}, bob.User, time.Time{}, "")
	want(t, err, im.CodePermissionDenied)
	f.good(bob.Access)
}

// Who is disabled comes in nowhere until they are enabled; the second step of a login that
// was begun before ends, too.
func TestDisable(t *testing.T) {
	f := start(t, func(o *account.Options) { o.SealKey = account.SealKey("k") })
	ctx := t.Context()
	bob := f.register("bobby", phone("p"))
	admin := im.Actor{Role: im.ServerAdmin}
	if n, err := f.Disable(ctx, admin, bob.User, true); err != nil || n != 1 {
		t.Fatalf("%d, %v", n, err)
	}
	f.bad(bob.Access, im.CodeBanned)
	_, err := f.Login(ctx, home, account.Credentials{Username: "bobby", Password: password})
	if want(t, err, im.CodeBanned); !strings.Contains(err.Error(), "disabled") {
		t.Error(err)
	}
	if n, err := f.Disable(ctx, admin, bob.User, false); err != nil || n != 0 {
		t.Errorf("enabled: %d, %v", n, err)
	}
	f.bad(bob.Access, im.CodeSessionRevoked)
	f.good(f.login("bobby", phone("p")).Access)
}

// A ban and logins at once leave no session that lives.
func TestBanRaced(t *testing.T) {
	two(t, func(t *testing.T, a, b *fixture, _ *logged) {
		bob := a.register("bobby", phone("p"))
		race(6, func(i int) error {
			if i == 0 {
				_, err := a.Ban(background, moderator, bob.User, time.Time{}, "")
				return err
			}
			_, err := []*fixture{a, b}[i%2].Login(background, home, account.Credentials{Username: "bobby", Password: password})
			return err
		})
		for _, f := range []*fixture{a, b} {
			if left := must(f.Sessions(t.Context(), bob.User)); len(left) != 0 {
				t.Errorf("sessions that live: %+v", left)
			}
		}
		b.bad(bob.Access, im.CodeBanned)
	})
}

func TestServerRoles(t *testing.T) {
	f := start(t)
	ctx := t.Context()
	bob := f.register("bobby", phone("p"))
	if err := f.SetRole(ctx, bob.User, im.ServerAuditor); err != nil {
		t.Fatal(err)
	}
	if actor, err := f.http(bob.Access); err != nil || actor.Role != im.ServerAuditor {
		t.Errorf("%+v, %v", actor, err)
	}
	want(t, f.SetRole(ctx, bob.User, im.ServerOwner+1), im.CodeInvalidArgument)
	want(t, f.SetRole(ctx, "nobody", im.ServerAdmin), im.CodeNotFound)
	code := must(f.PrepareClaim(ctx)) // nobody is an administrator yet
	root := must(f.ClaimAdmin(ctx, home, code, "rooty", password))
	want(t, f.SetRole(ctx, root.User, im.ServerAdmin), im.CodePermissionDenied)
	// Who has a role is not whom a provider takes by a name: TestProviderTakes.
	if me := must(f.Me(ctx, root.User)); me.Role != im.ServerOwner {
		t.Errorf("%+v", me)
	}
}

// A name that shows nothing is refused, not replaced in silence.
func TestBlankNames(t *testing.T) {
	f := start(t)
	for _, name := range []string{"   ", "\u00a0", "\u200b", "\u202eevil", "\u3164"} {
		_, err := f.Register(t.Context(), home, account.Registration{Username: "annie", Password: password, DisplayName: name})
		want(t, err, im.CodeInvalidArgument)
		_, err = f.Mint(t.Context(), account.Minting{User: "u", DisplayName: name})
		want(t, err, im.CodeInvalidArgument)
		_, err = f.CreateUser(t.Context(), account.Registration{Username: "annie", Password: password, DisplayName: name})
		want(t, err, im.CodeInvalidArgument)
	}
	f.register("annie", phone("p")) // without one: the username
}
