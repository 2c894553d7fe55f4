package account_test

import (
	"strings"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/account"
	"github.com/skein-im/skein/internal/im"
)

func someGuests(o *account.Options) { o.MaxGuests = 3 }

func (f *fixture) guest(name string) (account.Tokens, error) {
	return f.RegisterGuest(f.t.Context(), home, account.Guesting{DisplayName: name})
}

func (f *fixture) isGuest(id im.UserID) bool {
	f.t.Helper()
	return must(f.IsGuest(f.t.Context(), id))
}

// Guests are taken where the deployment says so, as many as it says, with a session that is
// prolonged, and nobody finds them.
func TestGuests(t *testing.T) {
	f := start(t)
	_, err := f.guest("Gus")
	want(t, err, im.CodePermissionDenied)

	f = start(t, someGuests, func(o *account.Options) { o.OpenRegistration = false })
	ann := must(f.CreateUser(t.Context(), account.Registration{Username: "ann", Password: password}))
	_, err = f.guest(" ")
	want(t, err, im.CodeInvalidArgument)
	_, err = f.guest(long(65))
	want(t, err, im.CodeTooLarge)
	gus := must(f.guest("Gus"))
	if gus.Refresh == "" || !strings.HasPrefix(string(gus.User), im.GuestPrefix) || !f.isGuest(gus.User) || f.isGuest(ann.ID) {
		t.Errorf("the guest is %+v", gus)
	}
	f.good(must(f.Refresh(t.Context(), gus.Refresh)).Access)
	if found, _, err := f.SearchUsers(t.Context(), im.Actor{User: ann.ID}, "gus", "", 0); err != nil || len(found) != 0 {
		t.Errorf("found %v, %v", found, err)
	}
	must(f.guest("Gus")) // a name is nobody's alone
	must(f.guest("Ida"))
	_, err = f.guest("Jo")
	want(t, err, im.CodeTooLarge)
	guests, next, err := f.ListUsers(t.Context(), im.AccountQuery{Limit: 2, Guests: true})
	if err != nil || len(guests) != 2 || next == "" || !guests[0].Guest || guests[0].Username != "" {
		t.Errorf("the guests are %+v, %q, %v", guests, next, err)
	}
	all, _, _ := f.ListUsers(t.Context(), im.AccountQuery{})
	if len(all) != 4 {
		t.Errorf("all are %+v", all)
	}
}

// What an address registers, guests or users, is counted together.
func TestGuestsOfAnAddress(t *testing.T) {
	f := start(t, func(o *account.Options) { o.MaxGuests, o.RegistrationsPerHour = 100, 2 })
	must(f.guest("Gus"))
	f.register("ann", phone("p"))
	_, err := f.guest("Ida")
	want(t, err, im.CodeRateLimited)
}

// A repeat with the key of a guest is the same guest.
func TestGuestRepeated(t *testing.T) {
	f := start(t, someGuests)
	g := account.Guesting{DisplayName: "Gus", Key: sum("a key of the test")}
	first := must(f.RegisterGuest(t.Context(), home, g))
	again := must(f.RegisterGuest(t.Context(), home, g))
	if first.User != again.User || first.Session == again.Session {
		t.Errorf("%+v, then %+v", first, again)
	}
	f.good(first.Access)
	f.good(again.Access)
}

// A guest becomes a user: same id, sessions stay; and logs in by the password.
func TestUpgradeGuest(t *testing.T) {
	f := start(t, someGuests)
	f.register("ann", phone("p"))
	gus := must(f.guest("Gus"))
	up := func(as account.Tokens, name string) error {
		_, err := f.UpgradeGuest(t.Context(), actorOf(as), account.Upgrade{Username: name, Password: password})
		return err
	}
	want(t, up(gus, "x"), im.CodeInvalidArgument)
	want(t, up(gus, "ann"), im.CodeAlreadyExists)
	if !f.isGuest(gus.User) {
		t.Error("who was refused is no guest any more")
	}
	u, err := f.UpgradeGuest(t.Context(), actorOf(gus), account.Upgrade{Username: "Gus", Password: password})
	if err != nil || u.ID != gus.User || u.Username != "gus" || u.DisplayName != "Gus" || u.Guest || f.isGuest(gus.User) {
		t.Errorf("the user is %+v, %v", u, err)
	}
	f.good(gus.Access)
	if in := f.login("gus", phone("q")); in.User != gus.User {
		t.Errorf("logged in as %s, want %s", in.User, gus.User)
	}
	if found, err := f.FindUser(t.Context(), "", "gus"); err != nil || found.ID != gus.User {
		t.Errorf("found %v, %v", found, err)
	}
	want(t, up(gus, "gus"), "") // the answer was lost
	want(t, up(gus, "gustav"), im.CodePermissionDenied)
	_, err = f.UpgradeGuest(t.Context(), actorOf(gus), account.Upgrade{Username: "gus", Password: "wrong horse"})
	want(t, err, im.CodePermissionDenied)
	want(t, up(f.login("ann", phone("p")), "ann"), im.CodePermissionDenied)
}

// Who may not register may not become a user either.
func TestUpgradeObeysRegistration(t *testing.T) {
	f := start(t, someGuests, func(o *account.Options) { o.OpenRegistration = false })
	gus := must(f.guest("Gus"))
	_, err := f.UpgradeGuest(t.Context(), actorOf(gus), account.Upgrade{Username: "gus", Password: password})
	want(t, err, im.CodePermissionDenied)

	f = start(t, someGuests, invited)
	gus, ida := must(f.guest("Gus")), must(f.guest("Ida"))
	_, code, err := f.CreateRegistrationLink(t.Context(), "", 1, 0)
	want(t, err, "")
	up := account.Upgrade{Username: "gus", Password: password}
	_, err = f.UpgradeGuest(t.Context(), actorOf(gus), up)
	want(t, err, im.CodePermissionDenied)
	up.Invitation = code
	must(f.UpgradeGuest(t.Context(), actorOf(gus), up))
	must(f.UpgradeGuest(t.Context(), actorOf(gus), up)) // a repeat uses nothing up
	up.Username = "ida"
	_, err = f.UpgradeGuest(t.Context(), actorOf(ida), up)
	want(t, err, im.CodePermissionDenied)

	// A link of before lets nobody in once registration is closed.
	_, up.Invitation, err = f.CreateRegistrationLink(t.Context(), "", 1, 0)
	want(t, err, "")
	must(f.SetInfo(t.Context(), account.SettingsChange{Registration: im.RegistrationClosed}))
	_, err = f.UpgradeGuest(t.Context(), actorOf(ida), up)
	want(t, err, im.CodePermissionDenied)
}

// Of guests who want one name at once one gets it.
func TestUpgradeRaced(t *testing.T) {
	f := start(t, someGuests)
	all := []account.Tokens{must(f.guest("a")), must(f.guest("b")), must(f.guest("c"))}
	oneWins(t, race(3, func(i int) error {
		_, err := f.UpgradeGuest(background, actorOf(all[i]), account.Upgrade{Username: "gus", Password: password})
		return err
	}), im.CodeAlreadyExists)
}

// A guest whom nobody saw for the time is deleted; who came, or is a user by now, is not.
func TestUnseenGuestsAreErased(t *testing.T) {
	f := start(t, func(o *account.Options) { o.MaxGuests, o.GuestLife = 10, 48*time.Hour })
	gone, came, user := must(f.guest("Gus")), must(f.guest("Ida")), must(f.guest("Jo"))
	must(f.UpgradeGuest(t.Context(), actorOf(user), account.Upgrade{Username: "jo1", Password: password}))
	f.clock.Advance(12 * time.Hour)
	if _, err := f.hello(came.Access, "c1", phone("p")); err != nil {
		t.Fatal(err)
	}
	f.restart() // writes that she came
	f.clock.Advance(36 * time.Hour)
	want(t, f.EraseUnseen(t.Context()), "")
	if !f.isGuest(gone.User) {
		t.Error("a guest was deleted in time")
	}
	f.clock.Advance(time.Millisecond)
	want(t, f.EraseUnseen(t.Context()), "")
	f.bad(gone.Access, im.CodeAccountDeleted)
	if f.isGuest(gone.User) || !f.isGuest(came.User) {
		t.Errorf("guests: %v, %v; want the second alone", f.isGuest(gone.User), f.isGuest(came.User))
	}
	users := must(f.Users(t.Context(), []im.UserID{user.User}))
	if len(users) != 1 || users[0].Deleted {
		t.Errorf("the user is %+v", users)
	}
	if n := must(f.db.CountGuests(t.Context())); n != 1 {
		t.Errorf("%d guests, want 1", n)
	}
}
