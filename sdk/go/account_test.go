package skein_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	skein "github.com/skein-im/skein/sdk/go"
	"github.com/skein-im/skein/wire"
)

// api is an AccountService over HTTP.
type api struct {
	mu      sync.Mutex
	refresh string // the token that is good
	n       int
	paths   []string
	expires time.Time
}

func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.paths = append(a.paths, r.Method+" "+r.URL.Path+" "+r.Header.Get("Content-Type"))
	body := make([]byte, r.ContentLength)
	_, _ = r.Body.Read(body)
	fail := func(status int, code string) {
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"code":%q,"message":"no","retryAfterMs":1500}`, code)
	}
	answer := func(m proto.Message) {
		b, _ := protojson.Marshal(m)
		_, _ = w.Write(append(b[:len(b)-1], `,"aFieldOfALaterVersion":1}`...))
	}
	tokens := func() *wire.Tokens {
		a.n++
		a.refresh = fmt.Sprint("r", a.n)
		return &wire.Tokens{
			User: "alice", AccessToken: fmt.Sprint("a", a.n), RefreshToken: a.refresh, AccessExpiresAtMs: a.expires.UnixMilli(),
		}
	}
	switch r.URL.Path {
	case "/api/skein.v1.AccountService/Register":
		answer(&wire.RegisterResponse{Tokens: tokens()})
	case "/api/skein.v1.AccountService/Login":
		var q wire.LoginRequest
		_ = protojson.Unmarshal(body, &q)
		if q.Password != "secret12" {
			fail(http.StatusUnauthorized, "bad_credentials")
			return
		}
		answer(&wire.LoginResponse{Tokens: tokens()})
	case "/api/skein.v1.AccountService/Refresh":
		var q wire.RefreshRequest
		_ = protojson.Unmarshal(body, &q)
		if q.RefreshToken != a.refresh {
			fail(http.StatusUnauthorized, "token_reused")
			return
		}
		answer(&wire.RefreshResponse{Tokens: tokens()})
	default:
		w.WriteHeader(http.StatusBadGateway)
	}
}

func TestAccount(t *testing.T) {
	a := &api{expires: time.Now().Add(time.Hour)}
	srv := httptest.NewServer(a)
	defer srv.Close()
	defer http.DefaultClient.CloseIdleConnections()
	ctx := context.Background()
	if _, err := skein.Register(ctx, srv.URL, &wire.RegisterRequest{Username: "alice", Password: "secret12"}); err != nil {
		t.Fatal(err)
	}
	if a.paths[0] != "POST /api/skein.v1.AccountService/Register application/json" {
		t.Errorf("request = %s", a.paths[0])
	}
	_, err := skein.Login(ctx, srv.URL+"/", &wire.LoginRequest{Username: "alice", Password: "wrong"})
	var e *skein.Error
	if !errors.Is(err, skein.ErrBadCredentials) || !errors.As(err, &e) || e.RetryAfter != 1500*time.Millisecond {
		t.Errorf("Login: %v", err)
	}
	if err := skein.Post(ctx, srv.URL, "skein.v1.X/Y", "tok", &wire.LoginRequest{}, &wire.LoginResponse{}); err == nil || errors.As(err, &e) && e.Code == "" {
		t.Errorf("a gateway's error page: %v", err)
	}

	// Stay logged in, over a restart.
	tokens, err := skein.Login(ctx, srv.URL, &wire.LoginRequest{Username: "alice", Password: "secret12", StayLoggedIn: true})
	if err != nil {
		t.Fatal(err)
	}
	file := skein.TokenFile(filepath.Join(t.TempDir(), "tokens.json"))
	if _, err := file.Load(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Load: %v", err)
	}
	if err := file.Save(tokens); err != nil {
		t.Fatal(err)
	}
	if st, _ := os.Stat(string(file)); st.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", st.Mode())
	}
	s := skein.NewSession(srv.URL, tokens, file.Save)
	if tok, err := s.Token(ctx); err != nil || tok != tokens.AccessToken {
		t.Errorf("Token = %q, %v", tok, err)
	}
	a.mu.Lock()
	a.expires = time.Now().Add(time.Second) // each further one expires at once
	a.mu.Unlock()
	loaded, err := file.Load()
	if err != nil || !proto.Equal(loaded, tokens) {
		t.Fatalf("Load = %v, %v", loaded, err)
	}
	loaded.AccessExpiresAtMs = time.Now().UnixMilli()
	s = skein.NewSession(srv.URL, loaded, file.Save)
	for range 2 {
		tok, err := s.Token(ctx)
		if err != nil {
			t.Fatal(err)
		}
		saved, err := file.Load()
		if err != nil || saved.AccessToken != tok {
			t.Errorf("saved = %v, %v, want %s: saved before it is used", saved, err, tok)
		}
	}
	// An old copy of the file: the server ends the session, that is final.
	s = skein.NewSession(srv.URL, loaded, nil)
	if _, err := s.Token(ctx); !errors.Is(err, skein.ErrTokenReused) {
		t.Errorf("Token: %v", err)
	}
	// Nothing to refresh with.
	s = skein.NewSession(srv.URL, &wire.Tokens{AccessToken: "x", AccessExpiresAtMs: 1}, nil)
	if _, err := s.Token(ctx); !errors.Is(err, skein.ErrTokenExpired) {
		t.Errorf("Token: %v", err)
	}
	// A save that fails must not hand out tokens that the next start will not have.
	disk := errors.New("disk full")
	good, _ := file.Load()
	s = skein.NewSession(srv.URL, good, func(*wire.Tokens) error { return disk })
	if _, err := s.Token(ctx); !errors.Is(err, disk) {
		t.Errorf("Token: %v", err)
	}
}
