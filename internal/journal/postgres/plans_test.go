package postgres

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/skein-im/skein/internal/pg/pgtest"
)

// What is asked all the time is found by the index that is meant for it, with the
// settings of the journal's sessions, however little the server knows of the tables.
func TestPlansReadTheIndexes(t *testing.T) {
	const analyze = "ANALYZE journal_heads, journal_entries, journal_marks"
	for name, prepare := range map[string]func(url string, j *Journal){
		"new":                 func(string, *Journal) {},
		"analyzed when empty": func(url string, _ *Journal) { pgtest.Exec(t, url, analyze) },
		"one conversation": func(url string, j *Journal) {
			for n := range 60 {
				store(t, j, message("grp:g", "a", n+10))
			}
			pgtest.Exec(t, url, analyze)
		},
	} {
		t.Run(name, func(t *testing.T) {
			url := pgtest.Database(t)
			j := open(t, url)
			defer j.Close()
			prepare(url, j)
			store(t, j, message("grp:g", "a", 1), message("grp:h", "a", 2))
			c, err := j.acquire(t.Context(), j.readers)
			must(t, err)
			defer c.Release()
			for _, tt := range []struct {
				sql, args string
				indexes   []string
			}{
				{recalledSQL, "'{1}', '{grp:g}', '{0}', '{9}', 9", []string{"journal_entries_recalled", "journal_heads_pkey"}},
				{lookupSQL, "'{1}', '{grp:g}', '{00000000-0000-0000-0000-000000000001}', '{a}', '{1}'", []string{"journal_entries_id"}},
				{pageUpSQL(), "1, 'grp:g', 1, 9, 5, 1000", []string{"journal_entries_seq", "journal_heads_pkey"}},
				{pageDownSQL(), "1, 'grp:g', 1, 9, 5, 1000", []string{"journal_entries_seq", "journal_heads_pkey"}},
				{touchedSQL, "1, 'grp:g', '{1,2}', 1000", []string{"journal_entries_seq", "journal_heads_pkey"}},
				{followSQL, "1, 99, 9, 1000", []string{"journal_entries_pos", "journal_heads_no"}},
				{headsSQL, "'{1}', '{grp:g}'", []string{"journal_heads_pkey"}},
				{marksSQL, "'{1}', '{a}', '{grp:g}'", []string{"journal_marks_pkey"}},
				{userMarksSQL, "1, 'a'", []string{"journal_marks_pkey"}},
			} {
				_, err := c.Conn().PgConn().Prepare(t.Context(), "planned", tt.sql, nil)
				must(t, err)
				rows, err := c.Query(t.Context(), "EXPLAIN EXECUTE planned("+tt.args+")", pgx.QueryExecModeSimpleProtocol)
				must(t, err)
				lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
				must(t, err)
				plan := strings.Join(lines, "\n")
				for _, index := range tt.indexes {
					if !strings.Contains(plan, index) {
						t.Errorf("not by %s:\n%s", index, plan)
					}
				}
				if strings.Contains(plan, "Seq Scan") {
					t.Errorf("a table is read:\n%s", plan)
				}
				_, err = c.Exec(t.Context(), "DEALLOCATE planned")
				must(t, err)
			}
		})
	}
}
