// Package oidc speaks to a provider of OpenID Connect: where a browser is sent, and who
// the provider says came back.
//
// It knows nothing of accounts, stores or clients. It holds what the provider tells of
// itself (addresses, keys); nothing of a login.
//
// # What is guaranteed
//
//   - An ID token is taken only if the provider's keys signed it, by one of the asymmetric
//     algorithms it tells of; if issuer, audience (and authorised party) and nonce are those
//     of the login; and if its times are right for clocks that differ by Skew at most.
//   - A provider that is down or slow costs its own logins Timeout and nobody else anything:
//     at most maxAsking requests wait for it, further ones are refused at once.
//   - Redirects are not followed, and answers are read up to maxAnswer: what leaves goes
//     where the operator said.
//   - No error carries a code, a token, a secret or what the provider wrote.
//
// Locks: Client.mu, for assignments only. There is no goroutine of its own.
package oidc

import (
	"context"
	"crypto/subtle"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/skein-im/skein/internal/im"
)

const (
	// Skew is how far the provider's clock may be from ours.
	Skew = time.Minute
	// maxAnswer is how long an answer of the provider may be.
	maxAnswer = 1 << 20
	// maxAsking is how many logins ask at a time.
	maxAsking = 64
	// lookEvery is how long what the provider tells of itself is good, lookAgain how long
	// it is left alone when it did not answer.
	lookEvery = time.Hour
	lookAgain = 2 * time.Second
	// maxSubject is how long the provider's name for somebody may be (OpenID Connect Core).
	maxSubject = 255
)

// Options of a Client.
type Options struct {
	Issuer, ClientID string
	// Secret may be empty: then PKCE alone tells the provider who asks.
	Secret string
	// Redirect is where the provider sends browsers back to.
	Redirect string
	// Scopes are asked for; openid is, always.
	Scopes []string
	// UsernameClaim and NameClaim are the claims that become username and display name;
	// default preferred_username and name.
	UsernameClaim, NameClaim string
	// Timeout bounds everything that one login asks the provider; default 10 s.
	Timeout time.Duration
	// Now is the clock; default time.Now.
	Now func() time.Time
	// Transport is for tests; default one of its own.
	Transport http.RoundTripper
}

// Client speaks to one provider. All methods may be called concurrently.
type Client struct {
	o       Options
	http    *http.Client
	asking  chan struct{}
	looking chan struct{}

	mu     sync.Mutex
	found  *found
	again  time.Time
	lookAt time.Time
}

// found is what a provider tells of itself.
type found struct {
	verifier *oidc.IDTokenVerifier
	provider *oidc.Provider
	config   oauth2.Config
	// saysIssuer: it names itself in what it sends the browser back with (RFC 9207).
	saysIssuer bool
}

// New makes a client. It asks the provider nothing yet.
func New(o Options) *Client {
	if o.Timeout == 0 {
		o.Timeout = 10 * time.Second
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Transport == nil {
		t := http.DefaultTransport.(*http.Transport).Clone()
		t.MaxConnsPerHost = maxAsking
		o.Transport = t
	}
	if o.UsernameClaim == "" {
		o.UsernameClaim = "preferred_username"
	}
	if o.NameClaim == "" {
		o.NameClaim = "name"
	}
	if !slices.Contains(o.Scopes, oidc.ScopeOpenID) {
		o.Scopes = append([]string{oidc.ScopeOpenID}, o.Scopes...)
	}
	return &Client{
		o: o, asking: make(chan struct{}, maxAsking), looking: make(chan struct{}, 1),
		http: &http.Client{
			Transport: bounded{o.Transport}, Timeout: o.Timeout,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// bounded reads no more of an answer than maxAnswer.
type bounded struct{ http.RoundTripper }

func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := b.RoundTripper.RoundTrip(r)
	if err == nil {
		resp.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(resp.Body, maxAnswer), resp.Body}
	}
	return resp, err
}

func unavailable() error {
	e := im.Errorf(im.CodeUnavailable, "the provider does not answer; try again later, or log in otherwise")
	e.RetryAfter = 5 * time.Second
	return e
}

func refused(why string) error {
	return im.Errorf(im.CodePermissionDenied, "what the provider says is not good: %s", why)
}

// enter takes a place among those who ask, with the time that they have.
func (c *Client) enter(ctx context.Context) (context.Context, func(), error) {
	select {
	case c.asking <- struct{}{}:
	default:
		return nil, nil, unavailable()
	}
	ctx, cancel := context.WithTimeout(oidc.ClientContext(ctx, c.http), c.o.Timeout)
	return ctx, func() { cancel(); <-c.asking }, nil
}

// known returns what the provider tells of itself. One looks at a time; what was found an
// hour ago is looked for anew, and used still when the provider does not answer.
func (c *Client) known(ctx context.Context) (*found, error) {
	if f, again := c.last(); f != nil || again {
		return f, errIf(f == nil)
	}
	select {
	case c.looking <- struct{}{}:
		defer func() { <-c.looking }()
	case <-ctx.Done():
		return nil, unavailable()
	}
	if f, again := c.last(); f != nil || again {
		return f, errIf(f == nil)
	}
	f, err := c.look(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.o.Now()
	if err != nil {
		c.again = now.Add(lookAgain)
		if c.found != nil {
			return c.found, nil
		}
		return nil, err
	}
	c.found, c.lookAt = f, now.Add(lookEvery)
	return f, nil
}

func errIf(missing bool) error {
	if missing {
		return unavailable()
	}
	return nil
}

// last is what was found, as long as it is good, or while nobody is to look again.
func (c *Client) last() (f *found, again bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.o.Now()
	if c.found != nil && now.Before(c.lookAt) {
		return c.found, false
	}
	if now.Before(c.again) {
		return c.found, true
	}
	return nil, false
}

func (c *Client) look(ctx context.Context) (*found, error) {
	p, err := oidc.NewProvider(ctx, c.o.Issuer)
	if err != nil {
		var other *oidc.IssuerMismatchError
		if errors.As(err, &other) {
			return nil, refused("it calls itself otherwise than the settings do (issuer)")
		}
		return nil, unavailable()
	}
	var more struct {
		SaysIssuer bool     `json:"authorization_response_iss_parameter_supported"`
		Methods    []string `json:"token_endpoint_auth_methods_supported"`
	}
	if err := p.Claims(&more); err != nil {
		return nil, unavailable()
	}
	f := &found{provider: p, saysIssuer: more.SaysIssuer}
	f.config = oauth2.Config{ClientID: c.o.ClientID, ClientSecret: c.o.Secret, Endpoint: p.Endpoint(), RedirectURL: c.o.Redirect, Scopes: c.o.Scopes}
	// Not found out by trying: a try may use the code up.
	f.config.Endpoint.AuthStyle = oauth2.AuthStyleInParams
	if c.o.Secret != "" && (len(more.Methods) == 0 || slices.Contains(more.Methods, "client_secret_basic")) {
		f.config.Endpoint.AuthStyle = oauth2.AuthStyleInHeader
	}
	// The times are checked here, because the library takes none that is a moment late.
	f.verifier = p.VerifierContext(oidc.ClientContext(context.WithoutCancel(ctx), c.http), &oidc.Config{ClientID: c.o.ClientID, SkipExpiryCheck: true})
	return f, nil
}

// Address is where a browser is sent to log in.
func (c *Client) Address(ctx context.Context, a im.ProviderAuth) (string, error) {
	ctx, leave, err := c.enter(ctx)
	if err != nil {
		return "", err
	}
	defer leave()
	f, err := c.known(ctx)
	if err != nil {
		return "", err
	}
	return f.config.AuthCodeURL(a.State, oidc.Nonce(a.Nonce), oauth2.S256ChallengeOption(a.Verifier)), nil
}

// Ask exchanges the code that a browser came back with for who that is.
func (c *Client) Ask(ctx context.Context, code string, a im.ProviderAuth) (who im.ProviderClaims, err error) {
	ctx, leave, err := c.enter(ctx)
	if err != nil {
		return who, err
	}
	defer leave()
	f, err := c.known(ctx)
	if err != nil {
		return who, err
	}
	if a.Issuer != c.o.Issuer && (a.Issuer != "" || f.saysIssuer) {
		return who, refused("another provider sent the browser back")
	}
	tokens, err := f.config.Exchange(ctx, code, oauth2.VerifierOption(a.Verifier))
	if err != nil {
		var answer *oauth2.RetrieveError
		if errors.As(err, &answer) && answer.Response.StatusCode/100 == 4 && answer.Response.StatusCode != http.StatusTooManyRequests {
			return who, refused("it does not take the code")
		}
		return who, unavailable()
	}
	raw, _ := tokens.Extra("id_token").(string)
	id, err := f.verifier.Verify(ctx, raw)
	if err != nil {
		// The library has one error for keys that could not be fetched, and texts.
		if raw != "" && (ctx.Err() != nil || strings.Contains(err.Error(), "fetching keys")) {
			return who, unavailable()
		}
		return who, refused("signature, issuer or audience of the ID token")
	}
	if err := c.check(id, a.Nonce); err != nil {
		return who, err
	}
	return c.claims(ctx, f, id, tokens)
}

// check checks of an ID token what its signature, issuer and audience do not say.
func (c *Client) check(id *oidc.IDToken, nonce string) error {
	var more struct {
		Party     string  `json:"azp"`
		NotBefore float64 `json:"nbf"`
	}
	if err := id.Claims(&more); err != nil {
		return refused("the ID token")
	}
	now := c.o.Now()
	switch {
	case subtle.ConstantTimeCompare([]byte(id.Nonce), []byte(nonce)) != 1:
		return refused("the nonce is another login's")
	case more.Party != "" && more.Party != c.o.ClientID, more.Party == "" && len(id.Audience) != 1:
		return refused("the ID token is for another client")
	case !now.Before(id.Expiry.Add(Skew)):
		return refused("the ID token's time is over; do the clocks differ?")
	case id.IssuedAt.After(now.Add(Skew)), more.NotBefore > float64(now.Add(Skew).Unix()):
		return refused("the ID token is of the future; do the clocks differ?")
	case id.Subject == "" || len(id.Subject) > maxSubject || strings.ContainsFunc(id.Subject, func(r rune) bool { return r < ' ' || r == 0x7f || r == 0xfffd }):
		return refused("the subject")
	}
	return nil
}

// claims reads who somebody is. What the ID token does not tell is asked for, with the
// access token.
func (c *Client) claims(ctx context.Context, f *found, id *oidc.IDToken, tokens *oauth2.Token) (im.ProviderClaims, error) {
	who := im.ProviderClaims{Issuer: c.o.Issuer, Subject: id.Subject}
	var told map[string]any
	if err := id.Claims(&told); err != nil {
		return who, refused("the ID token")
	}
	c.read(&who, told)
	if who.Username != "" && who.Name != "" || f.provider.UserInfoEndpoint() == "" {
		return who, nil
	}
	info, err := f.provider.UserInfo(ctx, oauth2.StaticTokenSource(tokens))
	if err != nil {
		return who, unavailable()
	}
	if info.Subject != id.Subject {
		return who, refused("it tells of another person than the ID token")
	}
	told = nil
	if err := info.Claims(&told); err != nil {
		return who, refused("what it tells of the person")
	}
	c.read(&who, told)
	return who, nil
}

// read takes what is told, where nothing is known yet.
func (c *Client) read(who *im.ProviderClaims, told map[string]any) {
	text := func(claim string) string {
		s, _ := told[claim].(string)
		if len(s) > 1024 {
			return ""
		}
		return strings.TrimSpace(s)
	}
	for to, claim := range map[*string]string{&who.Username: c.o.UsernameClaim, &who.Name: c.o.NameClaim} {
		if *to == "" {
			*to = text(claim)
		}
	}
	// Some providers write the truth as a string.
	if verified := told["email_verified"]; who.Email == "" && (verified == true || verified == "true") {
		who.Email = strings.ToLower(text("email"))
	}
}
