package account_test

import (
	"testing"

	"github.com/skein-im/skein/internal/account"
	"github.com/skein-im/skein/internal/im"
)

// Nobody takes a username that looks like another one's, or that is reserved; an
// administrator gives them all the same, and who has a name may spell it anew.
func TestUsernamesThatLookAlike(t *testing.T) {
	f := start(t, func(o *account.Options) { o.ReservedNames = []string{"acme"} })
	paul := f.register("paul.smith", phone("d1"))
	register := func(name string) error {
		_, err := f.Register(background, home, account.Registration{Username: name, Password: password})
		return err
	}
	for _, name := range []string{"pau1.smith", "paul_smith", "Paul-Smith", "paul.srnith", "admin", "r00t", "every-one", "acme", "A.C.M.E"} {
		want(t, register(name), im.CodeAlreadyExists)
	}
	for _, name := range []string{"paul.smyth", "paulsmith", "rooty"} {
		if err := register(name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	eve := f.register("eve", phone("d1"))
	rename := func(who account.Tokens, name string) error {
		_, err := f.ChangeUsername(background, im.Actor{User: who.User, Address: home}, name, password)
		return err
	}
	want(t, rename(eve, "pau1.smith"), im.CodeAlreadyExists)
	want(t, rename(eve, "support"), im.CodeAlreadyExists)
	if err := rename(paul, "paul_smith"); err != nil {
		t.Errorf("one's own name, spelt anew: %v", err)
	}
}

// An administrator gives names that are reserved, and none that look like another one's: who
// gets it could be taken for who has that, whoever gave it. What is no username is refused to
// them as to all.
func TestNamesThatAdministratorsGive(t *testing.T) {
	f := start(t)
	f.register("paul.smith", phone("d1"))
	eve := f.register("eve", phone("d1"))
	create := func(name string) error {
		_, err := f.CreateUser(background, account.Registration{Username: name, Password: password})
		return err
	}
	give := func(name string) error {
		_, err := f.SetUsername(background, eve.User, name)
		return err
	}
	register := func(name string) error {
		_, err := f.Register(background, home, account.Registration{Username: name, Password: password})
		return err
	}
	for _, name := range []string{"pau1.smith", "paul_smith", "paul.srnith", "paul.smith", "ab", "p\u0430ul", "two words"} {
		refused := register(name)
		if refused == nil {
			t.Fatalf("%s can be registered", name)
		}
		for by, err := range map[string]error{"made": create(name), "given": give(name)} {
			if im.CodeOf(err) != im.CodeOf(refused) || err.Error() != refused.Error() {
				t.Errorf("%s, %s: %v, registered: %v", name, by, err, refused)
			}
		}
	}
	if err := create("support"); err != nil {
		t.Errorf("a reserved name for a new user: %v", err)
	}
	for _, name := range []string{"root", "r00t", "r00t", "eve"} { // the second looks like their own
		if err := give(name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	want(t, give("supp0rt"), im.CodeAlreadyExists) // reserved, and another one has one like it
	// Of before there was that rule: who has such a name keeps it, and is given it again.
	if err := f.db.CreateUser(background, im.Credentials{User: im.User{ID: "old", Username: "paul-smith", DisplayName: "Paul", Created: f.clock.Now()}}); err != nil {
		t.Fatal(err)
	}
	if _, err := f.SetUsername(background, "old", "Paul-Smith"); err != nil {
		t.Errorf("the name that they have: %v", err)
	}
	f.login("eve", phone("d2"))
}

// Who is no administrator is not shown as the server, or as everybody.
func TestReservedDisplayNames(t *testing.T) {
	f := start(t, func(o *account.Options) { o.MaxGuests = 5 })
	for _, name := range []string{"Admin", "\uff33\uff55\uff50\uff50\uff4f\uff52\uff54", "\u0410DMIN", "everyone"} {
		_, err := f.Register(background, home, account.Registration{Username: "eve", Password: password, DisplayName: name})
		want(t, err, im.CodeInvalidArgument)
		_, err = f.guest(name)
		want(t, err, im.CodeInvalidArgument)
	}
	eve := f.register("eve", phone("d1"))
	name := "Support"
	_, err := f.UpdateProfile(background, im.Actor{User: eve.User}, im.ProfileChange{DisplayName: &name})
	want(t, err, im.CodeInvalidArgument)
	if _, err = f.UpdateProfile(background, im.Actor{User: eve.User, Role: im.ServerAdmin}, im.ProfileChange{DisplayName: &name}); err != nil {
		t.Errorf("an administrator: %v", err)
	}
	mixed := "P\u0430ul"
	_, err = f.UpdateProfile(background, im.Actor{User: eve.User, Role: im.ServerAdmin}, im.ProfileChange{DisplayName: &mixed})
	want(t, err, im.CodeInvalidArgument)
}
