package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"strings"

	"github.com/skein-im/skein/internal/directory/sqlite"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/journal/pebble"
)

// maxNamed is how many damaged conversations a finding names.
const maxNamed = 10

// stores reads everything that the embedded stores hold, as a start would look at
// it and further. It opens them through what cannot write.
func (e *examiner) stores(ctx context.Context) {
	journal, err := pebble.OpenReader(filepath.Join(e.c.Data, "journal"), pebble.Options{Logger: slog.New(slog.DiscardHandler)})
	var locked *pebble.LockedError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		e.lone(ctx)
		return
	case errors.As(err, &locked):
		e.add(OK, "stores", "a server runs on them, so they were not read: its /readyz?verbose names what it found damaged", "")
		return
	case err != nil:
		e.add(Bad, "journal", err.Error(), "see docs/operations.md, Backups")
		return
	}
	defer journal.Close()
	conversations, damaged, err := journal.Inspect(ctx)
	if err != nil {
		damaged = append(damaged, err.Error())
	}
	if len(damaged) == 0 {
		e.add(OK, "journal", fmt.Sprintf("%d conversations, all can be read", conversations), "")
	} else {
		found := strings.Join(damaged[:min(len(damaged), maxNamed)], "; ")
		if more := len(damaged) - maxNamed; more > 0 {
			found += fmt.Sprintf("; and %d more", more)
		}
		e.add(Bad, "journal", found, "look at the disk, and restore directory and journal from one backup: `skein restore`")
	}
	pair, err := journal.Pair()
	if err != nil {
		e.add(Bad, "journal", err.Error(), "restore directory and journal from one backup: `skein restore`")
		return
	}
	e.people(ctx, pair)
}

// lone is a directory without a journal, or nothing at all.
func (e *examiner) lone(ctx context.Context) { e.people(ctx, im.Pair{}) }

// people reads the directory's file, and holds it against the journal.
func (e *examiner) people(ctx context.Context, journal im.Pair) {
	found, err := sqlite.Examine(ctx, filepath.Join(e.c.Data, "directory.db"))
	if err == nil {
		_, err = im.ComparePair(journal, found.Pair)
	}
	switch {
	case err != nil:
		e.add(Bad, "directory", err.Error(), "a server refuses to start with it: see docs/operations.md, Backups")
	case !found.Exists:
		e.judge(e.missing(), "stores", "there are none in "+e.c.Data, elsewhere)
	case !found.Summed:
		e.add(OK, "directory", "it can be read; the next start gives its pages checksums", "")
	default:
		e.add(OK, "directory", "every page is what was written", "")
		e.media(ctx)
	}
}
