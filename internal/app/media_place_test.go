package app

import (
	"crypto/rand"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/doctor"
	"github.com/skein-im/skein/internal/im"
)

// uploaded makes an upload in the store of a directory, and returns its id and blob.
func uploaded(t *testing.T, a *App) (id, blob string) {
	t.Helper()
	content := make([]byte, 4000)
	_, _ = rand.Read(content)
	u, err := a.media.Begin(t.Context(), "ann", int64(len(content)), im.MediaFacts{Name: "some.bin"})
	ok(t, err)
	u, err = a.media.Write(t.Context(), "ann", u.ID, 0, strings.NewReader(string(content)), nil)
	ok(t, err)
	u, err = a.directory.Upload(t.Context(), u.ID)
	ok(t, err)
	if !u.Ready || u.Blob == "" {
		t.Fatalf("%+v", u)
	}
	return u.ID, u.Blob
}

// The story: a server that was started while the disk of its pictures was not mounted made
// the directory on another disk, was ready, and answered 503 for all that there was.
func TestMediaOfAnUnmountedDisk(t *testing.T) {
	for name, place := range map[string]func(disk string) string{
		"a directory on it": func(disk string) string { return filepath.Join(disk, "media") },
		"the disk itself":   func(disk string) string { return disk },
	} {
		t.Run(name, func(t *testing.T) {
			dir, disk := filepath.Join(t.TempDir(), "data"), filepath.Join(t.TempDir(), "disk")
			ok(t, os.Mkdir(disk, 0o700))
			cfg := settings(dir)
			cfg.Media.Store = place(disk)
			for range 2 { // without uploads it is made
				a, err := Open(t.Context(), cfg, Options{})
				ok(t, err)
				ok(t, a.close())
				ok(t, os.RemoveAll(cfg.Media.Store))
				ok(t, os.MkdirAll(disk, 0o700))
			}
			a, err := Open(t.Context(), cfg, Options{})
			ok(t, err)
			_, blob := uploaded(t, a)
			if h := a.storesHealth(families{}); h[len(h)-1].Kind != "directory" || h[len(h)-1].Free == 0 {
				t.Errorf("the place of uploads is told as %+v", h[len(h)-1])
			}
			ok(t, a.close())

			ok(t, os.Rename(disk, disk+".away"))
			ok(t, os.Mkdir(disk, 0o700)) // the mount point
			for range 2 {
				if _, err := Open(t.Context(), cfg, Options{}); err == nil || !strings.Contains(err.Error(), "is its disk mounted?") || !strings.Contains(err.Error(), cfg.Media.Store) {
					t.Fatalf("answered with %v", err)
				}
			}
			if all, err := os.ReadDir(disk); err != nil || len(all) > 0 {
				t.Errorf("a refused start made %v (%v)", all, err)
			}
			_, advice, _ := strings.Cut(CheckMedia(&cfg, true).Error(), "mkdir -p ")
			ok(t, os.MkdirAll(advice, 0o700)) // as the error says
			a, err = Open(t.Context(), cfg, Options{})
			ok(t, err)
			ok(t, a.close())

			ok(t, os.RemoveAll(disk))
			ok(t, os.Rename(disk+".away", disk))
			a, err = Open(t.Context(), cfg, Options{})
			ok(t, err)
			ok(t, HasBlob(&cfg)(blob))
			ok(t, a.close())
		})
	}
}

func TestMediaBelowNothing(t *testing.T) {
	cfg := settings(filepath.Join(t.TempDir(), "data"))
	cfg.Media.Store = filepath.Join(t.TempDir(), "notmounted", "media")
	if err := Check(&cfg, Options{}); err == nil || !strings.Contains(err.Error(), "media.store") || !strings.Contains(err.Error(), "notmounted is not there") {
		t.Errorf("checked: %v", err)
	}
	if _, err := Open(t.Context(), cfg, Options{}); err == nil {
		t.Error("it was made")
	}
	for _, store := range []string{"media", filepath.Join(cfg.Data, "media"), "off", "s3://bucket/here?region=us-east-1"} { // made with the data directory, or none
		cfg.Media.Store = store
		if err := checkMediaParent(&cfg); err != nil {
			t.Errorf("%s: %v", store, err)
		}
	}
}

// The doctor sees a blob that is gone.
func TestDoctorMissesBlobs(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	a, err := Open(t.Context(), settings(dir), Options{})
	ok(t, err)
	id, blob := uploaded(t, a)
	_, err = a.directory.NameMedia(t.Context(), []string{id}, im.MediaName{Sender: "ann", Conversation: "grp:g", CheckAt: time.Now().Add(time.Hour)}, false)
	ok(t, err)
	ok(t, a.close())
	cfg := settings(dir)
	look := func() doctor.Finding {
		r := doctor.Examine(t.Context(), doctor.Options{Config: cfg, Media: HasBlob})
		for _, f := range r.Findings {
			if f.What == "pictures and files" {
				return f
			}
		}
		return doctor.Finding{}
	}
	if f := look(); f.Level != doctor.OK {
		t.Errorf("whole: %+v", f)
	}
	ok(t, fs.WalkDir(os.DirFS(filepath.Join(dir, "media")), ".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Name() == blob {
			err = os.Remove(filepath.Join(dir, "media", path))
		}
		return err
	}))
	if f := look(); f.Level != doctor.Bad || !strings.Contains(f.Found, blob) {
		t.Errorf("a blob is gone: %+v", f)
	}
}
