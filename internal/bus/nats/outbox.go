package nats

import (
	"log/slog"
	"sync"
	"time"

	client "github.com/nats-io/nats.go"

	"github.com/skein-im/skein/internal/bus"
)

const (
	// gather is how many bytes wait for a Flush at most.
	gather = 32 << 10
	// keepBytes and keepOrders are the sizes of buffers that are kept for later.
	keepBytes  = 1 << 20
	keepOrders = 8192
)

// order is one thing for the writer to do: to publish data[from:to], or, if to
// is negative, to look what is wanted of the subject.
type order struct {
	subject  string
	from, to int
}

// interest is what is known of one subject.
type interest struct {
	sub    *client.Subscription // the writer's; nil: none
	wanted bool
	queued bool // there is an order to look
}

// outbox is the bounded queue before the client, whose calls may block. What is
// published and what is wanted goes through it in the order of the calls.
type outbox struct {
	maxOrders, maxBytes int
	log                 *slog.Logger

	mu        sync.Mutex
	wake      sync.Cond
	orders    []order
	data      []byte
	ready     bool
	taken     int // bytes it took
	interests map[string]interest
	dropped   uint64
	dropping  bool
	closed    bool
	idle      chan struct{} // closed when the writer has ended
}

func newOutbox(messages, bytes int, log *slog.Logger) *outbox {
	if messages <= 0 {
		messages = bus.DefaultQueueMessages
	}
	if bytes <= 0 {
		bytes = bus.DefaultQueueBytes
	}
	o := &outbox{
		maxOrders: messages, maxBytes: max(bytes, bus.MaxMessage),
		log:       log,
		interests: map[string]interest{},
		idle:      make(chan struct{}),
	}
	o.wake.L = &o.mu
	return o
}

// publish queues a copy of data, or drops it.
func (o *outbox) publish(subject string, data []byte) {
	o.mu.Lock()
	if o.closed {
		o.mu.Unlock()
		return
	}
	if len(o.orders) >= o.maxOrders || o.taken+len(o.data)+len(data) > o.maxBytes {
		o.dropped++
		first := !o.dropping
		o.dropping = true
		o.start()
		o.mu.Unlock()
		if first {
			o.log.Warn("bus: NATS does not take what is published, messages are dropped")
		}
		return
	}
	from := len(o.data)
	o.data = append(o.data, data...)
	o.orders = append(o.orders, order{subject, from, len(o.data)})
	if len(o.data) >= gather {
		o.start()
	}
	o.mu.Unlock()
}

// flush lets the writer have what is queued.
func (o *outbox) flush() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.start()
}

// start wakes the writer if there is anything. mu is held.
func (o *outbox) start() {
	if !o.ready && len(o.orders) > 0 {
		o.ready = true
		o.wake.Signal()
	}
}

// want takes or ends an interest. Both are known at once and done by the writer.
func (o *outbox) want(subject string, yes bool) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return bus.ErrClosed
	}
	i, known := o.interests[subject]
	if i.wanted == yes || !known && !yes {
		return nil
	}
	i.wanted = yes
	if !i.queued {
		i.queued = true
		o.orders = append(o.orders, order{subject, 0, -1})
		o.start()
	}
	o.interests[subject] = i
	return nil
}

// count is the number of messages that were dropped.
func (o *outbox) count() uint64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.dropped
}

// close ends the writer once it has done what is queued.
func (o *outbox) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	o.wake.Signal()
}

// waitIdle waits until the writer has ended, or the time has.
func (o *outbox) waitIdle(most time.Duration) {
	timeout := time.NewTimer(most)
	defer timeout.Stop()
	select {
	case <-o.idle:
	case <-timeout.C:
	}
}

// run is the writer. Its calls of the client may block, for writeDeadline at
// most each.
func (o *outbox) run(conn *client.Conn, in chan *client.Msg) {
	defer close(o.idle)
	var orders []order
	var data []byte
	for {
		ok := o.take(&orders, &data)
		for _, d := range orders {
			if d.to < 0 {
				o.settle(conn, in, d.subject)
				continue
			}
			// An error is a message lost: there is no connection, and the client's buffer
			// is full or it is closed.
			_ = conn.Publish(d.subject, data[d.from:d.to])
		}
		if !ok {
			return
		}
	}
}

// take swaps the queue for the writer's empty buffers. The last take returns
// false.
func (o *outbox) take(orders *[]order, data *[]byte) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.taken = 0
	for !o.ready && !o.closed {
		o.wake.Wait()
	}
	clear(*orders) // let go of the subjects
	oldOrders, oldData := (*orders)[:0], (*data)[:0]
	if cap(oldOrders) > keepOrders {
		oldOrders = nil
	}
	if cap(oldData) > keepBytes {
		oldData = nil
	}
	*orders, *data = o.orders, o.data
	o.orders, o.data = oldOrders, oldData
	o.taken = len(*data)
	o.ready, o.dropping = false, false
	return !o.closed
}

// settle makes the client's subscription what is wanted. Only the writer calls
// it, so a subscription is in nobody else's hands.
func (o *outbox) settle(conn *client.Conn, in chan *client.Msg, subject string) {
	o.mu.Lock()
	i := o.interests[subject]
	i.queued = false
	o.interests[subject] = i
	if !i.wanted && i.sub == nil {
		delete(o.interests, subject)
	}
	o.mu.Unlock()
	switch {
	case i.wanted && i.sub == nil:
		sub, err := conn.ChanSubscribe(subject, in)
		if err != nil {
			// The connection is closed: by Close, as it is never given up otherwise.
			o.log.Debug("bus: subscribe", "subject", subject, "err", err)
			return
		}
		o.done(subject, sub)
	case !i.wanted && i.sub != nil:
		if err := i.sub.Unsubscribe(); err != nil {
			o.log.Debug("bus: unsubscribe", "subject", subject, "err", err)
		}
		o.done(subject, nil)
	}
}

// done notes the client's subscription. What is wanted may have changed
// meanwhile; then there is an order for it.
func (o *outbox) done(subject string, sub *client.Subscription) {
	o.mu.Lock()
	defer o.mu.Unlock()
	i := o.interests[subject]
	i.sub = sub
	if sub == nil && !i.wanted && !i.queued {
		delete(o.interests, subject)
		return
	}
	o.interests[subject] = i
}
