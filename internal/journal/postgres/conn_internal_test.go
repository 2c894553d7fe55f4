package postgres

import (
	"net"
	"testing"
	"time"
)

// The driver may leave a goroutine that reads from an idle connection. Looking at
// the connection must not wait for it: this once stopped every reader of the
// journal, one connection after the other.
func TestLookingBesideAReader(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	accepted := make(chan net.Conn, 1)
	go func() {
		c, _ := l.Accept()
		accepted <- c
	}()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	peer := <-accepted
	reads := make(chan struct{})
	go func() {
		close(reads)
		var b [1]byte
		_, _ = c.Read(b[:])
	}()
	<-reads
	time.Sleep(10 * time.Millisecond) // until it reads, mostly
	if suspicious(c) {
		t.Error("a quiet connection is suspicious")
	}
	peer.Close()
}
