package blob

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/skein-im/skein/internal/platform"
)

// dir keeps blobs as files below a path.
type dir struct {
	root string
	left leftovers
}

// incoming is where files on their way have names of their own.
const incoming = "incoming"

func openDir(root string) (Store, error) { return newDir(root, time.Now) }

func newDir(root string, now func() time.Time) (*dir, error) {
	d := &dir{root: root, left: leftovers{dir: filepath.Join(root, incoming), begin: "new-", now: now}}
	if err := platform.MkdirAllSync(d.left.dir); err != nil {
		return nil, err
	}
	return d, d.left.sweep()
}

func (d *dir) Put(ctx context.Context, name string, r io.Reader) (n int64, err error) {
	p, err := path(name)
	if err != nil {
		return 0, err
	}
	file := filepath.Join(d.root, filepath.FromSlash(p))
	if err := platform.MkdirAllSync(filepath.Dir(file)); err != nil {
		return 0, err
	}
	f, err := d.left.create()
	if err != nil {
		return 0, err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	n, err = io.Copy(f, &reader{ctx, r})
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return 0, err
	}
	if err := os.Rename(f.Name(), file); err != nil {
		return 0, err
	}
	return n, platform.SyncDir(filepath.Dir(file))
}

// reader ends with its context.
type reader struct {
	ctx context.Context
	io.Reader
}

func (r *reader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.Reader.Read(p)
}

func (d *dir) Get(_ context.Context, name string, offset int64) (io.ReadCloser, error) {
	p, err := path(name)
	if err != nil {
		return nil, err
	}
	f, err := os.Open(filepath.Join(d.root, filepath.FromSlash(p)))
	if err != nil {
		return nil, err
	}
	if _, err := f.Seek(offset, io.SeekStart); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func (d *dir) Delete(_ context.Context, name string) error {
	p, err := path(name)
	if err != nil {
		return err
	}
	if err := os.Remove(filepath.Join(d.root, filepath.FromSlash(p))); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func (d *dir) Free(context.Context) (uint64, error) { return platform.Free(d.root) }
