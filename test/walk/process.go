package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/skein-im/skein/internal/app"
	"github.com/skein-im/skein/internal/child"
	"github.com/skein-im/skein/internal/config"
	"github.com/skein-im/skein/internal/limits"
	"github.com/skein-im/skein/internal/pg/pgtest"
)

// serveCommand makes this program be a server: serve DATA HTTP ADMIN TCP STORE CLOCK. It is
// not for people.
const serveCommand = "walk-serve"

// isServe tells that this program is to be a server.
func isServe(args []string) bool { return len(args) == 8 && args[1] == serveCommand }

// streamSilence is after what time without a part the server ends a streamed message: more
// than a walk takes, and less than its clock is moved at a time.
const streamSilence = 4 * time.Hour

// serve is the server's process: as `skein serve`, but devices may ask as often as they
// like, and its clock is moved. What comes to be too late by then is not in the model. It
// ends when its standard input does, so it never outlives who started it.
func serve(args []string) error {
	clock, err := child.OpenClock(args[5])
	if err != nil {
		return err
	}
	cfg := config.Default()
	cfg.Data, cfg.HTTP.Listen, cfg.Admin.Listen = args[0], args[1], args[2]
	cfg.Listeners, cfg.Store = []string{"tcp://" + args[3]}, args[4]
	cfg.Gateway.DrainTime = 0
	for key, value := range map[string]string{
		"accounts.dm_policy": "everyone", "accounts.device_policy": "all", "accounts.requests_last": "100000h", "accounts.request_again": "0s", "accounts.requests_per_day": "1000000", "groups.max_made_per_day": "1000000",
		"groups.max_adds_per_hour": "1000000", "groups.max_strangers_per_day": "1000000",
		"messaging.recall_window": "0s", "messaging.edit_window": "100000h", "messaging.stream_store": "20ms", "messaging.stream_silence": streamSilence.String(),
	} {
		if err := cfg.Set(key, value); err != nil {
			return err
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // until the parent ends
		stop()
	}()
	many := limits.Rate{PerSecond: 1e6, Burst: 1e6}
	a, err := app.Open(ctx, cfg, app.Options{Now: clock.Now, Rates: limits.Rates{Sends: many, Marks: many, Reads: many, Calls: many, Signals: many}})
	if err != nil {
		return err
	}
	return a.Serve(ctx)
}

// server is the server under test: processes one after the other, on one data
// directory and the same ports.
type server struct {
	dir, store       string
	http, admin, tcp string
	clockPath        string
	clock            *child.Clock

	mu     sync.Mutex
	cmd    *exec.Cmd
	in     io.Closer
	output *bytes.Buffer
}

func newServer(dir, store string) (*server, error) {
	s := &server{dir: dir, store: store, clockPath: dir + ".clock"}
	var err error
	if s.clock, err = child.OpenClock(s.clockPath); err != nil {
		return nil, err
	}
	if err := s.pass(0); err != nil {
		return nil, err
	}
	for _, addr := range []*string{&s.http, &s.admin, &s.tcp} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close()
		*addr = l.Addr().String()
	}
	return s, nil
}

// pass lets time pass, for the database first: nothing is stored before what was stored.
func (s *server) pass(d time.Duration) error {
	if s.store != "" {
		if err := pgtest.MoveClock(s.store, s.clock.Ahead()+d); err != nil {
			return err
		}
	}
	return s.clock.Move(d)
}

func (s *server) url() string { return "http://" + s.http }

func (s *server) adminKey() string {
	raw, err := os.ReadFile(filepath.Join(s.dir, app.AdminKeyFile))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(raw))
}

// start starts a process and waits until it is ready.
func (s *server) start(ctx context.Context) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(self, serveCommand, s.dir, s.http, s.admin, s.tcp, s.store, s.clockPath)
	out := new(bytes.Buffer)
	cmd.Stdout, cmd.Stderr = out, out
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	s.mu.Lock()
	s.cmd, s.in, s.output = cmd, in, out
	s.mu.Unlock()
	deadline := time.Now().Add(patience)
	for time.Now().Before(deadline) {
		resp, err := http.Get("http://" + s.admin + "/readyz")
		if err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return nil
			}
		}
		if err := sleep(ctx, 2*time.Millisecond); err != nil {
			return err
		}
	}
	s.kill()
	return fmt.Errorf("the server is not ready after %v: %s", patience, out)
}

// kill ends the process at once, as kill -9 does.
func (s *server) kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cmd == nil {
		return
	}
	_ = s.cmd.Process.Kill() // it may have ended by itself
	_ = s.cmd.Wait()
	s.in.Close()
	s.cmd = nil
}
