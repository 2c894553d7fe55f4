package directory

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/skein-im/skein/internal/im"
)

const timerColumns = "kind, user_id, id, conversation, hash, at, set_at"

func scanTimer(r *sql.Rows) (t im.Timer, err error) {
	var id []byte
	var kind, hash, at, set int64
	if err := r.Scan(&kind, &t.User, &id, &t.Conversation, &hash, &at, &set); err != nil {
		return t, err
	}
	if len(id) != len(t.ID) {
		return t, fmt.Errorf("directory: a timer of %s has an id of %d bytes", t.User, len(id))
	}
	t.Kind, t.ID, t.Hash, t.At, t.Set = im.TimerKind(kind), im.MessageID(id), uint64(hash), timeOf(at), timeOf(set)
	return t, nil
}

// SetTimer keeps a timer, in the place of the one that its message has of its kind. With
// most > 0 its user has at most so many of the kind (too_large).
func (d *DB) SetTimer(ctx context.Context, t im.Timer, most int) error {
	return d.tx(ctx, func(tx *writeTx) error {
		if most > 0 {
			// The user's row is the lock under which theirs are counted.
			if _, err := tx.Exec("UPDATE users SET dm_policy = dm_policy WHERE id = $1", t.User); err != nil {
				return err
			}
			var n int
			err := tx.QueryRow("SELECT COUNT(*) FROM timers WHERE kind = $1 AND user_id = $2 AND NOT (conversation = $3 AND id = $4)",
				int64(t.Kind), t.User, t.Conversation, t.ID[:]).Scan(&n)
			if err != nil {
				return err
			}
			if n >= most {
				return im.Errorf(im.CodeTooLarge, "%d are open; at most %d are allowed", n, most)
			}
		}
		_, err := tx.Exec(`INSERT INTO timers (`+timerColumns+`) VALUES ($1, $2, $3, $4, $5, $6, $7)
			ON CONFLICT (kind, user_id, id, conversation) DO UPDATE SET hash = excluded.hash, at = excluded.at, set_at = excluded.set_at`,
			int64(t.Kind), t.User, t.ID[:], t.Conversation, int64(t.Hash), msOf(t.At), msOf(t.Set))
		return err
	})
}

// TimersOf returns the timers of a user of a kind, at most limit.
func (d *DB) TimersOf(ctx context.Context, u im.UserID, kind im.TimerKind, limit int) ([]im.Timer, error) {
	return list(ctx, d, scanTimer, "SELECT "+timerColumns+" FROM timers WHERE kind = $1 AND user_id = $2 ORDER BY at LIMIT $3", int64(kind), u, limit)
}

// DueTimers returns at most limit timers whose time has come, the earliest first.
func (d *DB) DueTimers(ctx context.Context, now time.Time, limit int) ([]im.Timer, error) {
	return list(ctx, d, scanTimer, "SELECT "+timerColumns+" FROM timers WHERE at <= $1 ORDER BY at LIMIT $2", msOf(now), limit)
}

// EndTimers moves timers to another time, or removes those whose time is zero there. One
// that was set again since it was read stays.
func (d *DB) EndTimers(ctx context.Context, timers []im.Timer, to []time.Time) error {
	return d.tx(ctx, func(tx *writeTx) error {
		for i, t := range timers {
			query, args := "DELETE FROM timers WHERE kind = $1 AND user_id = $2 AND id = $3 AND conversation = $4 AND at = $5 AND set_at = $6",
				[]any{int64(t.Kind), t.User, t.ID[:], t.Conversation, msOf(t.At), msOf(t.Set)}
			if !to[i].IsZero() {
				query = "UPDATE timers SET at = $7 WHERE kind = $1 AND user_id = $2 AND id = $3 AND conversation = $4 AND at = $5 AND set_at = $6"
				args = append(args, msOf(to[i]))
			}
			if _, err := tx.Exec(query, args...); err != nil {
				return err
			}
		}
		return nil
	})
}
