package account_test

import (
	"strings"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/account"
	"github.com/skein-im/skein/internal/im"
)

func invited(o *account.Options) { o.OpenRegistration, o.InvitedRegistration = false, true }

func (f *fixture) join(name, code string) error {
	_, err := f.Register(f.t.Context(), home, account.Registration{Username: name, Password: password, Invitation: code})
	return err
}

// By invitation only: with a link that holds, as often as it says.
func TestRegisterByInvitation(t *testing.T) {
	f := start(t, invited)
	want(t, f.join("alice", ""), im.CodePermissionDenied)
	want(t, f.join("alice", "ski_"+strings.Repeat("A", 43)), im.CodePermissionDenied)
	l, code, err := f.CreateRegistrationLink(t.Context(), "the sales team", 2, 0)
	want(t, err, "")
	want(t, f.join("alice", code), "")
	want(t, f.join("alice", code), im.CodeAlreadyExists) // uses nothing up
	links := must(f.RegistrationLinks(t.Context()))
	if len(links) != 1 || links[0].ID != l.ID || links[0].Uses != 1 || links[0].Note != "the sales team" {
		t.Errorf("the links are %+v", links)
	}
	want(t, f.join("bob", code), "")
	want(t, f.join("cem", code), im.CodePermissionDenied)
	want(t, f.RevokeRegistrationLink(t.Context(), l.ID), im.CodeNotFound) // used up

	l, code, _ = f.CreateRegistrationLink(t.Context(), "", 0, time.Hour)
	want(t, f.join("cem", code), "")
	want(t, f.RevokeRegistrationLink(t.Context(), l.ID), "")
	want(t, f.join("dora", code), im.CodePermissionDenied)
	_, code, _ = f.CreateRegistrationLink(t.Context(), "", 0, time.Hour)
	f.clock.Advance(time.Hour)
	want(t, f.join("dora", code), im.CodePermissionDenied)
	if links := must(f.RegistrationLinks(t.Context())); len(links) != 0 {
		t.Errorf("the links that hold are %+v", links)
	}
	_, _, err = f.CreateRegistrationLink(t.Context(), "", -1, 0)
	want(t, err, im.CodeInvalidArgument)
	_, _, err = f.CreateRegistrationLink(t.Context(), "", 0, 367*24*time.Hour)
	want(t, err, im.CodeInvalidArgument)
}

// A link for one lets one in, however many come at once.
func TestLastInvitationRaced(t *testing.T) {
	f := start(t, invited)
	_, code, err := f.CreateRegistrationLink(t.Context(), "", 1, 0)
	want(t, err, "")
	oneWins(t, race(5, func(i int) error { return f.join("user"+string(rune('a'+i)), code) }), im.CodePermissionDenied)
}

// A closed server takes nobody, also by a link of before.
func TestClosedTakesNoInvitation(t *testing.T) {
	f := start(t, invited)
	_, code, err := f.CreateRegistrationLink(t.Context(), "", 0, 0)
	want(t, err, "")
	f.options.InvitedRegistration = false
	f.restart()
	want(t, f.join("alice", code), im.CodePermissionDenied)
}

// A reset link sets a new password once, ends all sessions and every login under way.
func TestResetPassword(t *testing.T) {
	f := start(t, withKey)
	alice := f.register("alice", phone("a"))
	a, _ := f.enrol(alice)
	reset := func(code string) error { return f.ResetPassword(t.Context(), home, code, "a new password") }
	want(t, reset("skp_"+strings.Repeat("A", 43)), im.CodeNotFound)
	old, _, err := f.CreateResetLink(t.Context(), alice.User, false, 0)
	want(t, err, "")
	code, until, err := f.CreateResetLink(t.Context(), alice.User, false, 0)
	want(t, err, "")
	if until.Sub(f.clock.Now()) != 24*time.Hour {
		t.Errorf("it holds until %s", until)
	}
	want(t, reset(old), im.CodeNotFound) // another one took its place
	want(t, f.ResetPassword(t.Context(), home, code, "short"), im.CodeInvalidArgument)
	ticket := f.ticket("alice")
	f.controls.take()
	want(t, reset(code), "")
	if c := f.controls.take(); len(c) != 1 || c[0].Session != alice.Session || c[0].Code != im.CodeSessionRevoked {
		t.Errorf("the gateways were told %+v", c)
	}
	f.bad(alice.Access, im.CodeSessionRevoked)
	want(t, reset(code), im.CodeNotFound)
	_, err = f.withCode(home, ticket, a.code(0))
	want(t, err, im.CodeNotFound)
	login := func(p string) error {
		_, err := f.Login(t.Context(), home, account.Credentials{Username: "alice", Password: p})
		return err
	}
	want(t, login(password), im.CodeBadCredentials)
	want(t, login("a new password"), im.CodeTotpRequired) // which stays

	code, _, _ = f.CreateResetLink(t.Context(), alice.User, true, time.Hour)
	f.clock.Advance(time.Hour)
	want(t, reset(code), im.CodeTooLate)
	code, _, _ = f.CreateResetLink(t.Context(), alice.User, true, 0)
	want(t, reset(code), "")
	want(t, login("a new password"), "") // it was taken away
}

// Who may be given a reset link, and by how many at once it is used.
func TestResetLinks(t *testing.T) {
	f := start(t)
	_, _, err := f.CreateResetLink(t.Context(), "nobody", false, 0)
	want(t, err, im.CodeNotFound)
	minted := must(f.Mint(t.Context(), account.Minting{User: "theirs"}))
	_, _, err = f.CreateResetLink(t.Context(), minted.User, false, 0)
	want(t, err, im.CodePermissionDenied)
	alice := f.register("alice", phone("a"))
	_, _, err = f.CreateResetLink(t.Context(), alice.User, false, 8*24*time.Hour)
	want(t, err, im.CodeInvalidArgument)
	code, _, _ := f.CreateResetLink(t.Context(), alice.User, false, 0)
	oneWins(t, race(4, func(int) error { return f.ResetPassword(t.Context(), home, code, "a new password") }), im.CodeNotFound)
}
