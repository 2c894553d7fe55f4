package pgtest

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/skein-im/skein/internal/child"
)

// Server is a PostgreSQL server of a test's own, which may be killed, frozen
// and started again on the same data and port. Durability is as in production:
// fsync and synchronous commits are on.
type Server struct {
	dir      string
	place    Place
	port     int
	settings map[string]string
	cred     *syscall.Credential

	cmd   *exec.Cmd
	ended chan error
	log   *bytes.Buffer
}

// Place is where a server listens.
type Place struct {
	// Address is an IP address of the server's machine. Whoever reaches it is let in,
	// from its own network too.
	Address string
	// Port is where it listens; 0: any that is free.
	Port int
	// Enter, if set, is called on the thread that starts the server, which nothing
	// else uses afterwards: it may move it to another network namespace.
	Enter func() error
}

// Start makes a database cluster in dir, which must be empty, and starts a
// server on it, on a free port of 127.0.0.1. settings are of postgresql.conf.
func Start(dir string, settings map[string]string) (*Server, error) {
	return StartAt(Place{Address: "127.0.0.1"}, dir, settings)
}

// StartAt is Start at a place of the caller's choice.
func StartAt(place Place, dir string, settings map[string]string) (*Server, error) {
	s, err := newServer(place, dir, settings)
	if err != nil {
		return nil, err
	}
	init, err := program("initdb")
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(init, "-D", s.data(), "-U", "skein", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync", "--data-checksums")
	cmd.Dir, cmd.SysProcAttr = dir, s.attributes()
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("initdb: %w: %s", err, out)
	}
	if err := s.letIn(); err != nil {
		return nil, err
	}
	return s, s.Restart()
}

func newServer(place Place, dir string, settings map[string]string) (s *Server, err error) {
	s = &Server{dir: dir, place: place, port: place.Port, settings: settings}
	if s.port == 0 {
		if s.port, err = freePort(); err != nil {
			return nil, err
		}
	}
	return s, s.become()
}

// letIn lets the server's network in; initdb does so for the machine itself.
func (s *Server) letIn() error {
	f, err := os.OpenFile(filepath.Join(s.data(), "pg_hba.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString("host all all samenet trust\nhost replication all samenet trust\n")
	return errors.Join(err, f.Close())
}

// URL is of the database that every server has, as a superuser.
func (s *Server) URL() string {
	return fmt.Sprintf("postgres://skein@%s:%d/postgres", s.place.Address, s.port)
}

// Port is where it listens.
func (s *Server) Port() int { return s.port }

// PID is the main process.
func (s *Server) PID() int { return s.cmd.Process.Pid }

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

// Restart starts the server, which must not run, and waits until it answers.
func (s *Server) Restart() error {
	server, err := program("postgres")
	if err != nil {
		return err
	}
	args := []string{"-D", s.data(), "-p", strconv.Itoa(s.port), "-c", "listen_addresses=" + s.place.Address, "-c", "unix_socket_directories=", "-c", "max_connections=300"}
	for k, v := range s.settings {
		args = append(args, "-c", k+"="+v)
	}
	s.log = &bytes.Buffer{}
	cmd, ended := exec.Command(server, args...), make(chan error, 1)
	cmd.Dir, cmd.Stdout, cmd.Stderr = s.dir, s.log, s.log
	cmd.SysProcAttr = s.attributes()
	cmd.SysProcAttr.Setpgid = true
	if err := child.Start(cmd, syscall.SIGQUIT, s.place.Enter); err != nil {
		return err
	}
	s.cmd, s.ended = cmd, ended
	go func() { ended <- cmd.Wait() }()
	if err := wait(s.URL(), s.ended); err != nil {
		return fmt.Errorf("%w: %s", err, s.log)
	}
	return nil
}

// Kill ends the server and all its processes at once, as kill -9 or a crash of
// the database does, and waits until they are gone. One that was ended is left
// alone: its number may be another's by now.
func (s *Server) Kill() error { return s.end(syscall.SIGKILL) }

// Stop ends the server in order.
func (s *Server) Stop() error { return s.end(syscall.SIGINT) }

func (s *Server) end(sig syscall.Signal) error {
	if s.cmd == nil {
		return nil
	}
	pid := s.cmd.Process.Pid
	if err := syscall.Kill(pid, sig); err != nil {
		return err
	}
	select {
	case <-s.ended:
		s.cmd = nil
	case <-time.After(time.Minute):
		return errors.New("the server does not end")
	}
	// Its children notice by themselves; a new server refuses to start before.
	for range 1000 {
		if !alive(pid) {
			return nil
		}
		time.Sleep(10 * time.Millisecond)
	}
	return errors.New("processes of the server are left")
}

// alive tells whether a process of the server's group or one that it started
// in a session of its own is left.
func alive(postmaster int) bool {
	entries, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, e := range entries {
		raw, err := os.ReadFile(e)
		if err != nil {
			continue
		}
		fields := bytes.Fields(raw[bytes.LastIndexByte(raw, ')')+1:])
		if len(fields) > 2 && string(fields[0]) != "Z" && (string(fields[2]) == strconv.Itoa(postmaster) || string(fields[1]) == strconv.Itoa(postmaster)) {
			return true
		}
	}
	return false
}

// become makes the directory usable for the server, which refuses to run as root.
func (s *Server) become() error {
	if os.Getuid() != 0 {
		return nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		return err
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return err
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		return err
	}
	s.cred = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	if err := os.Chmod(s.dir, 0o700); err != nil {
		return err
	}
	for dir := filepath.Dir(s.dir); dir != "/"; dir = filepath.Dir(dir) { // it must be able to reach it
		st, err := os.Stat(dir)
		if err != nil {
			return err
		}
		if st.Mode().Perm()&0o001 == 0 {
			if err := os.Chmod(dir, st.Mode().Perm()|0o011); err != nil {
				return err
			}
		}
	}
	return os.Chown(s.dir, int(uid), int(gid))
}

func (s *Server) attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Credential: s.cred} }

// program finds one of PostgreSQL's programs; Debian keeps them apart.
func program(name string) (string, error) {
	if path, err := exec.LookPath(name); err == nil {
		return path, nil
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
	if len(found) == 0 {
		return "", fmt.Errorf("%s is not installed", name)
	}
	slices.Sort(found)
	return found[len(found)-1], nil
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}
