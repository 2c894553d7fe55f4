package directory

import (
	"context"
	"database/sql"

	"github.com/skein-im/skein/internal/im"
)

// Standing returns the groups a user is a member of now, each with the roster
// revision as of which that is so.
func (d *DB) Standing(ctx context.Context, user im.UserID) ([]im.GroupStanding, error) {
	rows, err := d.query(ctx, `
		SELECT g.conversation, g.rev, m.first_seq, m.earlier FROM memberships m JOIN groups g ON g.conversation = m.conversation
		WHERE m.user_id = $1 AND m.role <> 0`, user)
	if err != nil {
		return nil, err
	}
	return scanAll(rows, func(r *sql.Rows) (g im.GroupStanding, err error) {
		var first int64
		var earlier string
		if err := r.Scan(&g.Conversation, &g.Roster, &first, &earlier); err != nil {
			return g, err
		}
		m := im.Membership{First: uint64(first)}
		m.Earlier, err = parseWindows(earlier)
		g.From = m.From()
		return g, err
	})
}
