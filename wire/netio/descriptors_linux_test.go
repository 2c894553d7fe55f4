package netio_test

import (
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/skein-im/skein/wire/netio"
)

// However many connect, the process can open files, and takes others when some have gone.
// It is another process, which has few descriptors.
func TestDescriptorsAreKept(t *testing.T) {
	if os.Getenv("SKEIN_TEST_DESCRIPTORS") != "" {
		descriptorsAreKept(t)
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestDescriptorsAreKept$", "-test.v")
	cmd.Env = append(os.Environ(), "SKEIN_TEST_DESCRIPTORS=1")
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "kept") {
		t.Fatalf("%v\n%s", err, out)
	}
}

func descriptorsAreKept(t *testing.T) {
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: 256, Max: 1024}); err != nil {
		t.Fatal(err)
	}
	if most := netio.Descriptors(); most != 192 {
		t.Errorf("connections may have %d descriptors, want 192", most)
	}
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := netio.Listen(tcp, slog.New(slog.DiscardHandler))
	defer l.Close()
	taken := make(chan net.Conn, 300)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			taken <- c
		}
	}()
	// A client in this process has one descriptor of two: 90 fill the place of 192 nearly.
	var clients, served []net.Conn
	refused := 0
	for refused == 0 {
		c, err := net.DialTimeout("tcp", l.Addr().String(), time.Second)
		if err != nil {
			t.Fatalf("after %d: %v", len(clients), err)
		}
		clients = append(clients, c)
		select {
		case s := <-taken:
			served = append(served, s)
		case <-time.After(2 * time.Second): // it was closed, or nobody took it
			_ = c.SetReadDeadline(time.Now().Add(time.Second))
			if _, err := c.Read(make([]byte, 1)); !errors.Is(err, io.EOF) && !errors.Is(err, syscall.ECONNRESET) {
				t.Fatalf("the one too many: %v", err)
			}
			refused++
		}
		if len(clients) > 200 {
			t.Fatal("nobody was refused")
		}
	}
	var files []*os.File
	for range 50 {
		f, err := os.Open(os.DevNull)
		if err != nil {
			t.Fatalf("the store cannot open its %dth file: %v", len(files), err)
		}
		files = append(files, f)
	}
	for _, f := range files {
		_ = f.Close()
	}
	for i := range 10 {
		_, _ = clients[i].Close(), served[i].Close()
	}
	c, err := net.DialTimeout("tcp", l.Addr().String(), time.Second)
	if err != nil {
		t.Fatal(err)
	}
	select {
	case s := <-taken:
		_ = s.Close()
	case <-time.After(5 * time.Second):
		t.Fatal("nobody is taken again")
	}
	_ = c.Close()
	for _, c := range append(clients[10:], served[10:]...) {
		_ = c.Close()
	}
	t.Log("kept")
}
