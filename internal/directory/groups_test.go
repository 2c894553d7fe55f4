package directory_test

import (
	"path/filepath"
	"testing"

	"github.com/skein-im/skein/internal/directory"
	"github.com/skein-im/skein/internal/directory/directorytest"
	"github.com/skein-im/skein/internal/directory/sqlite"
)

func TestPeopleSQLite(t *testing.T) {
	directorytest.RunPeople(t, func(t *testing.T) *directory.DB {
		d, err := sqlite.Open(filepath.Join(t.TempDir(), "directory.db"), sqlite.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := d.Close(); err != nil {
				t.Error(err)
			}
		})
		return d
	})
}
