package backup

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"github.com/skein-im/skein/internal/directory/sqlite"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/journal/pebble"
)

// repositories are the kinds there are, each empty.
func repositories(t *testing.T, each func(t *testing.T, place string, r Repository)) {
	open := func(t *testing.T, place string) Repository {
		r, err := Open(place)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	t.Run("directory", func(t *testing.T) {
		place := filepath.Join(t.TempDir(), "not", "there", "yet")
		each(t, place, open(t, place))
	})
	t.Run("s3", func(t *testing.T) {
		t.Setenv("AWS_ACCESS_KEY_ID", "id")
		t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
		store := s3mem.New()
		if err := store.CreateBucket("backups"); err != nil {
			t.Fatal(err)
		}
		server := httptest.NewServer(gofakes3.New(store).Server())
		t.Cleanup(server.Close)
		place := "s3://backups/some/where?region=us-east-1&endpoint=" + server.URL
		each(t, place, open(t, place))
	})
}

// What every repository does, and what it says when it cannot.
func TestRepository(t *testing.T) {
	repositories(t, func(t *testing.T, _ string, r Repository) {
		ctx := t.Context()
		list := func(prefix string) (keys []string) {
			t.Helper()
			err := r.List(ctx, prefix, func(i Item) error {
				if i.Size != int64(len(i.Key)) || time.Since(i.Modified).Abs() > time.Hour {
					t.Errorf("%+v", i)
				}
				keys = append(keys, i.Key)
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			slices.Sort(keys)
			return keys
		}
		if got := list("a"); len(got) != 0 {
			t.Errorf("an empty one lists %q", got)
		}
		if _, err := r.Get(ctx, "a/1"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("of what is not there: %v", err)
		}
		if err := r.Delete(ctx, "a/1"); err != nil {
			t.Errorf("delete what is not there: %v", err)
		}
		for _, key := range []string{"a/1", "a/b/2", "ab/3", "c"} {
			for range 2 { // putting again is harmless
				if err := r.Put(ctx, key, []byte(key)); err != nil {
					t.Fatal(err)
				}
			}
		}
		if got, err := r.Get(ctx, "a/b/2"); err != nil || string(got) != "a/b/2" {
			t.Errorf("%q, %v", got, err)
		}
		if got := list("a"); !slices.Equal(got, []string{"a/1", "a/b/2"}) {
			t.Errorf("under a: %q", got)
		}
		if err := r.Delete(ctx, "a/1"); err != nil {
			t.Fatal(err)
		}
		if got := list("a"); !slices.Equal(got, []string{"a/b/2"}) {
			t.Errorf("under a: %q", got)
		}
	})
}

func TestOpenRefuses(t *testing.T) {
	for place, want := range map[string]string{
		"":                               "directory or an s3",
		"ftp://x/y":                      "not ftp",
		"s3:///prefix":                   "BUCKET",
		"s3://b?endpoint=host:9000":      "https://host:port",
		"s3://b?endpoint=http://":        "https://host:port",
		"s3://b/p?acl=public&region=any": "acl",
	} {
		if _, err := Open(place); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", place, err)
		}
	}
}

// store makes a data directory with some entries, marks and users.
type store struct {
	dir  string
	sent int
}

func newStore(t *testing.T, entries int) *store {
	s := &store{dir: t.TempDir()}
	if err := os.MkdirAll(filepath.Join(s.dir, "keys"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{"keys/admin.key": "secret", "LOCK": ""} {
		if err := os.WriteFile(filepath.Join(s.dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s.send(t, entries)
	return s
}

func (s *store) send(t *testing.T, n int) {
	t.Helper()
	ctx := context.Background()
	d, err := sqlite.Open(filepath.Join(s.dir, "directory.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	j, err := pebble.Open(filepath.Join(s.dir, "journal"), pebble.Options{MinFree: -1, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	for range n {
		s.sent++
		name := im.UserID(fmt.Sprint("u", s.sent))
		if err := d.CreateUser(ctx, im.Credentials{User: im.User{ID: name, Username: string(name), DMPolicy: im.DMContacts, Created: time.Now()}}); err != nil {
			t.Fatal(err)
		}
		var random [10]byte
		random[0], random[1] = byte(s.sent>>8), byte(s.sent)
		e := im.Entry{
			Conversation: im.DM("alice", name), ID: im.NewMessageID(time.Now(), random), Sender: name, Kind: im.EntryMessage,
			Body: []byte("hello"),
		}
		out := make([]im.Appended, 1)
		if err := j.Append(ctx, []im.Append{{Entry: e, Hash: 1}}, out); err != nil || out[0].Status != im.Stored {
			t.Fatal(err, out)
		}
		if err := j.SetMarks(ctx, []im.Mark{{User: name, Conversation: e.Conversation, Received: 1, Read: 1, ReadCount: 1}}, im.MarkWait{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(j.Close(), d.Close()); err != nil {
		t.Fatal(err)
	}
}

func (s *store) backup(t *testing.T, r Repository) Summary {
	t.Helper()
	before := tree(t, s.dir)
	sum, err := Make(t.Context(), s.dir, r, Options{Server: "test"})
	if err != nil {
		t.Fatal(err)
	}
	if after := tree(t, s.dir); before != after {
		t.Errorf("the source was changed:\n%s\n%s", before, after)
	}
	return sum
}

// tree is every file of a directory with its hash; SQLite's -shm and -wal may be
// made and emptied by reading.
func tree(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || strings.HasSuffix(path, "-shm") || strings.HasSuffix(path, "-wal") {
			return err
		}
		raw, err := os.ReadFile(path)
		sum := sha256.Sum256(raw)
		fmt.Fprintln(&b, path, hex.EncodeToString(sum[:4]))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func load(t *testing.T, r Repository, id string) *Manifest {
	t.Helper()
	m, err := Load(t.Context(), r, id)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// A backup comes back as it was, in a new timeline; the second one stores what
// changed only, and the first is whole still. Secrets are not in it.
func TestBackupAndRestore(t *testing.T) {
	repositories(t, func(t *testing.T, place string, r Repository) {
		s := newStore(t, 200)
		first := s.backup(t, r)
		again := s.backup(t, r)
		if first.Contents.Entries.Rows != 200 || first.Contents.Tables["users"].Rows != 200 || first.Contents.Marks.Rows != 200 || first.NewBytes != first.Bytes {
			t.Errorf("%+v", first)
		}
		if again.NewBytes != 0 || again.ID == first.ID {
			t.Errorf("nothing changed, and %d bytes were stored", again.NewBytes)
		}
		s.send(t, 10)
		second := s.backup(t, r)
		if second.Contents.Entries.Rows != 210 || second.NewBytes == 0 {
			t.Errorf("%+v", second)
		}
		for _, of := range []Summary{first, second} {
			m := load(t, r, of.ID)
			if err := Drill(t.Context(), r, m, t.TempDir(), Options{}); err != nil {
				t.Error(err)
			}
			dir := filepath.Join(t.TempDir(), "data")
			if _, err := Restore(t.Context(), r, m, dir, Options{}); err != nil {
				t.Fatal(err)
			}
			got, err := Read(t.Context(), dir)
			if err != nil {
				t.Fatal(err)
			}
			if what := of.Contents.differs(&got); what != "" || got.Timeline == of.Contents.Timeline {
				t.Errorf("restored %s, timeline %s of %s", what, got.Timeline, of.Contents.Timeline)
			}
			if _, err := os.Stat(filepath.Join(dir, "keys")); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("keys: %v", err)
			}
			if _, err := Restore(t.Context(), r, m, dir, Options{}); err == nil || !strings.Contains(err.Error(), "not empty") {
				t.Errorf("restored over a store: %v", err)
			}
		}
		if m := load(t, r, "latest"); m.ID != second.ID {
			t.Errorf("the latest is %s, not %s", m.ID, second.ID)
		}
	})
}

// Keys go to a place of their own, and come back.
func TestKeys(t *testing.T) {
	repositories(t, func(t *testing.T, _ string, r Repository) {
		dir := t.TempDir()
		if _, err := GetKeys(t.Context(), r, dir); err == nil {
			t.Error("no keys, and no error")
		}
		if err := PutKeys(t.Context(), newStore(t, 0).dir, r); err != nil {
			t.Fatal(err)
		}
		if n, err := GetKeys(t.Context(), r, dir); err != nil || n != 1 {
			t.Fatal(n, err)
		}
		path := filepath.Join(dir, "keys/admin.key")
		raw, err := os.ReadFile(path)
		st, _ := os.Stat(path)
		if err != nil || string(raw) != "secret" || st.Mode().Perm() != 0o600 {
			t.Errorf("%q, %v, %v", raw, st.Mode(), err)
		}
	})
}

// A chunk that is gone, short, or changed: named by every use of the backup, and
// nothing is left where it was to be restored. A damaged store is not backed up.
func TestDamage(t *testing.T) {
	s := newStore(t, 50)
	place := t.TempDir()
	r, err := Open(place)
	if err != nil {
		t.Fatal(err)
	}
	m := load(t, r, s.backup(t, r).ID)
	for _, f := range m.Files {
		for _, sum := range f.Chunks {
			path := filepath.Join(place, filepath.FromSlash(chunkKey(sum)))
			whole, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			flipped := bytes.Clone(whole)
			flipped[len(flipped)/2] ^= 1
			for what, bad := range map[string][]byte{"gone": nil, "short": whole[:len(whole)-1], "flipped": flipped} {
				if bad == nil {
					err = os.Remove(path)
				} else {
					err = os.WriteFile(path, bad, 0o600)
				}
				if err != nil {
					t.Fatal(err)
				}
				dir := filepath.Join(t.TempDir(), "data")
				if _, err := Restore(t.Context(), r, m, dir, Options{}); err == nil || !strings.Contains(err.Error(), f.Path) {
					t.Errorf("%s, %s: %v", f.Path, what, err)
				}
				for _, left := range []string{dir, dir + ".restoring"} {
					if _, err := os.Stat(left); err == nil {
						t.Errorf("%s, %s: %s is there", f.Path, what, left)
					}
				}
				// The store still has it, so the next backup notices, or brings it back.
				if _, err := Make(t.Context(), s.dir, r, Options{}); (err == nil) != (what == "gone") {
					t.Errorf("%s, %s: the next backup: %v", f.Path, what, err)
				}
			}
			if err := os.WriteFile(path, whole, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// One damaged manifest, also the newest, hides no other backup, and keeps its chunks.
func TestDamagedManifest(t *testing.T) {
	s := newStore(t, 5)
	place := t.TempDir()
	r, err := Open(place)
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for range 3 {
		ids = append(ids, s.backup(t, r).ID)
	}
	for _, bad := range ids {
		path := filepath.Join(place, filepath.FromSlash(manifestKey(bad)))
		whole, err := os.ReadFile(path)
		if err == nil {
			err = os.WriteFile(path, whole[:len(whole)/2], 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		all, err := List(t.Context(), r)
		if len(all) != 2 || err == nil || !strings.Contains(err.Error(), manifestKey(bad)) {
			t.Errorf("%d of 3 backups are listed, with %v", len(all), err)
		}
		if _, err := Prune(t.Context(), r, 1, time.Now().Add(48*time.Hour)); err == nil {
			t.Error("pruned without knowing what the damaged one holds")
		}
		for _, m := range all {
			if _, err := Restore(t.Context(), r, m, filepath.Join(t.TempDir(), "data"), Options{}); err != nil {
				t.Error(err)
			}
		}
		if err := os.WriteFile(path, whole, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// A manifest decides where files are written, so a stranger's must not.
func TestManifestOfAStranger(t *testing.T) {
	for _, bad := range []string{"../x", "/etc/x", "a/../../x", "", ".", "a//b", `a\b`} {
		m := Manifest{Format: 1, ID: "20261122T012954.123Z-995cd973", Files: []File{{Path: bad}}}
		if err := m.check(); err == nil {
			t.Errorf("took the path %q", bad)
		}
	}
	for _, bad := range []Manifest{{}, {Format: 3, ID: "20261122T012954.123Z-995cd973"}, {Format: 1, ID: "../x"},
		{Format: 1, ID: "20261122T012954.123Z-995cd973", Files: []File{{Path: "a", Chunks: []string{"../../x"}}}}} {
		if err := bad.check(); err == nil {
			t.Errorf("took %+v", bad)
		}
	}
}

// What is cut off leaves no backup behind, and no half restored store; what only
// removed backups held goes after a day.
func TestCutOffAndPrune(t *testing.T) {
	repositories(t, func(t *testing.T, _ string, r Repository) {
		s := newStore(t, 20)
		cutOff := func(what string, run func(context.Context, Options) error) {
			t.Helper()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			err := run(ctx, Options{Progress: func(p Progress) {
				if p.What == what {
					cancel()
				}
			}})
			if err == nil {
				t.Errorf("cut off while %s, and no error", what)
			}
		}
		for _, what := range []string{"reading", "copying", "verifying"} {
			cutOff(what, func(ctx context.Context, o Options) error {
				_, err := Make(ctx, s.dir, r, o)
				return err
			})
		}
		if all, err := List(t.Context(), r); err != nil || len(all) != 0 {
			t.Errorf("%d backups, %v", len(all), err)
		}
		for range 3 {
			s.send(t, 5)
			s.backup(t, r)
		}
		dir := filepath.Join(t.TempDir(), "data")
		cutOff("restoring", func(ctx context.Context, o Options) error {
			_, err := Restore(ctx, r, load(t, r, ""), dir, o)
			return err
		})
		if _, err := Restore(t.Context(), r, load(t, r, ""), dir, Options{}); err != nil {
			t.Error(err)
		}
		all, err := List(t.Context(), r)
		if err != nil || len(all) != 3 {
			t.Fatal(len(all), err)
		}
		p, err := Prune(t.Context(), r, 2, time.Now())
		if err != nil || len(p.Backups) != 1 || p.Chunks != 0 {
			t.Errorf("%+v, %v: nothing is old enough", p, err)
		}
		p, err = Prune(t.Context(), r, 1, time.Now().Add(25*time.Hour))
		if err != nil || len(p.Backups) != 1 || p.Chunks == 0 {
			t.Errorf("%+v, %v", p, err)
		}
		if err := Drill(t.Context(), r, load(t, r, ""), t.TempDir(), Options{}); err != nil {
			t.Errorf("after pruning: %v", err)
		}
	})
}
