package postgres

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/pg/pgtest"
	"github.com/skein-im/skein/internal/schema"
)

// later are the steps of the next version of the program.
func later(kinds ...schema.Kind) plan {
	p := migrations()
	for range kinds {
		p = append(p, step{sql: "ALTER TABLE journal_entries ADD COLUMN later_" + string(rune('a'+len(p))) + " text", kind: kinds[len(p)-len(migrations())]})
	}
	return p
}

// starts does to the database what a start of that version does.
func (p plan) starts(t *testing.T, url string) error {
	t.Helper()
	c, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(t.Context())
	return p.migrate(t.Context(), c, p.steps().Start(), quiet())
}

// least is what a program must know of tables that the plan made to a version.
func (p plan) least(version int) int {
	least := tablesVersion
	for i, m := range p[:version] {
		if m.kind == schema.Contract {
			least = i + 1
		}
	}
	return least
}

func rangeOf(t testing.TB, url string) schema.Range {
	t.Helper()
	x, err := pgtest.Collect[schema.Range](t.Context(), url, "SELECT version, least FROM journal_meta")
	if err != nil || len(x) != 1 {
		t.Fatal(x, err)
	}
	return x[0]
}

// A node once left the store as soon as a node of the next version had added
// something to the tables, for good, with every connection it had to make anew.
func TestExpandedByNewerVersion(t *testing.T) {
	url := pgtest.Database(t)
	var said bytes.Buffer
	j, err := Open(t.Context(), url, Options{Logger: slog.New(slog.NewTextHandler(&said, nil)), MaxConns: 4})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	store(t, j, message("grp:g", "a", 1))
	known := steps().Known()
	for n := range 2 { // the next version, and the one after it
		if err := later([]schema.Kind{schema.Expand, schema.Expand}[:n+1]...).starts(t, url); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := rangeOf(t, url), (schema.Range{Version: known + 2, Least: later(schema.Expand, schema.Expand).least(known + 2)}); got != want {
		t.Fatalf("the database has %+v, want %+v", got, want)
	}
	// Every connection is another one from here on.
	j.writers.Reset()
	j.readers.Reset()
	store(t, j, message("grp:g", "a", 2))
	if _, err := j.told(t.Context()); err != nil {
		t.Fatal(err)
	}
	if entries := all(t, j, "grp:g"); len(entries) != 2 {
		t.Errorf("%d entries", len(entries))
	}
	if err := j.SetMarks(t.Context(), []im.Mark{{User: "u", Conversation: "grp:g", Read: 1}}, im.MarkWait{}); err != nil {
		t.Error(err)
	}
	stopped, warnings := j.Trouble()
	if stopped != "" || len(warnings) != 1 || !strings.Contains(warnings[0], "extended by a newer version") {
		t.Errorf("stopped %q, warnings %q", stopped, warnings)
	}
	if n := strings.Count(said.String(), "extended by a newer version"); n != 1 {
		t.Errorf("said %d times: %s", n, &said)
	}
	// A node of this version starts, too: an exchange can be taken back.
	other := open(t, url)
	defer other.Close()
	store(t, other, message("grp:g", "a", 3))
	if got, want := rangeOf(t, url), (schema.Range{Version: known + 2, Least: later(schema.Expand, schema.Expand).least(known + 2)}); got != want {
		t.Errorf("the database has %+v, want %+v", got, want)
	}
}

// A step that takes something away waits for an operator, and for the last node
// that would be shut out.
func TestContract(t *testing.T) {
	url := pgtest.Database(t)
	old := open(t, url)
	store(t, old, message("grp:g", "a", 1))
	known := steps().Known()
	next := later(schema.Expand, schema.Contract)
	if err := next.starts(t, url); err != nil {
		t.Fatal(err)
	}
	expanded := schema.Range{Version: known + 1, Least: next.least(known + 1)}
	if got := rangeOf(t, url); got != expanded {
		t.Fatalf("started, the database has %+v, want %+v", got, expanded)
	}
	var inUse *schema.InUseError
	if _, _, err := next.contract(t.Context(), url, quiet()); !errors.As(err, &inUse) || inUse.Known != known || inUse.Step != known+2 {
		t.Errorf("contracted below a node: %v", err)
	}
	// A version that needs the step on its way does not start either.
	if err := append(next, step{sql: "SELECT 1"}).starts(t, url); !errors.As(err, &inUse) {
		t.Errorf("a start contracted below a node: %v", err)
	}
	if got := rangeOf(t, url); got != expanded {
		t.Errorf("refused, the database has %+v, want %+v", got, expanded)
	}
	store(t, old, message("grp:g", "a", 2))
	if err := old.Close(); err != nil {
		t.Fatal(err)
	}
	contracted := schema.Range{Version: known + 2, Least: known + 2}
	before, after, err := next.contract(t.Context(), url, quiet())
	if err != nil || before != expanded || after != contracted || rangeOf(t, url) != contracted {
		t.Fatalf("from %+v to %+v, %v", before, after, err)
	}
	var newer *schema.NewerError
	if _, err := Open(t.Context(), url, Options{}); !errors.As(err, &newer) || newer.Have != contracted || newer.Known != known {
		t.Errorf("the old version was started: %v", err)
	}
	if got := rangeOf(t, url); got != contracted {
		t.Errorf("after a refused start the database has %+v", got)
	}
}

// A node that comes back, frozen or cut off for long, to tables that are not its
// any more stores and reads nothing, and says why.
func TestShutOut(t *testing.T) {
	for name, reconnect := range map[string]bool{"on a new connection": true, "on the one it had": false} {
		t.Run(name, func(t *testing.T) {
			url := pgtest.Database(t)
			j := open(t, url)
			defer j.Close()
			store(t, j, message("grp:g", "a", 1))
			pgtest.Exec(t, url, "UPDATE journal_meta SET version = 99, least = 98")
			if reconnect {
				j.writers.Reset()
				j.readers.Reset()
			} else {
				_, _ = j.Pulse(t.Context()) // what tells it
			}
			const what = "run the newer version"
			err := j.Append(t.Context(), []im.Append{message("grp:g", "a", 2)}, make([]im.Appended, 1))
			if !errors.Is(err, im.ErrJournalUnavailable) || !strings.Contains(err.Error(), what) {
				t.Errorf("append: %v", err)
			}
			if _, err := j.told(t.Context()); !errors.Is(err, im.ErrJournalUnavailable) || !strings.Contains(err.Error(), what) {
				t.Errorf("position: %v", err)
			}
			if stopped, _ := j.Trouble(); !strings.Contains(stopped, what) {
				t.Errorf("stopped: %q", stopped)
			}
			pgtest.Exec(t, url, "DO $$ BEGIN ASSERT (SELECT seq FROM journal_heads) = 1; END $$")
		})
	}
}

// A table of an older version, which does not say who may use it, is converted.
func TestFromVersions(t *testing.T) {
	for have := range steps().Known() {
		url := pgtest.Database(t)
		if have > 0 && have < tablesVersion {
			oldTables(t, url, have)
		}
		j := open(t, url)
		store(t, j, message("grp:g", "a", 1))
		if err := j.Close(); err != nil {
			t.Error(err)
		}
		if got, want := rangeOf(t, url), (schema.Range{Version: steps().Start(), Least: tablesVersion}); got != want {
			t.Errorf("from %d to %+v, want %+v", have, got, want)
		}
	}
}

// A migration that waits for a table in use lets those pass who come behind it.
func TestMigrationWaitsForTable(t *testing.T) {
	url := pgtest.Database(t)
	j := open(t, url)
	defer j.Close()
	store(t, j, message("grp:g", "a", 1))
	c, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(t.Context())
	if _, err := c.Exec(t.Context(), "BEGIN; SELECT count(*) FROM journal_entries"); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- later(schema.Expand).starts(t, url) }()
	for n := range 20 {
		store(t, j, message("grp:g", "a", 2+n))
		select {
		case err := <-done:
			t.Fatalf("the migration did not wait: %v", err)
		default:
		}
	}
	if _, err := c.Exec(t.Context(), "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if got := rangeOf(t, url).Version; got != steps().Known()+1 {
		t.Errorf("version %d", got)
	}
}
