package postgres

import (
	"context"
	"crypto/rand"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// schemaVersion is of the tables and functions below.
const schemaVersion = 2

// advisoryLock is taken by who makes or changes the tables, so that processes
// that start together take turns. journal_adopt takes it, too.
const advisoryLock = 7205416021

//go:embed schema.sql
var schemaSQL string

//go:embed functions.sql
var functionsSQL string

//go:embed history.sql
var historySQL string

// migrations lists what leads from each version to the next.
func migrations() []string { return []string{schemaSQL + functionsSQL, historySQL} }

func newTimeline() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// migrate brings the database to this version. The lock is the session's, taken
// before the transaction: one that began earlier may still believe that there
// are no tables.
func migrate(ctx context.Context, c *pgx.Conn) error {
	have, err := version(ctx, c)
	if err != nil || have == schemaVersion {
		return err
	}
	if _, err := c.Exec(ctx, "SELECT pg_advisory_lock($1)", int64(advisoryLock)); err != nil {
		return err
	}
	err = pgx.BeginFunc(ctx, c, func(tx pgx.Tx) error { return advance(ctx, tx) })
	if err != nil {
		return err // the lock ends with the connection
	}
	_, err = c.Exec(ctx, "SELECT pg_advisory_unlock($1)", int64(advisoryLock))
	return err
}

// advance runs the migrations that are missing.
func advance(ctx context.Context, tx pgx.Tx) error {
	have, err := version(ctx, tx.Conn())
	if err != nil {
		return err
	}
	steps := migrations()
	if have > len(steps) {
		return &VersionError{Have: have, Known: schemaVersion}
	}
	for ; have < len(steps); have++ {
		if _, err := tx.Exec(ctx, steps[have]); err != nil {
			return fmt.Errorf("journal: migrate the database to version %d: %w", have+1, err)
		}
	}
	_, err = tx.Exec(ctx, `INSERT INTO journal_meta AS m (version, timeline, base, identity, wal, level) VALUES ($1, $2, 0, '', '', 0)
		ON CONFLICT (one) DO UPDATE SET version = excluded.version`, schemaVersion, newTimeline())
	return err
}

// version is that of the tables, 0 if there are none.
func version(ctx context.Context, c *pgx.Conn) (int, error) {
	var there bool
	// to_regclass would answer from this session's memory: it may not have heard yet
	// of the tables of whoever held the lock before.
	err := c.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_class WHERE relname = 'journal_meta' AND pg_table_is_visible(oid))").Scan(&there)
	if err != nil || !there {
		return 0, err
	}
	var v int
	err = c.QueryRow(ctx, "SELECT version FROM journal_meta").Scan(&v)
	var pg *pgconn.PgError
	switch {
	case errors.As(err, &pg) && pg.Code == "42P01": // gone meanwhile: another's step did not succeed
		return 0, nil
	case errors.Is(err, pgx.ErrNoRows):
		return 0, errors.New("journal: the table journal_meta is empty")
	}
	return v, err
}
