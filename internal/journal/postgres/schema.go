package postgres

import (
	"context"
	"crypto/rand"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/skein-im/skein/internal/pg"
	"github.com/skein-im/skein/internal/schema"
)

// advisoryLock is taken by who makes or changes the tables, so that processes
// that start together take turns. journal_adopt takes it, too.
const advisoryLock = 7205416021

// versionLocks are the advisory locks, one for every version, that the
// connections of a program which knows that version share: see history.sql.
const versionLocks = 720541601

//go:embed schema.sql
var schemaSQL string

//go:embed indexes.sql
var indexesSQL string

//go:embed labels.sql
var labelsSQL string

//go:embed trim.sql
var trimSQL string

//go:embed threads.sql
var threadsSQL string

//go:embed functions.sql
var functionsSQL string

//go:embed history.sql
var historySQL string

// tablesVersion is the version of schema.sql. Tables of an older one are rewritten
// to it (rewrite.go), and programs that know less cannot use them.
const tablesVersion = 4

// tablesSQL makes the tables and functions of tablesVersion, without indexesSQL.
func tablesSQL() string { return schemaSQL + functionsSQL + historySQL }

// step leads from one version of the tables and functions to the next.
type step struct {
	sql  string
	kind schema.Kind
}

// migrations lists what leads to each version. Nothing leads to those before
// tablesVersion any more, and to that one a start goes in one step, whatever was
// before: it is no schema.Contract, which would wait for an operator, though it
// shuts out as much as one.
func migrations() plan {
	return append(append(make(plan, tablesVersion), step{sql: labelsSQL}, step{sql: functionsSQL + trimSQL}, step{sql: functionsSQL + threadsSQL}), next()...)
}

// plan is what a program knows.
type plan []step

func (p plan) steps() (s schema.Steps) {
	for _, m := range p {
		s = append(s, m.kind)
	}
	return s
}

func steps() schema.Steps { return migrations().steps() }

// storeName is what errors and warnings call the store.
const storeName = "journal: the database"

func newTimeline() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

const (
	// migrateLockTimeout is how long a step waits for a table that is in use: who
	// comes to that table meanwhile waits behind it, for less than appends do.
	migrateLockTimeout = 400 * time.Millisecond
	// migrateAgain is after what pause it tries again.
	migrateAgain = 300 * time.Millisecond
)

// migrate brings the database to a version, at least. The lock is the session's,
// taken before the transaction: one that began earlier may still believe that
// there are no tables.
func (p plan) migrate(ctx context.Context, c *pgx.Conn, to int, log *slog.Logger) error {
	have, err := schemaRange(ctx, c)
	if err == nil {
		err = p.steps().Check(storeName, have)
	}
	if err != nil || have.Version >= to {
		return err
	}
	if _, err := c.Exec(ctx, "SELECT pg_advisory_lock($1)", int64(advisoryLock)); err != nil {
		return err
	}
	for told := false; ; told = true {
		err = pgx.BeginFunc(ctx, c, func(tx pgx.Tx) error { return p.advance(ctx, tx, to, log) })
		var answer *pgconn.PgError
		if !errors.As(err, &answer) || answer.Code != pg.LockNotAvailable {
			break
		}
		if !told {
			log.Warn("journal: the migration waits for a lock that somebody else keeps (SELECT * FROM pg_stat_activity); it tries again until it gets it", "err", err)
		}
		if err := pause(ctx, migrateAgain); err != nil {
			return err
		}
	}
	if err != nil {
		return err // the lock ends with the connection
	}
	_, err = c.Exec(ctx, "SELECT pg_advisory_unlock($1)", int64(advisoryLock))
	return err
}

// advance runs the steps that are missing.
func (p plan) advance(ctx context.Context, tx pgx.Tx, to int, log *slog.Logger) error {
	if _, err := tx.Exec(ctx, fmt.Sprintf("SET LOCAL lock_timeout = %d", migrateLockTimeout.Milliseconds())); err != nil {
		return err
	}
	have, err := schemaRange(ctx, tx.Conn())
	if err == nil {
		err = p.steps().Check(storeName, have)
	}
	if err != nil || have.Version >= to {
		return err
	}
	if have.Version < tablesVersion {
		if err := tables(ctx, tx, have, log); err != nil {
			return err
		}
		have = schema.Range{Version: tablesVersion, Least: tablesVersion}
	}
	for ; have.Version < to; have.Version++ {
		m, version := p[have.Version], have.Version+1
		if m.kind == schema.Contract {
			if err := alone(ctx, tx, have, version); err != nil {
				return err
			}
			have.Least = version
		}
		if _, err := tx.Exec(ctx, m.sql); err != nil {
			return fmt.Errorf("journal: migrate the database to version %d: %w", version, err)
		}
	}
	_, err = tx.Exec(ctx, "UPDATE journal_meta SET version = $1, least = greatest(least, $2)", have.Version, have.Least)
	return err
}

// tables makes those of tablesVersion in a database that has none, or older ones.
func tables(ctx context.Context, tx pgx.Tx, have schema.Range, log *slog.Logger) error {
	if have.Version > 0 {
		if err := alone(ctx, tx, have, tablesVersion); err != nil {
			return fmt.Errorf("journal: tables of version %d cannot be used beside the tables of version %d, which this version makes of them: "+
				"stop every node of the older version (or all nodes), then start this one: %w", have.Version, tablesVersion, err)
		}
		return rewrite(ctx, tx, have.Version, log)
	}
	if _, err := tx.Exec(ctx, tablesSQL()+indexesSQL); err != nil {
		return fmt.Errorf("journal: make the tables: %w", err)
	}
	_, err := tx.Exec(ctx, "INSERT INTO journal_meta (version, least, timeline, base, identity, wal, level) VALUES ($1, $1, $2, 0, '', '', 0)", tablesVersion, newTimeline())
	return err
}

// alone makes sure, until the transaction ends, that no process is connected
// which the step to a version would shut out.
func alone(ctx context.Context, tx pgx.Tx, have schema.Range, version int) error {
	for known := max(have.Least, 1); known < version; known++ {
		var mine bool
		if err := tx.QueryRow(ctx, "SELECT pg_try_advisory_xact_lock($1, $2)", versionLocks, known).Scan(&mine); err != nil {
			return err
		}
		if !mine {
			return &schema.InUseError{Store: storeName, Step: version, Known: known}
		}
	}
	return nil
}

// Contract takes the steps that wait for an operator, and tells what the database
// was before and is now. After it programs that know less than it needs are
// refused; while one of them is connected it is an *schema.InUseError.
func Contract(ctx context.Context, url string, log *slog.Logger) (before, after schema.Range, err error) {
	return migrations().contract(ctx, url, log)
}

func (p plan) contract(ctx context.Context, url string, log *slog.Logger) (before, after schema.Range, err error) {
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return before, after, fmt.Errorf("journal: the database's URL: %w", err)
	}
	config.RuntimeParams["application_name"] = "skein migrate"
	c, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return before, after, unreachable(ctx, err)
	}
	defer func() { err = errors.Join(err, c.Close(context.WithoutCancel(ctx))) }()
	if _, err := c.Exec(ctx, "SET synchronous_commit = on"); err != nil {
		return before, after, err
	}
	if err := finished(ctx, c); err != nil {
		return before, after, err
	}
	if before, err = schemaRange(ctx, c); err != nil {
		return before, after, err
	}
	if before.Version == 0 {
		return before, after, errors.New("journal: there is no journal in this database: start a server on it first")
	}
	if err := schema.Outlast(ctx, func() error { return p.migrate(ctx, c, len(p), log) }); err != nil {
		return before, before, err
	}
	after, err = schemaRange(ctx, c)
	return before, after, err
}

// schemaRange is that of the tables, zero if there are none.
func schemaRange(ctx context.Context, c *pgx.Conn) (r schema.Range, err error) {
	var there bool
	// to_regclass would answer from this session's memory: it may not have heard yet
	// of the tables of whoever held the lock before.
	err = c.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_class WHERE relname = 'journal_meta' AND pg_table_is_visible(oid))").Scan(&there)
	if err != nil || !there {
		return r, err
	}
	// Tables of before do not say who may use them.
	err = c.QueryRow(ctx, "SELECT version, coalesce((to_jsonb(m)->>'least')::int, 0) FROM journal_meta m").Scan(&r.Version, &r.Least)
	var answer *pgconn.PgError
	switch {
	case errors.As(err, &answer) && answer.Code == pg.UndefinedTable: // gone meanwhile: another's step did not succeed
		return schema.Range{}, nil
	case errors.Is(err, pgx.ErrNoRows):
		return r, errors.New("journal: the table journal_meta is empty")
	}
	return r, err
}
