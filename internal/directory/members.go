package directory

import (
	"cmp"
	"context"
	"database/sql"
	"slices"
	"unicode/utf8"

	"github.com/skein-im/skein/internal/im"
)

const memberColumns = "m.user_id, m.role, m.muted_until, m.joined_at, m.nickname"

// MembersPage returns members after a place: see im.MemberQuery. Without a prefix it
// costs as much as it returns, with one as q.Looks says, however large the group is.
// looked is not zero where it looked at so many and found fewer than the limit: the
// last place that it looked at.
func (d *DB) MembersPage(ctx context.Context, c im.ConversationID, q im.MemberQuery) (all []im.Member, looked im.MemberPlace, err error) {
	q.Prefix = folded(q.Prefix)
	if q.Prefix != "" {
		few, err := d.fewNamed(ctx, c, q)
		if err != nil {
			return nil, looked, err
		}
		if len(few) <= q.Looks {
			all, err := d.membersAmong(ctx, c, few, q)
			return all, looked, err
		}
	}
	looks := q.Looks
	for r := im.RoleOwner; r >= im.RoleMember && len(all) < q.Limit; r-- {
		if q.Role != im.RoleNone && r != q.Role || q.After.Role != im.RoleNone && r > q.After.Role {
			continue
		}
		from := im.MemberPlace{} // before all of this role
		if r == q.After.Role {
			from = q.After
		}
		if q.Prefix == "" {
			part, err := list(ctx, d, scanMembers, "SELECT "+memberColumns+rankedFrom+"LIMIT $5", c, int64(r), msOf(from.Joined), from.User, q.Limit-len(all))
			if err != nil {
				return nil, looked, err
			}
			all = append(all, part...)
			continue
		}
		seen, err := d.namedAmong(ctx, c, r, from, q.Prefix, looks)
		if err != nil {
			return nil, looked, err
		}
		for _, m := range seen {
			if m.named && len(all) < q.Limit {
				all = append(all, m.Member)
			}
		}
		if looks -= len(seen); looks <= 0 && len(all) < q.Limit {
			return all, seen[len(seen)-1].Place(), nil
		}
	}
	return all, looked, nil
}

// rankedFrom reads members of one role in the order of their joining.
const rankedFrom = `
	FROM memberships m
	WHERE m.conversation = $1 AND m.role = $2 AND m.role <> 0 AND (m.joined_at, m.user_id) > ($3, $4)
	ORDER BY m.joined_at, m.user_id `

// lookedAt is a member, and whether a name of theirs begins as is asked for.
type lookedAt struct {
	im.Member
	named bool
}

// namedAmong looks at the names of at most looks members of a role behind a place.
func (d *DB) namedAmong(ctx context.Context, c im.ConversationID, role im.Role, from im.MemberPlace, prefix string, looks int) ([]lookedAt, error) {
	end := behind(prefix)
	return list(ctx, d, func(r *sql.Rows) (m lookedAt, err error) {
		m.Member, err = scanMember(r, &m.named)
		return m, err
	}, `SELECT `+memberColumns+`,
			COALESCE(m.nick_search >= $6 AND m.nick_search < $7, FALSE)
			OR COALESCE(u.search_name >= $8 AND u.search_name < $9, FALSE)
			OR COALESCE(u.username >= $8 AND u.username < $9, FALSE)
		FROM (SELECT *`+rankedFrom+`LIMIT $5) m LEFT JOIN users u ON u.id = m.user_id
		ORDER BY m.joined_at, m.user_id`,
		c, int64(role), msOf(from.Joined), from.User, looks, []byte(prefix), []byte(end), prefix, end)
}

// behind is behind all that begins with a text, by its bytes.
func behind(prefix string) string { return prefix + string(utf8.MaxRune) }

// fewNamed are the ids of who may be meant by a prefix: members of the group by their
// nicknames, and whoever has such a display name or username. More than q.Looks are not
// all there are.
func (d *DB) fewNamed(ctx context.Context, c im.ConversationID, q im.MemberQuery) (ids []im.UserID, err error) {
	end, most := behind(q.Prefix), q.Looks+1
	for _, names := range []struct {
		query string
		args  []any
	}{
		{"SELECT user_id FROM memberships WHERE conversation = $1 AND nick_search >= $2 AND nick_search < $3 ORDER BY nick_search, user_id LIMIT $4",
			[]any{c, []byte(q.Prefix), []byte(end), most}},
		{"SELECT id FROM users WHERE search_name >= $1 AND search_name < $2 ORDER BY search_name, id LIMIT $3", []any{q.Prefix, end, most}},
		{"SELECT id FROM users WHERE username >= $1 AND username < $2 ORDER BY username LIMIT $3", []any{q.Prefix, end, most}},
	} {
		some, err := list(ctx, d, func(r *sql.Rows) (id im.UserID, err error) {
			err = r.Scan(&id)
			return id, err
		}, names.query, names.args...)
		if err != nil {
			return nil, err
		}
		if ids = append(ids, some...); len(ids) > q.Looks {
			return ids, nil
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil
}

// membersAmong are the members among users, as a page of them.
func (d *DB) membersAmong(ctx context.Context, c im.ConversationID, users []im.UserID, q im.MemberQuery) ([]im.Member, error) {
	all, err := listOf(ctx, d, scanMembers, "SELECT "+memberColumns+" FROM memberships m WHERE m.conversation = $1 AND m.role <> 0 AND m.user_id IN ", []any{c}, users)
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(m im.Member) bool {
		return q.Role != im.RoleNone && m.Role != q.Role || q.After.Role != im.RoleNone && comparePlaces(m.Place(), q.After) <= 0
	})
	slices.SortFunc(all, func(a, b im.Member) int { return comparePlaces(a.Place(), b.Place()) })
	return all[:min(len(all), q.Limit)], nil
}

// comparePlaces is the order of a list of members.
func comparePlaces(a, b im.MemberPlace) int {
	return cmp.Or(cmp.Compare(b.Role, a.Role), a.Joined.Compare(b.Joined), cmp.Compare(a.User, b.User))
}

func scanMember(r *sql.Rows, more ...any) (im.Member, error) {
	var m im.Member
	var muted, joined int64
	err := r.Scan(append([]any{&m.User, &m.Role, &muted, &joined, &m.Nickname}, more...)...)
	m.MutedUntil, m.Joined = timeOf(muted), timeOf(joined)
	return m, err
}

func scanMembers(r *sql.Rows) (im.Member, error) { return scanMember(r) }
