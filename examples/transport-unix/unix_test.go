package unix

import (
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/skein-im/skein/wire"
)

func listen(t *testing.T, path string) (wire.Listener, error) {
	t.Helper()
	o := wire.ListenOptions{}.WithCodecs(wire.Protobuf(), wire.JSON())
	return Transport{}.Listen(t.Context(), &url.URL{Scheme: Scheme, Path: path}, o)
}

// A connection carries messages both ways, in the codec it asked for.
func TestEcho(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	l, err := listen(t, path)
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() {
		served <- l.Serve(func(c wire.Conn) {
			for {
				m, err := c.ReadMessage()
				if err != nil {
					_ = c.Close("", "")
					return
				}
				if _, err := c.TryWrite(c.AppendMessage(nil, append([]byte(c.Info().Codec+" "), m...))); err != nil {
					t.Error(err)
				}
			}
		})
	}()
	for _, codec := range []string{wire.JSONName, wire.ProtobufName} {
		nc, err := net.Dial("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		c, err := wire.OpenStream(nc, codec)
		if err != nil {
			t.Fatal(err)
		}
		if n, err := c.TryWrite(c.AppendMessage(nil, []byte("hello"))); n != 9 || err != nil {
			t.Fatalf("wrote %d, %v", n, err)
		}
		if m, err := c.ReadMessage(); string(m) != codec+" hello" || err != nil {
			t.Errorf("read %q, %v", m, err)
		}
		_ = c.Close("", "")
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(path); !os.IsNotExist(err) {
		t.Errorf("the socket is still there: %v", err)
	}
}

func TestSocketFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "s")
	l, err := listen(t, path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v: other users could connect", st.Mode(), err)
	}
	if _, err := listen(t, path); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("a socket in use was taken over: %v", err)
	}

	// What a crashed server leaves behind.
	stale := filepath.Join(dir, "stale")
	ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: stale})
	if err != nil {
		t.Fatal(err)
	}
	ln.SetUnlinkOnClose(false)
	if err := ln.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := listen(t, stale)
	if err != nil {
		t.Fatalf("a stale socket is in the way: %v", err)
	}
	_ = again.Close()

	// A file that is something else is not removed.
	plain := filepath.Join(dir, "plain")
	if err := os.WriteFile(plain, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := listen(t, plain); err == nil {
		t.Error("listening on a plain file")
	}
	if b, err := os.ReadFile(plain); string(b) != "precious" || err != nil {
		t.Errorf("the file was touched: %q, %v", b, err)
	}
}

func TestURLs(t *testing.T) {
	for _, raw := range []string{"unix://host/path", "unix:", "tcp:///path"} {
		u, err := url.Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := (Transport{}).Listen(t.Context(), u, wire.ListenOptions{}); err == nil {
			t.Errorf("%s was accepted", raw)
		}
	}
}
