package pg

import (
	"net"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// The kernel gives up a peer that is gone: one that was sent something, and one
// that was not.
func TestGoneIsNoticed(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, err := Dialer(time.Second, 10*time.Second).DialContext(t.Context(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	raw, err := c.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range []struct {
		name                string
		level, option, want int
	}{
		{"TCP_USER_TIMEOUT", unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, 10_000},
		{"SO_KEEPALIVE", unix.SOL_SOCKET, unix.SO_KEEPALIVE, 1},
		{"TCP_KEEPIDLE", unix.IPPROTO_TCP, unix.TCP_KEEPIDLE, 5},
		{"TCP_KEEPINTVL", unix.IPPROTO_TCP, unix.TCP_KEEPINTVL, 2},
		{"TCP_KEEPCNT", unix.IPPROTO_TCP, unix.TCP_KEEPCNT, 3},
	} {
		var got int
		if e := raw.Control(func(fd uintptr) { got, err = unix.GetsockoptInt(int(fd), o.level, o.option) }); e != nil || err != nil || got != o.want {
			t.Errorf("%s is %d, want %d; %v %v", o.name, got, o.want, e, err)
		}
	}
}

// A database on a Unix socket has no such options.
func TestUnixSocket(t *testing.T) {
	path := t.TempDir() + "/s"
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, err := Dialer(time.Second, 10*time.Second).DialContext(t.Context(), "unix", path)
	if err != nil {
		t.Fatal(err)
	}
	_ = c.Close()
}
