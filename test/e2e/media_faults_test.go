package e2e

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
)

// sent is a body that tells when all of it was read.
type sent struct {
	io.Reader
	once sync.Once
	all  chan struct{}
}

func (s *sent) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	if err != nil {
		s.once.Do(func() { close(s.all) })
	}
	return n, err
}

// TestUploadKilled: a server that is killed in the middle of an upload, and while it looks
// at a complete one, tells afterwards how much it has, and that is so: the rest completes it,
// byte for byte.
func TestUploadKilled(t *testing.T) {
	t.Parallel()
	p := serve(t, t.TempDir(), "--set", "accounts.dm_policy=everyone")
	ann := join(t, p, "ann", 0)
	join(t, p, "bob", 1)
	a, dm := ann.uploader(p), ann.DM("bob").ID()
	file := noise(30<<20, 1)
	id := a.begin(len(file))
	from, to := io.Pipe()
	cut := make(chan error, 1)
	go func() {
		_, err := a.send(id, 0, from)
		cut <- err
	}()
	if _, err := to.Write(file[:20<<20]); err != nil {
		t.Fatal(err)
	}
	told := 0
	for until := time.Now().Add(patience); told < 16<<20; time.Sleep(20 * time.Millisecond) {
		if told = a.offset(id); time.Now().After(until) {
			t.Fatalf("it is at %d", told)
		}
	}
	p.kill(t)
	_ = to.CloseWithError(io.ErrClosedPipe) // nobody reads it
	if err := <-cut; err == nil {
		t.Error("a killed server answered")
	}
	p.Start(t)
	if at := a.offset(id); at < told || at > 20<<20 {
		t.Errorf("it is at %d; %d were told", at, told)
	}
	for round := range 4 {
		at := a.offset(id)
		body := &sent{Reader: bytes.NewReader(file[at:]), all: make(chan struct{})}
		go func() {
			_, err := a.send(id, at, body)
			cut <- err
		}()
		select {
		case <-body.all:
		case err := <-cut: // it was complete already
			if cut <- nil; err != nil {
				t.Fatalf("round %d: %v", round, err)
			}
		}
		p.kill(t)
		<-cut // answered or not
		p.Start(t)
	}
	a.rest(id, file)
	a.has(id, file)
	a.shows(dm, "whole", id)
	a.has(id, file)
}

// stands are the ways in which a store of others is.
type stands struct {
	mu   sync.Mutex
	how  string
	free chan struct{}
	seen chan struct{} // a request waits
}

func (s *stands) set(how string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.how == "still" {
		close(s.free)
	}
	s.how, s.free, s.seen = how, make(chan struct{}), make(chan struct{}, 100)
}

func (s *stands) serve(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		how, free, seen := s.how, s.free, s.seen
		s.mu.Unlock()
		switch how {
		case "down":
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		case "still":
			seen <- struct{}{}
			select {
			case <-free:
			case <-r.Context().Done():
			}
		}
		h.ServeHTTP(w, r)
	})
}

// TestMediaBucketDown: with a bucket that is down or stands still, uploads and downloads are
// refused or wait, and are told what it is; messages go on, and so do uploads afterwards.
func TestMediaBucketDown(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "id")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	mem := s3mem.New()
	if err := mem.CreateBucket("media"); err != nil {
		t.Fatal(err)
	}
	bucket := &stands{}
	bucket.set("up")
	server := httptest.NewServer(bucket.serve(gofakes3.New(mem).Server()))
	t.Cleanup(server.Close)
	w := oneNode(t, terms{settings: map[string]string{"accounts.dm_policy": "everyone", "media.store": "s3://media/here?region=us-east-1&endpoint=" + server.URL}})
	ann, bob := join(t, w, "ann", 0), join(t, w, "bob", 1)
	a, dm := ann.uploader(w), ann.DM("bob").ID()
	first, file := noise(100_000, 1), noise(200_000, 2)
	shown := a.up(first)
	a.shows(dm, "shown", shown)
	goesOn := func(how string) {
		t.Helper()
		ann.says(dm, "while it is "+how)
		bob.hears("while it is " + how)
	}
	id := a.begin(len(file))

	bucket.set("down")
	resp, err := a.send(id, 0, bytes.NewReader(file))
	if err != nil || resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get("Retry-After") == "" {
		t.Errorf("%v, %v", resp, err)
	}
	_, body := bob.uploader(w).expect(http.StatusServiceUnavailable, "GET", "/media/"+shown, nil)
	if !strings.Contains(string(body), "unavailable") {
		t.Errorf("%s", body)
	}
	goesOn("down")
	if at := a.offset(id); at != 0 {
		t.Errorf("%d bytes were kept", at)
	}

	bucket.set("still")
	answered := make(chan error, 1)
	go func() {
		resp, err := a.send(id, 0, bytes.NewReader(file))
		if err == nil && resp.StatusCode != http.StatusNoContent {
			err = fmt.Errorf("%s", resp.Status)
		}
		answered <- err
	}()
	select {
	case <-bucket.seen:
	case <-time.After(patience):
		t.Fatal("nothing came to the bucket")
	}
	goesOn("still")
	select {
	case err := <-answered:
		t.Errorf("it was answered: %v", err)
	default:
	}
	bucket.set("up")
	if err := <-answered; err != nil {
		t.Error(err)
	}
	a.has(id, file)
	bob.uploader(w).has(shown, first)
}

// TestMediaDiskFull: where uploads have a disk of their own that is full, they are refused
// as storage_full, what was told stays, and messages go on.
func TestMediaDiskFull(t *testing.T) {
	disk := t.TempDir()
	if err := mountSmall(t, disk, 96<<20); err != nil {
		t.Skipf("no disk of its own: %v", err)
	}
	w := oneNode(t, terms{settings: map[string]string{"accounts.dm_policy": "everyone", "journal.min_free": "1MiB", "media.store": filepath.Join(disk, "media")}})
	ann, bob := join(t, w, "ann", 0), join(t, w, "bob", 1)
	a, dm := ann.uploader(w), ann.DM("bob").ID()
	file := noise(24<<20, 1)
	id := a.begin(len(file))
	ballast := filepath.Join(disk, "ballast")
	rewrite(t, ballast, strings.Repeat("x", freeBytes(t, disk)-12<<20))
	resp, err := a.send(id, 0, bytes.NewReader(file))
	if err != nil || resp.StatusCode != http.StatusInsufficientStorage {
		t.Errorf("%v, %v", resp, err)
	}
	if at := a.offset(id); at%(8<<20) != 0 || at >= len(file) {
		t.Errorf("it is at %d", at)
	}
	a.expect(http.StatusInsufficientStorage, "POST", uploadsPath, nil, "Upload-Length", "30000000")
	ann.says(dm, "there is room for words")
	bob.hears("there is room for words")
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	a.rest(id, file)
	a.has(id, file)
}
