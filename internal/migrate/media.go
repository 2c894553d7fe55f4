package migrate

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"

	"github.com/skein-im/skein/internal/directory"
	"github.com/skein-im/skein/internal/directory/sqlite"
	"github.com/skein-im/skein/internal/media/blob"
)

// MediaSummary is what the copying of pictures and files came to.
type MediaSummary struct {
	Blobs int   `json:"blobs"`
	Bytes int64 `json:"bytes"`
	// There were there already, the same.
	There int `json:"there"`
	// Missing are those that messages name and nobody has, or that are damaged; Names the
	// first of them.
	Missing int      `json:"missing"`
	Names   []string `json:"missing_names,omitempty"`
}

// mostNames is how many missing blobs are named.
const mostNames = 100

// CopyMedia copies the blobs that the embedded directory in a file names to another place,
// reads each back, and compares it with what the directory says of its content. Those that
// are there are read and left, so it goes on where it was interrupted. The source is not
// changed. One that is missing does not stop it.
func CopyMedia(ctx context.Context, file string, from, to blob.Store, progress func(Progress)) (s MediaSummary, err error) {
	rows, err := sqlite.OpenReader(ctx, file)
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	err = rows.Blobs(ctx, func(b directory.Blob) error {
		size, there, why, err := copyBlob(ctx, from, to, b)
		switch {
		case err != nil:
			return fmt.Errorf("media %s: %w", b.Name, err)
		case why == "":
			s.Blobs++
			s.Bytes += size
		case b.Named:
			if s.Missing++; len(s.Names) < mostNames {
				s.Names = append(s.Names, b.Name+": "+why)
			}
		}
		if there {
			s.There++
		}
		if progress != nil {
			progress(Progress{What: "media", Done: uint64(s.Blobs)})
		}
		return nil
	})
	return s, err
}

// copyBlob copies a blob, unless it is there. why: it is missing.
func copyBlob(ctx context.Context, from, to blob.Store, b directory.Blob) (size int64, there bool, why string, err error) {
	source, size, err := sumOf(ctx, from, b.Name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return 0, false, "gone", nil
	case err != nil:
		return 0, false, "", err
	case b.Hash != "" && hex.EncodeToString(source) != b.Hash:
		return 0, false, "damaged", nil
	}
	have, _, err := sumOf(ctx, to, b.Name)
	if err == nil && bytes.Equal(have, source) {
		return size, true, "", nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return size, false, "", err
	}
	r, err := from.Get(ctx, b.Name, 0)
	if err != nil {
		return size, false, "", err
	}
	if _, err = to.Put(ctx, b.Name, r); errors.Join(err, r.Close()) != nil {
		return size, false, "", err
	}
	have, _, err = sumOf(ctx, to, b.Name)
	if err == nil && !bytes.Equal(have, source) {
		err = errors.New("what was copied is another content")
	}
	return size, false, "", err
}

// sumOf is the SHA-256 of a blob.
func sumOf(ctx context.Context, at blob.Store, name string) (sum []byte, size int64, err error) {
	r, err := at.Get(ctx, name, 0)
	if err != nil {
		return nil, 0, err
	}
	var h hash.Hash = sha256.New()
	size, err = io.Copy(h, r)
	return h.Sum(nil), size, errors.Join(err, r.Close())
}
