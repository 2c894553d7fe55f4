package directory

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Tables are the tables of a directory, each behind those it refers to.
func Tables() []string {
	return []string{"users", "sessions", "tokens", "claims", "second_factors", "recovery_codes", "tickets", "identities", "former_usernames", "provider_logins", "registration_links", "contacts", "contact_revisions", "groups", "memberships", "group_invitations", "group_bans", "group_links", "group_requests", "scheduled", "timers", "lifetimes", "retention", "media", "media_pieces", "media_blobs", "media_names", "media_trash", "media_usage", "sticker_packs", "stickers", "custom_emoji", "sticker_revision", "push_keys", "push_subscriptions", "push_settings", "push_jobs", "profile_news", "last_seen", "erasures", "held_names", "outbox", "followers", "follower_poison", "keyed_calls", "audit_log", "reports", "server_settings", "server_lists", "wrote_first"}
}

// Reader reads a directory's tables whole, for copying and comparing them.
type Reader struct {
	db      *sql.DB
	dialect string
}

// NewReader makes a reader of a database, and closes it with Close. The dialect
// is a Dialect's name.
func NewReader(db *sql.DB, dialect string) *Reader { return &Reader{db, dialect} }

// Close closes the database.
func (r *Reader) Close() error { return r.db.Close() }

// Check refuses a schema that is not this program's, and tables that nobody
// copies.
func (r *Reader) Check(ctx context.Context) error {
	d := New(r.db, Dialect{Name: r.dialect})
	have, err := d.schemaRange(ctx)
	if err != nil {
		return err
	}
	switch needs := Steps(r.dialect); {
	case have.Version > needs.Known(): // what it added would not be copied
		return newerSchema(have, needs.Known())
	case have.Version < needs.Start():
		return fmt.Errorf("directory: the schema has version %d, this program's is %d: start this program's server on it once, which converts it", have.Version, needs.Start())
	}
	if r.dialect != "sqlite3" {
		return nil
	}
	rows, err := r.db.QueryContext(ctx, "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%' AND name NOT LIKE 'goose%' AND name NOT IN ('pair', 'directory_compatible', 'key_check')") // those are of this store, not of what is in it
	if err != nil {
		return fmt.Errorf("directory: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return fmt.Errorf("directory: %w", err)
		}
		if !slices.Contains(Tables(), name) {
			return fmt.Errorf("directory: nobody knows how to copy the table %s", name)
		}
	}
	return rows.Err()
}

// Column is a column of a table.
type Column struct {
	Name string
	kind kind
}

// kind is how a column's values are told.
type kind int

const (
	kindText kind = iota
	kindBytes
	kindNumber
	kindTruth
)

// Columns lists a table's columns in the order of the table.
func (r *Reader) Columns(ctx context.Context, table string) ([]Column, error) {
	rows, err := r.db.QueryContext(ctx, "SELECT * FROM "+quoted(table)+" LIMIT 0")
	if err != nil {
		return nil, fmt.Errorf("directory: %s: %w", table, err)
	}
	defer rows.Close()
	types, err := rows.ColumnTypes()
	if err != nil {
		return nil, fmt.Errorf("directory: %s: %w", table, err)
	}
	columns := make([]Column, len(types))
	for i, t := range types {
		columns[i].Name = t.Name()
		switch t.DatabaseTypeName() {
		case "TEXT":
		case "BYTEA":
			columns[i].kind = kindBytes
		case "BIGINT", "INT8":
			columns[i].kind = kindNumber
		case "BOOLEAN", "BOOL":
			columns[i].kind = kindTruth
		default:
			return nil, fmt.Errorf("directory: nobody knows how to copy the column %s.%s, of type %q", table, t.Name(), t.DatabaseTypeName())
		}
	}
	return columns, rows.Err()
}

func quoted(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// Each calls each for every row of a table, with the values of the columns:
// string, []byte, int64, bool, or nil. They are valid until it returns.
func (r *Reader) Each(ctx context.Context, table string, columns []Column, each func(row []any) error) error {
	names := make([]string, len(columns))
	into := make([]any, len(columns))
	for i, c := range columns {
		names[i] = quoted(c.Name)
		switch c.kind {
		case kindText:
			into[i] = new(sql.NullString)
		case kindBytes:
			into[i] = new([]byte)
		case kindNumber:
			into[i] = new(sql.NullInt64)
		case kindTruth:
			into[i] = new(sql.NullBool)
		}
	}
	rows, err := r.db.QueryContext(ctx, "SELECT "+strings.Join(names, ", ")+" FROM "+quoted(table))
	if err != nil {
		return fmt.Errorf("directory: %s: %w", table, err)
	}
	defer rows.Close()
	row := make([]any, len(columns))
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return fmt.Errorf("directory: %s: %w", table, err)
		}
		for i := range into {
			row[i] = value(into[i])
		}
		if err := each(row); err != nil {
			return err
		}
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return fmt.Errorf("directory: %s: %w", table, err)
	}
	return nil
}

func value(scanned any) any {
	switch v := scanned.(type) {
	case *sql.NullString:
		if v.Valid {
			return v.String
		}
	case *[]byte:
		if *v != nil {
			return *v
		}
	case *sql.NullInt64:
		if v.Valid {
			return v.Int64
		}
	case *sql.NullBool:
		if v.Valid {
			return v.Bool
		}
	}
	return nil
}

// Count is how many rows a table has.
func (r *Reader) Count(ctx context.Context, table string) (n int64, err error) {
	if err := r.db.QueryRowContext(ctx, "SELECT count(*) FROM "+quoted(table)).Scan(&n); err != nil {
		return 0, fmt.Errorf("directory: %s: %w", table, err)
	}
	return n, nil
}
