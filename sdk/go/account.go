package skein

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/skein-im/skein/wire"
)

// Register creates an account and its first session. baseURL is the server's
// public address, e.g. http://127.0.0.1:8080. The device must be the one the
// client is dialed with (WithDevice).
func Register(ctx context.Context, baseURL string, req *wire.RegisterRequest) (*wire.Tokens, error) {
	var resp wire.RegisterResponse
	err := Post(ctx, baseURL, accountService+"Register", "", req, &resp)
	return resp.Tokens, err
}

// RegisterGuest makes a guest, where the server takes them: no password, gone when nobody
// came with its session for a time (SPEC §3.14). ErrPermission: guests are not taken.
func RegisterGuest(ctx context.Context, baseURL string, req *wire.RegisterGuestRequest) (*wire.Tokens, error) {
	var resp wire.RegisterGuestResponse
	err := Post(ctx, baseURL, accountService+"RegisterGuest", "", req, &resp)
	return resp.Tokens, err
}

// Login opens a session with a password; ErrBadCredentials if it is wrong.
func Login(ctx context.Context, baseURL string, req *wire.LoginRequest) (*wire.Tokens, error) {
	var resp wire.LoginResponse
	err := Post(ctx, baseURL, accountService+"Login", "", req, &resp)
	return resp.Tokens, err
}

// Refresh exchanges a refresh token for new tokens. The old one stops working.
func Refresh(ctx context.Context, baseURL, refreshToken string) (*wire.Tokens, error) {
	var resp wire.RefreshResponse
	err := Post(ctx, baseURL, accountService+"Refresh", "", &wire.RefreshRequest{RefreshToken: refreshToken}, &resp)
	return resp.Tokens, err
}

// postTime bounds a Post without a deadline of its own.
const postTime = 15 * time.Second

// Post runs any API method over HTTP, SPEC §8. token may be empty for the open
// ones. An *Error is the server's answer. After any other error it may or may not have
// been carried out: a program that wants to ask again and have it done once gives a key
// with WithKey, the same each time.
func Post(ctx context.Context, baseURL, method, token string, req, resp proto.Message) error {
	body, err := protojson.Marshal(req)
	if err != nil {
		return invalid("%s: %v", method, err)
	}
	at, err := url.Parse(baseURL)
	if err != nil || at.Host == "" {
		return invalid("%q is no address like http://127.0.0.1:8080", baseURL)
	}
	if _, bounded := ctx.Deadline(); !bounded { // what does not answer is no server
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, postTime)
		defer cancel()
	}
	target := strings.TrimSuffix(baseURL, "/") + "/api/" + method
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, target, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("skein: %s: %w", method, err)
	}
	r.Header.Set("Content-Type", "application/json")
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	if key := keyFor(ctx, method); key != "" {
		r.Header.Set("Idempotency-Key", key)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return reaching(at, err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		said, _ := io.ReadAll(io.LimitReader(answer.Body, 64<<10)) // what came is enough to tell
		if e := errorIn(said); e != nil {
			return e
		}
		return reaching(at, &statusError{answer.StatusCode, string(said), fmt.Errorf("skein: %s: the server answered %s", method, answer.Status)})
	}
	b, err := io.ReadAll(io.LimitReader(answer.Body, maxFrame))
	if err != nil {
		return fmt.Errorf("skein: %s: %w", method, err)
	}
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(b, resp); err != nil {
		return fmt.Errorf("skein: %s: %w", method, err)
	}
	return nil
}

// Session keeps a user logged in: its Token method is a TokenSource that
// refreshes the access token when it is about to expire or was refused. Safe
// for concurrent use; one refresh at a time.
type Session struct {
	baseURL string
	save    func(*wire.Tokens) error
	now     func() time.Time
	turn    chan struct{} // held by who uses tokens
	tokens  *wire.Tokens
}

// NewSession starts with tokens from Register, Login or a TokenFile. save is
// called with new tokens before they are used, e.g. TokenFile.Save; may be nil.
func NewSession(baseURL string, tokens *wire.Tokens, save func(*wire.Tokens) error) *Session {
	return &Session{baseURL: baseURL, save: save, now: time.Now, turn: make(chan struct{}, 1), tokens: tokens}
}

// refreshAhead is how long before its end an access token is replaced.
const refreshAhead = 30 * time.Second

// Token is a TokenSource.
func (s *Session) Token(ctx context.Context) (string, error) {
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return "", ctx.Err()
	}
	t := s.tokens
	refused := RejectedToken(ctx) != "" && RejectedToken(ctx) == t.GetAccessToken()
	ends := time.UnixMilli(t.GetAccessExpiresAtMs())
	if !refused && (t.GetAccessExpiresAtMs() == 0 || s.now().Add(refreshAhead).Before(ends)) {
		return t.GetAccessToken(), nil
	}
	if t.GetRefreshToken() == "" {
		if !refused && s.now().Before(ends) {
			return t.GetAccessToken(), nil
		}
		return "", &Error{Code: wire.CodeTokenExpired, Message: "log in again"}
	}
	fresh, err := Refresh(ctx, s.baseURL, t.GetRefreshToken())
	if err != nil {
		return "", err
	}
	if fresh.GetAccessToken() == "" {
		return "", errors.New("skein: the server answered without tokens")
	}
	s.tokens = fresh // the old ones are worthless from here on, saved or not
	if s.save != nil {
		if err := s.save(fresh); err != nil {
			return "", fmt.Errorf("skein: save tokens: %w", err)
		}
	}
	return fresh.GetAccessToken(), nil
}

// TokenFile keeps tokens in a file that only its owner may read.
type TokenFile string

// Load reads the tokens; errors.Is(err, fs.ErrNotExist) if there are none yet.
func (f TokenFile) Load() (*wire.Tokens, error) {
	b, err := os.ReadFile(string(f))
	if err != nil {
		return nil, err
	}
	t := &wire.Tokens{}
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(b, t); err != nil {
		return nil, fmt.Errorf("skein: %s: %w", string(f), err)
	}
	return t, nil
}

// Save replaces the file in one step: after a crash it holds the old tokens or
// the new ones.
func (f TokenFile) Save(t *wire.Tokens) error {
	b, err := protojson.Marshal(t)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	if err := json.Indent(&out, b, "", "  "); err != nil {
		return err
	}
	dir := filepath.Dir(string(f))
	tmp, err := os.CreateTemp(dir, ".tokens-*") // mode 0600
	if err != nil {
		return err
	}
	_, err = tmp.Write(out.Bytes())
	if err == nil {
		err = tmp.Sync()
	}
	if e := tmp.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(tmp.Name(), string(f))
	}
	if err != nil {
		_ = os.Remove(tmp.Name())
		return err
	}
	if runtime.GOOS == "windows" {
		return nil // it lets nobody flush a directory that is open for reading; NTFS logs names by itself
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
