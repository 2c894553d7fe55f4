package skein

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"sync"
	"sync/atomic"

	"github.com/skein-im/skein/wire"
)

// Client is a user's device: one connection, one store. Safe for concurrent use.
type Client struct {
	o   *options
	url *url.URL

	cmds     chan func(*core)
	stopped  chan struct{} // closed when the core has ended
	consumer chan struct{} // held by the one running Events loop
	hub      *hub
	user     atomic.Pointer[string]
	closing  atomic.Bool
	wg       sync.WaitGroup
	ctx      context.Context // ends with the core; dialing hangs on it
	cancel   context.CancelFunc
	end      error // why it ended; set before stopped is closed
	typing   sync.Map
	web      web
}

// Dial connects to a server at ws://host/ws, wss://host/ws, tcp://host:port or
// tls://host:port. It returns when the conversation list (or what changed in
// it) is in the store, or when the server refused for good. Where no server is found it
// says why with an *UnreachedError: at once if waiting does not mend it (no such host, no
// Skein at that path or port, a wrong certificate), otherwise after WithDialTimeout. A server
// that asks to wait is waited for. From then on the client reconnects by itself. ctx bounds
// Dial only.
func Dial(ctx context.Context, rawURL string, opts ...Option) (*Client, error) {
	u, err := url.Parse(rawURL)
	if err != nil {
		return nil, fmt.Errorf("skein: %w", err)
	}
	o := defaultOptions()
	for _, opt := range opts {
		opt(o)
	}
	switch {
	case o.token == nil:
		return nil, errors.New("skein: Dial needs WithToken or WithTokenSource")
	case u.Host == "":
		return nil, fmt.Errorf("skein: %q has no host", rawURL)
	}
	switch u.Scheme {
	case "ws", "wss", "tcp", "tls":
	default:
		return nil, fmt.Errorf("skein: unknown scheme %q: want ws, wss, tcp or tls", u.Scheme)
	}
	if o.store == nil {
		o.store = NewMemoryStore()
	}
	snap, err := o.store.Load(ctx)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrStore, err)
	}
	c := &Client{
		o: o, url: u,
		cmds: make(chan func(*core), 64), stopped: make(chan struct{}),
		consumer: make(chan struct{}, 1), hub: newHub(), web: web{tokens: make(chan struct{}, 1)},
	}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	k := newCore(c, snap)
	c.wg.Go(k.run)
	if o.offline {
		return c, nil
	}
	if err := c.first(ctx); err != nil {
		last := c.lastErr()
		_ = c.Close()
		if ctx.Err() != nil && last != nil {
			return nil, fmt.Errorf("skein: dial: %w (last attempt: %w)", err, last)
		}
		return nil, err
	}
	return c, nil
}

// WaitConnected returns nil when the client is connected, or the error it was
// stopped or closed with.
func (c *Client) WaitConnected(ctx context.Context) error {
	done := make(chan error, 1)
	if err := c.do(ctx, func(k *core) { k.whenConnected(done) }); err != nil {
		return err
	}
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	case <-c.stopped:
		return c.end
	}
}

func (c *Client) lastErr() error {
	var err error
	_ = c.do(context.Background(), func(k *core) { err = k.stateErr })
	return err
}

// do runs f on the core's goroutine and returns once what it changed is stored.
func (c *Client) do(ctx context.Context, f func(*core)) error {
	done := make(chan error, 1)
	cmd := func(k *core) {
		f(k)
		k.after = append(k.after, func(err error) { done <- err })
	}
	select {
	case c.cmds <- cmd:
	case <-c.stopped:
		return c.end
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-done:
		return err
	case <-c.stopped:
	}
	select {
	case err := <-done:
		return err
	default:
		return c.end // it was never run
	}
}

// Close sends what is waiting, for at most two seconds, says goodbye and ends.
// It returns the error the client ended with before, if it did: ErrStore.
func (c *Client) Close() error {
	c.closing.Store(true)
	_ = c.do(context.Background(), func(k *core) { k.beginClose() })
	<-c.stopped
	c.wg.Wait()
	c.web.close()
	if errors.Is(c.end, ErrClosed) {
		return nil
	}
	return c.end
}

// fail ends the client because of its store.
func (c *Client) fail(err error) {
	_ = c.do(context.Background(), func(k *core) { k.die(fmt.Errorf("%w: %w", ErrStore, err)) })
}

// handled saves that the program has handled the feed up to n.
func (c *Client) handled(n uint64) {
	err := c.do(context.Background(), func(k *core) {
		k.handled = max(k.handled, n)
		k.batch.FeedHandled = k.handled
	})
	if err != nil {
		// The core is gone. If the store is closed as well, the last events come again.
		_ = c.o.store.Apply(context.Background(), &Batch{FeedHandled: n})
	}
}

// User is the id of the user the store belongs to, "" before the first connect.
func (c *Client) User() string { return c.userID() }

func (c *Client) userID() string {
	if s := c.user.Load(); s != nil {
		return *s
	}
	return ""
}

// State returns the connection's state, and why it is not connected.
func (c *Client) State() (State, error) {
	s, reason := StateClosed, c.end
	if err := c.do(context.Background(), func(k *core) { s, reason = k.state, k.stateErr }); err != nil {
		return StateClosed, err
	}
	return s, reason
}

// Reconnect connects at once instead of after the back-off: the network is
// back, or somebody dealt with what stopped the client. Without effect while connected.
func (c *Client) Reconnect() {
	_ = c.do(context.Background(), func(k *core) { k.reconnectNow() })
}

// messageOf turns an entry into a Message with its ticks.
func (c *Client) messageOf(e *wire.Entry) *Message {
	m := messageOf(e, c.userID())
	if m.Status == StatusSent {
		_ = c.do(context.Background(), func(k *core) {
			if cv := k.convs[m.Conversation]; cv != nil {
				m.tick(cv.rec.PeerReceived, cv.rec.PeerRead)
			}
		})
	}
	return m
}

// Conversations returns the conversation list, newest activity first, without
// the user's own feed.
func (c *Client) Conversations(ctx context.Context) ([]Summary, error) {
	var out []Summary
	err := c.do(ctx, func(k *core) { k.perish(); out = k.summaries() })
	return out, err
}

// Outbox returns the messages that are not stored by the server: pending and failed.
func (c *Client) Outbox(ctx context.Context) ([]*Message, error) {
	var out []*Message
	err := c.do(ctx, func(k *core) { out = k.outboxMessages("") })
	return out, err
}

// Retry sends a failed message again, after those already waiting.
func (c *Client) Retry(ctx context.Context, id MessageID) error {
	var err error
	if e := c.do(ctx, func(k *core) { err = k.retry(id) }); e != nil {
		return e
	}
	return err
}

// Discard forgets a failed message.
func (c *Client) Discard(ctx context.Context, id MessageID) error {
	var err error
	if e := c.do(ctx, func(k *core) { err = k.discard(id) }); e != nil {
		return e
	}
	return err
}

// WatchPresence asks for PresenceEvents of these users instead of those asked
// before; it is repeated after every reconnect.
func (c *Client) WatchPresence(ctx context.Context, users ...string) error {
	for _, u := range users {
		if !validID(u) {
			return invalid("%q is not a user id", u)
		}
	}
	return c.do(ctx, func(k *core) {
		k.watched = users
		if k.state == StateConnected {
			k.send(wire.NewClientFrame(&wire.WatchPresence{Users: users}))
		}
	})
}

// SetBackground tells the server that the program is in the background, or back: a
// client in the background gets everything but PresenceEvents, and does not make
// its user present to others. It is repeated after every reconnect.
func (c *Client) SetBackground(ctx context.Context, on bool) error {
	return c.do(ctx, func(k *core) {
		if k.background == on {
			return
		}
		k.background = on
		k.send(wire.NewClientFrame(&wire.Background{On: on}))
	})
}
