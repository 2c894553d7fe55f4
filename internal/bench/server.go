package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/skein-im/skein/internal/child"
)

// Server is what is measured: a process of its own on a temporary directory,
// with the settings as shipped except that strangers may write to each other and
// groups may be as large as the scenario's; the floor; or a server that runs
// already.
type Server struct {
	// reachable are the addresses of connections by transport: ws, tcp.
	reachable map[string][]string
	api       string // http://host:port, "" for the floor
	admin     string // host:port of the private port, "" if not reachable
	key       string // admin key
	pids      []int  // measured processes
	dir       string // "", or removed by Stop
	data      string // of a server that was started
	binary    string // its program
	floor     bool
	cmd       *exec.Cmd
	done      chan error
	database  *database // nil: embedded, or not to be measured
}

// Attach describes a server that runs already: the HTTP addresses of its
// gateways, those of its TCP listeners, and, if it is to be measured, its
// private port (host:port) and its processes on this machine.
func Attach(gateways, tcp []string, admin, key string, pids []int) (*Server, error) {
	s := &Server{reachable: map[string][]string{"tcp": tcp}, admin: admin, key: key, pids: pids}
	for _, g := range gateways {
		u, err := url.Parse(g)
		switch {
		case err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https"):
			return nil, fmt.Errorf("server %q: want http://host:port", g)
		case u.Scheme == "https":
			return nil, fmt.Errorf("server %q: the load generator speaks plain HTTP only; measure behind the TLS", g)
		}
		s.reachable["ws"] = append(s.reachable["ws"], "ws://"+u.Host+"/ws")
		if s.api == "" {
			s.api = "http://" + u.Host
		}
	}
	for _, t := range tcp {
		if u, err := url.Parse(t); err != nil || u.Scheme != "tcp" || u.Host == "" {
			return nil, fmt.Errorf("tcp %q: want tcp://host:port", t)
		}
	}
	return s, nil
}

// WatchDatabase has what the server's PostgreSQL does measured, too.
func (s *Server) WatchDatabase(ctx context.Context, url string, pid int) (err error) {
	s.database, err = attachDatabase(ctx, url, pid)
	return err
}

// StartOnPostgres is StartServer on a database of its own on the server that the
// URL names, whose main process is pid, 0: found if it is on this machine.
func StartOnPostgres(ctx context.Context, binary, url string, pid int, log io.Writer, set ...string) (*Server, error) {
	d, err := makeDatabase(ctx, url, pid)
	if err != nil {
		return nil, err
	}
	s, err := startOn(ctx, binary, "", d, log, set...)
	if err != nil {
		return nil, errors.Join(err, d.close())
	}
	return s, nil
}

// StartServer runs `binary serve` with further settings (key=value). log gets
// its stderr.
func StartServer(ctx context.Context, binary string, log io.Writer, set ...string) (*Server, error) {
	return startOn(ctx, binary, "", nil, log, set...)
}

// startOn is StartServer on a data directory, which stays; "" is one of its own;
// and, if there is one, on a database, which ends with it.
func startOn(ctx context.Context, binary, data string, d *database, log io.Writer, set ...string) (*Server, error) {
	s, addrs, err := prepare(3)
	if err != nil {
		return nil, err
	}
	if s.data = data; data == "" {
		s.data = filepath.Join(s.dir, "data")
	}
	s.admin, s.api = addrs[1], "http://"+addrs[0]
	s.reachable = map[string][]string{"ws": {"ws://" + addrs[0] + "/ws"}, "tcp": {"tcp://" + addrs[2]}}
	args := []string{"serve", "--data", s.data, "--http", addrs[0], "--admin", s.admin, "--listen", "tcp://" + addrs[2]}
	for _, kv := range append([]string{"accounts.dm_policy=everyone", "gateway.drain_time=0s", "log.level=warn"}, set...) {
		args = append(args, "--set", kv)
	}
	var env []string
	if d != nil {
		env = append(env, "SKEIN_STORE="+d.url) // it has a password, which all may read in arguments
	}
	err = s.start(binary, args, env, log)
	if err == nil {
		err = s.waitReady(ctx)
	}
	if err == nil {
		var key []byte
		key, err = os.ReadFile(filepath.Join(s.data, "keys", "admin.key"))
		s.key = strings.TrimSpace(string(key))
	}
	if err != nil {
		s.Stop()
		return nil, err
	}
	s.database = d
	return s, nil
}

// StartFloor runs the bare server, a command of the program lab: it answers
// the same frames and knows nothing.
func StartFloor(ctx context.Context, lab string, log io.Writer) (*Server, error) {
	s, addrs, err := prepare(2)
	if err != nil {
		return nil, err
	}
	s.floor = true
	s.reachable = map[string][]string{"ws": {"ws://" + addrs[0] + "/ws"}, "tcp": {"tcp://" + addrs[1]}}
	err = s.start(lab, []string{"bench", "floor-server", "--ws", addrs[0], "--tcp", addrs[1], "--file", s.dir + "/floor.log"}, nil, log)
	for deadline := time.Now().Add(10 * time.Second); err == nil; time.Sleep(10 * time.Millisecond) {
		var c net.Conn
		if c, err = net.Dial("tcp", addrs[1]); err == nil {
			c.Close()
			return s, nil
		}
		if time.Now().Before(deadline) && ctx.Err() == nil {
			err = nil
		}
	}
	s.Stop()
	return nil, fmt.Errorf("the floor did not start: %w", err)
}

// prepare makes the directory and finds free ports.
func prepare(ports int) (*Server, []string, error) {
	addrs := make([]string, ports)
	for i := range addrs {
		l, err := reserve()
		if err != nil {
			return nil, nil, err
		}
		defer l.Close() // all at the end: different ones
		addrs[i] = l.Addr().String()
	}
	dir, err := os.MkdirTemp("", "skein-bench-")
	return &Server{dir: dir, done: make(chan error, 1)}, addrs, err
}

// reserve finds a port that is free. It is one that the system gives to nobody by itself:
// otherwise any connection that is made until the server listens there may take it.
func reserve() (l net.Listener, err error) {
	const first, ports = 10_000, 20_000 // systems give ports from 32,768 or 49,152 up
	for range 100 {
		if l, err = net.Listen("tcp", fmt.Sprint("127.0.0.1:", first+rand.IntN(ports))); err == nil {
			break
		}
	}
	return l, err
}

func (s *Server) start(binary string, args, env []string, log io.Writer) error {
	cmd := exec.Command(binary, args...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stderr = log
	if err := child.Start(cmd, syscall.SIGKILL, nil); err != nil {
		return err
	}
	s.cmd, s.binary = cmd, binary
	s.pids = []int{cmd.Process.Pid}
	go func() { s.done <- cmd.Wait() }()
	return nil
}

func (s *Server) waitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for {
		select {
		case err := <-s.done:
			s.done <- err
			return fmt.Errorf("the server ended: %v", err)
		case <-ctx.Done():
			return errors.New("the server was not ready within 30 s")
		case <-time.After(20 * time.Millisecond):
		}
		resp, err := http.Get("http://" + s.admin + "/readyz")
		if err != nil {
			continue
		}
		resp.Body.Close()
		if resp.StatusCode == http.StatusOK {
			return nil
		}
	}
}

// Data is the data directory of a server that was started.
func (s *Server) Data() string { return s.data }

// Stop ends the server's process, if it is ours, and removes its directory and
// its database.
func (s *Server) Stop() {
	if s.dir != "" {
		defer os.RemoveAll(s.dir)
	}
	if s.database != nil {
		defer func() {
			_ = s.database.close() // one that is left has a name that says whose it was
			s.database = nil
		}()
	}
	if s.cmd == nil {
		return
	}
	if s.cmd.Process.Signal(syscall.SIGTERM) != nil { // it has ended, or this system has no such signal
		_ = s.cmd.Process.Kill()
	}
	select {
	case <-s.done:
	case <-time.After(20 * time.Second):
		_ = s.cmd.Process.Kill()
		<-s.done
	}
}

// targets is where clients connect to.
func (s *Server) targets(transport string) ([]string, error) {
	if t := s.reachable[transport]; len(t) > 0 {
		return t, nil
	}
	return nil, fmt.Errorf("transport %q: want ws or tcp, and an address for it", transport)
}

// Addresses are where its API is (http://host:port), its stream listener
// (tcp://host:port, "" without one), and its admin key.
func (s *Server) Addresses() (api, tcp, key string) {
	if t := s.reachable["tcp"]; len(t) > 0 {
		tcp = t[0]
	}
	return s.api, tcp, s.key
}

// Terminate asks its process to end.
func (s *Server) Terminate() error { return s.cmd.Process.Signal(syscall.SIGTERM) }

// Wait waits until its process has ended and tells how.
func (s *Server) Wait(ctx context.Context) error {
	select {
	case err := <-s.done:
		s.done <- err
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}
