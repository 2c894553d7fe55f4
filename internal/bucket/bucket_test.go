package bucket

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
)

func open(t *testing.T, endpoint string) *Bucket {
	t.Helper()
	t.Setenv("AWS_ACCESS_KEY_ID", "id")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	u, err := url.Parse("s3://values/some/where?region=us-east-1&endpoint=" + endpoint)
	if err != nil {
		t.Fatal(err)
	}
	b, err := Open(u)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func store(t *testing.T) *Bucket {
	t.Helper()
	mem := s3mem.New()
	if err := mem.CreateBucket("values"); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(gofakes3.New(mem).Server())
	t.Cleanup(server.Close)
	return open(t, server.URL)
}

func read(t *testing.T, b *Bucket, key string, offset int64) []byte {
	t.Helper()
	r, err := b.Get(t.Context(), key, offset)
	if err != nil {
		t.Fatal(err)
	}
	all, err := io.ReadAll(r)
	if err := errors.Join(err, r.Close()); err != nil {
		t.Fatal(err)
	}
	return all
}

// What is put comes back, whole and from any offset; what is not there is told.
func TestBucket(t *testing.T) {
	b := store(t)
	ctx := t.Context()
	large := make([]byte, PartBytes+PartBytes/2)
	rand.NewChaCha8([32]byte{1}).Read(large)
	if err := errors.Join(b.Put(ctx, "a/small", []byte("hello")), b.PutFile(ctx, "a/large", bytes.NewReader(large), int64(len(large))), b.Put(ctx, "b", []byte("b"))); err != nil {
		t.Fatal(err)
	}
	for offset, want := range map[int64]string{0: "hello", 3: "lo", 5: "", 9: ""} {
		if got := read(t, b, "a/small", offset); string(got) != want {
			t.Errorf("from %d: %q", offset, got)
		}
	}
	if !bytes.Equal(read(t, b, "a/large", PartBytes-1), large[PartBytes-1:]) {
		t.Error("a large value is another one")
	}
	var keys []string
	if err := b.List(ctx, "a/", func(i Item) error { keys = append(keys, i.Key); return nil }); err != nil || !slices.Equal(keys, []string{"a/large", "a/small"}) {
		t.Error(keys, err)
	}
	for range 2 {
		if err := b.Delete(ctx, "a/small"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := b.Get(ctx, "a/small", 0); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "s3://values/some/where/a/small") {
		t.Error(err)
	}
}

// A store that takes and gives nothing holds nobody for ever.
func TestStandsStill(t *testing.T) {
	free := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "half") {
			w.Header().Set("Content-Length", "10")
			w.Header().Set("Last-Modified", time.Now().UTC().Format(http.TimeFormat))
			w.Header().Set("ETag", `"x"`)
			_, _ = io.WriteString(w, "hello")
			_ = http.NewResponseController(w).Flush()
		}
		select {
		case <-free:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(free) })
	b := open(t, server.URL)
	b.still = 50 * time.Millisecond
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := b.Put(ctx, "key", []byte("hello")); !errors.Is(err, ErrStill) {
		t.Errorf("put: %v", err)
	}
	if err := b.PutFile(ctx, "key", strings.NewReader("hello"), 5); !errors.Is(err, ErrStill) {
		t.Errorf("put a file: %v", err)
	}
	if _, err := b.Get(ctx, "key", 0); !errors.Is(err, ErrStill) {
		t.Errorf("get: %v", err)
	}
	r, err := b.Get(ctx, "half", 0)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if got, err := io.ReadAll(r); string(got) != "hello" || !errors.Is(err, ErrStill) {
		t.Errorf("read %q, %v", got, err)
	}
}

// One that is not there, or that cannot, is an error after a few attempts.
func TestDown(t *testing.T) {
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	b := open(t, server.URL)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := b.Put(ctx, "key", []byte("hello")); err == nil || ctx.Err() != nil || asked != attempts {
		t.Errorf("asked %d times: %v", asked, err)
	}
	server.Close()
	if err := b.PutFile(ctx, "key", strings.NewReader("hello"), 5); err == nil || ctx.Err() != nil {
		t.Error(err)
	}
}

// What cannot be a place is refused with what is wrong.
func TestPlaces(t *testing.T) {
	for place, want := range map[string]string{
		"s3:///x": "BUCKET", "s3://b/x?key=1": "unknown parameter key", "s3://b?endpoint=ftp://x": "endpoint must be", "s3://b?endpoint=host:1": "https://host:port",
	} {
		u, err := url.Parse(place)
		if err != nil {
			t.Fatal(err)
		}
		if err := Check(u); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("check %s: %v", place, err)
		}
		if _, err := Open(u); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("open %s: %v", place, err)
		}
	}
}
