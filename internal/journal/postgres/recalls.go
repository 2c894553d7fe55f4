package postgres

import (
	"context"
	"encoding/binary"
	"errors"
	"log/slog"
	"math"
	"sync"

	"github.com/jackc/pgx/v5"

	"github.com/skein-im/skein/internal/im"
)

// recalledSQL counts the recalled messages of many parts of conversations, and
// names the first ones of each. It reads the index of what was recalled only.
const recalledSQL = `SELECT u.i, r.n, r.seqs
	FROM unnest($1::text[], $2::bigint[], $3::bigint[]) WITH ORDINALITY u(name, after, until, i)
	JOIN journal_heads h ON h.conversation = u.name,
	LATERAL (SELECT count(*) AS n, (array_agg(e.seq ORDER BY e.seq))[1:$4::int] AS seqs
		FROM journal_entries e WHERE e.no = h.no AND e.seq > u.after AND e.seq <= u.until AND e.recalled AND e.kind = 1) r
	WHERE r.n > 0`

var _ im.Recalls = (*Journal)(nil)

// Recalled fills out with the recalled messages of spans.
func (j *Journal) Recalled(ctx context.Context, spans []im.Span, limit int, out []im.Recalled) error {
	if len(out) != len(spans) {
		return errors.New("journal: Recalled: len(out) differs from len(spans)")
	}
	clear(out)
	if len(spans) == 0 {
		return nil
	}
	if err := j.enter(); err != nil {
		return err
	}
	defer j.life.RUnlock()
	var names, after, until column
	names.begin(oidText)
	after.begin(oidInt8)
	until.begin(oidInt8)
	for i := range spans {
		add(&names, spans[i].Conversation)
		after.int8(min(spans[i].After, math.MaxInt64))
		until.int8(min(spans[i].Until, math.MaxInt64))
	}
	return j.query(ctx, stmtRecalled, [][]byte{names.end(), after.end(), until.end(), int4Param(limit)}, func(v [][]byte) error {
		seqs, err := int8sOf(v[2])
		out[int8Of(v[0])-1] = im.Recalled{Count: int8Of(v[1]), Seqs: seqs}
		return err
	})
}

// int8sOf reads an array of numbers without nulls: how many dimensions, whether
// there are nulls, the type; length and first index; each with its size.
func int8sOf(v []byte) ([]uint64, error) {
	const header, length = 12, 8
	if len(v) <= header {
		return nil, nil
	}
	if len(v) < header+length || (len(v)-header-length)%12 != 0 {
		return nil, errors.New("journal: not an array of numbers")
	}
	v = v[header+length:]
	all := make([]uint64, len(v)/12)
	for i := range all {
		all[i] = binary.BigEndian.Uint64(v[12*i+4:])
	}
	return all, nil
}

// recalledIndex is of recalled messages, which are few. It is no part of the
// tables' version: without it the same is found, with more reading, so nodes of
// an earlier version go on while it is made, and after.
const recalledIndex = "journal_entries_recalled"

// indexLock is the advisory lock of who makes an index. It is not that of the
// tables: making an index waits for all that began before, and who waits in the
// database for a lock has begun.
const indexLock = 7205416023

// index makes the index where it is missing, as in a database of an earlier
// version, beside everything else: nobody who appends waits for it, nor does the
// start, as somebody's long transaction can keep it waiting for hours.
type index struct {
	there bool // when the journal was opened
	stop  context.CancelFunc
	done  sync.WaitGroup
}

func (x *index) begin(config *pgx.ConnConfig, log *slog.Logger) {
	ctx, stop := context.WithCancel(context.Background())
	x.stop = stop
	if x.there {
		return
	}
	x.done.Go(func() {
		made, err := makeIndex(ctx, config.Copy())
		switch {
		case ctx.Err() != nil:
		case err != nil:
			log.Warn("journal: an index is missing, which makes unread counts slower; the next start tries again", "index", recalledIndex, "err", err)
		case made:
			log.Info("journal: an index was made that this version reads", "index", recalledIndex)
		}
	})
}

func (x *index) close() {
	x.stop()
	x.done.Wait()
}

// makeIndex makes the index on a connection of its own; what another process is
// making is left to it.
func makeIndex(ctx context.Context, config *pgx.ConnConfig) (made bool, err error) {
	c, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return false, err
	}
	defer func() { _ = c.Close(context.WithoutCancel(ctx)) }() // and with it the lock ends
	if err := c.PgConn().Exec(ctx, patient).Close(); err != nil {
		return false, err
	}
	var free bool
	if err := c.QueryRow(ctx, "SELECT pg_try_advisory_lock($1)", int64(indexLock)).Scan(&free); err != nil || !free {
		return false, err
	}
	if ok, err := indexed(ctx, c); ok || err != nil { // by whoever held the lock a moment ago
		return false, err
	}
	for _, step := range [...]string{
		"DROP INDEX CONCURRENTLY IF EXISTS " + recalledIndex, // what was left by one that was cut short
		"CREATE INDEX CONCURRENTLY " + recalledIndex + " ON journal_entries (no, seq) WHERE recalled AND kind = 1",
	} {
		if _, err := c.Exec(ctx, step); err != nil {
			return false, err
		}
	}
	return true, nil
}

// indexed tells whether the index is there and whole.
func indexed(ctx context.Context, c *pgx.Conn) (ok bool, err error) {
	err = c.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
		WHERE c.relname = $1 AND pg_table_is_visible(c.oid) AND i.indisvalid)`, recalledIndex).Scan(&ok)
	return ok, err
}
