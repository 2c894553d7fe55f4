package skein

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"

	"github.com/coder/websocket"

	"github.com/skein-im/skein/wire"
)

// dialer connects a client through net.Pipe, for synctest.
func (f *fake) dialer() DialFunc {
	return func(context.Context, string, string) (net.Conn, error) {
		a, b := net.Pipe()
		f.wg.Go(func() { f.serveStream(b) })
		return a, nil
	}
}

func (f *fake) serveStream(c net.Conn) {
	defer c.Close()
	r := bufio.NewReader(c)
	read := func() ([]byte, error) {
		var head [4]byte
		if _, err := io.ReadFull(r, head[:]); err != nil {
			return nil, err
		}
		b := make([]byte, binary.BigEndian.Uint32(head[:]))
		_, err := io.ReadFull(r, b)
		return b, err
	}
	name, err := read()
	if err != nil {
		return
	}
	f.serve(string(name), read, func(b []byte) error {
		_, err := c.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(b))), b...))
		return err
	}, func() { c.Close() })
}

// listenTCP and listenWS are for the tests over real sockets.
func (f *fake) listenTCP() string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		f.t.Fatal(err)
	}
	f.acceptStreams(l)
	return "tcp://" + l.Addr().String()
}

func (f *fake) acceptStreams(l net.Listener) {
	f.wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			f.wg.Go(func() { f.serveStream(c) })
		}
	})
	f.t.Cleanup(func() { l.Close(); f.stop() })
}

func (f *fake) listenWS() string {
	s := httptest.NewServer(f.upgrade())
	f.t.Cleanup(func() { f.stop(); s.Close() })
	return "ws" + s.URL[len("http"):] + "/ws"
}

// listenTLS opens a wss:// and a tls:// listener with a certificate of the tests' own authority.
func (f *fake) listenTLS() (wss, tlsURL string, client *tls.Config) {
	s := httptest.NewTLSServer(f.upgrade())
	l, err := tls.Listen("tcp", "127.0.0.1:0", s.TLS)
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(s.Close)
	f.acceptStreams(l)
	client = s.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
	return "wss" + s.URL[len("https"):] + "/ws", "tls://" + l.Addr().String(), client
}

func (f *fake) upgrade() http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		c, err := websocket.Accept(w, r, &websocket.AcceptOptions{
			Subprotocols: []string{wire.ProtobufName, wire.JSONName}, CompressionMode: websocket.CompressionNoContextTakeover,
		})
		if err != nil {
			return
		}
		defer c.CloseNow()
		typ := websocket.MessageText
		if c.Subprotocol() == wire.ProtobufName {
			typ = websocket.MessageBinary
		}
		ctx := context.Background()
		f.serve(c.Subprotocol(), func() ([]byte, error) {
			got, b, err := c.Read(ctx)
			if err == nil && got != typ {
				err = fmt.Errorf("message type %v", got)
			}
			return b, err
		}, func(b []byte) error { return c.Write(ctx, typ, b) }, func() { c.CloseNow() })
	}
}
