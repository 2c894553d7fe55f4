package account_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/account"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/oidc/oidctest"
)

// become is UpgradeGuest by a code of a provider.
func (s *sso) become(as account.Tokens, code, name string) (account.User, error) {
	return s.UpgradeGuest(background, actorOf(as), account.Upgrade{Username: name, Code: code, Verifier: clientVerifier})
}

// A guest becomes the user whom a provider names: same id, name and sessions; and logs in
// by it from then on, and by nothing else.
func TestUpgradeGuestByProvider(t *testing.T) {
	s := startSSO(t)
	gus := must(s.guest("Gus"))
	code := s.back()
	u, err := s.become(gus, code, "")
	if err != nil || u.ID != gus.User || u.Username != "ann.lee" || u.DisplayName != "Gus" || u.Guest || s.isGuest(gus.User) {
		t.Fatalf("the user is %+v, %v", u, err)
	}
	s.good(gus.Access)
	if c := s.user(gus.User); c.PasswordHash != "" || c.FindPolicy == im.FindNobody {
		t.Errorf("stored: %+v", c)
	}
	in, created, err := s.finish(s.back())
	if err != nil || created || in.User != gus.User {
		t.Errorf("logged in as %+v, %v, %v", in, created, err)
	}
	if all := must(s.Identities(background, actorOf(in))); len(all) != 1 || all[0].Subject != "sub-ann" {
		t.Errorf("the identities are %+v", all)
	}
	want(t, s.UnlinkIdentity(background, actorOf(in), must(s.Identities(background, actorOf(in)))[0].ID, ""), im.CodePermissionDenied)

	// The answer was lost: the code that made them a user tells the same, another one not.
	if again, err := s.become(gus, code, ""); err != nil || again.ID != gus.User || again.Username != u.Username {
		t.Errorf("again: %+v, %v", again, err)
	}
	_, err = s.become(gus, s.back(), "")
	want(t, err, im.CodePermissionDenied)
	_, err = s.UpgradeGuest(background, actorOf(gus), account.Upgrade{Username: "ann.lee", Password: password})
	want(t, err, im.CodePermissionDenied)
	ida := must(s.guest("Ida"))
	_, err = s.become(ida, code, "")
	want(t, err, im.CodeNotFound) // the code is another's, and used up
}

// Whether registration is open, closed or by invitation does not matter to who comes by a
// provider that makes accounts; one that makes none makes none of guests either.
func TestUpgradeByProviderObeysIt(t *testing.T) {
	s := startSSO(t)
	s.options.OpenRegistration = false
	s.restart()
	must(s.become(must(s.guest("Gus")), s.back(), "gustav"))

	s = startSSO(t, func(p *account.Provider) { p.Create = false })
	gus := must(s.guest("Gus"))
	_, err := s.become(gus, s.back(), "")
	want(t, err, im.CodePermissionDenied)
	if !s.isGuest(gus.User) {
		t.Error("who was refused is no guest any more")
	}
}

// A guest may choose the name; one that is taken costs no further round at the provider,
// and a bad code, or one without its verifier, makes nobody a user.
func TestUpgradeByProviderRefused(t *testing.T) {
	s := startSSO(t)
	s.register("bob", phone("p"))
	gus := must(s.guest("Gus"))
	code := s.back()
	refuse := func(up account.Upgrade, code im.Code) {
		t.Helper()
		_, err := s.UpgradeGuest(background, actorOf(gus), up)
		want(t, err, code)
		if !s.isGuest(gus.User) {
			t.Fatalf("%+v made them a user", up)
		}
	}
	refuse(account.Upgrade{Username: "bob", Code: code, Verifier: clientVerifier}, im.CodeAlreadyExists)
	refuse(account.Upgrade{Username: "x", Code: code, Verifier: clientVerifier}, im.CodeInvalidArgument)
	refuse(account.Upgrade{Code: code, Verifier: clientVerifier, Password: password}, im.CodeInvalidArgument)
	refuse(account.Upgrade{Code: "skb_none", Verifier: clientVerifier}, im.CodeNotFound)
	refuse(account.Upgrade{Code: s.away("").Get("state"), Verifier: clientVerifier}, im.CodeNotFound) // of the first step
	refuse(account.Upgrade{Code: s.back(), Verifier: strings.Repeat("x", 43)}, im.CodeNotFound)
	stale := s.back()
	if u, err := s.become(gus, code, "Gustav"); err != nil || u.Username != "gustav" {
		t.Fatalf("the user is %+v, %v", u, err)
	}
	gus = must(s.guest("Gus"))
	s.clock.Advance(5 * time.Minute)
	refuse(account.Upgrade{Code: stale, Verifier: clientVerifier}, im.CodeTooLate)
	_, err := s.UpgradeGuest(background, im.Actor{}, account.Upgrade{Code: code, Verifier: clientVerifier})
	want(t, err, im.CodePermissionDenied)
}

// Whom the provider names that has an account keeps it, and the guest is a guest: also one
// that the provider would take by the username at a first login.
func TestUpgradeByProviderTakesNobodysAccount(t *testing.T) {
	s := startSSO(t)
	ann := s.in()
	gus := must(s.guest("Gus"))
	_, err := s.become(gus, s.back(), "")
	want(t, err, im.CodeAlreadyExists)
	if again := s.in(); again.User != ann.User || !s.isGuest(gus.User) {
		t.Errorf("she is %+v", again)
	}

	s = startSSO(t, func(p *account.Provider) { p.Link = account.LinkUsername })
	s.p.Say(func(x *oidctest.Says) { x.Username = "bob" })
	bob, gus := s.register("bob", phone("p")), must(s.guest("Gus"))
	_, err = s.become(gus, s.back(), "other")
	want(t, err, im.CodeAlreadyExists)
	if in := s.in(); in.User != bob.User {
		t.Errorf("bob came in as %s", in.User)
	}

	// A name that is somebody's gets a number, as for a new account.
	s = startSSO(t)
	s.register("ann.lee", phone("p"))
	if u, err := s.become(must(s.guest("Gus")), s.back(), ""); err != nil || !strings.HasPrefix(u.Username, "ann.lee-") {
		t.Errorf("the user is %+v, %v", u, err)
	}
}

// Of guests of one person at once one becomes the user; the directory has neither half of
// what the others would have been. So it is for one code that is used twice at once.
func TestUpgradeByProviderRaced(t *testing.T) {
	for _, sameCode := range []bool{false, true} {
		s := startSSO(t)
		guests, codes := make([]account.Tokens, 4), make([]string, 4)
		for i := range guests {
			guests[i] = must(s.guest("Gus"))
			codes[i] = s.back()
		}
		if sameCode {
			for i := range codes {
				codes[i] = codes[0]
			}
		}
		won := 0
		for i, err := range race(len(guests), func(i int) error { _, err := s.become(guests[i], codes[i], ""); return err }) {
			switch code := im.CodeOf(err); {
			case err == nil:
				won++
			case code != im.CodeAlreadyExists && code != im.CodeNotFound:
				t.Errorf("guest %d: %v", i, err)
			}
			if s.isGuest(guests[i].User) == (err == nil) {
				t.Errorf("guest %d: %v, and a guest: %v", i, err, s.isGuest(guests[i].User))
			}
		}
		if n := must(s.db.CountGuests(background)); won != 1 || n != 3 {
			t.Errorf("%d became users, %d are guests", won, n)
		}
	}
}

// The devices of who became a user by a provider hear of both: who they are, and by what they log in.
func TestUpgradeByProviderIsTold(t *testing.T) {
	s := startSSO(t)
	var told []im.Event
	s.options.Drive = func(ctx context.Context, c im.ConversationID) error {
		p, err := s.db.PendingOf(ctx, c)
		for _, one := range p {
			told = append(told, one.Event)
		}
		return err
	}
	s.restart()
	must(s.become(must(s.guest("Gus")), s.back(), ""))
	if len(told) != 2 || told[0].Type != im.EventProfileChanged || told[1].Type != im.EventSecurityChanged || told[1].Text != "identity_linked" {
		t.Errorf("told: %+v", told)
	}
}
