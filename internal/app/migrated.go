package app

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// MigratedFile is in a data directory whose embedded store was copied to a
// database: whoever serves the old one would lose what comes after.
const MigratedFile = "MIGRATED"

// Held is a data directory with an embedded store, held so that no server uses
// it meanwhile.
type Held struct{ data *dataDir }

// Hold takes a data directory that has an embedded store.
func Hold(path string) (*Held, error) {
	d := &dataDir{path: path}
	for _, name := range []string{"directory.db", "journal"} {
		if _, err := os.Stat(d.file(name)); err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				return nil, fmt.Errorf("data directory %s has no embedded store (%s is missing)", path, name)
			}
			return nil, fmt.Errorf("data directory %s: %w", path, err)
		}
	}
	d, err := openData(path)
	if err != nil {
		return nil, err
	}
	return &Held{d}, nil
}

// Directory is the file of the embedded directory.
func (h *Held) Directory() string { return h.data.file("directory.db") }

// Journal is the directory of the embedded journal.
func (h *Held) Journal() string { return h.data.file("journal") }

// Migrated notes where the store was copied to. From then on no server starts
// on it, unless the file is removed. It returns the file's path.
func (h *Held) Migrated(target, timeline string) (string, error) {
	path := h.data.file(MigratedFile)
	text := fmt.Sprintf("The embedded store in this directory was copied to %s (timeline %s).\n"+
		"A server on it would go on without what came after: start it with --store and that database.\n"+
		"Remove this file only if the copy is not to be used.\n", target, timeline)
	if err := writeDurably(path, text); err != nil {
		return path, fmt.Errorf("note where the store went: %w", err)
	}
	return path, nil
}

// Close lets the directory go.
func (h *Held) Close() error { return h.data.close() }

// refuseMigrated refuses to serve an embedded store that was copied away.
func (d *dataDir) refuseMigrated() error {
	path := d.file(MigratedFile)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("data directory %s: %w", d.path, err)
	}
	return fmt.Errorf("%s is there, so this store is not served. It says:\n%s", path, text)
}

// migrated tells whether the embedded store was copied away.
func (d *dataDir) migrated() bool {
	_, err := os.Stat(d.file(MigratedFile))
	return err == nil
}
