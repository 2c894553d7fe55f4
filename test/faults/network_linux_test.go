package main

import (
	"errors"
	"net"
	"os"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// in runs f on a thread that is in the machine.
func in[T any](m *machine, f func() (T, error)) (v T, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		if err = m.enter(); err == nil {
			v, err = f()
		}
	}()
	<-done
	return v, err
}

// What is cut off vanishes, without a refusal to anybody, and arrives after all.
func TestCut(t *testing.T) {
	if os.Getenv("SKEIN_FAULTS") != "1" {
		t.Skip("makes network namespaces: only with SKEIN_FAULTS=1, as root")
	}
	runtime.LockOSThread() // and never unlocked: the thread ends with the test
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		t.Fatal(err)
	}
	network, err := newNetwork()
	if err != nil {
		t.Fatal(err)
	}
	var machines [3]*machine
	for i := range machines {
		if machines[i], err = network.machine(); err != nil {
			t.Fatal(err)
		}
		defer machines[i].close()
	}
	a, b, other := machines[0], machines[1], machines[2]
	l, err := in(b, func() (net.Listener, error) { return net.Listen("tcp", b.addr+":9000") })
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	dial := func(from *machine, within time.Duration) (net.Conn, error) {
		return in(from, func() (net.Conn, error) { return net.DialTimeout("tcp", b.addr+":9000", within) })
	}
	client, err := dial(a, 10*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	server, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	say := func(from, to net.Conn, within time.Duration) error {
		if _, err := from.Write([]byte{1}); err != nil {
			t.Fatal(err)
		}
		if err := to.SetReadDeadline(time.Now().Add(within)); err != nil {
			t.Fatal(err)
		}
		_, err := to.Read(make([]byte, 1))
		return err
	}
	if err := errors.Join(say(client, server, 10*time.Second), say(server, client, 10*time.Second)); err != nil {
		t.Fatal(err)
	}
	if err := a.cut(b); err != nil {
		t.Fatal(err)
	}
	for _, way := range [][2]net.Conn{{client, server}, {server, client}} {
		if err := say(way[0], way[1], 300*time.Millisecond); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("through the cut: %v", err)
		}
	}
	var timeout net.Error
	if _, err := dial(a, 300*time.Millisecond); !errors.As(err, &timeout) || !timeout.Timeout() {
		t.Errorf("a connection through the cut: %v", err)
	}
	c, err := dial(other, 10*time.Second)
	if err != nil {
		t.Fatalf("others are cut off, too: %v", err)
	}
	c.Close()
	if err := a.join(b); err != nil {
		t.Fatal(err)
	}
	for _, way := range [][2]net.Conn{{client, server}, {server, client}} {
		if err := say(way[0], way[1], 30*time.Second); err != nil {
			t.Errorf("after the cut: %v", err)
		}
	}
}
