package migrate

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/directory/sqlite"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/media/blob"
)

// Blobs go to where all nodes have them, once; what is missing or damaged is named.
func TestCopyMedia(t *testing.T) {
	dir, ctx := t.TempDir(), t.Context()
	file := filepath.Join(dir, "directory.db")
	d, err := sqlite.Open(file, sqlite.Options{})
	must(t, err)
	must(t, d.Migrate(ctx))
	open := func(name string) blob.Store {
		s, err := blob.Open(filepath.Join(dir, name), "")
		must(t, err)
		return s
	}
	from, to := open("media"), open("shared")
	var names []string
	for i, content := range []string{"one", "two", "gone", "damaged"} {
		sum := sha256.Sum256([]byte(content))
		u := im.Upload{ID: "upload" + content, Owner: "alice", Size: int64(len(content)), Hash: hex.EncodeToString(sum[:]), Created: time.Now(), Expires: time.Now().Add(time.Hour)}
		u.Blob = u.Hash + "-x"
		names = append(names, u.Blob)
		p := im.MediaPiece{Size: u.Size, Blob: "piece-" + content}
		must(t, d.CreateUpload(ctx, u, im.MediaQuota{Open: 9}))
		must(t, d.DiscardBlobs(ctx, []string{p.Blob, u.Blob}, time.Now().Add(time.Hour)))
		must(t, d.AddPiece(ctx, u.ID, p))
		must(t, d.FinishUpload(ctx, u, time.Now()))
		_, err := d.NameMedia(ctx, []string{u.ID}, im.MediaName{Conversation: "c", Sender: "alice", ID: im.NewMessageID(time.Now(), [10]byte{byte(i)})}, false)
		must(t, err)
		if content == "damaged" {
			content = "DAMAGED"
		}
		if content != "gone" {
			_, err = from.Put(ctx, u.Blob, strings.NewReader(content))
			must(t, err)
		}
	}
	must(t, d.Close())
	before, err := os.ReadFile(file)
	must(t, err)
	missing := []string{names[2] + ": gone", names[3] + ": damaged"}
	slices.Sort(missing)
	for there := range 3 {
		s, err := CopyMedia(ctx, file, from, to, nil)
		if err != nil || s.Blobs != 2 || s.Bytes != 6 || s.Missing != 2 || !slices.Equal(s.Names, missing) || s.There != min(there*2, 2)-min(max(there-1, 0), 1) {
			t.Errorf("run %d: %+v, %v", there, s, err)
		}
		for i, want := range []string{"one", "two"} {
			r, err := to.Get(ctx, names[i], 0)
			must(t, err)
			got, err := io.ReadAll(r)
			must(t, err)
			must(t, r.Close())
			if string(got) != want {
				t.Errorf("%q instead of %q", got, want)
			}
		}
		if there == 1 { // an interrupted run left another content
			_, err := to.Put(ctx, names[0], strings.NewReader("ONE"))
			must(t, err)
		}
	}
	if after, err := os.ReadFile(file); err != nil || !bytes.Equal(before, after) {
		t.Error("the source was changed", err)
	}
}
