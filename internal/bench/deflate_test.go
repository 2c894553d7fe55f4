package bench

import (
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/skein-im/skein/wire"
)

// What a deflating client writes is a frame of its own, marked, shorter, and comes to
// what was said; what is short, or would not become shorter, is sent as it is. A client
// that did not ask for it reads no mark.
func TestDeflatedMessages(t *testing.T) {
	long := wire.NewClientFrame(&wire.Typing{Conversation: strings.Repeat("long ", 200)})
	for name, c := range map[string]struct {
		deflate bool
		frame   *wire.ClientFrame
		marked  bool
	}{
		"long":    {true, long, true},
		"short":   {true, wire.NewClientFrame(&wire.Typing{Conversation: "x"}), false},
		"no wish": {false, long, false},
	} {
		here, there := net.Pipe()
		to := &conn{socket: here, codec: wire.Protobuf(), framing: newFraming(true, true, wire.Protobuf()), deflate: c.deflate}
		from := &conn{socket: there, framing: newFraming(true, false, wire.Protobuf()), deflate: c.deflate}
		for _, end := range []net.Conn{here, there} {
			_ = end.SetDeadline(time.Now().Add(10 * time.Second))
		}
		if err := to.queue(c.frame); err != nil {
			t.Fatal(err)
		}
		plain, err := to.codec.Append(nil, c.frame)
		if err != nil {
			t.Fatal(err)
		}
		if marked := to.out[0]&rsv1 != 0; marked != c.marked || c.marked && len(to.out) > len(plain)/3 {
			t.Errorf("%s: marked %v, %d bytes of %d", name, marked, len(to.out), len(plain))
		}
		done := make(chan error, 1)
		go func() { done <- to.flush() }()
		got, err := from.readMessage()
		if err != nil || string(got) != string(plain) {
			t.Errorf("%s: %v, %q", name, err, got)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
		_ = here.Close()
		_ = there.Close()
	}
}

// Only the answer that promises to keep nothing is taken for a yes.
func TestTookDeflate(t *testing.T) {
	for answer, want := range map[string]bool{
		"":           false,
		deflateOffer: true,
		"x-webkit":   false,
		"permessage-deflate; client_no_context_takeover;server_no_context_takeover": true,
		"permessage-deflate":                             false,
		"permessage-deflate; server_no_context_takeover": false,
	} {
		if got := tookDeflate(http.Header{"Sec-Websocket-Extensions": {answer}}); got != want {
			t.Errorf("%q: %v", answer, got)
		}
	}
}
