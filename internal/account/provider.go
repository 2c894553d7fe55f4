package account

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/skein-im/skein/internal/im"
)

const (
	// awayLife is how long a browser may be away at a provider, backLife how long the code
	// that it comes back with is good.
	awayLife = 10 * time.Minute
	backLife = 5 * time.Minute
	// beginsPerHour is how many logins by a provider an address may begin.
	beginsPerHour = 600
	// MaxReturnTo is how long the address may be that a browser is sent to in the end.
	MaxReturnTo = 512
	// MinVerifier and MaxVerifier are how long a client's verifier is (RFC 7636).
	MinVerifier, MaxVerifier = 43, 128
)

// ProviderLink is which accounts a provider may take that there are.
type ProviderLink string

// What a provider may take: none; the one with the username that it says; the one with an
// identity of another provider with the same e-mail.
const (
	LinkNone     ProviderLink = "no"
	LinkUsername ProviderLink = "username"
	LinkEmail    ProviderLink = "email"
)

// Provider is one by which people log in.
type Provider struct {
	// Name is an id, Title what is shown.
	Name, Title string
	// Create: whom nobody here is known as gets an account.
	Create bool
	Link   ProviderLink
	At     ProviderClient
}

// ProviderClient speaks to a provider. Its errors are fit for im.Public: unavailable, or
// permission_denied where what the provider says is not good.
type ProviderClient interface {
	// Address is where the browser is sent.
	Address(ctx context.Context, a im.ProviderAuth) (string, error)
	// Ask exchanges the code that the browser came back with for who that is. It has
	// checked everything about the provider's answer that the login is bound to.
	Ask(ctx context.Context, code string, a im.ProviderAuth) (im.ProviderClaims, error)
}

// ProviderAnswer is what a provider sent the browser back with.
type ProviderAnswer struct {
	State, Code string
	// Issuer and Error are what it says besides, if it does.
	Issuer, Error string
}

// Providers returns those by which people log in.
func (s *Service) Providers() []Provider { return slices.Clone(s.o.Providers) }

func (s *Service) provider(name string) (Provider, error) {
	for _, p := range s.o.Providers {
		if p.Name == name {
			return p, nil
		}
	}
	return Provider{}, im.Errorf(im.CodeNotFound, "this server has no such provider")
}

// auth is what the login with a state is bound to: made of the state and the server's key,
// so that every node has it and nobody who sees the address, or the store, has.
func (s *Service) auth(state string) (im.ProviderAuth, error) {
	if len(s.o.SealKey) == 0 {
		return im.ProviderAuth{}, im.Errorf(im.CodeUnimplemented, "this server has no key for logins by a provider")
	}
	part := func(what string) string {
		mac := hmac.New(sha256.New, s.o.SealKey)
		mac.Write([]byte("skein provider login " + what + "\x00" + state))
		return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
	}
	return im.ProviderAuth{State: state, Nonce: part("nonce"), Verifier: part("verifier")}, nil
}

// BeginProvider begins a login at a provider and returns the address to open in a browser.
// challenge is the hash of the client's verifier; the browser is sent to returnTo in the
// end, if it is not empty. not_found: there is no such provider.
func (s *Service) BeginProvider(ctx context.Context, addr, provider, challenge, returnTo string) (to string, until time.Time, err error) {
	to, until, err = s.beginProvider(ctx, addr, provider, challenge, returnTo)
	return to, until, s.count("provider_begin", err)
}

func (s *Service) beginProvider(ctx context.Context, addr, provider, challenge, returnTo string) (string, time.Time, error) {
	none := time.Time{}
	if raw, err := base64.RawURLEncoding.DecodeString(challenge); err != nil || len(raw) != sha256.Size {
		return "", none, im.Wrong("challenge", "must be the SHA-256 of the verifier in base64url: 43 characters")
	}
	if !s.mayReturn(returnTo) {
		return "", none, im.Wrong("returnTo", "must be a loopback address (http://127.0.0.1:PORT/...), or one of the deployment's (accounts.return_urls)")
	}
	p, err := s.provider(provider)
	if err != nil {
		return "", none, err
	}
	if err := s.throttle.spend(countBegins, addr, beginsPerHour, "too many logins were begun from this address"); err != nil {
		return "", none, err
	}
	state, err := newSecret(s.o.Random, statePrefix)
	if err != nil {
		return "", none, err
	}
	auth, err := s.auth(state)
	if err != nil {
		return "", none, err
	}
	to, err := p.At.Address(ctx, auth)
	if err != nil {
		return "", none, err
	}
	now := s.o.Now()
	until := now.Add(awayLife)
	return to, until, s.store.PutProviderLogin(ctx, im.ProviderLogin{
		Hash: HashKey(state), Step: im.ProviderAway, Provider: p.Name, Challenge: challenge, ReturnTo: returnTo, Expires: until,
	}, now)
}

// mayReturn tells whether browsers may be sent to an address with a code: to this machine's
// own programs, and to where the deployment says.
func (s *Service) mayReturn(to string) bool {
	if to == "" || slices.Contains(s.o.ReturnURLs, to) {
		return true
	}
	u, err := url.Parse(to)
	if err != nil || len(to) > MaxReturnTo || u.Scheme != "http" || u.User != nil || u.Fragment != "" || u.Port() == "" || u.RawQuery != "" {
		return false
	}
	ip, err := netip.ParseAddr(u.Hostname())
	return err == nil && ip.IsLoopback()
}

// AnswerProvider takes what a provider sent a browser back with, and returns the code that
// finishes the login, and where the browser is to go: with what went wrong, if something
// did. not_found: no login waits for this; too_late: its time is over.
func (s *Service) AnswerProvider(ctx context.Context, a ProviderAnswer) (code, to string, err error) {
	code, to, err = s.answerProvider(ctx, a)
	return code, to, s.count("provider_answer", err)
}

func (s *Service) answerProvider(ctx context.Context, a ProviderAnswer) (code, to string, err error) {
	login, err := s.takeLogin(ctx, im.ProviderAway, a.State, statePrefix)
	if err != nil {
		return "", "", err
	}
	if code, err = s.askProvider(ctx, login, a); err == nil {
		return code, withQuery(login.ReturnTo, "code", code), nil
	}
	s.o.Logger.Warn("account: a login by a provider failed", "provider", login.Provider, "err", im.Public(err).Message)
	if login.ReturnTo != "" {
		return "", withQuery(login.ReturnTo, "error", string(im.CodeOf(err))), nil
	}
	return "", "", err
}

// askProvider asks the provider who came back, and keeps that for the client.
func (s *Service) askProvider(ctx context.Context, login im.ProviderLogin, a ProviderAnswer) (code string, err error) {
	p, err := s.provider(login.Provider)
	if err != nil {
		return "", err
	}
	if a.Code == "" || a.Error != "" {
		return "", im.Errorf(im.CodePermissionDenied, "the provider let nobody in")
	}
	auth, err := s.auth(a.State)
	if err != nil {
		return "", err
	}
	auth.Issuer = a.Issuer
	if login.Claims, err = p.At.Ask(ctx, a.Code, auth); err != nil {
		return "", err
	}
	if code, err = newSecret(s.o.Random, backPrefix); err != nil {
		return "", err
	}
	now := s.o.Now()
	login.Hash, login.Step, login.Expires = HashKey(code), im.ProviderBack, now.Add(backLife)
	return code, s.store.PutProviderLogin(ctx, login, now)
}

func withQuery(to, key, value string) string {
	if to == "" {
		return ""
	}
	separator := "?"
	if strings.Contains(to, "?") {
		separator = "&"
	}
	return to + separator + key + "=" + url.QueryEscape(value)
}

// takeLogin uses up what a login by a provider waits for. Nobody guesses 256 bits, so a
// wrong one is not held against the address: many people come from some.
func (s *Service) takeLogin(ctx context.Context, step im.ProviderStep, secret, prefix string) (im.ProviderLogin, error) {
	l, err := im.ProviderLogin{}, error(im.Errorf(im.CodeNotFound, "no login waits for this"))
	if wellFormed(secret, prefix) {
		l, err = s.store.TakeProviderLogin(ctx, step, HashKey(secret), s.o.Now())
	}
	switch im.CodeOf(err) {
	case im.CodeNotFound:
		return l, im.Errorf(im.CodeNotFound, "no login waits for this, or it was used: begin again")
	case im.CodeTooLate:
		return l, im.Errorf(im.CodeTooLate, "this login's time is over: begin again")
	}
	return l, err
}

// whoCame uses the code up with which a browser came back, and returns whom the provider
// named. not_found: it is wrong, was used, or another client began the login.
func (s *Service) whoCame(ctx context.Context, code, verifier string) (Provider, im.ProviderClaims, error) {
	l, err := s.takeLogin(ctx, im.ProviderBack, code, backPrefix)
	if err != nil {
		return Provider{}, l.Claims, err
	}
	sum := sha256.Sum256([]byte(verifier))
	if subtle.ConstantTimeCompare([]byte(base64.RawURLEncoding.EncodeToString(sum[:])), []byte(l.Challenge)) != 1 {
		return Provider{}, l.Claims, im.Errorf(im.CodeNotFound, "another client began this login: begin again")
	}
	p, err := s.provider(l.Provider)
	return p, l.Claims, err
}
