package sqlite

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// A directory is read only when every table of it is known, and its schema is
// this program's; and then it stays as it is.
func TestReader(t *testing.T) {
	path := filepath.Join(t.TempDir(), "directory.db")
	if _, err := OpenReader(t.Context(), path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no directory: %v", err)
	}
	d, err := Open(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	exec := func(statement string) {
		t.Helper()
		db, err := pool(path, Options{Readers: 1}, 1, false)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		if _, err := db.Exec(statement); err != nil {
			t.Fatal(err)
		}
	}
	exec("INSERT INTO users (id, username, display_name, password_hash, admin, dm_policy, created_at) VALUES ('u', NULL, 'U', '', TRUE, 1, -5)")
	r, err := OpenReader(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	columns, err := r.Columns(t.Context(), "users")
	if err != nil || len(columns) != 21 {
		t.Fatalf("%v: %v", columns, err)
	}
	var rows [][]any
	err = r.Each(t.Context(), "users", columns, func(row []any) error {
		rows = append(rows, append([]any(nil), row...))
		return nil
	})
	if err != nil || len(rows) != 1 || rows[0][0] != "u" || rows[0][1] != nil || rows[0][4] != true || rows[0][6] != int64(-5) {
		t.Errorf("%v: %v", rows, err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct{ change, want, back string }{
		{"CREATE TABLE devices (id TEXT)", "devices", "DROP TABLE devices"},
		{"INSERT INTO goose_db_version (version_id, is_applied) VALUES (999, 1)", "newer version", "DELETE FROM goose_db_version WHERE version_id = 999"},
		{"DELETE FROM goose_db_version WHERE version_id = (SELECT MAX(version_id) FROM goose_db_version)", "start this program's server on it once", ""},
	} {
		exec(step.change)
		if _, err := OpenReader(t.Context(), path); err == nil || !strings.Contains(err.Error(), step.want) {
			t.Errorf("after %s: %v", step.change, err)
		}
		if step.back != "" {
			exec(step.back)
		}
	}
}
