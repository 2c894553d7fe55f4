package blob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

// bucket keeps blobs as objects of an S3-compatible store.
type bucket struct {
	client *minio.Client
	name   string
	prefix string // empty, or ends with a slash
	spool  string
}

// partBytes is from which size on an object is sent in parts, and how large they are.
const partBytes = 16 << 20

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

// openS3 takes the credentials of AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, of the AWS
// credentials file, or of the machine's role.
func openS3(u *url.URL, spool string) (Store, error) {
	host, secure, err := endpoint(u)
	if err != nil {
		return nil, fmt.Errorf("blob: s3://%s%s: %w", u.Host, u.Path, err)
	}
	client, err := minio.New(host, &minio.Options{
		Creds: credentials.NewChainCredentials([]credentials.Provider{
			&credentials.EnvAWS{}, &credentials.FileAWSCredentials{},
			&credentials.IAM{Client: &http.Client{Transport: http.DefaultTransport}},
		}),
		Secure: secure,
		Region: u.Query().Get("region"),
	})
	if err != nil {
		return nil, fmt.Errorf("blob: s3://%s%s: %w", u.Host, u.Path, err)
	}
	prefix := strings.Trim(u.Path, "/")
	if prefix != "" {
		prefix += "/"
	}
	return &bucket{client, u.Host, prefix, spool}, nil
}

// Put has all of it in a file first: what comes slowly holds no memory, and what fails on
// the way to the store is sent again.
func (b *bucket) Put(ctx context.Context, name string, r io.Reader) (n int64, err error) {
	key, err := path(name)
	if err != nil {
		return 0, err
	}
	f, err := os.CreateTemp(b.spool, "media-*") // 0600
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
	// Without SHA-256 of the content in the signature: it has a checksum of its own (CRC32C).
	_, err = b.client.PutObject(ctx, b.name, b.prefix+key, f, n, minio.PutObjectOptions{
		ContentType: "application/octet-stream", PartSize: partBytes, DisableContentSha256: true,
	})
	return n, b.failed(key, err)
}

func (b *bucket) Get(ctx context.Context, name string, offset int64) (io.ReadCloser, error) {
	key, err := path(name)
	if err != nil {
		return nil, err
	}
	var o minio.GetObjectOptions
	if offset > 0 {
		if err := o.SetRange(offset, 0); err != nil {
			return nil, err
		}
	}
	body, _, _, err := (&minio.Core{Client: b.client}).GetObject(ctx, b.name, b.prefix+key, o)
	if minio.ToErrorResponse(err).Code == "InvalidRange" { // its end
		return io.NopCloser(strings.NewReader("")), nil
	}
	return body, b.failed(key, err)
}

func (b *bucket) Delete(ctx context.Context, name string) error {
	key, err := path(name)
	if err != nil {
		return err
	}
	return b.failed(key, b.client.RemoveObject(ctx, b.name, b.prefix+key, minio.RemoveObjectOptions{}))
}

// Free is about the bucket alone; what is on its way needs room in the spool besides.
func (b *bucket) Free(context.Context) (uint64, error) { return unknownRoom, nil }

func (b *bucket) failed(key string, err error) error {
	if err == nil {
		return nil
	}
	if minio.ToErrorResponse(err).Code == minio.NoSuchKey {
		err = fs.ErrNotExist
	}
	return fmt.Errorf("s3://%s/%s%s: %w", b.name, b.prefix, key, err)
}
