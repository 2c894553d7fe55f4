package postgres

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/pgtest"
)

func indexedNow(t *testing.T, url string) bool {
	t.Helper()
	c, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(context.WithoutCancel(t.Context()))
	ok, err := indexed(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return ok
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal(what + ": not within a minute")
		}
	}
}

// A database of an earlier version has no index of what was recalled, or a broken
// one of a process that was cut short. The next start makes it while it serves;
// what is found is the same before, meanwhile and after.
func TestIndexOfRecalledIsMade(t *testing.T) {
	const drop = "DROP INDEX journal_entries_recalled"
	for name, older := range map[string]string{
		"missing": drop,
		"broken":  "UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'journal_entries_recalled'::regclass",
	} {
		t.Run(name, func(t *testing.T) {
			url := pgtest.Database(t)
			j := open(t, url)
			store(t, j, message("grp:g", "a", 1), message("grp:g", "a", 2))
			gone := message("grp:g", "a", 3)
			gone.Entry.Kind, gone.Entry.Target, gone.Erase, gone.Entry.Content = im.EntryRecall, 1, 1, im.Content{}
			store(t, j, gone)
			if err := j.Close(); err != nil {
				t.Fatal(err)
			}
			if !indexedNow(t, url) {
				t.Fatal("a new database has no index")
			}
			pgtest.Exec(t, url, older)
			// Somebody's long transaction keeps the making of an index waiting, and
			// nothing else.
			holder, err := pgx.Connect(t.Context(), url)
			if err != nil {
				t.Fatal(err)
			}
			defer holder.Close(context.WithoutCancel(t.Context()))
			if _, err := holder.Exec(t.Context(), "BEGIN; UPDATE journal_heads SET seq = seq WHERE conversation = 'grp:another'; LOCK journal_entries IN ROW EXCLUSIVE MODE"); err != nil {
				t.Fatal(err)
			}
			j, other := open(t, url), open(t, url)
			want := func() {
				t.Helper()
				for _, j := range []*Journal{j, other} {
					out := make([]im.Recalled, 1)
					if err := j.Recalled(t.Context(), []im.Span{{Conversation: "grp:g", Until: 9}}, 9, out); err != nil || out[0].Count != 1 || len(out[0].Seqs) != 1 || out[0].Seqs[0] != 1 {
						t.Fatal(out, err)
					}
				}
			}
			want()
			store(t, j, message("grp:g", "a", 4))
			if indexedNow(t, url) {
				t.Fatal("the index is there already")
			}
			if _, err := holder.Exec(t.Context(), "COMMIT"); err != nil {
				t.Fatal(err)
			}
			eventually(t, "the index", func() bool { return indexedNow(t, url) })
			want()
			for _, j := range []*Journal{j, other} {
				if err := j.Close(); err != nil {
					t.Fatal(err)
				}
			}
			if !indexedNow(t, url) {
				t.Fatal("the index is gone")
			}
		})
	}
}

// A journal that is closed while it waits to make the index is closed soon, and the
// next start makes it.
func TestIndexOfRecalledIsGivenUp(t *testing.T) {
	url := pgtest.Database(t)
	if err := open(t, url).Close(); err != nil {
		t.Fatal(err)
	}
	pgtest.Exec(t, url, "DROP INDEX journal_entries_recalled")
	holder, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer holder.Close(context.WithoutCancel(t.Context()))
	if _, err := holder.Exec(t.Context(), "BEGIN; LOCK journal_entries IN ROW EXCLUSIVE MODE"); err != nil {
		t.Fatal(err)
	}
	j := open(t, url)
	waits := func() bool {
		n, err := pgtest.Collect[struct{ N int64 }](t.Context(), url, "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'CREATE INDEX CONCURRENTLY%' AND wait_event_type = 'Lock'")
		return err == nil && n[0].N == 1
	}
	eventually(t, "the index waits", waits)
	closed := make(chan error, 1)
	go func() { closed <- j.Close() }()
	select {
	case err := <-closed:
		if err != nil {
			t.Fatal(err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("Close waits for the index")
	}
	if _, err := holder.Exec(t.Context(), "COMMIT"); err != nil {
		t.Fatal(err)
	}
	j = open(t, url)
	defer j.Close()
	eventually(t, "the next start makes it", func() bool {
		if !indexedNow(t, url) && !j.index.there {
			// The lock may still have been held by the one that was given up.
			_ = j.Close()
			j = open(t, url)
		}
		return indexedNow(t, url)
	})
}

// What is unread is counted by the index, with the settings of the journal's
// sessions, however little the server knows of the tables.
func TestRecalledReadsTheIndex(t *testing.T) {
	url := pgtest.Database(t)
	j := open(t, url)
	defer j.Close()
	store(t, j, message("grp:g", "a", 1))
	c, err := j.acquire(t.Context(), j.readers)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Release()
	plan, err := c.Query(t.Context(), "EXPLAIN "+recalledSQL, []string{"grp:g"}, []int64{0}, []int64{9}, 9)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := pgx.CollectRows(plan, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	if text := strings.Join(lines, "\n"); !strings.Contains(text, recalledIndex) {
		t.Errorf("the plan:\n%s", text)
	}
}
