package migrate

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/skein-im/skein/internal/digest"
	"github.com/skein-im/skein/internal/directory"
	dirpostgres "github.com/skein-im/skein/internal/directory/postgres"
	"github.com/skein-im/skein/internal/directory/sqlite"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/journal/pebble"
	"github.com/skein-im/skein/internal/journal/postgres"
)

// Options say what to copy and where to.
type Options struct {
	// Directory is the file of the embedded directory, Journal the directory of the
	// embedded journal.
	Directory, Journal string
	// To is a postgres:// URL.
	To string
	// Progress is told what is going on, at every page. May be nil.
	Progress func(Progress)
	// Logger gets what operators should know. Default: nobody.
	Logger *slog.Logger
	// Now is for the figures of the summary. Default time.Now.
	Now func() time.Time
	// PageEntries and PageBytes bound a page. Defaults 5000 and 8 MiB.
	PageEntries, PageBytes int
}

// Progress is how far it got.
type Progress struct {
	// What is being done: `directory`, `entries`, `marks` or `comparing`.
	What string
	// Done of Total, which is 0 when it is not known.
	Done, Total uint64
}

// Summary is what was done.
type Summary struct {
	Target   string `json:"target"`
	Timeline string `json:"timeline"`
	Position uint64 `json:"position"` // of the source's end
	// Resumed tells that an earlier run had copied EntriesBefore entries; Anew that
	// it had, and the source was used since, so that all was copied again; Already
	// that there was nothing left to do.
	Resumed       bool             `json:"resumed"`
	Anew          bool             `json:"anew"`
	Already       bool             `json:"already"`
	EntriesBefore uint64           `json:"entries_before"`
	Entries       uint64           `json:"entries"`
	Marks         uint64           `json:"marks"`
	Rows          map[string]int64 `json:"directory_rows"`
	CopySeconds   float64          `json:"copy_seconds"`
	// EntriesPerSecond is of the entries that this run copied, marks and directory
	// left out.
	EntriesPerSecond float64 `json:"entries_per_second"`
	CompareSeconds   float64 `json:"compare_seconds"`
}

// DifferentError is the end of a copy that is not what was copied.
type DifferentError struct{ What string }

func (e *DifferentError) Error() string {
	return "the copy differs from its source: " + e.What + ". The database was marked as not usable: drop it, and begin with a new one"
}

// copier is one run.
type copier struct {
	o       Options
	rows    *directory.Reader
	journal *pebble.Reader
	tables  *dirpostgres.Importer
	into    *postgres.Importer
	from    postgres.Import // where to go on
	sum     Summary
}

// Run copies a store, or goes on where an earlier run was interrupted. The
// database is usable when it returns nil.
func Run(ctx context.Context, o Options) (_ Summary, err error) {
	if o.Progress == nil {
		o.Progress = func(Progress) {}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.PageEntries <= 0 {
		o.PageEntries = 5000
	}
	if o.PageBytes <= 0 {
		o.PageBytes = 8 << 20
	}
	c := &copier{o: o, sum: Summary{Rows: map[string]int64{}}}
	defer func() { err = errors.Join(err, c.close()) }()
	if err := c.open(ctx); err != nil {
		return c.sum, err
	}
	if done, err := c.begin(ctx); done || err != nil {
		return c.sum, err
	}
	begun := o.Now()
	if err := c.copy(ctx); err != nil {
		return c.sum, fmt.Errorf("%w (what was copied is kept: the same command goes on)", err)
	}
	copied := o.Now()
	c.sum.CopySeconds = copied.Sub(begun).Seconds()
	if err := c.compare(ctx); err != nil {
		return c.sum, c.failed(ctx, err)
	}
	c.sum.CompareSeconds = o.Now().Sub(copied).Seconds()
	// A mark may have the position after the last append's.
	return c.sum, c.into.Finish(ctx, c.journal.Timeline(), c.journal.Eras(), c.journal.Position()+1)
}

func (c *copier) open(ctx context.Context) (err error) {
	if c.rows, err = sqlite.OpenReader(ctx, c.o.Directory); err != nil {
		return err
	}
	if c.journal, err = pebble.OpenReader(c.o.Journal, pebble.Options{Logger: c.o.Logger}); err != nil {
		return err
	}
	if c.into, err = postgres.OpenImporter(ctx, c.o.To); err != nil {
		return err
	}
	c.sum.Target, c.sum.Timeline, c.sum.Position = c.into.Where(), c.journal.Timeline(), c.journal.Position()
	return nil
}

func (c *copier) close() error {
	var errs []error
	if c.tables != nil {
		errs = append(errs, c.tables.Close())
	}
	if c.into != nil {
		errs = append(errs, c.into.Close())
	}
	if c.journal != nil {
		errs = append(errs, c.journal.Close())
	}
	if c.rows != nil {
		errs = append(errs, c.rows.Close())
	}
	return errors.Join(errs...)
}

// begin finds out whether to begin, to go on, or that all is done.
func (c *copier) begin(ctx context.Context) (done bool, err error) {
	noted, found, err := c.into.Noted(ctx)
	if err != nil {
		return false, err
	}
	timeline, state := c.journal.Timeline(), c.journal.State()
	switch {
	case !found:
		err = c.into.Begin(ctx, timeline, state, directory.Tables())
	case noted.Timeline != timeline:
		err = errors.New("another store was copied into this database, or is being copied: take an empty one")
	case noted.Phase == postgres.Failed:
		err = &postgres.UnfinishedError{Phase: noted.Phase, Note: noted.Note}
	case noted.Phase == postgres.Done && noted.State != state:
		err = errors.New("this store was copied into this database before, and a server used the store since: take an empty database, or go on with the copy")
	case noted.Phase == postgres.Done:
		c.sum.Already, c.sum.Entries, c.sum.Marks = true, noted.Entries, noted.Marks
		return true, nil
	case noted.State != state:
		c.sum.Anew = true
		err = c.into.Again(ctx, state, directory.Tables())
	default:
		c.from, c.sum.Resumed, c.sum.EntriesBefore = noted, true, noted.Entries
		err = c.into.GoOn(ctx)
	}
	if err != nil {
		return false, err
	}
	c.tables, err = dirpostgres.OpenImporter(ctx, c.o.To, postgres.ImporterName)
	return false, err
}

func (c *copier) copy(ctx context.Context) error {
	if err := c.copyDirectory(ctx); err != nil {
		return fmt.Errorf("copy the directory: %w", err)
	}
	begun := c.o.Now()
	if err := c.copyEntries(ctx); err != nil {
		return fmt.Errorf("copy the entries: %w", err)
	}
	if took := c.o.Now().Sub(begun).Seconds(); took > 0 {
		c.sum.EntriesPerSecond = float64(c.sum.Entries-c.sum.EntriesBefore) / took
	}
	if err := c.copyMarks(ctx); err != nil {
		return fmt.Errorf("copy the marks: %w", err)
	}
	return errors.Join(c.into.Settle(ctx), c.tables.Finish(ctx))
}

func (c *copier) copyDirectory(ctx context.Context) error {
	for _, table := range directory.Tables() {
		columns, err := c.rows.Columns(ctx, table)
		if err != nil {
			return err
		}
		err = c.tables.Copy(ctx, table, columns, func(row func([]any) error) error { return c.rows.Each(ctx, table, columns, row) })
		if err != nil {
			return fmt.Errorf("%s: %w", table, err)
		}
		if c.sum.Rows[table], err = c.tables.Count(ctx, table); err != nil {
			return err
		}
		c.o.Progress(Progress{What: "directory", Done: uint64(c.sum.Rows[table])})
	}
	return nil
}

func (c *copier) copyEntries(ctx context.Context) error {
	total, err := c.journal.Count(ctx)
	if err != nil {
		return err
	}
	c.sum.Entries = c.from.Entries
	c.o.Progress(Progress{"entries", c.sum.Entries, total})
	var page []postgres.ImportedEntry
	var last []byte
	size := 0
	write := func() error {
		if len(page) == 0 {
			return nil
		}
		if err := c.into.Entries(ctx, page, last); err != nil {
			return err
		}
		c.sum.Entries += uint64(len(page))
		clear(page)
		page, size = page[:0], 0
		c.o.Progress(Progress{"entries", c.sum.Entries, total})
		return ctx.Err()
	}
	err = c.journal.Entries(ctx, c.from.EntryPlace, func(place []byte, e *im.Entry, hash uint64) error {
		page = append(page, postgres.ImportedEntry{Entry: *e, Hash: hash})
		last = append(last[:0], place...)
		size += len(e.Body) + 512
		if len(page) < c.o.PageEntries && size < c.o.PageBytes {
			return nil
		}
		return write()
	})
	if err != nil {
		return err
	}
	return write()
}

func (c *copier) copyMarks(ctx context.Context) error {
	c.sum.Marks = c.from.Marks
	var page []im.Mark
	var last []byte
	write := func() error {
		if len(page) == 0 {
			return nil
		}
		if err := c.into.Marks(ctx, page, last); err != nil {
			return err
		}
		c.sum.Marks += uint64(len(page))
		page = page[:0]
		c.o.Progress(Progress{What: "marks", Done: c.sum.Marks})
		return ctx.Err()
	}
	err := c.journal.Marks(ctx, c.from.MarkPlace, func(place []byte, m *im.Mark) error {
		page, last = append(page, *m), append(last[:0], place...)
		if len(page) < c.o.PageEntries {
			return nil
		}
		return write()
	})
	if err != nil {
		return err
	}
	return write()
}

// failed marks the database when the copy is different; when the comparison
// could not be made, it is made by the next run.
func (c *copier) failed(ctx context.Context, err error) error {
	var different *DifferentError
	if !errors.As(err, &different) {
		return fmt.Errorf("compare the copy with its source: %w (what was copied is kept: the same command goes on)", err)
	}
	return errors.Join(err, c.into.Fail(context.WithoutCancel(ctx), different.What))
}

// compare reads source and copy once more, and compares all of it.
func (c *copier) compare(ctx context.Context) error {
	for _, table := range directory.Tables() {
		if err := c.compareTable(ctx, table); err != nil {
			return err
		}
	}
	err := c.same(ctx, "entries",
		func(ctx context.Context, d *digest.Digester) error {
			return c.journal.Entries(ctx, nil, func(_ []byte, e *im.Entry, hash uint64) error {
				d.Entry(e, hash)
				if d.Digest().Rows%uint64(c.o.PageEntries) == 0 {
					c.o.Progress(Progress{"comparing", d.Digest().Rows, c.sum.Entries})
				}
				return nil
			})
		},
		func(ctx context.Context, d *digest.Digester) error {
			return c.into.EachEntry(ctx, func(e *im.Entry, hash uint64) error {
				d.Entry(e, hash)
				return nil
			})
		})
	if err != nil {
		return err
	}
	err = c.same(ctx, "marks",
		func(ctx context.Context, d *digest.Digester) error {
			return c.journal.Marks(ctx, nil, func(_ []byte, m *im.Mark) error {
				d.Mark(m)
				return nil
			})
		},
		func(ctx context.Context, d *digest.Digester) error {
			return c.into.EachMark(ctx, func(m *im.Mark) error {
				d.Mark(m)
				return nil
			})
		})
	if err != nil {
		return err
	}
	wrong, err := c.into.WrongHeads(ctx)
	if err == nil && wrong > 0 {
		err = &DifferentError{fmt.Sprintf("%d conversations do not hang together", wrong)}
	}
	return err
}

func (c *copier) compareTable(ctx context.Context, table string) error {
	columns, err := c.rows.Columns(ctx, table)
	if err != nil {
		return err
	}
	return c.same(ctx, table,
		func(ctx context.Context, d *digest.Digester) error { return c.rows.Each(ctx, table, columns, d.Row) },
		func(ctx context.Context, d *digest.Digester) error { return c.tables.Each(ctx, table, columns, d.Row) })
}

// same reads both sides at once.
func (c *copier) same(ctx context.Context, what string, source, target func(context.Context, *digest.Digester) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	theirs, ours := digest.New(), digest.New()
	read := make(chan error, 1)
	go func() {
		err := source(ctx, theirs)
		if err != nil {
			cancel()
		}
		read <- err
	}()
	err := target(ctx, ours)
	if err != nil {
		cancel()
	}
	if serr := <-read; serr != nil && !(err != nil && errors.Is(serr, context.Canceled)) {
		return serr
	}
	if err != nil {
		return err
	}
	there, copied := theirs.Digest(), ours.Digest()
	if there.Rows != copied.Rows {
		return &DifferentError{fmt.Sprintf("%s: %d there, %d copied", what, there.Rows, copied.Rows)}
	}
	if there != copied {
		return &DifferentError{fmt.Sprintf("%s: as many as there (%d), but not the same", what, copied.Rows)}
	}
	return nil
}
