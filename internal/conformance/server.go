package conformance

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Server is a server to be tried.
type Server struct {
	URL string // http://host:port or https://…, without a path at the end
	TCP string // tcp://host:port or tls://…; "" if it has none
	// Key is an administrator's key (AdminService.MintToken makes the users), "" if
	// users are made by registering them.
	Key string
	// Own says that it is Skein itself: then its own words and bytes are compared, too.
	Own bool
	// Has is what is known of it beside the defaults.
	Has Needs
	// Stop begins its end; Ended waits for that and tells whether it was a good one.
	// nil: it may not be stopped.
	Stop  func() error
	Ended func() error

	// registering: a server bounds how often an address may. It guards password, which
	// all accounts that are registered here have; nobody needs them afterwards.
	registering sync.Mutex
	password    string
}

// ws is where connections are made.
func (s *Server) ws() string { return "ws" + strings.TrimPrefix(s.URL, "http") + "/ws" }

// has is what is known of the server.
func (s *Server) has() Needs {
	n := Needs{}
	maps.Copy(n, s.Has)
	if s.Stop != nil {
		n[NeedStop] = "yes"
	}
	if s.Key != "" {
		n[NeedAdmin] = "yes"
	}
	return n
}

// post calls a method over HTTP and returns the status and the JSON of the answer.
func (s *Server) post(ctx context.Context, method, token, body string) (int, string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL+"/api/skein.v1."+method, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	req.Header.Set("Content-Type", "application/json")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(resp.Body, longestFrame))
	return resp.StatusCode, string(raw), err
}

// refusal is an answer that a preparation got in place of the good one.
type refusal struct {
	method       string
	status       int
	Code         string
	Message      string
	RetryAfterMs int64
}

func (r *refusal) Error() string {
	return fmt.Sprintf("%s answered %d %s: %s (retryAfterMs:%d)", r.method, r.status, r.Code, r.Message, r.RetryAfterMs)
}

// longestWait is how long a preparation waits because the server said so.
const longestWait = time.Minute

// must calls a method that has to work, again when it is refused for now, and
// decodes the answer.
func (s *Server) must(ctx context.Context, method, token string, request, answer any) error {
	var body bytes.Buffer
	if err := json.NewEncoder(&body).Encode(request); err != nil {
		return err
	}
	for {
		status, text, err := s.post(ctx, method, token, body.String())
		if err != nil {
			return fmt.Errorf("%s: %w", method, err)
		}
		if status == http.StatusOK {
			if err := json.Unmarshal([]byte(text), answer); err != nil {
				return fmt.Errorf("%s answered what cannot be read: %w in %s", method, err, clip(text))
			}
			return nil
		}
		r := &refusal{method: method, status: status}
		if err := json.Unmarshal([]byte(text), r); err != nil {
			return fmt.Errorf("%s answered %d %s", method, status, clip(text))
		}
		wait := time.Duration(r.RetryAfterMs) * time.Millisecond
		if status != http.StatusTooManyRequests && status != http.StatusServiceUnavailable || wait > longestWait {
			return r
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w, for longer than the case may take", r)
		case <-time.After(max(wait, 10*time.Millisecond)):
		}
	}
}

type tokens struct {
	Tokens struct{ User, AccessToken string }
}

// mint makes a session of a user and returns its token.
func (s *Server) mint(ctx context.Context, user string, lifetime time.Duration) (string, error) {
	var answer tokens
	err := s.must(ctx, "AdminService/MintToken", s.Key, map[string]any{
		"user": user, "displayName": user, "lifetimeMs": fmt.Sprint(lifetime.Milliseconds()),
	}, &answer)
	return answer.Tokens.AccessToken, err
}

// person is a user of a case.
type person struct{ id, name, username, token string }

// register makes users by registration. Ids are the server's: the users are given
// back in their order, so that the dm of the first and the second is dm:first:second.
func (s *Server) register(ctx context.Context, n int) ([]person, error) {
	s.registering.Lock()
	defer s.registering.Unlock()
	if s.password == "" {
		s.password = "conformance " + random(12)
	}
	var all []person
	for range n {
		p := person{username: "conf-" + random(10)}
		p.name = p.username
		var answer tokens
		err := s.must(ctx, "AccountService/Register", "", map[string]any{"username": p.username, "password": s.password, "displayName": p.name}, &answer)
		if err != nil {
			return nil, err
		}
		p.id, p.token = answer.Tokens.User, answer.Tokens.AccessToken
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b person) int { return strings.Compare(a.id, b.id) })
	return all, nil
}

// login makes another session of a registered user.
func (s *Server) login(ctx context.Context, username string) (string, error) {
	s.registering.Lock()
	defer s.registering.Unlock()
	var answer tokens
	err := s.must(ctx, "AccountService/Login", "", map[string]any{"username": username, "password": s.password}, &answer)
	return answer.Tokens.AccessToken, err
}

// random is a text of n hexadecimal digits.
func random(n int) string {
	b := make([]byte, (n+1)/2)
	_, _ = rand.Read(b) // it never fails
	return hex.EncodeToString(b)[:n]
}

func clip(s string) string {
	if len(s) > 300 {
		return s[:300] + "…"
	}
	return s
}
