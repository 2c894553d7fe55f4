package directory

import (
	"context"
	"embed"
	"fmt"
	"io/fs"

	"github.com/pressly/goose/v3"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Migrate brings the schema to what this binary knows. A newer schema is
// refused and left as it is. Of several processes one may do this at a time.
func (d *DB) Migrate(ctx context.Context) error {
	if d.together != nil { // it keeps the connection that migrating needs
		if err := d.together.close(); err != nil {
			return d.failed("migrate", err)
		}
	}
	provider, err := d.migrator()
	if err != nil {
		return err
	}
	current, known, err := provider.GetVersions(ctx)
	if err != nil {
		return d.failed("read the schema's version", err)
	}
	if current > known {
		return newerSchema(current, known)
	}
	if current == known {
		return nil
	}
	if _, err := provider.Up(ctx); err != nil {
		return d.failed(fmt.Sprintf("migrate the schema from version %d to %d", current, known), err)
	}
	return nil
}

// migrator knows the migrations of the dialect.
func (d *DB) migrator() (*goose.Provider, error) {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return nil, fmt.Errorf("directory: migrations: %w", err)
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

func newerSchema(current, known int64) error {
	return fmt.Errorf("directory: the schema has version %d, this program knows %d: it was written by a newer version of Skein; run that version or restore a backup", current, known)
}
