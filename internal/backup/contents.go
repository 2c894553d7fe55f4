package backup

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"

	"github.com/skein-im/skein/internal/digest"
	"github.com/skein-im/skein/internal/directory"
	"github.com/skein-im/skein/internal/directory/sqlite"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/journal/pebble"
)

// Where the stores lie in a data directory.
const (
	directoryFile = "directory.db"
	journalDir    = "journal"
)

// Contents is all that a store holds, as numbers to compare.
type Contents struct {
	Timeline string         `json:"timeline"`
	Position uint64         `json:"position"`
	Entries  Sum            `json:"entries"`
	Marks    Sum            `json:"marks"`
	Tables   map[string]Sum `json:"tables"`
}

// Sum is how many rows there are, and the digest of them.
type Sum struct {
	Rows uint64 `json:"rows"`
	Sum  string `json:"sum"`
}

// Read reads a whole store that nobody uses: every entry, mark and row.
func Read(ctx context.Context, dir string) (c Contents, err error) {
	rows, err := sqlite.OpenReader(ctx, filepath.Join(dir, directoryFile))
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	c.Tables = map[string]Sum{}
	for _, table := range directory.Tables() {
		columns, err := rows.Columns(ctx, table)
		if err != nil {
			return c, err
		}
		d := digest.New()
		if err := rows.Each(ctx, table, columns, d.Row); err != nil {
			return c, err
		}
		c.Tables[table] = sumOf(d)
	}
	journal, err := pebble.OpenReader(filepath.Join(dir, journalDir), pebble.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, journal.Close()) }()
	c.Timeline, c.Position = journal.Timeline(), journal.Position()
	d := digest.New()
	if err := journal.Entries(ctx, nil, func(_ []byte, e *im.Entry, hash uint64) error { d.Entry(e, hash); return nil }); err != nil {
		return c, err
	}
	c.Entries = sumOf(d)
	d = digest.New()
	if err := journal.Marks(ctx, nil, func(_ []byte, m *im.Mark) error { d.Mark(m); return nil }); err != nil {
		return c, err
	}
	c.Marks = sumOf(d)
	return c, nil
}

func sumOf(d *digest.Digester) Sum {
	of := d.Digest()
	return Sum{Rows: of.Rows, Sum: of.Sum()}
}

// differs tells the first difference of two stores' contents, "" if there is none.
// The timeline is another one after a restore.
func (c *Contents) differs(other *Contents) string {
	switch {
	case c.Position != other.Position:
		return fmt.Sprintf("the last position is %d instead of %d", other.Position, c.Position)
	case c.Entries != other.Entries:
		return fmt.Sprintf("entries: %d instead of %d, or not the same ones", other.Entries.Rows, c.Entries.Rows)
	case c.Marks != other.Marks:
		return fmt.Sprintf("marks: %d instead of %d, or not the same ones", other.Marks.Rows, c.Marks.Rows)
	}
	for table, sum := range c.Tables {
		if other.Tables[table] != sum {
			return fmt.Sprintf("%s: %d rows instead of %d, or not the same ones", table, other.Tables[table].Rows, sum.Rows)
		}
	}
	return ""
}
