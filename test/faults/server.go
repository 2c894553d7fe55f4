package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/skein-im/skein/internal/child"
)

// server is the program under test: one data directory, fixed ports, and
// processes one after the other.
type server struct {
	bin, data        string
	http, admin, tcp string   // host:port
	args             []string // of the command line
	// enter, if set, is called on the thread that starts the process: it moves it
	// to a network namespace.
	enter   func() error
	env     []string // beside ours
	logFile *os.File // everything the processes say
	cmd     *exec.Cmd
	exited  chan error // gets the process's end
	log     *tail
}

// build makes the server's binary in dir.
func build(ctx context.Context, dir, tags string) (string, error) {
	bin := filepath.Join(dir, "skein")
	cmd := exec.CommandContext(ctx, "go", "build", "-tags", tags, "-o", bin, "github.com/skein-im/skein/cmd/skein")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the server: %w\n%s", err, out)
	}
	return bin, nil
}

func newServer(bin, data, logFile string) (_ *server, err error) {
	s := &server{bin: bin, data: data}
	if s.logFile, err = os.Create(logFile); err != nil {
		return nil, err
	}
	for _, addr := range []*string{&s.http, &s.admin, &s.tcp} {
		// The port is free now and stays the server's own over its restarts.
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close()
		*addr = l.Addr().String()
	}
	s.args = append([]string{"serve", "--data", s.data, "--http", s.http, "--admin", s.admin, "--listen", "tcp://" + s.tcp}, terms("200ms")...)
	return s, nil
}

// terms are the settings of all servers: nothing of what users do is refused.
func terms(drain string) []string {
	return []string{
		"--set", "accounts.dm_policy=everyone", "--set", "accounts.device_policy=all",
		"--set", "gateway.send_rate=100000", "--set", "gateway.send_burst=100000", "--set", "groups.max_strangers_per_day=100000", "--set", "groups.max_made_per_day=100000", "--set", "accounts.request_again=0s", "--set", "accounts.requests_per_day=100000", "--set", "gateway.account_devices=0", "--set", "gateway.bytes_per_day=0", "--set", "gateway.drain_time=" + drain,
	}
}

// errShortened: the server noticed that it lost what it had acknowledged.
var errShortened = errors.New("the server refuses to serve a shortened journal")

// startTimeout bounds one start.
const startTimeout = 30 * time.Second

// start starts the process and waits until it is ready. It returns how long that took.
func (s *server) start(ctx context.Context, args ...string) (time.Duration, error) {
	s.cmd = exec.Command(s.bin, slices.Concat(s.args, args)...)
	s.cmd.Env = append(environ(), s.env...)
	s.log = &tail{also: s.logFile}
	s.cmd.Stdout, s.cmd.Stderr = s.log, s.log
	// In a group of its own: a signal for the terminal's group is ours to deal with.
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	began := time.Now()
	if err := s.launch(); err != nil {
		s.cmd = nil
		return 0, err
	}
	return s.waitReady(ctx, began)
}

// launch starts the process, which ends with us.
func (s *server) launch() error {
	if err := child.Start(s.cmd, syscall.SIGKILL, s.enter); err != nil {
		return err
	}
	cmd, exited := s.cmd, make(chan error, 1)
	s.exited = exited
	go func() { exited <- cmd.Wait() }()
	return nil
}

func (s *server) waitReady(ctx context.Context, began time.Time) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for {
		select {
		case err := <-s.exited:
			s.exited <- err
			text := s.log.String()
			if strings.Contains(text, "acknowledged messages are missing") {
				return 0, fmt.Errorf("%w: %s", errShortened, lastLine(text))
			}
			return 0, fmt.Errorf("the server ended at its start (%v): %s", err, text)
		case <-ctx.Done():
			return 0, fmt.Errorf("the server is not ready after %v: %s", time.Since(began), s.log)
		case <-time.After(2 * time.Millisecond):
		}
		if s.ready(ctx) {
			return time.Since(began), nil
		}
	}
}

func (s *server) ready(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.admin+"/readyz", nil)
	if err != nil {
		return false
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

// running reports whether the process lives; if not, why it ended.
func (s *server) running() error {
	select {
	case err := <-s.exited:
		s.exited <- err
		return fmt.Errorf("the server ended by itself (%v): %s", err, s.log)
	default:
		return nil
	}
}

// kill ends the process at once.
func (s *server) kill() {
	if s.cmd == nil || s.cmd.Process == nil {
		return
	}
	_ = s.cmd.Process.Kill() // it may have ended by itself
	<-s.exited
	s.cmd = nil
}

// stop ends the process in good order.
func (s *server) stop(ctx context.Context) error {
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return fmt.Errorf("stop the server: %w", err)
	}
	minute, cancel := context.WithTimeout(ctx, 60*time.Second)
	defer cancel()
	select {
	case err := <-s.exited:
		s.cmd = nil
		if err != nil {
			return fmt.Errorf("the server did not end well (%w): %s", err, s.log)
		}
		return nil
	case <-minute.Done():
		if ctx.Err() != nil { // somebody ends the whole run
			s.kill()
			return context.Cause(ctx)
		}
		// Its stacks tell where it hangs.
		_ = s.cmd.Process.Signal(syscall.SIGQUIT)
		<-s.exited
		s.cmd = nil
		return fmt.Errorf("the server did not end within a minute of SIGTERM: %s", s.log)
	}
}

func (s *server) adminKey() (string, error) {
	b, err := os.ReadFile(filepath.Join(s.data, "keys", "admin.key"))
	return strings.TrimSpace(string(b)), err
}

// environ is our environment without the server's settings.
func environ() []string {
	var out []string
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "SKEIN_") {
			out = append(out, kv)
		}
	}
	return out
}

// tail keeps the end of a process's output and passes all of it on.
type tail struct {
	also io.Writer

	mu  sync.Mutex
	buf []byte
}

const tailBytes = 64 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p...)
	if over := len(t.buf) - tailBytes; over > 0 {
		t.buf = append(t.buf[:0], t.buf[over:]...)
	}
	return t.also.Write(p)
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(bytes.TrimSpace(t.buf))
}

func lastLine(s string) string { return s[strings.LastIndexByte(s, '\n')+1:] }
