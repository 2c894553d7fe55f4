package postgres

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/skein-im/skein/internal/entrycodec"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/pg"
)

// The phases of an import.
const (
	Copying = "copying"
	Failed  = "failed" // what was copied is not what was there
	Done    = "done"
)

// Import is what a database notes of the store that is copied into it.
type Import struct {
	Phase string
	// Timeline and State are the source's: a server that used it in between
	// changes the state.
	Timeline, State string
	// Entries and Marks are how many were copied, EntryPlace and MarkPlace the
	// places of the last ones in the source, nil before the first.
	Entries, Marks        uint64
	EntryPlace, MarkPlace []byte
	// Note says why it failed.
	Note string
}

// UnfinishedError is why Open refuses a database that a store was copied into,
// but not to the end.
type UnfinishedError struct{ Phase, Note string }

func (e *UnfinishedError) Error() string {
	if e.Phase == Failed {
		return "journal: this database holds a copy that is not usable (" + e.Note + "): drop it, and run `skein migrate-store` into a new one"
	}
	return "journal: a store was copied into this database, but not to the end: run `skein migrate-store` again with the same --data and --to, or drop the database"
}

const importTable = `CREATE TABLE skein_migration (
	one      bool   PRIMARY KEY DEFAULT true CHECK (one),
	phase    text   NOT NULL,
	timeline text   NOT NULL, -- of the source
	state    text   NOT NULL,
	entries  bigint NOT NULL DEFAULT 0,
	marks    bigint NOT NULL DEFAULT 0,
	entry_place bytea,
	mark_place  bytea,
	note     text   NOT NULL DEFAULT '',
	begun    timestamptz NOT NULL DEFAULT now())`

// finished refuses a database with an import that has not ended well.
func finished(ctx context.Context, c *pgx.Conn) error {
	m := Importer{c: c}
	n, found, err := m.Noted(ctx)
	if err == nil && found && n.Phase != Done {
		return &UnfinishedError{n.Phase, n.Note}
	}
	return err
}

// Importer fills a database from another journal, with numbers and positions as
// they were. It is for one goroutine. Only one may be at work on a database.
type Importer struct{ c *pgx.Conn }

// importLock is the advisory lock of who imports; importWait is how long to wait
// for one that was killed a moment ago.
const (
	importLock = 7205416022
	importWait = 10 * time.Second
)

// importSettings undo what suits small batches.
const importSettings = `RESET plan_cache_mode; RESET enable_seqscan; RESET enable_hashjoin; RESET enable_mergejoin; RESET enable_material; SET idle_in_transaction_session_timeout = 0`

// OpenImporter connects to a database. It changes nothing.
func OpenImporter(ctx context.Context, url string) (m *Importer, err error) {
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("the database's URL: %w", err)
	}
	config.RuntimeParams["application_name"] = ImporterName
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = connectTimeout
	}
	c, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, unreachable(ctx, err)
	}
	m = &Importer{c: c}
	defer func() {
		if err != nil {
			err = errors.Join(err, m.Close())
		}
	}()
	if err := session(ctx, c); err != nil {
		return nil, err
	}
	if err := c.PgConn().Exec(ctx, importSettings+fmt.Sprintf("; SET lock_timeout = %d", importWait.Milliseconds())).Close(); err != nil {
		return nil, err
	}
	if _, err := c.Exec(ctx, "SELECT pg_advisory_lock($1)", int64(importLock)); err != nil {
		var answer *pgconn.PgError
		if errors.As(err, &answer) && answer.Code == pg.LockNotAvailable {
			return nil, errors.New("another migration into this database is running")
		}
		return nil, err
	}
	_, err = c.Exec(ctx, "SET lock_timeout = 0")
	return m, err
}

// ImporterName is the application_name of importing connections.
const ImporterName = "skein migrate-store"

// Close ends the connection.
func (m *Importer) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), connectTimeout)
	defer cancel()
	return m.c.Close(ctx)
}

// Where names the database without user and password.
func (m *Importer) Where() string {
	c := m.c.Config()
	return fmt.Sprintf("postgres://%s:%d/%s", c.Host, c.Port, c.Database)
}

// Noted returns what the database notes of an import, if there is any.
func (m *Importer) Noted(ctx context.Context) (n Import, found bool, err error) {
	var there bool
	if err := m.c.QueryRow(ctx, "SELECT to_regclass('skein_migration') IS NOT NULL").Scan(&there); err != nil || !there {
		return n, false, err
	}
	var entries, marks int64
	err = m.c.QueryRow(ctx, "SELECT phase, timeline, state, entries, marks, entry_place, mark_place, note FROM skein_migration").
		Scan(&n.Phase, &n.Timeline, &n.State, &entries, &marks, &n.EntryPlace, &n.MarkPlace, &n.Note)
	n.Entries, n.Marks = uint64(entries), uint64(marks)
	return n, err == nil, err
}

// journalTables are those that entries and marks are in.
func journalTables() []string {
	return []string{"journal_heads", "journal_entries", "journal_marks", "journal_labels"}
}

// Begin notes an import from a source, and makes the journal's tables. The
// database must not be in use: others are the tables that must be missing or
// empty, besides the journal's own.
func (m *Importer) Begin(ctx context.Context, timeline, state string, others []string) error {
	err := pgx.BeginFunc(ctx, m.c, func(tx pgx.Tx) error {
		for _, table := range append(journalTables(), others...) {
			if err := requireEmpty(ctx, tx, table); err != nil {
				return err
			}
		}
		var servers int
		err := tx.QueryRow(ctx, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name IN ('skein journal', 'skein directory')`).Scan(&servers)
		if err != nil {
			return err
		}
		if servers > 0 {
			return errors.New("a server of skein is connected to this database: stop it, and take an empty database")
		}
		if _, err := tx.Exec(ctx, importTable); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, "INSERT INTO skein_migration (phase, timeline, state) VALUES ($1, $2, $3)", Copying, timeline, state)
		return err
	})
	if err != nil {
		return err
	}
	return m.migrate(ctx)
}

func requireEmpty(ctx context.Context, tx pgx.Tx, table string) error {
	name := pgx.Identifier{table}.Sanitize()
	var there, some bool
	if err := tx.QueryRow(ctx, "SELECT to_regclass($1) IS NOT NULL", name).Scan(&there); err != nil || !there {
		return err
	}
	if err := tx.QueryRow(ctx, "SELECT EXISTS (SELECT FROM "+name+")").Scan(&some); err != nil {
		return err
	}
	if some {
		return fmt.Errorf("this database is in use (there are %s in it): take an empty one", table)
	}
	return nil
}

// Again begins an import anew, whose source was used since; others are the
// tables that are emptied, besides the journal's own.
func (m *Importer) Again(ctx context.Context, state string, others []string) error {
	if err := m.migrate(ctx); err != nil {
		return err
	}
	return pgx.BeginFunc(ctx, m.c, func(tx pgx.Tx) error {
		for _, table := range append(journalTables(), others...) {
			name := pgx.Identifier{table}.Sanitize()
			var there bool
			if err := tx.QueryRow(ctx, "SELECT to_regclass($1) IS NOT NULL", name).Scan(&there); err != nil {
				return err
			}
			if there {
				if _, err := tx.Exec(ctx, "TRUNCATE "+name+" CASCADE"); err != nil {
					return err
				}
			}
		}
		_, err := tx.Exec(ctx, "UPDATE skein_migration SET phase = $1, state = $2, entries = 0, marks = 0, entry_place = NULL, mark_place = NULL, note = '', begun = now()", Copying, state)
		return err
	})
}

func (m *Importer) migrate(ctx context.Context) error {
	return migrations().migrate(ctx, m.c, steps().Start(), slog.New(slog.DiscardHandler))
}

// GoOn prepares to go on with an import.
func (m *Importer) GoOn(ctx context.Context) error { return m.migrate(ctx) }

// ImportedEntry is an entry with the hash that is kept with its id.
type ImportedEntry struct {
	Entry im.Entry
	Hash  uint64
}

func importColumns() []string {
	return []string{"slot", "no", "seq", "count", "stored", "pos", "hash", "roster", "id", "kind", "body", "sender", "recalled", "target", "amended"}
}

// Entries stores a page of entries, and the place of the last one in the source,
// in one transaction. A conversation's entries come in their order.
func (m *Importer) Entries(ctx context.Context, page []ImportedEntry, place []byte) error {
	return pgx.BeginFunc(ctx, m.c, func(tx pgx.Tx) error {
		nos, err := importHeads(ctx, tx, page)
		if err != nil {
			return err
		}
		rows := pgx.CopyFromSlice(len(page), func(i int) ([]any, error) { return entryRow(&page[i], nos[page[i].Entry.Conversation]), nil })
		if _, err := tx.CopyFrom(ctx, pgx.Identifier{"journal_entries"}, importColumns(), rows); err != nil {
			return err
		}
		if err := importLabels(ctx, tx, page, nos); err != nil {
			return err
		}
		if err := importFollows(ctx, tx, page, nos); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, "UPDATE skein_migration SET entries = entries + $1, entry_place = $2", int64(len(page)), place)
		return err
	})
}

// importHeads moves the heads to where a page of entries leads, and returns the
// numbers of the conversations.
func importHeads(ctx context.Context, tx pgx.Tx, page []ImportedEntry) (map[im.ConversationID]int32, error) {
	last := map[im.ConversationID]*im.Entry{}
	for i := range page {
		last[page[i].Entry.Conversation] = &page[i].Entry
	}
	var names []string
	var in []int16
	var seqs, counts, times, rosters, positions []int64
	for c, e := range last {
		names, in, seqs, counts = append(names, string(c)), append(in, int16(im.SlotOf(c))), append(seqs, int64(e.Seq)), append(counts, int64(e.Count))
		times, rosters, positions = append(times, msOf(e.Stored)), append(rosters, int64(e.Roster)), append(positions, int64(e.Pos))
	}
	// Not by ON CONFLICT: a head that is there must not use up a number.
	if _, err := tx.Exec(ctx, `INSERT INTO journal_heads (slot, conversation, seq, count, stored, roster, pos)
		SELECT u.slot, u.name, 0, 0, 0, 0, 0 FROM unnest($1::smallint[], $2::text[]) u(slot, name)
			WHERE NOT EXISTS (SELECT FROM journal_heads h WHERE h.slot = u.slot AND h.conversation = u.name)`, in, names); err != nil {
		return nil, err
	}
	rows, err := tx.Query(ctx, `UPDATE journal_heads h SET seq = u.seq, count = u.count, stored = u.stored, roster = u.roster, pos = u.pos
		FROM unnest($1::smallint[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[]) u(slot, name, seq, count, stored, roster, pos)
		WHERE h.slot = u.slot AND h.conversation = u.name RETURNING h.conversation, h.no`, in, names, seqs, counts, times, rosters, positions)
	if err != nil {
		return nil, err
	}
	nos := make(map[im.ConversationID]int32, len(last))
	var name string
	var no int32
	_, err = pgx.ForEachRow(rows, []any{&name, &no}, func() error {
		nos[im.ConversationID(name)] = no
		return nil
	})
	return nos, err
}

// importLabels stores the labels of a page of entries.
func importLabels(ctx context.Context, tx pgx.Tx, page []ImportedEntry, nos map[im.ConversationID]int32) error {
	var rows [][]any
	for i := range page {
		e := &page[i].Entry
		for _, label := range entrycodec.Labels(e) {
			rows = append(rows, []any{int16(im.SlotOf(e.Conversation)), nos[e.Conversation], label, int64(e.Seq), int64(e.Pos)})
		}
	}
	if len(rows) == 0 {
		return nil
	}
	_, err := tx.CopyFrom(ctx, pgx.Identifier{"journal_labels"}, []string{"slot", "no", "label", "seq", "pos"}, pgx.CopyFromRows(rows))
	return err
}

// importFollows labels the roots of the replies of a page with who follows their threads. A
// root comes before its replies, in this page or an earlier one; one that was taken back or
// trimmed is followed by nobody.
func importFollows(ctx context.Context, tx pgx.Tx, page []ImportedEntry, nos map[im.ConversationID]int32) error {
	var slots []int16
	var in []int32
	var roots []int64
	var writers []string
	for i := range page {
		if e := &page[i].Entry; e.Root() != 0 {
			slots, in = append(slots, int16(im.SlotOf(e.Conversation))), append(in, nos[e.Conversation])
			roots, writers = append(roots, int64(e.Target)), append(writers, string(e.Sender))
		}
	}
	if len(roots) == 0 {
		return nil
	}
	_, err := tx.Exec(ctx, `INSERT INTO journal_labels (slot, no, label, seq, pos)
		SELECT DISTINCT r.slot, r.no, $5 || w.who, r.seq, r.pos
			FROM unnest($1::smallint[], $2::int[], $3::bigint[], $4::text[]) u(slot, no, root, writer)
			JOIN journal_entries r ON r.slot = u.slot AND r.no = u.no AND r.seq = u.root AND octet_length(r.body) > 0,
			LATERAL (VALUES (u.writer), (r.sender)) w(who)
		ON CONFLICT DO NOTHING`, slots, in, roots, writers, entrycodec.LabelFollows(""))
	return err
}

func entryRow(x *ImportedEntry, no int32) []any {
	e := &x.Entry
	row := []any{
		int16(im.SlotOf(e.Conversation)), no, int64(e.Seq), int64(e.Count), msOf(e.Stored), int64(e.Pos), int64(x.Hash), nil, [16]byte(e.ID), int16(e.Kind),
		e.Body, string(e.Sender), nil, nil, nil,
	}
	if e.Body == nil {
		row[10] = []byte{}
	}
	if e.Recalled {
		row[12] = true
	}
	for at, n := range map[int]uint64{7: e.Roster, 13: e.Target, 14: e.Amended} {
		if n != 0 {
			row[at] = int64(n)
		}
	}
	return row
}

// msOf is timeOf the other way round.
func msOf(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

// Marks stores a page of marks, and the place of the last one in the source.
func (m *Importer) Marks(ctx context.Context, page []im.Mark, place []byte) error {
	return pgx.BeginFunc(ctx, m.c, func(tx pgx.Tx) error {
		rows := pgx.CopyFromSlice(len(page), func(i int) ([]any, error) {
			k := &page[i]
			row := []any{int16(im.SlotOf(k.User)), string(k.User), string(k.Conversation), int64(k.Received), int64(k.Read), int64(k.ReadCount), int64(k.Pos), nil}
			if k.Mine != "" {
				row[7] = []byte(k.Mine)
			}
			return row, nil
		})
		columns := []string{"slot", "user", "conversation", "received", "read", "read_count", "pos", "mine"}
		if _, err := tx.CopyFrom(ctx, pgx.Identifier{"journal_marks"}, columns, rows); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, "UPDATE skein_migration SET marks = marks + $1, mark_place = $2", int64(len(page)), place)
		return err
	})
}

// Settle makes statistics of what was stored, without which the first
// queries would be planned as for empty tables.
func (m *Importer) Settle(ctx context.Context) error {
	_, err := m.c.Exec(ctx, "SELECT brin_summarize_new_values('journal_entries_pos')")
	if err != nil {
		return err
	}
	_, err = m.c.Exec(ctx, "ANALYZE journal_heads, journal_entries, journal_marks")
	return err
}

// Finish makes the database usable, as a journal that goes on with timeline and eras
// of the source: whatever is stored from now on has a position greater than
// position, and whoever asks for a position gets no lesser one. It fails when
// the heads are not those of the entries.
func (m *Importer) Finish(ctx context.Context, timeline string, eras im.Eras, position uint64) error {
	return pgx.BeginFunc(ctx, m.c, func(tx pgx.Tx) error {
		// A transaction's id is 3 at least, and so is that of the oldest running one:
		// with position as the base both are greater. The server is adopted by the
		// next who connects.
		if _, err := tx.Exec(ctx, "UPDATE journal_meta SET timeline = $1, base = $2, identity = '', wal = '', level = 0", timeline, int64(position)); err != nil {
			return err
		}
		if err := importEras(ctx, tx, eras, position); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, "DELETE FROM journal_alive"); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, "UPDATE skein_migration SET phase = $1, note = ''", Done)
		return err
	})
}

// importEras makes the eras of the source the first ones here: its positions stay
// good.
func importEras(ctx context.Context, tx pgx.Tx, eras im.Eras, position uint64) error {
	if _, err := tx.Exec(ctx, "DELETE FROM journal_eras"); err != nil {
		return err
	}
	for _, e := range eras {
		if _, err := tx.Exec(ctx, "INSERT INTO journal_eras (id, begun) VALUES ($1, $2)", int64(e.ID), int64(e.Begin)); err != nil {
			return err
		}
	}
	_, err := tx.Exec(ctx, "UPDATE journal_reached SET pos = $1, own = 0", int64(position))
	return err
}

// Fail makes the database unusable for good.
func (m *Importer) Fail(ctx context.Context, note string) error {
	_, err := m.c.Exec(ctx, "UPDATE skein_migration SET phase = $1, note = $2", Failed, note)
	return err
}

const importedEntries = "SELECT " + entryColumns + ", h.conversation, e.hash FROM journal_entries e JOIN journal_heads h ON h.slot = e.slot AND h.no = e.no"

// EachEntry calls each for every entry there is, in no order.
func (m *Importer) EachEntry(ctx context.Context, each func(e *im.Entry, hash uint64) error) error {
	return m.each(ctx, importedEntries, func(v [][]byte) error {
		e := im.Entry{Conversation: im.ConversationID(v[12])}
		scanEntry(v, &e)
		return each(&e, int8Of(v[13]))
	})
}

// EachMark calls each for every mark there is, in no order.
func (m *Importer) EachMark(ctx context.Context, each func(k *im.Mark) error) error {
	return m.each(ctx, `SELECT m."user", m.conversation, `+markColumns+" FROM journal_marks m", func(v [][]byte) error {
		k := scanMark(im.UserID(v[0]), im.ConversationID(v[1]), v[2:])
		return each(&k)
	})
}

// each streams the rows of a query. After an error of f the connection is of no
// use any more.
func (m *Importer) each(ctx context.Context, sql string, f func(v [][]byte) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	rows := m.c.PgConn().ExecParams(ctx, sql, nil, nil, nil, binaryFormat)
	for rows.NextRow() {
		if err := f(rows.Values()); err != nil {
			cancel()
			_, _ = rows.Close()
			return err
		}
	}
	_, err := rows.Close()
	return err
}

// wrongHeads counts conversations whose head is not their last entry, or whose
// entries are not numbered from 1 without a gap.
const wrongHeads = `SELECT count(*) FROM journal_heads h
	LEFT JOIN (SELECT slot, no, count(*) AS n, min(seq) AS first, max(seq) AS last FROM journal_entries GROUP BY slot, no) a ON a.slot = h.slot AND a.no = h.no
	LEFT JOIN journal_entries e ON e.slot = h.slot AND e.no = h.no AND e.seq = h.seq
	WHERE (a.n, a.first, a.last) IS DISTINCT FROM (h.seq, 1::bigint, h.seq)
		OR (e.count, e.stored, coalesce(e.roster, 0), e.pos) IS DISTINCT FROM (h.count, h.stored, h.roster, h.pos)`

// WrongHeads returns how many conversations do not hang together.
func (m *Importer) WrongHeads(ctx context.Context) (n int64, err error) {
	err = m.c.QueryRow(ctx, wrongHeads).Scan(&n)
	return n, err
}
