package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"time"
)

// pruneAge is how old a chunk is that no backup holds before it is removed: one
// that is being made may have stored it, or found it.
const pruneAge = 24 * time.Hour

// Pruned is what was removed.
type Pruned struct {
	Backups []string `json:"backups"`
	Chunks  int      `json:"chunks"`
	Bytes   int64    `json:"bytes"`
}

// Prune removes all backups but the newest keep, and the chunks that none of
// those left holds and that are older than a day. No backup may be made meanwhile.
func Prune(ctx context.Context, r Repository, keep int, now time.Time) (p Pruned, err error) {
	all, err := List(ctx, r) // a manifest that cannot be read: its chunks are not known
	if err != nil {
		return p, err
	}
	n := max(len(all)-keep, 0)
	held, err := chunksOf(ctx, r, all[n:]) // before anything is removed
	if err != nil {
		return p, err
	}
	for _, m := range all[:n] {
		if err := r.Delete(ctx, manifestKey(m.ID)); err != nil {
			return p, err
		}
		p.Backups = append(p.Backups, m.ID)
	}
	var loose []Item
	err = r.List(ctx, "chunks", func(i Item) error {
		if !held[path.Base(i.Key)] && now.Sub(i.Modified) > pruneAge {
			loose = append(loose, i)
		}
		return nil
	})
	if err != nil {
		return p, err
	}
	for _, i := range loose {
		if err := r.Delete(ctx, i.Key); err != nil {
			return p, err
		}
		p.Chunks++
		p.Bytes += i.Size
	}
	return p, nil
}

// chunksOf is every chunk that backups hold.
func chunksOf(ctx context.Context, r Repository, all []*Manifest) (map[string]bool, error) {
	held := map[string]bool{}
	hold := func(f *File) {
		for _, sum := range f.Chunks {
			held[sum] = true
		}
	}
	reader := newMaker(r, Options{})
	for _, m := range all {
		for i := range m.Files {
			hold(&m.Files[i])
		}
		if m.Media == nil {
			continue
		}
		hold(&m.Media.List)
		for list := reader.lines(ctx, &m.Media.List); ; {
			k, err := list.read()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return nil, fmt.Errorf("backup %s: media: %w (nothing was removed: what it holds is not known)", m.ID, err)
			}
			hold(&k.File)
		}
	}
	return held, nil
}
