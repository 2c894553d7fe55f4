package directory

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/skein-im/skein/internal/im"
)

const scheduledColumns = "user_id, id, conversation, at, created_at, reply_to, body, hash, state, code, reason, thread, also_in_main"

func scanScheduled(row interface{ Scan(...any) error }) (s im.Scheduled, err error) {
	var id []byte
	var at, created, reply, hash, state, thread, also int64
	m := &s.Message
	if err := row.Scan(&s.User, &id, &m.Conversation, &at, &created, &reply, &m.Body, &hash, &state, &s.Code, &s.Text, &thread, &also); err != nil {
		return s, err
	}
	if len(id) != len(m.ID) {
		return s, fmt.Errorf("directory: a scheduled message of %s has an id of %d bytes", s.User, len(id))
	}
	m.ID, m.Kind, m.ReplyTo, m.Hash = im.MessageID(id), im.EntryMessage, uint64(reply), uint64(hash)
	if m.Target = uint64(thread); m.Target != 0 && also == 0 {
		m.Kind = im.EntryReply
	}
	s.At, s.Created, s.State = timeOf(at), timeOf(created), im.ScheduledState(state)
	return s, nil
}

// alsoInMain is 1 where a message of a thread stands in the conversation's own line as well.
func alsoInMain(m *im.Message) int64 {
	if m.Target != 0 && m.Kind == im.EntryMessage {
		return 1
	}
	return 0
}

func scheduledOf(tx *writeTx, u im.UserID, id im.MessageID) (im.Scheduled, error) {
	return scanScheduled(tx.QueryRow("SELECT "+scheduledColumns+" FROM scheduled WHERE user_id = $1 AND id = $2", u, id[:]))
}

func promise(tx *writeTx, p im.Promise) error {
	if ok, err := insertPromise(tx, p); err != nil || !ok {
		return errors.Join(err, fmt.Errorf("promise %s was not stored", p.ID))
	}
	return nil
}

// Schedule keeps a message with the promise of its notice, unless the user has one with
// its id (kept, made is false) or as many as most: too_large.
func (d *DB) Schedule(ctx context.Context, s im.Scheduled, most int, notice im.Promise) (kept im.Scheduled, made bool, err error) {
	err = d.tx(ctx, func(tx *writeTx) error {
		kept, made = s, false
		// The user's row is the lock under which theirs are counted.
		if n, err := tx.Exec("UPDATE users SET dm_policy = dm_policy WHERE id = $1", s.User); err != nil || n == 0 {
			return errors.Join(err, im.Errorf(im.CodeNotFound, "no such user"))
		}
		if err := notDeleted(tx, s.User); err != nil {
			return err
		}
		was, err := scheduledOf(tx, s.User, s.Message.ID)
		if !errors.Is(err, sql.ErrNoRows) {
			kept = was
			return err
		}
		var n int
		if err := tx.QueryRow("SELECT COUNT(*) FROM scheduled WHERE user_id = $1", s.User).Scan(&n); err != nil {
			return err
		}
		if n >= most {
			return im.Errorf(im.CodeTooLarge, "%d messages are scheduled; at most %d are allowed", n, most)
		}
		m := &s.Message
		_, err = tx.Exec("INSERT INTO scheduled ("+scheduledColumns+") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, '', '', $10, $11)",
			s.User, m.ID[:], m.Conversation, msOf(s.At), msOf(s.Created), int64(m.ReplyTo), m.Body, int64(m.Hash), int64(im.ScheduledWaiting), int64(m.Target), alsoInMain(m))
		if err != nil {
			return err
		}
		made = true
		return promise(tx, notice)
	})
	return kept, made && err == nil, err
}

var errNotScheduled = im.Errorf(im.CodeNotFound, "no such scheduled message")

// ChangeScheduled puts what change makes of a message in its place, with the promise of
// its notice; then it waits again. What is as it was is told to nobody. One whose time has come is too_late. change is called
// more than once where the transaction met another one.
func (d *DB) ChangeScheduled(ctx context.Context, u im.UserID, id im.MessageID, notice im.Promise, change func(*im.Scheduled) error) (s im.Scheduled, err error) {
	err = d.tx(ctx, func(tx *writeTx) error {
		if n, err := tx.Exec("UPDATE scheduled SET at = at WHERE user_id = $1 AND id = $2", u, id[:]); err != nil || n == 0 {
			return errors.Join(err, errNotScheduled)
		}
		if s, err = scheduledOf(tx, u, id); err != nil {
			return err
		}
		if s.State == im.ScheduledSending {
			return im.Errorf(im.CodeTooLate, "the message is being sent")
		}
		was := s
		if err := change(&s); err != nil {
			return err
		}
		s.State, s.Code, s.Text = im.ScheduledWaiting, "", ""
		m := &s.Message
		if was.State == s.State && msOf(was.At) == msOf(s.At) && was.Message.ReplyTo == m.ReplyTo && was.Message.Hash == m.Hash && bytes.Equal(was.Message.Body, m.Body) {
			return nil // the same once more: nothing changed, nobody is told
		}
		_, err = tx.Exec("UPDATE scheduled SET at = $3, reply_to = $4, body = $5, hash = $6, state = $7, thread = $8, also_in_main = $9, code = '', reason = '' WHERE user_id = $1 AND id = $2",
			u, id[:], msOf(s.At), int64(m.ReplyTo), m.Body, int64(m.Hash), int64(s.State), int64(m.Target), alsoInMain(m))
		if err != nil {
			return err
		}
		return promise(tx, notice)
	})
	return s, err
}

// CancelScheduled removes a message, with the promise of its notice. One whose time has
// come is too_late.
func (d *DB) CancelScheduled(ctx context.Context, u im.UserID, id im.MessageID, notice im.Promise) error {
	return d.tx(ctx, func(tx *writeTx) error {
		n, err := tx.Exec("DELETE FROM scheduled WHERE user_id = $1 AND id = $2 AND state <> $3", u, id[:], int64(im.ScheduledSending))
		if err != nil {
			return err
		}
		if n == 1 {
			return promise(tx, notice)
		}
		if _, err := scheduledOf(tx, u, id); errors.Is(err, sql.ErrNoRows) {
			return errNotScheduled
		} else if err != nil {
			return err
		}
		return im.Errorf(im.CodeTooLate, "the message is being sent")
	})
}

// Scheduled returns one of a user's; not_found when there is none.
func (d *DB) Scheduled(ctx context.Context, u im.UserID, id im.MessageID) (im.Scheduled, error) {
	s, err := scanScheduled(d.queryRow(ctx, "SELECT "+scheduledColumns+" FROM scheduled WHERE user_id = $1 AND id = $2", u, id[:]))
	if errors.Is(err, sql.ErrNoRows) {
		return s, errNotScheduled
	}
	return s, d.failed("read", err)
}

// ScheduledPage returns at most limit messages of a user behind a place, by their time.
func (d *DB) ScheduledPage(ctx context.Context, u im.UserID, after im.ScheduledPlace, limit int) ([]im.Scheduled, error) {
	return list(ctx, d, func(r *sql.Rows) (im.Scheduled, error) { return scanScheduled(r) },
		"SELECT "+scheduledColumns+" FROM scheduled WHERE user_id = $1 AND (at, created_at, id) > ($2, $3, $4) ORDER BY at, created_at, id LIMIT $5",
		u, msOf(after.At), msOf(after.Created), after.ID[:], limit)
}

// AnyDue tells whether a message's time has come.
func (d *DB) AnyDue(ctx context.Context, now time.Time) (due bool, err error) {
	err = d.queryRow(ctx, "SELECT EXISTS (SELECT 1 FROM scheduled WHERE state IN ($1, $2) AND at <= $3)",
		int64(im.ScheduledWaiting), int64(im.ScheduledSending), msOf(now)).Scan(&due)
	return due, d.failed("read", err)
}

// ClaimDue notes of all messages whose time has come that it has: from then on they are
// neither changed nor removed but by FinishScheduled and FailScheduled.
func (d *DB) ClaimDue(ctx context.Context, now time.Time) error {
	return d.tx(ctx, func(tx *writeTx) error {
		_, err := tx.Exec("UPDATE scheduled SET state = $1 WHERE state = $2 AND at <= $3", int64(im.ScheduledSending), int64(im.ScheduledWaiting), msOf(now))
		return err
	})
}

// Claimed returns at most limit of those behind a place, in the order in which they are
// to be sent.
func (d *DB) Claimed(ctx context.Context, after im.ScheduledPlace, limit int) ([]im.Scheduled, error) {
	return list(ctx, d, func(r *sql.Rows) (im.Scheduled, error) { return scanScheduled(r) },
		"SELECT "+scheduledColumns+" FROM scheduled WHERE state = $1 AND (at, created_at, user_id, id) > ($2, $3, $4, $5) ORDER BY at, created_at, user_id, id LIMIT $6",
		int64(im.ScheduledSending), msOf(after.At), msOf(after.Created), after.User, after.ID[:], limit)
}

// FinishScheduled removes one that was sent.
func (d *DB) FinishScheduled(ctx context.Context, u im.UserID, id im.MessageID) error {
	return d.tx(ctx, func(tx *writeTx) error {
		_, err := tx.Exec("DELETE FROM scheduled WHERE user_id = $1 AND id = $2 AND state = $3", u, id[:], int64(im.ScheduledSending))
		return err
	})
}

// FailScheduled notes why one that was to be sent cannot be, with the promise of its
// notice. What was noted before stays.
func (d *DB) FailScheduled(ctx context.Context, u im.UserID, id im.MessageID, code im.Code, text string, notice im.Promise) error {
	return d.tx(ctx, func(tx *writeTx) error {
		n, err := tx.Exec("UPDATE scheduled SET state = $3, code = $4, reason = $5 WHERE user_id = $1 AND id = $2 AND state = $6",
			u, id[:], int64(im.ScheduledFailed), string(code), text, int64(im.ScheduledSending))
		if err != nil || n == 0 {
			return err
		}
		return promise(tx, notice)
	})
}
