package pipe

import (
	"context"
	"net"
	"sync"

	"github.com/skein-im/skein/wire"
)

// Listener is a wire.Listener whose connections come from Dial.
type Listener struct {
	wire.Listener
	in *acceptor
}

// Listen opens a listener in memory.
func Listen(o wire.ListenOptions) *Listener {
	in := &acceptor{conns: make(chan net.Conn), closed: make(chan struct{})}
	return &Listener{Listener: wire.NewStreamListener(in, o), in: in}
}

// Dial returns the client's end of a new connection. The first message must
// name the codec: wire.OpenStream sends it.
func (l *Listener) Dial(ctx context.Context) (net.Conn, error) {
	server, client := Streams(Size)
	select {
	case l.in.conns <- server:
		return client, nil
	case <-l.in.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// acceptor hands the server's ends to a net.Listener's user.
type acceptor struct {
	conns  chan net.Conn
	once   sync.Once
	closed chan struct{}
}

func (a *acceptor) Accept() (net.Conn, error) {
	select {
	case c := <-a.conns:
		return c, nil
	case <-a.closed:
		return nil, net.ErrClosed
	}
}

func (a *acceptor) Close() error {
	a.once.Do(func() { close(a.closed) })
	return nil
}

func (a *acceptor) Addr() net.Addr { return addr("pipe") }
