// Package nats is the bus over NATS: a server within this process, in a cluster
// with the other nodes', or one that runs elsewhere.
//
// It must not know what a message means, and only it knows NATS.
//
// How a message goes: Publish → outbox (bounded) → writer → client → own server
// → route → the peer's server → its client → incoming (a channel, throttled) →
// pump → bus.Inbox (bounded) → Handler. The client and the server can block for
// as long as a peer's socket does; the outbox stands before them so that Publish
// cannot. The inbox stands behind them so that the Handler may.
//
// Goroutines of a Bus, beside the client's and the server's: the writer, the
// pump, the inbox's, and with an embedded server one that watches the routes.
// None per subscription. Locks: outbox.mu, routes.mu and those of the inbox are
// leaves; nothing is called while one is held.
//
// Invariants:
//   - One publisher's messages reach one subscriber in order: there is one
//     connection at every hop. PoolSize is 1, because with more the server could
//     one day choose the connection by subject; today it does by account, and
//     there is one account.
//   - incoming never overflows: no more is read from the connection while it is
//     half full, and one read cannot fill the other half.
//   - Lost("route …") for a peer that came (back) is called after that peer has
//     shown that it knows this node's interest, so what it publishes after Lost
//     arrives. The proof is a question on a subject that no user can name; it
//     travels behind the interest on the same connection.
//   - Lost("reconnected") is called after the server has confirmed the interest.
//   - Nothing is said to an end that has not shown a certificate of the nodes'
//     authority, nor heard from it, in either direction: links, also those to an
//     external NATS, are TLS 1.3 and both ends are verified (links.go). Routes
//     begin with TLS; an external server says its INFO before.
package nats

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	client "github.com/nats-io/nats.go"

	"github.com/skein-im/skein/internal/bus"
)

// Options say which NATS. Either Listen or URL is given.
type Options struct {
	// Listen is the host:port where an embedded server waits for its peers' routes.
	// An empty host is every address, port 0 any free port (Bus.Addr tells).
	Listen string
	// Advertise is the host:port that peers are given for this node if it is not the
	// one they would see, as behind a port mapping.
	Advertise string
	// Peers are host:port of other nodes. One that works is enough: the others are
	// found through it.
	Peers []string
	// Secret is what the nodes of a cluster share: certificates are made of it, unless
	// there are others. One of the two is needed.
	Secret       string
	Certificates Certificates

	// URL is an external NATS: nats:// or tls://, several with commas, with
	// user:password@ or token@. Both mean TLS. With certificates of the secret the
	// server has one made by Issue, with given ones its certificate names its host.
	URL string
	// Credentials is the path of a .creds file for an external NATS.
	Credentials string

	// Name is this node's in logs and in the reasons of Lost. Needed.
	Name   string
	Logger *slog.Logger
	// QueueMessages and QueueBytes bound what waits for the Handler and, again, what
	// waits for NATS. The defaults are bus's.
	QueueMessages, QueueBytes int
}

// Times. A peer or server that is silently gone is noticed after
// pingEvery*pingsOut, and all waiting for a socket ends after writeDeadline.
const (
	pingEvery     = 800 * time.Millisecond
	pingsOut      = 2
	writeDeadline = 2 * time.Second
	closeDeadline = time.Second
)

// reconnectBuffer is what the client keeps while it has no connection, in bytes.
const reconnectBuffer = 1 << 20

// Bus is a bus.Bus over NATS.
type Bus struct {
	opts   Options
	log    *slog.Logger
	inbox  *bus.Inbox
	out    *outbox
	in     *incoming
	conn   *client.Conn
	server *embedded // nil: external
	routes *routes   // nil: external

	closing   atomic.Bool
	closeOnce sync.Once
	stop      chan struct{}
	running   sync.WaitGroup
}

var _ bus.Bus = (*Bus)(nil)

// Open starts a Bus whose messages go to the handler. With an embedded server it
// does not wait for peers; with an external one it fails if that cannot be
// reached before ctx ends.
func Open(ctx context.Context, opts Options, handler bus.Handler) (*Bus, error) {
	if (opts.Listen == "") == (opts.URL == "") {
		return nil, errors.New("bus: either an address to listen on or the URL of a NATS server is needed")
	}
	if opts.Name == "" {
		return nil, errors.New("bus: the node needs a name")
	}
	b := &Bus{opts: opts, log: opts.Logger, stop: make(chan struct{})}
	if b.log == nil {
		b.log = slog.New(slog.DiscardHandler)
	}
	if opts.Listen != "" {
		server, err := startServer(opts, b.log)
		if err != nil {
			return nil, fmt.Errorf("bus: %w", err)
		}
		b.server = server
	}
	b.in = newIncoming()
	b.out = newOutbox(opts.QueueMessages, opts.QueueBytes, b.log)
	b.inbox = bus.NewInbox(handler, opts.QueueMessages, opts.QueueBytes)
	if err := b.connect(ctx); err != nil {
		b.in.stop()
		b.inbox.Close()
		if b.server != nil {
			b.server.stop()
		}
		return nil, fmt.Errorf("bus: connect: %w", err)
	}
	b.running.Go(b.pump)
	b.running.Go(func() { b.out.run(b.conn, b.in.messages) })
	return b, b.joinRoutes()
}

// joinRoutes starts to watch the routes of an embedded server.
func (b *Bus) joinRoutes() error {
	if b.server == nil {
		return nil
	}
	b.routes = newRoutes(b.server.ID(), b.inbox, b.log)
	if err := b.subscribeRoutes(); err != nil {
		b.Close()
		return fmt.Errorf("bus: %w", err)
	}
	b.running.Go(func() { b.routes.watch(b.server.current, b.tell, b.stop) })
	return nil
}

// connect opens the client's connection and waits until it stands.
func (b *Bus) connect(ctx context.Context) error {
	o := client.GetDefaultOptions()
	o.Name = b.opts.Name
	o.NoEcho = true
	o.MaxReconnect = -1
	o.ReconnectWait = 100 * time.Millisecond
	o.ReconnectJitter = 100 * time.Millisecond
	o.ReconnectBufSize = reconnectBuffer
	o.FlusherTimeout = writeDeadline
	o.PingInterval = pingEvery
	o.MaxPingsOut = pingsOut
	o.SkipSubjectValidation = true // ValidSubject is stricter
	o.IgnoreAuthErrorAbort = true  // a password that is being changed is no reason to stay away
	o.DisconnectedErrCB = func(_ *client.Conn, err error) {
		if !b.closing.Load() {
			b.log.Warn("bus: disconnected", "err", err)
		}
	}
	o.ReconnectedCB = func(c *client.Conn) { b.reconnected(c) }
	o.AsyncErrorCB = func(_ *client.Conn, _ *client.Subscription, err error) { b.failed(err) }
	if b.server != nil {
		o.InProcessServer = inProcess{b.server.Server, b.in}
	} else {
		o.Url = b.opts.URL
		o.Servers = splitURLs(b.opts.URL)
		o.CustomDialer = dialer{b.in}
		ring, err := ringOf(b.opts)
		if err != nil {
			return err
		}
		name := NodeName
		if b.opts.Certificates.given() {
			name = ""
		}
		// A server that offers no TLS is told nothing, not even the password.
		o.Secure = true
		if o.TLSConfig, err = clientTLS(ring, name); err != nil {
			return err
		}
		if b.opts.Credentials != "" {
			if err := client.UserCredentials(b.opts.Credentials)(&o); err != nil {
				return err
			}
		}
	}
	o.Timeout = writeDeadline
	for {
		conn, err := o.Connect()
		if err == nil {
			b.conn = conn
			if n := conn.MaxPayload(); n < bus.MaxMessage {
				b.log.Warn("bus: the NATS server refuses large messages, they will be lost", "max_payload", n, "needed", bus.MaxMessage)
			}
			return nil
		}
		// A server that refuses us will go on doing so.
		if errors.Is(err, client.ErrAuthorization) || b.server != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return errors.Join(err, ctx.Err())
		case <-time.After(o.ReconnectWait):
		}
	}
}

// reconnected runs on the client's goroutine for callbacks.
func (b *Bus) reconnected(c *client.Conn) {
	// The client has sent its subscriptions again. Once the server answers, it has
	// them; until then a message could be lost after Lost.
	for !b.closing.Load() && c.FlushTimeout(writeDeadline) != nil {
		if !c.IsConnected() {
			return // and it will come again
		}
	}
	if !b.closing.Load() {
		b.log.Info("bus: reconnected", "server", c.ConnectedUrlRedacted())
		b.inbox.Lost("reconnected")
	}
}

// failed takes errors that the client tells on the side.
func (b *Bus) failed(err error) {
	if b.closing.Load() {
		return
	}
	b.log.Error("bus: NATS", "err", err)
	if errors.Is(err, client.ErrSlowConsumer) {
		b.inbox.Lost(bus.SlowConsumer)
	}
}

// pump takes messages from the client, which must never wait for the Handler.
func (b *Bus) pump() {
	for {
		select {
		case <-b.stop:
			return
		case m := <-b.in.messages:
			b.in.took()
			if m.Sub.Subject[0] == '$' {
				b.routes.message(m.Sub.Subject, m.Data, b.tell)
				continue
			}
			// The subscription's subject: the message's own is the same once more.
			b.inbox.Push(m.Sub.Subject, m.Data)
		}
	}
}

// Publish is bus.Bus's.
func (b *Bus) Publish(subject string, data []byte) {
	if bus.ValidSubject(subject) && len(data) <= bus.MaxMessage {
		b.out.publish(subject, data)
	}
}

// Flush is bus.Bus's.
func (b *Bus) Flush() { b.out.flush() }

// Subscribe is bus.Bus's.
func (b *Bus) Subscribe(subject string) error {
	if !bus.ValidSubject(subject) {
		return fmt.Errorf("%w: %.100q", bus.ErrSubject, subject)
	}
	return b.out.want(subject, true)
}

// Unsubscribe is bus.Bus's.
func (b *Bus) Unsubscribe(subject string) {
	_ = b.out.want(subject, false) // closed: nothing is subscribed
}

// tell sends a message of the bus's own.
func (b *Bus) tell(subject string, data []byte) {
	b.out.publish(subject, data)
	b.out.flush()
}

// subscribeRoutes takes interest in what peers ask and answer.
func (b *Bus) subscribeRoutes() error {
	for _, subject := range b.routes.subjects() {
		if err := b.out.want(subject, true); err != nil {
			return err
		}
	}
	return nil
}

// Addr is the address where an embedded server waits for routes; nil for an
// external one.
func (b *Bus) Addr() net.Addr {
	if b.server == nil {
		return nil
	}
	return b.server.ClusterAddr()
}

// Dropped is how many messages found the queue to the Handler, or to NATS, full.
func (b *Bus) Dropped() (in, out uint64) { return b.inbox.Dropped(), b.out.count() }

// Close is bus.Bus's. It takes as long as the Handler does, and where NATS takes
// nothing, a few times writeDeadline.
func (b *Bus) Close() error {
	b.closeOnce.Do(func() {
		b.closing.Store(true)
		b.out.close()
		b.out.waitIdle(closeDeadline)
		// The answer means that the server has passed on what it was given.
		_ = b.conn.FlushTimeout(closeDeadline) // what cannot be sent in time is lost
		close(b.stop)
		b.in.stop()
		b.conn.Close()
		if b.server != nil {
			b.server.stop()
		}
		b.running.Wait()
		b.inbox.Close()
	})
	return nil
}
