package backup

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"image"
	"image/png"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"github.com/skein-im/skein/internal/directory"
	"github.com/skein-im/skein/internal/directory/sqlite"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/media"
	"github.com/skein-im/skein/internal/media/blob"
	"github.com/skein-im/skein/internal/media/picture"
)

// uploads does something with the uploads of a store, as its server would.
func (s *store) uploads(t *testing.T, do func(m *media.Service, d *directory.DB)) {
	t.Helper()
	d, err := sqlite.Open(filepath.Join(s.dir, "directory.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	at, err := blob.Open(filepath.Join(s.dir, mediaDir), "")
	if err != nil {
		t.Fatal(err)
	}
	do(media.New(media.Options{
		Uploads: d, Names: d, Store: at, Pictures: picture.NewMaker(picture.Options{MaxPixels: 1 << 20, Memory: 64 << 20}),
		Quota: im.MediaQuota{Open: 100}, MaxBytes: 64 << 20, Key: []byte("a secret"),
	}), d)
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
}

// up uploads something that a message names, and returns the id.
func (s *store) up(t *testing.T, content []byte) (id string) {
	t.Helper()
	s.uploads(t, func(m *media.Service, d *directory.DB) {
		u, err := m.Begin(t.Context(), "alice", int64(len(content)), im.MediaFacts{})
		if err == nil {
			u, err = m.Write(t.Context(), "alice", u.ID, 0, bytes.NewReader(content), nil)
		}
		if err == nil {
			_, err = m.Name(t.Context(), im.MediaName{Conversation: "dm:alice:bob", Sender: "alice", ID: im.NewMessageID(time.Now(), [10]byte{byte(len(content))})}, []string{u.ID}, false)
		}
		if err != nil {
			t.Fatal(err)
		}
		id = u.ID
	})
	return id
}

func noise(n int, seed byte) []byte {
	b := make([]byte, n)
	rand.NewChaCha8([32]byte{seed}).Read(b)
	return b
}

// blobsOf is what a directory names, by the uploads' content ("" for thumbnails, pieces).
func blobsOf(t *testing.T, dir string) (all []directory.Blob) {
	t.Helper()
	err := namedBlobs(t.Context(), dir, func(b directory.Blob) error { all = append(all, b); return nil })
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func contentOf(t *testing.T, at blob.Store, name string) []byte {
	t.Helper()
	r, err := at.Get(t.Context(), name, 0)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	defer r.Close()
	all, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// mediaBucket is a place for blobs in a bucket.
func mediaBucket(t *testing.T) blob.Store {
	t.Helper()
	t.Setenv("AWS_ACCESS_KEY_ID", "id")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	mem := s3mem.New()
	if err := mem.CreateBucket("media"); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(gofakes3.New(mem).Server())
	t.Cleanup(server.Close)
	at, err := blob.Open("s3://media/there?region=us-east-1&endpoint="+server.URL, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// A backup has the originals, the thumbnails and what is under way, each once for all
// backups; it comes back into a directory or a bucket, byte for byte.
func TestMediaBackupAndRestore(t *testing.T) {
	repositories(t, func(t *testing.T, _ string, r Repository) {
		s := newStore(t, 5)
		large := noise(chunkBytes+chunkBytes/2, 1)
		s.up(t, large)
		s.up(t, picturePNG(t))
		s.uploads(t, func(m *media.Service, _ *directory.DB) { // under way
			u, err := m.Begin(t.Context(), "alice", 40<<10, im.MediaFacts{})
			if err == nil {
				_, err = m.Write(t.Context(), "alice", u.ID, 0, bytes.NewReader(noise(20<<10, 2)), nil)
			}
			if err != nil {
				t.Fatal(err)
			}
		})
		first := s.backup(t, r)
		if m := first.Media; m.Blobs != 4 || m.NewBlobs != 4 || m.Missing != 0 || m.NewBytes != m.Bytes || m.Bytes < int64(len(large)) {
			t.Errorf("%+v", m)
		}
		if strings.Contains(strings.Join(paths(load(t, r, first.ID)), " "), "media") {
			t.Errorf("blobs are in it as files, too: %q", paths(load(t, r, first.ID)))
		}
		s.up(t, noise(100<<10, 3))
		second := s.backup(t, r)
		if m := second.Media; m.Blobs != 5 || m.NewBlobs != 1 || m.NewBytes != 100<<10 {
			t.Errorf("the second: %+v", m)
		}
		for _, of := range []Summary{first, second} {
			m := load(t, r, of.ID)
			if err := Drill(t.Context(), r, m, t.TempDir(), Options{}); err != nil {
				t.Error(err)
			}
			dir := filepath.Join(t.TempDir(), "data")
			in := mediaBucket(t)
			got, err := Restore(t.Context(), r, m, dir, Options{Media: func(string) (blob.Store, error) { return in, nil }})
			if err != nil || got.Blobs != of.Media.Blobs || got.Bytes != of.Media.Bytes || got.There != 0 {
				t.Fatalf("%+v, %v", got, err)
			}
			inDir := filepath.Join(t.TempDir(), "data")
			if _, err := Restore(t.Context(), r, m, inDir, Options{}); err != nil {
				t.Fatal(err)
			}
			beside, err := blob.Open(filepath.Join(inDir, mediaDir), "")
			if err != nil {
				t.Fatal(err)
			}
			source, err := blob.Open(filepath.Join(s.dir, mediaDir), "")
			if err != nil {
				t.Fatal(err)
			}
			all := blobsOf(t, dir)
			if len(all) != of.Media.Blobs {
				t.Errorf("%d blobs, %d wanted", len(all), of.Media.Blobs)
			}
			for _, b := range all {
				if want := contentOf(t, source, b.Name); !bytes.Equal(contentOf(t, in, b.Name), want) || !bytes.Equal(contentOf(t, beside, b.Name), want) {
					t.Errorf("%s is another one", b.Name)
				}
			}
			// Once more to the same bucket: all of it is there.
			got, err = Restore(t.Context(), r, m, filepath.Join(t.TempDir(), "data"), Options{Media: func(string) (blob.Store, error) { return in, nil }})
			if err != nil || got.There != of.Media.Blobs {
				t.Errorf("again: %+v, %v", got, err)
			}
		}
	})
}

func paths(m *Manifest) (all []string) {
	for _, f := range m.Files {
		all = append(all, f.Path)
	}
	return all
}

// A blob that is gone or damaged is named, and all else is held; one that an earlier
// backup has is held whatever became of it. What nobody names may be gone.
func TestMissingMedia(t *testing.T) {
	s := newStore(t, 1)
	r, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s.up(t, noise(30<<10, 1))
	held := blobsOf(t, s.dir)[0].Name
	s.backup(t, r)
	s.up(t, noise(31<<10, 2))
	s.up(t, noise(32<<10, 3))
	s.up(t, noise(33<<10, 4))
	unnamed := noise(34<<10, 5)
	s.uploads(t, func(m *media.Service, _ *directory.DB) {
		u, err := m.Begin(t.Context(), "alice", int64(len(unnamed)), im.MediaFacts{})
		if err == nil {
			_, err = m.Write(t.Context(), "alice", u.ID, 0, bytes.NewReader(unnamed), nil)
		}
		if err != nil {
			t.Fatal(err)
		}
	})
	file := func(name string) string { return filepath.Join(s.dir, mediaDir, name[:2], name[2:4], name) }
	var gone, damaged string
	for _, b := range blobsOf(t, s.dir) {
		switch {
		case b.Name == held, !b.Named:
			err = os.Remove(file(b.Name))
		case gone == "":
			gone = b.Name
			err = os.Remove(file(b.Name))
		case damaged == "":
			damaged = b.Name
			err = os.WriteFile(file(b.Name), noise(31<<10, 9), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	sum := s.backup(t, r)
	want := []string{gone + ": gone", damaged + ": damaged"}
	slices.Sort(want)
	if sum.Media.Blobs != 2 || sum.Media.Missing != 2 || !slices.Equal(sum.Media.Names, want) {
		t.Errorf("%+v, want %q", sum.Media, want)
	}
	m := load(t, r, sum.ID)
	if err := Drill(t.Context(), r, m, t.TempDir(), Options{}); err != nil {
		t.Error(err)
	}
	got, err := Restore(t.Context(), r, m, filepath.Join(t.TempDir(), "data"), Options{})
	if err != nil || got.Blobs != 2 || got.Missing != 2 {
		t.Errorf("%+v, %v", got, err)
	}
	// It came back: the next backup has it.
	if err := os.WriteFile(file(gone), noise(0, 0), 0o600); err != nil {
		t.Fatal(err)
	}
	for seed, size := range map[byte]int{2: 31 << 10, 3: 32 << 10, 4: 33 << 10} {
		if c := noise(size, seed); strings.HasPrefix(gone, hashOf(c)) {
			err = os.WriteFile(file(gone), c, 0o600)
		} else if strings.HasPrefix(damaged, hashOf(c)) {
			err = os.WriteFile(file(damaged), c, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if sum := s.backup(t, r); sum.Media.Missing != 0 || sum.Media.Blobs != 4 || sum.Media.NewBlobs != 2 {
		t.Errorf("%+v", sum.Media)
	}
	// Nobody keeps media: all are missing but those that were held.
	off := Options{Media: func(string) (blob.Store, error) { return nil, nil }}
	s.up(t, noise(35<<10, 6))
	if sum, err := Make(t.Context(), s.dir, r, off); err != nil || sum.Media.Missing != 1 || sum.Media.Blobs != 4 {
		t.Errorf("%+v, %v", sum.Media, err)
	}
	if got, err := Restore(t.Context(), r, m, filepath.Join(t.TempDir(), "data"), off); err != nil || !got.Off || got.Blobs != 0 {
		t.Errorf("%+v, %v", got, err)
	}
}

// What only removed backups held of media goes; what a kept one has stays. A chunk of a
// blob that is gone or flipped is found by drill and restore, and nothing is half there.
func TestPrunedAndDamagedMedia(t *testing.T) {
	s := newStore(t, 1)
	place := t.TempDir()
	r, err := Open(place)
	if err != nil {
		t.Fatal(err)
	}
	thrown := s.up(t, noise(30<<10, 1))
	s.backup(t, r)
	s.uploads(t, func(_ *media.Service, d *directory.DB) {
		ctx, now := context.Background(), time.Now()
		names, err := d.DueNames(ctx, now.Add(2*time.Hour), 10)
		for _, n := range names {
			err = errors.Join(err, d.SettleName(ctx, n, false, now))
		}
		if err = errors.Join(err, d.DropUpload(ctx, thrown, "alice", now)); err != nil {
			t.Fatal(err)
		}
	})
	s.up(t, noise(31<<10, 2))
	s.backup(t, r)
	last := load(t, r, "")
	late := time.Now().Add(25 * time.Hour)
	if p, err := Prune(t.Context(), r, 2, late); err != nil || p.Chunks != 0 {
		t.Errorf("%+v, %v: both are kept", p, err)
	}
	if p, err := Prune(t.Context(), r, 1, late); err != nil || p.Bytes < 30<<10 {
		t.Errorf("%+v, %v", p, err)
	}
	if err := Drill(t.Context(), r, last, t.TempDir(), Options{}); err != nil {
		t.Fatalf("after pruning: %v", err)
	}
	chunk := filepath.Join(place, filepath.FromSlash(chunkKey(hashOf(noise(31<<10, 2)))))
	whole, err := os.ReadFile(chunk)
	if err != nil {
		t.Fatal(err)
	}
	whole[7] ^= 1
	if err := os.WriteFile(chunk, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, what := range []string{"flipped", "gone"} {
		dir := filepath.Join(t.TempDir(), "data")
		if _, err := Restore(t.Context(), r, last, dir, Options{}); err == nil || !strings.Contains(err.Error(), "media") {
			t.Errorf("%s: %v", what, err)
		}
		if err := Drill(t.Context(), r, last, t.TempDir(), Options{}); err == nil {
			t.Errorf("%s: the drill found nothing", what)
		}
		for _, left := range []string{dir, dir + ".restoring"} {
			if _, err := os.Stat(left); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s: %s is there", what, left)
			}
		}
		if what == "flipped" {
			if err := os.Remove(chunk); err != nil {
				t.Fatal(err)
			}
		}
	}
	// The store still has it: the next backup brings it back, for all.
	if sum := s.backup(t, r); sum.Media.NewBlobs != 1 || sum.Media.Missing != 0 {
		t.Errorf("%+v", sum.Media)
	}
	if err := Drill(t.Context(), r, last, t.TempDir(), Options{}); err != nil {
		t.Error(err)
	}
}

// A backup of before there were media in backups restores as it was made.
func TestBackupWithoutMedia(t *testing.T) {
	s := newStore(t, 3)
	r, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	sum := s.backup(t, r)
	m := load(t, r, sum.ID)
	m.Format, m.Media = 1, nil
	if err := Drill(t.Context(), r, m, t.TempDir(), Options{}); err != nil {
		t.Error(err)
	}
	if got, err := Restore(t.Context(), r, m, filepath.Join(t.TempDir(), "data"), Options{}); err != nil || got != (Restored{}) {
		t.Errorf("%+v, %v", got, err)
	}
}

func hashOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

func picturePNG(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 640, 480))); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
