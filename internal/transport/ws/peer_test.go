package ws

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"testing"

	"go.uber.org/goleak"

	"github.com/skein-im/skein/internal/transport/transporttest"
	"github.com/skein-im/skein/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// peer is a client written without the code under test. It sends any frame it
// is told to.
type peer struct {
	net.Conn
	in *bufio.Reader
	op byte
	// inflates: it asked for deflate.
	inflates bool
}

type wsFrame struct {
	op      byte
	fin     bool
	payload []byte
}

// statusError is a close frame as the client sees it.
type statusError int

func (e statusError) Error() string { return fmt.Sprintf("closed with %d", int(e)) }

func request(nc net.Conn, header string) (*http.Response, *bufio.Reader, error) {
	if _, err := fmt.Fprintf(nc, "GET /ws HTTP/1.1\r\nHost: 127.0.0.1\r\n%s\r\n", header); err != nil {
		return nil, nil, err
	}
	in := bufio.NewReader(nc)
	resp, err := http.ReadResponse(in, nil)
	return resp, in, err
}

const upgradeHeader = "Upgrade: websocket\r\nConnection: keep-alive, Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"

func handshake(nc net.Conn, codec string) (transporttest.Peer, error) {
	p, err := handshakeWith(nc, codec, "")
	if err != nil {
		return nil, err
	}
	return p, nil
}

func handshakeWith(nc net.Conn, codec, more string) (*peer, error) {
	resp, in, err := request(nc, upgradeHeader+more+"Sec-WebSocket-Protocol: "+codec+"\r\n")
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusSwitchingProtocols {
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = nc.Close()
		return nil, errors.New(resp.Status)
	}
	if got := resp.Header.Get("Sec-WebSocket-Protocol"); got != codec {
		return nil, fmt.Errorf("sub-protocol %q, want %q", got, codec)
	}
	// RFC 6455 §1.3: the answer to this key.
	if got := resp.Header.Get("Sec-WebSocket-Accept"); got != "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=" {
		return nil, fmt.Errorf("Sec-WebSocket-Accept %q", got)
	}
	op := byte(1) // what is refused is told in JSON
	if codec == wire.ProtobufName {
		op = 2
	}
	return &peer{Conn: nc, in: in, op: op}, nil
}

// frameBytes builds a masked frame; head is FIN, RSV and opcode.
func frameBytes(head byte, payload []byte) []byte {
	b := append([]byte{head}, announce(head, uint64(len(payload)))[1:]...)
	for i, c := range payload {
		b = append(b, c^mask[i%4])
	}
	return b
}

var mask = [4]byte{0x37, 0xfa, 0x21, 0x3d}

func announce(head byte, length uint64) []byte {
	b := []byte{head}
	switch {
	case length < 126:
		b = append(b, 0x80|byte(length))
	case length <= 0xffff:
		b = binary.BigEndian.AppendUint16(append(b, 0x80|126), uint16(length))
	default:
		b = binary.BigEndian.AppendUint64(append(b, 0x80|127), length)
	}
	return append(b, mask[:]...)
}

func (p *peer) Frame(payload []byte) []byte { return frameBytes(0x80|p.op, payload) }

// read returns the next frame, which must be one a server may send.
func (p *peer) read() (wsFrame, error) {
	var h [2]byte
	if _, err := io.ReadFull(p.in, h[:]); err != nil {
		return wsFrame{}, err
	}
	f := wsFrame{op: h[0] & 0xf, fin: h[0]&0x80 != 0}
	deflated := p.inflates && h[0]&0x70 == rsv1Bit && f.op < closeF
	if h[0]&0x70 != 0 && !deflated || h[1]&0x80 != 0 {
		return f, fmt.Errorf("the server sent a frame with header %x", h)
	}
	n := uint64(h[1])
	switch n {
	case 126:
		var l [2]byte
		if _, err := io.ReadFull(p.in, l[:]); err != nil {
			return f, err
		}
		n = uint64(binary.BigEndian.Uint16(l[:]))
	case 127:
		var l [8]byte
		if _, err := io.ReadFull(p.in, l[:]); err != nil {
			return f, err
		}
		n = binary.BigEndian.Uint64(l[:])
	}
	f.payload = make([]byte, n)
	_, err := io.ReadFull(p.in, f.payload)
	if err == nil && deflated {
		f.payload, err = undo(f.payload)
	}
	return f, err
}

// Next skips pongs.
func (p *peer) Next() ([]byte, error) {
	for {
		f, err := p.read()
		if err != nil {
			return nil, err
		}
		switch f.op {
		case p.op:
			return f.payload, nil
		case 10:
			continue
		case 8:
			return nil, closeOf(f.payload)
		}
		return nil, fmt.Errorf("an unexpected frame with opcode %d", f.op)
	}
}

func closeOf(payload []byte) error {
	if len(payload) < 2 {
		return statusError(1005)
	}
	status := int(binary.BigEndian.Uint16(payload))
	if code, ok := wire.CodeOf(status); ok {
		return &wire.CloseError{Code: code, Reason: string(payload[2:])}
	}
	if status == 1000 {
		return io.EOF
	}
	return statusError(status)
}

func parse(rawURL string) *url.URL {
	u, err := url.Parse(rawURL)
	if err != nil {
		panic(err)
	}
	return u
}

func listen(t *testing.T, rawURL string, o wire.ListenOptions) wire.Listener {
	t.Helper()
	l, err := Transport{}.Listen(context.Background(), parse(rawURL), o)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func dial(t *testing.T, l wire.Listener) net.Conn {
	t.Helper()
	nc, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return nc
}

func TestConformanceWS(t *testing.T) {
	transporttest.Run(t, transporttest.Subject{
		Listen: func(t *testing.T, o wire.ListenOptions) wire.Listener {
			return listen(t, "ws://127.0.0.1:0/ws", o)
		},
		Connect:   dial,
		Handshake: handshake,
		Announce:  func(n uint64) []byte { return announce(0x82, n) },
		TryWrites: true,
		Codes:     true,
		Parks:     true,
	})
}

func TestConformanceWSS(t *testing.T) {
	server, client := transporttest.TLS(t)
	transporttest.Run(t, transporttest.Subject{
		Listen: func(t *testing.T, o wire.ListenOptions) wire.Listener {
			o.TLS = server
			return listen(t, "wss://127.0.0.1:0", o)
		},
		Connect: func(t *testing.T, l wire.Listener) net.Conn {
			return tls.Client(dial(t, l), client)
		},
		Handshake: handshake,
		Announce:  func(n uint64) []byte { return announce(0x82, n) },
		Codes:     true,
	})
}
