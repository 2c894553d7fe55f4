package transporttest

import (
	"bytes"
	"runtime"
	"testing"

	"github.com/skein-im/skein/wire"
	"github.com/skein-im/skein/wire/netio"
)

// Poller returns a poller for ListenOptions that ends with the test.
func Poller(t testing.TB) *netio.Poller {
	t.Helper()
	p, err := netio.NewPoller()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p
}

// parking: with a poller, a connection over a socket of the operating system
// waits without a goroutine (on Linux). Any other says no and is read on.
func parking(t *testing.T, s Subject) {
	conn, peer := serve(t, s, wire.ListenOptions{Poller: Poller(t)}).connect(t, wire.ProtobufName)
	parks := s.Parks && runtime.GOOS == "linux"
	parker, ok := conn.(wire.Parker)
	if !ok {
		t.Fatal("no wire.Parker")
	}
	resumed := make(chan struct{}, 10)
	park := func() bool { return parker.Park(func() { resumed <- struct{}{} }) }
	receive := func(want ...[]byte) {
		t.Helper()
		for _, w := range want {
			if m, err := conn.ReadMessage(); err != nil || !bytes.Equal(m, w) {
				t.Fatalf("%q, %v, want %q", m, err, w)
			}
		}
	}
	for i := range 3 {
		if got := park(); got != parks {
			t.Fatalf("Park = %v, want %v", got, parks)
		}
		one, two := pattern(5+i), pattern(300+i)
		send(t, peer, append(peer.Frame(one), peer.Frame(two)...))
		if parks {
			<-resumed
		}
		receive(one)
		if conn.Buffered() && park() {
			t.Fatal("it parks although the next message is there")
		}
		receive(two)
	}
	parker.Nudge()
	if parks {
		if m, err := conn.ReadMessage(); err != wire.ErrNudged {
			t.Fatalf("after a nudge: %q, %v", m, err)
		}
	}
	send(t, peer, peer.Frame(pattern(7)))
	receive(pattern(7))
	if !parks {
		return
	}
	if !park() {
		t.Fatal("it does not park again")
	}
	_ = conn.Close("", "")
	<-resumed
	if m, err := conn.ReadMessage(); err == nil || err == wire.ErrNudged {
		t.Fatalf("after Close: %q, %v", m, err)
	}
	if park() {
		t.Fatal("it parks after Close")
	}
	if len(resumed) > 0 {
		t.Error("resumed twice")
	}
}
