package directory

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// usernameShape is the expression of the index users_shape, of im.UsernameShape.
const usernameShape = `replace(replace(replace(replace(replace(replace(username, '1', 'l'), '0', 'o'), 'rn', 'm'), 'vv', 'w'), '_', '-'), '.', '-')`

// LooksLike returns a username that looks the same as another one, and is not it, nor
// except's: "" if there is none.
func (d *DB) LooksLike(ctx context.Context, name string, except im.UserID) (like string, err error) {
	err = d.queryRow(ctx, "SELECT username FROM users WHERE "+usernameShape+" = $1 AND username <> $2 AND id <> $3 LIMIT 1", im.UsernameShape(name), name, string(except)).Scan(&like)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return like, d.failed("look for a username", err)
}

// heldByOther tells whether a username was another user's and is held for them still.
func heldByOther(tx *writeTx, name string, user im.UserID, now time.Time) (bool, error) {
	var held bool
	err := tx.QueryRow("SELECT EXISTS (SELECT 1 FROM former_usernames WHERE name = $1 AND user_id <> $2 AND held_until > $3)", name, user, msOf(now)).Scan(&held)
	return held, err
}

// Rename gives a user another username and holds the old one for them. already_exists: it
// is another's, or held for another; rate_limited: the last change was too short a time ago;
// permission_denied: the user has no username.
func (d *DB) Rename(ctx context.Context, r im.Renaming, notices ...im.Promise) (u im.User, err error) {
	err = d.tx(ctx, func(tx *writeTx) error {
		if err := lockLiving(tx, r.User); err != nil {
			return err
		}
		var renamed int64
		if u, err = scanUser(tx.QueryRow("SELECT "+userColumns+", renamed_at FROM users WHERE id = $1", r.User), &renamed); err != nil || u.Username == r.Name {
			return err
		}
		if u.Username == "" {
			return im.Errorf(im.CodePermissionDenied, "this user has no username")
		}
		if wait := timeOf(renamed).Add(r.Every).Sub(r.At); r.Every > 0 && renamed > 0 && wait > 0 {
			e := im.Errorf(im.CodeRateLimited, "a username may be changed once in %d days; the next time is in %d hours", r.Every/(24*time.Hour), 1+int(wait/time.Hour))
			e.RetryAfter = wait
			return e
		}
		if err := nameIsFree(tx, r.Name, r.At); err != nil {
			return err
		}
		// The new name's row is what two who want it at once wait for each other at. As long
		// as it is used, its holder is who has it.
		n, err := tx.Exec(`
			INSERT INTO former_usernames (name, user_id, held_until) VALUES ($1, $2, $3)
			ON CONFLICT (name) DO UPDATE SET user_id = excluded.user_id, held_until = excluded.held_until
			WHERE former_usernames.user_id = excluded.user_id OR former_usernames.held_until <= $4`, r.Name, r.User, msOf(r.At.Add(r.Hold)), msOf(r.At))
		if err != nil {
			return err
		}
		var taken bool
		if err := tx.QueryRow("SELECT EXISTS (SELECT 1 FROM users WHERE username = $1)", r.Name).Scan(&taken); err != nil {
			return err
		}
		if n == 0 || taken {
			return im.Errorf(im.CodeAlreadyExists, "the username is taken")
		}
		if _, err := tx.Exec(`
			INSERT INTO former_usernames (name, user_id, held_until) VALUES ($1, $2, $3)
			ON CONFLICT (name) DO UPDATE SET user_id = excluded.user_id, held_until = excluded.held_until`, u.Username, r.User, msOf(r.At.Add(r.Hold))); err != nil {
			return err
		}
		if r.Every > 0 {
			renamed = msOf(r.At)
		}
		if _, err := tx.Exec("UPDATE users SET username = $2, renamed_at = $3 WHERE id = $1", r.User, r.Name, renamed); err != nil {
			return err
		}
		u.Username = r.Name
		if _, err := tx.Exec("INSERT INTO profile_news (user_id) VALUES ($1) ON CONFLICT (user_id) DO UPDATE SET again = TRUE", r.User); err != nil {
			return err
		}
		// What nobody is held to any more goes, a little at a time.
		if _, err := tx.Exec("DELETE FROM former_usernames WHERE name IN (SELECT name FROM former_usernames WHERE held_until < $1 LIMIT $2)", msOf(r.At), tidiedTickets); err != nil {
			return err
		}
		return promiseAll(tx, notices)
	})
	return u, err
}

// UserByFormerName returns whose a username was, while it is held for them, or not_found.
func (d *DB) UserByFormerName(ctx context.Context, name string, now time.Time) (im.Credentials, error) {
	var id im.UserID
	err := d.queryRow(ctx, "SELECT user_id FROM former_usernames WHERE name = $1 AND held_until > $2", name, msOf(now)).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		return im.Credentials{}, im.Errorf(im.CodeNotFound, "no such user")
	}
	if err != nil {
		return im.Credentials{}, d.failed("read a former username", err)
	}
	return d.UserCredentials(ctx, id)
}
