package directorytest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/skein-im/skein/internal/im"
)

func userRoundTrip(a *accounts) {
	c := someone("u1")
	c.Role, c.DMPolicy = im.ServerAdmin, im.DMEveryone
	a.ok(a.db.CreateUser(a.Context(), c))
	for _, got := range []im.Credentials{get(a.db.UserByName(a.Context(), "name_u1")), get(a.db.UserCredentials(a.Context(), "u1"))} {
		if !sameUser(got.User, c.User) || got.PasswordHash != c.PasswordHash {
			a.Errorf("got %+v, want %+v", got, c)
		}
	}
	for _, name := range []string{"", "NAME_u1", "name_u", "' OR 1=1 --"} {
		_, err := a.db.UserByName(a.Context(), name)
		a.code(err, im.CodeNotFound)
	}
	_, err := a.db.UserCredentials(a.Context(), "u2")
	a.code(err, im.CodeNotFound)
	// Users without a name and a password, any number of them.
	for _, id := range []im.UserID{"m1", "m2"} {
		a.ok(a.db.CreateUser(a.Context(), im.Credentials{User: im.User{ID: id, DisplayName: "M", DMPolicy: im.DMContacts, Created: start()}}))
		if got := get(a.db.UserCredentials(a.Context(), id)); got.Username != "" || got.PasswordHash != "" || got.Role != im.ServerUser {
			a.Errorf("got %+v", got)
		}
	}
	_, err = a.db.UserByName(a.Context(), "")
	a.code(err, im.CodeNotFound)
}

func userConflicts(a *accounts) {
	a.user("u1")
	name, id := someone("u2"), someone("u1")
	name.Username, id.Username = "name_u1", "another"
	a.code(a.db.CreateUser(a.Context(), name), im.CodeAlreadyExists)
	a.code(a.db.CreateUser(a.Context(), id), im.CodeConflict)
	if got := get(a.db.UserCredentials(a.Context(), "u1")); !sameUser(got.User, someone("u1").User) {
		a.Errorf("the first user is %+v now", got)
	}
}

func userNameRaced(a *accounts) {
	winner := a.once(8, im.CodeAlreadyExists, func(i int) error {
		c := someone(fmt.Sprint("u", i))
		c.Username = "name"
		return a.db.CreateUser(context.Background(), c)
	})
	if got := get(a.db.UserByName(a.Context(), "name")); got.ID != im.UserID(fmt.Sprint("u", winner)) {
		a.Errorf("u%d won, the name is %s's", winner, got.ID)
	}
}

func manyUsers(a *accounts) {
	a.user("u1")
	a.user("u2")
	ids := []im.UserID{"u1", "u2", "u2"}
	for i := range 1200 {
		ids = append(ids, im.UserID(fmt.Sprint("nobody", i)))
	}
	ids = append(ids, "u1")
	seen := map[im.UserID]bool{}
	for _, u := range get(a.db.Users(a.Context(), ids)) {
		seen[u.ID] = true
	}
	if len(seen) != 2 || !seen["u1"] || !seen["u2"] {
		a.Errorf("got %v", seen)
	}
	if none := get(a.db.Users(a.Context(), nil)); len(none) != 0 {
		a.Errorf("got %v for nobody", none)
	}
}

func userPages(a *accounts) {
	var want []im.UserID
	for i := range 7 {
		want = append(want, a.user(fmt.Sprint("u", (i*3)%7)).ID)
	}
	slices.Sort(want)
	var got []im.UserID
	for after := im.UserID(""); ; after = got[len(got)-1] {
		page := get(a.db.ListUsers(a.Context(), im.AccountQuery{After: after, Limit: 3}))
		for _, u := range page {
			got = append(got, u.ID)
		}
		if len(page) < 3 {
			break
		}
	}
	if !slices.Equal(got, want) {
		a.Errorf("got %v, want %v", got, want)
	}
}

func updateUser(a *accounts) {
	before := a.user("u1").User
	a.user("u2")
	name, empty := "new näme", ""
	for _, c := range []struct {
		name   *string
		policy im.DMPolicy
		change func(*im.User)
	}{
		{nil, 0, func(*im.User) {}},
		{&name, 0, func(u *im.User) { u.DisplayName = name }},
		{nil, im.DMEveryone, func(u *im.User) { u.DMPolicy = im.DMEveryone }},
		{&empty, im.DMContacts, func(u *im.User) { u.DisplayName, u.DMPolicy = "", im.DMContacts }},
	} {
		c.change(&before)
		if got := get(a.db.UpdateUser(a.Context(), "u1", im.ProfileChange{DisplayName: c.name, DM: c.policy})); !sameUser(got, before) {
			a.Errorf("got %+v, want %+v", got, before)
		}
		if got := get(a.db.UserCredentials(a.Context(), "u1")); !sameUser(got.User, before) || got.PasswordHash != "hash of u1" {
			a.Errorf("got %+v, want %+v", got, before)
		}
	}
	if got := get(a.db.UserCredentials(a.Context(), "u2")); !sameUser(got.User, someone("u2").User) {
		a.Errorf("the other user is %+v now", got)
	}
	_, err := a.db.UpdateUser(a.Context(), "nobody", im.ProfileChange{DisplayName: &name})
	a.code(err, im.CodeNotFound)

	// A notice is promised with a change, and with nothing else.
	notice := func(n byte) im.Promise {
		return im.Promise{ID: im.NewMessageID(time.UnixMilli(1), [10]byte{n}), Conversation: im.Me("u1"), Sender: "u1", Event: im.Event{Type: im.EventProfileChanged}}
	}
	another := "another"
	for n, policy := range []im.DMPolicy{0, 0, im.DMEveryone, im.DMEveryone} {
		get(a.db.UpdateUser(a.Context(), "u1", im.ProfileChange{DisplayName: &another, DM: policy}, notice(byte(n))))
	}
	waiting := get(a.db.PendingOf(a.Context(), im.Me("u1")))
	if len(waiting) != 2 || waiting[0].ID != notice(0).ID || waiting[1].ID != notice(2).ID {
		a.Errorf("promised %+v", waiting)
	}
}

func replacePasswordHash(a *accounts) {
	a.user("u1")
	a.session("u1", "s1")
	if get(a.db.ReplacePasswordHash(a.Context(), "u1", "wrong", "new")) {
		a.Error("replaced what was not there")
	}
	if get(a.db.ReplacePasswordHash(a.Context(), "nobody", "", "new")) {
		a.Error("replaced nobody's")
	}
	if !get(a.db.ReplacePasswordHash(a.Context(), "u1", "hash of u1", "new")) {
		a.Error("not replaced")
	}
	if got := get(a.db.UserCredentials(a.Context(), "u1")); got.PasswordHash != "new" || a.ended("s1") {
		a.Errorf("got %+v, session ended: %v", got, a.ended("s1"))
	}
}

func changePassword(a *accounts) {
	a.user("u1")
	a.user("u2")
	a.session("u1", "s1")
	a.session("u1", "s2")
	a.session("u1", "s3")
	a.session("u2", "other")
	_, err := a.db.ChangePassword(a.Context(), "u1", "wrong", "new", "s1", start())
	a.code(err, im.CodeConflict)
	if a.ended("s2") || a.ended("s3") {
		a.Error("a refused change ended sessions")
	}
	ended := get(a.db.ChangePassword(a.Context(), "u1", "hash of u1", "new", "s1", start()))
	slices.Sort(ended)
	if !slices.Equal(ended, []im.SessionID{"s2", "s3"}) || a.ended("s1") || !a.ended("s2") || !a.ended("s3") || a.ended("other") {
		a.Errorf("ended %v", ended)
	}
	if got := get(a.db.UserCredentials(a.Context(), "u1")); got.PasswordHash != "new" {
		a.Errorf("got %+v", got)
	}
}

func claim(a *accounts) {
	one, two := []byte("code one"), []byte("code two")
	if !get(a.db.PutAdminClaim(a.Context(), one, start())) || !get(a.db.PutAdminClaim(a.Context(), two, start())) {
		a.Error("not open though there is no administrator")
	}
	if get(a.db.HasAdminClaim(a.Context(), one)) || !get(a.db.HasAdminClaim(a.Context(), two)) {
		a.Error("the later code must take the place of the earlier")
	}
	a.user("taken")
	o := opening("taken2", "s1")
	admin := someone("taken2")
	admin.Role, admin.Username = im.ServerOwner, "name_taken"
	o.Create, o.Claim = &admin, two
	a.code(a.db.OpenSession(a.Context(), o), im.CodeAlreadyExists)
	if !get(a.db.HasAdminClaim(a.Context(), two)) {
		a.Error("a refused claim used the code up")
	}
	admin.Username = "admin"
	o.Claim = one
	a.code(a.db.OpenSession(a.Context(), o), im.CodePermissionDenied)
	_, err := a.db.UserByName(a.Context(), "admin")
	a.code(err, im.CodeNotFound)
	o.Claim = two
	a.ok(a.db.OpenSession(a.Context(), o))
	if get(a.db.HasAdminClaim(a.Context(), two)) {
		a.Error("the code is open still")
	}
	if state := get(a.db.TokenByHash(a.Context(), hashOf("as1"))); state.Role != im.ServerOwner {
		a.Errorf("state %+v", state)
	}
	if get(a.db.PutAdminClaim(a.Context(), one, start())) || get(a.db.HasAdminClaim(a.Context(), one)) {
		a.Error("open though there is an administrator")
	}
}

func claimRaced(a *accounts) {
	code := []byte("code")
	get(a.db.PutAdminClaim(a.Context(), code, start()))
	a.once(6, im.CodePermissionDenied, func(i int) error {
		admin := someone(fmt.Sprint("u", i))
		admin.Role = im.ServerOwner
		o := opening(admin.ID, fmt.Sprint("s", i))
		o.Create, o.Claim = &admin, code
		return a.db.OpenSession(context.Background(), o)
	})
	if users := get(a.db.ListUsers(a.Context(), im.AccountQuery{Limit: 10})); len(users) != 1 {
		a.Errorf("users %+v", users)
	}
}

// claimOffered: a code of another process stays while it is young.
func claimOffered(a *accounts) {
	offer := func(hash string, at time.Duration, made, open bool) {
		a.Helper()
		now := start().Add(at)
		gotMade, gotOpen, err := a.db.OfferAdminClaim(a.Context(), []byte(hash), now, now.Add(-time.Hour))
		a.ok(err)
		if gotMade != made || gotOpen != open {
			a.Errorf("%s after %s: made %v, open %v", hash, at, gotMade, gotOpen)
		}
	}
	has := func(hash string, want bool) {
		a.Helper()
		if get(a.db.HasAdminClaim(a.Context(), []byte(hash))) != want {
			a.Errorf("%s is open: %v", hash, !want)
		}
	}
	offer("one", 0, true, true)
	offer("two", time.Hour, false, true)
	has("one", true)
	has("two", false)
	offer("three", time.Hour+time.Millisecond, true, true)
	has("one", false)
	has("three", true)
	admin := someone("u1")
	admin.Role = im.ServerOwner
	a.ok(a.db.CreateUser(a.Context(), admin))
	offer("four", time.Hour+2*time.Millisecond, false, false)
	has("three", false)
	has("four", false)
}

// claimOfferRaced: of several that start at once one has the code.
func claimOfferRaced(a *accounts) {
	taken := im.Errorf(im.CodeConflict, "another has it")
	winner := a.once(6, im.CodeConflict, func(i int) error {
		made, open, err := a.db.OfferAdminClaim(context.Background(), []byte{byte(i)}, start(), start().Add(-time.Hour))
		if err == nil && !open {
			a.Errorf("closed without an administrator")
		}
		if err == nil && !made {
			return taken
		}
		return err
	})
	if !get(a.db.HasAdminClaim(a.Context(), []byte{byte(winner)})) {
		a.Error("the code of the one who made it is not open")
	}
}

func looksLike(a *accounts) {
	for _, name := range []string{"paul.smith", "marta", "w1m"} {
		c := im.Credentials{User: im.User{ID: im.UserID("id-" + strings.ReplaceAll(name, ".", "-")), Username: name, DisplayName: name, Created: start()}}
		a.ok(a.db.CreateUser(a.Context(), c))
	}
	for name, want := range map[string]string{
		"paul.smith": "", "pau1_smith": "paul.smith", "paul-srnith": "paul.smith", "rnarta": "marta", "vvlm": "w1m", "paulsmith": "", "maria": "",
	} {
		if got := get(a.db.LooksLike(a.Context(), name, "")); got != want {
			a.Errorf("%s looks like %q, want %q", name, got, want)
		}
	}
	if got := get(a.db.LooksLike(a.Context(), "paul_smith", "id-paul-smith")); got != "" {
		a.Errorf("it looks like their own, %q", got)
	}
}
