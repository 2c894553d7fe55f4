package directory

import (
	"context"
	"database/sql"
	"errors"
	"time"
)

// ServerList returns a list of the deployment's own, which is kept whole, and its revision: 0
// and "" when it was never set.
func (d *DB) ServerList(ctx context.Context, name string) (revision uint64, value string, err error) {
	var r int64
	err = d.queryRow(ctx, "SELECT revision, value FROM server_lists WHERE name = $1", name).Scan(&r, &value)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, "", nil
	}
	return uint64(r), value, d.failed("read a list of the server", err)
}

// ServerListRevision tells whether the list changed: it is another one then.
func (d *DB) ServerListRevision(ctx context.Context, name string) (uint64, error) {
	var r int64
	err := d.queryRow(ctx, "SELECT revision FROM server_lists WHERE name = $1", name).Scan(&r)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	return uint64(r), d.failed("read the revision of a list of the server", err)
}

// ChangeServerList puts what change makes of a list in its place, one change after the other;
// change may be called more than once, and its error changes nothing. The revision is a time,
// as far as the clock goes forward: a directory that was put back does not come to the same
// revisions again.
func (d *DB) ChangeServerList(ctx context.Context, name string, at time.Time, change func(value string) (string, error)) (revision uint64, value string, err error) {
	err = d.tx(ctx, func(tx *writeTx) error {
		// The row is the lock.
		if _, err := tx.Exec("INSERT INTO server_lists (name, revision, value) VALUES ($1, 0, '') ON CONFLICT (name) DO UPDATE SET revision = server_lists.revision", name); err != nil {
			return err
		}
		var r int64
		var old string
		if err := tx.QueryRow("SELECT revision, value FROM server_lists WHERE name = $1", name).Scan(&r, &old); err != nil {
			return err
		}
		if value, err = change(old); err != nil {
			return err
		}
		revision = uint64(max(r+1, msOf(at)))
		_, err := tx.Exec("UPDATE server_lists SET revision = $2, value = $3 WHERE name = $1", name, int64(revision), value)
		return err
	})
	return revision, value, err
}
