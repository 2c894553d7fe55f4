// Package blob keeps the bytes of media: in a local directory, or in a bucket of an
// S3-compatible store. Both pass the same tests.
//
// A blob has a name that internal/media makes, [a-z0-9-]{8,128}, and never changes: who
// would say something else uses another name. What is kept of it, and for whom, is not
// known here.
//
// Goroutines: none that outlive a call. Locks: none. Any number of processes may use one
// place at a time.
//
// Invariants:
//   - a blob is durable, whole, when Put returns nil; before, and when it fails, there is
//     none under the name (what a killed process leaves on its way is removed an hour
//     later, also in the spool of a bucket);
//   - no name leaves the place: whatever is not of the form is refused.
package blob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/skein-im/skein/internal/bucket"
)

// ErrName: the name is not of the form.
var ErrName = errors.New("blob: not the name of a blob")

// Store keeps blobs. One that is not there is fs.ErrNotExist.
type Store interface {
	// Put keeps what r gives, and says how much that was. An error of r is returned as it
	// is, and nothing is kept then.
	Put(ctx context.Context, name string, r io.Reader) (int64, error)
	// Get opens a blob at an offset. The caller closes it.
	Get(ctx context.Context, name string, offset int64) (io.ReadCloser, error)
	// Delete removes a blob; one that is not there is removed already.
	Delete(ctx context.Context, name string) error
	// Free is how many bytes there is room for; math.MaxUint64: nobody knows.
	Free(ctx context.Context) (uint64, error)
}

// Open opens a place: s3://bucket/prefix?endpoint=URL&region=NAME, or a directory, which
// is made if it is not there. spool is a local directory for what is on its way to a
// bucket.
func Open(place, spool string) (Store, error) {
	if !strings.Contains(place, "://") {
		place, err := filepath.Abs(place)
		if err != nil {
			return nil, err
		}
		return openDir(place)
	}
	u, err := url.Parse(place)
	if err != nil {
		return nil, fmt.Errorf("blob: %w", err)
	}
	if u.Scheme != "s3" {
		return nil, fmt.Errorf("blob: a directory or s3://BUCKET/PREFIX is wanted, not %s://", u.Scheme)
	}
	b, err := bucket.Open(u)
	if err != nil {
		return nil, fmt.Errorf("blob: %w", err)
	}
	s, err := newInBucket(b, spool)
	if err != nil {
		return nil, fmt.Errorf("blob: %w", err)
	}
	return s, nil
}

// OpenToRead opens a place that nothing is put into: a directory that is not there is not
// made, and has no blobs.
func OpenToRead(place, spool string) (Store, error) {
	if strings.Contains(place, "://") {
		return Open(place, spool)
	}
	root, err := filepath.Abs(place)
	if err != nil {
		return nil, err
	}
	return &dir{root: root}, nil
}

// Begun tells whether a place that is a directory is there and was one before: it is not
// made by the first Open only. A disk that is not mounted leaves nothing at all, or an empty
// directory. A bucket is always said to be.
func Begun(place string) (bool, error) {
	if strings.Contains(place, "://") {
		return true, nil
	}
	all, err := os.ReadDir(place)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return len(all) > 0, err
}

// Has tells whether a blob is in a place that is a directory; fs.ErrNotExist: it is not.
func Has(place, name string) error {
	p, err := path(name)
	if err == nil {
		_, err = os.Stat(filepath.Join(place, filepath.FromSlash(p)))
	}
	return err
}

// Incoming is the directory below a place that is made first. Who makes it by hand begins an
// empty place.
func Incoming(place string) string { return filepath.Join(place, incoming) }

// Check tells whether a place can be one, without opening it.
func Check(place string) error {
	if !strings.Contains(place, "://") {
		return nil
	}
	u, err := url.Parse(place)
	if err == nil && u.Scheme != "s3" {
		err = fmt.Errorf("a directory or s3://BUCKET/PREFIX is wanted, not %s://", u.Scheme)
	}
	if err == nil {
		err = bucket.Check(u)
	}
	return err
}

// unknownRoom is what a bucket says of how much it takes.
const unknownRoom = math.MaxUint64

// path is where a blob lies: in one of 65,536 directories, by how its name begins.
func path(name string) (string, error) {
	if len(name) < 8 || len(name) > 128 {
		return "", ErrName
	}
	for i := range len(name) {
		if c := name[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
			return "", ErrName
		}
	}
	return name[:2] + "/" + name[2:4] + "/" + name, nil
}
