// Package tcp is the transport of the schemes tcp:// and tls://: messages
// framed by their length on a TCP connection, in the clear or under TLS. It
// owns the listening socket and its options; framing, handshake and reading are
// wire's (NewStreamListener), which every transport over byte streams shares.
//
// Goroutines: one per accepted connection, which does the handshake and then
// runs serve; none while it is parked. Locks: none.
package tcp

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/url"
	"time"

	"github.com/skein-im/skein/wire"
)

// Transport opens tcp:// and tls:// listeners. The zero value is ready.
type Transport struct{}

// Listen opens the URL's host and port. tls:// needs o.TLS.
func (Transport) Listen(ctx context.Context, u *url.URL, o wire.ListenOptions) (wire.Listener, error) {
	switch u.Scheme {
	case "tcp":
	case "tls":
		if o.TLS == nil {
			return nil, fmt.Errorf("listen on %s: tls:// needs a certificate", u)
		}
	default:
		return nil, fmt.Errorf("listen on %s: the tcp transport knows tcp:// and tls:// only", u)
	}
	if u.Port() == "" {
		return nil, fmt.Errorf("listen on %s: a port is needed", u)
	}
	if u.Path != "" && u.Path != "/" {
		return nil, fmt.Errorf("listen on %s: %s:// has no path", u, u.Scheme)
	}
	lc := net.ListenConfig{KeepAliveConfig: net.KeepAliveConfig{
		Enable: true, Idle: 15 * time.Second, Interval: 15 * time.Second, Count: 4,
	}}
	ln, err := lc.Listen(ctx, "tcp", u.Host)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", u, err)
	}
	// TCP_NODELAY is on by default in Go.
	if u.Scheme == "tls" {
		ln = tls.NewListener(ln, o.TLS)
	}
	return wire.NewStreamListener(ln, o), nil
}
