package directory

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/skein-im/skein/internal/im"
)

const contactColumns = "peer_id, state, blocked, remark, message, changed_at, tags, " + askedAt + ", ask_after, refusals, revision"

// askedAt is when a request was made: a program of before noted the last change only.
const askedAt = "COALESCE(NULLIF(asked_at, 0), changed_at)"

func scanContact(row interface{ Scan(...any) error }) (im.Contact, error) {
	var c im.Contact
	var changed, asked, after int64
	err := row.Scan(&c.User, &c.State, &c.Blocked, &c.Remark, &c.Message, &changed, &c.Tags, &asked, &after, &c.Refusals, &c.Revision)
	c.Changed, c.AskAfter = timeOf(changed), timeOf(after)
	if c.State == im.ContactAsked || c.State == im.ContactAsksMe {
		c.Asked = timeOf(asked)
	}
	return c, err
}

// UpdateContacts reads both sides of a pair, lets decide change them, and
// writes them with the promises it returns, in one transaction. found is false
// when one of the users does not exist, or peer's account was deleted.
func (d *DB) UpdateContacts(ctx context.Context, user, peer im.UserID, decide func(mine, theirs *im.Contact) ([]im.Promise, error)) (found bool, err error) {
	err = d.tx(ctx, func(tx *writeTx) error {
		var users int
		if err := tx.QueryRow("SELECT COUNT(*) FROM users WHERE id = $1 OR id = $2 AND deleted_at = 0", user, peer).Scan(&users); err != nil {
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
		wasMine, wasTheirs := mine, theirs
		promises, err := decide(&mine, &theirs)
		if err != nil {
			return err
		}
		first, second := changedSide{user, wasMine, mine}, changedSide{peer, wasTheirs, theirs}
		if peer < user { // whoever counts revisions locks the lesser user's first
			first, second = second, first
		}
		if err := errors.Join(first.put(tx), second.put(tx)); err != nil {
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

// changedSide is a side of a pair that is locked, as it was and as it is to be.
type changedSide struct {
	user    im.UserID
	was, is im.Contact
}

// put writes the side under the user's next revision, if it is another one now. A side
// that never had anything to tell has no row.
func (c changedSide) put(tx *writeTx) error {
	is := &c.is
	is.Revision = c.was.Revision
	if *is == c.was {
		if is.Revision > 0 || is.State != im.ContactNone || is.Blocked {
			return nil
		}
		_, err := tx.Exec("DELETE FROM contacts WHERE user_id = $1 AND peer_id = $2", c.user, is.User)
		return err
	}
	var err error
	if is.Revision, err = nextRevision(tx, c.user); err != nil {
		return err
	}
	_, err = tx.Exec(`
		UPDATE contacts SET state = $3, blocked = $4, remark = $5, message = $6, changed_at = $7,
			tags = $8, asked_at = $9, ask_after = $10, refusals = $11, revision = $12
		WHERE user_id = $1 AND peer_id = $2`,
		c.user, is.User, int64(is.State), is.Blocked, is.Remark, is.Message, msOf(is.Changed),
		is.Tags, msOf(is.Asked), msOf(is.AskAfter), int64(is.Refusals), int64(is.Revision))
	return err
}

// Contacts returns at most limit contacts, blocks, and requests made after lapsed of a
// user behind a user id, by user id.
func (d *DB) Contacts(ctx context.Context, user, after im.UserID, lapsed time.Time, limit int) ([]im.Contact, error) {
	return list(ctx, d, func(r *sql.Rows) (im.Contact, error) { return scanContact(r) },
		"SELECT "+contactColumns+` FROM contacts
		WHERE user_id = $1 AND peer_id > $2 AND (state = 1 OR blocked OR state IN (2, 3) AND `+askedAt+` > $4)
		ORDER BY peer_id LIMIT $3`, user, after, limit, msOf(lapsed))
}

// ContactsSince returns at most limit sides of a user that changed after a revision,
// in the order of their changes, also those that have nothing to tell any more.
func (d *DB) ContactsSince(ctx context.Context, user im.UserID, revision uint64, limit int) ([]im.Contact, error) {
	return list(ctx, d, func(r *sql.Rows) (im.Contact, error) { return scanContact(r) },
		"SELECT "+contactColumns+" FROM contacts WHERE user_id = $1 AND revision > $2 ORDER BY revision LIMIT $3", user, int64(revision), limit)
}

// ContactRevision returns a user's revision, and the one up to which what was removed
// is not remembered.
func (d *DB) ContactRevision(ctx context.Context, user im.UserID) (revision, floor uint64, err error) {
	err = d.queryRow(ctx, "SELECT revision, floor FROM contact_revisions WHERE user_id = $1", user).Scan(&revision, &floor)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, 0, nil
	}
	return revision, floor, d.failed("read", err)
}

// LapsedRequests returns at most limit requests that were made up to a time and are
// open: who asked, and whom.
func (d *DB) LapsedRequests(ctx context.Context, lapsed time.Time, limit int) ([][2]im.UserID, error) {
	return list(ctx, d, func(r *sql.Rows) (p [2]im.UserID, err error) {
		err = r.Scan(&p[0], &p[1])
		return p, err
	}, "SELECT user_id, peer_id FROM contacts WHERE state = 2 AND "+askedAt+" <= $1 LIMIT $2", msOf(lapsed), limit)
}

// PurgeContacts forgets some of the sides that have nothing to tell since a time, and
// whose user may ask again by now; more tells that there are more.
func (d *DB) PurgeContacts(ctx context.Context, before, now time.Time, limit int) (more bool, err error) {
	err = d.tx(ctx, func(tx *writeTx) error {
		more = false
		rows, err := tx.Query("SELECT user_id, peer_id, revision FROM contacts WHERE state = 4 AND NOT blocked AND changed_at < $1 AND ask_after <= $2 ORDER BY user_id, peer_id LIMIT $3", msOf(before), msOf(now), limit)
		if err != nil {
			return err
		}
		type over struct {
			user, peer im.UserID
			revision   int64
		}
		all, err := scanAll(rows, func(r *sql.Rows) (o over, err error) {
			err = r.Scan(&o.user, &o.peer, &o.revision)
			return o, err
		})
		if err != nil {
			return err
		}
		more = len(all) == limit
		for _, o := range all {
			// A row that changed meanwhile has another revision, and stays.
			if n, err := tx.Exec("DELETE FROM contacts WHERE user_id = $1 AND peer_id = $2 AND revision = $3", o.user, o.peer, o.revision); err != nil {
				return err
			} else if n == 0 {
				continue
			}
			if _, err := tx.Exec("UPDATE contact_revisions SET floor = $2 WHERE user_id = $1 AND floor < $2", o.user, o.revision); err != nil {
				return err
			}
		}
		return nil
	})
	return more, err
}

// Gate returns what decides whether from may write to to: whom to takes
// messages from, and to's side of the pair. found is false when there is no user to.
func (d *DB) Gate(ctx context.Context, from, to im.UserID) (policy im.DMPolicy, side im.Contact, found bool, err error) {
	side = im.Contact{User: from}
	err = d.queryRow(ctx, `
		SELECT u.dm_policy, COALESCE(c.state, $3), COALESCE(c.blocked, FALSE),
			EXISTS (SELECT 1 FROM wrote_first w WHERE w.user_id = $2 AND w.peer_id = $1), EXISTS (SELECT 1 FROM wrote_first w WHERE w.user_id = $1 AND w.peer_id = $2)
		FROM users u LEFT JOIN contacts c ON c.user_id = u.id AND c.peer_id = $1
		WHERE u.id = $2 AND NOT EXISTS (SELECT 1 FROM users f WHERE f.id = $1 AND f.deleted_at <> 0)`, from, to, int64(im.ContactNone)).Scan(&policy, &side.State, &side.Blocked, &side.Answer, &side.Wrote)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, side, false, nil
	}
	return policy, side, err == nil, d.failed("read", err)
}

// NoteWrote notes that a user wrote to another, who may answer from then on. Again it does
// nothing, and for a user who is not there as well.
func (d *DB) NoteWrote(ctx context.Context, from, to im.UserID) error {
	return d.alone(ctx, `INSERT INTO wrote_first (user_id, peer_id)
			SELECT a.id, b.id FROM users a, users b WHERE a.id = $1 AND b.id = $2 AND a.deleted_at = 0 AND b.deleted_at = 0
			ON CONFLICT DO NOTHING`, from, to)
}

// ForgetWrote takes back what NoteWrote noted, and tells whether there was anything.
func (d *DB) ForgetWrote(ctx context.Context, from, to im.UserID) (was bool, err error) {
	if err := d.queryRow(ctx, "SELECT EXISTS (SELECT 1 FROM wrote_first WHERE user_id = $1 AND peer_id = $2)", from, to).Scan(&was); err != nil || !was {
		return false, d.failed("read", err)
	}
	return true, d.tx(ctx, func(tx *writeTx) error {
		_, err := tx.Exec("DELETE FROM wrote_first WHERE user_id = $1 AND peer_id = $2", from, to)
		return err
	})
}
