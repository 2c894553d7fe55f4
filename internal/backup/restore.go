package backup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/skein-im/skein/internal/journal/pebble"
	"github.com/skein-im/skein/internal/platform"
)

// Restore makes the data directory dir, which must not exist or be empty, from a
// backup, and puts its media where they are kept (Options.Media). The journal begins another
// timeline: clients sync anew.
func Restore(ctx context.Context, r Repository, manifest *Manifest, dir string, o Options) (s Restored, err error) {
	if err := requireEmpty(dir); err != nil {
		return s, err
	}
	dir = filepath.Clean(dir)
	unfinished := dir + ".restoring"
	if err := os.RemoveAll(unfinished); err != nil { // of a run that was cut off
		return s, err
	}
	m := newMaker(r, o)
	err = m.fetch(ctx, manifest, unfinished)
	if err == nil {
		s, err = m.restoreMedia(ctx, manifest, unfinished)
	}
	if err == nil {
		err = newTimeline(manifest, unfinished)
	}
	if err != nil {
		return s, errors.Join(err, os.RemoveAll(unfinished))
	}
	if err := os.Remove(dir); err != nil && !gone(err) {
		return s, err
	}
	if err := os.Rename(unfinished, dir); err != nil {
		return s, err
	}
	return s, platform.SyncDir(filepath.Dir(dir))
}

func newTimeline(manifest *Manifest, dir string) error {
	journal, err := pebble.Open(filepath.Join(dir, journalDir), pebble.Options{NewTimeline: true, MinFree: -1, Logger: slog.New(slog.DiscardHandler)})
	if err == nil {
		err = journal.Close()
	}
	if err != nil {
		return fmt.Errorf("backup %s: %w", manifest.ID, err)
	}
	return nil
}

func requireEmpty(dir string) error {
	all, err := os.ReadDir(dir)
	switch {
	case gone(err):
		return nil
	case err != nil:
		return err
	case len(all) > 0:
		return fmt.Errorf("%s is not empty: move away what is there, or name another directory", dir)
	}
	return nil
}

// fetch writes a backup's files to a directory, durably.
func (m *maker) fetch(ctx context.Context, manifest *Manifest, dir string) error {
	d := folder(dir)
	if err := platform.MkdirAllSync(dir); err != nil {
		return err
	}
	total, done := manifest.Size(), int64(0)
	for _, f := range manifest.Files {
		path := d.file(f.Path)
		if err := platform.MkdirAllSync(filepath.Dir(path)); err != nil {
			return err
		}
		err := m.fetchFile(ctx, f, path, func(n int) {
			done += int64(n)
			m.o.Progress(Progress{"restoring", done, total})
		})
		if err != nil {
			return fmt.Errorf("backup %s: %s: %w", manifest.ID, f.Path, err)
		}
		if err := platform.SyncDir(filepath.Dir(path)); err != nil {
			return err
		}
	}
	return nil
}

func (m *maker) fetchFile(ctx context.Context, of File, path string, wrote func(n int)) (err error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	var size int64
	for _, sum := range of.Chunks {
		chunk, err := m.chunk(ctx, sum)
		if err != nil {
			return err
		}
		if _, err := f.Write(chunk); err != nil {
			return err
		}
		size += int64(len(chunk))
		wrote(len(chunk))
	}
	if size != of.Size {
		return fmt.Errorf("%d bytes instead of %d", size, of.Size)
	}
	return f.Sync()
}

// Drill restores a backup to a new directory under scratch, reads everything and
// compares it with what was backed up. It removes the directory.
func Drill(ctx context.Context, r Repository, manifest *Manifest, scratch string, o Options) (err error) {
	dir, err := os.MkdirTemp(scratch, "skein-drill-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	store := filepath.Join(dir, "data")
	o.Media = nil // beside it, wherever the server has its own
	if _, err := Restore(ctx, r, manifest, store, o); err != nil {
		return err
	}
	if o.Progress != nil {
		o.Progress(Progress{What: "comparing"})
	}
	got, err := Read(ctx, store)
	if err != nil {
		return fmt.Errorf("backup %s was restored and cannot be read whole: %w", manifest.ID, err)
	}
	if what := manifest.Contents.differs(&got); what != "" {
		return fmt.Errorf("backup %s was restored and is not what was backed up: %s", manifest.ID, what)
	}
	if err := newMaker(r, o).compareMedia(ctx, manifest, store); err != nil {
		return fmt.Errorf("backup %s was restored and is not what was backed up: %w", manifest.ID, err)
	}
	if got.Timeline == manifest.Contents.Timeline {
		return fmt.Errorf("backup %s was restored without a new timeline", manifest.ID)
	}
	return nil
}

// PutKeys puts the secrets of a data directory into a repository: one apart from
// the backups', so that who reads messages cannot act for everybody as well.
func PutKeys(ctx context.Context, dir string, r Repository) error {
	all, err := os.ReadDir(filepath.Join(dir, "keys"))
	if err != nil {
		return fmt.Errorf("keys: %w", err)
	}
	for _, e := range all {
		if !e.Type().IsRegular() {
			continue
		}
		raw, err := os.ReadFile(filepath.Join(dir, "keys", e.Name()))
		if err == nil {
			err = r.Put(ctx, "keys/"+e.Name(), raw)
		}
		if err != nil {
			return fmt.Errorf("keys: %w", err)
		}
	}
	return nil
}

// GetKeys brings them back.
func GetKeys(ctx context.Context, r Repository, dir string) (n int, err error) {
	err = r.List(ctx, "keys", func(i Item) error {
		name, ok := strings.CutPrefix(i.Key, "keys/")
		if !ok || !fs.ValidPath(name) || strings.Contains(name, "/") {
			return fmt.Errorf("keys: %q is no name of a key", i.Key)
		}
		raw, err := r.Get(ctx, i.Key)
		if err != nil {
			return err
		}
		n++
		return folder(dir).Put(ctx, i.Key, raw)
	})
	if err == nil && n == 0 {
		err = errors.New("keys: there are none in that repository")
	}
	return n, err
}
