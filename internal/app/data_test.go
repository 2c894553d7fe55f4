package app

import (
	"os"
	"path/filepath"
	"testing"
)

// The key is made once, for its owner alone. A start that was cut off while it
// was being made leaves none; a damaged one is never replaced without a word.
// That a power cut leaves it whole is shown by test/faults powercut.
func TestAdminKey(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	d, err := openData(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer d.close()
	path := filepath.Join(dir, AdminKeyFile)
	if err := os.WriteFile(path+".new", []byte("skk_ha"), 0o600); err != nil {
		t.Fatal(err)
	}
	key, err := d.adminKey()
	if err != nil {
		t.Fatal(err)
	}
	if again, err := d.adminKey(); err != nil || again != key {
		t.Errorf("a second start has another key: %v", err)
	}
	if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", st.Mode(), err)
	}
	for _, bad := range []string{"", "secret"} {
		if err := os.WriteFile(path, []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := d.adminKey(); err == nil {
			t.Errorf("took %q for a key", bad)
		}
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := d.adminKey(); err == nil {
		t.Error("took a key that others can read")
	}
}
