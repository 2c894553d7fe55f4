package blob

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"github.com/skein-im/skein/internal/bucket"
)

// stores are the kinds there are, each empty.
func stores(t *testing.T, each func(t *testing.T, s Store)) {
	t.Run("directory", func(t *testing.T) {
		s, err := Open(filepath.Join(t.TempDir(), "not", "there"), "")
		if err != nil {
			t.Fatal(err)
		}
		each(t, s)
	})
	t.Run("s3", func(t *testing.T) {
		t.Setenv("AWS_ACCESS_KEY_ID", "id")
		t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
		mem := s3mem.New()
		if err := mem.CreateBucket("media"); err != nil {
			t.Fatal(err)
		}
		server := httptest.NewServer(gofakes3.New(mem).Server())
		t.Cleanup(server.Close)
		spool := t.TempDir()
		s, err := Open("s3://media/some/where?region=us-east-1&endpoint="+server.URL, spool)
		if err != nil {
			t.Fatal(err)
		}
		each(t, s)
		if left, err := os.ReadDir(spool); err != nil || len(left) > 0 {
			t.Errorf("left on the way: %v, %v", left, err)
		}
	})
}

func get(t *testing.T, s Store, name string, offset int64) string {
	t.Helper()
	r, err := s.Get(t.Context(), name, offset)
	if err != nil {
		t.Fatal(err)
	}
	all, err := io.ReadAll(r)
	if err := errors.Join(err, r.Close()); err != nil {
		t.Fatal(err)
	}
	return string(all)
}

// What every store does.
func TestStore(t *testing.T) {
	stores(t, func(t *testing.T, s Store) {
		ctx := t.Context()
		if n, err := s.Put(ctx, "abcdefgh-1", strings.NewReader("hello")); n != 5 || err != nil {
			t.Fatal(n, err)
		}
		for offset, want := range map[int64]string{0: "hello", 3: "lo", 5: ""} {
			if got := get(t, s, "abcdefgh-1", offset); got != want {
				t.Errorf("from %d: %q", offset, got)
			}
		}
		broken := errors.New("cut off")
		if _, err := s.Put(ctx, "abcdefgh-2", io.MultiReader(strings.NewReader("half"), errReader{broken})); !errors.Is(err, broken) {
			t.Fatal(err)
		}
		for _, name := range []string{"abcdefgh-2", "abcdefgh-3"} {
			if _, err := s.Get(ctx, name, 0); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s: %v", name, err)
			}
		}
		for range 2 {
			if err := s.Delete(ctx, "abcdefgh-1"); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := s.Get(ctx, "abcdefgh-1", 0); !errors.Is(err, fs.ErrNotExist) {
			t.Error(err)
		}
		if free, err := s.Free(ctx); err != nil || free == 0 {
			t.Error(free, err)
		}
	})
}

type errReader struct{ err error }

func (r errReader) Read([]byte) (int, error) { return 0, r.err }

// No name leaves the place, or is another one's.
func TestNames(t *testing.T) {
	stores(t, func(t *testing.T, s Store) {
		for _, name := range []string{"", "short", "../../etc/passwd", "aaaa/../bbbb", "abcdefgh.", "ABCDEFGH", "abcdefgh\x00", strings.Repeat("a", 129), "äöüäöüäöü"} {
			if _, err := s.Put(t.Context(), name, strings.NewReader("x")); !errors.Is(err, ErrName) {
				t.Errorf("put %q: %v", name, err)
			}
			if _, err := s.Get(t.Context(), name, 0); !errors.Is(err, ErrName) {
				t.Errorf("get %q: %v", name, err)
			}
			if err := s.Delete(t.Context(), name); !errors.Is(err, ErrName) {
				t.Errorf("delete %q: %v", name, err)
			}
		}
	})
}

// Larger than one part of an object; several at once.
func TestLarge(t *testing.T) {
	stores(t, func(t *testing.T, s Store) {
		content := make([]byte, bucket.PartBytes+bucket.PartBytes/2)
		rand.NewChaCha8([32]byte{1}).Read(content)
		var all sync.WaitGroup
		for _, name := range []string{"large-one", "large-two"} {
			all.Go(func() {
				if n, err := s.Put(t.Context(), name, bytes.NewReader(content)); n != int64(len(content)) || err != nil {
					t.Error(n, err)
				}
			})
		}
		all.Wait()
		if get(t, s, "large-one", 0) != string(content) || get(t, s, "large-two", bucket.PartBytes-1) != string(content[bucket.PartBytes-1:]) {
			t.Error("another content")
		}
	})
}

// What a killed process left on its way is removed an hour later: at a start, and by a
// process that goes on writing.
func TestLeftOver(t *testing.T) {
	root, now := t.TempDir(), time.Now()
	clock := func() time.Time { return now }
	d, err := newDir(root, clock)
	if err != nil {
		t.Fatal(err)
	}
	leave := func(name string, age time.Duration) {
		t.Helper()
		file := filepath.Join(root, incoming, name)
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(file, now.Add(-age), now.Add(-age)); err != nil {
			t.Fatal(err)
		}
	}
	expect := func(when string, want ...string) {
		t.Helper()
		left, err := os.ReadDir(filepath.Join(root, incoming))
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, e := range left {
			names = append(names, e.Name())
		}
		if !slices.Equal(names, want) {
			t.Errorf("%s: %v, not %v", when, names, want)
		}
	}
	put := func(name string) {
		t.Helper()
		if _, err := d.Put(t.Context(), name, strings.NewReader("x")); err != nil {
			t.Fatal(err)
		}
	}
	leave("new-old", incomingTime)
	leave("new-young", incomingTime-time.Minute)
	put("piece-one")
	expect("swept a moment ago", "new-old", "new-young")
	if _, err := newDir(root, clock); err != nil {
		t.Fatal(err)
	}
	expect("started", "new-young")
	now = now.Add(sweepEvery)
	put("piece-two")
	expect("written to later")
}

// What a killed process left on its way to a bucket is removed, too; what others have in the
// same directory stays.
func TestLeftOverOnItsWay(t *testing.T) {
	spool := t.TempDir()
	for name, age := range map[string]time.Duration{"media-old": incomingTime + time.Minute, "media-young": incomingTime / 2, "import-old": 100 * incomingTime} {
		file := filepath.Join(spool, name)
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(file, time.Now().Add(-age), time.Now().Add(-age)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Open("s3://b/x?region=eu&endpoint=http://127.0.0.1:9", spool); err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(spool)
	if err != nil || len(left) != 2 || left[0].Name() != "import-old" || left[1].Name() != "media-young" {
		t.Errorf("left are %v, %v", left, err)
	}
}

// What cannot be a place is refused with what is wrong.
func TestPlaces(t *testing.T) {
	for place, want := range map[string]string{
		"http://x/y": "not http://", "s3:///x": "BUCKET", "s3://b/x?key=1": "unknown parameter key", "s3://b?endpoint=ftp://x": "endpoint must be",
	} {
		if err := Check(place); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("check %s: %v", place, err)
		}
		if _, err := Open(place, t.TempDir()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("open %s: %v", place, err)
		}
	}
	for _, place := range []string{"media", "s3://b", "s3://b/x?region=eu&endpoint=http://127.0.0.1:9"} {
		if err := Check(place); err != nil {
			t.Errorf("%s: %v", place, err)
		}
	}
}
