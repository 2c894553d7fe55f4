package backup

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"github.com/skein-im/skein/internal/directory"
	"github.com/skein-im/skein/internal/media/blob"
)

// Restored is what was brought back of media.
type Restored struct {
	Blobs int   `json:"blobs"`
	Bytes int64 `json:"bytes"`
	// There were there already, the same.
	There int `json:"there"`
	// Missing are not in the backup either.
	Missing int `json:"missing"`
	// Off: the new configuration keeps no media, so none were brought back.
	Off bool `json:"off,omitempty"`
}

// restoreMedia puts a backup's blobs where the store in dir has them. Those that are there
// stay as they are, so it goes on where it was cut off.
func (m *maker) restoreMedia(ctx context.Context, manifest *Manifest, dir string) (s Restored, err error) {
	if manifest.Media == nil || manifest.Media.Blobs+manifest.Media.Missing == 0 {
		return s, nil
	}
	to, err := m.mediaOf(dir)
	if err != nil {
		return s, err
	}
	if to == nil {
		s.Off = true
		return s, nil
	}
	list, done := m.lines(ctx, &manifest.Media.List), int64(0)
	for {
		k, err := list.read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return s, fmt.Errorf("backup %s: media: %w", manifest.ID, err)
		}
		if k.Missing != "" {
			s.Missing++
			continue
		}
		there, err := m.same(ctx, to, &k.File)
		if err == nil && there {
			s.There++
		} else if err == nil {
			_, err = to.Put(ctx, k.Path, &content{m: m, ctx: ctx, chunks: k.Chunks})
		}
		if err != nil {
			return s, fmt.Errorf("backup %s: media %s: %w", manifest.ID, k.Path, err)
		}
		s.Blobs++
		s.Bytes += k.Size
		done += k.Size
		m.o.Progress(Progress{"restoring media", done, manifest.Media.Bytes})
	}
	if s.Blobs != manifest.Media.Blobs || s.Bytes != manifest.Media.Bytes {
		return s, fmt.Errorf("backup %s: media: %d blobs of %d bytes instead of %d of %d", manifest.ID, s.Blobs, s.Bytes, manifest.Media.Blobs, manifest.Media.Bytes)
	}
	return s, nil
}

// same tells whether a blob is at a place with the content that a backup has.
func (m *maker) same(ctx context.Context, at blob.Store, f *File) (same bool, err error) {
	r, err := at.Get(ctx, f.Path, 0)
	if gone(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	i := 0
	other := errors.New("another content")
	err = m.chunks(ctx, r, func(sum string, _ []byte) error {
		if i >= len(f.Chunks) || f.Chunks[i] != sum {
			return other
		}
		i++
		return nil
	})
	if errors.Is(err, other) {
		return false, nil
	}
	return err == nil && i == len(f.Chunks), err
}

// compareMedia reads every blob that a restored store names, and compares it with what the
// directory says of its content.
func (m *maker) compareMedia(ctx context.Context, manifest *Manifest, dir string) error {
	if manifest.Media == nil {
		return nil // made before backups had media
	}
	from, err := m.mediaOf(dir)
	if err != nil {
		return err
	}
	list, next := m.lines(ctx, &manifest.Media.List), kept{}
	found, missing := 0, 0
	err = namedBlobs(ctx, dir, func(b directory.Blob) (err error) {
		for next.Path < b.Name && err == nil {
			next, err = list.read()
		}
		switch {
		case err != nil && !errors.Is(err, io.EOF):
			return err
		case next.Path != b.Name && b.Named:
			return fmt.Errorf("media: %s is named by a message and not in the backup", b.Name)
		case next.Path != b.Name:
			if errors.Is(err, io.EOF) {
				next = kept{File: File{Path: "\xff"}} // behind all names
			}
			return nil
		case next.Missing != "":
			missing++
			return nil
		}
		if err := m.compareBlob(ctx, from, b, &next.File); err != nil {
			return fmt.Errorf("media: %s: %w", b.Name, err)
		}
		found++
		return nil
	})
	if err == nil && (found != manifest.Media.Blobs || missing != manifest.Media.Missing) {
		err = fmt.Errorf("media: %d blobs instead of %d, %d missing instead of %d", found, manifest.Media.Blobs, missing, manifest.Media.Missing)
	}
	return err
}

func (m *maker) compareBlob(ctx context.Context, from blob.Store, b directory.Blob, f *File) (err error) {
	r, err := from.Get(ctx, b.Name, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	whole, chunks := sha256.New(), []string{}
	err = m.chunks(ctx, r, func(sum string, chunk []byte) error {
		chunks = append(chunks, sum)
		whole.Write(chunk)
		return nil
	})
	switch {
	case err != nil:
		return err
	case fmt.Sprint(chunks) != fmt.Sprint(f.Chunks):
		return errors.New("another content than in the backup")
	case b.Hash != "" && hex.EncodeToString(whole.Sum(nil)) != b.Hash:
		return errors.New("another content than the upload had")
	}
	return nil
}
