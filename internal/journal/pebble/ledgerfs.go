package pebble

import (
	"errors"
	"io"
	"os"
	"strings"

	"github.com/cespare/xxhash/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// ledgerFS keeps the ledger while Pebble writes.
type ledgerFS struct {
	vfs.FS
	l *ledger
}

// mine tells whether a file is the store's own: a copy is written here as well.
func (fs ledgerFS) mine(path string) bool {
	return fs.PathDir(path) == fs.PathJoin(fs.l.dir, "db")
}

func (fs ledgerFS) Create(path string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if !fs.mine(path) {
		return fs.FS.Create(path, category)
	}
	name := fs.PathBase(path)
	if strings.HasPrefix(name, "marker.manifest.") {
		if err := fs.l.seal(); err != nil {
			return nil, err
		}
	}
	f, err := fs.FS.Create(path, category)
	switch {
	case err != nil:
	case isManifest(name):
		return &manifestFile{File: f, name: name, l: fs.l, hash: xxhash.New()}, nil
	case isLog(name):
		return fs.log(f, name)
	}
	return f, err
}

// log makes a log known before anything is written to it.
func (fs ledgerFS) log(f vfs.File, name string) (vfs.File, error) {
	if err := fs.l.begun(name); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func (fs ledgerFS) ReuseForWrite(from, to string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if err := fs.l.gone(fs.PathBase(from)); err != nil {
		return nil, err
	}
	f, err := fs.FS.ReuseForWrite(from, to, category)
	if err == nil && isLog(fs.PathBase(to)) {
		return fs.log(f, fs.PathBase(to))
	}
	return f, err
}

func (fs ledgerFS) Remove(path string) error {
	if fs.mine(path) {
		if err := fs.l.gone(fs.PathBase(path)); err != nil {
			return err
		}
	}
	return fs.FS.Remove(path)
}

// manifestFile tells the ledger how far a manifest is durable. One goroutine at a
// time writes a manifest.
type manifestFile struct {
	vfs.File
	name string
	l    *ledger
	hash *xxhash.Digest
	size int64
}

func (f *manifestFile) Write(b []byte) (int, error) {
	_, _ = f.hash.Write(b) // never fails; before the file, which may change b
	n, err := f.File.Write(b)
	f.size += int64(n)
	return n, err
}

func (f *manifestFile) synced(err error) error {
	if err == nil {
		f.l.grown(f.name, sealed{f.size, f.hash.Sum64()})
	}
	return err
}

func (f *manifestFile) Sync() error     { return f.synced(f.File.Sync()) }
func (f *manifestFile) SyncData() error { return f.synced(f.File.SyncData()) }

// readOnlyFS writes nothing, whoever asks. The check before a start uses it, so
// that a refused start leaves everything as it was.
type readOnlyFS struct{ vfs.FS }

var errReadOnly = errors.New("nothing is written before the journal was compared with its witness")

func (readOnlyFS) Create(string, vfs.DiskWriteCategory) (vfs.File, error) { return nil, errReadOnly }
func (readOnlyFS) Link(string, string) error                              { return errReadOnly }
func (readOnlyFS) Remove(string) error                                    { return errReadOnly }
func (readOnlyFS) RemoveAll(string) error                                 { return errReadOnly }
func (readOnlyFS) Rename(string, string) error                            { return errReadOnly }
func (readOnlyFS) MkdirAll(string, os.FileMode) error                     { return errReadOnly }

func (readOnlyFS) OpenReadWrite(string, vfs.DiskWriteCategory, ...vfs.OpenOption) (vfs.File, error) {
	return nil, errReadOnly
}

func (readOnlyFS) ReuseForWrite(string, string, vfs.DiskWriteCategory) (vfs.File, error) {
	return nil, errReadOnly
}

// Lock would make the file if it is not there. Whoever checks has the lock.
func (readOnlyFS) Lock(string) (io.Closer, error) { return io.NopCloser(nil), nil }
