package sqlite_test

import (
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/skein-im/skein/internal/directory"
	"github.com/skein-im/skein/internal/directory/directorytest"
	"github.com/skein-im/skein/internal/directory/sqlite"
)

func TestConformance(t *testing.T) {
	directorytest.Run(t, func(t *testing.T) *directory.DB {
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

// A strange path is a file name all the same, and the file is private.
func TestOpenStrangePathPrivate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a ?b#%20c.db")
	for range 2 { // the second finds the schema up to date
		d, err := sqlite.Open(path, sqlite.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, suffix := range []string{"", "-wal"} {
			info, err := os.Stat(path + suffix)
			if err != nil {
				t.Fatal(err)
			}
			if info.Mode().Perm() != 0o600 {
				t.Errorf("mode of %q is %v, want 0600", suffix, info.Mode().Perm())
			}
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// A directory that was readable by others is made private.
func TestOpenTightensMode(t *testing.T) {
	path := filepath.Join(t.TempDir(), "d.db")
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	d, err := sqlite.Open(path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("mode is %v, want 0600", info.Mode().Perm())
	}
}

// A schema from the future is refused, by name, and stays as it is.
func TestOpenRefusesNewerSchema(t *testing.T) {
	path := filepath.Join(t.TempDir(), "d.db")
	d, err := sqlite.Open(path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	raw, err := sql.Open("sqlite", "file:"+path+"?vfs=skein-sums") // checksums, as every page has one
	if err != nil {
		t.Fatal(err)
	}
	if _, err := raw.Exec("INSERT INTO goose_db_version (version_id, is_applied) VALUES (99999, 1)"); err != nil {
		t.Fatal(err)
	}
	if err := raw.Close(); err != nil {
		t.Fatal(err)
	}
	_, err = sqlite.Open(path, sqlite.Options{})
	if err == nil || !strings.Contains(err.Error(), "newer version") || !strings.Contains(err.Error(), "99999") {
		t.Fatalf("a newer schema was answered with %v", err)
	}
}

// What is no database is refused with the path in the error.
func TestOpenRefusesGarbage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "d.db")
	if err := os.WriteFile(path, []byte(strings.Repeat("this is no database ", 500)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := sqlite.Open(path, sqlite.Options{}); err == nil || !strings.Contains(err.Error(), path) {
		t.Fatalf("garbage was answered with %v", err)
	}
}
