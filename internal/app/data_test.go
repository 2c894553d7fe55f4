package app

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/config"
	"github.com/skein-im/skein/internal/directory"
	dirpostgres "github.com/skein-im/skein/internal/directory/postgres"
	"github.com/skein-im/skein/internal/directory/sqlite"
	"github.com/skein-im/skein/internal/pg/pgtest"
	"github.com/skein-im/skein/internal/push"
)

func keyFile(t *testing.T, a *App) string {
	t.Helper()
	raw, err := os.ReadFile(a.data.file(AdminKeyFile))
	ok(t, err)
	return strings.TrimSpace(string(raw))
}

// keyed is a server of which only the keys are opened, over a directory.
func keyed(t *testing.T, db *directory.DB, dir, secret string) (*App, *bytes.Buffer) {
	t.Helper()
	d, err := openData(dir)
	ok(t, err)
	t.Cleanup(func() { _ = d.close() })
	cfg := config.Default()
	if secret != "" {
		cfg.Node.Listen, cfg.Node.Secret = "127.0.0.1:1", secret
	}
	var log bytes.Buffer
	return &App{cfg: cfg, data: d, directory: db, now: time.Now, log: slog.New(slog.NewTextHandler(&log, nil))}, &log
}

// onBothStores runs a test over an empty directory of either store.
func onBothStores(t *testing.T, run func(t *testing.T, db *directory.DB)) {
	t.Run("sqlite", func(t *testing.T) {
		db, err := sqlite.Open(filepath.Join(t.TempDir(), "directory.db"), sqlite.Options{})
		ok(t, err)
		t.Cleanup(func() { _ = db.Close() })
		run(t, db)
	})
	t.Run("postgres", func(t *testing.T) {
		db, err := dirpostgres.Open(t.Context(), pgtest.Database(t), dirpostgres.Options{MaxConns: 4, Logger: slog.New(slog.DiscardHandler)})
		ok(t, err)
		t.Cleanup(func() { _ = db.Close() })
		run(t, db)
	})
}

// The key is made once, for its owner alone. A start that was cut off while it
// was being made leaves none; a damaged one is never replaced without a word.
// That a power cut leaves it whole is shown by test/faults powercut.
func TestAdminKey(t *testing.T) {
	onBothStores(t, func(t *testing.T, db *directory.DB) {
		dir := filepath.Join(t.TempDir(), "data")
		a, log := keyed(t, db, dir, "")
		path := filepath.Join(dir, AdminKeyFile)
		ok(t, os.WriteFile(path+".new", []byte("skk_ha"), 0o600))
		ok(t, a.openKeys(t.Context(), false))
		key := a.key
		if key != keyFile(t, a) || !strings.Contains(log.String(), "made a new admin key") {
			t.Errorf("%q is kept, %q is used; log: %s", keyFile(t, a), key, log)
		}
		if err := a.openKeys(t.Context(), false); err != nil || a.key != key {
			t.Errorf("a second start has another key: %v", err)
		}
		if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o600 {
			t.Errorf("mode %v, %v", st.Mode(), err)
		}
		for _, bad := range []string{"", "secret"} {
			ok(t, os.WriteFile(path, []byte(bad), 0o600))
			if err := a.openKeys(t.Context(), true); err == nil || !strings.Contains(err.Error(), "--new-keys") || !strings.Contains(err.Error(), "backup --keys") {
				t.Errorf("%q as a key: %v", bad, err)
			}
		}
		ok(t, os.Chmod(path, 0o644))
		if err := a.openKeys(t.Context(), false); err == nil {
			t.Error("took a key that others can read")
		}
	})
}

// All nodes of a cluster have one admin key, made of their secret. One with another secret is
// refused, also where it starts at the same moment over an empty database.
func TestClusterAdminKey(t *testing.T) {
	onBothStores(t, func(t *testing.T, db *directory.DB) {
		var apps []*App
		var wg sync.WaitGroup
		errs := make([]error, 4)
		for i := range errs {
			a, _ := keyed(t, db, t.TempDir(), []string{"the secret that all nodes have", "another one"}[i%2])
			apps = append(apps, a)
			wg.Go(func() { errs[i] = a.openKeys(t.Context(), false) })
		}
		wg.Wait()
		won := 0
		if errs[0] != nil {
			won = 1
		}
		for i, err := range errs {
			if i%2 == won {
				ok(t, err)
				if apps[i].key != apps[won].key || keyFile(t, apps[i]) != apps[i].key {
					t.Errorf("node %d has another key", i)
				}
			} else if err == nil || !strings.Contains(err.Error(), "node.secret") || !strings.Contains(err.Error(), "--new-keys") || !strings.Contains(err.Error(), "SKEIN_NODE_SECRET_FILE") {
				t.Errorf("node %d with another secret: %v", i, err)
			}
		}
		alone, _ := keyed(t, db, t.TempDir(), "")
		if err := alone.openKeys(t.Context(), false); err == nil || !strings.Contains(err.Error(), "--new-keys") {
			t.Errorf("a server that is no node, with a key of its own: %v", err)
		}
		if _, err := os.Stat(alone.data.file(AdminKeyFile)); err == nil {
			t.Error("a start that was refused left a key")
		}
	})
}

// What is stored goes only where somebody wants other keys. A start with a wrong key, or with
// none, once put another push key in the place of the one that it could not open, and every
// subscription was gone.
func TestOtherKeysAreADecision(t *testing.T) {
	onBothStores(t, func(t *testing.T, db *directory.DB) {
		ctx := t.Context()
		dir := t.TempDir()
		start := func(dir string, accept bool) (*App, string, error) {
			a, log := keyed(t, db, dir, "")
			defer a.data.close()
			err := a.openKeys(ctx, accept)
			if err == nil {
				service := push.New(push.Options{Keys: db, SealKey: push.SealKey(a.key)})
				_, err = service.Key(ctx)
			}
			return a, log.String(), err
		}
		subscriptions := func() string {
			s, err := db.Sealed(ctx)
			ok(t, err)
			if s.Push == nil {
				return "no key"
			}
			return fmt.Sprintf("%x %d", s.Push.Public, s.Devices)
		}
		first, _, err := start(dir, false)
		ok(t, err)
		before := subscriptions()
		for _, known := range []bool{true, false} { // false: as a version before left it
			if !known {
				ok(t, db.ReplaceKeyCheck(ctx, keyCheck(first.key), "", false, time.Now()))
				k := storeKeys{app: first, key: newAdminKey()}
				with, err := db.Keys(ctx)
				ok(t, err)
				with.Known = false
				if err := k.compare(with, false); err == nil {
					t.Error("the push key of others is no sign of other keys")
				}
				k.key = first.key
				ok(t, k.compare(with, false))
				ok(t, db.ReplaceKeyCheck(ctx, "", keyCheck(first.key), false, time.Now()))
			}
			if _, _, err := start(t.TempDir(), false); err == nil || !strings.Contains(err.Error(), "is missing") || !strings.Contains(err.Error(), "--new-keys") {
				t.Errorf("without keys: %v", err)
			}
			if got := subscriptions(); got != before {
				t.Fatalf("a refused start changed %s to %s", before, got)
			}
		}
		if _, _, err := start(dir, false); err != nil {
			t.Errorf("the right key again: %v", err)
		}
		other := t.TempDir()
		_, log, err := start(other, true)
		ok(t, err)
		if subscriptions() == before || !strings.Contains(log, "other keys from now on") || !strings.Contains(log, "authenticator apps") {
			t.Errorf("on purpose: %s; log: %s", subscriptions(), log)
		}
		now := subscriptions()
		if _, log, err := start(other, true); err != nil || subscriptions() != now || strings.Contains(log, "from now on") {
			t.Errorf("on purpose again: %v, %s; log: %s", err, subscriptions(), log)
		}
		if _, _, err := start(dir, false); err == nil || !strings.Contains(err.Error(), "another key") {
			t.Errorf("with the keys of before: %v", err)
		}
		// A store that was moved takes the keys of its first start.
		ok(t, db.ReplaceKeyCheck(ctx, mustNoted(t, db), "", false, time.Now()))
		if _, log, err := start(dir, false); err != nil || !strings.Contains(log, "from now on") || subscriptions() == now {
			t.Errorf("after a move: %v; log: %s", err, log)
		}
	})
}

func mustNoted(t *testing.T, db *directory.DB) string {
	t.Helper()
	noted, _, err := db.KeyCheck(t.Context())
	ok(t, err)
	return noted
}
