package directory

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// invitationsOfUser bounds the open invitations of a user: who has so many gets no
// more until they answer, or some are over.
const invitationsOfUser = 200

// Invite keeps invitations, each with the promise of its notice, and returns those
// that are new: who is a member, or invited already, is left out, and so is who has
// too many open ones.
func (d *DB) Invite(ctx context.Context, all []im.Invitation, notices []im.Promise) (made []im.Promise, err error) {
	err = d.tx(ctx, func(tx *writeTx) error {
		made = nil
		for i, inv := range all {
			if _, err := tx.Exec("DELETE FROM group_invitations WHERE user_id = $1 AND expires_at <= $2", inv.User, msOf(inv.Created)); err != nil {
				return err
			}
			n, err := tx.Exec(`
				INSERT INTO group_invitations (user_id, conversation, inviter, created_at, expires_at)
				SELECT u.id, CAST($2 AS TEXT), CAST($3 AS TEXT), CAST($4 AS BIGINT), CAST($5 AS BIGINT) FROM users u WHERE u.id = $1
					AND (SELECT COUNT(*) FROM group_invitations i WHERE i.user_id = $1) < $6
					AND NOT EXISTS (SELECT 1 FROM memberships m WHERE m.user_id = $1 AND m.conversation = CAST($2 AS TEXT) AND m.role <> 0)
				ON CONFLICT DO NOTHING`, inv.User, inv.Conversation, inv.Inviter, msOf(inv.Created), msOf(inv.Expires), invitationsOfUser)
			if err != nil {
				return err
			}
			if n == 0 {
				continue
			}
			if ok, err := insertPromise(tx, notices[i]); err != nil || !ok {
				return errors.Join(err, fmt.Errorf("promise %s was not stored", notices[i].ID))
			}
			made = append(made, notices[i])
		}
		return nil
	})
	return made, err
}

const invitationSelect = `
	SELECT i.user_id, i.conversation, i.inviter, i.created_at, i.expires_at, g.name, g.owner, g.members, g.settings
	FROM group_invitations i JOIN groups g ON g.conversation = i.conversation
	WHERE i.user_id = $1 AND i.expires_at > $2 AND NOT EXISTS (
		SELECT 1 FROM memberships m WHERE m.user_id = i.user_id AND m.conversation = i.conversation AND m.role <> 0)`

func scanInvitation(row interface{ Scan(...any) error }) (inv im.Invitation, err error) {
	var created, expires int64
	var settings string
	g := &inv.Group
	if err = row.Scan(&inv.User, &inv.Conversation, &inv.Inviter, &created, &expires, &g.Name, &g.Owner, &g.Members, &settings); err != nil {
		return inv, err
	}
	g.Conversation, inv.Created, inv.Expires = inv.Conversation, timeOf(created), timeOf(expires)
	g.Settings, err = parseSettings(settings)
	return inv, err
}

// Invitation returns a user's open invitation to a group, false if there is none.
func (d *DB) Invitation(ctx context.Context, user im.UserID, c im.ConversationID, now time.Time) (im.Invitation, bool, error) {
	inv, err := scanInvitation(d.queryRow(ctx, invitationSelect+" AND i.conversation = $3", user, msOf(now), c))
	if errors.Is(err, sql.ErrNoRows) {
		return im.Invitation{}, false, nil
	}
	return inv, err == nil, d.failed("read", err)
}

// Invitations returns at most limit open invitations of a user behind a
// conversation, by conversation.
func (d *DB) Invitations(ctx context.Context, user im.UserID, now time.Time, after im.ConversationID, limit int) ([]im.Invitation, error) {
	return list(ctx, d, func(r *sql.Rows) (im.Invitation, error) { return scanInvitation(r) },
		invitationSelect+" AND i.conversation > $3 ORDER BY i.conversation LIMIT $4", user, msOf(now), after, limit)
}

// Uninvite removes an invitation with the promise of its notice; false: there was
// none that was open.
func (d *DB) Uninvite(ctx context.Context, user im.UserID, c im.ConversationID, now time.Time, notice im.Promise) (done bool, err error) {
	err = d.tx(ctx, func(tx *writeTx) error {
		n, err := tx.Exec("DELETE FROM group_invitations WHERE user_id = $1 AND conversation = $2 AND expires_at > $3", user, c, msOf(now))
		if done = n == 1; err != nil || !done {
			return err
		}
		if ok, err := insertPromise(tx, notice); err != nil || !ok {
			return errors.Join(err, fmt.Errorf("promise %s was not stored", notice.ID))
		}
		return nil
	})
	return done && err == nil, err
}

// GroupsOf counts the groups a user is in.
func (d *DB) GroupsOf(ctx context.Context, user im.UserID) (n int, err error) {
	err = d.queryRow(ctx, "SELECT COUNT(*) FROM memberships WHERE user_id = $1 AND role <> 0", user).Scan(&n)
	return n, d.failed("read", err)
}
