package directory

import (
	"context"
	"errors"
	"fmt"
)

// ErrNoSnapshot: a database that several processes write to has means of its own.
var ErrNoSnapshot = errors.New("directory: only an embedded one is copied by its server")

// Snapshot makes a copy of the directory in the file `to`, which must not exist:
// all that was committed when `meanwhile` was called, and nothing later. While
// meanwhile runs nothing is written, so what it does belongs to the same moment;
// it should be short. Writing goes on while the copy is made.
func (d *DB) Snapshot(ctx context.Context, to string, meanwhile func() error) (err error) {
	if d.together == nil || d.dialect.Copy == nil {
		return ErrNoSnapshot
	}
	conn, err := d.read.Conn(ctx)
	if err != nil {
		return d.failed("snapshot", err)
	}
	defer conn.Close() // gives it back to the pool
	err = d.together.still(func() error {
		// What a transaction reads first decides what it finds until its end.
		if _, err := conn.ExecContext(ctx, "BEGIN"); err != nil {
			return d.failed("snapshot", err)
		}
		var n int
		if err := conn.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_master").Scan(&n); err != nil {
			return d.failed("snapshot", err)
		}
		return meanwhile()
	})
	if err == nil {
		if err = d.dialect.Copy(ctx, conn, to); err != nil {
			err = fmt.Errorf("directory: copy to %s: %w", to, err)
		}
	}
	_, _ = conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK") // of a begin that failed: nothing to do
	return err
}

// still runs fn while nobody writes.
func (g *together) still(fn func() error) error {
	g.run.Lock()
	defer g.run.Unlock()
	return fn()
}
