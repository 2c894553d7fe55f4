package directory

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/skein-im/skein/internal/im"
)

const contactColumns = "peer_id, state, blocked, remark, message, changed_at"

func scanContact(row interface{ Scan(...any) error }) (im.Contact, error) {
	var c im.Contact
	var changed int64
	err := row.Scan(&c.User, &c.State, &c.Blocked, &c.Remark, &c.Message, &changed)
	c.Changed = timeOf(changed)
	return c, err
}

// UpdateContacts reads both sides of a pair, lets decide change them, and
// writes them with the promises it returns, in one transaction. found is false
// when one of the users does not exist.
func (d *DB) UpdateContacts(ctx context.Context, user, peer im.UserID, decide func(mine, theirs *im.Contact) ([]im.Promise, error)) (found bool, err error) {
	err = d.tx(ctx, func(tx *writeTx) error {
		var users int
		if err := tx.QueryRow("SELECT COUNT(*) FROM users WHERE id IN ($1, $2)", user, peer).Scan(&users); err != nil {
			return err
		}
		if found = users == 2; !found {
			return nil
		}
		if err := lockPair(tx, user, peer); err != nil {
			return err
		}
		mine, err := side(tx, user, peer)
		if err != nil {
			return err
		}
		theirs, err := side(tx, peer, user)
		if err != nil {
			return err
		}
		promises, err := decide(&mine, &theirs)
		if err != nil {
			return err
		}
		if err := errors.Join(putSide(tx, user, mine), putSide(tx, peer, theirs)); err != nil {
			return err
		}
		for _, p := range promises {
			if ok, err := insertPromise(tx, p); err != nil || !ok {
				return errors.Join(err, fmt.Errorf("promise %s was not stored", p.ID))
			}
		}
		return nil
	})
	return found, err
}

// lockPair makes both rows exist and locks them, the lesser user's first so
// that the two sides of a pair cannot wait for each other.
func lockPair(tx *writeTx, user, peer im.UserID) error {
	if user > peer {
		user, peer = peer, user
	}
	for _, pair := range [...][2]im.UserID{{user, peer}, {peer, user}} {
		if _, err := tx.Exec(`
			INSERT INTO contacts (user_id, peer_id, state, blocked, remark, message, changed_at)
			VALUES ($1, $2, $3, FALSE, '', '', 0)
			ON CONFLICT (user_id, peer_id) DO UPDATE SET state = contacts.state`,
			pair[0], pair[1], int64(im.ContactNone)); err != nil {
			return err
		}
	}
	return nil
}

func side(tx *writeTx, user, peer im.UserID) (im.Contact, error) {
	return scanContact(tx.QueryRow("SELECT "+contactColumns+" FROM contacts WHERE user_id = $1 AND peer_id = $2", user, peer))
}

// putSide writes a side that is locked; one with nothing to tell is removed.
func putSide(tx *writeTx, user im.UserID, c im.Contact) error {
	if c.State == im.ContactNone && !c.Blocked {
		_, err := tx.Exec("DELETE FROM contacts WHERE user_id = $1 AND peer_id = $2", user, c.User)
		return err
	}
	_, err := tx.Exec(`
		UPDATE contacts SET state = $3, blocked = $4, remark = $5, message = $6, changed_at = $7
		WHERE user_id = $1 AND peer_id = $2`,
		user, c.User, int64(c.State), c.Blocked, c.Remark, c.Message, msOf(c.Changed))
	return err
}

// Contacts returns at most limit contacts, requests and blocks of a user behind
// a user id, by user id.
func (d *DB) Contacts(ctx context.Context, user, after im.UserID, limit int) ([]im.Contact, error) {
	return list(ctx, d, func(r *sql.Rows) (im.Contact, error) { return scanContact(r) },
		"SELECT "+contactColumns+" FROM contacts WHERE user_id = $1 AND peer_id > $2 ORDER BY peer_id LIMIT $3", user, after, limit)
}

// Gate returns what decides whether from may write to to: whether to takes
// messages from everyone, and to's side of the pair. found is false when there
// is no user to.
func (d *DB) Gate(ctx context.Context, from, to im.UserID) (everyone bool, side im.Contact, found bool, err error) {
	side = im.Contact{User: from}
	var policy im.DMPolicy
	err = d.queryRow(ctx, `
		SELECT u.dm_policy, COALESCE(c.state, $3), COALESCE(c.blocked, FALSE)
		FROM users u LEFT JOIN contacts c ON c.user_id = u.id AND c.peer_id = $1
		WHERE u.id = $2`, from, to, int64(im.ContactNone)).Scan(&policy, &side.State, &side.Blocked)
	if errors.Is(err, sql.ErrNoRows) {
		return false, side, false, nil
	}
	return policy == im.DMEveryone, side, err == nil, d.failed("read", err)
}

// FriendsAmong returns those of others who are contacts of user and have not
// blocked them.
func (d *DB) FriendsAmong(ctx context.Context, user im.UserID, others []im.UserID) ([]im.UserID, error) {
	return d.among(ctx, "SELECT user_id FROM contacts WHERE peer_id = $1 AND state = 1 AND NOT blocked AND user_id IN ", user, others)
}
