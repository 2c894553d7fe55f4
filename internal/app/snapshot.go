package app

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/skein-im/skein/internal/backup"
	"github.com/skein-im/skein/internal/journal/pebble"
)

// SnapshotsDir is where snapshots are made, in the data directory: on the same
// file system as the journal, so that its files can be linked.
const SnapshotsDir = backup.SnapshotsDir

// errNoSnapshot: the store is a database, which has means of its own.
var errNoSnapshot = errors.New("this server's store is a database: back it up with the database's own means")

// snapshot makes a copy of both stores as of one moment, and returns where. The
// directory stands still while the journal's copy is begun, so every promise of
// the copy is in both or will be carried out again.
func (a *App) snapshot(ctx context.Context) (dir string, err error) {
	journal, embedded := a.journal.(*pebble.Journal)
	if !embedded {
		return "", errNoSnapshot
	}
	var name [8]byte
	_, _ = rand.Read(name[:]) // never fails
	dir = filepath.Join(a.data.file(SnapshotsDir), hex.EncodeToString(name[:]))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	err = a.directory.Snapshot(ctx, filepath.Join(dir, "directory.db"), func() error {
		return journal.Snapshot(filepath.Join(dir, "journal"))
	})
	if err != nil {
		return "", errors.Join(err, os.RemoveAll(dir))
	}
	return dir, nil
}

// Snapshot is what POST /snapshot on the private port answers.
type Snapshot struct {
	// Path is absolute. What is there is gone when the request ends.
	Path  string `json:"path,omitempty"`
	Error string `json:"error,omitempty"`
}

// serveSnapshot makes a snapshot for whoever has the admin key, and keeps it
// until they end the request, however they end.
func (a *App) serveSnapshot(w http.ResponseWriter, r *http.Request) {
	answer := func(status int, s Snapshot) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(s) // a client that went away
	}
	if a.data == nil || a.journal == nil { // and so no key either
		answer(http.StatusNotImplemented, Snapshot{Error: "this node has no store"})
		return
	}
	if !a.hasAdminKey(r) {
		answer(http.StatusUnauthorized, Snapshot{Error: "the admin key is wanted"})
		return
	}
	begun := time.Now()
	dir, err := a.snapshot(r.Context())
	if errors.Is(err, errNoSnapshot) {
		answer(http.StatusNotImplemented, Snapshot{Error: err.Error()})
		return
	}
	if err != nil {
		a.log.Error("a snapshot could not be made", "err", err)
		answer(http.StatusInternalServerError, Snapshot{Error: err.Error()})
		return
	}
	defer func() {
		if err := os.RemoveAll(dir); err != nil {
			a.log.Warn("a snapshot could not be removed", "path", dir, "err", err)
		}
	}()
	a.log.Info("a snapshot was made for a backup", "path", dir, "took", time.Since(begun))
	path, err := filepath.Abs(dir)
	if err != nil {
		path = dir
	}
	answer(http.StatusOK, Snapshot{Path: path})
	if err := http.NewResponseController(w).Flush(); err != nil {
		return
	}
	select {
	case <-r.Context().Done():
	case <-a.stopping:
	}
}

// hasAdminKey tells whether a request to the private port brings the admin key.
func (a *App) hasAdminKey(r *http.Request) bool {
	key, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	mine, err := a.data.readAdminKey()
	return err == nil && sameKey(key, mine)
}

func sameKey(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}

// removeSnapshots removes those that an earlier process left behind.
func (d *dataDir) removeSnapshots() error {
	if err := os.RemoveAll(d.file(SnapshotsDir)); err != nil {
		return fmt.Errorf("data directory %s: %w", d.path, err)
	}
	return nil
}
