package directory

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/skein-im/skein/internal/im"
)

// CreateGroup stores a group at revision 0 and the promise of its creation. If
// its owner has used the request id before, it stores nothing and returns the
// conversation made then. A conversation that there is already is already_exists.
func (d *DB) CreateGroup(ctx context.Context, g im.GroupInfo, requestID string, p im.Promise) (im.ConversationID, error) {
	var c im.ConversationID
	defer d.moved(p.Event.Users...)
	settings, err := formatSettings(&g.Settings)
	if err != nil {
		return "", err
	}
	err = d.tx(ctx, func(tx *writeTx) error {
		c = g.Conversation
		n, err := tx.Exec(`
			INSERT INTO groups (conversation, name, owner, created_at, creator, request_id, settings)
			VALUES ($1, $2, $3, $4, $3, $5, $6) ON CONFLICT DO NOTHING`,
			g.Conversation, g.Name, g.Owner, msOf(g.Created), sql.NullString{String: requestID, Valid: requestID != ""}, settings)
		if err != nil {
			return err
		}
		if n == 0 {
			err := tx.QueryRow("SELECT conversation FROM groups WHERE creator = $1 AND request_id = $2", g.Owner, requestID).Scan(&c)
			if errors.Is(err, sql.ErrNoRows) {
				return im.Errorf(im.CodeAlreadyExists, "there is a group with this id")
			}
			return err
		}
		ok, err := insertPromise(tx, p)
		if err == nil && !ok {
			err = fmt.Errorf("promise %s of a new group met another one", p.ID)
		}
		return err
	})
	return c, err
}

// Requested returns the conversation of the group that its owner made with the request
// id, "" if there is none.
func (d *DB) Requested(ctx context.Context, owner im.UserID, requestID string) (c im.ConversationID, err error) {
	err = d.queryRow(ctx, "SELECT conversation FROM groups WHERE creator = $1 AND request_id = $2", owner, requestID).Scan(&c)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return c, d.failed("read", err)
}

// formatSettings is how settings are stored: those of a new group as nothing.
func formatSettings(s *im.GroupSettings) (string, error) {
	same := s.GroupSwitches == im.NewGroupSettings().GroupSwitches || s.GroupSwitches == im.GroupSwitches{}
	if same && s.Picture == "" && s.Description == "" && s.Announcement == "" && len(s.Extra) == 0 {
		return "", nil
	}
	b, err := json.Marshal(s)
	return string(b), err
}

// parseSettings reads them. What a newer version has besides is left out.
func parseSettings(text string) (im.GroupSettings, error) {
	s := im.NewGroupSettings()
	if text == "" {
		return s, nil
	}
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return s, fmt.Errorf("directory: settings of a group: %w", err)
	}
	return s, nil
}

// changeSettings makes a user's change of a group's settings. The group's row is locked.
func changeSettings(tx *writeTx, c im.ConversationID, by im.UserID, change *im.GroupChange) error {
	var text string
	if err := tx.QueryRow("SELECT settings FROM groups WHERE conversation = $1", c).Scan(&text); err != nil {
		return err
	}
	settings, err := parseSettings(text)
	if err != nil {
		return err
	}
	was := settings.Picture
	settings = settings.With(change)
	if err := showPicture(tx, groupHolder, string(c), by, was, settings.Picture); err != nil {
		return err
	}
	if text, err = formatSettings(&settings); err != nil {
		return err
	}
	_, err = tx.Exec("UPDATE groups SET settings = $1 WHERE conversation = $2", text, c)
	return err
}

// PromiseRoster stores a promise on the condition that the group's roster is at
// p.IfRoster and that no other change of it is promised.
func (d *DB) PromiseRoster(ctx context.Context, p im.Promise) (accepted bool, err error) {
	return d.promise(ctx, p, nil)
}

// promise is PromiseRoster that also does something in its transaction, once the promise
// is accepted; nil: nothing. An error of that takes the promise back.
func (d *DB) promise(ctx context.Context, p im.Promise, also func(*writeTx) error) (accepted bool, err error) {
	defer d.moved(p.Event.Users...)
	err = d.tx(ctx, func(tx *writeTx) error {
		accepted = false
		// Locks the group's row as well, so that the revision stays until the commit.
		n, err := tx.Exec("UPDATE groups SET rev = rev WHERE conversation = $1 AND rev = $2", p.Conversation, int64(p.IfRoster))
		if err != nil || n == 0 {
			return err
		}
		accepted, err = insertPromise(tx, p)
		if err != nil || !accepted || also == nil {
			return err
		}
		return also(tx)
	})
	return accepted && err == nil, err
}

// Group returns a group and those of users who are members, as of one moment;
// the zero group when there is none.
func (d *DB) Group(ctx context.Context, c im.ConversationID, users []im.UserID) (g im.GroupInfo, members []im.Member, err error) {
	among, args := in(d, []any{c}, users)
	// One statement, so that the revision and the roles belong together. The group's
	// row comes in the shape of a member's.
	rows, err := d.query(ctx, `
		SELECT FALSE, name, owner, members, created_at, rev, settings FROM groups WHERE conversation = $1
		UNION ALL
		SELECT TRUE, user_id, nickname, role, muted_until, joined_at, '' FROM memberships
		WHERE conversation = $1 AND role <> 0 AND user_id IN `+among, args...)
	if err != nil {
		return im.GroupInfo{}, nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var member bool
		var name, owner, settings string
		var n, a, b int64
		if err := rows.Scan(&member, &name, &owner, &n, &a, &b, &settings); err != nil {
			return im.GroupInfo{}, nil, d.failed("scan", err)
		}
		if member {
			members = append(members, im.Member{User: im.UserID(name), Role: im.Role(n), MutedUntil: timeOf(a), Joined: timeOf(b), Nickname: owner})
			continue
		}
		g = im.GroupInfo{Conversation: c, Name: name, Owner: im.UserID(owner), Members: int(n), Created: timeOf(a), Rev: uint64(b)}
		if g.Settings, err = parseSettings(settings); err != nil {
			return im.GroupInfo{}, nil, err
		}
	}
	return g, members, d.failed("read", rows.Err())
}

// Roster calls each for every member of a group, with the seq they see from,
// and returns its revision, name and settings, as of one moment. Without a group
// the revision is 0.
func (d *DB) Roster(ctx context.Context, c im.ConversationID, each func(m im.Member, first uint64)) (g im.GroupInfo, err error) {
	// One statement, so that the revision and the members belong together. The
	// group's row comes in the shape of a member's.
	rows, err := d.query(ctx, `
		SELECT FALSE, name, rev, 0, 0, 0, settings FROM groups WHERE conversation = $1
		UNION ALL
		SELECT TRUE, user_id, role, muted_until, joined_at, first_seq, '' FROM memberships WHERE conversation = $1 AND role <> 0`, c)
	if err != nil {
		return g, err
	}
	defer rows.Close()
	for rows.Next() {
		// Of the very types that the driver gives: any other is converted through text.
		var member bool
		var text, settings string
		var n, muted, joined, first int64
		if err := rows.Scan(&member, &text, &n, &muted, &joined, &first, &settings); err != nil {
			return g, d.failed("scan", err)
		}
		if member {
			each(im.Member{User: im.UserID(text), Role: im.Role(n), MutedUntil: timeOf(muted), Joined: timeOf(joined)}, uint64(first))
			continue
		}
		g.Conversation, g.Rev, g.Name = c, uint64(n), text
		if g.Settings, err = parseSettings(settings); err != nil {
			return g, err
		}
	}
	return g, d.failed("read", rows.Err())
}

// Readers returns at most limit members of a group, in the order of their ids, with the
// seq since which each is one: all of them, where there are fewer than limit.
func (d *DB) Readers(ctx context.Context, c im.ConversationID, limit int) ([]im.Reader, error) {
	all, err := list(ctx, d, func(r *sql.Rows) (im.Reader, error) {
		var m im.Reader
		var since int64
		err := r.Scan(&m.User, &since)
		m.Since = uint64(since)
		return m, err
	}, "SELECT user_id, first_seq FROM memberships WHERE conversation = $1 AND role <> 0 LIMIT $2", c, limit)
	slices.SortFunc(all, func(a, b im.Reader) int { return cmp.Compare(a.User, b.User) })
	return all, err
}

// Addable returns those of users who exist and have not blocked the actor, with
// what decides whether they are added or asked.
func (d *DB) Addable(ctx context.Context, actor im.UserID, users []im.UserID) ([]im.Addable, error) {
	return listOf(ctx, d, func(r *sql.Rows) (a im.Addable, err error) {
		var policy im.GroupPolicy
		var state im.ContactState
		err = r.Scan(&a.User, &policy, &state, &a.Groups)
		a.Stranger = state != im.ContactFriend
		a.Ask = policy == im.GroupsNobody || policy == im.GroupsContacts && state != im.ContactFriend
		return a, err
	}, `
		SELECT u.id, u.group_policy, COALESCE(c.state, 0),
			(SELECT COUNT(*) FROM memberships m WHERE m.user_id = u.id AND m.role <> 0)
		FROM users u LEFT JOIN contacts c ON c.user_id = u.id AND c.peer_id = $1
		WHERE NOT COALESCE(c.blocked, FALSE) AND u.deleted_at = 0 AND u.id IN `, []any{actor}, users)
}

// among runs a query that ends with `IN ` for a list of users of any length.
func (d *DB) among(ctx context.Context, query string, user im.UserID, others []im.UserID) ([]im.UserID, error) {
	return listOf(ctx, d, func(r *sql.Rows) (id im.UserID, err error) {
		err = r.Scan(&id)
		return id, err
	}, query, []any{user}, others)
}

// listOf reads all rows of a query that ends with `IN ` and has args before it, for
// a list of users of any length.
func listOf[T any](ctx context.Context, d *DB, scan func(*sql.Rows) (T, error), query string, args []any, users []im.UserID) (all []T, err error) {
	for part := range slices.Chunk(users, 1000) {
		text, whole := in(d, slices.Clone(args), part)
		found, err := list(ctx, d, scan, query+text, whole...)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}
