package sqlite_test

import (
	"bytes"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/skein-im/skein/internal/directory"
	"github.com/skein-im/skein/internal/directory/directorytest"
	"github.com/skein-im/skein/internal/directory/sqlite"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/schema"
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

// A schema that a later program extended is used, one that needs a later program
// is refused, by name, and stays as it is.
func TestNewerSchema(t *testing.T) {
	path := filepath.Join(t.TempDir(), "d.db")
	change := func(statements ...string) {
		t.Helper()
		raw, err := sql.Open("sqlite", "file:"+path+"?vfs=skein-sums") // checksums, as every page has one
		if err != nil {
			t.Fatal(err)
		}
		defer raw.Close()
		for _, s := range statements {
			if _, err := raw.Exec(s); err != nil {
				t.Fatal(err)
			}
		}
	}
	d, err := sqlite.Open(path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	change("INSERT INTO goose_db_version (version_id, is_applied) VALUES (99999, 1)", "ALTER TABLE users ADD COLUMN later TEXT")
	if _, err := sqlite.Examine(t.Context(), path); err != nil {
		t.Errorf("examined, a schema that was extended: %v", err)
	}
	if d, err = sqlite.Open(path, sqlite.Options{}); err != nil {
		t.Fatalf("a schema that was extended: %v", err)
	}
	if err := d.CreateUser(t.Context(), im.Credentials{User: im.User{ID: "u", Username: "u"}}); err != nil {
		t.Error(err)
	}
	if warning, shut := d.Schema(); shut != nil || !strings.Contains(warning, "extended by a newer version") {
		t.Errorf("%v, %q", shut, warning)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	change("UPDATE directory_compatible SET least = 99998")
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	_, examined := sqlite.Examine(t.Context(), path)
	d, err = sqlite.Open(path, sqlite.Options{})
	if err == nil {
		err = d.Close()
	}
	for _, err := range []error{examined, err} {
		var newer *schema.NewerError
		if !errors.As(err, &newer) || newer.Have != (schema.Range{Version: 99999, Least: 99998}) || newer.Known != directory.Steps("sqlite3").Known() {
			t.Errorf("a newer schema was answered with %v", err)
		}
	}
	if after, err := os.ReadFile(path); err != nil || !bytes.Equal(before, after) {
		t.Errorf("a refused start changed the file, %v", err)
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
