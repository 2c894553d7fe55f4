package bus

import (
	"sync"
)

// Defaults of an Inbox.
const (
	DefaultQueueMessages = 65_536
	DefaultQueueBytes    = 32 << 20
)

// SlowConsumer is the reason that Lost gets after an Inbox dropped messages.
const SlowConsumer = "slow consumer"

// keep is the length of an Inbox's queue, in messages, that is kept for the
// next burst. Above it the memory is given back.
const keep = 8192

type message struct {
	subject string
	data    []byte
}

// Inbox is the bounded queue between what receives messages and a Handler, with
// the goroutine that calls the Handler.
//
// When a message does not fit, it and all that follow are dropped until the
// Handler has taken what waits; then Lost(SlowConsumer) is called, once, and the
// queue is open again. So the Handler is told after the last message that was
// dropped and before the first that was not, however slow it stays.
type Inbox struct {
	handler     Handler
	maxMessages int
	maxBytes    int

	mu       sync.Mutex
	wake     sync.Cond // queue, lost or closed has changed
	queue    []message
	messages int // not yet taken by the Handler, in the queue and out of it
	bytes    int
	lost     []string // reasons to tell before the next message
	overflow bool
	dropped  uint64
	closed   bool
	done     chan struct{}
}

// NewInbox starts an Inbox. Bounds of zero are the defaults. A bound of bytes
// smaller than MaxMessage keeps large messages out for ever.
func NewInbox(h Handler, maxMessages, maxBytes int) *Inbox {
	if maxMessages <= 0 {
		maxMessages = DefaultQueueMessages
	}
	if maxBytes <= 0 {
		maxBytes = DefaultQueueBytes
	}
	in := &Inbox{handler: h, maxMessages: maxMessages, maxBytes: maxBytes, done: make(chan struct{})}
	in.wake.L = &in.mu
	go in.run()
	return in
}

// Push queues a message. It keeps both arguments. It does not wait.
func (in *Inbox) Push(subject string, data []byte) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.closed {
		return
	}
	if in.overflow || in.messages >= in.maxMessages || in.bytes+len(data) > in.maxBytes {
		if !in.overflow && in.messages == 0 {
			in.wake.Signal() // nobody is there who would find the overflow
		}
		in.overflow = true
		in.dropped++
		return
	}
	in.messages++
	in.bytes += len(data)
	in.queue = append(in.queue, message{subject, data})
	if len(in.queue) == 1 {
		in.wake.Signal()
	}
}

// Lost has the Handler told that messages may have been lost, before any message
// that is pushed after the call. A reason that is already waiting is not told
// twice.
func (in *Inbox) Lost(reason string) {
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, r := range in.lost {
		if r == reason {
			return
		}
	}
	in.lost = append(in.lost, reason)
	in.wake.Signal()
}

// Dropped is the number of messages that did not fit.
func (in *Inbox) Dropped() uint64 {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.dropped
}

// Close ends the goroutine, drops what waits and returns when a running call of
// the Handler has.
func (in *Inbox) Close() {
	in.mu.Lock()
	in.closed = true
	in.wake.Signal()
	in.mu.Unlock()
	<-in.done
}

func (in *Inbox) run() {
	defer close(in.done)
	var batch []message
	for {
		lost, ok := in.take(&batch)
		if !ok {
			return
		}
		for _, reason := range lost {
			in.handler.Lost(reason)
		}
		for i := range batch {
			m := batch[i]
			batch[i] = message{}
			in.handler.Message(m.subject, m.data)
			if !in.taken(len(m.data)) {
				return
			}
		}
		if len(batch) > 0 {
			in.handler.Idle()
		}
	}
}

// take waits for something to tell and swaps the queue for the caller's empty
// one. It is called when the Handler has everything that was taken before, so an
// empty queue is a drained one.
func (in *Inbox) take(batch *[]message) (lost []string, ok bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	for !in.closed && len(in.queue) == 0 && len(in.lost) == 0 && !in.overflow {
		in.wake.Wait()
	}
	if in.closed {
		return nil, false
	}
	lost, in.lost = in.lost, nil
	if in.overflow && len(in.queue) == 0 {
		in.overflow = false
		lost = append(lost, SlowConsumer)
	}
	empty := (*batch)[:0]
	if cap(empty) > keep {
		empty = nil
	}
	*batch, in.queue = in.queue, empty
	return lost, true
}

// taken counts a message as handled and tells whether to go on.
func (in *Inbox) taken(bytes int) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.messages--
	in.bytes -= bytes
	return !in.closed
}
