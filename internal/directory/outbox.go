package directory

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/skein-im/skein/internal/im"
)

const promiseColumns = "id, conversation, sender, event, if_roster, set_roster"

func scanPromise(row interface{ Scan(...any) error }, more ...any) (im.Promise, error) {
	var p im.Promise
	var id, event []byte
	if err := row.Scan(append([]any{&id, &p.Conversation, &p.Sender, &event, &p.IfRoster, &p.SetRoster}, more...)...); err != nil {
		return p, err
	}
	if copy(p.ID[:], id) != len(p.ID) {
		return p, fmt.Errorf("promise with an id of %d bytes", len(id))
	}
	if err := json.Unmarshal(event, &p.Event); err != nil {
		return p, fmt.Errorf("promise %s: %w", p.ID, err)
	}
	return p, nil
}

// insertPromise adds a promise behind all others; false means that the
// conversation has a promised roster change already.
func insertPromise(tx *writeTx, p im.Promise) (bool, error) {
	event, err := json.Marshal(p.Event)
	if err != nil {
		return false, err
	}
	n, err := tx.Exec(`
		INSERT INTO outbox (id, place, conversation, sender, event, if_roster, set_roster)
		VALUES ($1, `+tx.place+`, $2, $3, $4, $5, $6)
		ON CONFLICT DO NOTHING`,
		p.ID[:], p.Conversation, p.Sender, string(event), int64(p.IfRoster), int64(p.SetRoster))
	return n == 1, err
}

// Pending returns at most limit promises behind a place, in the order they were
// made, and the last one's place. With several writers a promise may appear
// behind a later one's place, when its transaction took longer: who reads page
// after page finds it when they begin again. Promises of one conversation whose
// order matters were made one after the other, and have places in that order.
func (d *DB) Pending(ctx context.Context, after int64, limit int) (ps []im.Promise, last int64, err error) {
	last = after
	ps, err = list(ctx, d, func(r *sql.Rows) (im.Promise, error) { return scanPromise(r, &last) },
		"SELECT "+promiseColumns+", place FROM outbox WHERE place > $1 ORDER BY place LIMIT $2", after, limit)
	return ps, last, err
}

// PendingOf returns a conversation's promises in the order they were made.
func (d *DB) PendingOf(ctx context.Context, c im.ConversationID) ([]im.Promise, error) {
	return list(ctx, d, func(r *sql.Rows) (im.Promise, error) { return scanPromise(r) },
		"SELECT "+promiseColumns+" FROM outbox WHERE conversation = $1 ORDER BY place", c)
}

// Apply makes the change of a promise visible, with the seq of its entry, and
// deletes the promise. When the promise is gone, it was applied: nothing happens.
func (d *DB) Apply(ctx context.Context, p im.Promise, seq uint64) error {
	if p.SetRoster == 0 {
		return d.tx(ctx, func(tx *writeTx) error {
			n, err := tx.Exec("DELETE FROM outbox WHERE id = $1", p.ID[:])
			if err == nil && n == 1 && p.Event.Type == im.EventLifetimeChanged { // of a dm
				err = setLifetime(tx, p.Conversation, seq, p.Event.Lifetime, p.ID.Time())
			}
			return err
		})
	}
	done := false
	err := d.tx(ctx, func(tx *writeTx) error {
		done = false
		// The group's row first, as everywhere: who held the promise's row and waited
		// for the group's would meet one who promises the next change.
		moved, err := tx.Exec("UPDATE groups SET rev = $1 WHERE conversation = $2 AND rev = $3",
			int64(p.SetRoster), p.Conversation, int64(p.IfRoster))
		if err != nil {
			return err
		}
		there, err := tx.Exec("DELETE FROM outbox WHERE id = $1", p.ID[:])
		switch {
		case err != nil:
			return err
		case there == 0 && moved == 0:
			return nil
		case there == 0:
			return errNoPromise
		case moved == 0:
			return fmt.Errorf("promise %s: %s is not at roster revision %d", p.ID, p.Conversation, p.IfRoster)
		}
		done = true
		return applyRoster(tx, p, seq)
	})
	d.applied(p, done, err)
	if errors.Is(err, errNoPromise) {
		return nil
	}
	return err
}

// errNoPromise undoes the application of what nobody promised.
var errNoPromise = errors.New("directory: there is no such promise")
