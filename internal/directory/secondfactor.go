package directory

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// SecondFactor returns a user's second factor, not_found if there is none.
func (d *DB) SecondFactor(ctx context.Context, user im.UserID) (im.SecondFactor, error) {
	var f im.SecondFactor
	err := d.queryRow(ctx, `
		SELECT sealed, active, last_step, (SELECT COUNT(*) FROM recovery_codes WHERE user_id = $1)
		FROM second_factors WHERE user_id = $1`, user).Scan(&f.Sealed, &f.Active, &f.Step, &f.Recovery)
	if errors.Is(err, sql.ErrNoRows) {
		return f, im.Errorf(im.CodeNotFound, "there is no second factor")
	}
	return f, d.failed("read a second factor", err)
}

// PutSecondFactor keeps a sealed secret that waits for its first code, in the place of
// one that does. already_exists: one is active.
func (d *DB) PutSecondFactor(ctx context.Context, user im.UserID, sealed []byte, at time.Time) error {
	return d.tx(ctx, func(tx *writeTx) error {
		if err := lockLiving(tx, user); err != nil {
			return err
		}
		n, err := tx.Exec(`
			INSERT INTO second_factors (user_id, sealed, created_at) VALUES ($1, $2, $3)
			ON CONFLICT (user_id) DO UPDATE SET sealed = excluded.sealed, created_at = excluded.created_at WHERE NOT second_factors.active`,
			user, sealed, msOf(at))
		if err == nil && n == 0 {
			return im.Errorf(im.CodeAlreadyExists, "there is a second factor; disable it first")
		}
		return err
	})
}

// ActivateSecondFactor makes logins need the secret that is sealed like this, of which a
// code was right, and keeps hashes of recovery codes. conflict: another one is there.
func (d *DB) ActivateSecondFactor(ctx context.Context, user im.UserID, sealed []byte, step int64, recovery [][]byte, notices ...im.Promise) error {
	return d.tx(ctx, func(tx *writeTx) error {
		// The user's row first: a login that looked before this holds it until its session is open.
		if err := lockLiving(tx, user); err != nil {
			return err
		}
		n, err := tx.Exec("UPDATE second_factors SET active = TRUE, last_step = $3 WHERE user_id = $1 AND sealed = $2 AND NOT active", user, sealed, step)
		if err != nil {
			return err
		}
		if n == 0 {
			return im.Errorf(im.CodeConflict, "the secret was changed at the same time")
		}
		if err := putRecovery(tx, user, recovery); err != nil {
			return err
		}
		return promiseAll(tx, notices)
	})
}

// ChangeSecondFactor uses a code up and makes the change, in one step. bad_credentials:
// the code was used.
func (d *DB) ChangeSecondFactor(ctx context.Context, user im.UserID, step im.SecondStep, change im.SecondChange, notices ...im.Promise) error {
	return d.tx(ctx, func(tx *writeTx) error {
		if err := lockLiving(tx, user); err != nil {
			return err
		}
		if change.Keep && step.Step == 0 && step.Recovery == nil {
			return promiseAll(tx, notices)
		}
		if err := useStep(tx, user, &step); err != nil {
			return err
		}
		if change.Remove {
			if err := removeSecondFactor(tx, user); err != nil {
				return err
			}
		} else if !change.Keep {
			if err := putRecovery(tx, user, change.Recovery); err != nil {
				return err
			}
		}
		return promiseAll(tx, notices)
	})
}

func promiseAll(tx *writeTx, notices []im.Promise) error {
	for _, p := range notices {
		if err := promise(tx, p); err != nil {
			return err
		}
	}
	return nil
}

func removeSecondFactor(tx *writeTx, user im.UserID) error {
	for _, query := range []string{
		"DELETE FROM second_factors WHERE user_id = $1", "DELETE FROM recovery_codes WHERE user_id = $1", "DELETE FROM tickets WHERE user_id = $1 AND kind = 1",
	} {
		if _, err := tx.Exec(query, user); err != nil {
			return err
		}
	}
	return nil
}

func putRecovery(tx *writeTx, user im.UserID, hashes [][]byte) error {
	if _, err := tx.Exec("DELETE FROM recovery_codes WHERE user_id = $1", user); err != nil {
		return err
	}
	for _, h := range hashes {
		if _, err := tx.Exec("INSERT INTO recovery_codes (user_id, hash) VALUES ($1, $2)", user, h); err != nil {
			return err
		}
	}
	return nil
}

// useStep uses a right code up. Of two who come with the same one, one finds it used.
func useStep(tx *writeTx, user im.UserID, step *im.SecondStep) error {
	query, args := "UPDATE second_factors SET last_step = $2 WHERE user_id = $1 AND active AND last_step < $2", []any{user, step.Step}
	if step.Recovery != nil {
		query, args = "DELETE FROM recovery_codes WHERE user_id = $1 AND hash = $2", []any{user, step.Recovery}
	}
	n, err := tx.Exec(query, args...)
	if err == nil && n == 0 {
		return im.Errorf(im.CodeBadCredentials, "the code is wrong or was used")
	}
	return err
}

// useSecond is what a session needs of the second factor of its user, whose row is locked.
func useSecond(tx *writeTx, o *im.SessionOpening) error {
	if o.Second == nil {
		if o.IfPasswordHash == "" && o.Identity == nil {
			return nil
		}
		// By a statement of its own, after the lock: it sees what was activated before.
		var active bool
		err := tx.QueryRow("SELECT EXISTS (SELECT 1 FROM second_factors WHERE user_id = $1 AND active)", o.Session.User).Scan(&active)
		if err == nil && active {
			return im.Errorf(im.CodeConflict, "a second factor was added at the same time")
		}
		return err
	}
	n, err := tx.Exec("DELETE FROM tickets WHERE hash = $1 AND kind = $2", o.Ticket, im.TicketLogin)
	if err != nil {
		return err
	}
	if n == 0 {
		return im.Errorf(im.CodeConflict, "the login was gone on with at the same time")
	}
	return useStep(tx, o.Session.User, o.Second)
}

// tidiedTickets is how many tickets that are over are removed with a new one.
const tidiedTickets = 16

// PutTicket keeps a ticket; of its user and kind at most the newest most are kept.
func (d *DB) PutTicket(ctx context.Context, t im.Ticket, most int) error {
	return d.tx(ctx, func(tx *writeTx) error {
		// Those that are over for a while: until then, who comes late is told so.
		if _, err := tx.Exec("DELETE FROM tickets WHERE hash IN (SELECT hash FROM tickets WHERE expires_at < $1 LIMIT $2)",
			msOf(t.Created.AddDate(0, 0, -7)), tidiedTickets); err != nil {
			return err
		}
		if err := lockLiving(tx, t.User); err != nil {
			return err
		}
		if _, err := tx.Exec(`
			DELETE FROM tickets WHERE hash IN (SELECT hash FROM tickets WHERE user_id = $1 AND kind = $2 ORDER BY created_at DESC, hash LIMIT 1000 OFFSET $3)`,
			t.User, t.Kind, most-1); err != nil {
			return err
		}
		_, err := tx.Exec("INSERT INTO tickets (hash, kind, user_id, bound, flag, tries, created_at, expires_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
			t.Hash, t.Kind, t.User, t.Bound, t.Flag, t.Tries, msOf(t.Created), msOf(t.Expires))
		return err
	})
}

const ticketColumns = "user_id, bound, flag, tries, created_at, expires_at"

// scanTicket reads a ticket. not_found: there is no such ticket, or none of its tries is
// left; too_late: its time is over.
func (d *DB) scanTicket(row *sql.Row, kind im.TicketKind, hash []byte, now time.Time) (im.Ticket, error) {
	t := im.Ticket{Hash: hash, Kind: kind}
	var created, expires int64
	err := row.Scan(&t.User, &t.Bound, &t.Flag, &t.Tries, &created, &expires)
	t.Created, t.Expires = timeOf(created), timeOf(expires)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return t, im.Errorf(im.CodeNotFound, "there is no such ticket, or it was used")
	case err == nil && !now.Before(t.Expires):
		return t, im.Errorf(im.CodeTooLate, "the ticket's time is over")
	}
	return t, err
}

// Ticket returns a ticket as it is; errors are scanTicket's.
func (d *DB) Ticket(ctx context.Context, kind im.TicketKind, hash []byte, now time.Time) (im.Ticket, error) {
	t, err := d.scanTicket(d.queryRow(ctx, "SELECT "+ticketColumns+" FROM tickets WHERE hash = $1 AND kind = $2 AND tries > 0", hash, kind), kind, hash, now)
	return t, d.failed("read a ticket", err)
}

// TryTicket takes one of a ticket's tries; errors are scanTicket's.
func (d *DB) TryTicket(ctx context.Context, kind im.TicketKind, hash []byte, now time.Time) (t im.Ticket, err error) {
	err = d.tx(ctx, func(tx *writeTx) error {
		t, err = d.scanTicket(tx.QueryRow("UPDATE tickets SET tries = tries - 1 WHERE hash = $1 AND kind = $2 AND tries > 0 RETURNING "+ticketColumns, hash, kind), kind, hash, now)
		return err
	})
	return t, err
}

// ResetPassword uses a reset ticket up: it sets the hash of a new password, ends all
// sessions of the user, which it returns, and every login under way, and takes the second
// factor away if the ticket says so. not_found: the ticket was used.
func (d *DB) ResetPassword(ctx context.Context, t im.Ticket, hash string, at time.Time, notices ...im.Promise) ([]im.SessionID, error) {
	var ended []im.SessionID
	err := d.tx(ctx, func(tx *writeTx) error {
		if err := lockLiving(tx, t.User); err != nil {
			return err
		}
		n, err := tx.Exec("DELETE FROM tickets WHERE hash = $1 AND kind = $2 AND user_id = $3", t.Hash, im.TicketReset, t.User)
		if err != nil {
			return err
		}
		if n == 0 {
			return im.Errorf(im.CodeNotFound, "the link was used")
		}
		if _, err := tx.Exec("UPDATE users SET password_hash = $2 WHERE id = $1", t.User, hash); err != nil {
			return err
		}
		if _, err := tx.Exec("DELETE FROM tickets WHERE user_id = $1", t.User); err != nil {
			return err
		}
		if t.Flag {
			if err := removeSecondFactor(tx, t.User); err != nil {
				return err
			}
		}
		if ended, err = endSessions(tx, t.User, "", "", at); err != nil {
			return err
		}
		return promiseAll(tx, notices)
	})
	return ended, err
}
