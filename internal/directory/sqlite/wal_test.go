package sqlite_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/skein-im/skein/internal/directory/sqlite"
	"github.com/skein-im/skein/internal/im"
)

// The write-ahead log is taken back into the database while readers and the
// writer keep their connections and statements: none of them holds on to it.
func TestLogIsBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "d.db")
	d, err := sqlite.Open(path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	for i := range 1500 { // about 12 MB of log
		id := im.UserID(fmt.Sprint("u", i))
		if err := d.CreateUser(t.Context(), im.Credentials{User: im.User{ID: id, Username: string(id), DMPolicy: im.DMContacts}}); err != nil {
			t.Fatal(err)
		}
		if _, err := d.UserCredentials(t.Context(), id); err != nil {
			t.Fatal(err)
		}
	}
	info, err := os.Stat(path + "-wal")
	if err != nil || info.Size() > 6<<20 {
		t.Errorf("the log has %d bytes, %v", info.Size(), err)
	}
}

// A directory that was closed is one file: what was in the log is in it, and
// nothing lies beside it that could be taken for another database's.
func TestCloseLeavesOneFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "d.db")
	for i := range 2 {
		d, err := sqlite.Open(path, sqlite.Options{})
		if err != nil {
			t.Fatal(err)
		}
		id := im.UserID(fmt.Sprint("u", i))
		if err := d.CreateUser(t.Context(), im.Credentials{User: im.User{ID: id, DMPolicy: im.DMContacts}}); err != nil {
			t.Fatal(err)
		}
		if users, err := d.ListUsers(t.Context(), "", 10); err != nil || len(users) != i+1 {
			t.Fatal(users, err)
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
		files, err := os.ReadDir(dir)
		if err != nil || len(files) != 1 {
			t.Errorf("closed, there are %v, %v", files, err)
		}
	}
}
