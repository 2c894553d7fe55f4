package ws

import (
	"net"
	"sync"

	"github.com/skein-im/skein/wire"
	"github.com/skein-im/skein/wire/netio"
)

// helloLimit is what a message may have before the Hello (SPEC §1.5).
const helloLimit = 16 << 10

// conn is the server's side of a WebSocket after its handshake.
type conn struct {
	sock *netio.Socket
	info wire.ConnInfo

	// These belong to the reader.
	limit     int
	fragments []byte
	plain     *[]byte // an inflated message
	pongs     []byte
	readErr   error

	// writer is the right to write; it guards out, rest and closeWritten.
	writer sync.Mutex
	out    outgoing
	// rest is the unwritten part of control frames that are begun.
	rest []byte

	control control

	// The small ones together: a connection is to have 256 bytes.
	closeWritten bool
	pongCount    uint8 // the reader's
	binary       bool
}

func newConn(nc net.Conn, early []byte, codec string, binary, deflate bool, poller *netio.Poller) *conn {
	s := netio.New(nc, poller)
	s.Prefill(early)
	return &conn{
		sock:   s,
		info:   wire.ConnInfo{Codec: codec, Framing: framingName(binary, deflate), RemoteAddr: s.RemoteAddr(), Deflate: deflate},
		binary: binary,
		limit:  helloLimit,
	}
}

func (c *conn) Info() wire.ConnInfo { return c.info }

// framingName names how messages are framed: those of deflated connections are deflated
// once for all of them.
func framingName(binary, deflate bool) string {
	switch {
	case binary && deflate:
		return "ws-binary-deflate"
	case binary:
		return "ws-binary"
	case deflate:
		return "ws-text-deflate"
	}
	return "ws-text"
}
