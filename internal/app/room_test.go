package app

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// told is what a supervisor was told.
type told struct {
	mu    sync.Mutex
	lines []string
}

func (s *told) Tell(lines ...string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines = append(s.lines, lines...)
	return nil
}

func (s *told) Watchdog() time.Duration { return 0 }

func (s *told) all() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.lines, "\n")
}

// readyAt is what /readyz answers, or why it does not.
func readyAt(addr string) string {
	c := http.Client{Timeout: 5 * time.Second}
	r, err := c.Get("http://" + addr + "/readyz")
	if err != nil {
		return err.Error()
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		return err.Error()
	}
	return r.Status + " " + string(b)
}

// The story: a server that was started again on a full disk neither served nor ended, and
// said nothing of what it waited for.
func TestStartWaitsForRoom(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	p := run(t, dir, Options{}, map[string]string{})
	p.mint(dir, "ann", "ben")
	p.stop()
	before := files(t, dir)

	probe, err := net.Listen("tcp", "127.0.0.1:0")
	ok(t, err)
	cfg := settings(dir)
	cfg.Admin.Listen = probe.Addr().String()
	ok(t, probe.Close())
	ready := func() string { return readyAt(cfg.Admin.Listen) }
	var free atomic.Uint64
	log, supervisor := &bytes.Buffer{}, &told{}
	o := Options{Free: func(string) (uint64, error) { return free.Load(), nil }, Supervisor: supervisor, Logger: slog.New(slog.NewTextHandler(log, nil))}
	start := func(ctx context.Context) (opened chan *App, refused chan error) {
		opened, refused = make(chan *App, 1), make(chan error, 1)
		go func() {
			a, err := Open(ctx, cfg, o)
			if err != nil {
				refused <- err
				return
			}
			opened <- a
		}()
		for end := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
			got := ready()
			if strings.HasPrefix(got, "503") && strings.Contains(got, "waiting for room before it can start: 0 bytes are free in "+dir) && strings.Contains(supervisor.all(), "STATUS=waiting for room") {
				return opened, refused
			}
			if time.Now().After(end) {
				t.Fatalf("/readyz says %s, the supervisor was told %s", got, supervisor.all())
			}
		}
	}

	ctx, cancel := context.WithCancel(t.Context())
	_, refused := start(ctx)
	cancel()
	select {
	case err := <-refused:
		if !strings.Contains(err.Error(), "waiting for room") {
			t.Errorf("stopped with %v", err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("it does not stop while it waits")
	}
	for name, content := range files(t, dir) {
		if before[name] != content {
			t.Errorf("a start that waited changed %s", name)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "journal", "reserve")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the reserve was not given up: %v", err)
	}

	opened, refused := start(t.Context())
	free.Store(1 << 40)
	select {
	case a := <-opened:
		if got := ready(); strings.Contains(got, "waiting for room") {
			t.Errorf("with room /readyz says %s", got)
		}
		ok(t, a.close())
	case err := <-refused:
		t.Fatal(err)
	case <-time.After(30 * time.Second):
		t.Fatal("it does not go on when there is room")
	}
	if n := strings.Count(log.String(), "waiting for room before it can start"); n != 2 {
		t.Errorf("the log says it %d times for two starts: %s", n, log)
	}
}
