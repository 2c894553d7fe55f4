package postgres

import (
	"bytes"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/skein-im/skein/internal/directory"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/pg/pgtest"
	"github.com/skein-im/skein/internal/schema"
)

// later are the migrations of the next version: one that expands, one that
// contracts.
func later(t *testing.T) directory.Dialect {
	t.Helper()
	own := os.DirFS(filepath.Join("..", "migrations"))
	names, err := fs.Glob(own, "*.sql")
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	files := fstest.MapFS{
		"00101_later.sql":          {Data: []byte("-- +goose Up\nALTER TABLE users ADD COLUMN later TEXT;\n-- +goose Down\n")},
		"00102_later_contract.sql": {Data: []byte("-- +goose Up\nALTER TABLE users DROP COLUMN later;\nUPDATE directory_compatible SET least = 102;\n-- +goose Down\n")},
	}
	for _, name := range names {
		data, err := fs.ReadFile(own, name)
		if err != nil {
			t.Fatal(err)
		}
		files[name] = &fstest.MapFile{Data: data}
	}
	d := dialect()
	d.Migrations = files
	return d
}

func starts(t *testing.T, url string, d directory.Dialect) error {
	t.Helper()
	config, err := pgx.ParseConfig(url)
	if err != nil {
		t.Fatal(err)
	}
	return migrating(t.Context(), config, Options{}.withDefaults(config), d, (*directory.DB).Migrate)
}

func rangeOf(t *testing.T, url string) schema.Range {
	t.Helper()
	x, err := pgtest.Collect[schema.Range](t.Context(), url, directory.RangeQuery)
	if err != nil || len(x) != 1 {
		t.Fatal(x, err)
	}
	return x[0]
}

func add(t *testing.T, d *directory.DB, id im.UserID) {
	t.Helper()
	if err := d.CreateUser(t.Context(), im.Credentials{User: im.User{ID: id, Username: string(id), Created: time.UnixMilli(1)}}); err != nil {
		t.Fatal(err)
	}
}

// A node of this version goes on when one of the next has added to the tables,
// and may be started again; it is not shut out while it is connected, and is
// refused, with a sentence, when it was.
func TestVersionsSideBySide(t *testing.T) {
	url := pgtest.Database(t)
	var said bytes.Buffer
	d, err := Open(t.Context(), url, Options{Logger: slog.New(slog.NewTextHandler(&said, nil))})
	if err != nil {
		t.Fatal(err)
	}
	add(t, d, "a")
	known := directory.Steps("postgres").Known()
	if err := starts(t, url, later(t)); err != nil {
		t.Fatal(err)
	}
	if got, want := rangeOf(t, url), (schema.Range{Version: 101, Least: 8}); got != want {
		t.Fatalf("started, the database has %+v, want %+v", got, want)
	}
	add(t, d, "b")
	if err := d.Ping(t.Context()); err != nil {
		t.Error(err)
	}
	if warning, shut := d.Schema(); shut != nil || !strings.Contains(warning, "extended by a newer version") {
		t.Errorf("%v, %q", shut, warning)
	}
	other, err := Open(t.Context(), url, Options{})
	if err != nil {
		t.Fatalf("started again on what the next version extended: %v", err)
	}
	add(t, other, "c")
	if err := other.Close(); err != nil {
		t.Error(err)
	}
	var inUse *schema.InUseError
	if _, _, err := contract(t.Context(), url, Options{}, later(t)); !errors.As(err, &inUse) || inUse.Known != known || inUse.Step != 102 {
		t.Errorf("contracted below a node: %v", err)
	}
	add(t, d, "d")
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	before, after, err := contract(t.Context(), url, Options{}, later(t))
	if want := (schema.Range{Version: 102, Least: 102}); err != nil || before.Version != 101 || after != want || rangeOf(t, url) != want {
		t.Fatalf("from %+v to %+v, %v", before, after, err)
	}
	var newer *schema.NewerError
	if _, err := Open(t.Context(), url, Options{}); !errors.As(err, &newer) || newer.Known != known {
		t.Errorf("the old version was started: %v", err)
	}
}

// A node that has no connection at that time comes back to tables that are not
// its any more: it does nothing there, and says why.
func TestShutOut(t *testing.T) {
	url := pgtest.Database(t)
	var said bytes.Buffer
	d, err := Open(t.Context(), url, Options{Logger: slog.New(slog.NewTextHandler(&said, nil))})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	add(t, d, "a")
	pgtest.Exec(t, url, `UPDATE directory_compatible SET least = 99; INSERT INTO goose_db_version (version_id, is_applied) VALUES (99, true)`)
	pgtest.Exec(t, url, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`)
	for range 2 { // two nodes' worth of attempts: the log has one line
		err = d.CreateUser(t.Context(), im.Credentials{User: im.User{ID: "b", Username: "b"}})
		if im.CodeOf(err) != im.CodeUnavailable || !errors.As(err, new(*schema.NewerError)) {
			t.Errorf("it was used: %v", err)
		}
	}
	if _, shut := d.Schema(); shut == nil || !strings.Contains(shut.Error(), "run the newer version") {
		t.Errorf("shut: %v", shut)
	}
	if n := strings.Count(said.String(), "replace it by the newer version"); n != 1 {
		t.Errorf("said %d times: %s", n, &said)
	}
}
