package directory

import (
	"context"
	"database/sql"
)

// Tx is tx, for tests.
func (d *DB) Tx(ctx context.Context, fn func(*sql.Tx) error) error { return d.tx(ctx, fn) }
