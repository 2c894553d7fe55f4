package directory

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"time"

	"github.com/skein-im/skein/internal/im"
)

const erasureColumns = "user_id, messages, begun_at, done_at, step, place"

func scanErasure(row interface{ Scan(...any) error }) (e im.Erasure, err error) {
	var begun, done int64
	err = row.Scan(&e.User, &e.Messages, &begun, &done, &e.Step, &e.Place)
	e.Begun, e.Done = timeOf(begun), timeOf(done)
	return e, err
}

// BeginErasure deletes an account: who the user was, how they came in, their sessions and
// what they had scheduled are gone with it, and what is still to be done is noted. It
// returns the sessions that it ended. Of one that was deleted it tells how far that is,
// and with Messages begins anew if what they wrote was to stay. not_found: no such user;
// conflict: the password was changed, or a second factor was added; bad_credentials: the
// code was used; permission_denied: they are the last owner.
func (d *DB) BeginErasure(ctx context.Context, o im.ErasureOrder) (e im.Erasure, ended []im.SessionID, err error) {
	err = d.tx(ctx, func(tx *writeTx) error {
		e, ended = im.Erasure{}, nil
		if err := lockUser(tx, o.User, o.IfPasswordHash); err != nil {
			return err
		}
		var deleted int64
		var role im.ServerRole
		var name sql.NullString
		if err := tx.QueryRow("SELECT deleted_at, "+roleColumn+", username FROM users WHERE id = $1", o.User).Scan(&deleted, &role, &name); err != nil {
			return err
		}
		if deleted != 0 {
			e, err = erasedBefore(tx, o)
			return err
		}
		if err := stillUnseen(tx, o); err != nil {
			return err
		}
		if err := useSecond(tx, &im.SessionOpening{Session: im.Session{User: o.User}, IfPasswordHash: o.IfPasswordHash}); err != nil && o.Second == nil {
			return err
		}
		if o.Second != nil {
			if err := useStep(tx, o.User, o.Second); err != nil {
				return err
			}
		}
		if role == im.ServerOwner {
			if err := anotherOwner(tx, o.User); err != nil {
				return err
			}
		}
		if name.Valid {
			if err := holdName(tx, name.String, o.At); err != nil {
				return err
			}
		}
		if ended, err = endSessions(tx, o.User, "", "", o.At); err != nil {
			return err
		}
		if err := forgetUser(tx, o); err != nil {
			return err
		}
		e = im.Erasure{User: o.User, Messages: o.Messages, Begun: timeOf(msOf(o.At))}
		_, err := tx.Exec("INSERT INTO erasures (user_id, messages, begun_at) VALUES ($1, $2, $3)", o.User, o.Messages, msOf(o.At))
		return err
	})
	return e, ended, err
}

// erasedBefore is BeginErasure of an account that was deleted.
func erasedBefore(tx *writeTx, o im.ErasureOrder) (im.Erasure, error) {
	// What others noted of the user while the account was deleted goes as well.
	if err := forgetUser(tx, o); err != nil {
		return im.Erasure{}, err
	}
	if o.Messages {
		if _, err := tx.Exec("UPDATE erasures SET messages = TRUE, done_at = 0, step = 0, place = '' WHERE user_id = $1 AND NOT messages", o.User); err != nil {
			return im.Erasure{}, err
		}
	}
	return scanErasure(tx.QueryRow("SELECT "+erasureColumns+" FROM erasures WHERE user_id = $1", o.User))
}

// forgetUser removes who a user was, and all by which they came in.
func forgetUser(tx *writeTx, o im.ErasureOrder) error {
	for _, query := range []string{
		"UPDATE sessions SET device_name = '', client = '', last_address = '' WHERE user_id = $1",
		"DELETE FROM second_factors WHERE user_id = $1",
		"DELETE FROM recovery_codes WHERE user_id = $1",
		"DELETE FROM tickets WHERE user_id = $1",
		"DELETE FROM identities WHERE user_id = $1",
		"DELETE FROM scheduled WHERE user_id = $1",
		"DELETE FROM push_subscriptions WHERE user_id = $1",
		"DELETE FROM push_settings WHERE user_id = $1",
		"DELETE FROM last_seen WHERE user_id = $1",
		"DELETE FROM group_invitations WHERE user_id = $1",
		"DELETE FROM group_requests WHERE user_id = $1",
		"DELETE FROM group_bans WHERE user_id = $1",
	} {
		if _, err := tx.Exec(query, o.User); err != nil {
			return err
		}
	}
	if err := holdFormerNames(tx, o.User); err != nil {
		return err
	}
	if err := hidePicture(tx, userHolder, string(o.User)); err != nil {
		return err
	}
	_, err := tx.Exec(`
		UPDATE users SET deleted_at = CASE WHEN deleted_at = 0 THEN CAST($2 AS BIGINT) ELSE deleted_at END, username = NULL, display_name = $3, search_name = '', password_hash = '', admin = FALSE, server_role = 0, disabled_at = 0, banned_at = 0, banned_until = 0, ban_reason = '', guest = FALSE, profile = '', hide_reads = FALSE,
			dm_policy = $4, find_policy = $5, presence_policy = $6, group_policy = $7 WHERE id = $1`,
		o.User, msOf(o.At), im.DeletedName, im.DMNobody, im.FindNobody, im.PresenceNobody, im.GroupsNobody)
	return err
}

// holdFormerNames lets nobody have the usernames of before for as long as they were held
// for the user, and forgets whose they were.
func holdFormerNames(tx *writeTx, u im.UserID) error {
	rows, err := tx.Query("SELECT name, held_until FROM former_usernames WHERE user_id = $1", u)
	if err != nil {
		return err
	}
	held := map[string]int64{}
	for rows.Next() {
		var name string
		var until int64
		if err := rows.Scan(&name, &until); err != nil {
			return errors.Join(err, rows.Close())
		}
		held[name] = until
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return err
	}
	for name, until := range held {
		if err := hold(tx, name, until); err != nil {
			return err
		}
	}
	_, err = tx.Exec("DELETE FROM former_usernames WHERE user_id = $1", u)
	return err
}

func heldHash(username string) []byte {
	h := sha256.Sum256([]byte("skein username\x00" + username))
	return h[:]
}

// holdName lets nobody have a username for a time, and forgets names that are free again.
func holdName(tx *writeTx, username string, now time.Time) error {
	if _, err := tx.Exec("DELETE FROM held_names WHERE until_at <= $1", msOf(now)); err != nil {
		return err
	}
	return hold(tx, username, msOf(now.Add(im.NameHeld)))
}

// hold holds a username until then, or for as long as it is held already.
func hold(tx *writeTx, username string, until int64) error {
	_, err := tx.Exec("INSERT INTO held_names (hash, until_at) VALUES ($1, $2) ON CONFLICT (hash) DO UPDATE SET until_at = excluded.until_at WHERE held_names.until_at < excluded.until_at",
		heldHash(username), until)
	return err
}

// nameIsFree refuses a username that is held.
func nameIsFree(tx *writeTx, username string, now time.Time) error {
	if username == "" {
		return nil
	}
	var held bool
	err := tx.QueryRow("SELECT EXISTS (SELECT 1 FROM held_names WHERE hash = $1 AND until_at > $2)", heldHash(username), msOf(now)).Scan(&held)
	if err == nil && held {
		return im.Errorf(im.CodeAlreadyExists, "the username is taken")
	}
	return err
}

// notDeleted refuses a user whose account was deleted.
func notDeleted(tx *writeTx, id im.UserID) error {
	var deleted bool
	err := tx.QueryRow("SELECT deleted_at <> 0 FROM users WHERE id = $1", id).Scan(&deleted)
	if err == nil && deleted {
		return im.Errorf(im.CodeAccountDeleted, "the account was deleted")
	}
	return err
}

// DueErasures returns at most limit of those that are not done, the earliest first.
func (d *DB) DueErasures(ctx context.Context, limit int) ([]im.Erasure, error) {
	return list(ctx, d, func(r *sql.Rows) (im.Erasure, error) { return scanErasure(r) },
		"SELECT "+erasureColumns+" FROM erasures WHERE done_at = 0 ORDER BY begun_at, user_id LIMIT $1", limit)
}

// MoveErasure notes how far one is: its Step, Place and Done, in the place of those of
// was. false: it is elsewhere by now, or more is to be erased.
func (d *DB) MoveErasure(ctx context.Context, was, is im.Erasure) (moved bool, err error) {
	err = d.tx(ctx, func(tx *writeTx) error {
		n, err := tx.Exec("UPDATE erasures SET step = $2, place = $3, done_at = $4 WHERE user_id = $1 AND step = $5 AND place = $6 AND messages = $7 AND done_at = 0",
			is.User, is.Step, is.Place, msOf(is.Done), was.Step, was.Place, was.Messages)
		moved = n == 1
		return err
	})
	return moved, err
}

// KnownTo returns at most limit users of whom one keeps something in their list, or who
// keep something of them.
func (d *DB) KnownTo(ctx context.Context, u im.UserID, limit int) ([]im.UserID, error) {
	const kept = "(state <> 4 OR blocked OR remark <> '' OR tags <> '' OR message <> '')"
	return list(ctx, d, func(r *sql.Rows) (id im.UserID, err error) { return id, r.Scan(&id) },
		"SELECT peer_id FROM contacts WHERE user_id = $1 AND "+kept+" UNION SELECT user_id FROM contacts WHERE peer_id = $1 AND "+kept+" ORDER BY 1 LIMIT $2", u, limit)
}

// RolesOf returns the groups that a user is in, and their roles there.
func (d *DB) RolesOf(ctx context.Context, u im.UserID) (map[im.ConversationID]im.Role, error) {
	roles := map[im.ConversationID]im.Role{}
	_, err := list(ctx, d, func(r *sql.Rows) (_ struct{}, err error) {
		var c im.ConversationID
		var role im.Role
		err = r.Scan(&c, &role)
		roles[c] = role
		return struct{}{}, err
	}, "SELECT conversation, role FROM memberships WHERE user_id = $1 AND role <> 0", u)
	return roles, err
}

// EraseRest removes what is left of a user whose contacts and groups are gone: uploads that
// no message names are thrown away, and with messages it is forgotten where they were.
func (d *DB) EraseRest(ctx context.Context, e im.Erasure, now time.Time) error {
	defer d.moved(e.User)
	return d.tx(ctx, func(tx *writeTx) error {
		queries := []string{
			"UPDATE memberships SET nickname = '', nick_search = NULL WHERE user_id = $1 AND role = 0",
			"DELETE FROM contacts WHERE user_id = $1",
			"DELETE FROM contact_revisions WHERE user_id = $1",
			"DELETE FROM wrote_first WHERE user_id = $1 OR peer_id = $1",
			"DELETE FROM profile_news WHERE user_id = $1",
			"DELETE FROM keyed_calls WHERE caller = $1",
			"UPDATE reports SET text = '' WHERE reporter = $1",
			"UPDATE audit_log SET address = '', device = '', detail = '' WHERE kind = 2 AND (actor = $1 OR target = $1)",
		}
		if e.Messages {
			queries = append(queries, "DELETE FROM memberships WHERE user_id = $1 AND role = 0", "UPDATE reports SET said = '' WHERE author = $1")
		}
		var err error
		for _, query := range queries {
			_, one := tx.Exec(query, e.User)
			err = errors.Join(err, one)
		}
		if err != nil {
			return err
		}
		_, err = tx.Exec("UPDATE media SET expires_at = $2 WHERE owner = $1 AND NOT EXISTS (SELECT 1 FROM media_names n WHERE n.media_id = media.id)", e.User, msOf(now))
		return err
	})
}
