package backup

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

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

// bucket is a repository in a bucket of an S3-compatible store.
type bucket struct {
	client *minio.Client
	name   string
	prefix string // empty, or ends with a slash
}

// openS3 opens s3://bucket/prefix?endpoint=URL&region=NAME. The credentials are
// those of AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, the AWS credentials file,
// or the machine's role.
func openS3(u *url.URL) (Repository, error) {
	where := "repository s3://" + u.Host + u.Path
	endpoint, secure := "s3.amazonaws.com", true
	q := u.Query()
	for key := range q {
		if key != "endpoint" && key != "region" {
			return nil, fmt.Errorf("%s: unknown parameter %s (endpoint and region are known)", where, key)
		}
	}
	if raw := q.Get("endpoint"); raw != "" {
		e, err := url.Parse(raw)
		if err != nil || (e.Scheme != "http" && e.Scheme != "https") || e.Host == "" {
			return nil, fmt.Errorf("%s: endpoint must be like https://host:port", where)
		}
		endpoint, secure = e.Host, e.Scheme == "https"
	}
	if u.Host == "" {
		return nil, errors.New("repository: s3://BUCKET/PREFIX is wanted")
	}
	client, err := minio.New(endpoint, &minio.Options{
		Creds: credentials.NewChainCredentials([]credentials.Provider{
			&credentials.EnvAWS{}, &credentials.FileAWSCredentials{},
			&credentials.IAM{Client: &http.Client{Transport: http.DefaultTransport}},
		}),
		Secure: secure,
		Region: q.Get("region"),
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", where, err)
	}
	prefix := strings.Trim(u.Path, "/")
	if prefix != "" {
		prefix += "/"
	}
	return &bucket{client, u.Host, prefix}, nil
}

func (b *bucket) Put(ctx context.Context, key string, value []byte) error {
	_, err := b.client.PutObject(ctx, b.name, b.prefix+key, bytes.NewReader(value), int64(len(value)), minio.PutObjectOptions{
		ContentType: "application/octet-stream", SendContentMd5: true, DisableMultipart: true,
	})
	return b.failed(key, err)
}

func (b *bucket) Get(ctx context.Context, key string) ([]byte, error) {
	object, err := b.client.GetObject(ctx, b.name, b.prefix+key, minio.GetObjectOptions{})
	if err != nil {
		return nil, b.failed(key, err)
	}
	defer object.Close()
	value, err := io.ReadAll(object)
	return value, b.failed(key, err)
}

func (b *bucket) List(ctx context.Context, prefix string, each func(Item) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // ends the listing
	for o := range b.client.ListObjects(ctx, b.name, minio.ListObjectsOptions{Prefix: b.prefix + prefix + "/", Recursive: true}) {
		if o.Err != nil {
			return b.failed(prefix, o.Err)
		}
		if err := each(Item{strings.TrimPrefix(o.Key, b.prefix), o.Size, o.LastModified}); err != nil {
			return err
		}
	}
	return ctx.Err()
}

func (b *bucket) Delete(ctx context.Context, key string) error {
	return b.failed(key, b.client.RemoveObject(ctx, b.name, b.prefix+key, minio.RemoveObjectOptions{}))
}

func (b *bucket) failed(key string, err error) error {
	if err == nil {
		return nil
	}
	if minio.ToErrorResponse(err).Code == minio.NoSuchKey {
		err = fs.ErrNotExist
	}
	return fmt.Errorf("s3://%s/%s%s: %w", b.name, b.prefix, key, err)
}
