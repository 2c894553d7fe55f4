package account_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"log/slog"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/account"
	"github.com/skein-im/skein/internal/directory"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/oidc"
	"github.com/skein-im/skein/internal/oidc/oidctest"
)

const clientVerifier = "a-verifier-that-nobody-guesses.0123456789~_"

func challengeOf(verifier string) string {
	h := sha256.Sum256([]byte(verifier))
	return base64.RawURLEncoding.EncodeToString(h[:])
}

// sso is a service with a provider.
type sso struct {
	*fixture
	p *oidctest.Provider
}

func startSSO(t *testing.T, change ...func(*account.Provider)) *sso {
	t.Helper()
	p := oidctest.New(oidctest.Says{Subject: "sub-ann", Username: "Ann.Lee@corp", Name: "Ann Lee", Email: "ann@corp.example", Verified: true})
	t.Cleanup(p.Close)
	f := start(t, func(o *account.Options) {
		p.Now = o.Now
		o.Named = func(_ context.Context, name string) error {
			if strings.Contains(strings.ToLower(name), "viagra") {
				return im.ErrFiltered
			}
			return nil
		}
		one := providerAt(p, "corp", o.Now)
		for _, c := range change {
			c(&one)
		}
		o.Providers = []account.Provider{one}
		o.SealKey = account.SealKey("the key of the tests")
		o.ReturnURLs = []string{"https://app.example/done?from=sso"}
		o.MaxGuests = 20
	})
	return &sso{f, p}
}

func providerAt(p *oidctest.Provider, name string, now func() time.Time) account.Provider {
	return account.Provider{Name: name, Title: "Corp", Create: true, Link: account.LinkNone, At: oidc.New(oidc.Options{
		Issuer: p.URL, ClientID: oidctest.ClientID, Secret: oidctest.Secret, Redirect: "https://chat.example/login/callback", Now: now, Timeout: 5 * time.Second,
	})}
}

// away begins a login and goes to the provider: what a browser comes back with.
func (s *sso) away(returnTo string) url.Values {
	s.t.Helper()
	to, until, err := s.BeginProvider(s.t.Context(), home, "corp", challengeOf(clientVerifier), returnTo)
	if err != nil {
		s.t.Fatal(err)
	}
	if !until.Equal(s.clock.Now().Add(10 * time.Minute)) {
		s.t.Errorf("it is good until %s", until)
	}
	back, err := s.p.LogIn(to)
	if err != nil {
		s.t.Fatal(err)
	}
	return back.Query()
}

func (s *sso) answer(q url.Values) (code, to string, err error) {
	return s.AnswerProvider(s.t.Context(), account.ProviderAnswer{State: q.Get("state"), Code: q.Get("code"), Issuer: q.Get("iss"), Error: q.Get("error")})
}

// back is the code that a browser came back with.
func (s *sso) back() string {
	s.t.Helper()
	code, to, err := s.answer(s.away(""))
	if err != nil || to != "" {
		s.t.Fatal(to, err)
	}
	return code
}

func (s *sso) finish(code string) (account.Tokens, bool, error) {
	return s.FinishProvider(s.t.Context(), home, account.ProviderFinish{Code: code, Verifier: clientVerifier, Device: phone("p1"), StayLoggedIn: true})
}

func (s *sso) in() account.Tokens {
	s.t.Helper()
	t, _, err := s.finish(s.back())
	if err != nil {
		s.t.Fatal(err)
	}
	return t
}

func (s *sso) user(id im.UserID) im.Credentials {
	s.t.Helper()
	return must(s.db.UserCredentials(background, id))
}

// Who comes for the first time gets an account, and the same one ever after, whatever
// they are called then.
func TestProviderLogin(t *testing.T) {
	s := startSSO(t)
	first, created, err := s.finish(s.back())
	if err != nil || !created || first.Refresh == "" {
		t.Fatal(first, created, err)
	}
	s.good(first.Access)
	u := s.user(first.User)
	if u.Username != "ann.lee" || u.DisplayName != "Ann Lee" || u.PasswordHash != "" {
		t.Errorf("the account is %+v", u)
	}
	s.p.Say(func(x *oidctest.Says) { x.Username, x.Email = "ann.silva", "ann@elsewhere.example" })
	second, created, err := s.finish(s.back())
	if err != nil || created || second.User != first.User {
		t.Errorf("the second time: %+v, %v, %v", second, created, err)
	}
	all := must(s.Identities(background, actorOf(second)))
	if len(all) != 1 || all[0].Username != "ann.silva" || all[0].Email != "ann@elsewhere.example" || all[0].Subject != "sub-ann" {
		t.Errorf("the identities are %+v", all)
	}
	// Another subject is another person, though everything else is the same.
	s.p.Say(func(x *oidctest.Says) { x.Subject = "sub-other" })
	other, created, err := s.finish(s.back())
	if err != nil || !created || other.User == first.User {
		t.Fatal(other, created, err)
	}
	s.p.Say(func(x *oidctest.Says) { x.Subject, x.Username = "sub-third", "ann.lee" })
	third := s.in()
	if name := s.user(third.User).Username; !strings.HasPrefix(name, "ann.lee-") || len(name) != len("ann.lee-00000") {
		t.Errorf("a name that is taken became %q", name)
	}
	// Logging in by a password has nothing to do with it.
	_, err = s.Login(background, home, account.Credentials{Username: "ann.lee", Password: password})
	want(t, err, im.CodeBadCredentials)
}

// What a browser was sent away with is answered once, and its code is good once, with the
// verifier, in its time.
func TestProviderLoginOnce(t *testing.T) {
	s := startSSO(t)
	q := s.away("")
	code, _, err := s.answer(q)
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = s.answer(q)
	want(t, err, im.CodeNotFound)
	_, _, err = s.FinishProvider(background, home, account.ProviderFinish{Code: code, Verifier: strings.Repeat("x", 43)})
	want(t, err, im.CodeNotFound) // stolen: without the verifier it is worth nothing
	_, _, err = s.finish(code)
	want(t, err, im.CodeNotFound) // and it is used up
	code = s.back()
	if _, _, err := s.finish(code); err != nil {
		t.Fatal(err)
	}
	_, _, err = s.finish(code)
	want(t, err, im.CodeNotFound)

	q = s.away("")
	s.clock.Advance(10 * time.Minute)
	_, _, err = s.answer(q)
	want(t, err, im.CodeTooLate)
	code = s.back()
	s.clock.Advance(5 * time.Minute)
	_, _, err = s.finish(code)
	want(t, err, im.CodeTooLate)

	q = s.away("")
	q.Set("state", "sks_"+strings.Repeat("x", 43))
	_, _, err = s.answer(q)
	want(t, err, im.CodeNotFound)
	// The code of the first step is none of the second, nor the other way around.
	_, _, err = s.finish(s.away("").Get("state"))
	want(t, err, im.CodeNotFound)
}

func TestProviderLoginRaced(t *testing.T) {
	s := startSSO(t)
	q := s.away("")
	codes := make(chan string, 8)
	oneWins(t, race(8, func(int) error {
		code, _, err := s.answer(q)
		if err == nil {
			codes <- code
		}
		return err
	}), im.CodeNotFound)
	code := <-codes
	oneWins(t, race(8, func(int) error { _, _, err := s.finish(code); return err }), im.CodeNotFound)

	// Two first logins of one person at once make one account.
	s.p.Say(func(x *oidctest.Says) { x.Subject = "sub-two" })
	back := []string{s.back(), s.back(), s.back(), s.back()}
	users := make([]im.UserID, len(back))
	for _, err := range race(len(back), func(i int) error {
		t, _, err := s.finish(back[i])
		users[i] = t.User
		return err
	}) {
		if err != nil {
			t.Error(err)
		}
	}
	for _, u := range users {
		if u != users[0] {
			t.Errorf("they are %v", users)
		}
	}
}

// Browsers go back to this machine's programs and where the deployment says, and nowhere else.
func TestProviderReturn(t *testing.T) {
	s := startSSO(t)
	for _, to := range []string{"http://127.0.0.1:4711/done", "http://[::1]:4711/", "https://app.example/done?from=sso"} {
		code, back, err := s.answer(s.away(to))
		if err != nil || !strings.HasPrefix(back, to) || !strings.HasSuffix(back, "code="+code) || code == "" {
			t.Errorf("%s: %q, %v", to, back, err)
		}
	}
	for _, to := range []string{
		"https://evil.example/", "http://127.0.0.1.evil.example:80/", "http://127.0.0.1/", "https://127.0.0.1:4711/", "http://user@127.0.0.1:4711/", "http://localhost:4711/",
		"https://app.example/done", "https://app.example/done?from=sso&x", "javascript:alert(1)", "http://127.0.0.1:4711/#x", "http://127.0.0.1:4711/?code=x", "http://10.0.0.1:80/",
	} {
		_, _, err := s.BeginProvider(background, home, "corp", challengeOf(clientVerifier), to)
		if im.CodeOf(err) != im.CodeInvalidArgument || im.Public(err).Field != "returnTo" {
			t.Errorf("%s: %v", to, err)
		}
	}
	_, _, err := s.BeginProvider(background, home, "other", challengeOf(clientVerifier), "")
	want(t, err, im.CodeNotFound)
	_, _, err = s.BeginProvider(background, home, "corp", "plain", "")
	if im.Public(err).Field != "challenge" {
		t.Errorf("a challenge that is none: %v", err)
	}
}

// What goes wrong at the provider is told where the browser goes, and opens nothing.
func TestProviderRefuses(t *testing.T) {
	s := startSSO(t)
	s.p.Say(func(x *oidctest.Says) { x.Denied = true })
	code, to, err := s.answer(s.away("http://127.0.0.1:4711/done"))
	if err != nil || code != "" || to != "http://127.0.0.1:4711/done?error=permission_denied" {
		t.Errorf("denied: %q, %q, %v", code, to, err)
	}
	_, _, err = s.answer(s.away(""))
	want(t, err, im.CodePermissionDenied)
	s.p.Say(func(x *oidctest.Says) { x.Denied, x.Audience = false, "other" })
	_, _, err = s.answer(s.away(""))
	want(t, err, im.CodePermissionDenied)
	s.p.Say(func(x *oidctest.Says) { x.Audience = nil })
	q := s.away("")
	s.p.Down(true)
	_, _, err = s.answer(q)
	want(t, err, im.CodeUnavailable)
	s.register("bob", phone("b1")) // passwords know nothing of it
	s.login("bob", phone("b1"))
	s.p.Down(false)
	// A nonce that is another login's: the token of one is not taken for the other.
	s.p.Say(func(x *oidctest.Says) { x.Nonce = "another" })
	_, _, err = s.answer(s.away(""))
	want(t, err, im.CodePermissionDenied)
}

// Accounts that there are are taken only where the deployment says so.
func TestProviderTakes(t *testing.T) {
	byName := func(x *oidctest.Says) { x.Username = "bob" }
	t.Run("no", func(t *testing.T) {
		s := startSSO(t)
		bob := s.register("bob", phone("b1"))
		s.p.Say(byName)
		if got := s.in(); got.User == bob.User {
			t.Error("it took an account")
		}
	})
	t.Run("username", func(t *testing.T) {
		s := startSSO(t, func(p *account.Provider) { p.Link = account.LinkUsername })
		bob := s.register("bob", phone("b1"))
		s.p.Say(byName)
		if got := s.in(); got.User != bob.User {
			t.Error("it made another account")
		}
		// The name went to somebody else there: the account did not.
		s.p.Say(func(x *oidctest.Says) { x.Subject = "sub-new-bob" })
		if got := s.in(); got.User == bob.User {
			t.Error("who has the name now got the account of who had it")
		}
		// Neither an administrator's, nor one with a second factor.
		code := must(s.PrepareClaim(background))
		root := must(s.ClaimAdmin(background, home, code, "root", password))
		s.p.Say(func(x *oidctest.Says) { x.Subject, x.Username = "sub-root", "root" })
		if got := s.in(); got.User == root.User {
			t.Error("it took the administrator's account")
		}
		eve := s.register("eve", phone("e1"))
		s.enrol(eve)
		s.p.Say(func(x *oidctest.Says) { x.Subject, x.Username = "sub-eve", "eve" })
		if got := s.in(); got.User == eve.User {
			t.Error("it took an account with a second factor")
		}
	})
	t.Run("email", func(t *testing.T) {
		s := startSSO(t)
		ann := s.in()
		second := oidctest.New(oidctest.Says{Subject: "2", Username: "somebody", Email: "ANN@corp.example", Verified: true})
		defer second.Close()
		second.Now = s.clock.Now
		s.close()
		other := providerAt(second, "corp", s.clock.Now)
		other.Link = account.LinkEmail
		s.options.Providers = []account.Provider{other}
		s.open()
		first := s.p
		s.p = second
		s.p.Say(func(x *oidctest.Says) { x.Subject, x.Verified = "1", false })
		if got := s.in(); got.User == ann.User {
			t.Error("an e-mail that nobody verified took an account")
		}
		s.p.Say(func(x *oidctest.Says) { x.Subject, x.Verified = "2", true })
		if got := s.in(); got.User != ann.User {
			t.Error("it made another account")
		}
		s.p = first
	})
	t.Run("none are made", func(t *testing.T) {
		s := startSSO(t, func(p *account.Provider) { p.Create = false })
		_, _, err := s.finish(s.back())
		want(t, err, im.CodePermissionDenied)
		bob := s.register("bob", phone("b1"))
		_, err = s.LinkIdentity(background, actorOf(bob), s.back(), clientVerifier, "wrong password")
		want(t, err, im.CodeBadCredentials)
		if _, err := s.LinkIdentity(background, actorOf(bob), s.back(), clientVerifier, password); err != nil {
			t.Fatal(err)
		}
		if got := s.in(); got.User != bob.User {
			t.Error("what was linked opens another account")
		}
		eve := s.register("eve", phone("e1"))
		_, err = s.LinkIdentity(background, actorOf(eve), s.back(), clientVerifier, password)
		want(t, err, im.CodeAlreadyExists)
	})
}

// An account with a second factor needs its code after the provider, too.
func TestProviderAndSecondFactor(t *testing.T) {
	s := startSSO(t)
	bob := s.register("bob", phone("b1"))
	if _, err := s.LinkIdentity(background, actorOf(bob), s.back(), clientVerifier, password); err != nil {
		t.Fatal(err)
	}
	_, recovery := s.enrol(bob)
	_, _, err := s.finish(s.back())
	want(t, err, im.CodeTotpRequired)
	ticket := im.Public(err).Ticket
	if tokens, err := s.LoginWithCode(background, home, account.CodeLogin{Ticket: ticket, Code: recovery[0]}); err != nil || tokens.User != bob.User {
		t.Fatalf("with the code: %+v, %v", tokens, err)
	}
	// What waits for a code ends with the identity.
	_, _, err = s.finish(s.back())
	want(t, err, im.CodeTotpRequired)
	ticket = im.Public(err).Ticket
	id := must(s.Identities(background, actorOf(bob)))[0].ID
	if err := s.UnlinkIdentity(background, actorOf(bob), id, password); err != nil {
		t.Fatal(err)
	}
	_, err = s.LoginWithCode(background, home, account.CodeLogin{Ticket: ticket, Code: "aaaa-aaaa-aaaa-aaaa"})
	want(t, err, im.CodeNotFound)
}

// The last identity of an account without a password stays; somebody else's is not there.
func TestUnlinkIdentity(t *testing.T) {
	s := startSSO(t)
	ann := s.in()
	mine := must(s.Identities(background, actorOf(ann)))
	want(t, s.UnlinkIdentity(background, actorOf(ann), mine[0].ID, ""), im.CodePermissionDenied)
	bob := s.register("bob", phone("b1"))
	want(t, s.UnlinkIdentity(background, actorOf(bob), mine[0].ID, password), im.CodeNotFound)
	s.p.Say(func(x *oidctest.Says) { x.Subject = "sub-second" })
	if _, err := s.LinkIdentity(background, actorOf(ann), s.back(), clientVerifier, ""); err != nil {
		t.Fatal(err)
	}
	if err := s.UnlinkIdentity(background, actorOf(ann), mine[0].ID, ""); err != nil {
		t.Fatal(err)
	}
	left := must(s.Identities(background, actorOf(ann)))
	if len(left) != 1 || left[0].Subject != "sub-second" {
		t.Errorf("there are %+v", left)
	}
	// What was unlinked opens the account no more.
	s.p.Say(func(x *oidctest.Says) { x.Subject = "sub-ann" })
	if got := s.in(); got.User == ann.User {
		t.Error("it opens the account still")
	}
	s.good(ann.Access)
}

// Another node answers what this one began, and either finishes it, once, on both stores.
func TestProviderOtherNode(t *testing.T) {
	two(t, func(t *testing.T, a, b *fixture, _ *logged) {
		p := oidctest.New(oidctest.Says{Subject: "sub-ann", Username: "ann"})
		defer p.Close()
		p.Now = a.clock.Now
		for _, f := range []*fixture{a, b} {
			if err := f.Service.Close(); err != nil {
				t.Fatal(err)
			}
			f.options.SealKey = account.SealKey("of all nodes")
			f.options.Providers = []account.Provider{providerAt(p, "corp", f.clock.Now)}
			f.Service = account.New(f.db, f.options)
		}
		one, other := &sso{a, p}, &sso{b, p}
		code, _, err := other.answer(one.away(""))
		if err != nil {
			t.Fatal(err)
		}
		oneWins(t, race(8, func(i int) error {
			_, _, err := []*sso{one, other}[i%2].finish(code)
			return err
		}), im.CodeNotFound)
	})
}

var _ account.IdentityStore = (*directory.DB)(nil)

// Nothing that opens anything is logged.
func TestProviderLogs(t *testing.T) {
	var logged bytes.Buffer
	s := startSSO(t)
	s.close()
	s.options.Logger = slog.New(slog.NewTextHandler(&logged, &slog.HandlerOptions{Level: slog.LevelDebug}))
	s.open()
	q := s.away("")
	code, _, err := s.answer(q)
	if err != nil {
		t.Fatal(err)
	}
	tokens, _, err := s.finish(code)
	if err != nil {
		t.Fatal(err)
	}
	s.p.Say(func(x *oidctest.Says) { x.Audience = "other" })
	bad := s.away("")
	_, _, err = s.answer(bad)
	want(t, err, im.CodePermissionDenied)
	for _, secret := range []string{q.Get("state"), q.Get("code"), bad.Get("state"), bad.Get("code"), code, clientVerifier, tokens.Access, tokens.Refresh, oidctest.Secret, "ann@corp.example"} {
		if strings.Contains(logged.String(), secret) {
			t.Errorf("the log has %q", secret)
		}
	}
	if !strings.Contains(logged.String(), "provider=corp") {
		t.Errorf("the log does not say which provider failed: %s", &logged)
	}
}

// An address begins so many logins and no more.
func TestProviderRates(t *testing.T) {
	s := startSSO(t)
	for range 600 {
		if _, _, err := s.BeginProvider(background, home, "corp", challengeOf(clientVerifier), ""); err != nil {
			t.Fatal(err)
		}
	}
	_, _, err := s.BeginProvider(background, home, "corp", challengeOf(clientVerifier), "")
	want(t, err, im.CodeRateLimited)
	if _, _, err := s.BeginProvider(background, "192.0.2.77", "corp", challengeOf(clientVerifier), ""); err != nil {
		t.Error(err)
	}
}

// A name that is held for somebody is taken: who a provider calls so gets a number.
func TestProviderSaysAHeldName(t *testing.T) {
	s := startSSO(t)
	lee := s.register("ann.lee", phone("l"))
	if _, err := s.ChangeUsername(background, actorOf(lee), "lee", password); err != nil {
		t.Fatal(err)
	}
	if u := s.user(s.in().User); !strings.HasPrefix(u.Username, "ann.lee-") {
		t.Errorf("they are called %q", u.Username)
	}
}

// A provider's names are held to what nobody may be called: who comes by them is called
// otherwise.
func TestProviderSaysAFilteredName(t *testing.T) {
	s := startSSO(t)
	s.p.Say(func(x *oidctest.Says) { x.Username, x.Name = "viagra.shop", "VIAGRA" })
	if u := s.user(s.in().User); u.Username != "user" || u.DisplayName != "user" {
		t.Errorf("they are called %q, %q", u.Username, u.DisplayName)
	}
}
