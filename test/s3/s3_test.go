// Package s3 keeps uploads in a real S3-compatible server: that of github.com/versity/versitygw,
// with its own files below a directory, as a process that is stopped, frozen and killed. It
// is a module of its own, so that Skein's has none of what such a server needs.
package s3

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/directory"
	"github.com/skein-im/skein/internal/directory/sqlite"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/media"
	"github.com/skein-im/skein/internal/media/blob"
	"github.com/skein-im/skein/internal/media/picture"
)

const bucketName = "media"

// program is the server's, built once.
var program string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "skein-s3-")
		if err != nil {
			panic(err)
		}
		defer os.RemoveAll(dir)
		program = filepath.Join(dir, "versitygw")
		if out, err := exec.Command("go", "build", "-o", program, "github.com/versity/versitygw/cmd/versitygw").CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "the S3 server cannot be built: %v\n%s", err, out)
			return 1
		}
		return m.Run()
	}())
}

// gateway is a running S3 server.
type gateway struct {
	*testing.T
	at, dir string
	cmd     *exec.Cmd
	ended   chan error
}

// freeAddress is one of loopback where nothing listens, and that the system gives to nobody
// by itself: otherwise any connection that is made meanwhile may take it.
func freeAddress(t *testing.T) string {
	t.Helper()
	const first, ports = 10_000, 20_000
	for range 100 {
		l, err := net.Listen("tcp", fmt.Sprint("127.0.0.1:", first+rand.IntN(ports)))
		if err == nil {
			defer l.Close()
			return l.Addr().String()
		}
	}
	t.Fatal("no port is free")
	return ""
}

func startGateway(t *testing.T) *gateway {
	t.Helper()
	t.Setenv("AWS_ACCESS_KEY_ID", "an-access-key")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "a-secret-of-the-tests")
	g := &gateway{T: t, at: freeAddress(t), dir: t.TempDir()}
	for _, d := range []string{"buckets/" + bucketName, "meta"} {
		if err := os.MkdirAll(filepath.Join(g.dir, d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(g.kill)
	g.start()
	return g
}

// start begins the process, and waits until it answers.
func (g *gateway) start() {
	g.Helper()
	g.cmd = exec.Command(program, "--port", g.at, "--region", "us-east-1", "--quiet", "posix", "--sidecar", filepath.Join(g.dir, "meta"), filepath.Join(g.dir, "buckets"))
	g.cmd.Env = append(os.Environ(), "ROOT_ACCESS_KEY="+os.Getenv("AWS_ACCESS_KEY_ID"), "ROOT_SECRET_KEY="+os.Getenv("AWS_SECRET_ACCESS_KEY"))
	g.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	var log bytes.Buffer
	g.cmd.Stdout, g.cmd.Stderr = &log, &log
	if err := g.cmd.Start(); err != nil {
		g.Fatal(err)
	}
	cmd, ended := g.cmd, make(chan error, 1)
	g.ended = ended
	go func() { ended <- cmd.Wait() }()
	for until := time.Now().Add(30 * time.Second); ; {
		resp, err := http.Get("http://" + g.at + "/")
		if err == nil {
			_ = resp.Body.Close()
			return
		}
		select {
		case err := <-ended:
			g.Fatalf("the S3 server ended: %v\n%s", err, log.String())
		case <-time.After(20 * time.Millisecond):
		}
		if time.Now().After(until) {
			g.Fatalf("the S3 server does not answer: %v", err)
		}
	}
}

func (g *gateway) signal(s syscall.Signal) {
	g.Helper()
	if err := g.cmd.Process.Signal(s); err != nil {
		g.Fatal(err)
	}
}

// stop has the server stand still, all of its threads: one that has a processor goes on
// until the process takes the signal, and answers meanwhile.
func (g *gateway) stop() {
	g.Helper()
	g.signal(syscall.SIGSTOP)
	for until := time.Now().Add(30 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", g.cmd.Process.Pid))
		still := err == nil && len(threads) > 0
		for _, name := range threads {
			stat, err := os.ReadFile(name)
			// The state stands behind the name, which is in brackets.
			_, state, _ := strings.Cut(string(stat), ") ")
			still = still && (err != nil || strings.HasPrefix(state, "T"))
		}
		if still {
			return
		}
		if time.Now().After(until) {
			g.Fatal("the S3 server does not stand still")
		}
	}
}

func (g *gateway) kill() {
	if g.cmd != nil {
		_ = g.cmd.Process.Kill()
		<-g.ended
		g.cmd = nil
	}
}

// objects are the names in the bucket, as its server keeps them.
func (g *gateway) objects() (names []string) {
	g.Helper()
	err := filepath.WalkDir(filepath.Join(g.dir, "buckets", bucketName), func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			names = append(names, d.Name())
		}
		return err
	})
	if err != nil {
		g.Fatal(err)
	}
	return names
}

func (g *gateway) store() blob.Store {
	g.Helper()
	s, err := blob.Open("s3://"+bucketName+"/some/where?region=us-east-1&endpoint=http://"+g.at, g.TempDir())
	if err != nil {
		g.Fatal(err)
	}
	return s
}

// world is what takes uploads into the bucket, with a clock.
type world struct {
	*gateway
	*media.Service
	now time.Time
}

// nothing is a journal without messages.
type nothing struct{}

func (nothing) MediaOf(context.Context, im.UserID, im.ConversationID, uint64) ([]string, error) {
	return nil, im.Errorf(im.CodeNotFound, "no such message")
}

func (nothing) NamesMedia(context.Context, im.MediaName) (bool, uint64, error) { return false, 0, nil }

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{gateway: startGateway(t), now: time.UnixMilli(1_700_000_000_000)}
	db, err := sqlite.Open(filepath.Join(t.TempDir(), "directory.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	if err := db.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	var rows *directory.DB = db
	w.Service = media.New(media.Options{
		Uploads: rows, Names: rows, Store: w.store(), Messages: nothing{}, Pictures: picture.NewMaker(picture.Options{}), MaxBytes: 64 << 20,
		Quota: im.MediaQuota{Bytes: 1 << 30, Open: 9}, Key: []byte("a secret"), Now: func() time.Time { return w.now },
	})
	return w
}

func (w *world) ok(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) code(what string, err error, want im.Code) {
	w.Helper()
	if im.CodeOf(err) != want {
		w.Errorf("%s: %v, want %s", what, err, want)
	}
}

func noise(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(b) // it never fails
	b[0] = 1                                    // the beginning of nothing that is known
	return b
}

func (w *world) begin(n int) im.Upload {
	w.Helper()
	u, err := w.Begin(w.Context(), "ann", int64(n), im.MediaFacts{Name: "file"})
	w.ok(err)
	return u
}

func (w *world) content(u im.Upload, offset int64) []byte {
	w.Helper()
	r, err := w.Open(w.Context(), u, false, offset)
	w.ok(err)
	b, err := io.ReadAll(r)
	w.ok(errors.Join(err, r.Close()))
	return b
}

// Bytes come and go by the server as by any other place of blobs, also more than one part of
// an upload to S3, from every offset, and what is not there is not there.
func TestStore(t *testing.T) {
	g := startGateway(t)
	s := g.store()
	large := noise(40 << 20)
	for name, b := range map[string][]byte{"abcdefgh-1": []byte("hello"), "abcdefgh-2": large, "abcdefgh-3": {}} {
		if n, err := s.Put(t.Context(), name, bytes.NewReader(b)); err != nil || n != int64(len(b)) {
			t.Fatal(n, err)
		}
		for _, offset := range []int{0, 1, len(b) / 2, len(b) - 1, len(b)} {
			if offset < 0 || offset > len(b) {
				continue
			}
			r, err := s.Get(t.Context(), name, int64(offset))
			if err != nil {
				t.Fatalf("%s from %d: %v", name, offset, err)
			}
			got, err := io.ReadAll(r)
			if err := errors.Join(err, r.Close()); err != nil || !bytes.Equal(got, b[offset:]) {
				t.Errorf("%s from %d: %d bytes, %v", name, offset, len(got), err)
			}
		}
	}
	for range 2 {
		if err := s.Delete(t.Context(), "abcdefgh-1"); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"abcdefgh-1", "abcdefgh-9"} {
		if _, err := s.Get(t.Context(), name, 0); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if left := g.objects(); len(left) != 2 {
		t.Errorf("the bucket has %q", left)
	}
}

// An upload in parts is whole, is read from any offset, and nothing of it stays in the bucket
// a day after nothing names it; nor of one that was never completed.
func TestUploadsAndGarbage(t *testing.T) {
	w := newWorld(t)
	file := noise(20<<20 + 20_000)
	u := w.begin(len(file))
	for _, to := range []int{5 << 20, 13<<20 + 100_000, len(file)} {
		var err error
		u, err = w.Write(t.Context(), "ann", u.ID, u.Received, bytes.NewReader(file[u.Received:to]), nil)
		w.ok(err)
	}
	for _, offset := range []int64{0, 1, 8 << 20, 20 << 20, int64(len(file)) - 1} {
		if got := w.content(u, offset); !bytes.Equal(got, file[offset:]) {
			t.Errorf("from %d: %d bytes that are others", offset, len(got))
		}
	}
	half := w.begin(2 << 20)
	_, err := w.Write(t.Context(), "ann", half.ID, 0, bytes.NewReader(file[:1<<20]), nil)
	w.ok(err)
	w.ok(w.Sweep(t.Context()))
	if got := w.content(u, 0); !bytes.Equal(got, file) {
		t.Error("what is kept for a day was thrown away")
	}
	w.now = w.now.Add(24*time.Hour + time.Minute)
	w.ok(w.Sweep(t.Context()))
	w.now = w.now.Add(3 * time.Hour)
	w.ok(w.Sweep(t.Context()))
	_, err = w.Of(t.Context(), "ann", u.ID)
	w.code("a day later", err, im.CodeNotFound)
	if left := w.objects(); len(left) != 0 {
		t.Errorf("the bucket has %q", left)
	}
}

// While the server is down uploads and downloads are `unavailable`, and go on where they
// were when it is there again; what was answered is there.
func TestServerDown(t *testing.T) {
	w := newWorld(t)
	file := noise(10 << 20)
	kept := w.begin(len(file))
	kept, err := w.Write(t.Context(), "ann", kept.ID, 0, bytes.NewReader(file), nil)
	w.ok(err)
	u := w.begin(len(file))
	u, err = w.Write(t.Context(), "ann", u.ID, 0, bytes.NewReader(file[:8<<20]), nil)
	w.ok(err)
	w.kill()
	_, err = w.Write(t.Context(), "ann", u.ID, u.Received, bytes.NewReader(file[u.Received:]), nil)
	w.code("a part", err, im.CodeUnavailable)
	_, err = w.Open(t.Context(), kept, false, 0)
	w.code("a fetch", err, im.CodeUnavailable)
	w.start()
	u, err = w.Of(t.Context(), "ann", u.ID)
	w.ok(err)
	u, err = w.Write(t.Context(), "ann", u.ID, u.Received, bytes.NewReader(file[u.Received:]), nil)
	w.ok(err)
	if !u.Ready || !bytes.Equal(w.content(u, 0), file) || !bytes.Equal(w.content(kept, 0), file) {
		t.Errorf("it is %+v", u)
	}
}

// A server that stands still is waited for, by who uploads and who fetches; nobody is told
// that anything is kept before it is.
func TestServerStill(t *testing.T) {
	w := newWorld(t)
	file := noise(1 << 20)
	kept := w.begin(len(file))
	kept, err := w.Write(t.Context(), "ann", kept.ID, 0, bytes.NewReader(file), nil)
	w.ok(err)
	u := w.begin(len(file))
	w.stop()
	answered := make(chan error, 1)
	go func() {
		_, err := w.Write(t.Context(), "ann", u.ID, 0, bytes.NewReader(file), nil)
		answered <- err
	}()
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if r, err := w.Open(ctx, kept, false, 0); err == nil {
		_ = r.Close()
		t.Error("a server that stands still gave something")
	}
	select {
	case err := <-answered:
		t.Errorf("it was answered: %v", err)
	default:
	}
	now, err := w.Of(t.Context(), "ann", u.ID)
	if w.ok(err); now.Received != 0 {
		t.Errorf("%d bytes are said to be kept", now.Received)
	}
	w.signal(syscall.SIGCONT)
	w.ok(<-answered)
	u, err = w.Of(t.Context(), "ann", u.ID)
	if w.ok(err); !u.Ready || !bytes.Equal(w.content(u, 0), file) || !bytes.Equal(w.content(kept, 0), file) {
		t.Errorf("it is %+v", u)
	}
}

// A server that is killed while it takes a part has it, or not: what the upload then becomes
// is whole.
func TestServerKilled(t *testing.T) {
	w := newWorld(t)
	file := noise(24 << 20)
	u := w.begin(len(file))
	for round := range 4 {
		answered := make(chan error, 1)
		go func() {
			_, err := w.Write(t.Context(), "ann", u.ID, u.Received, bytes.NewReader(file[u.Received:]), nil)
			answered <- err
		}()
		server := w.cmd.Process // the next one is not to be killed by a timer that is late
		time.AfterFunc(time.Duration(20+60*round)*time.Millisecond, func() { _ = server.Kill() })
		err := <-answered
		w.kill()
		w.start()
		if err != nil {
			w.code("killed", err, im.CodeUnavailable)
		}
		if u, err = w.Of(t.Context(), "ann", u.ID); err != nil {
			t.Fatal(err)
		}
	}
	if !u.Ready {
		var err error
		u, err = w.Write(t.Context(), "ann", u.ID, u.Received, bytes.NewReader(file[u.Received:]), nil)
		w.ok(err)
	}
	if !bytes.Equal(w.content(u, 0), file) {
		t.Error("it is another file")
	}
	for _, name := range w.objects() {
		if strings.HasSuffix(name, ".tmp") {
			t.Errorf("the bucket has %q", name)
		}
	}
}
