package e2e

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	skein "github.com/skein-im/skein/sdk/go"
)

// killedAt is a command that is killed as soon as its errors say something.
func killedAt(t *testing.T, when string, args ...string) {
	t.Helper()
	p := launch(t, nil, args...)
	p.err.expect(t, when)
	_ = p.cmd.Process.Kill() // it may have ended
	<-p.done
}

// comeAndGo uploads, and throws half of it away, until end is called.
func comeAndGo(a uploader) (end func()) {
	over := make(chan struct{})
	var beside sync.WaitGroup
	beside.Go(func() {
		pace := time.NewTicker(50 * time.Millisecond)
		defer pace.Stop()
		for n := 0; ; n++ {
			select {
			case <-over:
				return
			case <-pace.C:
			}
			resp, _, err := a.ask("POST", uploadsPath, bytes.NewReader(noise(30_000, byte(n))), "Upload-Length", "30000", "Content-Type", "application/offset+octet-stream")
			if err == nil && resp.StatusCode == http.StatusCreated && n%2 == 0 {
				resp, _, err = a.ask("DELETE", resp.Header.Get("Location"), nil)
			}
			if err != nil || resp.StatusCode != http.StatusCreated && resp.StatusCode != http.StatusNoContent {
				a.t.Errorf("beside the backup: %v, %v", resp, err)
				return
			}
		}
	})
	return func() { close(over); beside.Wait() }
}

// TestMediaBackup: a backup of a running server has its pictures and files, while others
// are uploaded and thrown away, also when an earlier run was killed; it comes back, also
// when that was killed; and a search finds what was said.
func TestMediaBackup(t *testing.T) {
	t.Parallel()
	p := serve(t, t.TempDir(), "--set", "accounts.dm_policy=everyone")
	ann, bob := join(t, p, "ann", 0), join(t, p, "bob", 1)
	a, dm := ann.uploader(p), ann.DM("bob").ID()
	contents := map[string][]byte{}
	for i, size := range []int{20_000, 9 << 20, 12 << 20} {
		content := noise(size, byte(i+1))
		id := a.up(content)
		a.shows(dm, "a zeppelin over the lake", id)
		contents[id] = content
	}
	half := noise(100_000, 9)
	open := a.begin(len(half))
	if _, err := a.send(open, 0, strings.NewReader(string(half[:40_000]))); err != nil {
		t.Fatal(err)
	}
	repository := filepath.Join(t.TempDir(), "backups")
	admin := regexp.MustCompile(`Private +http://([0-9.:]+)`).FindStringSubmatch(p.out.String())[1]
	save := []string{"backup", repository, "--data", p.dir, "--admin", admin, "--json", "--rate"}
	killedAt(t, "copying media", append(save, "4")...)

	end := comeAndGo(a)
	out, _ := runs(t, "", 0, append(save, "0")...)
	end()
	var sum struct {
		ID    string
		Media struct{ Blobs, Missing int }
	}
	if err := json.Unmarshal([]byte(out), &sum); err != nil || sum.Media.Blobs < 4 || sum.Media.Missing != 0 {
		t.Fatalf("%v: %s", err, out)
	}
	later := a.up(noise(50_000, 77)) // is not in it
	a.shows(dm, "after the backup", later)
	p.Stop(t)
	runs(t, "", 0, "backup", "drill", repository, "--scratch", t.TempDir())

	data := filepath.Join(t.TempDir(), "restored")
	killedAt(t, "restoring", "restore", repository, "--data", data)
	if _, err := os.Stat(data); err == nil { // it was quicker
		if err := os.RemoveAll(data); err != nil {
			t.Fatal(err)
		}
	}
	elsewhere := filepath.Join(t.TempDir(), "elsewhere")
	config := filepath.Join(t.TempDir(), "skein.toml")
	rewrite(t, config, "[media]\nstore = \""+elsewhere+"\"\n")
	runs(t, "", 0, "restore", repository, "--data", data, "--config", config)
	if _, err := os.Stat(filepath.Join(data, "media")); err == nil {
		t.Error("there is a directory media in the data directory, and they are kept elsewhere")
	}
	if _, err := os.Stat(filepath.Join(data, "search.db")); err == nil {
		t.Error("the index came with the backup")
	}
	// Its keys were left where they are: that is refused until somebody wants new ones.
	if _, stderr := runs(t, "", 1, "serve", "--data", data, "--config", config, "--http", "127.0.0.1:0", "--admin", ""); !strings.Contains(stderr, "admin.key is missing") || !strings.Contains(stderr, "--new-keys") {
		t.Errorf("a start without the keys: %s", stderr)
	}
	back := serve(t, data, "--config", config, "--new-keys", "--set", "accounts.dm_policy=everyone")
	ann.leave()
	bob.leave()
	b := connect(t, back, bob.device)
	ub, ua := b.uploader(back), uploader{t, back, ann.device.token}
	for id, content := range contents {
		ub.has(id, content)
	}
	ub.expect(404, "GET", "/media/"+later, nil)
	if at := ua.offset(open); at != 40_000 {
		t.Errorf("what was under way is at %d", at)
	}
	ua.rest(open, half)
	ua.has(open, half)
	b.finds(skein.Search{Query: "zeppelin", Before: time.Now().Add(time.Hour)}, "a zeppelin over the lake", "a zeppelin over the lake", "a zeppelin over the lake")
	b.leave()
	back.Stop(t)
}

// A backup that lacks a file says so by its exit status, and the doctor misses the file, too.
func TestBackupLacksAFile(t *testing.T) {
	t.Parallel()
	p := serve(t, t.TempDir(), "--set", "accounts.dm_policy=everyone")
	ann, bob := join(t, p, "ann", 0), join(t, p, "bob", 1)
	a := ann.uploader(p)
	a.shows(ann.DM("bob").ID(), "two files", a.up(noise(20_000, 3)))
	a.shows(ann.DM("bob").ID(), "two files", a.up(noise(30_000, 4)))
	ann.leave()
	bob.leave()
	p.Stop(t)
	repository := filepath.Join(t.TempDir(), "backups")
	runs(t, "", 0, "backup", repository, "--data", p.dir)
	runs(t, "", 0, "doctor", "--data", p.dir)
	removed := ""
	err := filepath.WalkDir(filepath.Join(p.dir, "media"), func(path string, d os.DirEntry, err error) error {
		if err == nil && removed == "" && !d.IsDir() && !strings.HasPrefix(d.Name(), "piece-") {
			removed, err = d.Name(), os.Remove(path)
		}
		return err
	})
	if err != nil || removed == "" {
		t.Fatal(removed, err)
	}
	out, errs := runs(t, "", 3, "backup", filepath.Join(t.TempDir(), "others"), "--data", p.dir, "--json")
	var sum struct{ Media struct{ Blobs, Missing int } }
	if err := json.Unmarshal([]byte(out), &sum); err != nil || sum.Media.Blobs != 1 || sum.Media.Missing != 1 || !strings.Contains(errs, "lacks 1 pictures or files") {
		t.Errorf("%v: %s%s", err, out, errs)
	}
	if out, _ := runs(t, "", 1, "doctor", "--data", p.dir); !strings.Contains(out, removed) || !strings.Contains(out, "1 of 2 are not where media.store says") {
		t.Errorf("the doctor says %s", out)
	}
}
