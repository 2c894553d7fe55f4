package skein

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/skein-im/skein/wire"
)

type keyInContext struct{}

// WithKey gives the call that is made with ctx an idempotency key of the program's
// own, so that the program can make it again after a crash, or much later, and it is
// carried out once: the repeat gets the first answer for 24 hours (SPEC §8). It is for
// one call of a method that changes something, Post, Register and Login included; use
// ctx for no second one. A key has 16 to 64 of A-Z, a-z, 0-9, "_" and "-", and is
// random: NewKey, or a UUID. The server refuses another one with ErrInvalidArgument,
// and the key of another request with wire.CodeIdConflict.
//
// Without WithKey each call has a key of its own, for the repeats that the client makes.
func WithKey(ctx context.Context, key string) context.Context {
	return context.WithValue(ctx, keyInContext{}, key)
}

// NewKey makes an idempotency key for WithKey.
func NewKey() string { return NewDeviceID() }

// keyFor is the key of a call: the program's, or one of its own if it needs one.
func keyFor(ctx context.Context, method string) string {
	repeat := wire.RepeatOf(method)
	key, given := ctx.Value(keyInContext{}).(string)
	switch {
	case repeat == wire.RepeatReads:
		return ""
	case given:
		return key
	case repeat == wire.RepeatSame:
		return ""
	}
	return NewKey()
}

// Call runs any method of services.proto, e.g. "skein.v1.GroupService/CreateGroup",
// over the connection; it waits for one if need be. An *Error is the server's
// answer.
//
// What changes something is sent with an idempotency key: one of the call's own, or
// that of WithKey. If the connection is lost before the answer, or the server does
// not know what came of the call, it is asked again with the same key until ctx ends,
// and is carried out once. Of a server that takes no keys (its Welcome tells) only what
// changes nothing, or does the same again, is asked again. ErrConnectionLost: it may or
// may not have been carried out.
func (c *Client) Call(ctx context.Context, method string, req, resp proto.Message) error {
	return c.call(ctx, &try{method: method, key: keyFor(ctx, method), safe: wire.RepeatOf(method) != wire.RepeatKey}, req, resp)
}

// mostLost is how often a call may lose its connection: then it is the reason.
const mostLost = 8

// try is a call that may be asked for several times.
type try struct {
	method, key string
	body        []byte
	// safe: a repeat does no harm, whatever the server makes of keys.
	safe bool
	// sent: the server may have it; keyed: it came to servers only that keep keys.
	// The core writes both, before an attempt is awaited.
	sent, keyed bool
	// answered: the last attempt was. unsure: it may have been carried out, and nobody
	// said so.
	answered, unsure bool
	lost, refused    int
	// ready, if set, is asked before each attempt in place of waiting for a connection.
	ready func(ctx context.Context) error
}

func (c *Client) call(ctx context.Context, t *try, req, resp proto.Message) (err error) {
	if t.body, err = proto.Marshal(req); err != nil {
		return fmt.Errorf("skein: %s: %w", t.method, err)
	}
	for {
		err := c.ask(ctx, t, resp)
		if ctx.Err() == nil {
			if wait, again := t.again(err, c.o.backoff); again {
				if err = c.pause(ctx, wait); err == nil {
					continue
				}
				t.answered = false
			}
		}
		if err != nil && t.unsure && !t.answered && !errors.Is(err, ErrConnectionLost) {
			err = fmt.Errorf("%w: %w", ErrConnectionLost, err)
		}
		return err
	}
}

// again tells whether a call that ended with err is to be asked for again, and when.
func (t *try) again(err error, backoff func(int) time.Duration) (wait time.Duration, again bool) {
	var e *Error
	lost := errors.Is(err, ErrConnectionLost)
	switch {
	case lost && !t.sent:
		return 0, true
	case !t.safe && !t.keyed:
		return 0, false
	case lost:
		t.unsure = true
		t.lost++
		return 0, t.lost < mostLost
	case errors.As(err, &e) && (e.Code == wire.CodeUnknown || t.unsure && e.Action() == wire.ActionRetry):
		t.unsure = true
		t.refused++
		return max(e.RetryAfter, backoff(t.refused)), true
	}
	return 0, false
}

// ask asks for a call once.
func (c *Client) ask(ctx context.Context, t *try, resp proto.Message) error {
	t.answered = false
	ready := c.WaitConnected
	if t.ready != nil {
		ready = t.ready
	}
	if err := ready(ctx); err != nil {
		return err
	}
	cl := &call{reply: make(chan callResult, 1)}
	var n uint32
	if err := c.do(ctx, func(k *core) { n = k.ask(t, cl) }); err != nil {
		return err
	}
	select {
	case r := <-cl.reply:
		t.answered = !errors.Is(r.err, ErrConnectionLost)
		if r.err != nil {
			return r.err
		}
		return proto.Unmarshal(r.body, resp)
	case <-ctx.Done():
		_ = c.do(context.Background(), func(k *core) { delete(k.calls, n) })
		return ctx.Err()
	case <-c.stopped:
		return c.end
	}
}

// ask sends a call, unless a server that takes no keys would carry it out once more.
func (k *core) ask(t *try, cl *call) (n uint32) {
	keeps := k.limits.GetIdempotencyKeys() > 0
	switch {
	case k.link == nil:
		cl.reply <- callResult{err: ErrConnectionLost}
		return 0
	case t.sent && !t.safe && !keeps:
		t.keyed = false
		cl.reply <- callResult{err: ErrConnectionLost}
		return 0
	}
	n = k.nextNumber()
	f := wire.NewClientFrame(&wire.Call{Number: n, Method: t.method, Request: &wire.Call_Body{Body: t.body}, IdempotencyKey: t.key})
	if !k.send(f) {
		cl.reply <- callResult{err: invalid("%s: the request cannot be encoded", t.method)}
		return 0
	}
	cl.at = k.o.now()
	k.calls[n] = cl
	t.sent, t.keyed = true, keeps
	k.owes()
	return n
}

// pause waits, but not beyond the end of ctx or of the client.
func (c *Client) pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-c.stopped:
		return c.end
	}
}
