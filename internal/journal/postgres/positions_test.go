package postgres

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/pg/pgtest"
)

// oldPositions makes the index of positions as databases of before have it.
const oldPositions = "DROP INDEX journal_entries_pos; CREATE INDEX journal_entries_pos ON journal_entries USING brin (pos) WITH (pages_per_range = 32, autosummarize = on)"

// largeBody is of which a page of the table has five.
var largeBody = make([]byte, 1500)

// cycles are conversations that are filled, and given up, again and again.
type cycles struct {
	t   *testing.T
	url string
	j   *Journal
	n   int
}

// fill stores entries, some in each conversation, and tells between which positions.
func (c *cycles) fill(count int) (from, until uint64) {
	c.t.Helper()
	at, err := c.j.position(c.t.Context(), c.j.readers)
	must(c.t, err)
	for end := c.n + count; c.n < end; {
		batch := make([]im.Append, 40)
		for k := range batch {
			batch[k] = message(im.Group(fmt.Sprint(c.n%20)), "a", c.n)
			batch[k].Entry.Body = largeBody
			c.n++
		}
		store(c.t, c.j, batch...)
	}
	now, err := c.j.position(c.t.Context(), c.j.readers)
	must(c.t, err)
	return at.Pos, now.Pos
}

// giveUp trims the first n entries of all, and has the database make room of them.
func (c *cycles) giveUp(n int) {
	c.t.Helper()
	for k := range 20 {
		must(c.t, c.j.Trim(c.t.Context(), im.Span{Conversation: im.Group(fmt.Sprint(k)), Until: uint64(n / 20)}))
	}
	pgtest.Exec(c.t, c.url, "VACUUM journal_entries")
}

// pages is how many pages of entries are read to find a stretch of positions, and how
// many there are.
func (c *cycles) pages(from, until uint64) (read, all int) {
	c.t.Helper()
	conn, err := c.j.acquire(c.t.Context(), c.j.readers)
	must(c.t, err)
	defer conn.Release()
	sql := strings.NewReplacer("$1", fmt.Sprint(from), "$2", fmt.Sprint(until), "$3", "1000", "$4", "1000000").Replace(followSQL)
	rows, err := conn.Query(c.t.Context(), "EXPLAIN (ANALYZE) "+sql, pgx.QueryExecModeSimpleProtocol)
	must(c.t, err)
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	must(c.t, err)
	plan := strings.Join(lines, "\n")
	found := regexp.MustCompile(`journal_entries (?s:.*?)Heap Blocks: lossy=(\d+)`).FindStringSubmatch(plan)
	if found == nil {
		c.t.Fatalf("not by the index of positions:\n%s", plan)
	}
	read, err = strconv.Atoi(found[1])
	must(c.t, err)
	size, err := pgtest.Collect[struct{ Pages int }](c.t.Context(), c.url, "SELECT pg_relation_size('journal_entries') / 8192 AS pages")
	must(c.t, err)
	return read, size[0].Pages
}

// Newer entries once came to lie where older ones had been given up, and from then on
// whoever followed at a distance read most of the table for each stretch.
func TestFollowingAfterTrims(t *testing.T) {
	url := pgtest.Database(t)
	j := open(t, url)
	defer j.Close()
	c := &cycles{t: t, url: url, j: j}
	const n = 3600
	c.fill(n)
	from, until := c.fill(n)
	c.giveUp(n)
	c.fill(n)
	pgtest.Exec(t, url, "VACUUM journal_entries")
	middle := (from + until) / 2
	read, all := c.pages(middle, middle+3)
	if all < 640 || read > all/6 {
		t.Errorf("%d of %d pages are read", read, all)
	}
	// So it was: what this test looks at is there.
	pgtest.Exec(t, url, oldPositions)
	if before, all := c.pages(middle, middle+3); before < all/4 {
		t.Errorf("with the index of before %d of %d pages are read; with this one %d", before, all, read)
	}
}

// Who looks at the newest positions alone, again and again, learns nothing of how long a
// stretch may be: it would come to be the whole table for who is far behind.
func TestStretchIsNotLearntAtTheEnd(t *testing.T) {
	j := open(t, pgtest.Database(t))
	defer j.Close()
	for n := range 20 {
		store(t, j, message("dm:a:b", "a", n))
	}
	now, err := j.position(t.Context(), j.readers)
	must(t, err)
	for range 30 {
		f, err := j.After(t.Context(), now.At(now.Pos-1), 256)
		must(t, err)
		if len(f.Entries) == 0 {
			t.Fatal("there was nothing to look at")
		}
	}
	if n := j.stretch.get(); n != stretchLeast {
		t.Errorf("a stretch has %d positions, want %d", n, stretchLeast)
	}
}

// anew tells that the index of positions is of the new kind, and the only one.
const anew = `SELECT count(*) = 1 AND bool_and(i.indisvalid AND o.opcname = 'int8_minmax_multi_ops' AND c.relname = 'journal_entries_pos') AS "is"
	FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_opclass o ON o.oid = i.indclass[0] WHERE i.indrelid = 'journal_entries'::regclass AND c.relname LIKE '%pos%'`

func answer(t *testing.T, url, question string) bool {
	t.Helper()
	got, err := pgtest.Collect[struct{ Is bool }](t.Context(), url, question)
	must(t, err)
	return got[0].Is
}

// waitFor asks until a question is answered by yes; never is one that must not be.
func waitFor(t *testing.T, url, otherwise, question, never string) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !answer(t, url, question); {
		if time.Now().After(end) || answer(t, url, never) {
			t.Fatal(otherwise)
		}
		must(t, pause(t.Context(), 10*time.Millisecond))
	}
}

// The index of before is exchanged, whatever one that was killed left of it, beside a node
// that stores and follows; a second node finds it done.
func TestPositionsAreIndexedAnew(t *testing.T) {
	const next = "CREATE INDEX journal_entries_pos_next ON journal_entries USING " + positionsUsing
	for name, left := range map[string]string{
		"nothing was begun":          "",
		"killed while it was made":   next + "; UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'journal_entries_pos_next'::regclass",
		"killed when it was made":    next,
		"killed while one went":      next + "; UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'journal_entries_pos'::regclass",
		"killed when it had gone":    next + "; DROP INDEX journal_entries_pos",
		"somebody dropped it":        "DROP INDEX journal_entries_pos",
		"another one of that name":   "CREATE INDEX journal_entries_pos_next ON journal_entries USING brin (pos)",
		"both, of which one is left": next + "; DROP INDEX journal_entries_pos; CREATE INDEX journal_entries_pos ON journal_entries USING " + positionsUsing,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := pgtest.Database(t)
			first := open(t, url)
			store(t, first, message("grp:g", "a", 1), message("grp:g", "a", 2), message("grp:g", "a", 3))
			must(t, first.Close())
			pgtest.Exec(t, url, oldPositions)
			if left != "" {
				pgtest.Exec(t, url, left)
			}
			j, other := open(t, url), open(t, url)
			defer j.Close()
			defer other.Close()
			stop, stored := make(chan struct{}), make(chan int, 1)
			go func() {
				n := 0
				for ; ; n++ {
					select {
					case <-stop:
						stored <- n
						return
					default:
						if err := other.Append(context.Background(), []im.Append{message("grp:h", "a", 100+n)}, make([]im.Appended, 1)); err != nil {
							t.Errorf("a send beside it: %v", err)
						}
					}
				}
			}()
			for _, node := range []*Journal{j, other} {
				done, err := node.exchangeOnce(t.Context())
				must(t, err)
				if !done || !answer(t, url, anew) {
					t.Error("the index is not exchanged")
				}
			}
			close(stop)
			n := <-stored
			followed := 0
			for at, end := (im.Place{}), time.Now().Add(30*time.Second); followed < 3+n; { // others' transactions may hold the position back
				f, err := other.After(t.Context(), at, 100)
				must(t, err)
				if time.Now().After(end) {
					t.Fatalf("%d of %d entries are followed", followed, 3+n)
				}
				followed, at = followed+len(f.Entries), f.UpTo
			}
			if followed != 3+n {
				t.Errorf("%d entries are followed, %d were stored", followed, 3+n)
			}
		})
	}
}

// The first trim begins it. Somebody's transaction keeps the index from becoming complete:
// sends, and who follows, go on, and so does a node that starts after this one ended there.
func TestPositionsWaitForATransaction(t *testing.T) {
	url := pgtest.Database(t)
	first := open(t, url)
	store(t, first, message("grp:g", "a", 1), message("grp:g", "a", 2))
	must(t, first.Close())
	pgtest.Exec(t, url, oldPositions)
	j := open(t, url)
	end := holding(t, url, "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; SELECT FROM journal_entries")
	must(t, trims(t, j, im.Span{Conversation: "grp:g", Until: 1}))
	if j.oldPositions.Load() {
		t.Fatal("the trim does not begin it")
	}
	const making = "EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'CREATE INDEX CONCURRENTLY%' AND state = 'active')"
	const over = `SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'DROP INDEX%' AND pid <> pg_backend_pid()) AS "is"`
	waitFor(t, url, "it waits for nobody who reads", `SELECT `+making+` AND EXISTS (SELECT FROM pg_class WHERE relname = 'journal_entries_pos_next') AS "is"`, over)
	var at im.Place
	for n := range 20 {
		out, err := appends(t, j, message("grp:g", "a", 10+n))
		must(t, err)
		for end := time.Now().Add(20 * time.Second); at.Pos < out[0].Pos; {
			f, err := j.After(t.Context(), at, 100)
			must(t, err)
			if at = f.UpTo; time.Now().After(end) {
				t.Fatal("the position is held back")
			}
		}
	}
	must(t, j.Close())
	waitFor(t, url, "it goes on without the node", `SELECT NOT `+making+` AS "is"`, over)
	end()
	again := open(t, url)
	defer again.Close()
	if entries := all(t, again, "grp:g"); len(entries) != 22 {
		t.Errorf("%d entries", len(entries))
	}
	must(t, trims(t, again, im.Span{Conversation: "grp:g", Until: 1}))
	waitFor(t, url, "the index is not exchanged", anew, `SELECT false AS "is"`)
}
