package directory

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/skein-im/skein/internal/im"
)

// membershipSelect reads im.Membership. A former member keeps the name that
// the group had when they left.
const membershipSelect = `
	SELECT m.conversation, m.first_seq, m.until_seq,
	       CASE WHEN m.until_seq <> 0 THEN m.title ELSE COALESCE(g.name, '') END, m.earlier, m.read_to
	FROM memberships m LEFT JOIN groups g ON g.conversation = m.conversation
	WHERE m.user_id = $1`

// promisedSelect reads in the same shape what is promised to change in a user's
// groups: few promises wait at a time. The pattern finds too many rather than
// too few; who is named is looked at again.
const promisedSelect = `
	SELECT conversation, set_roster, 0, event, '', 0 FROM outbox WHERE set_roster <> 0 AND event LIKE $2`

func scanMembership(row interface{ Scan(...any) error }) (im.Membership, error) {
	var c, title, earlier string
	var first, until, readTo int64
	if err := row.Scan(&c, &first, &until, &title, &earlier, &readTo); err != nil {
		return im.Membership{}, err
	}
	past, err := parseWindows(earlier)
	return im.Membership{Conversation: im.ConversationID(c), First: uint64(first), Until: uint64(until), Title: title, Earlier: past, ReadTo: uint64(readTo)}, err
}

// Memberships returns a user's groups, current and former, and opened direct
// chats, by conversation id. Who left a group and was added again has the new
// join as First, and what they could read before as Earlier. What is promised to change among them
// comes beside it, as of the same moment: a change that was promised before is
// in one of the two.
func (d *DB) Memberships(ctx context.Context, user im.UserID) ([]im.Membership, []im.Promised, error) {
	if d.places == nil {
		return d.readMemberships(ctx, user)
	}
	list, known, names, r, mine := d.places.get(user)
	switch {
	case mine:
		// Others wait for this read: the caller's end must not be theirs.
		all, promised, err := d.readMemberships(context.WithoutCancel(ctx), user)
		d.places.keep(user, r, pack(all), promised, err)
		return all, promised, err
	case !known:
		select {
		case <-r.done:
		case <-ctx.Done():
			return nil, nil, d.failed("wait", ctx.Err())
		}
		if r.err != nil {
			return nil, nil, r.err
		}
		return r.list.all(names), r.promised, nil
	}
	return list.all(names), nil, nil
}

func (d *DB) readMemberships(ctx context.Context, user im.UserID) (all []im.Membership, promised []im.Promised, err error) {
	rows, err := d.query(ctx, "SELECT FALSE, x.* FROM ("+membershipSelect+") x UNION ALL SELECT TRUE, y.* FROM ("+promisedSelect+") y ORDER BY 1, 2",
		user, `%"`+string(user)+`"%`)
	if err != nil {
		return nil, nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var ahead bool
		var c, text, earlier string
		var first, until, readTo int64
		if err := rows.Scan(&ahead, &c, &first, &until, &text, &earlier, &readTo); err != nil {
			return nil, nil, d.failed("scan", err)
		}
		if !ahead {
			past, err := parseWindows(earlier)
			if err != nil {
				return nil, nil, err
			}
			all = append(all, im.Membership{Conversation: im.ConversationID(c), First: uint64(first), Until: uint64(until), Title: text, Earlier: past, ReadTo: uint64(readTo)})
			continue
		}
		var e im.Event
		if err := json.Unmarshal([]byte(text), &e); err != nil {
			return nil, nil, fmt.Errorf("promise of %s: %w", c, err)
		}
		if movesPlaces(&e) && slices.Contains(e.Users, user) {
			promised = append(promised, im.Promised{Conversation: im.ConversationID(c), Roster: uint64(first)})
		}
	}
	return all, promised, d.failed("read", rows.Err())
}

// movesPlaces tells the events that change which conversations their users have.
func movesPlaces(e *im.Event) bool {
	switch e.Type {
	case im.EventGroupCreated, im.EventMemberAdded, im.EventMemberLeft, im.EventMemberRemoved, im.EventGroupDismissed:
		return true
	}
	return false
}

// Membership returns a user's place in one conversation, false if there is none.
func (d *DB) Membership(ctx context.Context, user im.UserID, c im.ConversationID) (im.Membership, bool, error) {
	if d.places != nil {
		if list, known, names := d.places.peek(user); known {
			m, found := list.one(c, names)
			return m, found, nil
		}
	}
	m, err := scanMembership(d.queryRow(ctx, membershipSelect+" AND m.conversation = $2", user, c))
	if errors.Is(err, sql.ErrNoRows) {
		return im.Membership{}, false, nil
	}
	return m, err == nil, d.failed("read", err)
}

// OpenDM makes a direct chat appear in the conversation lists of both, or of the one who
// is both. Opening it again does nothing.
func (d *DB) OpenDM(ctx context.Context, c im.ConversationID) error {
	a, b, ok := c.DMMembers()
	if !ok {
		return im.Wrong("conversation", "is no direct chat")
	}
	const insert = `
			INSERT INTO memberships (user_id, conversation, first_seq)
			VALUES ($2, $1, 1), ($3, $1, 1) ON CONFLICT DO NOTHING`
	if !d.dialect.Embedded { // looking first would cost as much as the one statement that needs no look
		return d.alone(ctx, insert, c, a, b)
	}
	var rows int
	err := d.queryRow(ctx, "SELECT COUNT(*) FROM memberships WHERE conversation = $1 AND user_id IN ($2, $3)", c, a, b).Scan(&rows)
	if err != nil || rows == 2 || rows == 1 && a == b {
		return d.failed("read", err)
	}
	defer d.moved(a, b)
	return d.alone(ctx, insert, c, a, b)
}

// moved forgets what is known of users' places: they, or what is promised of
// them, may have changed. Also after an error, which a commit may have had
// without having failed.
func (d *DB) moved(users ...im.UserID) {
	if d.places != nil {
		d.places.forget(users...)
	}
}

// applied is moved for a promise; done tells that it was applied just now.
func (d *DB) applied(p im.Promise, done bool, err error) {
	switch {
	case d.places == nil || err == nil && !done:
	case p.Event.Type != im.EventGroupRenamed:
		d.places.forget(append(p.Event.Users[:len(p.Event.Users):len(p.Event.Users)], p.Sender)...)
	case err != nil:
		d.places.clear() // under which name is not known
	default:
		d.places.rename(p.Conversation, p.Event.Text)
	}
}

// applyRoster makes the change of a group's event.
func applyRoster(tx *writeTx, p im.Promise, seq uint64) error {
	c, e := p.Conversation, p.Event
	exec := func(query string, args ...any) error {
		_, err := tx.Exec(query, args...)
		return err
	}
	switch e.Type {
	case im.EventGroupCreated:
		if err := join(tx, p, seq); err != nil {
			return err
		}
		return setRole(tx, c, p.Sender, im.RoleOwner)
	case im.EventGroupChanged:
		return changeSettings(tx, c, p.Sender, e.Group)
	case im.EventGroupRenamed:
		return exec("UPDATE groups SET name = $1 WHERE conversation = $2", e.Text, c)
	case im.EventMemberAdded:
		return join(tx, p, seq)
	case im.EventMemberLeft, im.EventMemberRemoved:
		if err := part(tx, p, seq); err != nil || !e.Banned {
			return err
		}
		return ban(tx, p)
	case im.EventGroupDismissed:
		return dismiss(tx, c, seq)
	case im.EventMemberBanned:
		return ban(tx, p)
	case im.EventMemberUnbanned:
		return exec("DELETE FROM group_bans WHERE conversation = $1 AND user_id = $2", c, e.Users[0])
	case im.EventRoleChanged:
		return setRole(tx, c, e.Users[0], e.Role)
	case im.EventMemberMuted:
		return exec("UPDATE memberships SET muted_until = $1 WHERE user_id = $2 AND conversation = $3 AND role <> 0",
			msOf(e.Until), e.Users[0], c)
	case im.EventLifetimeChanged:
		return setLifetime(tx, c, seq, e.Lifetime, p.ID.Time())
	case im.EventMemberNicknamed:
		return exec("UPDATE memberships SET nickname = $1, nick_search = $4 WHERE user_id = $2 AND conversation = $3 AND role <> 0", e.Text, e.Users[0], c, searched(e.Text))
	case im.EventOwnerChanged:
		if err := exec("UPDATE groups SET owner = $1 WHERE conversation = $2", e.Users[0], c); err != nil {
			return err
		}
		if err := setRole(tx, c, e.Users[0], im.RoleOwner); err != nil {
			return err
		}
		return setRole(tx, c, p.Sender, im.RoleAdmin)
	}
	return fmt.Errorf("promise %s: event type %d changes no roster", p.ID, e.Type)
}

// searched is a nickname as it is searched, by its bytes, nil for none.
func searched(nickname string) any {
	if nickname == "" {
		return nil
	}
	return []byte(folded(nickname))
}

func setRole(tx *writeTx, c im.ConversationID, user im.UserID, role im.Role) error {
	_, err := tx.Exec("UPDATE memberships SET role = $1 WHERE user_id = $2 AND conversation = $3 AND role <> 0",
		int64(role), user, c)
	return err
}

// join makes the event's users members from the entry on. The time of joining
// is the promise's, so that applying it later is the same. Who sees what was before
// has it as an earlier time of membership, of which nothing is unread.
func join(tx *writeTx, p im.Promise, seq uint64) error {
	joined := 0
	all := p.Event.Group != nil && p.Event.Group.History == im.HistoryAll && seq > 1
	earlier, readTo := "", uint64(0)
	update := ""
	if all && p.Event.Type == im.EventMemberAdded {
		earlier, readTo = formatWindows([]im.Window{{First: 1, Until: seq - 1}}), seq-1
		update = ", earlier = excluded.earlier, read_to = excluded.read_to"
	}
	err := inParts(p.Event.Users, func(part []im.UserID) error {
		if p.Event.Type != im.EventGroupCreated && update == "" {
			if err := keepWindows(tx, p.Conversation, part); err != nil {
				return err
			}
		}
		var values strings.Builder
		args := append(make([]any, 0, len(part)+6), p.Conversation, int64(seq), msOf(p.ID.Time()), int64(im.RoleMember), earlier, int64(readTo))
		for i, u := range part {
			if i > 0 {
				values.WriteByte(',')
			}
			args = append(args, u)
			fmt.Fprintf(&values, "($%d,$1,$2,$3,$4,$5,$6)", len(args))
		}
		n, err := tx.Exec(`
			INSERT INTO memberships (user_id, conversation, first_seq, joined_at, role, earlier, read_to) VALUES `+values.String()+`
			ON CONFLICT (user_id, conversation) DO UPDATE SET first_seq = excluded.first_seq, until_seq = 0,
				joined_at = excluded.joined_at, role = excluded.role, muted_until = 0, nick_search = NULL, title = '', nickname = ''`+update+`
			WHERE memberships.role = 0`, args...)
		joined += n
		if err != nil {
			return err
		}
		// What they were asked, and what they asked for, is answered.
		for _, table := range [...]string{"group_invitations", "group_requests"} {
			if _, err := tx.Exec("DELETE FROM "+table+" WHERE conversation = $1 AND user_id IN ("+placeholders(2, len(part))+")", invited(p.Conversation, part)...); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return countMembers(tx, p.Conversation, joined)
}

func invited(c im.ConversationID, users []im.UserID) []any {
	args := []any{c}
	for _, u := range users {
		args = append(args, u)
	}
	return args
}

// part ends the membership of the event's users with the entry.
func part(tx *writeTx, p im.Promise, seq uint64) error {
	gone := 0
	err := inParts(p.Event.Users, func(part []im.UserID) error {
		args := []any{p.Conversation, int64(seq)}
		for _, u := range part {
			args = append(args, u)
		}
		n, err := tx.Exec(`
			UPDATE memberships SET until_seq = $2, role = 0, muted_until = 0,
			       title = (SELECT name FROM groups WHERE conversation = $1)
			WHERE conversation = $1 AND role <> 0 AND user_id IN (`+placeholders(3, len(part))+")", args...)
		gone += n
		return err
	})
	if err != nil {
		return err
	}
	return countMembers(tx, p.Conversation, -gone)
}

// dismiss ends the membership of all with the entry, and what would make somebody a
// member. The group's row stays, so its id is taken.
func dismiss(tx *writeTx, c im.ConversationID, seq uint64) error {
	if _, err := tx.Exec(`
		UPDATE memberships SET until_seq = $2, role = 0, muted_until = 0, title = (SELECT name FROM groups WHERE conversation = $1)
		WHERE conversation = $1 AND role <> 0`, c, int64(seq)); err != nil {
		return err
	}
	for _, query := range [...]string{
		"UPDATE groups SET members = 0 WHERE conversation = $1", "DELETE FROM group_invitations WHERE conversation = $1",
		"DELETE FROM group_links WHERE conversation = $1", "DELETE FROM group_requests WHERE conversation = $1",
	} {
		if _, err := tx.Exec(query, c); err != nil {
			return err
		}
	}
	return nil
}

// inParts calls f with the users a part at a time, in the order of their ids,
// in which the rows lie. The parts have few sizes, so that the statements have
// few texts, and are short: SQLite takes time with the square of the arguments.
func inParts(users []im.UserID, f func([]im.UserID) error) error {
	users = slices.Compact(slices.Sorted(slices.Values(users)))
	for _, size := range [...]int{64, 8, 1} {
		for len(users) >= size {
			if err := f(users[:size]); err != nil {
				return err
			}
			users = users[size:]
		}
	}
	return nil
}

func countMembers(tx *writeTx, c im.ConversationID, more int) error {
	_, err := tx.Exec("UPDATE groups SET members = members + $1 WHERE conversation = $2", more, c)
	return err
}
