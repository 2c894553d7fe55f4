package soak

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"time"

	"github.com/skein-im/skein/wire"
)

// link carries whole messages. read belongs to one goroutine, write to one.
type link interface {
	read() ([]byte, error)
	write(message []byte) error
	// deadline bounds reads and writes from now on; the zero time lifts it.
	deadline(t time.Time) error
	close() error
}

// frameLimit is what a client accepts of a server: more than any server sends.
const frameLimit = 16 << 20

// writeTimeout bounds one write.
const writeTimeout = 10 * time.Second

// dialLink connects to ws://host/path or tcp://host.
func dialLink(ctx context.Context, rawURL string, codec wire.Codec) (link, error) {
	u, err := url.Parse(rawURL)
	if err != nil {
		return nil, err
	}
	var d net.Dialer
	nc, err := d.DialContext(ctx, "tcp", u.Host)
	if err != nil {
		return nil, err
	}
	switch u.Scheme {
	case "tcp":
		conn, err := wire.OpenStream(nc, codec.Name())
		if err != nil {
			return nil, err
		}
		conn.SetReadLimit(frameLimit)
		return &streamLink{nc, conn}, nil
	case "ws":
		l, err := openWebSocket(nc, u, codec)
		if err != nil {
			nc.Close()
			return nil, err
		}
		return l, nil
	}
	nc.Close()
	return nil, fmt.Errorf("soak: no raw client for %s", rawURL)
}

// hostOf is the address in a URL.
func hostOf(rawURL string) string {
	u, err := url.Parse(rawURL)
	if err != nil {
		return rawURL
	}
	return u.Host
}

// streamLink is the length-prefixed framing.
type streamLink struct {
	nc   net.Conn
	conn wire.Conn
}

func (l *streamLink) read() ([]byte, error)      { return l.conn.ReadMessage() }
func (l *streamLink) deadline(t time.Time) error { return l.nc.SetDeadline(t) }
func (l *streamLink) close() error               { return l.nc.Close() }

func (l *streamLink) write(message []byte) error {
	return l.conn.Write(l.conn.AppendMessage(nil, message), time.Now().Add(writeTimeout))
}
