// Package sqlite is the directory's embedded engine: one SQLite file in WAL
// mode, pure Go. It owns the file, the connections and their settings; the SQL
// is the directory's. It is the only package that knows the driver.
//
// Goroutines: those of database/sql. Locks: none.
//
// Invariants:
//   - every connection runs with synchronous=FULL, WAL and foreign keys on: it is
//     set and read back before the connection is used, so a commit that returned
//     survives a loss of power;
//   - there is one write connection: writers queue in the order they come and
//     never meet SQLITE_BUSY among themselves;
//   - every page has a checksum, and a page that is read has the one it was
//     written with (sums.go): damage is an error, never other data;
//   - the file can be read by its owner only.
package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/skein-im/skein/internal/directory"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/platform"
)

// Options of a SQLite directory; the zero value is good.
type Options struct {
	// BusyTimeout is how long to wait for another process that has the file
	// locked, such as a backup. Default 5 s.
	BusyTimeout time.Duration
	// Readers is how many connections read at the same time. Default 4.
	Readers int
}

// Open opens or creates the directory in the file at path and brings its
// schema up to date.
func Open(path string, o Options) (*directory.DB, error) {
	if o.BusyTimeout <= 0 {
		o.BusyTimeout = 5 * time.Second
	}
	if o.Readers <= 0 {
		o.Readers = 4
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("directory: %w", err)
	}
	if err := registerSums(); err != nil {
		return nil, err
	}
	if err := prepare(path); err != nil {
		return nil, fmt.Errorf("directory: %w", err)
	}
	if err := createPrivate(path); err != nil {
		return nil, fmt.Errorf("directory: %w", err)
	}
	write, err := pool(path, o, 1, false)
	if err != nil {
		return nil, fmt.Errorf("directory: open %s: %w", path, err)
	}
	// The first connection makes the file a WAL database; readers come after it.
	if err := write.Ping(); err != nil {
		return nil, errors.Join(fmt.Errorf("directory: open %s: %w", path, err), write.Close())
	}
	read, err := pool(path, o, o.Readers, true)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("directory: open %s: %w", path, err), write.Close())
	}
	d := directory.New(write, directory.Dialect{Name: "sqlite3", Classify: classify, Embedded: true, Copy: copyTo}).WithReader(read)
	if err := d.Migrate(context.Background()); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), d.Close())
	}
	return d, nil
}

// prepare makes a database whose pages have room for checksums, if there is none,
// and gives one of an earlier version the room.
func prepare(path string) error {
	var header [headerReserved + 1]byte
	f, err := os.Open(path)
	if err == nil {
		_, err = io.ReadFull(f, header[:])
		f.Close()
	}
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, io.EOF):
		return rebuild(":memory:", path)
	case err != nil:
		return fmt.Errorf("%s: %w", path, err)
	case string(header[:len(headerMagic)]) != headerMagic:
		return fmt.Errorf("%s: this is no database", path)
	case header[headerReserved] == sumSize:
		return nil
	}
	u := url.URL{Scheme: "file", Path: path}
	return rebuild(u.String(), path)
}

// rebuild writes a copy of a database, with checksums, and puts it at path.
func rebuild(from, path string) error {
	db, err := sql.Open("sqlite", from)
	if err != nil {
		return err
	}
	db.SetMaxOpenConns(1)
	if from != ":memory:" {
		// What is in the log belongs to the file that is about to be replaced.
		_, err = db.Exec("PRAGMA wal_checkpoint(TRUNCATE)")
	}
	to := path + ".new"
	if err2 := os.Remove(to); err2 != nil && !errors.Is(err2, fs.ErrNotExist) {
		err = errors.Join(err, err2)
	}
	if err == nil {
		u := url.URL{Scheme: "file", Path: to, RawQuery: url.Values{"vfs": {sumsVFS}, "reserve": {strconv.Itoa(sumSize)}}.Encode()}
		_, err = db.Exec("VACUUM INTO ?", u.String())
	}
	if err = errors.Join(err, db.Close()); err != nil {
		return fmt.Errorf("%s: write it with checksums: %w", path, err)
	}
	f, err := os.OpenFile(to, os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	if err := errors.Join(f.Chmod(0o600), f.Sync(), f.Close()); err != nil {
		return err
	}
	// A log that is left belongs to another file than the one that comes.
	for _, suffix := range []string{"-wal", "-shm"} {
		if err := os.Remove(path + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if err := os.Rename(to, path); err != nil {
		return err
	}
	return platform.SyncDir(filepath.Dir(path))
}

// createPrivate makes sure that the file exists and is the owner's only.
// SQLite gives the -wal and -shm files the same mode.
func createPrivate(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(f.Chmod(0o600), f.Close())
}

func pool(path string, o Options, conns int, readOnly bool) (*sql.DB, error) {
	q := url.Values{
		"_pragma": {
			"busy_timeout(" + strconv.FormatInt(o.BusyTimeout.Milliseconds(), 10) + ")",
			"journal_mode(WAL)",
			"synchronous(FULL)",
			"fullfsync(1)", // macOS: a plain fsync stays in the drive's cache
			"foreign_keys(1)",
			"secure_delete(1)",   // what is deleted is gone from the file
			"temp_store(MEMORY)", // what a savepoint needs to be undone, too
		},
		"_txlock": {"immediate"},
		"_dqs":    {"0"},
		"vfs":     {sumsVFS},
	}
	if readOnly {
		q.Add("_pragma", "query_only(1)")
	}
	u := url.URL{Scheme: "file", Path: path, RawQuery: q.Encode()}
	base, err := sqlite.NewConnector(u.String())
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(verified{base})
	db.SetMaxOpenConns(conns)
	db.SetMaxIdleConns(conns)
	if readOnly {
		// A burst of logins fills the cache of every reader: a few MiB each, not to be
		// kept for ever.
		db.SetConnMaxIdleTime(20 * time.Second)
	}
	return db, nil
}

// verified hands out connections whose settings were read back.
type verified struct{ driver.Connector }

func (v verified) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := v.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	if err := verify(ctx, conn); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

func verify(ctx context.Context, conn driver.Conn) error {
	q, ok := conn.(driver.QueryerContext)
	if !ok {
		return errors.New("the SQLite driver cannot read settings back")
	}
	for _, want := range []struct{ pragma, value string }{
		{"synchronous", "2"}, // FULL
		{"journal_mode", "wal"},
		{"foreign_keys", "1"},
	} {
		got, err := pragma(ctx, q, want.pragma)
		if err != nil {
			return fmt.Errorf("PRAGMA %s: %w", want.pragma, err)
		}
		if got != want.value {
			return fmt.Errorf("PRAGMA %s is %s, not %s: the file system does not allow a durable directory here", want.pragma, got, want.value)
		}
	}
	return nil
}

func pragma(ctx context.Context, q driver.QueryerContext, name string) (string, error) {
	rows, err := q.QueryContext(ctx, "PRAGMA "+name, nil)
	if err != nil {
		return "", err
	}
	value := make([]driver.Value, 1)
	err = rows.Next(value)
	return fmt.Sprint(value[0]), errors.Join(err, rows.Close())
}

// classify tells the codes that SQLite's errors mean to a user.
func classify(err error) im.Code {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return ""
	}
	switch e.Code() & 0xff {
	case sqlite3.SQLITE_FULL:
		return im.CodeStorageFull
	case sqlite3.SQLITE_BUSY:
		return im.CodeUnavailable
	}
	return ""
}
