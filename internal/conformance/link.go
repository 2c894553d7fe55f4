package conformance

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/coder/websocket"

	"github.com/skein-im/skein/wire"
)

// link carries messages; read fails with the end.
type link interface {
	read() ([]byte, error)
	write(message []byte) error
	// other writes a message of the other kind (text or binary).
	other(message []byte) error
	bytes(b []byte) error
	// announce begins a message of n bytes and sends as much as the peer takes.
	announce(n int)
	close()
}

// wsLink is a WebSocket.
type wsLink struct {
	ws   *websocket.Conn
	ctx  context.Context
	kind websocket.MessageType
}

// dialWS opens a WebSocket. One that offers to deflate must be answered so, or not at
// all (SPEC 1.8).
func dialWS(ctx context.Context, url, codec string, deflate bool) (link, int, error) {
	o := &websocket.DialOptions{Subprotocols: []string{codec}}
	if deflate {
		o.CompressionMode, o.CompressionThreshold = websocket.CompressionNoContextTakeover, 1
	}
	ws, resp, err := websocket.Dial(ctx, url, o)
	if err != nil {
		if resp != nil && resp.StatusCode != http.StatusSwitchingProtocols {
			return nil, resp.StatusCode, nil
		}
		return nil, 0, err
	}
	ws.SetReadLimit(-1)
	l := &wsLink{ws, ctx, websocket.MessageText}
	if codec == wire.ProtobufName {
		l.kind = websocket.MessageBinary
	}
	return l, 0, nil
}

func (l *wsLink) read() ([]byte, error) {
	kind, b, err := l.ws.Read(l.ctx)
	if err == nil && kind != l.kind {
		err = fmt.Errorf("a message of kind %v", kind)
	}
	return b, err
}

func (l *wsLink) write(b []byte) error { return l.ws.Write(l.ctx, l.kind, b) }
func (l *wsLink) other(b []byte) error { return l.ws.Write(l.ctx, 3-l.kind, b) }
func (l *wsLink) bytes([]byte) error   { return errors.New("bytes is for tcp") }
func (l *wsLink) announce(n int)       { _ = l.write([]byte(strings.Repeat(" ", n))) } // it may be closed meanwhile
func (l *wsLink) close()               { _ = l.ws.CloseNow() }

// tcpLink is a stream of length-prefixed messages.
type tcpLink struct{ nc net.Conn }

// longestFrame is more than any frame may have: who announces more sends no frames.
const longestFrame = 1 << 26

func dialTCP(ctx context.Context, address, codec string) (link, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	var nc net.Conn
	if u.Scheme == "tls" {
		nc, err = new(tls.Dialer).DialContext(ctx, "tcp", u.Host)
	} else {
		nc, err = new(net.Dialer).DialContext(ctx, "tcp", u.Host)
	}
	if err != nil {
		return nil, err
	}
	if until, ok := ctx.Deadline(); ok {
		if err := nc.SetDeadline(until); err != nil {
			return nil, errors.Join(err, nc.Close())
		}
	}
	l := &tcpLink{nc}
	return l, l.write([]byte(codec))
}

func (l *tcpLink) read() ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(l.nc, head[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(head[:])
	if n == 0 || n > longestFrame {
		return nil, fmt.Errorf("a message of %d bytes (SPEC §1.1)", n)
	}
	b := make([]byte, n)
	_, err := io.ReadFull(l.nc, b)
	return b, err
}

func (l *tcpLink) write(b []byte) error {
	_, err := l.nc.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(b))), b...))
	return err
}

func (l *tcpLink) bytes(b []byte) error {
	_, err := l.nc.Write(b)
	return err
}

func (l *tcpLink) other([]byte) error { return errors.New("other is for ws") }
func (l *tcpLink) announce(n int)     { _ = l.bytes(binary.BigEndian.AppendUint32(nil, uint32(n))) }
func (l *tcpLink) close()             { _ = l.nc.Close() }
