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

func newConn(nc net.Conn, early []byte, codec string, binary bool, poller *netio.Poller) *conn {
	s := netio.New(nc, poller)
	s.Prefill(early)
	framing := "ws-text"
	if binary {
		framing = "ws-binary"
	}
	return &conn{
		sock:   s,
		info:   wire.ConnInfo{Codec: codec, Framing: framing, RemoteAddr: s.RemoteAddr()},
		binary: binary,
		limit:  helloLimit,
	}
}

func (c *conn) Info() wire.ConnInfo { return c.info }
