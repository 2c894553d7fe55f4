package directory

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/skein-im/skein/internal/im"
)

// CreateGroup stores a group at revision 0 and the promise of its creation. If
// its owner has used the request id before, it stores nothing and returns the
// conversation made then.
func (d *DB) CreateGroup(ctx context.Context, g im.GroupInfo, requestID string, p im.Promise) (im.ConversationID, error) {
	var c im.ConversationID
	defer d.moved(p.Event.Users...)
	err := d.tx(ctx, func(tx *writeTx) error {
		c = g.Conversation
		n, err := tx.Exec(`
			INSERT INTO groups (conversation, name, owner, created_at, creator, request_id)
			VALUES ($1, $2, $3, $4, $3, $5) ON CONFLICT (creator, request_id) DO NOTHING`,
			g.Conversation, g.Name, g.Owner, msOf(g.Created), sql.NullString{String: requestID, Valid: requestID != ""})
		if err != nil {
			return err
		}
		if n == 0 {
			return tx.QueryRow("SELECT conversation FROM groups WHERE creator = $1 AND request_id = $2", g.Owner, requestID).Scan(&c)
		}
		ok, err := insertPromise(tx, p)
		if err == nil && !ok {
			err = fmt.Errorf("promise %s of a new group met another one", p.ID)
		}
		return err
	})
	return c, err
}

// PromiseRoster stores a promise on the condition that the group's roster is at
// p.IfRoster and that no other change of it is promised.
func (d *DB) PromiseRoster(ctx context.Context, p im.Promise) (accepted bool, err error) {
	defer d.moved(p.Event.Users...)
	err = d.tx(ctx, func(tx *writeTx) error {
		accepted = false
		// Locks the group's row as well, so that the revision stays until the commit.
		n, err := tx.Exec("UPDATE groups SET rev = rev WHERE conversation = $1 AND rev = $2", p.Conversation, int64(p.IfRoster))
		if err != nil || n == 0 {
			return err
		}
		accepted, err = insertPromise(tx, p)
		return err
	})
	return accepted && err == nil, err
}

// Group returns a group and those of users who are members, as of one moment;
// the zero group when there is none.
func (d *DB) Group(ctx context.Context, c im.ConversationID, users []im.UserID) (im.GroupInfo, []im.Member, error) {
	among, args := in(d, []any{c}, users)
	// One statement, so that the revision and the roles belong together.
	var g im.GroupInfo
	var created int64
	members, err := list(ctx, d, func(r *sql.Rows) (im.Member, error) {
		g.Conversation = c
		return scanMember(r, &g.Name, &g.Owner, &g.Members, &created, &g.Rev)
	}, `
		SELECT g.name, g.owner, g.members, g.created_at, g.rev,
		       COALESCE(m.user_id, ''), COALESCE(m.role, 0), COALESCE(m.muted_until, 0), COALESCE(m.joined_at, 0)
		FROM groups g LEFT JOIN memberships m ON m.conversation = g.conversation AND m.role <> 0 AND m.user_id IN `+among+`
		WHERE g.conversation = $1`, args...)
	if err != nil {
		return im.GroupInfo{}, nil, err
	}
	g.Created = timeOf(created)
	return g, present(members), nil
}

// Roster calls each for every member of a group, with the seq they see from,
// and returns the revision and the name, as of one moment. Without a group the
// revision is 0.
func (d *DB) Roster(ctx context.Context, c im.ConversationID, each func(m im.Member, first uint64)) (rev uint64, name string, err error) {
	// One statement, so that the revision and the members belong together. The
	// group's row comes in the shape of a member's.
	rows, err := d.query(ctx, `
		SELECT FALSE, name, rev, 0, 0, 0 FROM groups WHERE conversation = $1
		UNION ALL
		SELECT TRUE, user_id, role, muted_until, joined_at, first_seq FROM memberships WHERE conversation = $1 AND role <> 0`, c)
	if err != nil {
		return 0, "", err
	}
	defer rows.Close()
	for rows.Next() {
		// Of the very types that the driver gives: any other is converted through text.
		var member bool
		var text string
		var n, muted, joined, first int64
		if err := rows.Scan(&member, &text, &n, &muted, &joined, &first); err != nil {
			return 0, "", d.failed("scan", err)
		}
		if member {
			each(im.Member{User: im.UserID(text), Role: im.Role(n), MutedUntil: timeOf(muted), Joined: timeOf(joined)}, uint64(first))
		} else {
			rev, name = uint64(n), text
		}
	}
	return rev, name, d.failed("read", rows.Err())
}

// MembersPage returns at most limit members behind a user id, by user id.
func (d *DB) MembersPage(ctx context.Context, c im.ConversationID, after im.UserID, limit int) ([]im.Member, error) {
	return list(ctx, d, func(r *sql.Rows) (im.Member, error) { return scanMember(r) }, `
		SELECT user_id, role, muted_until, joined_at FROM memberships
		WHERE conversation = $1 AND role <> 0 AND user_id > $2 ORDER BY user_id LIMIT $3`, c, after, limit)
}

// scanMember reads a member after other columns.
func scanMember(r *sql.Rows, before ...any) (im.Member, error) {
	var m im.Member
	var muted, joined int64
	err := r.Scan(append(before, &m.User, &m.Role, &muted, &joined)...)
	m.MutedUntil, m.Joined = timeOf(muted), timeOf(joined)
	return m, err
}

// present drops the empty row of an outer join that found no member.
func present(members []im.Member) []im.Member {
	if len(members) == 1 && members[0].User == "" {
		return nil
	}
	return members
}

// Addable returns those of users who exist and have not blocked the actor.
func (d *DB) Addable(ctx context.Context, actor im.UserID, users []im.UserID) ([]im.UserID, error) {
	return d.among(ctx, `
		SELECT u.id FROM users u WHERE NOT EXISTS (
			SELECT 1 FROM contacts c WHERE c.user_id = u.id AND c.peer_id = $1 AND c.blocked)
		AND u.id IN `, actor, users)
}

// among runs a query that ends with `IN ` for a list of users of any length.
func (d *DB) among(ctx context.Context, query string, user im.UserID, others []im.UserID) ([]im.UserID, error) {
	const chunk = 1000
	var all []im.UserID
	for len(others) > 0 {
		part := others[:min(chunk, len(others))]
		others = others[len(part):]
		text, args := in(d, []any{user}, part)
		found, err := list(ctx, d, func(r *sql.Rows) (id im.UserID, err error) {
			err = r.Scan(&id)
			return id, err
		}, query+text, args...)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}
