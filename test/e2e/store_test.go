package e2e

import (
	"database/sql"
	"path/filepath"
	"testing"

	_ "modernc.org/sqlite" // the driver, to prepare a database

	"github.com/skein-im/skein/internal/directory/sqlite"
)

// quiet is a logger of the journal's engine that says nothing.
type quiet struct{}

func (quiet) Infof(string, ...any)  {}
func (quiet) Errorf(string, ...any) {}
func (quiet) Fatalf(string, ...any) {}

func execSQL(t *testing.T, path, statement string) {
	t.Helper()
	if filepath.Base(path) == "directory.db" {
		if err := sqlite.RegisterSums(); err != nil {
			t.Fatal(err)
		}
		path = "file:" + path + "?vfs=skein-sums" // its pages have checksums
	}
	db := must(sql.Open("sqlite", path))(t)
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
}
