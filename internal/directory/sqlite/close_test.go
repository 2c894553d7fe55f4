package sqlite_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/skein-im/skein/internal/directory/sqlite"
)

// A directory that was closed is one file: its log is written back and gone.
func TestCloseLeavesNoLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "directory.db")
	for range 2 { // the second time there is nothing to migrate
		d, err := sqlite.Open(path, sqlite.Options{})
		if err != nil {
			t.Fatal(err)
		}
		_ = d.OpenDM(context.Background(), "dm:a:b") // there are no such users; it is a write all the same
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
		for _, suffix := range []string{"-wal", "-shm"} {
			if _, err := os.Stat(path + suffix); !os.IsNotExist(err) {
				t.Errorf("%s is left: %v", suffix, err)
			}
		}
	}
}
