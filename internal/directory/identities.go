package directory

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/skein-im/skein/internal/im"
)

const identityColumns = "id, user_id, provider, issuer, subject, username, email, created_at, last_used_at"

func scanIdentity(row interface{ Scan(...any) error }) (im.Identity, error) {
	var i im.Identity
	var created, used int64
	err := row.Scan(&i.ID, &i.User, &i.Provider, &i.Issuer, &i.Subject, &i.Username, &i.Email, &created, &used)
	i.Created, i.LastUsed = timeOf(created), timeOf(used)
	return i, err
}

// IdentityOf returns the identity of whom an issuer calls subject, or not_found.
func (d *DB) IdentityOf(ctx context.Context, issuer, subject string) (im.Identity, error) {
	i, err := scanIdentity(d.queryRow(ctx, "SELECT "+identityColumns+" FROM identities WHERE issuer = $1 AND subject = $2", issuer, subject))
	if errors.Is(err, sql.ErrNoRows) {
		return i, im.Errorf(im.CodeNotFound, "nobody logs in as that")
	}
	return i, d.failed("read an identity", err)
}

// IdentitiesByEmail returns at most limit identities with an e-mail that their provider verified.
func (d *DB) IdentitiesByEmail(ctx context.Context, email string, limit int) ([]im.Identity, error) {
	return list(ctx, d, func(r *sql.Rows) (im.Identity, error) { return scanIdentity(r) },
		"SELECT "+identityColumns+" FROM identities WHERE email = $1 AND email <> '' ORDER BY id LIMIT $2", email, limit)
}

// Identities returns a user's, the oldest first.
func (d *DB) Identities(ctx context.Context, user im.UserID) ([]im.Identity, error) {
	return list(ctx, d, func(r *sql.Rows) (im.Identity, error) { return scanIdentity(r) },
		"SELECT "+identityColumns+" FROM identities WHERE user_id = $1 ORDER BY created_at, id", user)
}

// LinkIdentity makes an identity its user's. already_exists: it is somebody's; too_large:
// they have most.
func (d *DB) LinkIdentity(ctx context.Context, i im.Identity, most int, notices ...im.Promise) error {
	return d.tx(ctx, func(tx *writeTx) error {
		if err := lockLiving(tx, i.User); err != nil {
			return err
		}
		var n int
		if err := tx.QueryRow("SELECT COUNT(*) FROM identities WHERE user_id = $1", i.User).Scan(&n); err != nil {
			return err
		}
		if n >= most {
			return im.Errorf(im.CodeTooLarge, "an account has at most %d identities", most)
		}
		if err := linkNew(tx, &i); err != nil {
			return err
		}
		return promiseAll(tx, notices)
	})
}

// linkNew is already_exists for an identity that is somebody's.
func linkNew(tx *writeTx, i *im.Identity) error {
	err := insertIdentity(tx, i)
	if im.CodeOf(err) == im.CodeConflict {
		return im.Errorf(im.CodeAlreadyExists, "somebody logs in as that already")
	}
	return err
}

func insertIdentity(tx *writeTx, i *im.Identity) error {
	n, err := tx.Exec("INSERT INTO identities ("+identityColumns+") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT DO NOTHING",
		i.ID, i.User, i.Provider, i.Issuer, i.Subject, i.Username, i.Email, msOf(i.Created), msOf(i.LastUsed))
	if err == nil && n == 0 {
		return im.Errorf(im.CodeConflict, "the identity was linked at the same time")
	}
	return err
}

// UnlinkIdentity takes a user's identity away, and ends their logins that wait for a code.
// not_found: it is not theirs; permission_denied: it is the last one, and they have no
// password.
func (d *DB) UnlinkIdentity(ctx context.Context, user im.UserID, id string, notices ...im.Promise) error {
	return d.tx(ctx, func(tx *writeTx) error {
		if err := lockLiving(tx, user); err != nil {
			return err
		}
		n, err := tx.Exec("DELETE FROM identities WHERE user_id = $1 AND id = $2", user, id)
		if err != nil {
			return err
		}
		if n == 0 {
			return im.Errorf(im.CodeNotFound, "there is no such identity")
		}
		var out bool
		if err := tx.QueryRow("SELECT password_hash = '' AND NOT EXISTS (SELECT 1 FROM identities WHERE user_id = $1) FROM users WHERE id = $1", user).Scan(&out); err != nil {
			return err
		}
		if out {
			return im.Errorf(im.CodePermissionDenied, "this is the last one, and the account has no password: nobody could log in")
		}
		if _, err := tx.Exec("DELETE FROM tickets WHERE user_id = $1 AND kind = $2", user, im.TicketLogin); err != nil {
			return err
		}
		return promiseAll(tx, notices)
	})
}

// useIdentity is what a session needs of the identity by which its user, whose row is
// locked, logs in.
func useIdentity(tx *writeTx, o *im.SessionOpening) error {
	i := o.Identity
	if i == nil {
		return nil
	}
	if o.Link {
		return insertIdentity(tx, i)
	}
	n, err := tx.Exec("UPDATE identities SET username = $3, email = $4, last_used_at = $5 WHERE id = $1 AND user_id = $2",
		i.ID, o.Session.User, i.Username, i.Email, msOf(i.LastUsed))
	if err == nil && n == 0 {
		return im.Errorf(im.CodeConflict, "the identity was unlinked at the same time")
	}
	return err
}

// PutProviderLogin keeps a login that is under way, and removes some that are over for an
// hour: until then, who comes late is told so.
func (d *DB) PutProviderLogin(ctx context.Context, l im.ProviderLogin, now time.Time) error {
	data, err := json.Marshal(l)
	if err != nil {
		return fmt.Errorf("directory: a login by a provider: %w", err)
	}
	return d.tx(ctx, func(tx *writeTx) error {
		if _, err := tx.Exec("DELETE FROM provider_logins WHERE hash IN (SELECT hash FROM provider_logins WHERE expires_at < $1 LIMIT $2)",
			msOf(now.Add(-time.Hour)), tidiedTickets); err != nil {
			return err
		}
		_, err := tx.Exec("INSERT INTO provider_logins (hash, kind, data, expires_at) VALUES ($1, $2, $3, $4)", l.Hash, l.Step, string(data), msOf(l.Expires))
		return err
	})
}

// TakeProviderLogin returns a login and removes it: of many who ask, one gets it.
// not_found: there is none; too_late: its time is over.
func (d *DB) TakeProviderLogin(ctx context.Context, step im.ProviderStep, hash []byte, now time.Time) (im.ProviderLogin, error) {
	l := im.ProviderLogin{Hash: hash, Step: step}
	err := d.tx(ctx, func(tx *writeTx) error {
		var data string
		var expires int64
		err := tx.QueryRow("DELETE FROM provider_logins WHERE hash = $1 AND kind = $2 RETURNING data, expires_at", hash, step).Scan(&data, &expires)
		if errors.Is(err, sql.ErrNoRows) {
			return im.Errorf(im.CodeNotFound, "no login waits for this")
		}
		if err != nil {
			return err
		}
		l.Expires = timeOf(expires)
		return json.Unmarshal([]byte(data), &l)
	})
	if err == nil && !now.Before(l.Expires) {
		return l, im.Errorf(im.CodeTooLate, "the login's time is over")
	}
	return l, err
}
