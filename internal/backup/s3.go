package backup

import (
	"context"
	"errors"
	"io"

	"github.com/skein-im/skein/internal/bucket"
)

// inBucket is a repository in a bucket of an S3-compatible store.
type inBucket struct{ *bucket.Bucket }

func (b inBucket) Get(ctx context.Context, key string) (value []byte, err error) {
	r, err := b.Bucket.Get(ctx, key, 0)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	return io.ReadAll(r)
}

func (b inBucket) List(ctx context.Context, prefix string, each func(Item) error) error {
	return b.Bucket.List(ctx, prefix+"/", func(i bucket.Item) error { return each(Item(i)) })
}
