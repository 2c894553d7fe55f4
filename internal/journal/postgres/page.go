package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/skein-im/skein/internal/im"
)

// pageRows is how many entries a page looks at, at most.
const pageRows = 3000

// pageSQL looks at one end of a stretch. It tells the entries that amend nothing (a
// message, kind 1, does not: as its target it has the root of its thread),
// as many as are wanted, and once each what is amended there, at the first entry
// that does it in the direction of the page. The bodies of what exceeds a number of
// bytes are left out. What was looked at is a row of its own: it ends before the
// first entry that is one too many, or after pageRows; seqs have no gaps, so that a
// number of entries is a range of seqs. Its ends are sub-selects so that whoever
// plans this for a small table uses all of them for the index.
const pageSQL = `WITH s AS MATERIALIZED (
		SELECT h.no, %[1]s FROM journal_heads h WHERE h.slot = $1 AND h.conversation = $2),
	b AS MATERIALIZED (
		SELECT s.no, %[2]s FROM s LEFT JOIN LATERAL (SELECT e.seq FROM journal_entries e
			WHERE e.slot = $1 AND e.no = s.no AND e.seq >= s.low AND e.seq <= s.high AND (e.target IS NULL OR e.kind = 1) ORDER BY e.seq %[3]s OFFSET $5 LIMIT 1) x ON true)
	SELECT b.low, NULL::bigint, NULL::bigint, NULL::bigint, NULL::uuid, NULL::smallint, NULL::bool, NULL::text, NULL::bytea, NULL::bigint, b.high, NULL::bigint, 0
		FROM b WHERE b.low <= b.high
	UNION ALL
	SELECT e.seq, e.count, e.stored, e.pos, e.id, e.kind, e.recalled, e.sender, CASE WHEN e.told THEN e.body END, e.roster, e.target, e.amended, CASE WHEN e.told THEN 1 ELSE 2 END
		FROM (SELECT e.*, e.seq = first_value(e.seq) OVER w OR sum(octet_length(e.body) + 256) OVER w <= $6 AS told FROM journal_entries e
			WHERE e.slot = $1 AND e.no = (SELECT no FROM b) AND e.seq >= (SELECT low FROM b) AND e.seq <= (SELECT high FROM b) AND (e.target IS NULL OR e.kind = 1)
			WINDOW w AS (ORDER BY e.seq %[3]s ROWS UNBOUNDED PRECEDING)) e
	UNION ALL
	SELECT %[4]s(e.seq), NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, e.target, NULL, 3 FROM journal_entries e
		WHERE e.slot = $1 AND e.no = (SELECT no FROM b) AND e.seq >= (SELECT low FROM b) AND e.seq <= (SELECT high FROM b) AND e.target IS NOT NULL AND e.kind <> 1
		GROUP BY e.target`

// What a row of pageSQL is.
const (
	rowBounds = iota
	rowEntry
	rowLeftOut
	rowTouched
)

func pageUpSQL() string {
	return fmt.Sprintf(pageSQL, fmt.Sprintf("$3::bigint AS low, least($4, h.seq, $3 + %d) AS high", pageRows-1), "s.low, coalesce(x.seq - 1, s.high) AS high", "ASC", "min")
}

func pageDownSQL() string {
	return fmt.Sprintf(pageSQL, fmt.Sprintf("greatest($3, least($4, h.seq) - %d) AS low, least($4, h.seq) AS high", pageRows-1), "coalesce(x.seq + 1, s.low) AS low, s.high", "DESC", "max")
}

// touchedSQL reads entries of a conversation in the order in which they are asked
// for, as many as are within a number of bytes but the first in any case. Of one
// that is not there it tells the seq only.
const touchedSQL = "SELECT " + entryColumns + `, e.want
	FROM (SELECT e.*, u.seq AS want, u.i, sum(coalesce(octet_length(e.body), 0) + 256) OVER (ORDER BY u.i) AS total
		FROM unnest($3::bigint[]) WITH ORDINALITY u(seq, i) LEFT JOIN LATERAL (SELECT * FROM journal_entries
			WHERE slot = $1 AND no = (SELECT no FROM journal_heads WHERE slot = $1 AND conversation = $2) AND seq = u.seq OFFSET 0) e ON true) e
	WHERE i = 1 OR total <= $4`

var _ im.Pages = (*Journal)(nil)

// Page reads one page: in one question, and a second one where something is amended
// that lies outside of what the first one read.
func (j *Journal) Page(ctx context.Context, q im.PageQuery) (im.Page, error) {
	if q.From < 1 || q.Until < q.From || q.Limit < 1 {
		return im.Page{}, errors.New("journal: Page: not a stretch, or a limit below 1")
	}
	if err := j.enter(); err != nil {
		return im.Page{}, err
	}
	defer j.life.RUnlock()
	if q.From > math.MaxInt64-pageRows { // where no entry can be
		return im.Page{}, nil
	}
	v := view{backward: q.Backward, limit: q.Limit, rows: map[uint64]*im.Entry{}}
	if err := j.look(ctx, q, &v); err != nil || v.high == 0 {
		return im.Page{}, j.damage(q.Conversation, err)
	}
	_, _, told := v.cut()
	var missing []uint64
	for _, seq := range told {
		if v.rows[seq] == nil {
			missing = append(missing, seq)
		}
	}
	if len(missing) > 0 {
		if err := j.readTouched(ctx, q.Conversation, missing, &v); err != nil {
			return im.Page{}, j.damage(q.Conversation, err)
		}
	}
	v.complete = true
	return v.page(), nil
}

// ReadAt reads entries by their seqs.
func (j *Journal) ReadAt(ctx context.Context, c im.ConversationID, seqs []uint64) ([]im.Entry, error) {
	if len(seqs) == 0 {
		return nil, nil
	}
	if err := j.enter(); err != nil {
		return nil, err
	}
	defer j.life.RUnlock()
	v := view{rows: make(map[uint64]*im.Entry, len(seqs))}
	if err := j.readTouched(ctx, c, seqs, &v); err != nil {
		return nil, j.damage(c, err)
	}
	entries := make([]im.Entry, 0, len(seqs))
	for _, seq := range seqs {
		e := v.rows[seq]
		if e == nil { // it, and what is behind it, would be too much
			break
		}
		entries = append(entries, *e)
	}
	return entries, nil
}

// look asks what is in the stretch.
func (j *Journal) look(ctx context.Context, q im.PageQuery, v *view) error {
	stmt := stmtPageUp
	if q.Backward {
		stmt = stmtPageDown
	}
	params := [][]byte{
		slotParam(q.Conversation), []byte(q.Conversation), int8Param(q.From), int8Param(min(q.Until, math.MaxInt64)),
		int8Param(uint64(q.Limit)), int8Param(readBytes),
	}
	err := j.query(ctx, stmt, params, func(r [][]byte) error {
		seq, target := int8Of(r[0]), int8Of(r[10])
		switch int4Of(r[12]) {
		case rowBounds:
			v.low, v.high = seq, target
		case rowEntry:
			e := &im.Entry{Conversation: q.Conversation}
			scanEntry(r, e)
			v.rows[seq] = e
			v.events = append(v.events, event{at: seq})
		case rowLeftOut:
			v.events = append(v.events, event{at: seq})
		case rowTouched:
			v.events = append(v.events, event{at: seq, target: target})
		}
		return nil
	})
	slices.SortFunc(v.events, func(a, b event) int {
		if q.Backward {
			return cmp.Compare(b.at, a.at)
		}
		return cmp.Compare(a.at, b.at)
	})
	return err
}

// readTouched reads entries that a page may need besides those of its stretch.
func (j *Journal) readTouched(ctx context.Context, c im.ConversationID, seqs []uint64, v *view) error {
	var col column
	col.begin(oidInt8)
	for _, s := range seqs {
		col.int8(s)
	}
	return j.query(ctx, stmtTouched, [][]byte{slotParam(c), []byte(c), col.end(), int8Param(readBytes)}, func(r [][]byte) error {
		e := &im.Entry{Conversation: c}
		scanEntry(r, e)
		v.rows[int8Of(r[12])] = e // of seq 0 if it is not there
		return nil
	})
}

// view is what was read for a page.
type view struct {
	backward  bool
	limit     int
	low, high uint64
	events    []event // in the direction of the page
	rows      map[uint64]*im.Entry
	// complete: what is not in rows now was too much.
	complete bool
}

// event is an entry that amends nothing, or the first one to amend a target.
type event struct{ at, target uint64 }

// cut tells how far the page goes, and which entries it tells, in the order in
// which they come up. Going down, one that was touched may turn out to lie in it.
func (v *view) cut() (first, last uint64, told []uint64) {
	first, last = v.low, v.high
	begin := v.low
	if v.backward {
		begin = v.high
	}
	bytes, known := 0, map[uint64]bool{}
	for _, x := range v.events {
		seq := cmp.Or(x.target, x.at)
		if known[seq] || x.target >= v.low && !v.backward && x.target != 0 {
			continue
		}
		row, fits := v.rows[seq], true
		size := 256
		switch {
		case row == nil: // it was left out, or is not read yet
			fits = x.target != 0 && !v.complete
		case row.Seq == 0: // it is not there
			continue
		default:
			size += len(row.Body)
		}
		if x.at != begin && (!fits || len(told) == v.limit || bytes+size > readBytes) {
			if v.backward {
				return x.at + 1, last, told
			}
			return first, x.at - 1, told
		}
		bytes += size
		known[seq] = true
		told = append(told, seq)
	}
	return first, last, told
}

// page is what there is to tell.
func (v *view) page() (p im.Page) {
	var told []uint64
	p.First, p.Last, told = v.cut()
	slices.Sort(told)
	for _, seq := range told {
		row := v.rows[seq]
		switch {
		case row == nil:
		case seq < p.First:
			p.Touched = append(p.Touched, *row)
		case !row.Amends():
			p.Entries = append(p.Entries, *row)
		}
	}
	return p
}
