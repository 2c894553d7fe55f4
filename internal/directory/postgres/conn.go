package postgres

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"time"

	"github.com/skein-im/skein/internal/pg"
)

// errSilent: the server holds the connection and does not answer.
var errSilent = errors.New("the server does not answer")

// dialer connects within a time, notices a peer that is gone, and one that is
// there but silent for longer than any statement may take; 0 waits for ever.
func dialer(timeout, silence time.Duration) func(context.Context, string, string) (net.Conn, error) {
	d := pg.Dialer(timeout, userTimeout)
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := d.DialContext(ctx, network, address)
		if err != nil || silence <= 0 {
			return c, err
		}
		w := &watched{Conn: c, silence: silence}
		w.timer = time.AfterFunc(silence, w.giveUp)
		w.timer.Stop()
		return w, nil
	}
}

// watched is a connection whose reads end: the driver reads only when it has
// asked something. The deadlines are the driver's, for its callers' ends.
type watched struct {
	net.Conn
	silence time.Duration
	timer   *time.Timer
	silent  atomic.Bool
}

func (w *watched) giveUp() {
	w.silent.Store(true)
	_ = w.Conn.Close() // which ends the read
}

func (w *watched) Read(b []byte) (int, error) {
	w.timer.Reset(w.silence)
	n, err := w.Conn.Read(b)
	w.timer.Stop()
	if err != nil && w.silent.Load() {
		err = errSilent
	}
	return n, err
}

// Close of what giveUp or the driver closed before is no error: a node that ends
// well said that it did not, because the pool closes all its connections.
func (w *watched) Close() error {
	w.timer.Stop()
	if err := w.Conn.Close(); !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}
