package directory

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/skein-im/skein/internal/im"
)

// roleColumn is a user's role. Programs of before version 49 know admin alone, and leave
// server_role as it is: what they made an administrator is an owner, and whom they took
// that from, by deleting the account, is none.
const roleColumn = "CASE WHEN admin THEN CASE WHEN server_role = 3 THEN 3 ELSE 4 END WHEN server_role < 3 THEN server_role ELSE 0 END"

// standingColumns are what a standingRow is read from.
const standingColumns = roleColumn + ", disabled_at, banned_at, banned_until, ban_reason"

// standingRow is a user's role, and what bars them.
type standingRow struct {
	role                    im.ServerRole
	disabled, banned, until int64
	reason                  string
}

func (s *standingRow) barred() im.Barred {
	return im.Barred{Disabled: s.disabled != 0, Banned: s.banned != 0, Until: timeOf(s.until), Reason: s.reason}
}

// mayComeIn refuses a user whose account was deleted, banned or disabled.
func mayComeIn(tx *writeTx, id im.UserID, now time.Time) error {
	u, err := scanUser(tx.QueryRow("SELECT "+userColumns+" FROM users WHERE id = $1", id))
	if err == nil && u.Deleted {
		return im.Errorf(im.CodeAccountDeleted, "the account was deleted")
	}
	if err != nil {
		return err
	}
	return u.Barred.At(now)
}

// anotherOwner refuses who would leave the deployment without an owner who can come in.
// The others' rows are locked, so of two who do it to each other one stays.
func anotherOwner(tx *writeTx, id im.UserID) error {
	others, err := tx.Exec("UPDATE users SET admin = admin WHERE admin AND server_role <> 3 AND disabled_at = 0 AND banned_at = 0 AND id <> $1", id)
	if err == nil && others == 0 {
		return im.Errorf(im.CodePermissionDenied, "this is the last owner of this server")
	}
	return err
}

// lockedUser is the user whose row this transaction locks. account_deleted; not_found.
func lockedUser(tx *writeTx, id im.UserID) (im.User, error) {
	if err := lockLiving(tx, id); err != nil {
		return im.User{}, err
	}
	return scanUser(tx.QueryRow("SELECT "+userColumns+" FROM users WHERE id = $1", id))
}

// SetRole gives a user another role: see account.RoleStore.
func (d *DB) SetRole(ctx context.Context, user im.UserID, role im.ServerRole) error {
	return d.tx(ctx, func(tx *writeTx) error {
		u, err := lockedUser(tx, user)
		if err != nil || u.Role == role {
			return err
		}
		if u.Guest {
			return im.Errorf(im.CodePermissionDenied, "guests have no role: this one becomes a user first (UpgradeGuest)")
		}
		if u.Role == im.ServerOwner {
			if err := anotherOwner(tx, user); err != nil {
				return err
			}
		}
		_, err = tx.Exec("UPDATE users SET admin = $2, server_role = $3 WHERE id = $1", user, role >= im.ServerAdmin, int64(role))
		return err
	})
}

// Bar changes what bars a user: see account.RoleStore. With the sessions go what wakes the
// devices, and what the user had scheduled.
func (d *DB) Bar(ctx context.Context, c im.BarChange) (u im.User, ended []im.SessionID, err error) {
	err = d.tx(ctx, func(tx *writeTx) error {
		ended = nil
		if u, err = lockedUser(tx, c.User); err != nil {
			return err
		}
		if err := c.By.ActOn(u.Role); err != nil {
			return err
		}
		if u.Barred = c.Of(u.Barred); u.Barred.At(c.At) != nil && u.Role == im.ServerOwner {
			if err := anotherOwner(tx, c.User); err != nil {
				return err
			}
		}
		when := func(set bool) int64 {
			if !set {
				return 0
			}
			return msOf(c.At)
		}
		_, err := tx.Exec("UPDATE users SET disabled_at = $2, banned_at = $3, banned_until = $4, ban_reason = $5 WHERE id = $1",
			c.User, when(u.Barred.Disabled), when(u.Barred.Banned), msOf(u.Barred.Until), u.Barred.Reason)
		if err != nil || u.Barred.At(c.At) == nil {
			return err
		}
		for _, query := range []string{"DELETE FROM push_subscriptions WHERE user_id = $1", "DELETE FROM scheduled WHERE user_id = $1", "DELETE FROM tickets WHERE user_id = $1"} {
			if _, err := tx.Exec(query, c.User); err != nil {
				return err
			}
		}
		ended, err = endSessions(tx, c.User, "", "", c.At)
		return err
	})
	return u, ended, err
}

// accountColumns are what administrators see of a user u besides userColumns; $1 is now.
const accountColumns = `, password_hash <> '', EXISTS (SELECT 1 FROM second_factors f WHERE f.user_id = u.id AND f.active),
	(SELECT COUNT(*) FROM sessions s WHERE s.user_id = u.id AND s.ended_at = 0 AND s.expires_at > $1),
	(SELECT COALESCE(MAX(s.last_seen_at), 0) FROM sessions s WHERE s.user_id = u.id AND s.last_address <> ''),
	COALESCE((SELECT l.seen_at FROM last_seen l WHERE l.user_id = u.id), 0),
	COALESCE((SELECT m.bytes FROM media_usage m WHERE m.owner = u.id), 0)`

func scanAccount(r *sql.Rows) (a im.AccountInfo, err error) {
	var came, there int64
	a.User, err = scanUser(r, &a.Password, &a.SecondFactor, &a.Sessions, &came, &there, &a.StorageBytes)
	a.LastSeen = timeOf(max(came, there))
	return a, err
}

// ListUsers returns users in the order of their ids: see im.AccountQuery.
func (d *DB) ListUsers(ctx context.Context, q im.AccountQuery) ([]im.AccountInfo, error) {
	args := []any{msOf(q.Now), q.After, q.Limit}
	where := []string{"u.id > $2"}
	if q.Query != "" {
		prefix := folded(q.Query)
		args = append(args, prefix, prefix+string(utf8.MaxRune), q.Query)
		where = append(where, "(u.username >= $4 AND u.username < $5 OR u.search_name >= $4 AND u.search_name < $5 OR u.id = $6)")
	}
	if q.Guests {
		where = append(where, "u.guest")
	}
	if q.WithRole {
		where = append(where, "(u.admin OR u.server_role <> 0)")
	}
	const banned = "(u.banned_at <> 0 AND (u.banned_until = 0 OR u.banned_until > $1))"
	switch q.State {
	case 0:
	case im.AccountDeleted:
		where = append(where, "u.deleted_at <> 0")
	case im.AccountBanned:
		where = append(where, "u.deleted_at = 0 AND "+banned)
	case im.AccountDisabled:
		where = append(where, "u.deleted_at = 0 AND u.disabled_at <> 0 AND NOT "+banned)
	case im.AccountActive:
		where = append(where, "u.deleted_at = 0 AND u.disabled_at = 0 AND NOT "+banned)
	default:
		return nil, errors.New("directory: no such state of accounts")
	}
	return list(ctx, d, scanAccount, "SELECT "+userColumns+accountColumns+" FROM users u WHERE "+strings.Join(where, " AND ")+" ORDER BY u.id LIMIT $3", args...)
}
