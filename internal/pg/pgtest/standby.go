package pgtest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"
)

// A standby is a server that follows another one, by the server's own means: a
// base backup, then the stream of the log, over the connection that its setting
// primary_conninfo names.

// StandbyAt makes a standby of a server that runs, in dir, which must be empty,
// and starts it.
func StandbyAt(place Place, dir string, settings map[string]string, primary *Server) (*Server, error) {
	s, err := newServer(place, dir, settings)
	if err != nil {
		return nil, err
	}
	return s, s.Follow(primary)
}

// Follow makes a server that does not run a standby of another, from nothing: what
// it had is gone.
func (s *Server) Follow(primary *Server) error {
	if s.cmd != nil {
		return errors.New("follow: the server runs")
	}
	if err := os.RemoveAll(s.data()); err != nil {
		return err
	}
	backup, err := program("pg_basebackup")
	if err != nil {
		return err
	}
	if err := s.run(backup, "-d", primary.URL(), "-D", s.data(), "-X", "stream", "--checkpoint=fast", "--no-sync"); err != nil {
		return err
	}
	if err := s.run("touch", filepath.Join(s.data(), "standby.signal")); err != nil {
		return err
	}
	return s.Restart()
}

// Promote makes a standby a primary, and waits until it is.
func (s *Server) Promote() error { return run(s.URL(), "SELECT pg_promote(true, 60)") }

// Received is how much of the log a standby has, of all that was ever written.
func (s *Server) Received() (int64, error) {
	return s.number("SELECT greatest(pg_wal_lsn_diff(pg_last_wal_receive_lsn(), '0/0'), pg_wal_lsn_diff(pg_last_wal_replay_lsn(), '0/0'))::bigint")
}

// Written is how much of the log a primary has written.
func (s *Server) Written() (int64, error) {
	return s.number("SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::bigint")
}

// Replayed is how much of what it received a standby shows to readers.
func (s *Server) Replayed() (int64, error) {
	return s.number("SELECT pg_wal_lsn_diff(pg_last_wal_replay_lsn(), '0/0')::bigint")
}

func (s *Server) number(query string) (int64, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	rows, err := Collect[struct{ N int64 }](ctx, s.URL(), query)
	if err != nil {
		return 0, err
	}
	return rows[0].N, nil
}
