package directory

import (
	"context"
	"database/sql"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// ban keeps the event's users out, in place of what was said of them before, and
// ends what they are invited to and what they asked for.
func ban(tx *writeTx, p im.Promise) error {
	for _, u := range p.Event.Users {
		if _, err := tx.Exec(`
			INSERT INTO group_bans (conversation, user_id, banned_by, reason, created_at, until_at) VALUES ($1, $2, $3, $4, $5, $6)
			ON CONFLICT (conversation, user_id) DO UPDATE SET banned_by = excluded.banned_by, reason = excluded.reason,
				created_at = excluded.created_at, until_at = excluded.until_at`,
			p.Conversation, u, p.Sender, p.Event.Text, msOf(p.ID.Time()), msOf(p.Event.Until)); err != nil {
			return err
		}
		if _, err := tx.Exec("DELETE FROM group_invitations WHERE user_id = $1 AND conversation = $2", u, p.Conversation); err != nil {
			return err
		}
		if _, err := tx.Exec("DELETE FROM group_requests WHERE user_id = $1 AND conversation = $2", u, p.Conversation); err != nil {
			return err
		}
	}
	return nil
}

const banSelect = `
	SELECT user_id, banned_by, reason, created_at, until_at FROM group_bans
	WHERE conversation = $1 AND (until_at = 0 OR until_at > $2)`

func scanBan(r *sql.Rows) (b im.Ban, err error) {
	var created, until int64
	err = r.Scan(&b.User, &b.By, &b.Reason, &created, &until)
	b.Created, b.Until = timeOf(created), timeOf(until)
	return b, err
}

// Banned returns those of users, in any order, who are banned from a group at a time.
func (d *DB) Banned(ctx context.Context, c im.ConversationID, users []im.UserID, now time.Time) ([]im.Ban, error) {
	return listOf(ctx, d, scanBan, banSelect+" AND user_id IN ", []any{c, msOf(now)}, users)
}

// BansPage returns at most limit bans of a group at a time, by user id, behind one.
func (d *DB) BansPage(ctx context.Context, c im.ConversationID, now time.Time, after im.UserID, limit int) ([]im.Ban, error) {
	return list(ctx, d, scanBan, banSelect+" AND user_id > $3 ORDER BY user_id LIMIT $4", c, msOf(now), after, limit)
}
