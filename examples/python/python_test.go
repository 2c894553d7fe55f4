// Package python has a client in another language, written from SPEC alone, and
// the test that holds it and SPEC together.
package python

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
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
	for key, value := range settings {
		all[key] = value
	}
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

// A client written from SPEC alone loses nothing, doubles nothing and keeps the
// order, over both transports and in both codecs.
func TestClient(t *testing.T) {
	python := interpreter(t)
	s := serve(t, map[string]string{
		"accounts.access_lifetime": "5s", "gateway.send_rate": "30", "gateway.send_burst": "20", "gateway.drain_time": "100ms",
	})
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, python, "test_skein.py", webSocket(s), s.ListenURLs()[0])
	cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1", "NO_PROXY=*")
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.HasSuffix(string(out), "ok\n") {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
}
