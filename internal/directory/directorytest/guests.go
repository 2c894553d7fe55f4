package directorytest

import (
	"slices"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// guests: who is one is counted and listed, gone when not seen since a time, and a user after
// the one step that makes them one.
func guests(a *accounts) {
	ctx := a.Context()
	a.user("u1")
	for _, id := range []im.UserID{"guest-a", "guest-b", "guest-c"} {
		a.ok(a.db.CreateUser(ctx, im.Credentials{User: im.User{ID: id, DisplayName: "G", DMPolicy: im.DMContacts, FindPolicy: im.FindNobody, Guest: true, Created: start()}}))
	}
	a.session("guest-b", "s1")
	a.ok(a.db.SessionsSeen(ctx, []im.SessionSeen{{Session: "s1", At: start().Add(time.Hour)}}))
	if n := get(a.db.CountGuests(ctx)); n != 3 {
		a.Errorf("%d guests", n)
	}
	if page := get(a.db.ListUsers(ctx, im.AccountQuery{After: "guest-a", Limit: 1, Guests: true})); len(page) != 1 || page[0].ID != "guest-b" || !page[0].Guest {
		a.Errorf("page %+v", page)
	}
	unseen := func(since time.Time, want ...im.UserID) {
		a.Helper()
		if got := get(a.db.UnseenGuests(ctx, since, 10)); !slices.Equal(got, want) {
			a.Errorf("unseen since %v: %v, want %v", since, got, want)
		}
	}
	unseen(start())
	unseen(start().Add(time.Hour), "guest-a", "guest-c")
	unseen(start().Add(time.Hour+1e6), "guest-a", "guest-b", "guest-c")

	up := im.GuestUpgrade{User: "guest-a", Username: "name_u1", PasswordHash: "hash", FindPolicy: im.FindContacts, At: start()}
	_, err := a.db.UpgradeGuest(ctx, up)
	a.code(err, im.CodeAlreadyExists)
	up.Username, up.Invitation = "gus", []byte("none")
	_, err = a.db.UpgradeGuest(ctx, up)
	a.code(err, im.CodePermissionDenied)
	up.Invitation = nil
	if u := get(a.db.UpgradeGuest(ctx, up)); u.ID != "guest-a" || u.Username != "gus" || u.Guest {
		a.Errorf("upgraded: %+v", u)
	}
	if c := get(a.db.UserByName(ctx, "gus")); c.ID != "guest-a" || c.PasswordHash != "hash" || c.FindPolicy != im.FindContacts || c.Guest {
		a.Errorf("stored: %+v", c)
	}
	_, err = a.db.UpgradeGuest(ctx, up)
	a.code(err, im.CodePermissionDenied)

	// By an identity: of two with one subject one becomes a user, and the other's row is as it was.
	who := im.Identity{ID: "i1", User: "guest-b", Provider: "corp", Issuer: "https://sso.example", Subject: "sub", Username: "b", Created: start(), LastUsed: start()}
	by := im.GuestUpgrade{User: "guest-b", Username: "bea", FindPolicy: im.FindAnyone, Identity: &who, At: start()}
	a.ok(a.db.CreateUser(ctx, im.Credentials{User: im.User{ID: "guest-d", DisplayName: "G", Guest: true, Created: start().Add(3 * time.Hour)}}))
	second := by
	second.User, second.Username = "guest-d", "dee"
	other := who
	other.ID, other.User, second.Identity = "i2", "guest-d", &other
	if u := get(a.db.UpgradeGuest(ctx, second)); u.Guest || u.Username != "dee" {
		a.Errorf("upgraded by an identity: %+v", u)
	}
	_, err = a.db.UpgradeGuest(ctx, by)
	a.code(err, im.CodeAlreadyExists)
	if u := get(a.db.Users(ctx, []im.UserID{"guest-b"})); len(u) != 1 || !u[0].Guest || u[0].Username != "" {
		a.Errorf("who was refused: %+v", u)
	}
	if i := get(a.db.IdentityOf(ctx, who.Issuer, "sub")); i.User != "guest-d" {
		a.Errorf("the identity is %+v", i)
	}

	// Who is a user by now, or was seen, is not deleted as an unseen guest.
	order := im.ErasureOrder{At: start().Add(2 * time.Hour), IfUnseen: start().Add(time.Hour)}
	for id, want := range map[im.UserID]im.Code{"guest-a": im.CodeConflict, "guest-b": im.CodeConflict, "guest-c": ""} {
		order.User = id
		_, _, err := a.db.BeginErasure(ctx, order)
		a.code(err, want)
	}
	if n := get(a.db.CountGuests(ctx)); n != 1 {
		a.Errorf("%d guests after all", n)
	}
	guest, share, err := a.db.GuestMay(ctx, "guest-b", "u1")
	if a.ok(err); !guest || share {
		a.Errorf("guest %v, share %v", guest, share)
	}
	if guest, _, err := a.db.GuestMay(ctx, "guest-a", "u1"); err != nil || guest {
		a.Errorf("who is a user: guest %v, %v", guest, err)
	}
}
