package transporttest

import (
	"bufio"
	"encoding/binary"
	"io"
	"net"
)

// StreamPeer is the client's end of a transport with length-prefixed messages,
// written without the code under test.
type StreamPeer struct {
	net.Conn
	in *bufio.Reader
}

// StreamHandshake names the codec.
func StreamHandshake(nc net.Conn, codec string) (Peer, error) {
	p := &StreamPeer{Conn: nc, in: bufio.NewReader(nc)}
	_, err := nc.Write(p.Frame([]byte(codec)))
	return p, err
}

// StreamAnnounce is the beginning of a message.
func StreamAnnounce(length uint64) []byte {
	return binary.BigEndian.AppendUint32(nil, uint32(length))
}

// Frame implements Peer.
func (p *StreamPeer) Frame(payload []byte) []byte {
	return append(StreamAnnounce(uint64(len(payload))), payload...)
}

// Next implements Peer.
func (p *StreamPeer) Next() ([]byte, error) {
	var length [4]byte
	if _, err := io.ReadFull(p.in, length[:]); err != nil {
		return nil, err
	}
	m := make([]byte, binary.BigEndian.Uint32(length[:]))
	_, err := io.ReadFull(p.in, m)
	return m, err
}
