package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"google.golang.org/protobuf/proto"

	"github.com/skein-im/skein/internal/entrycodec"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/pg/pgtest"
	"github.com/skein-im/skein/internal/schema"
	"github.com/skein-im/skein/wire"
)

// told is where version 3 told that its journal is.
func told(t testing.TB, url string) im.Place {
	t.Helper()
	_, err := pgtest.Collect[struct{ N int }](t.Context(), url, "WITH r AS ("+reachSQL+" RETURNING 1) SELECT count(*)::int FROM r")
	must(t, err)
	p, err := pgtest.Collect[struct {
		Timeline       string
		Era, Pos       int64
		Behind         bool
		Version, Least int
	}](t.Context(), url, positionSQL)
	must(t, err)
	return im.Place{Era: uint64(p[0].Era), Pos: uint64(p[0].Pos)}
}

// Tables of version 3 become those of version 4 by the first start: all that was
// stored is there as it was, says what it said, and goes on where it was.
func TestRewrite(t *testing.T) {
	url := pgtest.Database(t)
	items := oldDatabase(t, url, 2*rewritePage+17)
	before, place := rowsOf(t, url), told(t, url)
	marks, err := pgtest.Collect[struct {
		U, C       string
		R, D, N, P int64
	}](t.Context(), url, `SELECT "user", conversation, received, read, read_count, pos FROM journal_marks ORDER BY 1, 2`)
	must(t, err)
	var log bytes.Buffer
	j, err := Open(t.Context(), url, Options{Logger: slog.New(slog.NewTextHandler(&log, nil)), WentBack: func(why string) { t.Errorf("the history went back: %s", why) }})
	must(t, err)
	defer j.Close()
	if after := rowsOf(t, url); len(before) != len(items) || !reflect.DeepEqual(before, after) {
		t.Errorf("%d items were %d rows, and are %d others", len(items), len(before), len(after))
	}
	if got := rangeOf(t, url); got != (schema.Range{Version: steps().Start(), Least: tablesVersion}) {
		t.Errorf("the tables have %+v", got)
	}
	if j.Timeline() != "old" {
		t.Errorf("the timeline is %q", j.Timeline())
	}
	if eras := j.Eras(); len(eras) != 1 || eras[0].ID != place.Era {
		t.Errorf("eras %+v, it was in %d", eras, place.Era)
	}
	if at, err := j.told(t.Context()); err != nil || at.Era != place.Era || at.Pos < place.Pos {
		t.Errorf("at %+v, %v; it was at %+v", at, err, place)
	}
	if held, err := j.holds(t.Context(), place); err != nil || !held {
		t.Errorf("a place of before is held: %v, %v", held, err)
	}
	sayTheSame(t, j, items)
	for _, m := range marks {
		got := make([]im.Mark, 1)
		must(t, j.Marks(t.Context(), []im.MarkKey{{User: im.UserID(m.U), Conversation: im.ConversationID(m.C)}}, got, false))
		if want := (im.Mark{User: im.UserID(m.U), Conversation: im.ConversationID(m.C), Received: uint64(m.R), Read: uint64(m.D), ReadCount: uint64(m.N), Pos: uint64(m.P)}); got[0] != want {
			t.Errorf("mark %+v, want %+v", got[0], want)
		}
	}
	// It goes on: new numbers, none used twice.
	out := store(t, j, message(im.Group("new"), "ann", 1), message(im.DM("ann", "bob"), "ann", 1<<20))
	if out[0].Seq != 1 || out[1].Seq != 2*rewritePage+18 || out[0].Pos <= before[len(before)-1].HeadPosU() {
		t.Errorf("%+v", out)
	}
	left, err := pgtest.Collect[struct{ Name string }](t.Context(), url, `SELECT relname::text FROM pg_class WHERE relname LIKE 'old\_%' OR relname = 'journal_entries' AND reltuples < 1000
		UNION ALL SELECT proname::text FROM pg_proc WHERE proname IN ('journal_append_1', 'journal_adopt_1', 'journal_adopt_2')`)
	if err != nil || len(left) > 0 {
		t.Errorf("left over: %v, %v", left, err)
	}
	if s := log.String(); !strings.Contains(s, "rewritten") || !strings.Contains(s, fmt.Sprint("entries=", len(items))) {
		t.Errorf("the log: %s", s)
	}
	must(t, j.Close())
	again := open(t, url)
	defer again.Close()
	if again.Timeline() != "old" || len(again.Eras()) != 1 {
		t.Errorf("the next start finds timeline %q, eras %+v", again.Timeline(), again.Eras())
	}
}

// HeadPosU is the head's position.
func (r *oldRow) HeadPosU() uint64 { return uint64(r.HeadPos) }

// sayTheSame requires every item to be there, to say what it said, and its id to be
// known.
func sayTheSame(t testing.TB, j *Journal, items []oldEntry) {
	t.Helper()
	recalled, amended := map[string]bool{}, map[string]uint64{}
	seqs := map[im.ConversationID]uint64{}
	key := func(c im.ConversationID, seq uint64) string { return fmt.Sprint(c, seq) }
	for _, e := range items {
		seqs[e.conversation]++
		if e.kind == im.EntryRecall {
			recalled[key(e.conversation, e.target)], amended[key(e.conversation, e.target)] = true, seqs[e.conversation]
		}
	}
	entries := map[im.ConversationID][]im.Entry{}
	for c := range seqs {
		entries[c] = all(t, j, c)
	}
	clear(seqs)
	var again []im.Append
	for _, e := range items {
		seqs[e.conversation]++
		got := entries[e.conversation][seqs[e.conversation]-1]
		k := key(e.conversation, got.Seq)
		want := e.says
		if recalled[k] {
			want = &wire.Entry{}
		}
		var says wire.Entry
		must(t, entrycodec.Decode(got.Body, &says))
		if !proto.Equal(&says, want) || recalled[k] && len(got.Body) > 0 {
			t.Fatalf("%s %d says %v, want %v", got.Conversation, got.Seq, &says, want)
		}
		if got.ID != e.id || got.Sender != e.sender || got.Kind != e.kind || got.Target != e.target || got.Recalled != recalled[k] || got.Amended != amended[k] {
			t.Fatalf("%+v, want %+v", got, e)
		}
		again = append(again, im.Append{Entry: im.Entry{Conversation: e.conversation, ID: e.id, Sender: e.sender, Kind: e.kind}, Hash: e.hash})
	}
	found := make([]im.Appended, len(again))
	must(t, j.Lookup(t.Context(), again, found))
	resent := store(t, j, again...)
	for i := range again {
		if found[i].Status != im.Duplicate || resent[i].Status != im.Duplicate || found[i].Seq != resent[i].Seq {
			t.Fatalf("item %d is looked up as %+v, resent as %+v", i, found[i], resent[i])
		}
	}
}

// unharmed requires tables of version 3 with these rows.
func unharmed(t testing.TB, url string, want []oldRow) {
	t.Helper()
	if got := rangeOf(t, url); got != (schema.Range{Version: 3, Least: 3}) {
		t.Errorf("the tables have %+v", got)
	}
	if got := rowsOf(t, url); !reflect.DeepEqual(got, want) {
		t.Errorf("%d rows, want the %d of before", len(got), len(want))
	}
	pgtest.Exec(t, url, "DO $$ BEGIN PERFORM journal_adopt_3('x', 8, 3); ASSERT (SELECT timeline = 'old' AND era = 7 FROM journal_meta); END $$")
}

// A start that meets an error on the way leaves version 3; the next one does it.
func TestRewriteFails(t *testing.T) {
	url := pgtest.Database(t)
	items := oldDatabase(t, url, rewritePage)
	pgtest.Exec(t, url, `UPDATE journal_entries SET event = '{' || event WHERE kind = 3 AND sender = ''`)
	before := rowsOf(t, url)
	if _, err := Open(t.Context(), url, Options{Logger: quiet()}); err == nil || !strings.Contains(err.Error(), "event is damaged") {
		t.Fatalf("of a damaged event: %v", err)
	}
	unharmed(t, url, before)
	unlocked(t, url)
	pgtest.Exec(t, url, `UPDATE journal_entries SET event = substr(event, 2) WHERE kind = 3 AND sender = ''`)
	// An entry is missing.
	pgtest.Exec(t, url, `UPDATE journal_heads SET seq = seq + 1 WHERE conversation = 'dm:ann:bob'`)
	before = rowsOf(t, url)
	if _, err := Open(t.Context(), url, Options{Logger: quiet()}); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Fatalf("with an entry missing: %v", err)
	}
	unharmed(t, url, before)
	unlocked(t, url)
	pgtest.Exec(t, url, `UPDATE journal_heads SET seq = seq - 1 WHERE conversation = 'dm:ann:bob'`)
	j := open(t, url)
	defer j.Close()
	sayTheSame(t, j, items)
}

// A process that is killed in the middle leaves version 3; the next start does it.
func TestRewriteIsKilled(t *testing.T) {
	url := pgtest.Database(t)
	items := oldDatabase(t, url, 2*rewritePage)
	before := rowsOf(t, url)
	for _, bytes := range []int{2_000, 30_000, 300_000, 1_000_000} {
		p := newProxy(t, url)
		p.requests = bytes
		done := make(chan error, 1)
		go func() {
			_, err := Open(context.WithoutCancel(t.Context()), p.url, Options{Logger: quiet()})
			done <- err
		}()
		for stuck := false; !stuck; {
			p.set(func() { stuck = p.requests == 0 })
			select {
			case err := <-done:
				t.Fatalf("after less than %d bytes: %v", bytes, err)
			default:
			}
		}
		p.close()
		if err := <-done; err == nil {
			t.Fatal("it was opened")
		}
		unlocked(t, url)
		unharmed(t, url, before)
		unlocked(t, url) // by the node of version 3 that looked
	}
	j := open(t, url)
	defer j.Close()
	sayTheSame(t, j, items)
}

// A node of version 3 is connected: a start changes nothing, and says what to do. A
// node of version 3 that comes back afterwards is told, and changes nothing.
func TestRewriteBesideAnOldNode(t *testing.T) {
	url := pgtest.Database(t)
	oldDatabase(t, url, 5)
	before := rowsOf(t, url)
	node, err := pgx.Connect(t.Context(), url)
	must(t, err)
	defer node.Close(context.WithoutCancel(t.Context()))
	_, err = node.Exec(t.Context(), "SELECT journal_adopt_3('node', 8, 3)")
	must(t, err)
	var inUse *schema.InUseError
	_, err = Open(t.Context(), url, Options{Logger: quiet()})
	if !errors.As(err, &inUse) || inUse.Known != 3 || inUse.Step != 4 || errors.Is(err, im.ErrJournalUnavailable) || !strings.Contains(err.Error(), "stop every node of the older version (or all nodes), then start this one") {
		t.Errorf("beside a node of version 3: %v", err)
	}
	unharmed(t, url, before)
	must(t, node.Close(t.Context()))
	unlocked(t, url)
	j := open(t, url)
	defer j.Close()
	store(t, j, message("grp:g", "ann", 1000))
	back, err := pgtest.Collect[struct {
		Timeline       *string
		Era            *int64
		Version, Least int
		Moved, Lost    *bool
	}](t.Context(), url, "SELECT * FROM journal_adopt_3('node', 8, 3)")
	if err != nil || back[0].Timeline != nil || back[0].Version != steps().Start() || back[0].Least != tablesVersion {
		t.Errorf("the old node is told %+v, %v", back, err)
	}
}

// Numbers of conversations that are too large for version 4 are given anew, in their
// order: version 3 used one up for every conversation it did not remember.
func TestRewriteNumbersAnew(t *testing.T) {
	url := pgtest.Database(t)
	oldTables(t, url, 3)
	c, err := pgx.Connect(t.Context(), url)
	must(t, err)
	defer c.Close(context.WithoutCancel(t.Context()))
	items := oldItems(20)
	storeOld(t, c, items[:5])
	_, err = c.Exec(t.Context(), "SELECT setval(pg_get_serial_sequence('journal_heads', 'no'), 5000000000)")
	must(t, err)
	storeOld(t, c, items[5:])
	must(t, c.Close(t.Context()))
	j := open(t, url)
	defer j.Close()
	sayTheSame(t, j, items)
	store(t, j, message("grp:new", "ann", 1000))
	nos, err := pgtest.Collect[struct{ No int64 }](t.Context(), url, "SELECT no::bigint FROM journal_heads ORDER BY no")
	must(t, err)
	if !slices.Equal(nos, []struct{ No int64 }{{1}, {2}, {3}, {4}}) {
		t.Errorf("numbers %v", nos)
	}
}

// A dump that was restored is another history, also when it is rewritten first.
func TestRewriteOfARestoredDump(t *testing.T) {
	url := pgtest.Database(t)
	oldDatabase(t, url, 5)
	pgtest.Exec(t, url, "UPDATE journal_meta SET identity = '1/2/3', server = '1/2/3/00000001/5'")
	j := open(t, url)
	defer j.Close()
	if j.Timeline() == "old" {
		t.Error("the timeline is that of the dump")
	}
}
