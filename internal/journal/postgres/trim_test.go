package postgres

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/pg/pgtest"
)

// trims gives a trim a deadline of its own.
func trims(t *testing.T, j *Journal, s im.Span) error {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- j.Trim(context.Background(), s) }()
	select {
	case err := <-done:
		return err
	case <-time.After(20 * time.Second):
		t.Fatal("a trim has no answer after 20 s")
		return nil
	}
}

// Somebody left psql open with the conversation's row, or one of its entries, locked: a
// trim gives up soon, having done nothing, and is done when it is asked for again.
func TestTrimOfLockedRow(t *testing.T) {
	url := pgtest.Database(t)
	j := open(t, url)
	defer j.Close()
	store(t, j, message("grp:g", "a", 1), message("grp:g", "a", 2), message("grp:h", "a", 3))
	for _, statement := range []string{
		"SELECT FROM journal_heads WHERE conversation = 'grp:g' FOR UPDATE",
		"SELECT FROM journal_entries WHERE seq = 2 FOR UPDATE",
	} {
		end := holding(t, url, statement)
		if err := trims(t, j, im.Span{Conversation: "grp:g", Until: 9}); !errors.Is(err, im.ErrJournalUnavailable) {
			t.Fatalf("%s: %v", statement, err)
		}
		if entries := all(t, j, "grp:g"); len(entries[0].Body) == 0 {
			t.Fatal("a part of a step was done")
		}
		must(t, trims(t, j, im.Span{Conversation: "grp:h", Until: 9}))
		end()
	}
	must(t, trims(t, j, im.Span{Conversation: "grp:g", Until: 9}))
	if entries := all(t, j, "grp:g"); len(entries[0].Body)+len(entries[1].Body) != 0 {
		t.Fatalf("%+v", entries)
	}
}

// trimQueries are the statements of journal_trim_1 that touch entries and labels, with
// parameters in the place of its variables.
func trimQueries(t *testing.T) (entries, labels string) {
	t.Helper()
	for _, s := range strings.Split(trimSQL, ";\n") {
		s = strings.TrimSpace(s)
		for i, name := range []string{"its_slot", "number", "low", "high"} {
			s = regexp.MustCompile(`\b`+name+`\b`).ReplaceAllLiteralString(s, fmt.Sprint("$", i+1))
		}
		switch {
		case strings.HasPrefix(s, "UPDATE journal_entries"):
			entries = s
		case strings.HasPrefix(s, "WITH RECURSIVE names"):
			labels = s
		}
	}
	if entries == "" || labels == "" {
		t.Fatal("the function has other statements than this test looks for")
	}
	return entries, labels
}

// A step reads the indexes, however little the server knows of the tables.
func TestTrimReadsTheIndexes(t *testing.T) {
	j := open(t, pgtest.Database(t))
	defer j.Close()
	store(t, j, message("grp:g", "a", 1))
	c, err := j.acquire(t.Context(), j.readers)
	must(t, err)
	defer c.Release()
	entries, labels := trimQueries(t)
	for sql, index := range map[string]string{entries: "journal_entries_seq", labels: "journal_labels_pkey"} {
		_, err := c.Exec(t.Context(), "PREPARE planned(smallint, int, bigint, bigint) AS "+sql, pgx.QueryExecModeSimpleProtocol)
		must(t, err)
		rows, err := c.Query(t.Context(), "EXPLAIN EXECUTE planned(1::smallint, 1, 0, 9)", pgx.QueryExecModeSimpleProtocol)
		must(t, err)
		lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
		must(t, err)
		if plan := strings.Join(lines, "\n"); !strings.Contains(plan, index) || strings.Contains(plan, "Seq Scan") {
			t.Errorf("not by %s:\n%s", index, plan)
		}
		_, err = c.Exec(t.Context(), "DEALLOCATE planned")
		must(t, err)
	}
}

// BenchmarkTrim trims 100,000 messages of 150 bytes.
func BenchmarkTrim(b *testing.B) {
	const n = 100_000
	for b.Loop() {
		b.StopTimer()
		url := pgtest.Database(b)
		j := open(b, url)
		r := rand.New(rand.NewPCG(1, 1))
		for from := 0; from < n; from += 1000 {
			batch := make([]im.Append, 1000)
			for k := range batch {
				batch[k] = message("grp:g", "a", from+k)
				batch[k].Entry.Body = make([]byte, 150)
				for i := range batch[k].Entry.Body {
					batch[k].Entry.Body[i] = byte(r.Uint32())
				}
			}
			store(b, j, batch...)
		}
		size := func() float64 {
			pgtest.Exec(b, url, "VACUUM FULL journal_entries")
			got, err := pgtest.Collect[struct{ N int64 }](b.Context(), url, "SELECT pg_total_relation_size('journal_entries') AS n")
			must(b, err)
			return float64(got[0].N) / n
		}
		before := size()
		begun := time.Now()
		b.StartTimer()
		must(b, j.Trim(b.Context(), im.Span{Conversation: "grp:g", Until: n}))
		b.StopTimer()
		b.ReportMetric(float64(time.Since(begun).Microseconds())/n, "µs/entry")
		b.ReportMetric(before, "bytes/entry-before")
		b.ReportMetric(size(), "bytes/entry-after")
		must(b, j.Close())
		b.StartTimer()
	}
}
