package postgres

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/skein-im/skein/internal/pgtest"
)

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
	plan, err := c.Query(t.Context(), "EXPLAIN "+recalledSQL, []int16{int16(slotOf("grp:g"))}, []string{"grp:g"}, []int64{0}, []int64{9}, 9)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := pgx.CollectRows(plan, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	if text := strings.Join(lines, "\n"); !strings.Contains(text, "journal_entries_recalled") {
		t.Errorf("the plan:\n%s", text)
	}
}
