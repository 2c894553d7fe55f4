package pebble

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

func TestLocked(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "j")
	j, err := Open(dir, Options{MinFree: -1})
	if err != nil {
		t.Fatal(err)
	}
	_, err = Open(dir, Options{MinFree: -1})
	var e *LockedError
	if !errors.As(err, &e) || e.Dir != dir || !strings.Contains(err.Error(), dir) {
		t.Errorf("error %v, want a *LockedError naming %s", err, dir)
	}
	mustAppend(t, j, "grp:g", 1, 2)
	closeJournal(t, j)
	j, err = Open(dir, Options{MinFree: -1})
	if err != nil {
		t.Fatal(err)
	}
	closeJournal(t, j)
}

func TestNewerVersion(t *testing.T) {
	fs := vfs.NewMem()
	j := open(t, fs)
	mustAppend(t, j, "grp:g", 1, 2)
	if err := j.db.Set([]byte(keySchema), []byte{schemaVersion + 1}, pebble.Sync); err != nil {
		t.Fatal(err)
	}
	// A newer version may describe itself differently.
	if err := j.db.Set([]byte(keyLast), []byte("something else"), pebble.Sync); err != nil {
		t.Fatal(err)
	}
	closeJournal(t, j)
	for _, accept := range []bool{false, true} {
		_, err := Open(testDir, Options{FS: fs, Logger: quiet(), AcceptLoss: accept})
		var e *VersionError
		if !errors.As(err, &e) || e.Have != schemaVersion+1 || e.Known != schemaVersion || !strings.Contains(err.Error(), testDir) {
			t.Fatalf("error %v, want a *VersionError naming the directory", err)
		}
	}
}

func TestForeignStore(t *testing.T) {
	fs := vfs.NewMem()
	db, err := pebble.Open(fs.PathJoin(testDir, "db"), &pebble.Options{FS: fs, Logger: engineLogger{&Journal{o: Options{Logger: quiet()}}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(db.Set([]byte("x"), []byte("y"), pebble.Sync), db.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(testDir, Options{FS: fs, Logger: quiet()}); err == nil || !strings.Contains(err.Error(), "not a journal") {
		t.Fatalf("error %v", err)
	}
}

func TestMigrations(t *testing.T) {
	for i, m := range migrations() {
		if m.to != uint64(i)+2 {
			t.Errorf("migration %d leads to %d: there must be one step per version", i, m.to)
		}
	}
	fs := vfs.NewMem()
	j := open(t, fs)
	defer closeJournal(t, j)
	put := func(k, v string) func(*mover, *pebble.Batch) error {
		return func(_ *mover, b *pebble.Batch) error { return b.Set([]byte(k), []byte(v), nil) }
	}
	broken := errors.New("broken")
	steps := []migration{
		{to: 2, what: "two", run: put("\x09a", "2")},
		{to: 3, what: "three", run: put("\x09a", "3")},
		{to: 4, what: "four", run: func(_ *mover, b *pebble.Batch) error {
			return errors.Join(b.Set([]byte("\x09a"), []byte("4"), nil), broken)
		}},
	}
	value := func() (schema byte, a string) {
		t.Helper()
		s, err := get(j.db, []byte(keySchema))
		if err != nil {
			t.Fatal(err)
		}
		v, err := get(j.db, []byte("\x09a"))
		if err != nil {
			t.Fatal(err)
		}
		return s[0], string(v)
	}
	if err := migrate(j.db, testDir, 1, 3, steps[:2], &j.o); err != nil {
		t.Fatal(err)
	}
	if s, a := value(); s != 3 || a != "3" {
		t.Fatalf("schema %d, value %q", s, a)
	}
	if err := migrate(j.db, testDir, 3, 4, steps, &j.o); !errors.Is(err, broken) {
		t.Fatalf("error %v", err)
	}
	if s, a := value(); s != 3 || a != "3" {
		t.Fatalf("a failed step left schema %d, value %q", s, a)
	}
	if err := migrate(j.db, testDir, 3, 5, steps[:2], &j.o); err == nil {
		t.Fatal("no way to version 5, and no error")
	}
	if err := j.db.Set([]byte(keySchema), []byte{1}, pebble.Sync); err != nil {
		t.Fatal(err)
	}
}
