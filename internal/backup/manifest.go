package backup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"
)

// format is what this code writes; it reads that and older ones.
// 2 has media, which a program of before would leave behind.
const format = 2

// Manifest is what a backup holds.
type Manifest struct {
	Format  int       `json:"format"`
	ID      string    `json:"id"`
	Created time.Time `json:"created"`
	// Server is the version of the program that made it.
	Server   string   `json:"server"`
	Contents Contents `json:"contents"`
	Files    []File   `json:"files"`
	// Media is nil in a backup that was made before backups had them.
	Media *Media `json:"media,omitempty"`
}

// File is a file of a data directory.
type File struct {
	// Path is relative to the data directory, with slashes.
	Path   string   `json:"path"`
	Size   int64    `json:"size"`
	Chunks []string `json:"chunks"` // SHA-256, in order
}

// Size is that of all files.
func (m *Manifest) Size() (n int64) {
	for i := range m.Files {
		n += m.Files[i].Size
	}
	return n
}

func manifestKey(id string) string { return "backups/" + id + ".json" }

func chunkKey(sum string) string { return "chunks/" + sum[:2] + "/" + sum }

var (
	goodID    = regexp.MustCompile(`^[0-9]{8}T[0-9]{6}\.[0-9]{3}Z-[0-9a-f]{8}$`)
	goodChunk = regexp.MustCompile(`^[0-9a-f]{64}$`)
)

// check refuses a manifest that nobody here wrote: a path that leads elsewhere
// would be written there.
func (m *Manifest) check() error {
	switch {
	case m.Format > format:
		return fmt.Errorf("backup %s was made by a newer version of skein (format %d, known is %d)", m.ID, m.Format, format)
	case m.Format < 1 || !goodID.MatchString(m.ID):
		return errors.New("not the manifest of a backup")
	}
	all := m.Files
	if m.Media != nil {
		all = append(slices.Clone(all), m.Media.List)
	}
	for _, f := range all {
		if !fs.ValidPath(f.Path) || path.Clean(f.Path) != f.Path || f.Path == "." || strings.Contains(f.Path, "\\") {
			return fmt.Errorf("backup %s: %q is no path in a data directory", m.ID, f.Path)
		}
		for _, c := range f.Chunks {
			if !goodChunk.MatchString(c) {
				return fmt.Errorf("backup %s: %s: %q is no chunk", m.ID, f.Path, c)
			}
		}
	}
	return nil
}

// none says that a repository has no backup; a directory that is not there is a wrong path, rather.
func none(r Repository) error {
	if dir, ok := r.(folder); ok {
		if _, err := os.Stat(string(dir)); errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("there is no directory %s, so no backup was made there", dir)
		}
	}
	return errors.New("there is no backup in this repository")
}

// Load reads a backup's manifest; the id "" or "latest" is the newest's.
func Load(ctx context.Context, r Repository, id string) (*Manifest, error) {
	if id == "" || id == "latest" {
		ids, err := ids(ctx, r)
		if err != nil {
			return nil, err
		}
		if len(ids) == 0 {
			return nil, none(r)
		}
		id = ids[len(ids)-1]
	}
	if !goodID.MatchString(id) {
		return nil, fmt.Errorf("%q is not the id of a backup", id)
	}
	raw, err := r.Get(ctx, manifestKey(id))
	if gone(err) {
		return nil, fmt.Errorf("there is no backup %s in this repository", id)
	}
	if err != nil {
		return nil, err
	}
	m := &Manifest{}
	if err := json.Unmarshal(raw, m); err != nil {
		return nil, fmt.Errorf("the manifest of backup %s is damaged (%w): put %s back from a copy, or remove it and use another backup (skein backup list, --backup ID)", id, err, manifestKey(id))
	}
	if m.ID != id {
		return nil, fmt.Errorf("the manifest of backup %s is that of %q", id, m.ID)
	}
	return m, m.check()
}

// List returns the manifests of all backups, the oldest first. With an error it
// returns those that can be read, and the error names the others.
func List(ctx context.Context, r Repository) (all []*Manifest, err error) {
	ids, err := ids(ctx, r)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		m, bad := Load(ctx, r, id)
		if bad != nil {
			err = errors.Join(err, bad)
			continue
		}
		all = append(all, m)
	}
	return all, err
}

// ids returns the ids of all backups, the oldest first.
func ids(ctx context.Context, r Repository) (ids []string, err error) {
	err = r.List(ctx, "backups", func(i Item) error {
		id := strings.TrimSuffix(path.Base(i.Key), ".json")
		if goodID.MatchString(id) {
			ids = append(ids, id)
		}
		return nil
	})
	slices.Sort(ids)
	return ids, err
}
