package app

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/backup"
	skein "github.com/skein-im/skein/sdk/go"
	"github.com/skein-im/skein/wire"
)

// takeSnapshot asks a running server for a snapshot, as `skein backup` does.
func takeSnapshot(t *testing.T, admin, key string) (s Snapshot, status int, release func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, admin+"/snapshot", nil)
	ok(t, err)
	req.Header.Set("Authorization", "Bearer "+key)
	resp, err := http.DefaultClient.Do(req)
	ok(t, err)
	ok(t, json.NewDecoder(resp.Body).Decode(&s))
	return s, resp.StatusCode, func() { cancel(); resp.Body.Close() }
}

// Snapshots of a server that is being used: what was acknowledged before is in
// them, journal and directory belong together (no group has to be restored, no
// promise is stuck), and the server goes on.
func TestBackupsOfARunningServer(t *testing.T) {
	dir, tokens := t.TempDir(), map[string]string{}
	cfg := settings(dir)
	cfg.Admin.Listen = "127.0.0.1:0"
	ctx, cancel := context.WithCancel(t.Context())
	a, err := Open(ctx, cfg, Options{})
	ok(t, err)
	ended := make(chan error, 1)
	go func() { ended <- a.Serve(ctx) }()
	p := &process{t: t, url: a.URL(), token: tokens}
	p.mint(dir, "owner", "member")
	key, err := os.ReadFile(filepath.Join(dir, AdminKeyFile))
	ok(t, err)

	work, stop := context.WithTimeout(t.Context(), time.Minute)
	var mu sync.Mutex
	var said []string // acknowledged, in order
	var group string
	p.as("owner", skein.NewMemoryStore(), func(c *skein.Client) {
		g, err := c.Groups().Create(t.Context(), "friends")
		ok(t, err)
		group = g.Conversation
		var working sync.WaitGroup
		working.Go(func() {
			for i := 0; work.Err() == nil; i++ {
				text := fmt.Sprint("m", i)
				if _, err := c.Conversation(group).Send(work, text); err == nil {
					mu.Lock()
					said = append(said, text)
					mu.Unlock()
				}
			}
		})
		working.Go(func() {
			for work.Err() == nil {
				_, _ = c.Groups().Add(work, group, "member") // cut off at the end
				_, _ = c.Groups().Remove(work, group, "member")
			}
		})
		repository, err := backup.Open(filepath.Join(t.TempDir(), "repository"))
		ok(t, err)
		for range 3 {
			mu.Lock()
			before := slices.Clone(said)
			mu.Unlock()
			s, status, release := takeSnapshot(t, a.AdminURL(), strings.TrimSpace(string(key)))
			if status != http.StatusOK {
				t.Fatal(status, s.Error)
			}
			_, err := backup.Make(t.Context(), s.Path, repository, backup.Options{})
			release()
			ok(t, err)
			for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
				if _, err := os.Stat(s.Path); os.IsNotExist(err) {
					break
				}
				if time.Now().After(deadline) {
					t.Fatal("the snapshot is kept although nobody wants it")
				}
			}
			restored := filepath.Join(t.TempDir(), "data")
			m, err := backup.Load(t.Context(), repository, "")
			ok(t, err)
			ok(t, second(backup.Restore(t.Context(), repository, m, restored, backup.Options{})))
			soundAfter(t, restored, tokens, group, before)
		}
		stop()
		working.Wait()
	})
	if _, status, release := takeSnapshot(t, a.AdminURL(), "skk_guess"); status != http.StatusUnauthorized {
		t.Errorf("a stranger was answered %d", status)
	} else {
		release()
	}
	cancel()
	ok(t, <-ended)
	if len(said) == 0 {
		t.Error("nothing was said meanwhile")
	}
}

// soundAfter starts a server on a restored store.
func soundAfter(t *testing.T, dir string, tokens map[string]string, group string, said []string) {
	t.Helper()
	p := run(t, dir, Options{NewKeys: true}, tokens) // keys are in no backup
	defer p.stop()
	p.say("owner", skein.NewMemoryStore(), group, "after") // not held up by a promise
	got := map[string]bool{}
	for from := uint64(1); ; {
		var page wire.ListEntriesResponse
		req := &wire.ListEntriesRequest{Conversation: group, From: from, Limit: 500}
		ok(t, skein.Post(t.Context(), p.url, "skein.v1.MessageService/ListEntries", tokens["owner"], req, &page))
		if len(page.Entries) == 0 {
			break
		}
		for _, e := range page.Entries {
			from = e.Seq + 1
			got[e.Content.GetText()] = true
			if e.Event != nil && e.Event.Type == wire.EventType_EVENT_TYPE_GROUP_RESTORED {
				t.Error("journal and directory of the snapshot do not belong together")
			}
		}
	}
	for _, text := range append(said, "after") {
		if !got[text] {
			t.Errorf("%s was acknowledged before the snapshot and is not in it", text)
		}
	}
}

// A node without the role logic has no store and no key: it says so.
func TestNoSnapshotWithoutAStore(t *testing.T) {
	a := &App{cfg: settings(t.TempDir())}
	w := httptest.NewRecorder()
	a.serveSnapshot(w, httptest.NewRequest(http.MethodPost, "/snapshot", nil))
	if w.Code != http.StatusNotImplemented {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func second[T any](_ T, err error) error { return err }
