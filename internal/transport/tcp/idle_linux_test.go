package tcp

import (
	"net/url"
	"testing"

	"github.com/skein-im/skein/internal/transport/transporttest"
	"github.com/skein-im/skein/wire"
)

func BenchmarkIdleConnections(b *testing.B) {
	l, err := Transport{}.Listen(b.Context(), &url.URL{Scheme: "tcp", Host: "127.0.0.1:0"}, wire.ListenOptions{Poller: transporttest.Poller(b)}.WithCodecs(wire.Protobuf()))
	if err != nil {
		b.Fatal(err)
	}
	var p transporttest.StreamPeer
	transporttest.BenchmarkIdle(b, l, p.Frame([]byte(wire.ProtobufName)), false, p.Frame(make([]byte, 200)))
}
