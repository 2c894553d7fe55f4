package ws

import (
	"fmt"
	"net"
	"runtime"
	"testing"

	"github.com/skein-im/skein/internal/transport/transporttest"
	"github.com/skein-im/skein/wire"
)

// parkable returns both ends of a connection that can park.
func parkable(t *testing.T) (*conn, *peer) {
	t.Helper()
	served := make(chan wire.Conn, 1)
	o := options()
	o.Poller = transporttest.Poller(t)
	srv := upgradeServer(t, o, func(c wire.Conn) { served <- c })
	nc, err := net.Dial("tcp", srv.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = nc.Close() })
	p, err := handshake(nc, wire.JSONName)
	if err != nil {
		t.Fatal(err)
	}
	c := (<-served).(*conn)
	t.Cleanup(func() { _ = c.Close("", "") })
	return c, p.(*peer)
}

// read is the next message and its error, as one string.
func read(c *conn) <-chan string {
	got := make(chan string, 1)
	go func() {
		m, err := c.ReadMessage()
		got <- fmt.Sprint(string(m), err)
	}()
	return got
}

// TestNudgeWithinAMessage: what has come of a fragmented message is not lost.
func TestNudgeWithinAMessage(t *testing.T) {
	c, p := parkable(t)
	got := read(c)
	received := c.Received()
	for _, piece := range [][]byte{frameBytes(text, []byte("one ")), frameBytes(0, []byte("two ")), frameBytes(fin|ping, nil)} {
		_, _ = p.Write(piece)
		for received += uint64(len(piece)); c.Received() < received; {
			runtime.Gosched()
		}
		c.Nudge() // it waits for the next frame, or will
	}
	_, _ = p.Write(frameBytes(fin, []byte("three")))
	if m := <-got; m != "one two three<nil>" {
		t.Fatal(m)
	}
}

// TestPingWhileParked: it is answered although it is no message.
func TestPingWhileParked(t *testing.T) {
	c, p := parkable(t)
	resumed := make(chan struct{})
	if !c.Park(func() { close(resumed) }) {
		t.Fatal("it does not park")
	}
	_, _ = p.Write(frameBytes(fin|ping, []byte("hi")))
	<-resumed
	got := read(c)
	if f, err := p.read(); err != nil || f.op != opPong || string(f.payload) != "hi" {
		t.Fatalf("%+v, %v", f, err)
	}
	c.Nudge()
	if m := <-got; m != wire.ErrNudged.Error() {
		t.Fatal(m)
	}
}
