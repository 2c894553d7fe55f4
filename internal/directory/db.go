package directory

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"math/bits"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/skein-im/skein/internal/cache"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/schema"
)

// Dialect is what is special about an engine.
type Dialect struct {
	// Name is the migration library's name of the dialect: `sqlite3` or `postgres`.
	Name string
	// Classify names the code that an error of the driver means to a user, such as
	// storage_full, or "" when it is nothing but a failure. May be nil.
	Classify func(error) im.Code
	// Embedded: the database is in this process, which is the only one that writes
	// to it, one transaction at a time.
	Embedded bool
	// Copy makes a copy, in a new file, of what the transaction that is open on the
	// connection sees. For embedded databases.
	Copy func(ctx context.Context, conn *sql.Conn, to string) error

	// Migrations replace those of the program, for tests of versions to come.
	Migrations fs.FS

	// The rest is for a database that several processes write to.

	// Alone makes sure, while this process migrates, that nobody is connected whom the
	// step to a version would shut out. Otherwise it is an *schema.InUseError.
	Alone func(ctx context.Context, have schema.Range, step int) error
	// Place is the expression that gives a promise its place, above those that
	// were given before. "": one above the highest that is there.
	Place string
	// Again tells that a statement failed because of other writers, or because
	// its connection had gone: the same from the beginning may succeed.
	Again func(error) bool
	// Refused tells that the database answered a commit with no: nothing was
	// written. After any other error of a commit nobody knows.
	Refused func(error) bool
}

// DB is a directory in an SQL database. All methods may be called concurrently.
type DB struct {
	write   *sql.DB
	read    *sql.DB
	dialect Dialect
	// together runs the writes of an embedded database; nil for others.
	together *together
	// places keeps the lists of conversations of an embedded database; nil for others.
	places *places

	// schema is the range that was last seen.
	schema atomic.Pointer[schema.Range]

	// keyed counts calls with idempotency keys.
	keyed keyedCounts

	// mu guards prepared, the statements of reads by their text.
	mu       sync.RWMutex
	prepared map[string]*sql.Stmt
}

// Parsing is half of the cost of a small read, so reads of an embedded database
// are prepared: those with few arguments, because lists of many have a text for
// each length. Drivers of others keep statements themselves, with each connection.
const (
	preparedTexts = 256
	preparedArgs  = 8
)

// New makes a directory of a database. Call Migrate before anything else.
// Close closes the database.
func New(sqlDB *sql.DB, dialect Dialect) *DB {
	if dialect.Place == "" {
		dialect.Place = "(SELECT COALESCE(MAX(place), 0) + 1 FROM outbox)"
	}
	d := &DB{write: sqlDB, read: sqlDB, dialect: dialect, prepared: map[string]*sql.Stmt{}}
	d.keyed.of = cache.New[string, int](keyedCallers)
	if dialect.Embedded {
		d.together, d.places = &together{d: d}, newPlaces(placesBytes)
	}
	return d
}

// WithReader makes reads outside of transactions use a pool of their own,
// which must see what the first one committed. It is for the engine, before
// the directory is used. Close closes it too.
func (d *DB) WithReader(read *sql.DB) *DB {
	d.read = read
	return d
}

// Close closes the database and with it the prepared statements.
func (d *DB) Close() error {
	var errs []error
	if d.together != nil {
		errs = append(errs, d.together.close())
	}
	if d.read != d.write {
		errs = append(errs, d.read.Close())
	}
	return errors.Join(append(errs, d.write.Close())...)
}

// Ping tells whether the database answers, and notes the schema that others may
// have changed.
func (d *DB) Ping(ctx context.Context) error {
	if d.dialect.Embedded {
		return d.failed("ping", d.read.PingContext(ctx))
	}
	var r schema.Range
	err := d.queryRow(ctx, RangeQuery).Scan(&r.Version, &r.Least)
	if err == nil {
		d.NoteSchema(r)
	}
	return d.failed("ping", err)
}

// query reads outside of a transaction. The text is constant but for the
// length of lists.
func (d *DB) query(ctx context.Context, query string, args ...any) (rows *sql.Rows, err error) {
	if stmt := d.statement(ctx, query, args); stmt != nil {
		rows, err = stmt.QueryContext(ctx, args...)
	} else if rows, err = d.read.QueryContext(ctx, query, args...); d.again(err) {
		rows, err = d.read.QueryContext(ctx, query, args...)
	}
	return rows, d.failed("read", err)
}

// queryRow reads one row outside of a transaction; the error is Scan's.
func (d *DB) queryRow(ctx context.Context, query string, args ...any) *sql.Row {
	if stmt := d.statement(ctx, query, args); stmt != nil {
		return stmt.QueryRowContext(ctx, args...)
	}
	row := d.read.QueryRowContext(ctx, query, args...)
	if d.again(row.Err()) {
		return d.read.QueryRowContext(ctx, query, args...)
	}
	return row
}

// list reads all rows outside of a transaction.
func list[T any](ctx context.Context, d *DB, scan func(*sql.Rows) (T, error), query string, args ...any) ([]T, error) {
	rows, err := d.query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	all, err := scanAll(rows, scan)
	return all, d.failed("read", err)
}

// again tells whether the same may succeed now, because of what failed it.
func (d *DB) again(err error) bool {
	return err != nil && d.dialect.Again != nil && d.dialect.Again(err)
}

// statement returns the prepared statement of a text, or nil: then the text
// is run as it is, which also tells what is wrong with it.
func (d *DB) statement(ctx context.Context, query string, args []any) *sql.Stmt {
	if !d.dialect.Embedded || len(args) > preparedArgs {
		return nil
	}
	d.mu.RLock()
	stmt, full := d.prepared[query], len(d.prepared) >= preparedTexts
	d.mu.RUnlock()
	if stmt != nil || full {
		return stmt
	}
	stmt, err := d.read.PrepareContext(ctx, query)
	if err != nil {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if first := d.prepared[query]; first != nil {
		_ = stmt.Close() // never used: two prepared the same text at once
		return first
	}
	d.prepared[query] = stmt
	return stmt
}

// failed tells what was being tried, and gives the error the code that the
// engine knows for it. An *im.Error and sql.ErrNoRows pass unchanged.
func (d *DB) failed(what string, err error) error {
	var known *im.Error
	if err == nil || errors.As(err, &known) || errors.Is(err, sql.ErrNoRows) {
		return err
	}
	if d.dialect.Classify != nil {
		if code := d.dialect.Classify(err); code != "" {
			return im.Wrap(fmt.Errorf("directory: %s: %w", what, err), code, "the directory cannot do this now")
		}
	}
	return fmt.Errorf("directory: %s: %w", what, err)
}

// scanAll reads every row with scan and closes rows.
func scanAll[T any](rows *sql.Rows, scan func(*sql.Rows) (T, error)) ([]T, error) {
	defer rows.Close()
	var all []T
	for rows.Next() {
		v, err := scan(rows)
		if err != nil {
			return nil, fmt.Errorf("scan: %w", err)
		}
		all = append(all, v)
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	return all, nil
}

// placeholders returns `$first,$first+1,…` for n arguments, for IN lists.
func placeholders(first, n int) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "$%d", first+i)
	}
	return b.String()
}

// in appends a list to the arguments of a read, and returns what stands for it
// behind IN. Where the driver keeps a statement for every text it has met, the
// last one is repeated until the length is a power of two, so that lists of all
// lengths have few texts.
func in[T any](d *DB, args []any, list []T) (text string, all []any) {
	if len(list) == 0 {
		return "(NULL)", args
	}
	first, n := len(args)+1, len(list)
	if !d.dialect.Embedded {
		n = 1 << bits.Len(uint(n-1))
	}
	for i := range n {
		args = append(args, list[min(i, len(list)-1)])
	}
	return "(" + placeholders(first, n) + ")", args
}

// msOf is how a time is stored: Unix milliseconds, 0 for the zero time.
func msOf(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

// timeOf is the time that msOf stored.
func timeOf(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}
