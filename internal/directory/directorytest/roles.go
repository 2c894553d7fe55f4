package directorytest

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// serverRoles: each is kept and told with the tokens; guests and deleted users have none,
// and the last owner who can come in stays one.
func serverRoles(a *accounts) {
	ctx := a.Context()
	for _, id := range []string{"u1", "u2"} {
		a.user(id)
	}
	a.session("u1", "s1")
	for role := im.ServerUser; role <= im.ServerOwner; role++ {
		a.ok(a.db.SetRole(ctx, "u1", role))
		if got := get(a.db.UserCredentials(ctx, "u1")).Role; got != role {
			a.Errorf("%s is kept as %s", role, got)
		}
		if got := get(a.db.TokenByHash(ctx, hashOf("as1"))).Role; got != role {
			a.Errorf("%s is told as %s", role, got)
		}
	}
	a.code(a.db.SetRole(ctx, "nobody", im.ServerAdmin), im.CodeNotFound)
	a.code(a.db.SetRole(ctx, "u1", im.ServerAdmin), im.CodePermissionDenied)
	_, _, err := a.db.BeginErasure(ctx, im.ErasureOrder{User: "u1", At: start()})
	a.code(err, im.CodePermissionDenied)
	a.ok(a.db.SetRole(ctx, "u1", im.ServerOwner)) // it is so
	// Another owner who cannot come in is none to leave it to.
	a.ok(a.db.SetRole(ctx, "u2", im.ServerOwner))
	yes := true
	_, _, err = a.db.Bar(ctx, im.BarChange{User: "u2", By: im.ServerOwner, Disable: &yes, At: start()})
	a.ok(err)
	a.code(a.db.SetRole(ctx, "u1", im.ServerUser), im.CodePermissionDenied)
	no := false
	_, _, err = a.db.Bar(ctx, im.BarChange{User: "u2", By: im.ServerOwner, Disable: &no, At: start()})
	a.ok(err)
	a.ok(a.db.SetRole(ctx, "u1", im.ServerUser))
	_, _, err = a.db.Bar(ctx, im.BarChange{User: "u2", By: im.ServerOwner, Ban: &yes, At: start()})
	a.code(err, im.CodePermissionDenied)

	a.ok(a.db.CreateUser(ctx, im.Credentials{User: im.User{ID: "guest-a", DisplayName: "G", Guest: true, Created: start()}}))
	a.code(a.db.SetRole(ctx, "guest-a", im.ServerAuditor), im.CodePermissionDenied)
	_, _, err = a.db.BeginErasure(ctx, im.ErasureOrder{User: "u1", At: start()})
	a.ok(err)
	a.code(a.db.SetRole(ctx, "u1", im.ServerAdmin), im.CodeAccountDeleted)
	_, _, err = a.db.Bar(ctx, im.BarChange{User: "u1", By: im.ServerOwner, Ban: &yes, At: start()})
	a.code(err, im.CodeAccountDeleted)
}

// serverRolesRaced: of owners who give up being one at once, one stays.
func serverRolesRaced(a *accounts) {
	for i := range 4 {
		owner := someone(fmt.Sprint("u", i))
		owner.Role = im.ServerOwner
		a.ok(a.db.CreateUser(a.Context(), owner))
	}
	refused := 0
	errs := make(chan error, 4)
	for i := range 4 {
		go func() { errs <- a.db.SetRole(context.Background(), im.UserID(fmt.Sprint("u", i)), im.ServerUser) }()
	}
	for range 4 {
		// Those who wait for each other may all be told to come again.
		if err := <-errs; err != nil {
			refused++
		}
	}
	owners := get(a.db.ListUsers(a.Context(), im.AccountQuery{Limit: 10, WithRole: true}))
	if len(owners) != refused || refused == 0 {
		a.Errorf("%d were refused, and %d are owners", refused, len(owners))
	}
}

// barred: nobody comes in who is banned or disabled, until that is over; sessions, and what
// wakes devices, are gone.
func barred(a *accounts) {
	ctx := a.Context()
	u := a.user("u1")
	a.session("u1", "s1")
	a.session("u1", "s2")
	yes, no := true, false
	ban := im.BarChange{User: "u1", By: im.ServerModerator, Ban: &yes, Until: start().Add(time.Hour), Reason: "späm", At: start()}
	missing := ban
	missing.User = "nobody"
	_, _, err := a.db.Bar(ctx, missing)
	a.code(err, im.CodeNotFound)
	got, ended, err := a.db.Bar(ctx, ban)
	a.ok(err)
	want := im.Barred{Banned: true, Until: start().Add(time.Hour), Reason: "späm"}
	if slices.Sort(ended); !slices.Equal(ended, []im.SessionID{"s1", "s2"}) || !sameBarred(got.Barred, want) {
		a.Errorf("ended %v, barred %+v", ended, got.Barred)
	}
	if c := get(a.db.UserByName(ctx, u.Username)); !sameBarred(c.Barred, want) || c.PasswordHash != u.PasswordHash {
		a.Errorf("kept: %+v", c)
	}
	if tok := get(a.db.TokenByHash(ctx, hashOf("as1"))); !sameBarred(tok.Barred, want) || tok.Ended.IsZero() {
		a.Errorf("told: %+v", tok)
	}
	late := opening("u1", "s3")
	a.code(a.db.OpenSession(ctx, late), im.CodeBanned)
	minted, again := opening("u1", "s3"), someone("u1")
	again.Username = ""
	minted.Create, minted.KeepExisting = &again, true
	a.code(a.db.OpenSession(ctx, minted), im.CodeBanned)
	late.Session.Created = start().Add(time.Hour)
	a.ok(a.db.OpenSession(ctx, late))

	// Disabled and banned at once; one ends, the other holds.
	forever := im.BarChange{User: "u1", By: im.ServerAdmin, Ban: &yes, Disable: &yes, At: start()}
	_, ended, err = a.db.Bar(ctx, forever)
	a.ok(err)
	if !slices.Equal(ended, []im.SessionID{"s3"}) {
		a.Errorf("ended %v", ended)
	}
	got, _, err = a.db.Bar(ctx, im.BarChange{User: "u1", By: im.ServerAdmin, Ban: &no, At: start()})
	a.ok(err)
	if !sameBarred(got.Barred, im.Barred{Disabled: true}) {
		a.Errorf("barred %+v", got.Barred)
	}
	a.code(a.db.OpenSession(ctx, opening("u1", "s4")), im.CodeBanned)
	_, _, err = a.db.Bar(ctx, im.BarChange{User: "u1", By: im.ServerAdmin, Disable: &no, At: start()})
	a.ok(err)
	a.ok(a.db.OpenSession(ctx, opening("u1", "s4")))

	// Nobody acts on who has no lesser role.
	a.ok(a.db.SetRole(ctx, "u1", im.ServerModerator))
	for by, code := range map[im.ServerRole]im.Code{im.ServerModerator: im.CodePermissionDenied, im.ServerAuditor: im.CodePermissionDenied, im.ServerAdmin: "", im.ServerOwner: ""} {
		_, _, err = a.db.Bar(ctx, im.BarChange{User: "u1", By: by, Disable: &no, At: start()})
		a.code(err, code)
	}
}

func sameBarred(a, b im.Barred) bool {
	return a.Disabled == b.Disabled && a.Banned == b.Banned && a.Until.Equal(b.Until) && a.Reason == b.Reason
}

// accountsListed: by the beginning of a name or the whole id, by state, by role, in pages.
func accountsListed(a *accounts) {
	ctx := a.Context()
	for i := range 6 {
		c := someone(fmt.Sprint("u", i))
		c.DisplayName = []string{"Anna", "ÄNNE", "Ben", "Änna Ö", "Cem", "Dora"}[i]
		a.ok(a.db.CreateUser(ctx, c))
	}
	a.session("u0", "s1")
	a.session("u0", "s2")
	a.ok(a.db.SetRole(ctx, "u1", im.ServerModerator))
	yes := true
	_, _, err := a.db.Bar(ctx, im.BarChange{User: "u2", By: im.ServerOwner, Ban: &yes, Until: start().Add(time.Hour), At: start()})
	a.ok(err)
	_, _, err = a.db.Bar(ctx, im.BarChange{User: "u3", By: im.ServerOwner, Disable: &yes, At: start()})
	a.ok(err)
	_, _, err = a.db.BeginErasure(ctx, im.ErasureOrder{User: "u4", At: start()})
	a.ok(err)
	list := func(q im.AccountQuery, want ...im.UserID) []im.AccountInfo {
		a.Helper()
		if q.Limit == 0 {
			q.Limit = 10
		}
		if q.Now.IsZero() {
			q.Now = start()
		}
		got := get(a.db.ListUsers(ctx, q))
		var ids []im.UserID
		for i := range got {
			ids = append(ids, got[i].ID)
		}
		if !slices.Equal(ids, want) {
			a.Errorf("%+v: %v, want %v", q, ids, want)
		}
		return got
	}
	all := list(im.AccountQuery{Limit: 2}, "u0", "u1")
	if u := all[0]; u.Sessions != 2 || !u.Password || u.SecondFactor || !u.LastSeen.Equal(start()) || u.State(start()) != im.AccountActive || u.StorageBytes != 0 {
		a.Errorf("u0: %+v", u)
	}
	list(im.AccountQuery{After: "u1", Limit: 2}, "u2", "u3")
	list(im.AccountQuery{Query: "än"}, "u1", "u3")
	list(im.AccountQuery{Query: "NAME_U0"}, "u0")
	list(im.AccountQuery{Query: "u5"}, "u5")
	list(im.AccountQuery{Query: "name_", After: "u2"}, "u3", "u5")
	list(im.AccountQuery{WithRole: true}, "u1")
	list(im.AccountQuery{Guests: true})
	list(im.AccountQuery{State: im.AccountBanned}, "u2")
	list(im.AccountQuery{State: im.AccountBanned, Now: start().Add(time.Hour)})
	list(im.AccountQuery{State: im.AccountDisabled}, "u3")
	list(im.AccountQuery{State: im.AccountDeleted}, "u4")
	list(im.AccountQuery{State: im.AccountActive}, "u0", "u1", "u5")
	list(im.AccountQuery{State: im.AccountActive, Now: start().Add(time.Hour)}, "u0", "u1", "u2", "u5")
}
