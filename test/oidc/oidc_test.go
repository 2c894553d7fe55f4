// Package oidc logs in to a server by a real provider: the one of github.com/zitadel/oidc,
// with its login page, which signs with RSA and tells names at its userinfo endpoint only.
// It is a module of its own, so that the server's has none of what a provider needs.
package oidc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/zitadel/oidc/v3/example/server/exampleop"
	"github.com/zitadel/oidc/v3/example/server/storage"

	skein "github.com/skein-im/skein/sdk/go"
	"github.com/skein-im/skein/server"
	"github.com/skein-im/skein/wire"
)

// freeAddress is one of loopback where nothing listens, and that the system gives to nobody
// by itself: otherwise any connection that is made meanwhile may take it.
func freeAddress(t *testing.T) string {
	t.Helper()
	const first, ports = 10_000, 20_000
	for range 100 {
		l, err := net.Listen("tcp", fmt.Sprint("127.0.0.1:", first+rand.IntN(ports)))
		if err == nil {
			defer l.Close()
			return l.Addr().String()
		}
	}
	t.Fatal("no port is free")
	return ""
}

const secret = "the client's secret"

// provider starts the provider, which sends browsers back to the redirect address.
func provider(t *testing.T, redirect string) (issuer string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	issuer = "http://" + l.Addr().String() + "/"
	storage.RegisterClients(storage.WebClient("skein", secret, redirect))
	store := storage.NewStorage(storage.NewUserStore("http://localhost:1/"))
	srv := &http.Server{Handler: exampleop.SetupServer(issuer, store, slog.New(slog.DiscardHandler), false), ReadHeaderTimeout: 5 * time.Second}
	go func() { _ = srv.Serve(l) }()
	t.Cleanup(func() { srv.Close() })
	return issuer
}

// running is a server with the provider; more are lines of its table.
func running(t *testing.T, more string) *server.Server {
	t.Helper()
	at := freeAddress(t)
	dir := t.TempDir()
	for name, text := range map[string]string{
		"secret":         secret,
		"providers.toml": fmt.Sprintf("[zitadel]\nissuer = %q\nclient_id = \"skein\"\nclient_secret_file = \"secret\"\nscopes = [\"profile\", \"email\"]\n%s\n", provider(t, "http://"+at+"/login/callback"), more),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	s, err := server.Open(ctx, server.Options{Settings: map[string]string{
		"data": filepath.Join(dir, "data"), "http.listen": at, "http.public_url": "http://" + at, "admin.listen": "", "accounts.providers": filepath.Join(dir, "providers.toml"), "gateway.drain_time": "100ms", "accounts.guests": "10",
	}})
	if err != nil {
		stop()
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return s
}

var hidden = regexp.MustCompile(`name="id" value="([^"]+)"`)

// logIn is a person with a browser: opens the address, types name and password.
func logIn(address string) (page string, err error) {
	jar, err := cookiejar.New(nil)
	if err != nil {
		return "", err
	}
	browser := &http.Client{Jar: jar, Timeout: 30 * time.Second}
	body, at, err := read(browser.Get(address))
	if err != nil {
		return "", err
	}
	id := hidden.FindStringSubmatch(body)
	if id == nil {
		return "", fmt.Errorf("no form at %s: %s", at, body)
	}
	body, _, err = read(browser.PostForm(at.ResolveReference(&url.URL{Path: "/login/username"}).String(), url.Values{
		"id": {id[1]}, "username": {"test-user@localhost"}, "password": {"verysecure"},
	}))
	return body, err
}

func read(resp *http.Response, err error) (string, *url.URL, error) {
	if err != nil {
		return "", nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return string(body), resp.Request.URL, err
}

func browse(t *testing.T, s *server.Server) (*wire.Tokens, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	typed := make(chan error, 1)
	tokens, err := skein.LoginInBrowser(ctx, s.URL(), "zitadel", &wire.Device{Id: "d1"}, true, func(address string) {
		go func() {
			page, err := logIn(address)
			if err == nil && !strings.Contains(page, "close this page") {
				err = errors.New(page)
			}
			typed <- err
		}()
	})
	select {
	case failed := <-typed:
		if failed != nil {
			t.Errorf("the browser: %v", failed)
		}
	case <-ctx.Done():
		t.Error("the browser did not come to an end")
	}
	return tokens, err
}

func identities(t *testing.T, s *server.Server, token string) []*wire.Identity {
	t.Helper()
	var all wire.ListIdentitiesResponse
	if err := skein.Post(t.Context(), s.URL(), "skein.v1.AccountService/ListIdentities", token, &wire.ListIdentitiesRequest{}, &all); err != nil {
		t.Fatal(err)
	}
	return all.Identities
}

// Who logs in at the provider gets an account, and the same one again.
func TestRealProvider(t *testing.T) {
	s := running(t, "")
	all, err := skein.LoginProviders(t.Context(), s.URL())
	if err != nil || len(all) != 1 || all[0].Name != "zitadel" {
		t.Fatal(all, err)
	}
	first, err := browse(t, s)
	if err != nil {
		t.Fatal(err)
	}
	who := identities(t, s, first.AccessToken)
	if len(who) != 1 || who[0].Email != "test-user@zitadel.ch" || !strings.HasPrefix(who[0].Name, "test-user") {
		t.Errorf("they are %v", who)
	}
	second, err := browse(t, s)
	if err != nil || second.User != first.User {
		t.Errorf("the second time: %v, %v", second, err)
	}
	// By a page that shows the code, and once.
	login, err := skein.BeginProviderLogin(t.Context(), s.URL(), "zitadel", "")
	if err != nil {
		t.Fatal(err)
	}
	page, err := logIn(login.URL)
	if err != nil {
		t.Fatal(err)
	}
	code := regexp.MustCompile("skb_[A-Za-z0-9_-]{43}").FindString(page)
	third, err := login.Finish(t.Context(), code, nil, false)
	if err != nil || third.User != first.User {
		t.Errorf("by the code of the page: %v, %v", third, err)
	}
	if _, err := login.Finish(t.Context(), code, nil, false); !errors.Is(err, skein.ErrNotFound) {
		t.Errorf("the code again: %v", err)
	}
}

// Where no accounts are made, nobody gets one.
func TestRealProviderCreatesNone(t *testing.T) {
	s := running(t, "create = false")
	if _, err := browse(t, s); !errors.Is(err, skein.ErrPermission) {
		t.Errorf("they got in: %v", err)
	}
}

// A guest who logs in at the provider is the user whom it named, on the connection that
// goes on, and when they come by it again.
func TestGuestByRealProvider(t *testing.T) {
	s := running(t, "")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	tokens, err := skein.RegisterGuest(ctx, s.URL(), &wire.RegisterGuestRequest{DisplayName: "Gus", Device: &wire.Device{Id: "d1"}})
	if err != nil {
		t.Fatal(err)
	}
	c, err := skein.Dial(ctx, "ws"+strings.TrimPrefix(s.URL(), "http")+"/ws", skein.WithToken(tokens.AccessToken), skein.WithDevice("d1", wire.DeviceClass_DEVICE_CLASS_WEB, ""))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	login, err := skein.BeginProviderLogin(ctx, s.URL(), "zitadel", "")
	if err != nil {
		t.Fatal(err)
	}
	page, err := logIn(login.URL)
	if err != nil {
		t.Fatal(err)
	}
	code := regexp.MustCompile("skb_[A-Za-z0-9_-]{43}").FindString(page)
	u, err := c.Sessions().UpgradeGuestByProvider(ctx, login, code, "")
	if err != nil || u.Id != tokens.User || u.DisplayName != "Gus" || u.Guest || !strings.HasPrefix(u.Username, "test-user") {
		t.Fatal(u, err)
	}
	in, err := browse(t, s)
	if err != nil || in.User != tokens.User {
		t.Errorf("they come as %v, %v", in, err)
	}
}
