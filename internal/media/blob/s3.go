package blob

import (
	"context"
	"errors"
	"io"
	"os"
	"time"

	"github.com/skein-im/skein/internal/bucket"
)

// inBucket keeps blobs as objects of an S3-compatible store.
type inBucket struct {
	b    *bucket.Bucket
	left leftovers
}

// newInBucket has what is on its way in spool.
func newInBucket(b *bucket.Bucket, spool string) (*inBucket, error) {
	s := &inBucket{b: b, left: leftovers{dir: spool, begin: "media-", now: time.Now}}
	return s, s.left.sweep()
}

// Put has all of it in a file first: what comes slowly holds no memory, and what fails on
// the way to the store is sent again.
func (s *inBucket) Put(ctx context.Context, name string, r io.Reader) (n int64, err error) {
	key, err := path(name)
	if err != nil {
		return 0, err
	}
	f, err := s.left.create()
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close(), os.Remove(f.Name())) }()
	if n, err = io.Copy(f, &reader{ctx, r}); err != nil {
		return 0, err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return 0, err
	}
	return n, s.b.PutFile(ctx, key, f, n)
}

func (s *inBucket) Get(ctx context.Context, name string, offset int64) (io.ReadCloser, error) {
	key, err := path(name)
	if err != nil {
		return nil, err
	}
	return s.b.Get(ctx, key, offset)
}

func (s *inBucket) Delete(ctx context.Context, name string) error {
	key, err := path(name)
	if err != nil {
		return err
	}
	return s.b.Delete(ctx, key)
}

// Free is about the bucket alone; what is on its way needs room in the spool besides.
func (s *inBucket) Free(context.Context) (uint64, error) { return unknownRoom, nil }
