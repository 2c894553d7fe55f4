package backup

import (
	"path/filepath"
	"strings"
	"testing"
)

// Who mistypes a repository's path is told of the path, not that the backups are gone.
func TestNoBackup(t *testing.T) {
	dir := t.TempDir()
	for place, want := range map[string]string{
		dir:                          "there is no backup in this repository",
		filepath.Join(dir, "bakcup"): "there is no directory " + filepath.Join(dir, "bakcup"),
	} {
		r, err := Open(place)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Load(t.Context(), r, "latest"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", place, err)
		}
	}
}
