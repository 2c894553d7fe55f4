package postgres

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/pg"
)

// readBytes bounds what one Read returns; an entry counts 256 besides its content.
const readBytes = 1 << 20

// binaryFormat says that all parameters or columns are in binary form.
var binaryFormat = []int16{1}

// The statements, by name; every connection knows them.
const (
	stmtAppend    = "append"
	stmtPosition  = "position"
	stmtReach     = "reach"
	stmtPing      = "ping"
	stmtForward   = "forward"
	stmtBackward  = "backward"
	stmtPageUp    = "page_up"
	stmtPageDown  = "page_down"
	stmtTouched   = "touched"
	stmtHeads     = "heads"
	stmtChanged   = "changed"
	stmtMarks     = "marks"
	stmtUserMarks = "user_marks"
	stmtSetMarks  = "set_marks"
	stmtLocked    = "locked"
	stmtFreeMarks = "free_marks"
	stmtRecalled  = "recalled"
	stmtLabelled  = "labelled"
	stmtLookup    = "lookup"
	stmtFollow    = "follow"
	stmtTrim      = "trim"

	stmtAppendLabels = "append_labels"
)

func statements() map[string]string {
	return map[string]string{
		stmtAppend:    appendStatement(),
		stmtPosition:  positionSQL,
		stmtReach:     reachSQL,
		stmtPing:      "SELECT 1",
		stmtForward:   fmt.Sprintf(rangeSQL, ">=", "ASC"),
		stmtBackward:  fmt.Sprintf(rangeSQL, "<=", "DESC"),
		stmtPageUp:    pageUpSQL(),
		stmtPageDown:  pageDownSQL(),
		stmtTouched:   touchedSQL,
		stmtHeads:     headsSQL,
		stmtChanged:   changedSQL,
		stmtMarks:     marksSQL,
		stmtUserMarks: userMarksSQL,
		stmtSetMarks:  setMarksSQL,
		stmtLocked:    lockedSQL,
		stmtFreeMarks: freeMarksSQL,
		stmtRecalled:  recalledSQL,
		stmtLabelled:  labelledSQL,
		stmtLookup:    lookupSQL,
		stmtFollow:    followSQL,
		stmtTrim:      "SELECT journal_trim_1($1, $2, $3, $4)",

		stmtAppendLabels: appendLabelsStatement(),
	}
}

// appendStatement calls the function. For how long that waits for a lock is set
// within the same statement, for its transaction: before the function runs, as it is
// part of a parameter, whose value it does not change.
func appendStatement() string {
	var b strings.Builder
	b.WriteString("SELECT * FROM journal_append_3(")
	for p := range pPatience {
		if p > 0 {
			b.WriteByte(',')
		}
		if p == pLook {
			fmt.Fprintf(&b, "$%d = (set_config('lock_timeout', $%d, true) <> '')", p+1, pPatience+1)
			continue
		}
		fmt.Fprintf(&b, "$%d", p+1)
	}
	b.WriteByte(')')
	return b.String()
}

// appendLabelsStatement calls the function, and writes the labels of what it stored.
func appendLabelsStatement() string {
	return fmt.Sprintf("SELECT a.*, journal_label_2(a.x_item, a.x_status, a.x_seq, $%d, $%d, $%d, $%d, $%d, $%d, $%d, $%d) FROM (%s) a",
		pConv+1, pSlots+1, pConvs+1, pTarget+1, pOf+1, pLabelItem+1, pLabel+1, pLabelOn+1, appendStatement())
}

// positionSQL tells timeline, era and position, as far as no crash takes it back,
// and whether the journal is further: by more than the transaction that wrote how
// far it is; and which programs may use the tables.
const positionSQL = `SELECT m.timeline, m.era, least(r.pos, p.pos), p.pos > r.pos AND NOT (r.own = r.pos + 1 AND p.pos = r.own), m.version, m.least
	FROM journal_meta m, journal_alive, journal_reached r,
		LATERAL (SELECT m.base + pg_snapshot_xmin(pg_current_snapshot())::text::bigint - 1 AS pos) p`

// entryColumns are those of an entry e, in the order that scanEntry reads them in.
const entryColumns = "e.seq, e.count, e.stored, e.pos, e.id, e.kind, e.recalled, e.sender, e.body, e.roster, e.target, e.amended"

// rangeSQL reads entries from a seq, as many as are within a number of bytes but
// the first in any case.
const rangeSQL = "SELECT " + entryColumns + `
	FROM (SELECT e.*, row_number() OVER w AS nth, sum(octet_length(body) + 256) OVER w AS total
		FROM (SELECT * FROM journal_entries WHERE slot = $1 AND no = (SELECT no FROM journal_heads WHERE slot = $1 AND conversation = $2) AND seq %[1]s $3
			ORDER BY seq %[2]s LIMIT $4) e WINDOW w AS (ORDER BY seq %[2]s ROWS UNBOUNDED PRECEDING)) e
	WHERE nth = 1 OR total <= $5 ORDER BY seq ASC`

const headsSQL = `SELECT u.i, h.seq, h.count, h.stored, h.roster, h.pos
	FROM unnest($1::smallint[], $2::text[]) WITH ORDINALITY u(slot, name, i) JOIN journal_heads h ON h.slot = u.slot AND h.conversation = u.name`

// changedSQL finds the conversations by their newer entries: the index on
// positions keeps it to the pages those are in.
const changedSQL = `SELECT h.conversation, h.seq, h.roster
	FROM (SELECT DISTINCT slot, no FROM journal_entries WHERE pos > $1) e JOIN journal_heads h ON h.slot = e.slot AND h.no = e.no LIMIT $2`

// query runs a prepared statement and calls each for every row, whose values are
// valid until it returns. A connection that broke before the first row is
// replaced once.
func (j *Journal) query(ctx context.Context, name string, params [][]byte, each func(v [][]byte) error) error {
	return j.queryOn(ctx, j.readers, name, params, each)
}

func (j *Journal) queryOn(ctx context.Context, pool *pgxpool.Pool, name string, params [][]byte, each func(v [][]byte) error) error {
	jam := j.jams[name]
	if jam.closed(j.o.Now()) {
		return fmt.Errorf("%w: reads like this one wait for a lock", im.ErrJournalUnavailable)
	}
	for attempt := 1; ; attempt++ {
		c, err := j.acquire(ctx, pool)
		if err != nil {
			return err
		}
		any := false
		var failed error
		if err = ensure(ctx, c.Conn().PgConn(), name); err == nil {
			rows := c.Conn().PgConn().ExecPrepared(ctx, name, params, binaryFormat, binaryFormat)
			for rows.NextRow() {
				any = true
				if failed == nil {
					failed = each(rows.Values())
				}
			}
			_, err = rows.Close()
		}
		broken := c.Conn().PgConn().IsClosed()
		c.Release()
		switch {
		case failed != nil:
			return failed
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case broken && !any && attempt == 1:
			continue
		}
		if err = reading(err); timedOutOnLock(err) {
			jam.note(j.o.Now())
		}
		return err
	}
}

// reading is the error of a query: of a database that cannot answer now, unless
// it says that something is wrong with the data or the question.
func reading(err error) error {
	var answer *pgconn.PgError
	if !errors.As(err, &answer) {
		return fmt.Errorf("%w: %w", im.ErrJournalUnavailable, err)
	}
	if pg.Damaged(answer.Code) {
		return fmt.Errorf("%w: %w", im.ErrJournalDamaged, err)
	}
	if answer.SeverityUnlocalized == "ERROR" && !pg.Away(answer.Code) {
		return fmt.Errorf("journal: %w", err)
	}
	return &refusal{code: answer.Code, cause: err}
}

// Read returns a range of a conversation.
func (j *Journal) Read(ctx context.Context, c im.ConversationID, from uint64, backward bool, limit int) ([]im.Entry, error) {
	if limit <= 0 {
		return nil, nil
	}
	if err := j.enter(); err != nil {
		return nil, err
	}
	defer j.life.RUnlock()
	stmt := stmtForward
	if backward {
		stmt = stmtBackward
		if from == 0 {
			from = math.MaxInt64
		}
	}
	params := [][]byte{slotParam(c), []byte(c), int8Param(min(from, math.MaxInt64)), int8Param(uint64(limit)), int8Param(readBytes)}
	var entries []im.Entry
	err := j.query(ctx, stmt, params, func(v [][]byte) error {
		entries = append(entries, im.Entry{Conversation: c})
		scanEntry(v, &entries[len(entries)-1])
		return nil
	})
	if err != nil {
		return nil, j.damage(c, err)
	}
	return entries, nil
}

// scanEntry reads a row that begins with entryColumns.
func scanEntry(v [][]byte, e *im.Entry) {
	e.Seq, e.Count, e.Stored, e.Pos = int8Of(v[0]), int8Of(v[1]), timeOf(v[2]), int8Of(v[3])
	copy(e.ID[:], v[4])
	e.Kind, e.Recalled, e.Sender = im.EntryKind(int2Of(v[5])), boolOf(v[6]), im.UserID(v[7])
	if len(v[8]) > 0 {
		e.Body = slices.Clone(v[8])
	}
	e.Roster, e.Target, e.Amended = int8Of(v[9]), int8Of(v[10]), int8Of(v[11])
}

// Heads fills out with the heads of cs.
func (j *Journal) Heads(ctx context.Context, cs []im.ConversationID, out []im.Head) error {
	if len(out) != len(cs) {
		return errors.New("journal: Heads: len(out) differs from len(cs)")
	}
	if err := j.enter(); err != nil {
		return err
	}
	defer j.life.RUnlock()
	if len(cs) == 0 {
		return nil
	}
	err := im.Apart(0, len(cs), func(from, until int) error {
		clear(out[from:until])
		var in, names column
		return j.query(ctx, stmtHeads, [][]byte{slotsOf(&in, cs[from:until]), texts(&names, cs[from:until])}, func(v [][]byte) error {
			if seq := int8Of(v[1]); seq > 0 {
				out[from+int(int8Of(v[0]))-1] = im.Head{Seq: seq, Count: int8Of(v[2]), Time: timeOf(v[3]), Roster: int8Of(v[4]), Pos: int8Of(v[5])}
			}
			return nil
		})
	}, func(i int, err error) {
		_ = j.damage(cs[i], err)
		out[i] = im.Head{Damaged: true}
	})
	if err == nil {
		j.known.seen(cs, out, j.o.Now())
	}
	return err
}

// Changed returns up to limit conversations with entries after a position, and
// whether there are more; for telling anew what a lost push told of.
func (j *Journal) Changed(ctx context.Context, since uint64, limit int) (heads []im.ParcelHead, more bool, err error) {
	if limit <= 0 {
		return nil, false, nil
	}
	if err := j.enter(); err != nil {
		return nil, false, err
	}
	defer j.life.RUnlock()
	params := [][]byte{int8Param(min(since, math.MaxInt64)), int8Param(uint64(limit) + 1)}
	err = j.query(ctx, stmtChanged, params, func(v [][]byte) error {
		heads = append(heads, im.ParcelHead{Conversation: im.ConversationID(v[0]), Seq: int8Of(v[1]), Roster: int8Of(v[2])})
		return nil
	})
	if err != nil {
		return nil, false, err
	}
	if len(heads) > limit {
		heads, more = heads[:limit], true
	}
	return heads, more, nil
}
