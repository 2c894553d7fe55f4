package netio

import (
	"errors"
	"log/slog"
	"net"
	"sync"
	"time"
)

const (
	firstPause = 5 * time.Millisecond
	lastPause  = time.Second
)

// errScarce: what file descriptors are left are not for connections.
var errScarce = errors.New("file descriptors run short: a connection was closed")

// Listener accepts for ever: when the system has no file descriptors or memory
// for another connection it waits and tries again instead of failing. The last
// descriptors (1/16 of them, from 64 to 1,024) are kept for what the process has to open
// besides: a connection that would take one of those is closed at once, and others are
// taken again when there is room.
type Listener struct {
	net.Listener
	log    *slog.Logger
	once   sync.Once
	closed chan struct{}
}

// Listen wraps ln. A nil log is the default one.
func Listen(ln net.Listener, log *slog.Logger) *Listener {
	if log == nil {
		log = slog.Default()
	}
	return &Listener{Listener: ln, log: log, closed: make(chan struct{})}
}

// Accept waits for the next connection. It fails with net.ErrClosed after
// Close, and with what cannot pass by waiting.
func (l *Listener) Accept() (net.Conn, error) {
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		conn, err := l.Listener.Accept()
		switch {
		case err == nil && !scarce(conn):
			return conn, nil
		case err == nil:
			_ = conn.Close()
			err = errScarce
		}
		select {
		case <-l.closed:
			return nil, net.ErrClosed
		default:
		}
		if passing := interface{ Temporary() bool }(nil); err != errScarce && (!errors.As(err, &passing) || !passing.Temporary()) {
			return nil, err
		}
		if err == errScarce {
			pause = firstPause // the next may come as soon as one has gone
		}
		l.log.Warn("cannot accept a connection, trying again", "address", l.Addr().String(), "pause", pause, "error", err)
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-l.closed:
			timer.Stop()
			return nil, net.ErrClosed
		}
	}
}

// Close stops accepting.
func (l *Listener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}
