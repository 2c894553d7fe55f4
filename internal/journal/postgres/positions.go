package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// What is trimmed leaves room in the table's pages, and newer entries are stored there: a
// range of pages has positions of several times. An index that knows the least and the
// greatest position of a range (minmax, which databases of before have) finds all such
// ranges for whatever lies between; whoever follows at a distance, as retention does,
// reads most of the table for each stretch. One that knows several intervals of each range
// (minmax-multi, indexes.sql) finds the few that are wanted. The first trim has the one
// exchanged for the other, beside everything else: nobody waits for it, and whoever is
// killed on the way leaves what the next one goes on with.

const (
	positionsIndex = "journal_entries_pos"
	positionsNext  = "journal_entries_pos_next" // while it is made
	// positionsLock is the advisory lock of who exchanges it.
	positionsLock = 7205416023
	// positionsAgain is after what pause it is tried again.
	positionsAgain = time.Minute
)

// positionsSQL tells of an index of entries whether it is complete, and of which kind.
const positionsSQL = `SELECT i.indisvalid, o.opcname = 'int8_minmax_multi_ops'
	FROM pg_class c JOIN pg_index i ON i.indexrelid = c.oid JOIN pg_opclass o ON o.oid = i.indclass[0]
	WHERE c.relname = $1 AND i.indrelid = 'journal_entries'::regclass`

// indexKind is what positionsSQL tells.
type indexKind struct{ there, valid, multi bool }

func (k indexKind) good() bool { return k.there && k.valid && k.multi }

func kindOf(ctx context.Context, c *pgx.Conn, name string) (k indexKind, err error) {
	err = c.QueryRow(ctx, positionsSQL, name).Scan(&k.valid, &k.multi)
	if errors.Is(err, pgx.ErrNoRows) {
		return indexKind{}, nil
	}
	k.there = err == nil
	return k, err
}

// renewPositions exchanges the index of positions, once it is worth it, unless it is of
// the right kind. Its caller is in a call.
func (j *Journal) renewPositions() {
	if j.oldPositions.CompareAndSwap(true, false) {
		j.writing.Go(func() { j.exchangePositions(j.watching) })
	}
}

// exchangePositions tries until it is done, by whichever process, or Close.
func (j *Journal) exchangePositions(ctx context.Context) {
	for told := false; ; {
		done, err := j.exchangeOnce(ctx)
		if done || ctx.Err() != nil {
			return
		}
		if err != nil && !told {
			told = true
			j.o.Logger.Warn("journal: the index of positions is not made anew; it is tried again", "err", err)
		}
		if pause(ctx, positionsAgain) != nil {
			return
		}
	}
}

// exchangeOnce does it on a connection of its own, as it may take long. done is false
// while another process is at it.
func (j *Journal) exchangeOnce(ctx context.Context) (done bool, err error) {
	c, err := pgx.ConnectConfig(ctx, j.alone.Copy())
	if err != nil {
		return false, unreachable(ctx, err)
	}
	defer func() { err = errors.Join(err, c.Close(context.WithoutCancel(ctx))) }()
	if err := c.PgConn().Exec(ctx, patient).Close(); err != nil {
		return false, err
	}
	if err := j.settle(ctx, c); err != nil {
		return false, err
	}
	var mine bool
	if err := c.QueryRow(ctx, "SELECT pg_try_advisory_lock($1)", int64(positionsLock)).Scan(&mine); err != nil || !mine {
		return false, err
	}
	return true, j.exchange(ctx, c)
}

// exchange goes on from whatever another one left. The statements that are CONCURRENTLY
// keep nobody from reading and storing; what is not complete yet is used by nobody.
func (j *Journal) exchange(ctx context.Context, c *pgx.Conn) error {
	now, err := kindOf(ctx, c, positionsIndex)
	if err != nil {
		return err
	}
	next, err := kindOf(ctx, c, positionsNext)
	if err != nil {
		return err
	}
	if next.there && (now.good() || !next.good()) {
		if _, err := c.Exec(ctx, "DROP INDEX CONCURRENTLY "+positionsNext); err != nil {
			return err
		}
		next = indexKind{}
	}
	if now.good() {
		return nil
	}
	begun := j.o.Now()
	if !next.there {
		j.o.Logger.Info("journal: the index of positions is made anew, as entries are given up; nobody waits for it")
		if _, err := c.Exec(ctx, fmt.Sprintf("CREATE INDEX CONCURRENTLY %s ON journal_entries USING %s", positionsNext, positionsUsing)); err != nil {
			return err
		}
	}
	if now.there {
		if _, err := c.Exec(ctx, "DROP INDEX CONCURRENTLY "+positionsIndex); err != nil {
			return err
		}
	}
	if _, err := c.Exec(ctx, fmt.Sprintf("ALTER INDEX %s RENAME TO %s", positionsNext, positionsIndex)); err != nil {
		return err
	}
	j.o.Logger.Info("journal: the index of positions is another one", "after", j.o.Now().Sub(begun).Round(time.Millisecond))
	return nil
}

// positionsUsing is what the index is, as in indexes.sql.
const positionsUsing = "brin (pos int8_minmax_multi_ops) WITH (pages_per_range = 32, autosummarize = on)"
