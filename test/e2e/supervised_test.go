package e2e

import (
	"bufio"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// supervisor is what systemd is to a service: it hears what the service tells.
type supervisor struct {
	t    *testing.T
	conn *net.UnixConn
	path string
}

func newSupervisor(t *testing.T) *supervisor {
	path := filepath.Join(t.TempDir(), "notify")
	conn := must(net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"}))(t)
	t.Cleanup(func() { _ = conn.Close() })
	return &supervisor{t, conn, path}
}

// hears waits for a line, and returns how many signs of life came before it.
func (s *supervisor) hears(want string) (alive int) {
	s.t.Helper()
	buf := make([]byte, 4096)
	if err := s.conn.SetReadDeadline(time.Now().Add(patience)); err != nil {
		s.t.Fatal(err)
	}
	for {
		n, err := s.conn.Read(buf)
		if err != nil {
			s.t.Fatalf("waiting for %q: %v", want, err)
		}
		for _, l := range strings.Split(string(buf[:n]), "\n") {
			switch l {
			case want:
				return alive
			case "WATCHDOG=1":
				alive++
			}
		}
	}
}

// underSystemd starts a server as systemd does: with sockets that are open already.
func underSystemd(t *testing.T, s *supervisor, names string, sockets ...net.Listener) *program {
	t.Helper()
	var files []*os.File
	for _, l := range sockets {
		f := must(l.(*net.TCPListener).File())(t)
		t.Cleanup(func() { _ = f.Close() })
		files = append(files, f)
	}
	p := &program{t: t, done: make(chan struct{}), cmd: exec.Command("sh", "-c", `LISTEN_PID=$$ exec "$0" "$@"`,
		skeinPath, "serve", "--data", t.TempDir(), "--http", "127.0.0.1:1", "--admin", "127.0.0.1:1", "--set", "gateway.drain_time=0s")}
	p.cmd.ExtraFiles = files
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.err
	p.cmd.Env = append(environ(), "LISTEN_FDS="+string(rune('0'+len(files))), "LISTEN_FDNAMES="+names, "NOTIFY_SOCKET="+s.path, "WATCHDOG_USEC=300000")
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = p.cmd.Wait() // exit tells
		close(p.done)
	}()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		<-p.done
	})
	return p
}

// TestSupervised: under systemd the server takes its ports from it, so that whoever comes
// while it starts waits and is served; it says when it is ready, reloads and stops, and
// gives signs of life, which end when it hangs.
func TestSupervised(t *testing.T) {
	t.Parallel()
	public, private := must(net.Listen("tcp", "127.0.0.1:0"))(t), must(net.Listen("tcp", "127.0.0.1:0"))(t)
	s := newSupervisor(t)
	early := must(net.Dial("tcp", public.Addr().String()))(t) // before there is a server
	t.Cleanup(func() { _ = early.Close() })
	if _, err := early.Write([]byte("GET /api/openapi.json HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	p := underSystemd(t, s, "http:admin", public, private)
	s.hears("READY=1")
	resp := must(http.ReadResponse(bufio.NewReader(early), nil))(t)
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Errorf("who came early gets %d", resp.StatusCode)
	}
	ready := must(http.Get("http://" + private.Addr().String() + "/readyz"))(t)
	_ = ready.Body.Close()
	if ready.StatusCode != http.StatusOK {
		t.Errorf("/readyz: %d", ready.StatusCode)
	}
	s.hears("WATCHDOG=1")
	if err := p.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	s.hears("RELOADING=1")
	s.hears("READY=1")

	// A process that stands still gives none.
	if err := p.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 4096)
	for quiet := false; !quiet; {
		if err := s.conn.SetReadDeadline(time.Now().Add(time.Second)); err != nil {
			t.Fatal(err)
		}
		_, err := s.conn.Read(buf)
		quiet = err != nil
	}
	if err := p.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	s.hears("WATCHDOG=1")
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	s.hears("STOPPING=1")
	if code := p.exit(); code != 0 {
		t.Errorf("it ended with %d:\n%s", code, &p.err)
	}
}

// TestSocketForNothing: a socket that no port takes ends the start, with its name.
func TestSocketForNothing(t *testing.T) {
	t.Parallel()
	a, b := must(net.Listen("tcp", "127.0.0.1:0"))(t), must(net.Listen("tcp", "127.0.0.1:0"))(t)
	p := underSystemd(t, newSupervisor(t), "http:htpp", a, b)
	if code := p.exit(); code != 1 || !strings.Contains(p.err.String(), "htpp") {
		t.Errorf("%d:\n%s", code, &p.err)
	}
}
