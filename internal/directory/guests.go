package directory

import (
	"context"
	"database/sql"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// CountGuests tells how many guests there are.
func (d *DB) CountGuests(ctx context.Context) (n int, err error) {
	err = d.queryRow(ctx, "SELECT COUNT(*) FROM users WHERE guest").Scan(&n)
	return n, d.failed("count the guests", err)
}

// unseen is of a guest who is not newer than $1, and with none of whose sessions anybody
// came since.
const unseen = "guest AND created_at < $1 AND NOT EXISTS (SELECT 1 FROM sessions s WHERE s.user_id = users.id AND s.last_seen_at >= $1)"

// UnseenGuests returns at most limit guests that were not seen since a time.
func (d *DB) UnseenGuests(ctx context.Context, since time.Time, limit int) ([]im.UserID, error) {
	return list(ctx, d, func(r *sql.Rows) (id im.UserID, err error) { return id, r.Scan(&id) },
		"SELECT id FROM users WHERE "+unseen+" ORDER BY id LIMIT $2", msOf(since), limit)
}

// stillUnseen is conflict for a guest that is a user by now, or was seen meanwhile.
func stillUnseen(tx *writeTx, o im.ErasureOrder) error {
	if o.IfUnseen.IsZero() {
		return nil
	}
	var still bool
	if err := tx.QueryRow("SELECT EXISTS (SELECT 1 FROM users WHERE "+unseen+" AND id = $2)", msOf(o.IfUnseen), o.User).Scan(&still); err != nil || still {
		return err
	}
	return im.Errorf(im.CodeConflict, "the guest was seen at this moment, or is a user")
}

// UpgradeGuest makes a guest a user: already_exists when the username is taken, or held for
// another, or the identity is somebody's; permission_denied: it is no guest, or the
// invitation does not hold any more.
func (d *DB) UpgradeGuest(ctx context.Context, g im.GuestUpgrade, notices ...im.Promise) (u im.User, err error) {
	err = d.tx(ctx, func(tx *writeTx) error {
		if err := lockLiving(tx, g.User); err != nil {
			return err
		}
		if u, err = scanUser(tx.QueryRow("SELECT "+userColumns+" FROM users WHERE id = $1", g.User)); err != nil {
			return err
		}
		if !u.Guest {
			return im.Errorf(im.CodePermissionDenied, "this account is no guest's")
		}
		if err := nameIsFree(tx, g.Username, g.At); err != nil {
			return err
		}
		held, err := heldByOther(tx, g.Username, g.User, g.At)
		if err != nil {
			return err
		}
		if !held {
			err = tx.QueryRow("SELECT EXISTS (SELECT 1 FROM users WHERE username = $1)", g.Username).Scan(&held)
		}
		if err != nil {
			return err
		}
		if held {
			return im.Errorf(im.CodeAlreadyExists, "the username is taken")
		}
		// Of two who want one name one fails here, looks again, and finds it taken.
		if _, err := tx.Exec("UPDATE users SET username = $2, password_hash = $3, find_policy = $4, guest = FALSE WHERE id = $1",
			g.User, g.Username, g.PasswordHash, g.FindPolicy); err != nil {
			return err
		}
		if err := useRegistrationLink(tx, g.Invitation, g.At); err != nil {
			return err
		}
		if g.Identity != nil {
			if err := linkNew(tx, g.Identity); err != nil {
				return err
			}
		}
		u.Username, u.FindPolicy, u.Guest = g.Username, g.FindPolicy, false
		if _, err := tx.Exec("INSERT INTO profile_news (user_id) VALUES ($1) ON CONFLICT (user_id) DO UPDATE SET again = TRUE", g.User); err != nil {
			return err
		}
		return promiseAll(tx, notices)
	})
	return u, err
}

// GuestMay tells whether one of two users is a guest, and whether they share a group.
func (d *DB) GuestMay(ctx context.Context, a, b im.UserID) (guest, share bool, err error) {
	err = d.queryRow(ctx, `
		SELECT EXISTS (SELECT 1 FROM users WHERE id IN ($1, $2) AND guest),
			EXISTS (SELECT 1 FROM memberships m JOIN memberships n ON n.conversation = m.conversation
				WHERE m.user_id = $1 AND n.user_id = $2 AND m.role <> 0 AND n.role <> 0)`, a, b).Scan(&guest, &share)
	return guest, share, d.failed("read", err)
}
