package directory

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// periodsAtOnce is of how many conversations the periods are read by one statement.
const periodsAtOnce = 500

// lifetimeGone is kept in the place of the seconds of a period that is gone.
const lifetimeGone = -1

type periodRow struct {
	c im.ConversationID
	p im.Period
}

func scanPeriod(r *sql.Rows) (row periodRow, err error) {
	var after, lifetime int64
	err = r.Scan(&row.c, &after, &lifetime)
	row.p = im.Period{After: uint64(after)}
	if row.p.Gone = lifetime == lifetimeGone; !row.p.Gone {
		row.p.Lifetime = time.Duration(lifetime) * time.Second
	}
	return row, err
}

const periodColumns = "conversation, after_seq, lifetime_s"

// Periods returns the periods of those of the conversations that have any, in their order.
func (d *DB) Periods(ctx context.Context, cs []im.ConversationID) (map[im.ConversationID][]im.Period, error) {
	all := map[im.ConversationID][]im.Period{}
	for part := range slices.Chunk(cs, periodsAtOnce) {
		among, args := in(d, nil, part)
		rows, err := list(ctx, d, scanPeriod, "SELECT "+periodColumns+" FROM lifetimes WHERE conversation IN "+among+" ORDER BY conversation, after_seq", args...)
		if err != nil {
			return nil, err
		}
		for _, r := range rows {
			all[r.c] = follow(all[r.c], r.p)
		}
	}
	return all, nil
}

// follow adds a period behind the others, of which it ends the last.
func follow(all []im.Period, p im.Period) []im.Period {
	if n := len(all); n > 0 {
		all[n-1].Until = p.After - 1
	}
	return append(all, p)
}

// periodsOf reads the periods of one conversation in a transaction.
func periodsOf(tx *writeTx, c im.ConversationID) (all []im.Period, err error) {
	rows, err := tx.Query("SELECT "+periodColumns+" FROM lifetimes WHERE conversation = $1 ORDER BY after_seq", c)
	if err != nil {
		return nil, err
	}
	found, err := scanAll(rows, scanPeriod)
	for _, r := range found {
		all = follow(all, r.p)
	}
	return all, err
}

// PromiseLifetime promises a change of a dm's lifetime, as decide makes it of its periods:
// nil, nothing is to be changed. busy tells that something else is promised of it: then
// decide is not called. Both users' places are there (OpenDM): their rows are the lock.
func (d *DB) PromiseLifetime(ctx context.Context, c im.ConversationID, decide func([]im.Period) (*im.Promise, error)) (p *im.Promise, busy bool, err error) {
	err = d.tx(ctx, func(tx *writeTx) error {
		p, busy = nil, false
		if _, err := tx.Exec("UPDATE memberships SET first_seq = first_seq WHERE conversation = $1", c); err != nil {
			return err
		}
		var n int
		if err := tx.QueryRow("SELECT COUNT(*) FROM outbox WHERE conversation = $1", c).Scan(&n); err != nil || n > 0 {
			busy = n > 0
			return err
		}
		all, err := periodsOf(tx, c)
		if err != nil {
			return err
		}
		if p, err = decide(all); err != nil || p == nil {
			return err
		}
		ok, err := insertPromise(tx, *p)
		if err == nil && !ok {
			err = errors.New("directory: a change of a lifetime met another promise")
		}
		return err
	})
	return p, busy, err
}

// setLifetime begins a period of a conversation behind the entry seq, which was promised at
// a time, and has looked at what is gone of it. A period without an entry is not kept.
func setLifetime(tx *writeTx, c im.ConversationID, seq uint64, lifetime time.Duration, promised time.Time) error {
	all, err := periodsOf(tx, c)
	if err != nil {
		return err
	}
	for i := range all {
		switch all[i].After {
		case seq, seq + 1:
			return nil // it was made before, or nothing is in it
		case seq - 1:
			if _, err := tx.Exec("DELETE FROM lifetimes WHERE conversation = $1 AND after_seq = $2", c, int64(seq-1)); err != nil {
				return err
			}
		}
	}
	_, err = tx.Exec("INSERT INTO lifetimes (conversation, after_seq, lifetime_s) VALUES ($1, $2, $3)", c, int64(seq), int64(lifetime/time.Second))
	if err != nil || lifetime == 0 {
		return err
	}
	// Nothing of it is gone before. What is looked at earlier for another period stays so.
	_, err = tx.Exec(`INSERT INTO timers (`+timerColumns+`) VALUES ($1, '', $2, $3, 0, $4, $5)
		ON CONFLICT (kind, user_id, id, conversation) DO UPDATE SET at = CASE WHEN timers.at < excluded.at THEN timers.at ELSE excluded.at END, set_at = excluded.set_at`,
		int64(im.TimerLifetime), make([]byte, len(im.MessageID{})), c, msOf(promised.Add(lifetime)), msOf(promised))
	return err
}

// EndPeriods notes of periods of a conversation that follow each other that all of them is
// gone and given up: they are one from then on, the first. Noted again, nothing changes.
func (d *DB) EndPeriods(ctx context.Context, c im.ConversationID, first uint64, rest []uint64) error {
	return d.tx(ctx, func(tx *writeTx) error {
		_, err := tx.Exec("UPDATE lifetimes SET lifetime_s = $1 WHERE conversation = $2 AND after_seq = $3", int64(lifetimeGone), c, int64(first))
		for _, after := range rest {
			if err == nil {
				_, err = tx.Exec("DELETE FROM lifetimes WHERE conversation = $1 AND after_seq = $2", c, int64(after))
			}
		}
		return err
	})
}
