package directory

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/skein-im/skein/internal/im"
)

var (
	errNoLink    = im.Errorf(im.CodeNotFound, "no such invite link, or it does not hold any more")
	errNoRequest = im.Errorf(im.CodeNotFound, "no such request")
)

// lockGroup locks the row of a group that has members, so that what is counted of it
// stays so until the commit.
func lockGroup(tx *writeTx, c im.ConversationID) error {
	n, err := tx.Exec("UPDATE groups SET rev = rev WHERE conversation = $1 AND members > 0", c)
	if err == nil && n == 0 {
		return im.Errorf(im.CodeNotFound, "no such group")
	}
	return err
}

// CreateLink keeps an invite link, unless its group has as many open ones as it may
// have. Those that do not hold any more are forgotten.
func (d *DB) CreateLink(ctx context.Context, l im.InviteLink, most int) error {
	return d.tx(ctx, func(tx *writeTx) error {
		if err := lockGroup(tx, l.Conversation); err != nil {
			return err
		}
		if _, err := tx.Exec(`
			DELETE FROM group_links WHERE conversation = $1 AND (expires_at <> 0 AND expires_at <= $2 OR max_uses <> 0 AND uses >= max_uses)`,
			l.Conversation, msOf(l.Created)); err != nil {
			return err
		}
		var n int
		if err := tx.QueryRow("SELECT COUNT(*) FROM group_links WHERE conversation = $1", l.Conversation).Scan(&n); err != nil {
			return err
		}
		if n >= most {
			return im.Errorf(im.CodeTooLarge, "a group may have at most %d invite links", most)
		}
		_, err := tx.Exec(`
			INSERT INTO group_links (code, conversation, creator, created_at, expires_at, max_uses, uses, guests)
			VALUES ($1, $2, $3, $4, $5, $6, 0, $7)`,
			l.Code, l.Conversation, l.Creator, msOf(l.Created), msOf(l.Expires), int64(l.MaxUses), l.Guests)
		return err
	})
}

const linkSelect = `
	SELECT l.code, l.conversation, l.creator, l.created_at, l.expires_at, l.max_uses, l.uses, l.guests, g.name, g.members, g.settings
	FROM group_links l JOIN groups g ON g.conversation = l.conversation WHERE `

func scanLink(row interface{ Scan(...any) error }) (l im.InviteLink, err error) {
	var created, expires int64
	var settings string
	if err = row.Scan(&l.Code, &l.Conversation, &l.Creator, &created, &expires, &l.MaxUses, &l.Uses, &l.Guests, &l.Group.Name, &l.Group.Members, &settings); err != nil {
		return l, err
	}
	l.Created, l.Expires, l.Group.Conversation = timeOf(created), timeOf(expires), l.Conversation
	l.Group.Settings, err = parseSettings(settings)
	return l, err
}

// Link returns an invite link, whether it holds or not, with its group; false if
// there is none.
func (d *DB) Link(ctx context.Context, code string) (im.InviteLink, bool, error) {
	l, err := scanLink(d.queryRow(ctx, linkSelect+"l.code = $1", code))
	if errors.Is(err, sql.ErrNoRows) {
		return im.InviteLink{}, false, nil
	}
	return l, err == nil, d.failed("read", err)
}

// LinksPage returns at most limit links of a group that are not over, by code, behind
// one; those that were used as often as they may be among them.
func (d *DB) LinksPage(ctx context.Context, c im.ConversationID, now time.Time, after string, limit int) ([]im.InviteLink, error) {
	return list(ctx, d, func(r *sql.Rows) (im.InviteLink, error) { return scanLink(r) },
		linkSelect+"l.conversation = $1 AND (l.expires_at = 0 OR l.expires_at > $2) AND l.code > $3 ORDER BY l.code LIMIT $4", c, msOf(now), after, limit)
}

// RemoveLink removes a link of a group; false: there was none. Who used it before is
// a member, nobody else becomes one by it.
func (d *DB) RemoveLink(ctx context.Context, c im.ConversationID, code string) (done bool, err error) {
	err = d.tx(ctx, func(tx *writeTx) error {
		n, err := tx.Exec("DELETE FROM group_links WHERE code = $1 AND conversation = $2", code, c)
		done = n == 1
		return err
	})
	return done && err == nil, err
}

// useLink counts a use of a link that holds.
func useLink(tx *writeTx, c im.ConversationID, code string, now time.Time) error {
	n, err := tx.Exec(`
		UPDATE group_links SET uses = uses + 1
		WHERE code = $1 AND conversation = $2 AND (expires_at = 0 OR expires_at > $3) AND (max_uses = 0 OR uses < max_uses)`,
		code, c, msOf(now))
	if err == nil && n == 0 {
		return errNoLink
	}
	return err
}

// PromiseJoin is PromiseRoster for somebody who comes by a link or a request, which
// is used up in the same transaction: not_found where it does not hold any more.
func (d *DB) PromiseJoin(ctx context.Context, p im.Promise, by im.JoinBy, now time.Time) (accepted bool, err error) {
	return d.promise(ctx, p, func(tx *writeTx) error {
		if by.Link != "" {
			if err := useLink(tx, p.Conversation, by.Link, now); err != nil {
				return err
			}
		}
		if by.Asked {
			return endRequest(tx, p.Conversation, p.Event.Users[0], now)
		}
		return nil
	})
}

func endRequest(tx *writeTx, c im.ConversationID, user im.UserID, now time.Time) error {
	n, err := tx.Exec("DELETE FROM group_requests WHERE conversation = $1 AND user_id = $2 AND expires_at > $3", c, user, msOf(now))
	if err == nil && n == 0 {
		return errNoRequest
	}
	return err
}

// RequestJoin keeps a request that was made by a link, with the promises of its
// notices, and counts a use of the link. Who asked already has asked: nothing is
// stored, and false returned. A group has at most ofGroup open ones, a user ofUser.
func (d *DB) RequestJoin(ctx context.Context, r im.JoinRequest, code string, ofGroup, ofUser int, notices []im.Promise) (made bool, err error) {
	err = d.tx(ctx, func(tx *writeTx) error {
		made = false
		if err := lockGroup(tx, r.Conversation); err != nil {
			return err
		}
		if _, err := tx.Exec("DELETE FROM group_requests WHERE (conversation = $1 OR user_id = $2) AND expires_at <= $3", r.Conversation, r.User, msOf(r.Created)); err != nil {
			return err
		}
		var mine, group, user int
		if err := tx.QueryRow(`
			SELECT COALESCE(SUM(CASE WHEN conversation = $1 AND user_id = $2 THEN 1 ELSE 0 END), 0),
				COALESCE(SUM(CASE WHEN conversation = $1 THEN 1 ELSE 0 END), 0), COALESCE(SUM(CASE WHEN user_id = $2 THEN 1 ELSE 0 END), 0)
			FROM group_requests WHERE conversation = $1 OR user_id = $2`, r.Conversation, r.User).Scan(&mine, &group, &user); err != nil {
			return err
		}
		switch {
		case mine > 0:
			return nil
		case group >= ofGroup:
			return im.Errorf(im.CodeTooLarge, "this group has %d open requests; ask again when some are answered", ofGroup)
		case user >= ofUser:
			return im.Errorf(im.CodeTooLarge, "you have %d open requests; at most so many are allowed", ofUser)
		}
		if err := useLink(tx, r.Conversation, code, r.Created); err != nil {
			return err
		}
		if _, err := tx.Exec("INSERT INTO group_requests (conversation, user_id, note, created_at, expires_at) VALUES ($1, $2, $3, $4, $5)",
			r.Conversation, r.User, r.Text, msOf(r.Created), msOf(r.Expires)); err != nil {
			return err
		}
		made = true
		return insertNotices(tx, notices)
	})
	return made && err == nil, err
}

func insertNotices(tx *writeTx, notices []im.Promise) error {
	for _, p := range notices {
		if ok, err := insertPromise(tx, p); err != nil || !ok {
			return errors.Join(err, fmt.Errorf("promise %s was not stored", p.ID))
		}
	}
	return nil
}

// RequestsPage returns at most limit open requests of a group by user id, behind one.
func (d *DB) RequestsPage(ctx context.Context, c im.ConversationID, now time.Time, after im.UserID, limit int) ([]im.JoinRequest, error) {
	return list(ctx, d, func(r *sql.Rows) (q im.JoinRequest, err error) {
		var created, expires int64
		err = r.Scan(&q.User, &q.Text, &created, &expires)
		q.Conversation, q.Created, q.Expires = c, timeOf(created), timeOf(expires)
		return q, err
	}, `
		SELECT q.user_id, q.note, q.created_at, q.expires_at FROM group_requests q
		WHERE q.conversation = $1 AND q.expires_at > $2 AND q.user_id > $3 AND NOT EXISTS (
			SELECT 1 FROM memberships m WHERE m.user_id = q.user_id AND m.conversation = q.conversation AND m.role <> 0)
		ORDER BY q.user_id LIMIT $4`, c, msOf(now), after, limit)
}

// EndRequest removes an open request with the promises of its notices: not_found if
// there is none.
func (d *DB) EndRequest(ctx context.Context, c im.ConversationID, user im.UserID, now time.Time, notices []im.Promise) error {
	return d.tx(ctx, func(tx *writeTx) error {
		if err := endRequest(tx, c, user, now); err != nil {
			return err
		}
		return insertNotices(tx, notices)
	})
}
