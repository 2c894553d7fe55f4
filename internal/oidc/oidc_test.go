package oidc_test

import (
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/oidc"
	"github.com/skein-im/skein/internal/oidc/oidctest"
)

var ann = oidctest.Says{Subject: "248289761001", Username: "ann", Name: "Ann Lee", Email: "Ann@Example.com", Verified: true}

func client(p *oidctest.Provider, change ...func(*oidc.Options)) *oidc.Client {
	o := oidc.Options{Issuer: p.URL, ClientID: oidctest.ClientID, Secret: oidctest.Secret, Redirect: "http://127.0.0.1:1/login/callback", Scopes: []string{"profile"}, Timeout: 5 * time.Second}
	for _, c := range change {
		c(&o)
	}
	return oidc.New(o)
}

var login = im.ProviderAuth{State: "state", Nonce: "nonce", Verifier: "0123456789012345678901234567890123456789012"}

// come goes to the provider and asks it who came back.
func come(t *testing.T, p *oidctest.Provider, c *oidc.Client) (im.ProviderClaims, error) {
	t.Helper()
	return ask(t, p, c, login)
}

func ask(t *testing.T, p *oidctest.Provider, c *oidc.Client, a im.ProviderAuth) (im.ProviderClaims, error) {
	t.Helper()
	to, err := c.Address(t.Context(), login)
	if err != nil {
		t.Fatal(err)
	}
	back, err := p.LogIn(to)
	if err != nil {
		t.Fatal(err)
	}
	if got := back.Query().Get("state"); got != login.State {
		t.Errorf("the state came back as %q", got)
	}
	return c.Ask(t.Context(), back.Query().Get("code"), a)
}

func TestWhoCame(t *testing.T) {
	p := oidctest.New(ann)
	defer p.Close()
	c := client(p)
	want := im.ProviderClaims{Issuer: p.URL, Subject: ann.Subject, Username: "ann", Name: "Ann Lee", Email: "ann@example.com"}
	if got, err := come(t, p, c); err != nil || got != want {
		t.Errorf("it is %+v, %v", got, err)
	}
	p.Say(func(s *oidctest.Says) { s.UserInfo = true })
	if got, err := come(t, p, c); err != nil || got != want {
		t.Errorf("asked for, it is %+v, %v", got, err)
	}
	p.Say(func(s *oidctest.Says) { s.Verified = false })
	want.Email = ""
	if got, err := come(t, p, c); err != nil || got != want {
		t.Errorf("with an e-mail that nobody verified it is %+v, %v", got, err)
	}
	p.Say(func(s *oidctest.Says) { s.Audience, s.Party = []string{oidctest.ClientID, "other"}, oidctest.ClientID })
	if _, err := come(t, p, c); err != nil {
		t.Errorf("for two, of whom this server is the one: %v", err)
	}
}

// What is not good is refused, whatever is wrong with it.
func TestWrongAnswers(t *testing.T) {
	for name, wrong := range map[string]func(*oidctest.Says){
		"audience":           func(s *oidctest.Says) { s.Audience = "other" },
		"two audiences":      func(s *oidctest.Says) { s.Audience = []string{oidctest.ClientID, "other"} },
		"authorised party":   func(s *oidctest.Says) { s.Party = "other" },
		"issuer":             func(s *oidctest.Says) { s.Issuer = "https://other.example" },
		"nonce":              func(s *oidctest.Says) { s.Nonce = "another login's" },
		"no subject":         func(s *oidctest.Says) { s.Subject = "" },
		"long subject":       func(s *oidctest.Says) { s.Subject = string(make([]byte, 300)) },
		"expired":            func(s *oidctest.Says) { s.Behind = 5*time.Minute + 2*oidc.Skew },
		"of the future":      func(s *oidctest.Says) { s.Behind = -2 * oidc.Skew },
		"no signature":       func(s *oidctest.Says) { s.Alg = "none" },
		"symmetric":          func(s *oidctest.Says) { s.Alg = "HS256" },
		"another key":        func(s *oidctest.Says) { s.OtherKey = true },
		"refused":            func(s *oidctest.Says) { s.Status = http.StatusBadRequest },
		"of another subject": func(s *oidctest.Says) { s.UserInfo, s.OtherUser = true, true },
	} {
		t.Run(name, func(t *testing.T) {
			p := oidctest.New(ann)
			defer p.Close()
			p.Say(wrong)
			if who, err := come(t, p, client(p)); im.CodeOf(err) != im.CodePermissionDenied {
				t.Errorf("it is %+v, %v", who, err)
			}
		})
	}
}

// Clocks may differ by a minute.
func TestSkew(t *testing.T) {
	p := oidctest.New(ann)
	defer p.Close()
	c := client(p)
	for _, behind := range []time.Duration{5*time.Minute + oidc.Skew/2, -oidc.Skew / 2} {
		p.Say(func(s *oidctest.Says) { s.Behind = behind })
		if _, err := come(t, p, c); err != nil {
			t.Errorf("%s behind: %v", behind, err)
		}
	}
}

// A code is good for the login that it was made for.
func TestCodeOfAnotherLogin(t *testing.T) {
	p := oidctest.New(ann)
	defer p.Close()
	c := client(p)
	other := login
	other.Verifier = "another verifier, of as many characters as it takes"
	if _, err := ask(t, p, c, other); im.CodeOf(err) != im.CodePermissionDenied {
		t.Errorf("with another verifier: %v", err)
	}
	other = login
	other.Issuer = "https://other.example"
	if _, err := ask(t, p, c, other); im.CodeOf(err) != im.CodePermissionDenied {
		t.Errorf("sent back by another: %v", err)
	}
	other.Issuer = p.URL
	if _, err := ask(t, p, c, other); err != nil {
		t.Errorf("sent back by this one: %v", err)
	}
	if _, err := c.Ask(t.Context(), "no code", login); im.CodeOf(err) != im.CodePermissionDenied {
		t.Errorf("a code that is none: %v", err)
	}
}

// A provider that takes another key is asked for it.
func TestRotatedKeys(t *testing.T) {
	p := oidctest.New(ann)
	defer p.Close()
	c := client(p)
	for range 3 {
		if _, err := come(t, p, c); err != nil {
			t.Fatal(err)
		}
		p.Rotate()
	}
	if n := p.Asked("/.well-known/openid-configuration"); n != 1 {
		t.Errorf("it was asked %d times what it is", n)
	}
}

// A provider that is down is unavailable, is not asked again and again, and comes back.
func TestProviderDown(t *testing.T) {
	p := oidctest.New(ann)
	defer p.Close()
	var mu sync.Mutex
	now := time.Now()
	c := client(p, func(o *oidc.Options) {
		o.Now = func() time.Time { mu.Lock(); defer mu.Unlock(); return now }
	})
	p.Down(true)
	for range 5 {
		_, err := c.Address(t.Context(), login)
		if im.CodeOf(err) != im.CodeUnavailable || im.Public(err).RetryAfter == 0 {
			t.Fatalf("down: %v", err)
		}
	}
	if n := p.Asked("/.well-known/openid-configuration"); n != 1 {
		t.Errorf("it was asked %d times", n)
	}
	p.Down(false)
	mu.Lock()
	now = now.Add(3 * time.Second)
	mu.Unlock()
	if _, err := come(t, p, c); err != nil {
		t.Fatalf("it is back: %v", err)
	}
	to, err := c.Address(t.Context(), login)
	if err != nil {
		t.Fatal(err)
	}
	back, err := p.LogIn(to)
	if err != nil {
		t.Fatal(err)
	}
	p.Down(true)
	if _, err := c.Ask(t.Context(), back.Query().Get("code"), login); im.CodeOf(err) != im.CodeUnavailable {
		t.Errorf("down between: %v", err)
	}
	// What it told of itself an hour ago is used while it does not answer.
	mu.Lock()
	now = now.Add(2 * time.Hour)
	mu.Unlock()
	if _, err := c.Address(t.Context(), login); err != nil {
		t.Errorf("what was known is forgotten: %v", err)
	}
}

// hanging never answers, until whoever asks gives up.
type hanging struct{}

func (hanging) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// A provider that is slow holds those who ask it for a bounded time, and not more than a
// bounded number of them.
func TestProviderSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := oidc.New(oidc.Options{Issuer: "https://sso.example", ClientID: "x", Transport: hanging{}})
		start := time.Now()
		errs := make(chan error, 200)
		for range 200 {
			go func() {
				_, err := c.Address(t.Context(), login)
				errs <- err
			}()
		}
		synctest.Wait()
		if n := len(errs); n != 200-64 {
			t.Errorf("%d were refused at once, want %d", n, 200-64)
		}
		for range 200 {
			if err := <-errs; im.CodeOf(err) != im.CodeUnavailable {
				t.Errorf("slow: %v", err)
			}
		}
		if d := time.Since(start); d > 10*time.Second {
			t.Errorf("it took %s", d)
		}
	})
}
