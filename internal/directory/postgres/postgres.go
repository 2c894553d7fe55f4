// Package postgres is the directory's engine for many nodes: a PostgreSQL
// database that several processes write to. It owns the connections, their
// settings and the meaning of the server's errors; the SQL is the directory's.
//
// It must not know what the directory keeps.
//
// Goroutines: those of database/sql and of the driver. Locks: none; processes
// that start together migrate one after the other, by an advisory lock.
//
// Invariants:
//   - a commit that returned is on the server's disk: synchronous_commit is read
//     back on every connection before it is used;
//   - a server that is away, or does not answer, fails a call within a bounded
//     time, and is used again when it is back, without anybody's doing;
//   - a commit whose answer did not come is told as such, and never repeated here;
//     but for statements of their own that do the same again as once (NoteWrote, OpenDM).
package postgres

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/skein-im/skein/internal/directory"
	"github.com/skein-im/skein/internal/pg"
	"github.com/skein-im/skein/internal/schema"
)

// Options of a PostgreSQL directory; the zero value is good.
type Options struct {
	// MaxConns bounds the connections of this process. Default 16.
	MaxConns int
	// ConnectTimeout bounds one attempt to connect. Default: connect_timeout of the
	// URL, otherwise 2 s.
	ConnectTimeout time.Duration
	// StatementTimeout is after what time the server gives a statement up, also one
	// that waits for a lock. Default 30 s.
	StatementTimeout time.Duration
	// Logger gets what operators should know. Default slog.Default().
	Logger *slog.Logger

	lock time.Duration // how long a statement waits for one lock; 0 without end
}

func (o Options) withDefaults(config *pgx.ConnConfig) Options {
	if o.MaxConns <= 0 {
		o.MaxConns = 16
	}
	if o.StatementTimeout <= 0 {
		o.StatementTimeout = 30 * time.Second
	}
	o.lock = lockTimeout
	if o.ConnectTimeout <= 0 {
		o.ConnectTimeout = cmp.Or(config.ConnectTimeout, 2*time.Second)
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	return o
}

const (
	// userTimeout is how long what was sent may stay unacknowledged (TCP_USER_TIMEOUT).
	userTimeout = 10 * time.Second
	// lockTimeout is how long a statement waits for one lock: somebody else's open
	// transaction must not become everybody's.
	lockTimeout = 5 * time.Second
	// migrateLockTimeout is the same for a migration: who comes to the table meanwhile
	// waits behind it. migrateAgain is after what pause it tries again.
	migrateLockTimeout = 400 * time.Millisecond
	migrateAgain       = 300 * time.Millisecond
	// idleInTransaction ends the transaction of a process that was frozen or whose
	// host is gone, with the locks it holds.
	idleInTransaction = 10 * time.Second
	// maxIdle and maxLife bound a connection's life: after a load the pool
	// shrinks, and after a failover it spreads again.
	maxIdle, maxLife = 5 * time.Minute, time.Hour
)

// Open connects to the database of a postgres:// URL and brings its schema up
// to date. ctx bounds the opening.
func Open(ctx context.Context, databaseURL string, o Options) (*directory.DB, error) {
	config, err := pgx.ParseConfig(databaseURL)
	if err != nil {
		return nil, fmt.Errorf("directory: the URL of the database: %w", err) // it masks the password
	}
	o = o.withDefaults(config)
	if err := migrating(ctx, config.Copy(), o, dialect(), (*directory.DB).Migrate); err != nil {
		return nil, fmt.Errorf("%s: %w", where(config), err)
	}
	var s suspicion
	v := versions{known: directory.Steps("postgres"), log: o.Logger}
	db := connect(config, o, v.enter, stdlib.OptionShouldPing(s.shouldPing))
	db.SetMaxOpenConns(o.MaxConns)
	db.SetMaxIdleConns(o.MaxConns)
	db.SetConnMaxIdleTime(maxIdle)
	db.SetConnMaxLifetime(maxLife)
	d := dialect()
	d.Again = s.again
	opened := directory.New(db, d)
	v.note.Store(opened)
	if err := opened.Ping(ctx); err != nil { // makes the first connection
		return nil, fmt.Errorf("%s: %w", where(config), errors.Join(err, opened.Close()))
	}
	return opened, nil
}

func dialect() directory.Dialect {
	return directory.Dialect{
		Name: "postgres", Classify: classify,
		Place: "nextval('outbox_places')", Again: again, Refused: refused,
	}
}

// suspicion is when a connection was found ended last: those that were used
// last before that are asked for a sign of life before they are used again, so
// that one failure is enough to find out about all of them.
type suspicion struct{ since atomic.Int64 } // Unix nanoseconds

func (s *suspicion) again(err error) bool {
	if lost(err) {
		s.since.Store(time.Now().UnixNano())
	}
	return again(err)
}

func (s *suspicion) shouldPing(_ context.Context, p stdlib.ShouldPingParams) bool {
	return p.IdleDuration > time.Second || time.Now().Add(-p.IdleDuration).UnixNano() <= s.since.Load()
}

// where names a database without its password.
func where(c *pgx.ConnConfig) string {
	u := url.URL{Scheme: "postgres", User: url.User(c.User), Host: net.JoinHostPort(c.Host, fmt.Sprint(c.Port)), Path: "/" + c.Database}
	return u.String()
}

// connect makes a pool of connections with the settings that everything here
// relies on. With StatementTimeout 0 a statement may take its time.
func connect(config *pgx.ConnConfig, o Options, enter func(context.Context, *pgx.Conn) error, more ...stdlib.OptionOpenDB) *sql.DB {
	config.ConnectTimeout = o.ConnectTimeout
	silence := time.Duration(0)
	if o.StatementTimeout > 0 {
		silence = o.StatementTimeout + o.StatementTimeout/6 // on the way
	}
	if config.ValidateConnect == nil { // the URL asks for nothing else
		config.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
	}
	primaries := &pg.Primaries{}
	primaries.Guard(&config.Config)
	config.DialFunc = dialer(o.ConnectTimeout, silence)
	config.RuntimeParams["statement_timeout"] = fmt.Sprint(o.StatementTimeout.Milliseconds())
	config.RuntimeParams["lock_timeout"] = fmt.Sprint(o.lock.Milliseconds())
	config.RuntimeParams["idle_in_transaction_session_timeout"] = fmt.Sprint(idleInTransaction.Milliseconds())
	if config.RuntimeParams["application_name"] == "" {
		config.RuntimeParams["application_name"] = "skein directory"
	}
	current := func(_ context.Context, c *pgx.Conn) error {
		if !primaries.Current(c.PgConn()) {
			return driver.ErrBadConn
		}
		return nil
	}
	return stdlib.OpenDB(*config, append(more, stdlib.OptionAfterConnect(enter), stdlib.OptionResetSession(current))...)
}

// verify makes sure that commits are durable and texts are kept as they are.
func verify(ctx context.Context, c *pgx.Conn) error {
	err := func() error {
		var durable, encoding string
		// A server or role that is set not to wait is overruled; one that waits for
		// replicas as well is not.
		if err := c.QueryRow(ctx, `
			SELECT set_config('synchronous_commit', CASE current_setting('synchronous_commit') WHEN 'off' THEN 'on' ELSE current_setting('synchronous_commit') END, false),
				current_setting('server_encoding')`).Scan(&durable, &encoding); err != nil {
			return fmt.Errorf("read settings: %w", err)
		}
		if err := c.QueryRow(ctx, "SHOW synchronous_commit").Scan(&durable); err != nil {
			return fmt.Errorf("read settings: %w", err)
		}
		if durable == "off" {
			return errors.New("synchronous_commit is off and stays so: a commit would not be durable")
		}
		if encoding != "UTF8" {
			return fmt.Errorf("the database's encoding is %s, it must be UTF8", encoding)
		}
		return nil
	}()
	if err != nil {
		return errors.Join(err, c.Close(ctx))
	}
	return nil
}

// migrationLock is the advisory lock of those who migrate: "skein" and a number.
const migrationLock = 0x736b65696e<<16 | 1

// lockPause is how often who waits for the lock asks for it.
const lockPause = 100 * time.Millisecond

// migrating changes the schema, while no other process does.
func migrating(ctx context.Context, config *pgx.ConnConfig, o Options, how directory.Dialect, change func(*directory.DB, context.Context) error) (err error) {
	o.StatementTimeout, o.lock = 0, migrateLockTimeout // an index of a large table takes long
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	db := connect(config, o, verify)
	var holder *sql.Conn
	how.Alone = func(ctx context.Context, have schema.Range, step int) error { return alone(ctx, holder, have, step) }
	d := directory.New(db, how)
	defer func() { err = errors.Join(err, d.Close()) }()
	if holder, err = db.Conn(ctx); err != nil {
		return fmt.Errorf("directory: connect: %w", err)
	}
	defer func() { err = errors.Join(err, holder.Close()) }()
	for {
		var mine bool
		if err := holder.QueryRowContext(ctx, "SELECT pg_try_advisory_lock($1)", int64(migrationLock)).Scan(&mine); err != nil {
			return fmt.Errorf("directory: lock: %w", err)
		}
		if mine {
			break
		}
		select {
		case <-time.After(lockPause):
		case <-ctx.Done():
			return fmt.Errorf("directory: another process migrates the schema: %w", ctx.Err())
		}
	}
	// The locks go with the connection: with this pool, or when the process dies.
	for told := false; ; told = true {
		err := change(d, ctx)
		var answer *pgconn.PgError
		if !errors.As(err, &answer) || answer.Code != pg.LockNotAvailable {
			return err
		}
		if !told {
			o.Logger.Warn("directory: the migration waits for a lock that somebody else keeps (SELECT * FROM pg_stat_activity); it tries again until it gets it", "err", err)
		}
		select {
		case <-time.After(migrateAgain):
		case <-ctx.Done():
			return fmt.Errorf("directory: the migration waits for a lock: %w", ctx.Err())
		}
	}
}
