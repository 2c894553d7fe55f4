// Package bucket speaks to a bucket of an S3-compatible store, for all that keeps values in
// one: where it is, who we are there, and what its errors mean.
//
// A place is s3://BUCKET/PREFIX?endpoint=URL&region=NAME; without an endpoint it is Amazon's.
// The credentials are those of AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, of the AWS
// credentials file, or of the machine's role. What the values are is not known here.
//
// Goroutines: none that outlive a call. Locks: none. Memory: nothing of a value, but for
// what Put is given.
//
// Invariants:
//   - a value is there whole, or not at all;
//   - a store that stands still ends a call after a minute, and one that is not there after
//     a few attempts: nobody waits for it for ever.
package bucket

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

const (
	// PartBytes is from which size on a file is sent in parts, and how large they are.
	PartBytes = 16 << 20
	// attempts is how often a request is made that the store did not answer, or answered
	// that it cannot now.
	attempts = 4
	// still is how long a store may not take, or not give, a single byte.
	still = time.Minute
)

// ErrStill: the store took, or gave, nothing for a minute.
var ErrStill = errors.New("the store stands still")

// Bucket is a prefix in a bucket. It is safe for concurrent use.
type Bucket struct {
	client *minio.Client
	name   string
	prefix string // empty, or ends with a slash
	still  time.Duration
}

// Item is a value.
type Item struct {
	Key      string
	Size     int64
	Modified time.Time
}

// endpoint is where a place's store is.
func endpoint(u *url.URL) (host string, secure bool, err error) {
	q := u.Query()
	for key := range q {
		if key != "endpoint" && key != "region" {
			return "", false, fmt.Errorf("unknown parameter %s (endpoint and region are known)", key)
		}
	}
	if u.Host == "" {
		return "", false, errors.New("s3://BUCKET/PREFIX is wanted")
	}
	raw := q.Get("endpoint")
	if raw == "" {
		return "s3.amazonaws.com", true, nil
	}
	e, err := url.Parse(raw)
	if err != nil || (e.Scheme != "http" && e.Scheme != "https") || e.Host == "" {
		return "", false, errors.New("endpoint must be like https://host:port")
	}
	return e.Host, e.Scheme == "https", nil
}

// Check tells whether a place can be one, without asking anybody.
func Check(u *url.URL) error {
	_, _, err := endpoint(u)
	return err
}

// Open opens a place, whose bucket must exist. It asks nobody yet. Errors have no password
// in them, as a place has none.
func Open(u *url.URL) (*Bucket, error) {
	where := "s3://" + u.Host + u.Path
	host, secure, err := endpoint(u)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", where, err)
	}
	client, err := minio.New(host, &minio.Options{
		Creds: credentials.NewChainCredentials([]credentials.Provider{
			&credentials.EnvAWS{}, &credentials.FileAWSCredentials{},
			&credentials.IAM{Client: &http.Client{Transport: http.DefaultTransport}},
		}),
		Secure:     secure,
		Region:     u.Query().Get("region"),
		MaxRetries: attempts,
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", where, err)
	}
	prefix := strings.Trim(u.Path, "/")
	if prefix != "" {
		prefix += "/"
	}
	return &Bucket{client, u.Host, prefix, still}, nil
}

// Put keeps a value of at least a byte that fits into memory. It is sent with its MD5, and so checked.
func (b *Bucket) Put(ctx context.Context, key string, value []byte) error {
	w := b.watch(ctx)
	defer w.end()
	_, err := b.client.PutObject(w.ctx, b.name, b.prefix+key, w.reads(bytes.NewReader(value)), int64(len(value)), minio.PutObjectOptions{
		ContentType: "application/octet-stream", SendContentMd5: true, DisableMultipart: true,
	})
	return b.failed(key, w.why(err))
}

// PutFile keeps size bytes of r, in parts if they are many. What fails on the way is sent
// again, so r is read at any place. The content has a checksum of its own (CRC32C) instead
// of one in the signature.
func (b *Bucket) PutFile(ctx context.Context, key string, r Source, size int64) error {
	w := b.watch(ctx)
	defer w.end()
	_, err := b.client.PutObject(w.ctx, b.name, b.prefix+key, w.reads(r), size, minio.PutObjectOptions{
		ContentType: "application/octet-stream", PartSize: PartBytes, DisableContentSha256: true,
	})
	return b.failed(key, w.why(err))
}

// Get opens a value at an offset; fs.ErrNotExist: there is none. At its end, and beyond,
// there are no bytes. The caller closes it.
func (b *Bucket) Get(ctx context.Context, key string, offset int64) (io.ReadCloser, error) {
	var o minio.GetObjectOptions
	if offset > 0 {
		if err := o.SetRange(offset, 0); err != nil {
			return nil, err
		}
	}
	w := b.watch(ctx)
	body, _, _, err := (&minio.Core{Client: b.client}).GetObject(w.ctx, b.name, b.prefix+key, o)
	if err != nil {
		w.end()
		if minio.ToErrorResponse(err).Code == "InvalidRange" {
			return io.NopCloser(strings.NewReader("")), nil
		}
		return nil, b.failed(key, w.why(err))
	}
	w.rest()
	return &reading{body, w}, nil
}

// List calls each for every value whose key begins with prefix, in the order of keys.
func (b *Bucket) List(ctx context.Context, prefix string, each func(Item) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // ends the listing
	for o := range b.client.ListObjects(ctx, b.name, minio.ListObjectsOptions{Prefix: b.prefix + prefix, Recursive: true}) {
		if o.Err != nil {
			return b.failed(prefix, o.Err)
		}
		if err := each(Item{strings.TrimPrefix(o.Key, b.prefix), o.Size, o.LastModified}); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// Delete removes a value, if it is there.
func (b *Bucket) Delete(ctx context.Context, key string) error {
	return b.failed(key, b.client.RemoveObject(ctx, b.name, b.prefix+key, minio.RemoveObjectOptions{}))
}

func (b *Bucket) failed(key string, err error) error {
	if err == nil {
		return nil
	}
	if minio.ToErrorResponse(err).Code == minio.NoSuchKey {
		err = fs.ErrNotExist
	}
	return fmt.Errorf("s3://%s/%s%s: %w", b.name, b.prefix, key, err)
}
