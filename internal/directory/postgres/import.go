package postgres

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/skein-im/skein/internal/directory"
)

// Importer fills a database with the tables of another directory.
type Importer struct {
	*directory.Reader
	db *sql.DB
}

// OpenImporter connects to the database, whose directory nobody uses, and brings
// its schema up to date. name is the application_name of its connections.
func OpenImporter(ctx context.Context, databaseURL, name string) (*Importer, error) {
	config, err := pgx.ParseConfig(databaseURL)
	if err != nil {
		return nil, fmt.Errorf("directory: the URL of the database: %w", err) // it masks the password
	}
	config.RuntimeParams["application_name"] = name
	o := Options{ConnectTimeout: cmp.Or(config.ConnectTimeout, 2*time.Second)} // a statement may take its time
	if err := migrating(ctx, config.Copy(), o, dialect(), (*directory.DB).Migrate); err != nil {
		return nil, fmt.Errorf("%s: %w", where(config), err)
	}
	db := connect(config, o, verify)
	return &Importer{directory.NewReader(db, "postgres"), db}, nil
}

// Copy fills a table, as a whole or not at all. from calls its argument for
// every row. A table that has rows was filled before, and is left as it is.
func (m *Importer) Copy(ctx context.Context, table string, columns []directory.Column, from func(row func([]any) error) error) error {
	var some bool
	if err := m.db.QueryRowContext(ctx, "SELECT EXISTS (SELECT FROM "+pgx.Identifier{table}.Sanitize()+")").Scan(&some); err != nil || some {
		return err
	}
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = c.Name
	}
	c, err := m.db.Conn(ctx)
	if err != nil {
		return err
	}
	err = c.Raw(func(driver any) error {
		rows := pulled(from)
		defer rows.stop()
		_, err := driver.(*stdlib.Conn).Conn().CopyFrom(ctx, pgx.Identifier{table}, names, rows)
		return err
	})
	return errors.Join(err, c.Close())
}

// Finish sets what is beside the tables: promises get places behind those that
// are there, the keys are to be settled by the first start, and statistics are made.
func (m *Importer) Finish(ctx context.Context) error {
	if _, err := m.db.ExecContext(ctx, "SELECT setval('outbox_places', COALESCE((SELECT MAX(place) FROM outbox), 0) + 1, false)"); err != nil {
		return err
	}
	// The nodes have other keys than the server had: whoever starts first settles them.
	if _, err := m.db.ExecContext(ctx, "INSERT INTO key_check (one, value, noted_at) VALUES (1, '', 0) ON CONFLICT (one) DO NOTHING"); err != nil {
		return err
	}
	for _, table := range directory.Tables() {
		if _, err := m.db.ExecContext(ctx, "ANALYZE "+pgx.Identifier{table}.Sanitize()); err != nil {
			return err
		}
	}
	return nil
}
