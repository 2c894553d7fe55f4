package directory

import (
	"context"
	"database/sql"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// ServerSettings returns what was set at run time, by name.
func (d *DB) ServerSettings(ctx context.Context) (map[string]string, error) {
	all := map[string]string{}
	_, err := list(ctx, d, func(r *sql.Rows) (_ struct{}, err error) {
		var name, value string
		err = r.Scan(&name, &value)
		all[name] = value
		return struct{}{}, err
	}, "SELECT name, value FROM server_settings")
	return all, err
}

// SetServerSettings sets what is given; the rest stays.
func (d *DB) SetServerSettings(ctx context.Context, values map[string]string, at time.Time) error {
	return d.tx(ctx, func(tx *writeTx) error {
		for _, name := range im.SettingNames {
			value, set := values[name]
			if !set {
				continue
			}
			_, err := tx.Exec("INSERT INTO server_settings (name, value, changed_at) VALUES ($1, $2, $3) ON CONFLICT (name) DO UPDATE SET value = excluded.value, changed_at = excluded.changed_at",
				name, value, msOf(at))
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// AllGroups returns groups with members in the order of their ids, those after one.
func (d *DB) AllGroups(ctx context.Context, after im.ConversationID, limit int) ([]im.GroupInfo, error) {
	return list(ctx, d, func(r *sql.Rows) (g im.GroupInfo, err error) {
		var created, rev int64
		var settings string
		if err = r.Scan(&g.Conversation, &g.Name, &g.Owner, &g.Members, &created, &rev, &settings); err != nil {
			return g, err
		}
		g.Created, g.Rev = timeOf(created), uint64(rev)
		g.Settings, err = parseSettings(settings)
		return g, err
	}, "SELECT conversation, name, owner, members, created_at, rev, settings FROM groups WHERE conversation > $1 AND members > 0 ORDER BY conversation LIMIT $2", after, limit)
}
