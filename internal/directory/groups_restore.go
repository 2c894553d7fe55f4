package directory

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/skein-im/skein/internal/im"
)

// GroupRevisions returns at most limit groups that are made, behind a
// conversation, by conversation. Only Conversation and Rev are set.
func (d *DB) GroupRevisions(ctx context.Context, after im.ConversationID, limit int) ([]im.GroupInfo, error) {
	return list(ctx, d, func(r *sql.Rows) (g im.GroupInfo, err error) {
		err = r.Scan(&g.Conversation, &g.Rev)
		return g, err
	}, "SELECT conversation, rev FROM groups WHERE conversation > $1 AND rev <> 0 ORDER BY conversation LIMIT $2", after, limit)
}

// RestoreGroup bounds what may be read of a group at roster revision rev to
// what is left of its journal: the entries before seq. Members whose joining is
// gone see from seq on; former members see nothing from seq on, and have no
// place in the group if nothing of their time is left. Doing it again is
// harmless.
func (d *DB) RestoreGroup(ctx context.Context, c im.ConversationID, rev, seq uint64) error {
	if d.places != nil {
		defer d.places.clear() // whoever is in it
	}
	return d.tx(ctx, func(tx *writeTx) error {
		n, err := tx.Exec("UPDATE groups SET rev = rev WHERE conversation = $1 AND rev = $2", c, int64(rev))
		if err != nil {
			return err
		}
		if n != 1 {
			return fmt.Errorf("restore: %s is not at roster revision %d", c, rev)
		}
		if err := loseWindows(tx, c, seq); err != nil {
			return err
		}
		for _, query := range []string{
			"UPDATE memberships SET first_seq = $2 WHERE conversation = $1 AND role <> 0 AND first_seq > $2",
			"DELETE FROM memberships WHERE conversation = $1 AND until_seq <> 0 AND first_seq >= $2",
			"UPDATE memberships SET until_seq = CAST($2 AS BIGINT) - 1 WHERE conversation = $1 AND until_seq <> 0 AND until_seq >= $2",
		} {
			if _, err := tx.Exec(query, c, int64(seq)); err != nil {
				return err
			}
		}
		return nil
	})
}
