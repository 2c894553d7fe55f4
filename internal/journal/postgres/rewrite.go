package postgres

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/skein-im/skein/internal/entrycodec"
	"github.com/skein-im/skein/internal/im"
)

// The tables of versions 1 to 3 kept what an entry says in columns of their own, and
// knew no slots. A start rewrites them, in one transaction: the old tables step
// aside, the new ones are made and filled, the old ones go. Whoever is killed on
// the way, or meets an error, leaves the old tables as they were.

const (
	// rewritePage is how many rows are read and written at a time.
	rewritePage = 5000
	// rewriteTold is how often the log tells how far it is.
	rewriteTold = 10 * time.Second
)

// asideSQL takes the tables, with all that belongs to them, out of the new ones'
// way, and drops the functions. The locks come first: whoever reads a table keeps
// the whole from beginning, not from ending.
const asideSQL = `
SET LOCAL idle_in_transaction_session_timeout = 0;
SET LOCAL plan_cache_mode = auto;
SET LOCAL enable_seqscan = on;
SET LOCAL enable_hashjoin = on;
SET LOCAL enable_mergejoin = on;
SET LOCAL enable_material = on;
SET LOCAL work_mem = '64MB';
SET LOCAL cursor_tuple_fraction = 1;
LOCK TABLE journal_meta, journal_heads, journal_entries, journal_marks IN ACCESS EXCLUSIVE MODE;
DO $$
DECLARE
    x record;
BEGIN
    FOR x IN SELECT c.oid::regclass AS this, c.relname AS name FROM pg_class c
            WHERE c.relname LIKE 'journal\_%' AND c.relkind IN ('r', 'i', 'S') AND pg_table_is_visible(c.oid) LOOP
        EXECUTE format('ALTER TABLE %s RENAME TO %I', x.this, 'old_' || x.name);
    END LOOP;
    FOR x IN SELECT p.oid::regprocedure AS this FROM pg_proc p WHERE p.proname LIKE 'journal\_%' AND pg_function_is_visible(p.oid) LOOP
        EXECUTE format('DROP FUNCTION %s', x.this);
    END LOOP;
END
$$;
CREATE TEMPORARY TABLE journal_numbers (old bigint NOT NULL, no int NOT NULL, slot smallint NOT NULL) ON COMMIT DROP`

// identitySQL tells a database and one of its tables as journal_adopt does.
const identitySQL = `SELECT format('%s/%s/%s', s.system_identifier, d.oid, $1::regclass::oid) FROM pg_control_system() s, pg_database d WHERE d.datname = current_database()`

// metaSQL carries the row of journal_meta. Whether the server is the one that the old
// tables were adopted by is as true of the new ones: identity, and what begins with
// it, name the new table of entries instead of the old one.
const metaSQL = `INSERT INTO journal_meta (version, least, timeline, base, identity, wal, level, era, server)
	SELECT $1::int, $1::int, m->>'timeline', (m->>'base')::bigint, CASE WHEN m->>'identity' = $2::text THEN $3::text ELSE m->>'identity' END,
			m->>'wal', (m->>'level')::int, coalesce((m->>'era')::bigint, 0),
			CASE WHEN starts_with(m->>'server', $2 || '/') THEN $3 || substr(m->>'server', length($2) + 1) ELSE coalesce(m->>'server', '') END
		FROM (SELECT to_jsonb(o) FROM old_journal_meta o) o(m)`

// rewrite makes the tables of tablesVersion of older ones. Nobody else uses them.
func rewrite(ctx context.Context, tx pgx.Tx, version int, log *slog.Logger) error {
	w := &rewriter{tx: tx, log: log, begun: time.Now()}
	var before, after string
	err := tx.QueryRow(ctx, identitySQL, "journal_entries").Scan(&before)
	if err == nil {
		_, err = tx.Exec(ctx, asideSQL)
	}
	if err == nil {
		_, err = tx.Exec(ctx, tablesSQL())
	}
	if err == nil {
		err = tx.QueryRow(ctx, identitySQL, "journal_entries").Scan(&after)
	}
	if err != nil {
		return fmt.Errorf("journal: rewrite the tables: %w", err)
	}
	w.log.Info("journal: the tables of an older version are rewritten; the journal is not used meanwhile, and a start that is cut short leaves them as they are", "from", version, "to", tablesVersion)
	for _, part := range []func(context.Context) error{
		func(ctx context.Context) error { return w.small(ctx, before, after) }, w.heads, w.entries, w.marks, w.finish,
	} {
		if err := part(ctx); err != nil {
			return fmt.Errorf("journal: rewrite the tables: %w", err)
		}
	}
	return nil
}

// rewriter is a rewrite under way.
type rewriter struct {
	tx          pgx.Tx
	log         *slog.Logger
	begun, told time.Time
	total       int64 // entries, as the heads say
}

// small carries the small tables, as far as the old version has them.
func (w *rewriter) small(ctx context.Context, before, after string) error {
	if _, err := w.tx.Exec(ctx, metaSQL, tablesVersion, before, after); err != nil {
		return err
	}
	if _, err := w.tx.Exec(ctx, "INSERT INTO journal_alive SELECT one FROM old_journal_alive"); err != nil {
		return err
	}
	var eras bool
	if err := w.tx.QueryRow(ctx, "SELECT to_regclass('old_journal_eras') IS NOT NULL").Scan(&eras); err != nil || !eras {
		return err
	}
	_, err := w.tx.Exec(ctx, `INSERT INTO journal_eras (id, begun) SELECT id, begun FROM old_journal_eras ORDER BY n`)
	if err == nil {
		_, err = w.tx.Exec(ctx, "UPDATE journal_reached r SET pos = o.pos, own = o.own FROM old_journal_reached o")
	}
	return err
}

// heads carries the heads. They keep their numbers if those are small enough: once
// they were used up faster than conversations were made.
func (w *rewriter) heads(ctx context.Context) error {
	var last int64
	if err := w.tx.QueryRow(ctx, "SELECT coalesce(max(no), 0), coalesce(sum(seq), 0)::bigint FROM old_journal_heads").Scan(&last, &w.total); err != nil {
		return err
	}
	anew, n := last > math.MaxInt32, int32(0)
	columns := []string{"no", "slot", "conversation", "seq", "count", "stored", "roster", "pos"}
	_, err := w.each(ctx, "SELECT no, conversation, seq, count, stored, roster, pos FROM old_journal_heads ORDER BY no", "journal_heads", columns, func(v [][]byte) ([]any, error) {
		if n++; !anew {
			n = int32(int8Of(v[0]))
		}
		name := string(v[1])
		return []any{n, int16(im.SlotOf(name)), name, int64(int8Of(v[2])), int64(int8Of(v[3])), int64(int8Of(v[4])), int64(int8Of(v[5])), int64(int8Of(v[6]))}, nil
	})
	if err != nil || n == 0 {
		return err
	}
	if _, err = w.tx.Exec(ctx, "SELECT setval(pg_get_serial_sequence('journal_heads', 'no'), $1)", int64(n)); err != nil {
		return err
	}
	_, err = w.tx.Exec(ctx, `INSERT INTO journal_numbers (old, no, slot)
		SELECT o.no, h.no, h.slot FROM old_journal_heads o JOIN journal_heads h ON h.conversation = o.conversation`)
	if err == nil {
		_, err = w.tx.Exec(ctx, "ANALYZE journal_numbers")
	}
	return err
}

// oldEntriesSQL reads the old entries as they lie. A recalled one was last amended by
// the last recall of it.
const oldEntriesSQL = `SELECT n.no, n.slot, e.seq, e.count, e.stored, e.pos, e.hash, e.roster, e.id, e.kind, e.sender, e.recalled, e.target, r.seq,
		e.type, e.text, e.body, e.reply_to, e.mentions, e.event
	FROM old_journal_entries e JOIN journal_numbers n ON n.old = e.no
	LEFT JOIN (SELECT no, target, max(seq) AS seq FROM old_journal_entries WHERE kind = 2 AND target IS NOT NULL GROUP BY no, target) r
		ON r.no = e.no AND r.target = e.seq AND e.recalled`

// entries carries the entries, with what they say as a body.
func (w *rewriter) entries(ctx context.Context) error {
	columns := []string{"no", "slot", "seq", "count", "stored", "pos", "hash", "roster", "id", "kind", "sender", "recalled", "target", "amended", "body"}
	n, err := w.each(ctx, oldEntriesSQL, "journal_entries", columns, func(v [][]byte) ([]any, error) {
		kind := im.EntryKind(int2Of(v[9]))
		body, err := oldBody(kind, v[14:])
		if err != nil {
			return nil, fmt.Errorf("entry %d of conversation number %d: %w", int8Of(v[2]), int4Of(v[0]), err)
		}
		row := []any{
			int32(int4Of(v[0])), int16(int2Of(v[1])), int64(int8Of(v[2])), int64(int8Of(v[3])), int64(int8Of(v[4])), int64(int8Of(v[5])), int64(int8Of(v[6])),
			orNull(v[7]), [16]byte(v[8]), int16(kind), string(v[10]), nil, orNull(v[12]), nil, body,
		}
		if boolOf(v[11]) {
			row[11], row[13], row[14] = true, orNull(v[13]), []byte{}
		}
		return row, nil
	})
	if err == nil && n != w.total {
		err = fmt.Errorf("there are %d entries; the conversations' heads say %d: the database is damaged", n, w.total)
	}
	return err
}

// orNull is a number that is null instead of 0.
func orNull(v []byte) any {
	if n := int8Of(v); n != 0 {
		return int64(n)
	}
	return nil
}

// oldBody is the body of what was kept as type, text, body, reply_to, mentions and
// event.
func oldBody(kind im.EntryKind, v [][]byte) ([]byte, error) {
	o := entrycodec.Old{Type: string(v[0]), Text: boolOf(v[1]), Content: v[2], ReplyTo: int8Of(v[3])}
	if v[4] != nil {
		for u := range bytes.SplitSeq(v[4], []byte(",")) {
			o.Mentions = append(o.Mentions, im.UserID(u))
		}
	}
	if v[5] != nil {
		o.Event = new(im.Event)
		if err := json.Unmarshal(v[5], o.Event); err != nil {
			return nil, fmt.Errorf("its event is damaged: %w", err)
		}
	}
	return append([]byte{}, o.Body(kind)...), nil
}

// marks carries the marks.
func (w *rewriter) marks(ctx context.Context) error {
	columns := []string{"slot", "user", "conversation", "received", "read", "read_count", "pos"}
	_, err := w.each(ctx, `SELECT "user", conversation, received, read, read_count, pos FROM old_journal_marks`, "journal_marks", columns, func(v [][]byte) ([]any, error) {
		user := string(v[0])
		return []any{int16(im.SlotOf(user)), user, string(v[1]), int64(int8Of(v[2])), int64(int8Of(v[3])), int64(int8Of(v[4])), int64(int8Of(v[5]))}, nil
	})
	return err
}

// finishSQL drops the old tables, and makes the statistics without which the first
// queries would be planned as for empty tables.
const finishSQL = `
DROP TABLE old_journal_meta, old_journal_alive, old_journal_heads, old_journal_entries, old_journal_marks;
DROP TABLE IF EXISTS old_journal_eras, old_journal_reached;`

// finish makes the indexes, and drops the old tables.
func (w *rewriter) finish(ctx context.Context) error {
	w.log.Info("journal: all is rewritten; the indexes are made", "entries", w.total, "after", time.Since(w.begun).Round(time.Second))
	sql := indexesSQL + finishSQL
	if w.total > 0 { // of empty tables the server knows better that it knows nothing
		sql += "ANALYZE journal_heads, journal_entries, journal_marks"
	}
	if _, err := w.tx.Exec(ctx, sql); err != nil {
		return err
	}
	w.log.Info("journal: the tables are those of this version", "entries", w.total, "after", time.Since(w.begun).Round(time.Second))
	return nil
}

// each reads the rows of a query and writes what convert makes of them, some at a
// time. It returns how many there are.
func (w *rewriter) each(ctx context.Context, query, table string, columns []string, convert func(v [][]byte) ([]any, error)) (n int64, err error) {
	if _, err := w.tx.Exec(ctx, "DECLARE old_rows NO SCROLL CURSOR FOR "+query); err != nil {
		return 0, err
	}
	for {
		page, err := w.fetch(ctx, convert)
		if err != nil {
			return n, err
		}
		if len(page) == 0 {
			break
		}
		if _, err := w.tx.CopyFrom(ctx, pgx.Identifier{table}, columns, pgx.CopyFromRows(page)); err != nil {
			return n, err
		}
		if n += int64(len(page)); time.Since(w.told) >= rewriteTold {
			w.told = time.Now()
			w.log.Info("journal: rewriting", "table", table, "rows", n, "entries in all", w.total, "after", time.Since(w.begun).Round(time.Second))
		}
	}
	_, err = w.tx.Exec(ctx, "CLOSE old_rows")
	return n, err
}

// fetch reads some rows.
func (w *rewriter) fetch(ctx context.Context, convert func(v [][]byte) ([]any, error)) (page [][]any, err error) {
	rows := w.tx.Conn().PgConn().ExecParams(ctx, fmt.Sprintf("FETCH %d FROM old_rows", rewritePage), nil, nil, nil, binaryFormat)
	for rows.NextRow() {
		row, failed := convert(rows.Values())
		if failed != nil {
			err = errors.Join(err, failed)
			continue
		}
		page = append(page, row)
	}
	_, closed := rows.Close()
	return page, errors.Join(err, closed)
}
