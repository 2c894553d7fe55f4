package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/skein-im/skein/internal/im"
)

// datedPatience is for how long an append with times of the caller's waits for a lock: the
// store is the caller's alone, so it waits for nothing but a process that was killed.
const datedPatience = 10 * time.Second

// What journal_append stored at the time of the database is given the caller's times, in the
// same transaction: so it needs no function of its own, and no other program sees the first.
const (
	dateEntries = `UPDATE journal_entries e SET stored = u.ms
		FROM unnest($1::smallint[], $2::text[], $3::bigint[], $4::bigint[]) u(slot, name, seq, ms), journal_heads h
		WHERE h.slot = u.slot AND h.conversation = u.name AND e.slot = h.slot AND e.no = h.no AND e.seq = u.seq`
	dateHeads = `UPDATE journal_heads h SET stored = u.ms
		FROM unnest($1::smallint[], $2::text[], $3::bigint[], $4::bigint[]) u(slot, name, seq, ms)
		WHERE h.slot = u.slot AND h.conversation = u.name AND h.seq = u.seq`
)

// AppendDated is Append with times of the caller's, as im.Dates says.
func (j *Journal) AppendDated(ctx context.Context, batch []im.Append, at []time.Time, out []im.Appended) error {
	if len(out) != len(batch) || len(at) != len(batch) {
		return fmt.Errorf("%w: as many times and outcomes as items are needed", im.ErrAppendInvalid)
	}
	for i := range batch {
		if err := check(&batch[i]); err != nil {
			return err
		}
	}
	if err := ctx.Err(); err != nil || len(batch) == 0 {
		return err
	}
	if err := j.enter(); err != nil {
		return err
	}
	defer j.life.RUnlock()
	r := j.requests.get()
	defer j.requests.put(r)
	r.plan(batch)
	r.encode(batch)
	r.params[pPatience] = patienceParam(r.patience[:0], datedPatience)
	r.params[pLook] = boolParam(true) // ids that were stored before are no surprise
	r.params[pFresh] = nil
	if r.fresh = j.known.unknown(r.convs, r.fresh[:0]); len(r.fresh) > 0 {
		r.params[pFresh] = numbers(&r.columns[pFresh], r.fresh)
	}
	if err := j.callDated(ctx, r, batch, at, out); err != nil {
		clear(out)
		return err
	}
	j.noteStored(batch, out)
	return nil
}

// callDated stores the batch and dates it. It is not cancelled once it has begun.
func (j *Journal) callDated(ctx context.Context, r *request, batch []im.Append, at []time.Time, out []im.Appended) error {
	c, err := j.acquire(ctx, j.writers)
	if err != nil {
		return err
	}
	defer c.Release() // one whose transaction did not end is closed by it
	answer, done := context.WithTimeout(context.WithoutCancel(ctx), answerTimeout)
	defer done()
	stmt, params := stmtAppend, r.params[:pFirstLabel]
	if r.labels {
		stmt, params = stmtAppendLabels, r.params[:]
	}
	conn := c.Conn()
	if err := ensure(answer, conn.PgConn(), stmt); err != nil {
		return reading(err)
	}
	tx, err := conn.Begin(answer)
	if err != nil {
		return unreachable(ctx, err)
	}
	err = func() error {
		rows := conn.PgConn().ExecPrepared(answer, stmt, params, binaryFormat, binaryFormat)
		for rows.NextRow() {
			r.take(rows.Values())
		}
		if _, err := rows.Close(); err != nil {
			return err
		}
		r.answer(batch, out)
		return r.date(answer, tx, batch, at, out)
	}()
	if err != nil { // nothing was committed
		err = j.outcome(err, false)
		if errors.Is(err, im.ErrOutcomeUnknown) {
			err = fmt.Errorf("%w: %w", im.ErrJournalUnavailable, err)
		}
		return errors.Join(err, tx.Rollback(answer))
	}
	if err := tx.Commit(answer); err != nil {
		return j.outcome(err, true)
	}
	return nil
}

// date gives what was stored its times, and tells them in out.
func (r *request) date(ctx context.Context, tx pgx.Tx, batch []im.Append, at []time.Time, out []im.Appended) error {
	var slots []int16
	var names []string
	var seqs, times []int64
	for i := range batch {
		if out[i].Status != im.Stored {
			continue
		}
		c := batch[i].Entry.Conversation
		slots, names, seqs, times = append(slots, int16(im.SlotOf(c))), append(names, string(c)), append(seqs, int64(out[i].Seq)), append(times, at[i].UnixMilli())
		out[i].Time = time.UnixMilli(at[i].UnixMilli())
	}
	if len(seqs) == 0 {
		return nil
	}
	for _, statement := range []string{dateEntries, dateHeads} {
		if _, err := tx.Exec(ctx, statement, slots, names, seqs, times); err != nil {
			return err
		}
	}
	return nil
}

var _ im.Dates = (*Journal)(nil)

// goneWait is how long connections of processes that ended a moment ago are waited for.
const goneWait = 5 * time.Second

// Hold is a database that nobody else may import into.
type Hold struct{ c *pgx.Conn }

// Close gives it back.
func (h *Hold) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), connectTimeout)
	defer cancel()
	return h.c.Close(ctx)
}

// ErrHoldLost tells an import that others may write to its database.
var ErrHoldLost = errors.New("the connection that holds the database for this import was ended, so another import may have begun: this one stops before it writes more. Run it again: it goes on, and adds nothing twice")

// Held fails with ErrHoldLost if the connection that holds the database was ended. It is for
// one goroutine.
func (h *Hold) Held(ctx context.Context) error {
	answer, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	err := h.c.Ping(answer)
	if err == nil || ctx.Err() != nil {
		return errors.Join(err, ctx.Err())
	}
	return fmt.Errorf("%w (%w)", ErrHoldLost, err)
}

// Alone takes a database for an import: it refuses one that another import or migration writes
// to, or servers are connected to. It is held by the connection, so by nobody whose process has
// ended; nothing holds back a server that is started later.
func Alone(ctx context.Context, url string) (_ *Hold, err error) {
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("the database's URL: %w", err) // it masks the password
	}
	config.RuntimeParams["application_name"] = "skein import"
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = connectTimeout
	}
	c, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, unreachable(ctx, err)
	}
	h := &Hold{c}
	defer func() {
		if err != nil {
			err = errors.Join(err, h.Close())
		}
	}()
	for end := time.Now().Add(goneWait); ; {
		var mine bool
		if err := c.QueryRow(ctx, "SELECT pg_try_advisory_lock($1)", int64(importLock)).Scan(&mine); err != nil {
			return nil, err
		}
		n := 0
		if mine {
			if err := c.QueryRow(ctx, "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name IN ('skein journal', 'skein directory')").Scan(&n); err != nil {
				return nil, err
			}
			if n == 0 {
				return h, nil
			}
			// Asked for again it would be held twice.
			if _, err := c.Exec(ctx, "SELECT pg_advisory_unlock($1)", int64(importLock)); err != nil {
				return nil, err
			}
		}
		if time.Now().After(end) {
			if !mine {
				return nil, errors.New("another import or migration into this database is running: wait until it has ended")
			}
			return nil, fmt.Errorf("%d connections of servers use the database: stop every node first", n)
		}
		if err := pause(ctx, 200*time.Millisecond); err != nil {
			return nil, err
		}
	}
}
