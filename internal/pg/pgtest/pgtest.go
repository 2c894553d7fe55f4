// Package pgtest gives tests a real PostgreSQL. `make test` starts one server
// for all of them and names it in SKEIN_TEST_POSTGRES; without that the first
// test of a process starts one of its own, from the installed programs, and the
// last one ends it.
//
// It must not be imported by the server. There is no way to skip: a machine
// without PostgreSQL fails the tests that need it, and says how to install it.
//
// Invariants:
//   - every Database is empty, and gone when its test ends;
//   - a server that a process started dies with it, also by kill -9.
package pgtest

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"net/url"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Env names the server to use instead of starting one: a URL of a user who may
// create databases.
const Env = "SKEIN_TEST_POSTGRES"

// shared is the server of this process: started by the first test that needs it.
var shared = sync.OnceValues(func() (string, error) {
	if u := os.Getenv(Env); u != "" {
		return u, nil
	}
	dir, err := os.MkdirTemp("", "skein-pg-")
	if err != nil {
		return "", err
	}
	s, err := Start(dir, nil)
	if err != nil {
		return "", err
	}
	return s.URL(), nil
})

// Database makes an empty database and returns its URL.
func Database(t testing.TB) string {
	t.Helper()
	server, err := shared()
	if err != nil {
		t.Fatalf("a PostgreSQL server is needed (%v); `make deps` installs one, or name one in %s", err, Env)
	}
	return On(t, server)
}

// On makes an empty database on the server with this URL and returns its URL.
func On(t testing.TB, server string) string {
	t.Helper()
	var b [6]byte
	_, _ = rand.Read(b[:]) // never fails
	name := "skein_test_" + hex.EncodeToString(b[:])
	if err := run(server, "CREATE DATABASE "+name); err != nil {
		t.Fatalf("create a database: %v", err)
	}
	t.Cleanup(func() {
		if err := run(server, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)"); err != nil {
			t.Logf("drop the database: %v", err) // the server may be down on purpose
		}
	})
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	u.Path = "/" + name
	return u.String()
}

func run(server, statement string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	c, err := pgx.Connect(ctx, server)
	if err != nil {
		return err
	}
	defer c.Close(ctx)
	_, err = c.Exec(ctx, statement)
	return err
}

// Collect reads the rows of a query, each into a T: its fields are the columns,
// in their order.
func Collect[T any](ctx context.Context, database, query string, args ...any) ([]T, error) {
	c, err := pgx.Connect(ctx, database)
	if err != nil {
		return nil, err
	}
	defer c.Close(context.WithoutCancel(ctx))
	rows, err := c.Query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[T])
}

// Exec runs one statement in the database with this URL.
func Exec(t testing.TB, database, statement string) {
	t.Helper()
	if err := run(database, statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// wait asks the server until it answers.
func wait(u string, ended <-chan error) error {
	deadline := time.After(time.Minute)
	for {
		err := run(u, "SELECT 1")
		if err == nil {
			return nil
		}
		select {
		case e := <-ended:
			return fmt.Errorf("the server ended: %w", e)
		case <-deadline:
			return fmt.Errorf("the server does not answer: %w", err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Forked starts a server and a standby of it, and returns both and the URL that
// names both, the first server first.
func Forked(t testing.TB) (first, next *Server, both string) {
	t.Helper()
	first, err := Start(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = first.Stop() }) // it may be killed
	if next, err = StandbyAt(first.place, t.TempDir(), map[string]string{
		"primary_conninfo": fmt.Sprintf("host=%s port=%d user=skein", first.place.Address, first.port),
	}, first); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = next.Stop() })
	return first, next, fmt.Sprintf("postgres://skein@%[1]s:%[2]d,%[1]s:%[3]d/postgres", first.place.Address, first.port, next.port)
}

// Succeed kills a server and promotes its standby, which has all of it.
func Succeed(t testing.TB, old, next *Server) {
	t.Helper()
	written, err := old.Written()
	for deadline, has := time.Now().Add(20*time.Second), int64(0); err == nil && has < written; has, err = next.Replayed() {
		if time.Now().After(deadline) {
			t.Fatalf("the standby has %d of %d bytes", has, written)
		}
		time.Sleep(10 * time.Millisecond)
	}
	if err == nil {
		err = old.Kill()
	}
	if err == nil {
		err = next.Promote()
	}
	if err != nil {
		t.Fatal(err)
	}
}
