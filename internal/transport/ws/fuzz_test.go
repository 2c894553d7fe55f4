package ws

import (
	"slices"
	"testing"

	"github.com/skein-im/skein/internal/transport/transporttest"
	"github.com/skein-im/skein/wire"
)

// FuzzWS: whatever a peer sends, and in whatever pieces it arrives, the same
// messages come out and the same is answered; never more bytes than went in; and
// memory stays within a small multiple of the input.
func FuzzWS(f *testing.F) {
	f.Add(frameBytes(0x81, []byte("hello")), uint8(1))
	f.Add(append(frameBytes(0x01, []byte("a")), frameBytes(0x80, []byte("b"))...), uint8(3))
	f.Add(append(frameBytes(0x89, []byte("ping")), frameBytes(0x88, []byte("\x03\xe8bye"))...), uint8(2))
	f.Add(frameBytes(0x81, make([]byte, 300)), uint8(7))
	f.Add(announce(0x81, 1<<40), uint8(0))
	f.Add([]byte{0x81, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0}, uint8(0))
	f.Fuzz(func(t *testing.T, data []byte, chunk uint8) {
		run := func(chunk int, binary bool) (summary string, answers []byte) {
			bound := 128<<10 + uint64(32*len(data))
			cost, ok := transporttest.CostsAtMost(bound, func() {
				script := transporttest.NewScript(slices.Clone(data), chunk)
				conn := newConn(script, nil, wire.JSONName, binary, false, nil)
				conn.SetReadLimit(1 << 20)
				var n int
				if summary, n = transporttest.Transcript(conn); n > len(data) {
					t.Fatalf("%d bytes of messages out of %d", n, len(data))
				}
				answers = script.Written()
			})
			if !ok {
				t.Fatalf("%d bytes cost %d bytes of memory", len(data), cost)
			}
			return summary, answers
		}
		for _, binary := range []bool{false, true} {
			want, _ := run(0, binary)
			got, written := run(int(chunk), binary)
			if got != want {
				t.Fatalf("in pieces of %d:\n%s\nat once:\n%s", chunk, got, want)
			}
			var out outgoing
			if out.advance(written); !out.between() {
				t.Fatalf("the answers end within a frame: %x", written)
			}
		}
	})
}
