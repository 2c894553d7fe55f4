package backup

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/skein-im/skein/internal/platform"
)

// folder is a repository in a directory, with that path.
type folder string

func (d folder) file(key string) string { return filepath.Join(string(d), filepath.FromSlash(key)) }

func (d folder) Put(_ context.Context, key string, value []byte) (err error) {
	path := d.file(key)
	if err := platform.MkdirAllSync(filepath.Dir(path)); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*") // 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	_, err = f.Write(value)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	return platform.SyncDir(filepath.Dir(path))
}

func (d folder) Get(_ context.Context, key string) ([]byte, error) {
	return os.ReadFile(d.file(key))
}

func (d folder) List(ctx context.Context, prefix string, each func(Item) error) error {
	err := filepath.WalkDir(d.file(prefix), func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || strings.HasPrefix(e.Name(), ".new-") {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		key, err := filepath.Rel(string(d), path)
		if err != nil {
			return err
		}
		return each(Item{filepath.ToSlash(key), info.Size(), info.ModTime()})
	})
	if gone(err) {
		return nil
	}
	return err
}

func (d folder) Delete(_ context.Context, key string) error {
	if err := os.Remove(d.file(key)); err != nil && !gone(err) {
		return err
	}
	return nil
}
