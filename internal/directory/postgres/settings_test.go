package postgres

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/pg/pgtest"
)

func pool(t *testing.T, databaseURL string) *sql.DB {
	t.Helper()
	config, err := pgx.ParseConfig(databaseURL)
	if err != nil {
		t.Fatal(err)
	}
	db := connect(config, Options{ConnectTimeout: 2 * time.Second, StatementTimeout: 30 * time.Second}, verify)
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// A database that is set to answer before a commit is on disk is overruled;
// the other settings are as promised.
func TestSettings(t *testing.T) {
	u := pgtest.Database(t)
	parsed, err := url.Parse(u)
	if err != nil {
		t.Fatal(err)
	}
	pgtest.Exec(t, u, "ALTER DATABASE "+strings.TrimPrefix(parsed.Path, "/")+" SET synchronous_commit = off")
	db := pool(t, u)
	for setting, want := range map[string]string{
		"synchronous_commit": "on", "statement_timeout": "30s", "idle_in_transaction_session_timeout": "10s", "application_name": "skein directory",
	} {
		var got string
		if err := db.QueryRow("SHOW " + setting).Scan(&got); err != nil || got != want {
			t.Errorf("%s is %s, %v; want %s", setting, got, err, want)
		}
	}
	pgtest.Exec(t, u, "ALTER DATABASE "+strings.TrimPrefix(parsed.Path, "/")+" SET synchronous_commit = local")
	var got string
	if err := pool(t, u).QueryRow("SHOW synchronous_commit").Scan(&got); err != nil || got != "local" {
		t.Errorf("a setting that is durable became %s, %v", got, err)
	}
}

// What is no UTF-8 could not keep what users write.
func TestEncodingRefused(t *testing.T) {
	u, err := url.Parse(pgtest.Database(t))
	if err != nil {
		t.Fatal(err)
	}
	name := strings.TrimPrefix(u.Path, "/") + "_latin"
	pgtest.Exec(t, u.String(), "CREATE DATABASE "+name+" TEMPLATE template0 ENCODING 'LATIN1' LOCALE 'C'")
	t.Cleanup(func() { pgtest.Exec(t, u.String(), "DROP DATABASE "+name+" WITH (FORCE)") })
	latin := *u
	latin.Path = "/" + name
	if _, err := Open(t.Context(), latin.String(), Options{}); err == nil || !strings.Contains(err.Error(), "LATIN1") {
		t.Errorf("it was opened: %v", err)
	}
}

// A server that takes a question and never answers fails the read, and nothing
// is read on that connection any more.
func TestSilence(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, err := dialer(time.Second, 10*time.Millisecond)(t.Context(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	peer, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer peer.Close()
	if _, err := peer.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 1)
	if _, err := c.Read(b); err != nil {
		t.Fatal(err)
	}
	_, err = c.Read(b)
	if !errors.Is(err, errSilent) || classify(err) != im.CodeUnavailable || again(err) || refused(err) {
		t.Errorf("got %v, %q", err, classify(err))
	}
	for range 2 { // it is closed already: a node that ends then ends well
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
}

func server(code, severity string) error {
	return fmt.Errorf("directory: %w", &pgconn.PgError{Code: code, Severity: severity, SeverityUnlocalized: severity})
}

func TestErrors(t *testing.T) {
	type what struct {
		code           im.Code
		again, refused bool
	}
	for _, c := range []struct {
		name string
		err  error
		want what
	}{
		{"disk full", server("53100", "ERROR"), what{im.CodeStorageFull, false, true}},
		{"deadlock", server("40P01", "ERROR"), what{im.CodeUnavailable, true, true}},
		{"serialization", server("40001", "ERROR"), what{im.CodeUnavailable, true, true}},
		{"unique", server("23505", "ERROR"), what{im.CodeUnavailable, true, true}},
		{"statement timeout", server("57014", "ERROR"), what{im.CodeUnavailable, false, true}},
		{"a commit nobody knows of", server("40003", "ERROR"), what{"", false, false}},
		{"a wrong password", fmt.Errorf("x: %w", &pgconn.ConnectError{Config: &pgconn.Config{}}), what{im.CodeUnavailable, false, false}},
		{"a transaction that was idle", server("25P03", "FATAL"), what{im.CodeUnavailable, true, false}},
		{"a plan of before a migration", server("0A000", "ERROR"), what{"", true, true}},
		{"too many connections", &pgconn.ConnectError{Config: &pgconn.Config{}}, what{im.CodeUnavailable, false, false}},
		{"shutting down", server("57P01", "FATAL"), what{im.CodeUnavailable, true, false}},
		{"crashed", server("57P02", "FATAL"), what{im.CodeUnavailable, true, false}},
		{"starting", server("57P03", "FATAL"), what{im.CodeUnavailable, true, false}},
		{"became a standby", server("25006", "ERROR"), what{im.CodeUnavailable, false, true}},
		{"a wrong statement", server("42601", "ERROR"), what{"", false, true}},
		{"a foreign key", server("23503", "ERROR"), what{"", false, true}},
		{"end of stream", fmt.Errorf("x: %w", io.ErrUnexpectedEOF), what{im.CodeUnavailable, true, false}},
		{"reset", &net.OpError{Op: "read", Err: syscall.ECONNRESET}, what{im.CodeUnavailable, true, false}},
		{"bad connection", driver.ErrBadConn, what{im.CodeUnavailable, true, false}},
		{"rolled back", pgx.ErrTxCommitRollback, what{"", false, true}},
		{"given up", context.Canceled, what{"", false, false}},
		{"out of time", context.DeadlineExceeded, what{"", false, false}},
		{"anything", errors.New("x"), what{"", false, false}},
	} {
		if got := (what{classify(c.err), again(c.err), refused(c.err)}); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}
