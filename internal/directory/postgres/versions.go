package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"

	"github.com/jackc/pgx/v5"

	"github.com/skein-im/skein/internal/directory"
	"github.com/skein-im/skein/internal/schema"
)

// versionLocks are advisory locks, one for every version of the schema. Each
// connection of a process shares the one of the version that its program knows; who
// shuts out programs takes theirs alone, so none of them is connected then, or
// connects meanwhile (internal/schema).
const versionLocks = 720541602

// storeName is what errors and warnings call the store.
const storeName = "directory: the database"

// versions looks at the schema with every new connection.
type versions struct {
	known schema.Steps
	log   *slog.Logger
	note  atomic.Pointer[directory.DB]
	seen  atomic.Pointer[schema.Range]
}

// enter makes a new connection fit for use, unless the schema shuts this program
// out.
func (v *versions) enter(ctx context.Context, c *pgx.Conn) error {
	if err := verify(ctx, c); err != nil {
		return err
	}
	if err := v.look(ctx, c); err != nil {
		return errors.Join(err, c.Close(ctx))
	}
	return nil
}

func (v *versions) look(ctx context.Context, c *pgx.Conn) error {
	if _, err := c.Exec(ctx, "SELECT pg_advisory_lock_shared($1, $2)", versionLocks, v.known.Known()); err != nil {
		return fmt.Errorf("directory: lock the schema's version: %w", err)
	}
	var r schema.Range
	if err := c.QueryRow(ctx, directory.RangeQuery).Scan(&r.Version, &r.Least); err != nil {
		return fmt.Errorf("directory: the schema's version: %w", err)
	}
	if d := v.note.Load(); d != nil {
		d.NoteSchema(r)
	}
	err := v.known.Check(storeName, r)
	if old := v.seen.Swap(&r); old != nil && *old == r {
		return err
	}
	if err != nil {
		v.log.Error("directory: this node does not use it any more: replace it by the newer version", "err", err)
	} else if text := v.known.Beyond(storeName, r); text != "" {
		v.log.Warn(text)
	}
	return err
}

// alone takes the locks of the programs that the step to a version would shut
// out, for as long as the connection lasts.
func alone(ctx context.Context, c *sql.Conn, have schema.Range, step int) error {
	for known := max(have.Least, 1); known < step; known++ {
		var mine bool
		if err := c.QueryRowContext(ctx, "SELECT pg_try_advisory_lock($1, $2)", versionLocks, known).Scan(&mine); err != nil {
			return fmt.Errorf("directory: lock: %w", err)
		}
		if !mine {
			return &schema.InUseError{Store: storeName, Step: step, Known: known}
		}
	}
	return nil
}

// Contract takes the steps that wait for an operator, and tells what the schema
// was before and is now; see directory.DB.Contract.
func Contract(ctx context.Context, databaseURL string, o Options) (before, after schema.Range, err error) {
	return contract(ctx, databaseURL, o, dialect())
}

func contract(ctx context.Context, databaseURL string, o Options, how directory.Dialect) (before, after schema.Range, err error) {
	config, err := pgx.ParseConfig(databaseURL)
	if err != nil {
		return before, after, fmt.Errorf("directory: the URL of the database: %w", err)
	}
	err = migrating(ctx, config, o.withDefaults(config), how, func(d *directory.DB, ctx context.Context) error {
		return schema.Outlast(ctx, func() (err error) {
			before, after, err = d.Contract(ctx)
			return err
		})
	})
	return before, after, err
}
