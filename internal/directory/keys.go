package directory

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// Keys is what a directory knows of the keys that it is used with: what was noted (see
// KeyCheck), and what they sealed.
type Keys struct {
	Noted  string
	Known  bool
	Sealed im.Sealed
}

// Keys tells what is known of them.
func (d *DB) Keys(ctx context.Context) (k Keys, err error) {
	if k.Noted, k.Known, err = d.KeyCheck(ctx); err == nil {
		k.Sealed, err = d.Sealed(ctx)
	}
	return k, err
}

// keys is Keys of a schema that may be older than this program's.
func (r *Reader) keys(ctx context.Context, version int) (k Keys, err error) {
	d := New(r.db, Dialect{Name: r.dialect})
	if version >= keysSchema {
		return d.Keys(ctx)
	}
	if version >= pushSchema {
		k.Sealed, err = d.Sealed(ctx)
	}
	return k, err
}

// Sealed tells what there is that only the keys it was made with can open.
func (d *DB) Sealed(ctx context.Context) (s im.Sealed, err error) {
	k, err := d.PushKey(ctx)
	switch {
	case err == nil:
		s.Push = &k
	case im.CodeOf(err) != im.CodeNotFound:
		return s, err
	}
	err = d.queryRow(ctx, "SELECT (SELECT count(*) FROM push_subscriptions), (SELECT count(*) FROM second_factors WHERE active)").Scan(&s.Devices, &s.Factors)
	return s, d.failed("count what is sealed", err)
}

// KeyCheck returns what was noted of the keys that the store is used with; known is false if
// nothing was. Empty: whoever starts first settles it.
func (d *DB) KeyCheck(ctx context.Context) (value string, known bool, err error) {
	err = d.queryRow(ctx, "SELECT value FROM key_check WHERE one = 1").Scan(&value)
	if errors.Is(err, sql.ErrNoRows) {
		return "", false, nil
	}
	return value, err == nil, d.failed("read whose keys these are", err)
}

// NoteKeyCheck notes value if nothing was noted. Of several who try one succeeds: KeyCheck
// tells whose it is.
func (d *DB) NoteKeyCheck(ctx context.Context, value string, at time.Time) error {
	return d.tx(ctx, func(tx *writeTx) error {
		_, err := tx.Exec("INSERT INTO key_check (one, value, noted_at) VALUES (1, $1, $2) ON CONFLICT (one) DO NOTHING", value, msOf(at))
		return err
	})
}

// ReplaceKeyCheck notes value in the place of was, which may be the same. push: the key by
// which push services know the server goes with it, and the subscriptions, which are of that
// key. If something else was noted meanwhile, nothing changes: KeyCheck tells.
func (d *DB) ReplaceKeyCheck(ctx context.Context, was, value string, push bool, at time.Time) error {
	return d.tx(ctx, func(tx *writeTx) error {
		n, err := tx.Exec("UPDATE key_check SET value = $2, noted_at = $3 WHERE one = 1 AND value = $1", was, value, msOf(at))
		if err != nil || n == 0 || !push {
			return err
		}
		for _, table := range []string{"push_subscriptions", "push_keys"} {
			if _, err := tx.Exec("DELETE FROM " + table); err != nil {
				return err
			}
		}
		return nil
	})
}
