package app

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/skein-im/skein/internal/config"
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

// All nodes of a cluster have one admin key, made of their secret. It takes the
// place of one that a node had alone.
func TestClusterAdminKey(t *testing.T) {
	var keys []string
	for i := range 3 {
		d, err := openData(t.TempDir())
		ok(t, err)
		defer d.close()
		if i == 1 {
			_, err := d.adminKey() // it was alone before
			ok(t, err)
		}
		cfg := config.Default()
		cfg.Node.Listen, cfg.Node.Secret = "127.0.0.1:1", "a secret that all nodes have"
		if i == 2 {
			cfg.Node.Secret = "another one"
		}
		a := &App{cfg: cfg, data: d, log: slog.New(slog.DiscardHandler)}
		for range 2 {
			key, err := a.adminKey()
			ok(t, err)
			if kept, err := d.readAdminKey(); err != nil || kept != key {
				t.Errorf("%q is kept of %q: %v", kept, key, err)
			}
			keys = append(keys, key)
		}
	}
	if keys[0] != keys[1] || keys[0] != keys[2] || keys[0] != keys[3] || keys[0] == keys[4] {
		t.Errorf("keys %q", keys)
	}
}
