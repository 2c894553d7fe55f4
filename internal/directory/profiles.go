package directory

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"

	"github.com/skein-im/skein/internal/im"
)

// UpdateUser changes what is given (nil and 0 keep what is there) and returns
// the user as it is then, or not_found. Notices are promised in the same
// transaction if that is a change; if others see it, it is noted for TellProfile.
func (d *DB) UpdateUser(ctx context.Context, id im.UserID, change im.ProfileChange, notices ...im.Promise) (im.User, error) {
	var u im.User
	err := d.tx(ctx, func(tx *writeTx) error {
		if _, err := tx.Exec("UPDATE users SET dm_policy = dm_policy WHERE id = $1", id); err != nil {
			return err
		}
		was, err := scanUser(tx.QueryRow("SELECT "+userColumns+" FROM users WHERE id = $1", id))
		if err != nil {
			return err
		}
		if err := notDeleted(tx, id); err != nil {
			return err
		}
		if u, err = change.Of(was); err != nil || u.Is(&was) {
			return err
		}
		if err := putUser(tx, &u); err != nil {
			return err
		}
		if err := showPicture(tx, userHolder, string(id), id, was.Profile.Picture, u.Profile.Picture); err != nil {
			return err
		}
		if !u.ShowsAs(&was) {
			if _, err := tx.Exec("INSERT INTO profile_news (user_id) VALUES ($1) ON CONFLICT (user_id) DO UPDATE SET again = TRUE", id); err != nil {
				return err
			}
		}
		for _, p := range notices {
			if err := promise(tx, p); err != nil {
				return err
			}
		}
		return nil
	})
	if errors.Is(err, sql.ErrNoRows) {
		return im.User{}, im.Errorf(im.CodeNotFound, "no such user")
	}
	return u, err
}

// putUser writes what a user may change of themselves. The row is locked.
func putUser(tx *writeTx, u *im.User) error {
	profile := ""
	if !u.Profile.Is(&im.Profile{}) {
		b, err := json.Marshal(&u.Profile)
		if err != nil {
			return err
		}
		profile = string(b)
	}
	_, err := tx.Exec(`
		UPDATE users SET display_name = $2, search_name = $3, dm_policy = $4, group_policy = $5, find_policy = $6, profile = $7,
			presence_policy = $8, hide_reads = $9
		WHERE id = $1`,
		u.ID, u.DisplayName, folded(u.DisplayName), int64(u.DMPolicy), int64(u.GroupPolicy), int64(u.FindPolicy), profile,
		int64(u.PresencePolicy), u.HideReads)
	return err
}

// TellProfile has some of the contacts of one user whose profile changed, the first
// behind after, told: each, unless one of the two blocked the other, gets the next revision of their list,
// and the promise that notice makes. It returns who it was and the promises; "": there is
// nobody behind after. When all are told, the user is forgotten, unless the profile
// changed again meanwhile: then all are told again. limit is how many at a time.
func (d *DB) TellProfile(ctx context.Context, after im.UserID, limit int, notice func(owner, changed im.UserID) im.Promise) (changed im.UserID, told []im.Promise, err error) {
	err = d.tx(ctx, func(tx *writeTx) error {
		changed, told = "", nil
		err := tx.QueryRow("SELECT user_id FROM profile_news WHERE user_id > $1 ORDER BY user_id LIMIT 1", after).Scan(&changed)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		if n, err := tx.Exec("UPDATE profile_news SET told = told WHERE user_id = $1", changed); err != nil || n == 0 {
			return err // another node ended it just now
		}
		var to im.UserID
		var again bool
		if err := tx.QueryRow("SELECT told, again FROM profile_news WHERE user_id = $1", changed).Scan(&to, &again); err != nil {
			return err
		}
		rows, err := tx.Query("SELECT peer_id FROM contacts WHERE user_id = $1 AND peer_id > $2 AND state = 1 AND NOT blocked ORDER BY peer_id LIMIT $3", changed, to, limit)
		if err != nil {
			return err
		}
		friends, err := scanAll(rows, func(r *sql.Rows) (u im.UserID, err error) {
			err = r.Scan(&u)
			return u, err
		})
		if err != nil {
			return err
		}
		for _, f := range friends { // in the order in which all who count revisions lock
			p := notice(f, changed)
			if ok, err := tellFriend(tx, f, changed, p); err != nil {
				return err
			} else if ok {
				told = append(told, p)
			}
			to = f
		}
		switch {
		case len(friends) == limit:
			_, err = tx.Exec("UPDATE profile_news SET told = $2 WHERE user_id = $1", changed, to)
		case again:
			_, err = tx.Exec("UPDATE profile_news SET told = '', again = FALSE WHERE user_id = $1", changed)
		default:
			_, err = tx.Exec("DELETE FROM profile_news WHERE user_id = $1", changed)
		}
		return err
	})
	return changed, told, err
}

// tellFriend notes in the list of a contact that somebody's profile is another, unless
// they are none any more, or blocked them.
func tellFriend(tx *writeTx, friend, changed im.UserID, p im.Promise) (bool, error) {
	n, err := tx.Exec("UPDATE contacts SET state = state WHERE user_id = $1 AND peer_id = $2 AND state = 1 AND NOT blocked", friend, changed)
	if err != nil || n == 0 {
		return false, err
	}
	revision, err := nextRevision(tx, friend)
	if err != nil {
		return false, err
	}
	if _, err := tx.Exec("UPDATE contacts SET revision = $3 WHERE user_id = $1 AND peer_id = $2", friend, changed, int64(revision)); err != nil {
		return false, err
	}
	return true, promise(tx, p)
}

// nextRevision is the next one of a user's list.
func nextRevision(tx *writeTx, user im.UserID) (revision uint64, err error) {
	err = tx.QueryRow(`
		INSERT INTO contact_revisions (user_id, revision, floor) VALUES ($1, 1, 0)
		ON CONFLICT (user_id) DO UPDATE SET revision = contact_revisions.revision + 1
		RETURNING revision`, user).Scan(&revision)
	return revision, err
}
