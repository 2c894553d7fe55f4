package ws

import (
	"testing"

	"github.com/skein-im/skein/internal/transport/transporttest"
	"github.com/skein-im/skein/wire"
)

func BenchmarkIdleConnections(b *testing.B) {
	o := options()
	o.Poller = transporttest.Poller(b)
	l, err := Transport{}.Listen(b.Context(), parse("ws://127.0.0.1:0"), o)
	if err != nil {
		b.Fatal(err)
	}
	hello := "GET /ws HTTP/1.1\r\nHost: x\r\n" + upgradeHeader + "Sec-WebSocket-Protocol: " + wire.ProtobufName + "\r\n\r\n"
	transporttest.BenchmarkIdle(b, l, []byte(hello), true, frameBytes(fin|bin, make([]byte, 200)))
}
