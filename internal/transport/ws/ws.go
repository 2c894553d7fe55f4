package ws

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/skein-im/skein/wire"
	"github.com/skein-im/skein/wire/netio"
)

// maxHeaderBytes bounds a request's header; a browser with cookies of the same
// host needs some.
const maxHeaderBytes = 16 << 10

// Transport opens ws:// and wss:// listeners. The zero value is ready.
type Transport struct{}

// Listen opens the URL's host and port. With a path other than / only that path
// is served. wss:// needs o.TLS.
func (Transport) Listen(ctx context.Context, u *url.URL, o wire.ListenOptions) (wire.Listener, error) {
	switch u.Scheme {
	case "ws":
	case "wss":
		if o.TLS == nil {
			return nil, fmt.Errorf("listen on %s: wss:// needs a certificate", u)
		}
	default:
		return nil, fmt.Errorf("listen on %s: the ws transport knows ws:// and wss:// only", u)
	}
	if u.Port() == "" {
		return nil, fmt.Errorf("listen on %s: a port is needed", u)
	}
	lc := net.ListenConfig{KeepAliveConfig: net.KeepAliveConfig{
		Enable: true, Idle: 15 * time.Second, Interval: 15 * time.Second, Count: 4,
	}}
	tcp, err := lc.Listen(ctx, "tcp", u.Host)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", u, err)
	}
	// TCP_NODELAY is on by default in Go.
	var ln net.Listener = netio.Listen(tcp, o.Log)
	if u.Scheme == "wss" {
		config := o.TLS.Clone()
		config.NextProtos = []string{"http/1.1"} // an upgrade needs it
		ln = tls.NewListener(ln, config)
	}
	return newListener(ln, u.Path, o), nil
}

// listener serves the upgrade on a port of its own.
type listener struct {
	ln     net.Listener
	path   string
	o      wire.ListenOptions
	server *http.Server
	once   sync.Once
}

func newListener(ln net.Listener, path string, o wire.ListenOptions) *listener {
	log := o.Log
	if log == nil {
		log = slog.Default()
	}
	return &listener{ln: ln, path: path, o: o, server: &http.Server{
		ReadHeaderTimeout: o.Timeout(), // bounds the TLS handshake too
		WriteTimeout:      o.Timeout(), // ends with the upgrade
		IdleTimeout:       o.Timeout(),
		MaxHeaderBytes:    maxHeaderBytes,
		// Everybody can make these lines: failed handshakes and the like.
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}}
}

func (l *listener) Addr() net.Addr { return l.ln.Addr() }

func (l *listener) Serve(serve func(wire.Conn)) error {
	upgrade := Handler(l.o, serve)
	l.server.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if l.path != "" && l.path != "/" && r.URL.Path != l.path {
			http.NotFound(w, r)
			return
		}
		upgrade.ServeHTTP(w, r)
	})
	err := l.server.Serve(l.ln)
	if errors.Is(err, http.ErrServerClosed) || errors.Is(err, net.ErrClosed) {
		return nil
	}
	return fmt.Errorf("accept on %s: %w", l.ln.Addr(), err)
}

// Close also ends connections whose upgrade is not done.
func (l *listener) Close() error {
	var err error
	l.once.Do(func() {
		err = l.ln.Close()
		_ = l.server.Close()
	})
	return err
}
