//go:build skein_next

package postgres

import "github.com/skein-im/skein/internal/schema"

// next are the steps of a version after this one, as it may come: one that
// expands, with what takes the strongest lock on the table of entries, and one
// that contracts. test/faults exchanges nodes for a program that has them.
func next() []step {
	return []step{
		{sql: `ALTER TABLE journal_entries ADD COLUMN next_note text; ALTER TABLE journal_heads ADD COLUMN next_note text;
			CREATE INDEX journal_heads_next ON journal_heads (next_note) WHERE next_note IS NOT NULL`},
		{sql: `ALTER TABLE journal_heads DROP COLUMN next_note`, kind: schema.Contract},
	}
}
