package sqlite

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/directory"
	"github.com/skein-im/skein/internal/im"
)

// users makes some, or requires that they are there.
func users(t *testing.T, d *directory.DB, n int, make bool) (err error) {
	t.Helper()
	for i := range n {
		id := im.UserID(fmt.Sprint("u", i))
		if make {
			u := im.User{ID: id, Username: string(id), DisplayName: strings.Repeat("x", 100), DMPolicy: im.DMContacts}
			err = d.CreateUser(t.Context(), im.Credentials{User: u})
		} else {
			var c im.Credentials
			if c, err = d.UserCredentials(t.Context(), id); err == nil && c.DisplayName != strings.Repeat("x", 100) {
				t.Fatalf("user %d is %+v", i, c)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// A flipped bit in any page is found before a start, and is an error where it is
// read by a server that runs; without checksums other data was served.
func TestEveryPageHasAChecksum(t *testing.T) {
	path := filepath.Join(t.TempDir(), "directory.db")
	d, err := Open(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := users(t, d, 200, true); err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if f, err := Examine(t.Context(), path); err != nil || !f.Exists || !f.Summed || !f.Users || f.Entries {
		t.Fatalf("%+v, %v", f, err)
	}
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	refused := 0
	for at := 1000; at < len(good); at += pageSize {
		bad := append([]byte(nil), good...)
		bad[at] ^= 16
		if err := os.WriteFile(path, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		var damage *DamageError
		if _, err := Examine(t.Context(), path); !errors.As(err, &damage) {
			t.Fatalf("a bit of page %d was flipped: %v", at/pageSize+1, err)
		}
		d, err := Open(path, Options{})
		if err == nil {
			err = users(t, d, 200, false)
			_ = d.Close()
		}
		if err != nil {
			refused++
		}
	}
	if refused == 0 {
		t.Error("no damaged page is an error where it is read")
	}
}

// The file of an earlier version gets checksums, and keeps what is in it, also
// what is in its log only.
func TestChecksumsForAnOlderFile(t *testing.T) {
	dir := t.TempDir()
	path, old := filepath.Join(dir, "directory.db"), filepath.Join(dir, "old.db")
	d, err := Open(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(users(t, d, 20, true), d.Close()); err != nil {
		t.Fatal(err)
	}
	// VACUUM INTO without room for checksums is what the file used to be.
	db, err := sql.Open("sqlite", "file:"+path+"?vfs="+sumsVFS)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("VACUUM INTO ?", "file:"+old+"?vfs=unix&reserve=0"); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	for n := range 2 {
		f, err := Examine(t.Context(), old)
		if err != nil || !f.Exists || f.Summed != (n == 1) || !f.Users {
			t.Fatalf("%+v, %v", f, err)
		}
		d, err := Open(old, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(users(t, d, 20, false), d.Close()); err != nil {
			t.Fatal(err)
		}
	}
}

// journal is a journal's half of the pair.
type journal struct {
	position, changes uint64
	fails             error
}

func (j *journal) Pair() im.Pair { return im.Pair{Position: j.position, Changes: j.changes} }

func (j *journal) Changed(n uint64) error {
	if j.fails == nil {
		j.changes = n
	}
	return j.fails
}

// The journal has the number of every change before it is answered, and the
// directory the journal's position; what writes nothing is no change.
func TestChangesAreWitnessed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "directory.db")
	d, err := Open(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	j := &journal{position: 7}
	if err := d.Watch(t.Context(), j); err != nil {
		t.Fatal(err)
	}
	before := j.changes
	if err := users(t, d, 3, true); err != nil {
		t.Fatal(err)
	}
	p, err := d.Pair(t.Context())
	if err != nil || p.Changes != before+3 || j.changes != p.Changes || p.Position != 7 {
		t.Errorf("the directory knows %+v, %v, the journal %+v", p, err, j)
	}
	if err := users(t, d, 1, true); err == nil {
		t.Error("a user was made twice")
	}
	if j.changes != p.Changes {
		t.Errorf("a write that failed counts: %+v", j)
	}
	j.fails = errors.New("the disk is gone")
	err = d.CreateUser(t.Context(), im.Credentials{User: im.User{ID: "late", Username: "late", DMPolicy: im.DMContacts}})
	if im.CodeOf(err) != im.CodeUnknown || !errors.Is(err, j.fails) {
		t.Errorf("a change that was not witnessed was answered with %v", err)
	}
}

// The story: SQLite reads the pages of a long value in parts, past the checksums, once they
// are in the file and not in the log any more, and was refused: the value could not be read.
func TestLongValuesAreRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "directory.db")
	d, err := Open(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("0123456789", 20_000)
	put := func(value string) {
		t.Helper()
		_, was, err := d.ServerList(t.Context(), "long")
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := d.ChangeServerList(t.Context(), "long", time.Now(), func(old string) (string, error) {
			if old != was {
				t.Errorf("in the change it has %d bytes, before %d", len(old), len(was))
			}
			return value, nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	put(long)
	for range 3 {
		if err := d.Close(); err != nil { // the log goes into the file
			t.Fatal(err)
		}
		if d, err = Open(path, Options{}); err != nil {
			t.Fatal(err)
		}
		if _, got, err := d.ServerList(t.Context(), "long"); err != nil || got != long {
			t.Errorf("%d bytes, %v", len(got), err)
		}
		put(long)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
}
