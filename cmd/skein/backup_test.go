package main

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/skein-im/skein/internal/app"
	"github.com/skein-im/skein/internal/config"
)

// makeStore leaves the data directory of a server that ran and stopped.
func makeStore(t *testing.T, dir string) {
	t.Helper()
	c := config.Default()
	c.Data, c.HTTP.Listen, c.Admin.Listen, c.Gateway.DrainTime = dir, "127.0.0.1:0", "", 0
	a, err := app.Open(t.Context(), c, app.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := a.Serve(ctx); err != nil {
		t.Fatal(err)
	}
}

// TestDamagedKeyIsNotCopied: a key file that holds no key does not take the place
// of the good copy, and a repository without a good one restores nothing, so that
// the same command can be given again with the right one.
func TestDamagedKeyIsNotCopied(t *testing.T) {
	t.Setenv(asProgram, "1")
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	data, backups, keys := filepath.Join(dir, "data"), filepath.Join(dir, "backups"), filepath.Join(dir, "keys")
	makeStore(t, data)
	skein := func(args ...string) (string, bool) {
		out, err := exec.CommandContext(t.Context(), exe, args...).CombinedOutput()
		return string(out), err == nil
	}
	if out, ok := skein("backup", backups, "--data", data, "--keys", keys); !ok {
		t.Fatal(out)
	}
	copied := filepath.Join(keys, app.AdminKeyFile)
	good, err := os.ReadFile(copied)
	if err != nil {
		t.Fatal(err)
	}
	flipped := bytes.Clone(good)
	flipped[len("skk_")+5] ^= 1
	for _, bad := range []string{"", "rubbish", string(flipped)} {
		if err := os.WriteFile(filepath.Join(data, app.AdminKeyFile), []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, ok := skein("backup", backups, "--data", data, "--keys", keys); ok || !strings.Contains(out, app.AdminKeyFile) {
			t.Errorf("a key of %q was copied: %s", bad, out)
		}
		if now, err := os.ReadFile(copied); string(now) != string(good) {
			t.Fatalf("the good copy is %q now, %v", now, err)
		}
		if err := os.WriteFile(copied, []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		restored := filepath.Join(dir, "restored")
		if out, ok := skein("restore", backups, "--data", restored, "--keys", keys); ok || !strings.Contains(out, "nothing was restored") {
			t.Errorf("a key of %q was restored: %s", bad, out)
		}
		if _, err := os.Stat(restored); err == nil {
			t.Error("something was restored")
		}
		if err := os.WriteFile(copied, good, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if out, ok := skein("restore", backups, "--data", filepath.Join(dir, "restored"), "--keys", keys); !ok {
		t.Error(out)
	}
}
