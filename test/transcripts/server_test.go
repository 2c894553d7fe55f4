package transcripts

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/app"
	"github.com/skein-im/skein/internal/config"
	"github.com/skein-im/skein/internal/gateway"
)

// server is a whole server in this process.
type server struct {
	http, ws, tcp string
	key           string
	stop          context.CancelFunc
	ended         chan error // one value
}

// fast makes silence a matter of moments.
var fast = gateway.Heartbeat{Idle: 100 * time.Millisecond, Silence: 200 * time.Millisecond, Every: 50 * time.Millisecond, Dead: 500 * time.Millisecond}

// start opens a server with the settings of a `server` line.
func start(t *testing.T, settings string) *server {
	t.Helper()
	cfg := config.Default()
	cfg.Data, cfg.HTTP.Listen, cfg.Admin.Listen = t.TempDir(), "127.0.0.1:0", ""
	cfg.Listeners = []string{"tcp://127.0.0.1:0"}
	cfg.Gateway.DrainTime = 0
	var o app.Options
	for _, kv := range strings.Fields(settings) {
		key, value, _ := strings.Cut(kv, "=")
		switch key {
		case "own":
		case "heartbeat":
			o.Heartbeat = fast
		default:
			if err := cfg.Set(key, value); err != nil {
				t.Fatal(err)
			}
		}
	}
	ctx, stop := context.WithCancel(context.Background())
	a, err := app.Open(ctx, cfg, o)
	if err != nil {
		stop()
		t.Fatal(err)
	}
	raw, err := os.ReadFile(filepath.Join(cfg.Data, app.AdminKeyFile))
	if err != nil {
		t.Error(err)
	}
	s := &server{
		http: a.URL(), ws: "ws" + strings.TrimPrefix(a.URL(), "http") + "/ws", tcp: strings.TrimPrefix(a.ListenURLs()[0], "tcp://"),
		key: strings.TrimSpace(string(raw)), stop: stop, ended: make(chan error, 1),
	}
	go func() { s.ended <- a.Serve(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-s.ended; err != nil {
			t.Errorf("the server ended with %v", err)
		}
		s.ended <- nil
	})
	return s
}

// servers are the servers that transcripts share, by their settings.
type servers struct {
	t  *testing.T
	mu sync.Mutex
	by map[string]*server
}

func (s *servers) get(t *testing.T, settings string) *server {
	for _, word := range strings.Fields(settings) {
		if word == "own" || strings.HasPrefix(word, "heartbeat=") {
			return start(t, settings)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.by[settings] == nil {
		s.by[settings] = start(s.t, settings)
	}
	return s.by[settings]
}

// post calls a method over HTTP and returns the status and the JSON of the answer.
func (s *server) post(ctx context.Context, method, token, body string) (int, string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.http+"/api/skein.v1."+method, strings.NewReader(body))
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
	raw, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(raw), err
}

// must calls a method that has to work and decodes the answer.
func (s *server) must(ctx context.Context, method, token string, request, answer any) error {
	var body bytes.Buffer
	if err := json.NewEncoder(&body).Encode(request); err != nil {
		return err
	}
	status, text, err := s.post(ctx, method, token, body.String())
	if err != nil {
		return err
	}
	if status != http.StatusOK {
		return fmt.Errorf("%s answered %d %s", method, status, text)
	}
	return json.Unmarshal([]byte(text), answer)
}

// mint makes a session of a user and returns its token.
func (s *server) mint(ctx context.Context, user string, lifetime time.Duration) (string, error) {
	var answer struct {
		Tokens struct{ AccessToken string }
	}
	err := s.must(ctx, "AdminService/MintToken", s.key, map[string]any{
		"user": user, "displayName": user, "lifetimeMs": fmt.Sprint(lifetime.Milliseconds()),
	}, &answer)
	return answer.Tokens.AccessToken, err
}
