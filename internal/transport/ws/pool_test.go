package ws

import (
	"slices"
	"strings"
	"testing"

	"github.com/skein-im/skein/internal/transport/transporttest"
	"github.com/skein-im/skein/wire"
)

// Connections share the memory that messages are inflated in, one after the other:
// what one has read stays until it reads on, whatever the others do, and nothing of an
// earlier message is in a later one, also after one that could not be inflated.
func TestInflatedMessagesAreApart(t *testing.T) {
	text := func(c byte) string { return strings.Repeat(string(c), 600) }
	frame := func(c byte) []byte { return frameBytes(fin|rsv1Bit|bin, deflated(text(c))) }
	open := func(frames ...[]byte) *conn {
		c := newConn(transporttest.NewScript(slices.Concat(frames...), 0), nil, wire.ProtobufName, true, true, nil)
		c.SetReadLimit(1000)
		return c
	}
	for range 50 {
		first := open(frame('a'), frame('b'))
		got, err := first.ReadMessage()
		if err != nil || string(got) != text('a') {
			t.Fatalf("%.20q, %v", got, err)
		}
		if _, err := open(frameBytes(fin|rsv1Bit|bin, []byte("\xff\xff\xff"))).ReadMessage(); err == nil {
			t.Fatal("what is no deflate is a message")
		}
		first.forget() // it waits
		first.forget() // and once more, as who parks and reads on does
		var held [][]byte
		for _, x := range []byte("cdef") {
			m, err := open(frame(x)).ReadMessage()
			if err != nil {
				t.Fatal(err)
			}
			held = append(held, m)
		}
		for i, x := range []byte("cdef") {
			if string(held[i]) != text(x) {
				t.Fatalf("what was read as %.5q is %.5q after others read", text(x), held[i])
			}
		}
		if got, err := first.ReadMessage(); err != nil || string(got) != text('b') {
			t.Fatalf("%.20q, %v", got, err)
		}
	}
}
