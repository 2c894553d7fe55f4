package directory

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/skein-im/skein/internal/im"
)

// Follower returns what is kept of a follower.
func (d *DB) Follower(ctx context.Context, name string, shard int) (im.FollowerState, error) {
	s := im.FollowerState{Name: name, Shard: shard}
	var place string
	var updated int64
	err := d.queryRow(ctx, "SELECT place, updated, holder, beat FROM followers WHERE name = $1 AND shard = $2", name, int64(shard)).
		Scan(&place, &updated, &s.Holder, &s.Beat)
	if errors.Is(err, sql.ErrNoRows) {
		return s, nil
	}
	if err != nil {
		return s, d.failed("read a follower", err)
	}
	s.Updated = timeOf(updated)
	if place != "" {
		var ok bool
		if s.Place, ok = im.ParsePlace(place); !ok {
			return s, fmt.Errorf("directory: the follower %s is at %q, which is not a place", name, place)
		}
	}
	return s, nil
}

// LeadFollower makes holder the one who works on a follower, if it is still as it was
// seen.
func (d *DB) LeadFollower(ctx context.Context, seen im.FollowerState, holder string) (led bool, err error) {
	err = d.tx(ctx, func(tx *writeTx) error {
		if seen.Beat == 0 {
			_, err := tx.Exec("INSERT INTO followers (name, shard, place, updated, holder, beat) VALUES ($1, $2, '', 0, '', 0) ON CONFLICT DO NOTHING",
				seen.Name, int64(seen.Shard))
			if err != nil {
				return err
			}
		}
		n, err := tx.Exec("UPDATE followers SET holder = $1, beat = beat + 1 WHERE name = $2 AND shard = $3 AND holder = $4 AND beat = $5",
			holder, seen.Name, int64(seen.Shard), seen.Holder, seen.Beat)
		led = n == 1
		return err
	})
	return led && err == nil, err
}

// SaveFollower notes where a follower is, and that its holder is there. It is false
// if another one holds it: then nothing was noted.
func (d *DB) SaveFollower(ctx context.Context, s im.FollowerState) (held bool, err error) {
	place := ""
	if s.Place != (im.Place{}) {
		place = s.Place.String()
	}
	err = d.tx(ctx, func(tx *writeTx) error {
		n, err := tx.Exec("UPDATE followers SET place = $1, updated = $2, beat = beat + 1 WHERE name = $3 AND shard = $4 AND holder = $5",
			place, msOf(s.Updated), s.Name, int64(s.Shard), s.Holder)
		held = n == 1
		return err
	})
	return held && err == nil, err
}

// LeaveFollower tells that the holder works on it no longer.
func (d *DB) LeaveFollower(ctx context.Context, name string, shard int, holder string) error {
	return d.tx(ctx, func(tx *writeTx) error {
		_, err := tx.Exec("UPDATE followers SET holder = '', beat = beat + 1 WHERE name = $1 AND shard = $2 AND holder = $3", name, int64(shard), holder)
		return err
	})
}

// SetAside notes an entry that a follower goes on without; twice is once.
func (d *DB) SetAside(ctx context.Context, p im.SetAside) error {
	return d.tx(ctx, func(tx *writeTx) error {
		_, err := tx.Exec("INSERT INTO follower_poison (name, shard, conversation, seq, pos, reason, at) VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING",
			p.Name, int64(p.Shard), p.Conversation, int64(p.Seq), int64(p.Pos), p.Reason, msOf(p.At))
		return err
	})
}

// AllSetAside lists what a follower went on without, by position.
func (d *DB) AllSetAside(ctx context.Context, name string, shard, limit int) ([]im.SetAside, error) {
	return list(ctx, d, func(r *sql.Rows) (im.SetAside, error) {
		p := im.SetAside{Name: name, Shard: shard}
		var at int64
		err := r.Scan(&p.Conversation, &p.Seq, &p.Pos, &p.Reason, &at)
		p.At = timeOf(at)
		return p, err
	}, "SELECT conversation, seq, pos, reason, at FROM follower_poison WHERE name = $1 AND shard = $2 ORDER BY pos, conversation, seq LIMIT $3", name, int64(shard), limit)
}
