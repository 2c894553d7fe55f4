package wire_test

import (
	"bytes"
	"net"
	"path/filepath"
	"slices"
	"testing"

	"github.com/skein-im/skein/internal/transport/transporttest"
	"github.com/skein-im/skein/wire"
)

// FuzzLen32: as FuzzWS, for messages framed by their length.
func FuzzLen32(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x05hello\x00\x00\x00\x01x"), uint8(1))
	f.Add([]byte("\x00\x00\x00\x00"), uint8(0))
	f.Add([]byte("\xff\xff\xff\xff????"), uint8(2))
	f.Add(append([]byte{0, 0, 0x30, 0}, make([]byte, 0x3000)...), uint8(200))
	f.Fuzz(func(t *testing.T, data []byte, chunk uint8) {
		run := func(chunk int) (summary string) {
			bound := 128<<10 + uint64(32*len(data))
			cost, ok := transporttest.CostsAtMost(bound, func() {
				conn := wire.NewStreamConn(transporttest.NewScript(slices.Clone(data), chunk), wire.ProtobufName)
				conn.SetReadLimit(1 << 20)
				var n int
				if summary, n = transporttest.Transcript(conn); n > len(data) {
					t.Fatalf("%d bytes of messages out of %d", n, len(data))
				}
			})
			if !ok {
				t.Fatalf("%d bytes cost %d bytes of memory", len(data), cost)
			}
			return summary
		}
		if want, got := run(0), run(int(chunk)); got != want {
			t.Fatalf("in pieces of %d:\n%s\nat once:\n%s", chunk, got, want)
		}
	})
}

func TestStreamRefusesLengthZero(t *testing.T) {
	conn := wire.NewStreamConn(transporttest.NewScript(make([]byte, 4), 0), wire.JSONName)
	if _, err := conn.ReadMessage(); !bytes.Contains([]byte(err.Error()), []byte("protocol_error")) {
		t.Fatalf("a message of length 0: %v", err)
	}
}

// TestConformanceOfAnyStream: what a transport gets from NewStreamListener, here
// on Unix sockets as in examples/transport-unix.
func TestConformanceOfAnyStream(t *testing.T) {
	transporttest.Run(t, transporttest.Subject{
		Listen: func(t *testing.T, o wire.ListenOptions) wire.Listener {
			ln, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
			if err != nil {
				t.Fatal(err)
			}
			return wire.NewStreamListener(ln, o)
		},
		Connect: func(t *testing.T, l wire.Listener) net.Conn {
			nc, err := net.Dial("unix", l.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			return nc
		},
		Handshake: transporttest.StreamHandshake,
		Announce:  transporttest.StreamAnnounce,
		TryWrites: true,
		Orderly:   true,
		Parks:     true,
	})
}
