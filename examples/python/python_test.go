// Package python has a client in another language, written from SPEC alone, and
// the test that holds it and SPEC together.
package python

import (
	"bufio"
	"context"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/skein-im/skein/server"
)

// interpreter is a Python with websockets. Debian's package is for /usr/bin/python3
// only, which need not be the first one.
func interpreter(t *testing.T) string {
	t.Helper()
	var said strings.Builder
	for _, name := range []string{"python3", "/usr/bin/python3"} {
		out, err := exec.CommandContext(t.Context(), name, "-c", "import websockets").CombinedOutput()
		if err == nil {
			return name
		}
		said.WriteString(name + ": " + err.Error() + "\n" + string(out))
	}
	t.Fatalf("the Python client was NOT tested: it needs python3 with websockets (`make deps`, or pip install websockets):\n%s", &said)
	return ""
}

// serve runs a server on an embedded store until the test ends.
func serve(t *testing.T, settings map[string]string) *server.Server {
	t.Helper()
	all := map[string]string{
		"data": filepath.Join(t.TempDir(), "data"), "http.listen": "127.0.0.1:0", "admin.listen": "",
		"listeners": "tcp://127.0.0.1:0", "accounts.dm_policy": "everyone",
	}
	maps.Copy(all, settings)
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	s, err := server.Open(ctx, server.Options{Settings: all})
	if err != nil {
		stop()
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return s
}

func webSocket(s *server.Server) string { return "ws" + strings.TrimPrefix(s.URL(), "http") + "/ws" }

func environment() []string { return append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1", "NO_PROXY=*") }

// A client written from SPEC alone loses nothing, doubles nothing and keeps the
// order, over both transports and in both codecs.
func TestClient(t *testing.T) {
	python := interpreter(t)
	s := serve(t, map[string]string{
		"accounts.access_lifetime": "8s", "gateway.send_rate": "30", "gateway.send_burst": "20", "gateway.drain_time": "100ms",
	})
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, python, "test_skein.py", webSocket(s), s.ListenURLs()[0])
	cmd.Env, cmd.WaitDelay = environment(), time.Second
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.HasSuffix(string(out), "ok\n") {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
}

// What README.md says of the client's size stays true: lines of code, without those
// that are empty or hold a comment or a docstring alone.
func TestSize(t *testing.T) {
	const most = 300
	total := 0
	for _, name := range []string{"skein.py", "wire.py"} {
		src, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		code := docstring.ReplaceAll(src, nil)
		for line := range strings.Lines(string(code)) {
			if trimmed := strings.TrimSpace(line); trimmed != "" && !strings.HasPrefix(trimmed, "#") {
				total++
			}
			if n := len([]rune(line)); n > 101 { // with its end
				t.Errorf("%s: a line of %d characters: %s", name, n, line)
			}
		}
	}
	if total > most {
		t.Errorf("the client has %d lines of code, more than %d", total, most)
	}
	t.Logf("%d lines of code", total)
}

var docstring = regexp.MustCompile(`(?s)"""[^"]*?"""`)

// chat is a running chat.py.
type chat struct {
	in    io.Writer
	lines chan string
}

func startChat(ctx context.Context, t *testing.T, python, url, me, peer string) *chat {
	t.Helper()
	cmd := exec.CommandContext(ctx, python, "chat.py", me, "a long password", peer, "--register", "--url", url)
	cmd.Env, cmd.WaitDelay = environment(), time.Second
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	read, write := io.Pipe()
	cmd.Stdout, cmd.Stderr = write, write
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c := &chat{in: in, lines: make(chan string, 100)}
	ended := make(chan error, 1)
	go func() {
		ended <- cmd.Wait()
		_ = write.Close()
	}()
	go func() {
		defer close(c.lines)
		for s := bufio.NewScanner(read); s.Scan(); {
			c.lines <- s.Text()
		}
	}()
	t.Cleanup(func() {
		_ = in.Close() // Ctrl-D
		if err := <-ended; err != nil {
			t.Errorf("%s's chat: %v", me, err)
		}
	})
	return c
}

// hear waits for a line that begins so; the context of the process is the deadline.
func (c *chat) hear(t *testing.T, begin string) {
	t.Helper()
	var heard []string
	for line := range c.lines {
		if strings.HasPrefix(line, begin) {
			return
		}
		heard = append(heard, line)
	}
	t.Fatalf("no line begins with %q:\n%s", begin, strings.Join(heard, "\n"))
}

// What README.md says works, with the settings of `make run`.
func TestChat(t *testing.T) {
	python := interpreter(t)
	s := serve(t, map[string]string{"accounts.dm_policy": "contacts"})
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
	t.Cleanup(cancel)
	ann := startChat(ctx, t, python, webSocket(s), "ann", "bob")
	bob := startChat(ctx, t, python, s.ListenURLs()[0], "bob", "ann")
	ann.hear(t, "Type to bob")
	bob.hear(t, "Type to ann")
	_, _ = io.WriteString(ann.in, "Hello, Bob ✓\n")
	bob.hear(t, "ann: Hello, Bob ✓")
	_, _ = io.WriteString(bob.in, "Hello, Ann\n")
	ann.hear(t, "bob: Hello, Ann")
}
