package directory

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// OpenSession opens a session in one step with what it depends on:
// already_exists when the username to create is taken, not_found when the user
// does not exist, conflict when the password was changed meanwhile,
// a second factor was added, or the identity is not the user's, bad_credentials when the code was used, permission_denied
// when the claim, or the invitation, is not open.
func (d *DB) OpenSession(ctx context.Context, o im.SessionOpening) error {
	return d.tx(ctx, func(tx *writeTx) error {
		if err := useClaim(tx, o.Claim); err != nil {
			return err
		}
		if o.Create != nil {
			if err := createUser(tx, *o.Create, o.KeepExisting); err != nil {
				return err
			}
		} else if err := lockUser(tx, o.Session.User, o.IfPasswordHash); err != nil {
			return err
		} else if err := mayComeIn(tx, o.Session.User, o.Session.Created); err != nil {
			return err
		} else if err := useSecond(tx, &o); err != nil {
			return err
		}
		if err := useRegistrationLink(tx, o.Invitation, o.Session.Created); err != nil {
			return err
		}
		if err := useIdentity(tx, &o); err != nil {
			return err
		}
		s := &o.Session
		if _, err := tx.Exec(`
			INSERT INTO sessions (id, user_id, device_id, device_class, device_name, client, created_at, last_seen_at, last_address, expires_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
			s.ID, s.User, s.Device.ID, s.Device.Class, s.Device.Name, s.Client, msOf(s.Created), msOf(s.LastSeen), s.LastAddress, msOf(o.Expires)); err != nil {
			return err
		}
		if o.Notice != nil {
			if err := promise(tx, *o.Notice); err != nil {
				return err
			}
		}
		if err := putAct(tx, o.Act); err != nil {
			return err
		}
		return insertTokens(tx, s.ID, o.Tokens)
	})
}

func useClaim(tx *writeTx, claim []byte) error {
	if claim == nil {
		return nil
	}
	// The row's lock makes the second of two wait here and find nothing.
	n, err := tx.Exec("DELETE FROM claims WHERE name = 'admin' AND hash = $1", claim)
	if err == nil && n == 0 {
		return im.Errorf(im.CodePermissionDenied, "the code is wrong or was used")
	}
	return err
}

// lockUser holds the user's row, so that the password does not change before
// the commit.
func lockUser(tx *writeTx, id im.UserID, ifHash string) error {
	query, args := "UPDATE users SET id = id WHERE id = $1", []any{id}
	if ifHash != "" {
		query, args = query+" AND password_hash = $2", append(args, ifHash)
	}
	n, err := tx.Exec(query, args...)
	switch {
	case err != nil || n == 1:
		return err
	case ifHash != "":
		return im.Errorf(im.CodeConflict, "the password was changed at the same time")
	}
	return im.Errorf(im.CodeNotFound, "no such user")
}

// lockLiving is lockUser of a user whose account was not deleted: nothing is kept for one
// that was, also by who began before.
func lockLiving(tx *writeTx, id im.UserID) error {
	if err := lockUser(tx, id, ""); err != nil {
		return err
	}
	return notDeleted(tx, id)
}

func insertTokens(tx *writeTx, session im.SessionID, tokens []im.Token) error {
	for i := range tokens {
		t := &tokens[i]
		if _, err := tx.Exec("INSERT INTO tokens (hash, session_id, kind, created_at, expires_at, parent) VALUES ($1, $2, $3, $4, $5, $6)",
			t.Hash[:], session, t.Kind, msOf(t.Created), msOf(t.Expires), hashOrNull(t.Parent)); err != nil {
			return err
		}
	}
	return nil
}

func hashOrNull(h im.TokenHash) []byte {
	if h == (im.TokenHash{}) {
		return nil
	}
	return h[:]
}

// TokenByHash returns what is known of a token, or not_found.
func (d *DB) TokenByHash(ctx context.Context, hash im.TokenHash) (im.TokenState, error) {
	t := im.TokenState{Token: im.Token{Hash: hash}}
	s := &t.Session
	var parent []byte
	var created, expires, replaced, begun, seen, ended int64
	var standing standingRow
	err := d.queryRow(ctx, `
		SELECT t.kind, t.created_at, t.expires_at, t.parent, t.replaced_at, t.retry_nonce, p.retry_nonce IS NOT NULL,
			s.id, s.user_id, s.device_id, s.device_class, s.device_name, s.client, s.created_at, s.last_seen_at, s.last_address, s.ended_at,
			`+standingColumns+`, u.deleted_at <> 0
		FROM tokens t JOIN sessions s ON s.id = t.session_id JOIN users u ON u.id = s.user_id LEFT JOIN tokens p ON p.hash = t.parent
		WHERE t.hash = $1`, hash[:]).Scan(
		&t.Kind, &created, &expires, &parent, &replaced, &t.RetryNonce, &t.ParentRetry,
		&s.ID, &s.User, &s.Device.ID, &s.Device.Class, &s.Device.Name, &s.Client, &begun, &seen, &s.LastAddress, &ended,
		&standing.role, &standing.disabled, &standing.banned, &standing.until, &standing.reason, &t.Deleted)
	if errors.Is(err, sql.ErrNoRows) {
		return im.TokenState{}, im.Errorf(im.CodeNotFound, "no such token")
	}
	copy(t.Parent[:], parent)
	t.Role, t.Barred = standing.role, standing.barred()
	t.Created, t.Expires, t.Replaced, t.Ended = timeOf(created), timeOf(expires), timeOf(replaced), timeOf(ended)
	s.Created, s.LastSeen = timeOf(begun), timeOf(seen)
	return t, d.failed("read a token", err)
}

// HadDevice tells whether a session of the user was bound to a device, also one that ended
// and is not purged.
func (d *DB) HadDevice(ctx context.Context, user im.UserID, device string) (had bool, err error) {
	err = d.queryRow(ctx, "SELECT EXISTS (SELECT 1 FROM sessions WHERE user_id = $1 AND device_id = $2)", user, device).Scan(&had)
	return had, d.failed("read the devices of a user", err)
}

// BindDevice binds a session to a device, unless it is bound already, and
// returns the device that it is bound to then. Of two at once one wins.
// not_found: the session is not there or ended.
func (d *DB) BindDevice(ctx context.Context, session im.SessionID, device im.Device) (im.Device, error) {
	var bound im.Device
	err := d.tx(ctx, func(tx *writeTx) error {
		if _, err := tx.Exec(`
			UPDATE sessions SET device_id = $2, device_class = $3, device_name = $4
			WHERE id = $1 AND device_id = '' AND ended_at = 0`, session, device.ID, device.Class, device.Name); err != nil {
			return err
		}
		return tx.QueryRow("SELECT device_id, device_class, device_name FROM sessions WHERE id = $1 AND ended_at = 0", session).
			Scan(&bound.ID, &bound.Class, &bound.Name)
	})
	if errors.Is(err, sql.ErrNoRows) {
		return im.Device{}, im.Errorf(im.CodeNotFound, "no such session")
	}
	return bound, err
}

// RotateTokens exchanges a refresh token: conflict when it was exchanged
// already, not_found when the session is not there or ended.
func (d *DB) RotateTokens(ctx context.Context, r im.TokenRotation) error {
	return d.tx(ctx, func(tx *writeTx) error {
		n, err := tx.Exec("UPDATE sessions SET expires_at = $2 WHERE id = $1 AND ended_at = 0", r.Session, msOf(r.Expires))
		if err != nil {
			return err
		}
		if n == 0 {
			return im.Errorf(im.CodeNotFound, "no such session")
		}
		n, err = tx.Exec("UPDATE tokens SET replaced_at = $2, retry_nonce = $3 WHERE hash = $1 AND replaced_at = 0", r.Old[:], msOf(r.At), r.Nonce)
		if err != nil {
			return err
		}
		if n == 0 {
			return im.Errorf(im.CodeConflict, "the token was exchanged at the same time")
		}
		if err := confirm(tx, r.OldParent); err != nil {
			return err
		}
		return insertTokens(tx, r.Session, r.Tokens)
	})
}

// confirm forgets how to answer the exchange of a refresh token again.
func confirm(tx *writeTx, refresh im.TokenHash) error {
	if refresh == (im.TokenHash{}) {
		return nil
	}
	_, err := tx.Exec("UPDATE tokens SET retry_nonce = NULL WHERE hash = $1", refresh[:])
	return err
}

// SessionsSeen notes signs of life, newer ones only. Sessions that are gone
// are passed over.
func (d *DB) SessionsSeen(ctx context.Context, seen []im.SessionSeen) error {
	// In the same order as others who write some of them.
	seen = slices.SortedFunc(slices.Values(seen), func(a, b im.SessionSeen) int { return cmp.Compare(a.Session, b.Session) })
	return d.tx(ctx, func(tx *writeTx) error {
		for i := range seen {
			s := &seen[i]
			if _, err := tx.Exec(`
				UPDATE sessions SET last_seen_at = $2, last_address = $3, client = CASE WHEN $4 = '' THEN client ELSE $4 END
				WHERE id = $1 AND last_seen_at <= $2`, s.Session, msOf(s.At), s.Address, s.Client); err != nil {
				return err
			}
			if err := confirm(tx, s.Confirmed); err != nil {
				return err
			}
		}
		return nil
	})
}

// Sessions returns a user's sessions that have not ended and not expired at
// now, the oldest first.
func (d *DB) Sessions(ctx context.Context, user im.UserID, now time.Time) ([]im.Session, error) {
	return list(ctx, d, func(r *sql.Rows) (im.Session, error) {
		var s im.Session
		var created, seen int64
		err := r.Scan(&s.ID, &s.User, &s.Device.ID, &s.Device.Class, &s.Device.Name, &s.Client, &created, &seen, &s.LastAddress)
		s.Created, s.LastSeen = timeOf(created), timeOf(seen)
		return s, err
	}, `
		SELECT id, user_id, device_id, device_class, device_name, client, created_at, last_seen_at, last_address
		FROM sessions WHERE user_id = $1 AND ended_at = 0 AND expires_at > $2 ORDER BY created_at, id`, user, msOf(now))
}

// EndSessions ends one session of a user, or all with session "", and returns
// those that it ended. not_found: the user has no such session, or does not
// exist. A session that has ended already is found, but not ended again.
func (d *DB) EndSessions(ctx context.Context, user im.UserID, session im.SessionID, at time.Time) ([]im.SessionID, error) {
	var ended []im.SessionID
	err := d.tx(ctx, func(tx *writeTx) (err error) {
		ended, err = endSessions(tx, user, session, "", at)
		if err != nil || len(ended) > 0 {
			return err
		}
		query, args := "SELECT EXISTS (SELECT 1 FROM users WHERE id = $1)", []any{user}
		if session != "" {
			query, args = "SELECT EXISTS (SELECT 1 FROM sessions WHERE user_id = $1 AND id = $2)", append(args, session)
		}
		var exists bool
		if err := tx.QueryRow(query, args...).Scan(&exists); err != nil {
			return err
		}
		if !exists {
			return im.Errorf(im.CodeNotFound, "no such session")
		}
		return nil
	})
	return ended, err
}

func endSessions(tx *writeTx, user im.UserID, session, except im.SessionID, at time.Time) ([]im.SessionID, error) {
	query, args := "UPDATE sessions SET ended_at = $2 WHERE user_id = $1 AND ended_at = 0", []any{user, msOf(at)}
	if session != "" {
		query, args = query+" AND id = $3", append(args, session)
	} else if except != "" {
		query, args = query+" AND id <> $3", append(args, except)
	}
	rows, err := tx.Query(query+" RETURNING id", args...)
	if err != nil {
		return nil, err
	}
	return scanAll(rows, func(r *sql.Rows) (id im.SessionID, err error) {
		err = r.Scan(&id)
		return id, err
	})
}

// PurgeSessions removes sessions and tokens that ended or expired before a
// time, and forgets how to answer exchanges from before another time again.
// It removes a bounded number at once and reports whether more are left.
func (d *DB) PurgeSessions(ctx context.Context, before, retryBefore time.Time) (more bool, err error) {
	const limit = 500
	err = d.tx(ctx, func(tx *writeTx) error {
		more = false
		for _, query := range []string{
			"DELETE FROM sessions WHERE id IN (SELECT id FROM sessions WHERE expires_at < $1 LIMIT $2)",
			"DELETE FROM sessions WHERE id IN (SELECT id FROM sessions WHERE ended_at > 0 AND ended_at < $1 LIMIT $2)",
			"DELETE FROM tokens WHERE hash IN (SELECT hash FROM tokens WHERE expires_at < $1 LIMIT $2)",
		} {
			n, err := tx.Exec(query, msOf(before), limit)
			if err != nil {
				return err
			}
			more = more || n == limit
		}
		_, err := tx.Exec("UPDATE tokens SET retry_nonce = NULL WHERE retry_nonce IS NOT NULL AND replaced_at < $1", msOf(retryBefore))
		return err
	})
	return more, err
}
