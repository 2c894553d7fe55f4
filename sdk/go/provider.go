package skein

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/skein-im/skein/wire"
)

// LoginProviders lists those by which people log in besides a password. SPEC §3.13.
func LoginProviders(ctx context.Context, baseURL string) ([]*wire.LoginProvider, error) {
	var resp wire.ListLoginProvidersResponse
	err := Post(ctx, baseURL, accountService+"ListLoginProviders", "", &wire.ListLoginProvidersRequest{}, &resp)
	return resp.Providers, err
}

// ProviderLogin is a login by a provider that is under way. It has the verifier without
// which the code is worth nothing: keep it in the program that began.
type ProviderLogin struct {
	// URL is to be opened in a browser, before Expires.
	URL     string
	Expires time.Time

	baseURL, verifier string
}

// BeginProviderLogin begins a login by a provider. returnTo is where the browser is sent in
// the end, with `code` or `error` in the query; empty: the server's page shows the code, to
// be copied. ErrNotFound: there is no such provider; ErrUnavailable: it does not answer.
func BeginProviderLogin(ctx context.Context, baseURL, provider, returnTo string) (*ProviderLogin, error) {
	l := &ProviderLogin{baseURL: baseURL, verifier: rand.Text() + rand.Text()}
	sum := sha256.Sum256([]byte(l.verifier))
	var resp wire.BeginProviderLoginResponse
	err := Post(ctx, baseURL, accountService+"BeginProviderLogin", "", &wire.BeginProviderLoginRequest{
		Provider: provider, Challenge: base64.RawURLEncoding.EncodeToString(sum[:]), ReturnTo: returnTo,
	}, &resp)
	l.URL, l.Expires = resp.Url, time.UnixMilli(resp.ExpiresAtMs)
	return l, err
}

// Finish opens the session with the code that the browser came back with. ErrNotFound,
// ErrTooLate: begin again; ErrPermission: nobody on the server is known as that;
// ErrTOTPRequired: go on with LoginWithCode.
func (l *ProviderLogin) Finish(ctx context.Context, code string, device *wire.Device, stayLoggedIn bool) (*wire.Tokens, error) {
	var resp wire.FinishProviderLoginResponse
	err := Post(ctx, l.baseURL, accountService+"FinishProviderLogin", "", &wire.FinishProviderLoginRequest{Code: code, Verifier: l.verifier, Device: device, StayLoggedIn: stayLoggedIn}, &resp)
	return resp.Tokens, err
}

// LinkIdentity has the user log in by the provider as well, as whom it named. password is
// the user's, if they have one.
func (s Sessions) LinkIdentity(ctx context.Context, l *ProviderLogin, code, password string) (*wire.Identity, error) {
	var resp wire.LinkIdentityResponse
	err := s.c.Call(ctx, accountService+"LinkIdentity", &wire.LinkIdentityRequest{Code: code, Verifier: l.verifier, Password: password}, &resp)
	return resp.Identity, err
}

// Identities lists by what the user logs in besides the password.
func (s Sessions) Identities(ctx context.Context) ([]*wire.Identity, error) {
	var resp wire.ListIdentitiesResponse
	err := s.c.Call(ctx, accountService+"ListIdentities", &wire.ListIdentitiesRequest{}, &resp)
	return resp.Identities, err
}

// UnlinkIdentity takes one away. ErrPermission: it is the last one of an account
// without a password.
func (s Sessions) UnlinkIdentity(ctx context.Context, id, password string) error {
	return s.c.Call(ctx, accountService+"UnlinkIdentity", &wire.UnlinkIdentityRequest{Id: id, Password: password}, &wire.UnlinkIdentityResponse{})
}

// ChangeUsername gives the user another username, once in 30 days; password is theirs, if
// they have one. ErrAlreadyExists: it is taken, or was somebody's a short while ago. SPEC §3.15.
func (s Sessions) ChangeUsername(ctx context.Context, username, password string) (*wire.User, error) {
	var resp wire.ChangeUsernameResponse
	err := s.c.Call(ctx, accountService+"ChangeUsername", &wire.ChangeUsernameRequest{Username: username, Password: password}, &resp)
	return resp.User, err
}

// UpgradeGuest makes the user, a guest, one with a username and a password; invitation is the
// code of a registration link, where one is needed. The session goes on. ErrAlreadyExists: the
// username is taken. SPEC §3.14.
func (s Sessions) UpgradeGuest(ctx context.Context, username, password, invitation string) (*wire.User, error) {
	var resp wire.UpgradeGuestResponse
	err := s.c.Call(ctx, accountService+"UpgradeGuest", &wire.UpgradeGuestRequest{Username: username, Password: password, Invitation: invitation}, &resp)
	return resp.User, err
}

// UpgradeGuestByProvider makes the user, a guest, the one whom the provider named: they log in
// by it from then on. username may be empty: then it is made of what the provider calls them.
// The session goes on. ErrAlreadyExists: the username is taken, or whom the provider named has
// an account (Finish a further login to get into it). SPEC §3.14.
func (s Sessions) UpgradeGuestByProvider(ctx context.Context, l *ProviderLogin, code, username string) (*wire.User, error) {
	var resp wire.UpgradeGuestResponse
	err := s.c.Call(ctx, accountService+"UpgradeGuest", &wire.UpgradeGuestRequest{Username: username, Code: code, Verifier: l.verifier}, &resp)
	return resp.User, err
}

// LoginInBrowser logs in by a provider from a program on this machine: show is given the
// address to open, and the browser comes back to a port of 127.0.0.1 that listens until
// then. Errors are those of Begin and Finish; ErrPermission also if the provider let
// nobody in.
func LoginInBrowser(ctx context.Context, baseURL, provider string, device *wire.Device, stayLoggedIn bool, show func(url string)) (*wire.Tokens, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("skein: nowhere for the browser to come back to: %w", err)
	}
	// What comes back to another path is not of this login.
	path := "/" + rand.Text()
	back := make(chan url.Values, 1)
	srv := &http.Server{ReadHeaderTimeout: 5 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != path {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("Referrer-Policy", "no-referrer")
		_, _ = io.WriteString(w, "You may close this page and go back to the program.\n")
		select {
		case back <- r.URL.Query():
		default:
		}
	})}
	go func() { _ = srv.Serve(l) }()
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = srv.Shutdown(ctx) // the page is written
	}()
	login, err := BeginProviderLogin(ctx, baseURL, provider, "http://"+l.Addr().String()+path)
	if err != nil {
		return nil, err
	}
	show(login.URL)
	late := time.NewTimer(time.Until(login.Expires))
	defer late.Stop()
	select {
	case q := <-back:
		if name := q.Get("error"); name != "" {
			return nil, &Error{Code: wire.Code(name), Message: "the login by the provider failed: " + name}
		}
		return login.Finish(ctx, q.Get("code"), device, stayLoggedIn)
	case <-late.C:
		return nil, &Error{Code: wire.CodeTooLate, Message: "nobody logged in in time"}
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
