package backup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"github.com/skein-im/skein/internal/bucket"
)

// Repository is where backups lie: values by key. Keys are paths with slashes.
type Repository interface {
	// Put stores a value durably, as a whole or not at all.
	Put(ctx context.Context, key string, value []byte) error
	// Get returns a value; fs.ErrNotExist: there is none.
	Get(ctx context.Context, key string) ([]byte, error)
	// List calls each for every key under a prefix, in any order.
	List(ctx context.Context, prefix string, each func(Item) error) error
	// Delete removes a value, if it is there.
	Delete(ctx context.Context, key string) error
}

// Item is a value of a repository.
type Item struct {
	Key      string
	Size     int64
	Modified time.Time
}

// Open opens the repository at a place: a directory, or
// s3://bucket/prefix?endpoint=https://host&region=name (without an endpoint:
// Amazon's). A bucket must exist; a directory is made by the first Put.
func Open(place string) (Repository, error) {
	if !strings.Contains(place, "://") {
		if place == "" {
			return nil, errors.New("a repository is a directory or an s3:// URL")
		}
		path, err := filepath.Abs(place)
		return folder(path), err
	}
	u, err := url.Parse(place)
	if err != nil {
		return nil, fmt.Errorf("repository: %w", err)
	}
	switch u.Scheme {
	case "file":
		return folder(u.Path), nil
	case "s3":
		b, err := bucket.Open(u)
		if err != nil {
			return nil, fmt.Errorf("repository %w", err)
		}
		return inBucket{b}, nil
	}
	return nil, fmt.Errorf("repository %s: a directory or an s3:// URL is wanted, not %s://", place, u.Scheme)
}

// gone tells whether an error is that of a value that is not there.
func gone(err error) bool { return errors.Is(err, fs.ErrNotExist) }
