package directory

import (
	"context"
	"database/sql"
	"slices"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// keptAsAll is kept in the place of the seconds of a conversation whose messages are kept
// as all of the deployment's.
const keptAsAll = -1

type retentionRow struct {
	c im.ConversationID
	r im.Retention
}

func scanRetention(r *sql.Rows) (row retentionRow, err error) {
	var keep, floor, given, raised, told int64
	err = r.Scan(&row.c, &keep, &floor, &given, &raised, &told)
	row.r = im.Retention{Floor: uint64(floor), Given: uint64(given), Raised: timeOf(raised), Told: uint64(told)}
	if row.r.Own = keep != keptAsAll; row.r.Own {
		row.r.Keep = time.Duration(keep) * time.Second
	}
	return row, err
}

// Retention returns how long the messages of those of the conversations are kept of which
// anything is known.
func (d *DB) Retention(ctx context.Context, cs []im.ConversationID) (map[im.ConversationID]im.Retention, error) {
	all := map[im.ConversationID]im.Retention{}
	for part := range slices.Chunk(cs, periodsAtOnce) {
		among, args := in(d, nil, part)
		rows, err := list(ctx, d, scanRetention, "SELECT conversation, keep_s, floor_seq, given_seq, raised_ms, told_pos FROM retention WHERE conversation IN "+among, args...)
		if err != nil {
			return nil, err
		}
		for _, r := range rows {
			all[r.c] = r.r
		}
	}
	return all, nil
}

// SetRetention sets how long the messages of a conversation are kept: keep, or for ever if
// that is 0; where own is false, as all of the deployment's. It is looked at now what is
// gone by that.
func (d *DB) SetRetention(ctx context.Context, c im.ConversationID, own bool, keep time.Duration, now time.Time) error {
	seconds := int64(keptAsAll)
	if own {
		seconds = int64(keep / time.Second)
	}
	return d.tx(ctx, func(tx *writeTx) error {
		_, err := tx.Exec(`INSERT INTO retention (conversation, keep_s, floor_seq, given_seq, raised_ms) VALUES ($1, $2, 0, 0, 0)
			ON CONFLICT (conversation) DO UPDATE SET keep_s = excluded.keep_s`, c, seconds)
		if err != nil {
			return err
		}
		_, err = tx.Exec(`INSERT INTO timers (`+timerColumns+`) VALUES ($1, '', $2, $3, 0, $4, $4)
			ON CONFLICT (kind, user_id, id, conversation) DO UPDATE SET at = excluded.at, set_at = excluded.set_at`,
			int64(im.TimerRetention), make([]byte, len(im.MessageID{})), c, msOf(now))
		return err
	})
}

// RaiseFloors moves floors to where they are said to be, none of them back, now.
func (d *DB) RaiseFloors(ctx context.Context, floors []im.Floor, now time.Time) error {
	for part := range slices.Chunk(floors, periodsAtOnce) {
		err := d.tx(ctx, func(tx *writeTx) error {
			for _, f := range part {
				_, err := tx.Exec(`INSERT INTO retention (conversation, keep_s, floor_seq, given_seq, raised_ms) VALUES ($1, $2, $3, 0, $4)
					ON CONFLICT (conversation) DO UPDATE SET floor_seq = excluded.floor_seq, raised_ms = excluded.raised_ms WHERE retention.floor_seq < excluded.floor_seq`,
					f.Conversation, int64(keptAsAll), int64(f.Seq), msOf(now))
				if err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Raised tells the greatest position at which a floor was known everywhere, of any
// conversation, and whether some floor is not given up yet.
func (d *DB) Raised(ctx context.Context) (newest uint64, waits bool, err error) {
	var told int64
	err = d.queryRow(ctx, "SELECT (SELECT COALESCE(MAX(told_pos), 0) FROM retention), EXISTS (SELECT 1 FROM retention WHERE given_seq < floor_seq)").Scan(&told, &waits)
	return uint64(told), waits, err
}

// GaveUp notes up to where conversations were given up, and where the journal was then.
func (d *DB) GaveUp(ctx context.Context, given []im.Floor) error {
	for part := range slices.Chunk(given, periodsAtOnce) {
		err := d.tx(ctx, func(tx *writeTx) error {
			for _, f := range part {
				_, err := tx.Exec("UPDATE retention SET given_seq = $1, told_pos = $3 WHERE conversation = $2 AND given_seq < $1", int64(f.Seq), f.Conversation, int64(f.Told))
				if err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
