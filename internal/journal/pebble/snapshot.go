package pebble

import (
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// Snapshot makes a journal in dir, which must not exist, of what this one holds:
// all that was durable when it was called, perhaps a little of what came since,
// and always a whole. Files are linked where that is possible, so dir should be
// on the same file system, and it costs as much space as the journal gives up
// while it is there. Appends go on meanwhile.
//
// The copy has a witness of its own, and the same timeline: whoever serves it
// must begin another one (Options.NewTimeline).
func (j *Journal) Snapshot(dir string) error {
	if err := j.enter(); err != nil {
		return err
	}
	defer j.life.RUnlock()
	if err := j.flushMarks(); err != nil {
		return fmt.Errorf("journal %s: snapshot: %w", j.dir, err)
	}
	if err := makeDir(j.fs, dir); err != nil {
		return fmt.Errorf("journal %s: snapshot: %w", j.dir, err)
	}
	// Seen before: the copy holds it, and more.
	seen := j.witness.sighted()
	err := j.db.Checkpoint(j.fs.PathJoin(dir, "db"), pebble.WithFlushedWAL())
	if err == nil {
		err = writeWitness(j.fs, j.fs.PathJoin(dir, witnessName), seen)
	}
	if err != nil {
		return fmt.Errorf("journal %s: snapshot: %w", j.dir, j.explain(err))
	}
	return nil
}

// sighted is what is durable.
func (w *witness) sighted() sighting {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.last
}

// writeWitness makes a witness that no journal keeps open.
func writeWitness(fs vfs.FS, path string, s sighting) error {
	f, err := fs.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(appendSlot(nil, 0, s), 0)
	return errors.Join(err, f.Sync(), f.Close(), syncDir(fs, fs.PathDir(path)))
}
