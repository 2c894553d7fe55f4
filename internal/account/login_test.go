package account_test

import (
	"regexp"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/account"
	"github.com/skein-im/skein/internal/im"
)

func TestRegisterGivesUserAndSession(t *testing.T) {
	f := start(t)
	tokens, err := f.Register(t.Context(), home, account.Registration{Username: "Alice.B", Password: password, DisplayName: "  Alice  ", Device: phone("d1"), StayLoggedIn: true})
	if err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`^[a-z2-7]{13}$`).MatchString(string(tokens.User)) {
		t.Errorf("user id %q", tokens.User)
	}
	if !regexp.MustCompile(`^ska_[A-Za-z0-9_-]{43}$`).MatchString(tokens.Access) || !regexp.MustCompile(`^skr_[A-Za-z0-9_-]{43}$`).MatchString(tokens.Refresh) {
		t.Errorf("tokens %q %q", tokens.Access, tokens.Refresh)
	}
	if got := tokens.AccessExpires.Sub(f.clock.Now()); got != 24*time.Hour {
		t.Errorf("access lives %v", got)
	}
	if got := tokens.RefreshExpires.Sub(f.clock.Now()); got != 60*24*time.Hour {
		t.Errorf("refresh lives %v", got)
	}
	user, err := f.FindUser(t.Context(), "", "ALICE.b")
	if err != nil {
		t.Fatal(err)
	}
	wantUser := account.User{ID: tokens.User, Username: "alice.b", DisplayName: "Alice", DMPolicy: account.DMContacts, Created: f.clock.Now()}
	if !user.Is(&wantUser) || user.ID != wantUser.ID || !user.Created.Equal(wantUser.Created) {
		t.Errorf("got %+v, want %+v", user, wantUser)
	}
	f.good(tokens.Access)
}

func TestRegisterNotStayingHasNoRefresh(t *testing.T) {
	f := start(t)
	tokens, err := f.Register(t.Context(), home, account.Registration{Username: "alice", Password: password})
	if err != nil {
		t.Fatal(err)
	}
	if tokens.Refresh != "" || !tokens.RefreshExpires.IsZero() {
		t.Errorf("a refresh token was given: %+v", tokens)
	}
}

func TestRegisterRefuses(t *testing.T) {
	good := account.Registration{Username: "alice", Password: password, Device: phone("d1")}
	for name, change := range map[string]func(*account.Registration){
		"short username":       func(r *account.Registration) { r.Username = "al" },
		"long username":        func(r *account.Registration) { r.Username = long(33) },
		"space in username":    func(r *account.Registration) { r.Username = "al ice" },
		"unicode in username":  func(r *account.Registration) { r.Username = "ålice" },
		"kelvin sign":          func(r *account.Registration) { r.Username = "\u212aate" }, // lower-cases to an ASCII k
		"colon in username":    func(r *account.Registration) { r.Username = "id:abc" },
		"short password":       func(r *account.Registration) { r.Password = long(7) },
		"long password":        func(r *account.Registration) { r.Password = long(201) },
		"turned display name":  func(r *account.Registration) { r.DisplayName = "a\u202eb" },
		"unseen display name":  func(r *account.Registration) { r.DisplayName = "\u3164" },
		"control character":    func(r *account.Registration) { r.DisplayName = "a\x00b" },
		"line in display name": func(r *account.Registration) { r.DisplayName = "a\u2028b" },
		"invalid UTF-8":        func(r *account.Registration) { r.DisplayName = "a\xffb" },
		"device id alphabet":   func(r *account.Registration) { r.Device.ID = "a.b" },
		"device without id":    func(r *account.Registration) { r.Device.ID = "" },
		"long device name":     func(r *account.Registration) { r.Device.Name = long(101) },
	} {
		t.Run(name, func(t *testing.T) {
			f := start(t)
			r := good
			change(&r)
			_, err := f.Register(t.Context(), home, r)
			want(t, err, im.CodeInvalidArgument)
		})
	}
}

func TestRegisterClosed(t *testing.T) {
	f := start(t, func(o *account.Options) { o.OpenRegistration = false })
	_, err := f.Register(t.Context(), home, account.Registration{Username: "alice", Password: password})
	want(t, err, im.CodePermissionDenied)
	// An administrator can make accounts all the same.
	if _, err := f.CreateUser(t.Context(), account.Registration{Username: "alice", Password: password}); err != nil {
		t.Fatal(err)
	}
	f.login("alice", phone("d1"))
}

// The same name in another case, at the same moment: one account.
func TestRegisterSameNameAtOnce(t *testing.T) {
	f := start(t)
	oneWins(t, race(8, func(i int) error {
		_, err := f.Register(background, home, account.Registration{Username: []string{"alice", "ALICE"}[i%2], Password: password})
		return err
	}), im.CodeAlreadyExists)
	if users, _, err := f.ListUsers(t.Context(), im.AccountQuery{}); err != nil || len(users) != 1 {
		t.Errorf("users: %v, %v", users, err)
	}
}

func TestLogin(t *testing.T) {
	f := start(t)
	first := f.register("alice", phone("d1"))
	second := f.login("Alice", phone("d2"))
	if second.User != first.User || second.Session == first.Session {
		t.Errorf("login gave %+v after %+v", second, first)
	}
	f.good(first.Access)
	f.good(second.Access)
}

// A wrong password, a user that is not there, one without a password and a
// name that cannot be one: the same answer.
func TestLoginSameAnswer(t *testing.T) {
	f := start(t)
	f.register("alice", phone("d1"))
	if _, err := f.Mint(t.Context(), account.Minting{User: "minted"}); err != nil {
		t.Fatal(err)
	}
	answers := map[string]bool{}
	for _, l := range []account.Credentials{
		{Username: "alice", Password: "wrong password"},
		{Username: "nobody", Password: password},
		{Username: "minted", Password: password},
		{Username: "no name!", Password: password},
		{Username: "alice", Password: ""},
	} {
		_, err := f.Login(t.Context(), home, l)
		want(t, err, im.CodeBadCredentials)
		answers[err.Error()] = true
	}
	if len(answers) != 1 {
		t.Errorf("the answers differ: %v", answers)
	}
}

// Costs that were raised apply to a user from the next login on.
func TestLoginHashesAnew(t *testing.T) {
	f := start(t)
	tokens := f.register("alice", phone("d1"))
	before, err := f.db.UserCredentials(t.Context(), tokens.User)
	if err != nil {
		t.Fatal(err)
	}
	f.options.Argon.Time = 2
	f.restart()
	for _, err := range race(4, func(int) error {
		_, err := f.Login(background, home, account.Credentials{Username: "alice", Password: password})
		return err
	}) {
		if err != nil {
			t.Errorf("login while hashing anew: %v", err)
		}
	}
	after, err := f.db.UserCredentials(t.Context(), tokens.User)
	if err != nil {
		t.Fatal(err)
	}
	if before.PasswordHash == after.PasswordHash || !regexp.MustCompile(`m=64,t=2,p=1`).MatchString(after.PasswordHash) {
		t.Errorf("the hash is %s after %s", after.PasswordHash, before.PasswordHash)
	}
	f.good(tokens.Access)
}

func TestMint(t *testing.T) {
	f := start(t)
	first, err := f.Mint(t.Context(), account.Minting{User: "Customer-7", DisplayName: "Seven", Device: phone("d1")})
	if err != nil {
		t.Fatal(err)
	}
	if first.Refresh != "" || first.AccessExpires.Sub(f.clock.Now()) != 24*time.Hour {
		t.Errorf("minted %+v", first)
	}
	// The second time the user exists and keeps the name.
	second, err := f.Mint(t.Context(), account.Minting{User: "Customer-7", DisplayName: "Eight", Lifetime: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	if second.Session == first.Session || second.AccessExpires.Sub(f.clock.Now()) != time.Hour {
		t.Errorf("minted %+v after %+v", second, first)
	}
	users, err := f.Users(t.Context(), []im.UserID{"Customer-7", "nobody"})
	if err != nil || len(users) != 1 || users[0].DisplayName != "Seven" || users[0].Username != "" {
		t.Errorf("users %+v, %v", users, err)
	}
	// Without a name it is the id; one of nothing but space is refused (TestBlankNames).
	if _, err := f.Mint(t.Context(), account.Minting{User: "Customer-8"}); err != nil {
		t.Error(err)
	}
	users, err = f.Users(t.Context(), []im.UserID{"Customer-8"})
	if err != nil || len(users) != 1 || users[0].DisplayName != "Customer-8" {
		t.Errorf("users %+v, %v", users, err)
	}
	for _, m := range []account.Minting{
		{User: ""}, {User: "a.b"}, {User: im.UserID(long(65))},
		{User: "a", Lifetime: -1}, {User: "a", Lifetime: 366*24*time.Hour + 1}, {User: "a", Lifetime: time.Millisecond},
		{User: "a", DisplayName: "a\nb"}, {User: "a", Device: im.Device{ID: "a b"}},
	} {
		_, err := f.Mint(t.Context(), m)
		want(t, err, im.CodeInvalidArgument)
	}
}

// Minting for one new user at once makes one user and all the sessions.
func TestMintAtOnce(t *testing.T) {
	f := start(t)
	for _, err := range race(6, func(int) error {
		_, err := f.Mint(background, account.Minting{User: "u"})
		return err
	}) {
		if err != nil {
			t.Error(err)
		}
	}
	if sessions, err := f.Sessions(t.Context(), "u"); err != nil || len(sessions) != 6 {
		t.Errorf("%d sessions, %v", len(sessions), err)
	}
}

func TestClaimAdmin(t *testing.T) {
	f := start(t)
	old := must(f.PrepareClaim(t.Context()))
	code := must(f.PrepareClaim(t.Context()))
	for _, wrong := range []string{"", "guess", old} {
		_, err := f.ClaimAdmin(t.Context(), home, wrong, "admin", password)
		want(t, err, im.CodePermissionDenied)
	}
	// Refused input does not use the code up.
	f.register("taken", phone("d1"))
	_, err := f.ClaimAdmin(t.Context(), home, code, "taken", password)
	want(t, err, im.CodeAlreadyExists)
	_, err = f.ClaimAdmin(t.Context(), home, code, "admin", "short")
	want(t, err, im.CodeInvalidArgument)

	tokens, err := f.ClaimAdmin(t.Context(), home, code, "admin", password)
	if err != nil {
		t.Fatal(err)
	}
	if actor, err := f.http(tokens.Access); err != nil || actor.Role != im.ServerOwner || actor.User != tokens.User {
		t.Errorf("actor %+v, %v", actor, err)
	}
	_, err = f.ClaimAdmin(t.Context(), home, code, "second", password)
	want(t, err, im.CodePermissionDenied)
	if again := must(f.PrepareClaim(t.Context())); again != "" {
		t.Error("a code was made though there is an administrator")
	}
	if actor, err := f.http(f.login("taken", phone("d1")).Access); err != nil || actor.Role != im.ServerUser {
		t.Errorf("everybody is an administrator: %+v, %v", actor, err)
	}
}

func TestClaimAdminAtOnce(t *testing.T) {
	f := start(t)
	code := must(f.PrepareClaim(t.Context()))
	oneWins(t, race(8, func(i int) error {
		_, err := f.ClaimAdmin(background, home, code, "admin"+string(rune('a'+i)), password)
		return err
	}), im.CodePermissionDenied)
	users, _, err := f.ListUsers(t.Context(), im.AccountQuery{})
	if err != nil || len(users) != 1 || users[0].Role != im.ServerOwner {
		t.Errorf("users %+v, %v", users, err)
	}
}
