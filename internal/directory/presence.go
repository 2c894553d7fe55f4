package directory

import (
	"cmp"
	"context"
	"database/sql"
	"slices"

	"github.com/skein-im/skein/internal/im"
)

// between joins with u, a user, the sides of the pair of u and $1: c is u's, m is $1's.
const between = ` LEFT JOIN contacts c ON c.user_id = u.id AND c.peer_id = $1
	LEFT JOIN contacts m ON m.user_id = $1 AND m.peer_id = u.id `

// MayWatch returns those of others whose presence user may see, and when they were there
// last: of whom neither blocked the other, whose policy says everyone, or contacts and
// user is one.
func (d *DB) MayWatch(ctx context.Context, user im.UserID, others []im.UserID) ([]im.Watched, error) {
	return listOf(ctx, d, func(r *sql.Rows) (w im.Watched, err error) {
		var seen int64
		err = r.Scan(&w.User, &seen)
		w.Seen = timeOf(seen)
		return w, err
	}, "SELECT u.id, COALESCE(s.seen_at, 0) FROM users u LEFT JOIN last_seen s ON s.user_id = u.id"+between+`
		WHERE NOT COALESCE(c.blocked, FALSE) AND NOT COALESCE(m.blocked, FALSE)
		AND (u.presence_policy = 2 OR u.presence_policy < 2 AND c.state = 1) AND u.id IN `, []any{user}, others)
}

// ReadsHidden returns those of others between whom and user neither sees how far the
// other has read: one of the two hides it, or blocked the other.
func (d *DB) ReadsHidden(ctx context.Context, user im.UserID, others []im.UserID) ([]im.UserID, error) {
	return d.among(ctx, "SELECT u.id FROM users u"+between+`
		WHERE (u.hide_reads OR COALESCE(c.blocked, FALSE) OR COALESCE(m.blocked, FALSE)
		OR EXISTS (SELECT 1 FROM users i WHERE i.id = $1 AND i.hide_reads)) AND u.id IN `, user, others)
}

// NoteSeen keeps when users were there last, the latest time of each.
func (d *DB) NoteSeen(ctx context.Context, seen []im.Watched) error {
	seen = slices.Clone(seen)
	slices.SortFunc(seen, func(a, b im.Watched) int { return cmp.Compare(a.User, b.User) }) // all lock in one order
	return d.tx(ctx, func(tx *writeTx) error {
		for _, s := range seen {
			if _, err := tx.Exec(`
				INSERT INTO last_seen (user_id, seen_at) SELECT id, $2 FROM users WHERE id = $1
				ON CONFLICT (user_id) DO UPDATE SET seen_at = excluded.seen_at WHERE last_seen.seen_at < excluded.seen_at`, s.User, msOf(s.Seen)); err != nil {
				return err
			}
		}
		return nil
	})
}
