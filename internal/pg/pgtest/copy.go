package pgtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// A copy of a server's data, to be put back later on: a history that goes back.
// Whoever takes one while the server runs takes a base backup, otherwise a copy
// of its files.

// Save copies the data to a directory of this name beside it.
func (s *Server) Save(name string) error {
	to := filepath.Join(s.dir, name)
	if err := os.RemoveAll(to); err != nil {
		return err
	}
	if s.cmd == nil {
		return s.run("cp", "-a", s.data(), to)
	}
	backup, err := program("pg_basebackup")
	if err != nil {
		return err
	}
	return s.run(backup, "-d", s.URL(), "-D", to, "-X", "stream", "--checkpoint=fast", "--no-sync")
}

// PutBack replaces the data by the copy of this name, which stays. The server
// must not run.
func (s *Server) PutBack(name string) error {
	if s.cmd != nil {
		return fmt.Errorf("put back %s: the server runs", name)
	}
	if err := os.RemoveAll(s.data()); err != nil {
		return err
	}
	return s.run("cp", "-a", filepath.Join(s.dir, name), s.data())
}

// Aside moves the data away, to a copy of this name. The server must not run.
func (s *Server) Aside(name string) error {
	if s.cmd != nil {
		return fmt.Errorf("move %s aside: the server runs", name)
	}
	return os.Rename(s.data(), filepath.Join(s.dir, name))
}

// Drop removes a copy.
func (s *Server) Drop(name string) error { return os.RemoveAll(filepath.Join(s.dir, name)) }

// Beside starts another server at the same place on a copy of the copy of this
// name, to look at what it holds. Whoever gets it ends it, and drops its dir, which
// has this name and -beside.
func (s *Server) Beside(name string) (*Server, error) {
	b := &Server{dir: filepath.Join(s.dir, name+"-beside"), place: s.place, settings: s.settings}
	var err error
	if b.port, err = freePort(); err != nil {
		return nil, err
	}
	if err := os.RemoveAll(b.dir); err != nil {
		return nil, err
	}
	if err := os.Mkdir(b.dir, 0o700); err != nil {
		return nil, err
	}
	if err := b.become(); err != nil {
		return nil, err
	}
	if err := s.run("cp", "-a", filepath.Join(s.dir, name), b.data()); err != nil {
		return nil, err
	}
	return b, b.Restart()
}

// run runs a program as the server's user.
func (s *Server) run(name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.SysProcAttr = s.dir, s.attributes()
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, out)
	}
	return nil
}
