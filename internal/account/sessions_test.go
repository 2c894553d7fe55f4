package account_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/account"
	"github.com/skein-im/skein/internal/im"
)

// ended returns the sessions whose connections were closed.
func (f *fixture) ended() map[im.SessionID]bool {
	f.t.Helper()
	sessions := map[im.SessionID]bool{}
	for _, c := range f.controls.take() {
		if c.Yield || c.Session == "" || c.Code != im.CodeSessionRevoked {
			f.t.Errorf("control %+v", c)
		}
		sessions[c.Session] = true
	}
	return sessions
}

func TestSessionsAndRevoke(t *testing.T) {
	f := start(t)
	one := f.register("alice", phone("d1"))
	f.clock.Advance(time.Second)
	two := f.login("alice", phone("d2"))
	other := f.register("bobby", phone("d1"))
	sessions := must(f.Sessions(t.Context(), one.User))
	if len(sessions) != 2 || sessions[0].ID != one.Session || sessions[1].ID != two.Session || sessions[1].Device != phone("d2") || sessions[1].LastAddress != home {
		t.Errorf("sessions %+v", sessions)
	}

	n, err := f.Revoke(t.Context(), one.User, one.Session)
	if err != nil || n != 1 {
		t.Errorf("revoke: %d, %v", n, err)
	}
	if got := f.ended(); len(got) != 1 || !got[one.Session] {
		t.Errorf("closed %v", got)
	}
	f.bad(one.Access, im.CodeSessionRevoked)
	_, err = f.hello(one.Access, "c1", phone("d1"))
	want(t, err, im.CodeSessionRevoked)
	f.good(two.Access)

	// Again: it is known, and nothing is left to end.
	if n, err := f.Revoke(t.Context(), one.User, one.Session); n != 0 || err != nil {
		t.Errorf("revoke again: %d, %v", n, err)
	}
	for _, c := range []struct {
		user    im.UserID
		session im.SessionID
	}{{one.User, "unknown"}, {one.User, other.Session}, {"nobody", ""}, {"", ""}} {
		_, err := f.Revoke(t.Context(), c.user, c.session)
		want(t, err, im.CodeNotFound)
	}
	f.good(other.Access)

	three := f.login("alice", phone("d3"))
	if n, err := f.Revoke(t.Context(), one.User, ""); n != 2 || err != nil {
		t.Errorf("revoke all: %d, %v", n, err)
	}
	if got := f.ended(); len(got) != 2 || !got[two.Session] || !got[three.Session] {
		t.Errorf("closed %v", got)
	}
	if n, err := f.Revoke(t.Context(), one.User, ""); n != 0 || err != nil {
		t.Errorf("revoke all again: %d, %v", n, err)
	}
	if left := must(f.Sessions(t.Context(), one.User)); len(left) != 0 {
		t.Errorf("left %+v", left)
	}
	f.good(other.Access)
}

func TestLogout(t *testing.T) {
	f := start(t)
	one := f.register("alice", phone("d1"))
	two := f.login("alice", phone("d2"))
	if err := f.Logout(t.Context(), actorOf(one)); err != nil {
		t.Fatal(err)
	}
	if got := f.ended(); len(got) != 1 || !got[one.Session] {
		t.Errorf("closed %v", got)
	}
	f.bad(one.Access, im.CodeSessionRevoked)
	_, err := f.Refresh(t.Context(), one.Refresh)
	want(t, err, im.CodeSessionRevoked)
	f.good(two.Access)
}

func TestExpiredSessionsAreNotListed(t *testing.T) {
	f := start(t)
	tokens := must(f.Mint(t.Context(), account.Minting{User: "u", Lifetime: time.Hour}))
	f.clock.Advance(time.Hour)
	if sessions := must(f.Sessions(t.Context(), "u")); len(sessions) != 0 {
		t.Errorf("sessions %+v", sessions)
	}
	f.bad(tokens.Access, im.CodeTokenExpired)
	// A connection may be open until its gateway notices: revoking closes it.
	if n, err := f.Revoke(t.Context(), "u", ""); n != 1 || err != nil {
		t.Errorf("revoke: %d, %v", n, err)
	}
}

// A tombstone answers session_revoked for 30 days, an expired token
// token_expired as long; then both are unknown.
func TestTombstones(t *testing.T) {
	f := start(t)
	ended := f.register("alice", phone("d1"))
	if err := f.Logout(t.Context(), actorOf(ended)); err != nil {
		t.Fatal(err)
	}
	expired := must(f.Mint(t.Context(), account.Minting{User: "u", Lifetime: time.Second}))
	living := f.register("bobby", phone("d1"))
	f.clock.Advance(30 * 24 * time.Hour)
	f.restart()
	f.restart() // the first has purged when it is closed
	f.bad(ended.Access, im.CodeSessionRevoked)
	f.bad(expired.Access, im.CodeTokenExpired)
	f.clock.Advance(2 * time.Second)
	f.restart()
	f.restart()
	f.bad(ended.Access, im.CodeTokenInvalid)
	f.bad(expired.Access, im.CodeTokenInvalid)
	f.good(f.refresh(living.Refresh).Access)
}

func TestChangePassword(t *testing.T) {
	f := start(t)
	one := f.register("alice", phone("d1"))
	two := f.login("alice", phone("d2"))
	const other = "another password"
	want(t, f.ChangePassword(t.Context(), actorOf(one), "wrong password", other), im.CodeBadCredentials)
	want(t, f.ChangePassword(t.Context(), actorOf(one), password, "short"), im.CodeInvalidArgument)
	if len(f.ended()) != 0 {
		t.Error("a refused change ended sessions")
	}
	if err := f.ChangePassword(t.Context(), actorOf(one), password, other); err != nil {
		t.Fatal(err)
	}
	if got := f.ended(); len(got) != 1 || !got[two.Session] {
		t.Errorf("closed %v", got)
	}
	f.good(one.Access)
	f.bad(two.Access, im.CodeSessionRevoked)
	_, err := f.Login(t.Context(), home, account.Credentials{Username: "alice", Password: password})
	want(t, err, im.CodeBadCredentials)
	if _, err := f.Login(t.Context(), home, account.Credentials{Username: "alice", Password: other}); err != nil {
		t.Error(err)
	}
	must(f.Mint(t.Context(), account.Minting{User: "u"}))
	want(t, f.ChangePassword(t.Context(), im.Actor{User: "u"}, "", other), im.CodePermissionDenied)
}

// A login with the old password that meets the change does not survive it.
func TestLoginAgainstChangePassword(t *testing.T) {
	f := start(t)
	for i := range 20 {
		name := "user" + string(rune('a'+i))
		owner := f.register(name, phone("d1"))
		var thief account.Tokens
		errs := race(2, func(i int) (err error) {
			if i == 0 {
				thief, err = f.Login(background, "198.51.100.1", account.Credentials{Username: name, Password: password})
				return err
			}
			return f.ChangePassword(background, actorOf(owner), password, "another password")
		})
		if errs[1] != nil {
			t.Fatal(errs[1])
		}
		if errs[0] == nil {
			f.bad(thief.Access, im.CodeSessionRevoked)
		} else {
			want(t, errs[0], im.CodeBadCredentials)
		}
	}
}

func TestProfiles(t *testing.T) {
	f := start(t)
	alice, bobby := f.register("alice", phone("d1")), f.register("bobby", phone("d1"))
	name := "  Älice 👩‍🚀 "
	user, err := f.UpdateProfile(t.Context(), actorOf(alice), im.ProfileChange{DisplayName: &name, DM: account.DMEveryone, Groups: im.GroupsNobody})
	if err != nil || user.DisplayName != "Älice 👩‍🚀" || user.DMPolicy != account.DMEveryone {
		t.Errorf("user %+v, %v", user, err)
	}
	// What is absent stays.
	if again, err := f.UpdateProfile(t.Context(), actorOf(alice), im.ProfileChange{}); err != nil || !again.Is(&user) {
		t.Errorf("user %+v, %v", again, err)
	}
	for _, bad := range []string{"", " ", "a\x07", "a\xff", "a\u200b", "a\u202eb"} {
		_, err := f.UpdateProfile(t.Context(), actorOf(alice), im.ProfileChange{DisplayName: &bad})
		want(t, err, im.CodeInvalidArgument)
	}
	text := func(s string) *string { return &s }
	for _, c := range []struct {
		change im.ProfileChange
		code   im.Code
		field  string
	}{
		{im.ProfileChange{Picture: text("http://x.org/a.png")}, im.CodeInvalidArgument, "picture"},
		{im.ProfileChange{Picture: text("https://x.org/" + long(500))}, im.CodeInvalidArgument, "picture"},
		{im.ProfileChange{About: text("a\x00")}, im.CodeInvalidArgument, "about"},
		{im.ProfileChange{DisplayName: text(long(account.MaxDisplayName + 1))}, im.CodeTooLarge, "displayName"},
		{im.ProfileChange{About: text(long(account.MaxAbout + 1))}, im.CodeTooLarge, "about"},
		{im.ProfileChange{Extra: map[string]string{"No": "x"}}, im.CodeInvalidArgument, "extra"},
		{im.ProfileChange{Extra: map[string]string{"a": "\xff"}}, im.CodeInvalidArgument, "extra"},
		{im.ProfileChange{Extra: map[string]string{"a": long(im.MaxProfileExtra)}}, im.CodeTooLarge, "extra"},
	} {
		_, err := f.UpdateProfile(t.Context(), actorOf(alice), c.change)
		var e *im.Error
		if !errors.As(err, &e) || e.Code != c.code || e.Field != c.field {
			t.Errorf("%s: got %v", c.field, err)
		}
	}
	shown, err := f.UpdateProfile(t.Context(), actorOf(alice), im.ProfileChange{Picture: text("p1"), About: text("two\nlines"), Extra: map[string]string{"team": "blue"}})
	if err != nil || shown.Profile.Picture != "p1" || shown.Profile.About != "two\nlines" || shown.Profile.Extra["team"] != "blue" || shown.DisplayName != user.DisplayName {
		t.Errorf("%+v, %v", shown, err)
	}
	_, err = f.UpdateProfile(t.Context(), actorOf(alice), im.ProfileChange{DM: 4})
	want(t, err, im.CodeInvalidArgument)
	_, err = f.UpdateProfile(t.Context(), im.Actor{User: "nobody"}, im.ProfileChange{})
	want(t, err, im.CodeNotFound)
	_, err = f.UpdateProfile(t.Context(), actorOf(alice), im.ProfileChange{Find: 4})
	want(t, err, im.CodeInvalidArgument)
	for _, unknown := range []string{"nobody", "", "al", "al ice"} {
		_, err = f.FindUser(t.Context(), "", unknown)
		want(t, err, im.CodeNotFound)
	}

	ids := map[im.UserID]bool{alice.User: true, bobby.User: true}
	var cursor string
	for page := range 2 {
		users, next, err := f.ListUsers(t.Context(), im.AccountQuery{After: im.UserID(cursor), Limit: 1})
		if err != nil || len(users) != 1 || !ids[users[0].ID] || (next == "") != (page == 1) {
			t.Fatalf("page %d: %+v, %q, %v", page, users, next, err)
		}
		delete(ids, users[0].ID)
		cursor = next
	}
	_, _, err = f.ListUsers(t.Context(), im.AccountQuery{After: "no cursor"})
	want(t, err, im.CodeInvalidArgument)
}

// Nothing that opens anything is in the files of the directory; their hashes
// are, which proves that the search looks at the right bytes.
func TestNoSecretAtRest(t *testing.T) {
	f := start(t)
	code := must(f.PrepareClaim(t.Context()))
	first := f.register("alice", phone("d1"))
	second := f.refresh(first.Refresh)
	f.good(second.Access)
	minted := must(f.Mint(t.Context(), account.Minting{User: "u"}))
	if err := f.ChangePassword(t.Context(), actorOf(first), password, "another password"); err != nil {
		t.Fatal(err)
	}
	check := func(files []byte) {
		t.Helper()
		for _, secret := range []string{code, first.Access, first.Refresh, second.Access, second.Refresh, minted.Access} {
			text := secret // the claim code has no prefix; base64url has _ as well
			if len(secret) == 47 {
				text = secret[4:]
			}
			raw, err := base64.RawURLEncoding.DecodeString(text)
			if err != nil {
				t.Fatal(err)
			}
			if bytes.Contains(files, []byte(text)) || bytes.Contains(files, raw) {
				t.Errorf("a secret is in the files")
			}
			if !bytes.Contains(files, sum(secret)) {
				t.Errorf("the hash of a secret is not in the files: the search is blind")
			}
		}
		for _, word := range []string{password, "another password"} {
			if bytes.Contains(files, []byte(word)) {
				t.Errorf("a password is in the files")
			}
		}
	}
	read := func() (all []byte) {
		t.Helper()
		for _, path := range must(filepath.Glob(f.path + "*")) {
			all = append(all, must(os.ReadFile(path))...)
		}
		return all
	}
	check(read()) // with the write-ahead log
	f.restart()
	check(read())
}

// Whoever has the password, or an integrator that mints without end, could once
// fill the directory with sessions.
func TestSessionsAreBounded(t *testing.T) {
	f := start(t, func(o *account.Options) { o.MaxSessions = 3 })
	// of returns the user's sessions by the number of their opening.
	opened := []account.Tokens{f.register("alice", phone("d1"))}
	of := func() (n []int) {
		for _, s := range must(f.Sessions(t.Context(), opened[0].User)) {
			n = append(n, slices.IndexFunc(opened, func(x account.Tokens) bool { return x.Session == s.ID }))
		}
		return n
	}
	open := func() {
		f.clock.Advance(time.Second)
		opened = append(opened, f.login("alice", phone("d2")))
	}
	open()
	open()
	if got := f.controls.take(); len(got) != 0 || !slices.Equal(of(), []int{0, 1, 2}) {
		t.Fatalf("below the bound: %+v, %v", got, of())
	}
	// The oldest was used since, which the store does not know yet: the second goes.
	f.clock.Advance(time.Second)
	f.good(opened[0].Access)
	open()
	if got := f.ended(); len(got) != 1 || !got[opened[1].Session] || !slices.Equal(of(), []int{0, 2, 3}) {
		t.Errorf("ended %v, left %v", got, of())
	}
	f.bad(opened[1].Access, im.CodeSessionRevoked)
	f.good(opened[3].Access)

	// Minted ones count as well; those of others do not.
	f.clock.Advance(time.Second)
	f.register("bobby", phone("d1"))
	opened = append(opened, must(f.Mint(t.Context(), account.Minting{User: opened[0].User})))
	if got := f.ended(); len(got) != 1 || !got[opened[2].Session] || !slices.Equal(of(), []int{0, 3, 4}) {
		t.Errorf("minting ended %v, left %v", got, of())
	}

	// A lower bound is reached with the next login, which never ends itself.
	f.options.MaxSessions = 1
	f.restart()
	f.clock.Advance(-time.Hour)
	opened = append(opened, f.login("alice", phone("d1")))
	if got := f.ended(); len(got) != 3 || !slices.Equal(of(), []int{5}) {
		t.Errorf("a lower bound ended %v, left %v", got, of())
	}
}

// A user's minted sessions that nobody came with are few: one more ends the oldest of
// them, and none that was used, over whichever door, or opened with a password.
func TestMintedAndNeverUsedDoNotPileUp(t *testing.T) {
	f := start(t)
	alice := f.register("alice", im.Device{})
	mint := func(device im.Device) account.Tokens {
		f.clock.Advance(time.Second)
		return must(f.Mint(t.Context(), account.Minting{User: alice.User, Device: device}))
	}
	connected, called := mint(im.Device{}), mint(im.Device{})
	f.clock.Advance(time.Second)
	must(f.hello(connected.Access, "c1", phone("d1")))
	f.controls.take() // which makes other devices yield
	f.good(called.Access)
	var unused []account.Tokens
	for i := range 16 {
		device := im.Device{}
		if i%2 == 1 {
			device = phone("d2")
		}
		unused = append(unused, mint(device))
	}
	if got := f.ended(); len(got) != 0 {
		t.Fatalf("up to the bound %v ended", got)
	}
	for i := range 20 {
		unused = append(unused, mint(im.Device{}))
		if got := f.ended(); len(got) != 1 || !got[unused[i].Session] {
			t.Fatalf("mint %d ended %v", i, got)
		}
	}
	f.bad(unused[0].Access, im.CodeSessionRevoked)
	if n := len(must(f.Sessions(t.Context(), alice.User))); n != 3+16 {
		t.Errorf("%d sessions", n)
	}
	for _, s := range []account.Tokens{alice, connected, called, unused[len(unused)-1], unused[len(unused)-16]} {
		f.good(s.Access)
	}
	// They end with their token.
	f.clock.Advance(24*time.Hour + time.Second)
	if all := must(f.Sessions(t.Context(), alice.User)); len(all) != 1 || all[0].ID != alice.Session {
		t.Errorf("%d sessions, of which she has one herself", len(all))
	}
}
