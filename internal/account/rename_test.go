package account_test

import (
	"strings"
	"testing"

	"github.com/skein-im/skein/internal/account"
	"github.com/skein-im/skein/internal/im"
)

// Who changes the username is found by the new one, and nobody else gets the old one for a while.
func TestRename(t *testing.T) {
	f := start(t)
	ann, bob := f.register("ann", phone("a1")), f.register("bob", phone("b1"))
	_, err := f.ChangeUsername(background, actorOf(ann), "Ann.Lee", "wrong horse")
	want(t, err, im.CodeBadCredentials)
	_, err = f.ChangeUsername(background, actorOf(ann), "bob", password)
	want(t, err, im.CodeAlreadyExists)
	u, err := f.ChangeUsername(background, actorOf(ann), "Ann.Lee", password)
	if err != nil || u.Username != "ann.lee" || u.ID != ann.User {
		t.Fatal(u, err)
	}
	f.good(ann.Access)
	f.login("ann.lee", phone("a1"))
	if _, err := f.FindUser(background, "", "ann"); im.CodeOf(err) != im.CodeNotFound {
		t.Errorf("the old name is found: %v", err)
	}
	// The old name tells who knows the password what happened, and nobody else anything.
	_, err = f.Login(background, home, account.Credentials{Username: "ann", Password: password})
	if im.CodeOf(err) != im.CodeBadCredentials || !strings.Contains(im.Public(err).Message, "ann.lee") {
		t.Errorf("by the old name: %v", err)
	}
	_, err = f.Login(background, home, account.Credentials{Username: "ann", Password: "wrong horse"})
	if im.CodeOf(err) != im.CodeBadCredentials || strings.Contains(im.Public(err).Message, "ann.lee") {
		t.Errorf("by the old name without the password: %v", err)
	}
	// It is held: nobody registers it, takes it, or is given it.
	_, err = f.Register(background, home, account.Registration{Username: "ann", Password: password})
	want(t, err, im.CodeAlreadyExists)
	_, err = f.ChangeUsername(background, actorOf(bob), "ann", password)
	want(t, err, im.CodeAlreadyExists)
	_, err = f.SetUsername(background, bob.User, "ann")
	want(t, err, im.CodeAlreadyExists)
	// Once in 30 days, by the user; whenever, by an administrator.
	_, err = f.ChangeUsername(background, actorOf(ann), "ann.silva", password)
	if im.CodeOf(err) != im.CodeRateLimited || im.Public(err).RetryAfter != account.RenameEvery {
		t.Errorf("again: %v", err)
	}
	if _, err := f.SetUsername(background, ann.User, "ann.silva"); err != nil {
		t.Error(err)
	}
	if _, err := f.SetUsername(background, ann.User, "ann"); err != nil {
		t.Errorf("her own name of before: %v", err)
	}
	f.login("ann", phone("a1"))
	_, err = f.SetUsername(background, "nobody", "somebody")
	want(t, err, im.CodeNotFound)
	f.clock.Advance(account.NameHeld)
	if _, err := f.Register(background, home, account.Registration{Username: "ann.silva", Password: password}); err != nil {
		t.Errorf("a name that is held no more: %v", err)
	}
	if _, err := f.ChangeUsername(background, actorOf(ann), "ann-again", password); err != nil {
		t.Errorf("after 30 days: %v", err)
	}
}

// Of many who want one name at once one gets it, on both stores.
func TestRenameRaced(t *testing.T) {
	two(t, func(t *testing.T, a, b *fixture, _ *logged) {
		var users []im.UserID
		for _, name := range []string{"u-1", "u-2", "u-3", "u-4", "u-5", "u-6"} {
			users = append(users, a.register(name, phone("p")).User)
		}
		oneWins(t, race(len(users), func(i int) error {
			_, err := []*fixture{a, b}[i%2].SetUsername(background, users[i], "wanted")
			return err
		}), im.CodeAlreadyExists)
		if u, err := a.FindUser(background, "", "wanted"); err != nil {
			t.Error(u, err)
		}
	})
}
