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

// userColumns are what scanUser reads.
const userColumns = "id, COALESCE(username, ''), display_name, " + standingColumns + ", dm_policy, created_at, group_policy, find_policy, profile, presence_policy, hide_reads, deleted_at <> 0, guest"

func scanUser(row interface{ Scan(...any) error }, more ...any) (im.User, error) {
	var u im.User
	var created int64
	var profile string
	var standing standingRow
	err := row.Scan(append([]any{&u.ID, &u.Username, &u.DisplayName, &standing.role, &standing.disabled, &standing.banned, &standing.until, &standing.reason, &u.DMPolicy, &created, &u.GroupPolicy, &u.FindPolicy, &profile, &u.PresencePolicy, &u.HideReads, &u.Deleted, &u.Guest}, more...)...)
	u.Created = timeOf(created)
	u.Role, u.Barred = standing.role, standing.barred()
	if err == nil && profile != "" {
		if err = json.Unmarshal([]byte(profile), &u.Profile); err != nil {
			err = fmt.Errorf("directory: profile of %s: %w", u.ID, err)
		}
	}
	return u, err
}

// CreateUser creates a user: already_exists when the username is taken,
// conflict when only the id is.
func (d *DB) CreateUser(ctx context.Context, c im.Credentials) error {
	return d.tx(ctx, func(tx *writeTx) error { return createUser(tx, c, false) })
}

func createUser(tx *writeTx, c im.Credentials, keepExisting bool) error {
	if err := nameIsFree(tx, c.Username, c.Created); err != nil {
		return err
	}
	if held, err := heldByOther(tx, c.Username, c.ID, c.Created); err != nil || held {
		if held {
			err = im.Errorf(im.CodeAlreadyExists, "the username is taken")
		}
		return err
	}
	n, err := tx.Exec(`
		INSERT INTO users (id, username, display_name, password_hash, admin, dm_policy, created_at, search_name, find_policy, guest, server_role)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) ON CONFLICT DO NOTHING`,
		c.ID, sql.NullString{String: c.Username, Valid: c.Username != ""}, c.DisplayName, c.PasswordHash, c.Role >= im.ServerAdmin, c.DMPolicy, msOf(c.Created), folded(c.DisplayName), c.FindPolicy, c.Guest, int64(c.Role))
	if err != nil || n == 1 {
		return err
	}
	var same bool
	if err := tx.QueryRow("SELECT EXISTS (SELECT 1 FROM users WHERE id = $1)", c.ID).Scan(&same); err != nil {
		return err
	}
	switch {
	case same && keepExisting:
		return mayComeIn(tx, c.ID, c.Created)
	case same:
		return im.Errorf(im.CodeConflict, "the user id was given twice; repeat")
	}
	return im.Errorf(im.CodeAlreadyExists, "the username is taken")
}

// Users returns those of the users that exist, in any order.
func (d *DB) Users(ctx context.Context, ids []im.UserID) ([]im.User, error) {
	return listOf(ctx, d, func(r *sql.Rows) (im.User, error) { return scanUser(r) },
		"SELECT "+userColumns+" FROM users WHERE id IN ", nil, ids)
}

// UserByName returns the user with a username in lower case, or not_found.
func (d *DB) UserByName(ctx context.Context, username string) (im.Credentials, error) {
	return d.credentials(ctx, "username = $1", username)
}

// UserCredentials returns a user with the password's hash, or not_found.
func (d *DB) UserCredentials(ctx context.Context, id im.UserID) (im.Credentials, error) {
	return d.credentials(ctx, "id = $1", string(id))
}

func (d *DB) credentials(ctx context.Context, where, arg string) (im.Credentials, error) {
	var c im.Credentials
	var err error
	c.User, err = scanUser(d.queryRow(ctx, "SELECT "+userColumns+", password_hash, EXISTS (SELECT 1 FROM second_factors f WHERE f.user_id = users.id AND f.active) FROM users WHERE "+where, arg),
		&c.PasswordHash, &c.SecondFactor)
	if errors.Is(err, sql.ErrNoRows) {
		return im.Credentials{}, im.Errorf(im.CodeNotFound, "no such user")
	}
	return c, d.failed("read a user", err)
}

// ReplacePasswordHash sets the hash of a password if it is the old one still
// and touches no session: the same password hashed anew. It reports whether it did.
func (d *DB) ReplacePasswordHash(ctx context.Context, id im.UserID, old, hash string) (done bool, err error) {
	err = d.tx(ctx, func(tx *writeTx) error {
		done, err = replaceHash(tx, id, old, hash)
		return err
	})
	return done, err
}

// ChangePassword sets the hash of another password, if it is the old one still
// (conflict otherwise), and ends all sessions of the user except one, in one
// step. It returns the sessions that it ended.
func (d *DB) ChangePassword(ctx context.Context, id im.UserID, old, hash string, except im.SessionID, at time.Time) ([]im.SessionID, error) {
	var ended []im.SessionID
	err := d.tx(ctx, func(tx *writeTx) error {
		done, err := replaceHash(tx, id, old, hash)
		if err != nil {
			return err
		}
		if !done {
			return im.Errorf(im.CodeConflict, "the password was changed at the same time")
		}
		ended, err = endSessions(tx, id, "", except, at)
		return err
	})
	return ended, err
}

func replaceHash(tx *writeTx, id im.UserID, old, hash string) (bool, error) {
	n, err := tx.Exec("UPDATE users SET password_hash = $3 WHERE id = $1 AND password_hash = $2", id, old, hash)
	return n == 1, err
}

// PutAdminClaim keeps the hash of the code that makes the first administrator,
// in place of an earlier one, and reports true; when there is an administrator
// it removes the code and reports false.
func (d *DB) PutAdminClaim(ctx context.Context, hash []byte, at time.Time) (open bool, err error) {
	err = d.tx(ctx, func(tx *writeTx) error {
		open = false
		if _, err := tx.Exec("DELETE FROM claims WHERE name = 'admin'"); err != nil {
			return err
		}
		var claimed bool
		if err := tx.QueryRow("SELECT EXISTS (SELECT 1 FROM users WHERE admin)").Scan(&claimed); err != nil || claimed {
			return err
		}
		open = true
		_, err := tx.Exec("INSERT INTO claims (name, hash, created_at) VALUES ('admin', $1, $2)", hash, msOf(at))
		return err
	})
	return open, err
}

// Owned tells whether somebody owns the server.
func (d *DB) Owned(ctx context.Context) (owned bool, err error) {
	err = d.queryRow(ctx, "SELECT EXISTS (SELECT 1 FROM users WHERE admin)").Scan(&owned)
	return owned, d.failed("look for an owner", err)
}

// OfferAdminClaim is PutAdminClaim for several processes: a code that was made
// since a time stays, and made is false.
func (d *DB) OfferAdminClaim(ctx context.Context, hash []byte, at, since time.Time) (made, open bool, err error) {
	err = d.tx(ctx, func(tx *writeTx) error {
		made, open = false, false
		if _, err := tx.Exec("DELETE FROM claims WHERE name = 'admin' AND (created_at < $1 OR EXISTS (SELECT 1 FROM users WHERE admin))", msOf(since)); err != nil {
			return err
		}
		var claimed bool
		if err := tx.QueryRow("SELECT EXISTS (SELECT 1 FROM users WHERE admin)").Scan(&claimed); err != nil || claimed {
			return err
		}
		n, err := tx.Exec("INSERT INTO claims (name, hash, created_at) VALUES ('admin', $1, $2) ON CONFLICT (name) DO NOTHING", hash, msOf(at))
		made, open = n == 1, err == nil
		return err
	})
	return made && err == nil, open && err == nil, err
}

// HasAdminClaim reports whether the code with this hash is open.
func (d *DB) HasAdminClaim(ctx context.Context, hash []byte) (open bool, err error) {
	err = d.queryRow(ctx, "SELECT EXISTS (SELECT 1 FROM claims WHERE name = 'admin' AND hash = $1)", hash).Scan(&open)
	return open, d.failed("read a claim", err)
}
