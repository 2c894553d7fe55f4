package directory

import "context"

// WriteTx is writeTx, for tests.
type WriteTx = writeTx

// Tx is tx, for tests.
func (d *DB) Tx(ctx context.Context, fn func(*WriteTx) error) error { return d.tx(ctx, fn) }
