package directory

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"
	"strings"

	"github.com/pressly/goose/v3"

	"github.com/skein-im/skein/internal/schema"
)

//go:embed migrations/*.sql
var migrations embed.FS

// storeName is what errors and warnings call the store.
const storeName = "directory: the database"

// Migrate brings the schema to what this program needs (internal/schema). One that
// is newer is left as it is: refused, or used if it allows it. Of several
// processes one may do this at a time.
func (d *DB) Migrate(ctx context.Context) error {
	steps, err := d.steps()
	if err != nil {
		return err
	}
	_, err = d.migrate(ctx, steps, steps.Start())
	return err
}

// Contract takes the steps that wait for an operator, and tells what the schema
// was before and is now. Afterwards programs that know less than it needs are
// refused; while one of them is connected it is an *schema.InUseError.
func (d *DB) Contract(ctx context.Context) (before, after schema.Range, err error) {
	steps, err := d.steps()
	if err != nil {
		return before, after, err
	}
	if before, err = d.migrate(ctx, steps, steps.Known()); err != nil {
		return before, before, err
	}
	after, err = d.schemaRange(ctx)
	return before, after, err
}

// migrate brings the schema to a version, at least. before is what it was.
func (d *DB) migrate(ctx context.Context, steps schema.Steps, to int) (before schema.Range, err error) {
	if d.together != nil { // it keeps the connection that migrating needs
		if err := d.together.close(); err != nil {
			return before, d.failed("migrate", err)
		}
	}
	if before, err = d.schemaRange(ctx); err != nil {
		return before, err
	}
	d.NoteSchema(before)
	if err = steps.Check(storeName, before); err != nil || before.Version >= to {
		return before, err
	}
	provider, err := d.migrator()
	if err != nil {
		return before, err
	}
	now := before
	for now.Version < to {
		// As far as nobody is shut out, then one that shuts out, and so on.
		next := now.Version
		for next < to && steps[next] == schema.Expand {
			next++
		}
		if next == now.Version {
			if next++; d.dialect.Alone != nil {
				if err := d.dialect.Alone(ctx, now, next); err != nil {
					return before, err
				}
			}
		}
		if _, err := provider.UpTo(ctx, int64(next)); err != nil {
			return before, d.failed(fmt.Sprintf("migrate the schema from version %d to %d", now.Version, next), err)
		}
		now.Version = next
	}
	if now, err = d.schemaRange(ctx); err == nil {
		d.NoteSchema(now)
	}
	return before, err
}

func (d *DB) steps() (schema.Steps, error) {
	files, err := d.migrations()
	if err != nil {
		return nil, err
	}
	return stepsOf(files, d.dialect.Name)
}

// stepsOf are the kinds of migrations by their names. A dialect that has none for
// a version has nothing to do for it.
func stepsOf(files fs.FS, dialect string) (steps schema.Steps, err error) {
	names, err := fs.Glob(files, "*.sql")
	if err != nil {
		return nil, fmt.Errorf("directory: migrations: %w", err)
	}
	for _, name := range names { // sorted
		var n int
		if _, err := fmt.Sscanf(name, "%d_", &n); err != nil || dialect != "postgres" && strings.HasSuffix(name, "_postgres.sql") {
			continue
		}
		for len(steps) < n {
			steps = append(steps, schema.Expand)
		}
		if strings.Contains(name, "_contract") {
			steps[n-1] = schema.Contract
		}
	}
	return steps, nil
}

// Steps are those that this program knows in a dialect.
func Steps(dialect string) schema.Steps {
	files, err := ownMigrations()
	if err != nil {
		return nil
	}
	steps, _ := stepsOf(files, dialect) // they are in the program
	return steps
}

func (d *DB) migrations() (fs.FS, error) {
	if d.dialect.Migrations != nil {
		return d.dialect.Migrations, nil
	}
	files, err := ownMigrations()
	if err != nil {
		return nil, fmt.Errorf("directory: migrations: %w", err)
	}
	return files, nil
}

// migrator knows the migrations of the dialect.
func (d *DB) migrator() (*goose.Provider, error) {
	files, err := d.migrations()
	if err != nil {
		return nil, err
	}
	var others []string // of other dialects
	if d.dialect.Name != "postgres" {
		if others, err = fs.Glob(files, "*_postgres.sql"); err != nil {
			return nil, fmt.Errorf("directory: migrations: %w", err)
		}
	}
	provider, err := goose.NewProvider(goose.Dialect(d.dialect.Name), d.write, files,
		goose.WithDisableGlobalRegistry(true), goose.WithLogger(goose.NopLogger()), goose.WithExcludeNames(others))
	if err != nil {
		return nil, fmt.Errorf("directory: migrations: %w", err)
	}
	return provider, nil
}

// The queries that tell a schema's range; the tables of before version 8 do not
// say who may use them.
const (
	versionQuery = "SELECT COALESCE(MAX(version_id), 0) FROM goose_db_version WHERE is_applied"
	leastQuery   = "SELECT least FROM directory_compatible WHERE one = 1"
	leastSchema  = 8
	// RangeQuery tells both of a schema that has them.
	RangeQuery = "SELECT (" + versionQuery + "), (" + leastQuery + ")"
)

// schemaRange reads what the schema says of itself, zero if there is none.
func (d *DB) schemaRange(ctx context.Context) (r schema.Range, err error) {
	tables := "SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE name = 'goose_db_version')"
	if d.dialect.Name == "postgres" {
		tables = "SELECT to_regclass('goose_db_version') IS NOT NULL"
	}
	r, err = readRange(ctx, d.write, tables)
	return r, d.failed("read the schema's version", err)
}

func readRange(ctx context.Context, db *sql.DB, tables string) (r schema.Range, err error) {
	var some bool
	if err := db.QueryRowContext(ctx, tables).Scan(&some); err != nil || !some {
		return r, err
	}
	if err := db.QueryRowContext(ctx, versionQuery).Scan(&r.Version); err != nil || r.Version < leastSchema {
		return r, err
	}
	return r, db.QueryRowContext(ctx, leastQuery).Scan(&r.Least)
}

// NoteSchema notes what the schema was seen to be. It is for the engine, too,
// which sees it with every connection.
func (d *DB) NoteSchema(r schema.Range) { d.schema.Store(&r) }

// Schema tells what operators should know of the schema: a warning, "" if there is
// none, and why this program may not use it any more, nil if it may.
func (d *DB) Schema() (warning string, shut error) {
	r := d.schema.Load()
	if r == nil {
		return "", nil
	}
	steps, err := d.steps()
	if err != nil {
		return "", err
	}
	return steps.Beyond(storeName, *r), steps.Check(storeName, *r)
}

func newerSchema(have schema.Range, known int) error {
	return &schema.NewerError{Store: storeName, Have: have, Known: known}
}
