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
