package gateway

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

const (
	// bufSize is what a pooled buffer begins with, bufKeep the largest that goes
	// back to the pool.
	bufSize = 4 << 10
	bufKeep = 64 << 10
	// maxDeferred is how many batches pushes may wait for an ack to leave with. There
	// are that many in a few milliseconds, or the load is so high that saving writes
	// is what makes them shorter.
	maxDeferred = 8
	// writeChunk is what a peer must take within Limits.Write.
	writeChunk = 16 << 10
)

// pools keep what is used again and again; nothing in them belongs to a session.
type pools struct {
	bufs, pushes, acks, receipts, frames, sends sync.Pool
}

func (p *pools) getBuf() *[]byte {
	if b, ok := p.bufs.Get().(*[]byte); ok {
		return b
	}
	b := make([]byte, 0, bufSize)
	return &b
}

func (p *pools) putBuf(b *[]byte) {
	if cap(*b) <= bufKeep {
		*b = (*b)[:0]
		p.bufs.Put(b)
	}
}

// outbox is what waits to be written to one connection, already framed.
//
// Contract:
//   - must frames (acks, errors, results, Welcome, Kick …) are always taken until
//     the outbox is ending; the session stops reading while more than the limit waits;
//   - push frames beyond the limit are dropped, and so are all further ones until
//     the queue has drained: then one Resync is queued (lagging);
//   - pushes alone wait for up to maxDeferred further Flushes while a send of the
//     session's is on its way: they leave in one write with its ack;
//   - before the Welcome (hold) pushes wait and nothing is written;
//   - order is kept; at most one goroutine writes at a time (writing);
//   - an empty outbox holds no buffer.
type outbox struct {
	mu sync.Mutex
	// shared is a frame many connections share, first in the queue; never written to.
	shared []byte
	// buf is the rest of the queue, a buffer of the pool.
	buf *[]byte
	// taken is how many bytes the writer has in its hands.
	taken    int
	inflight int32 // sends without an answer
	marking  int32 // marks without an answer
	// sends are the sends without an answer, in their order; holding counts the
	// answers among them that wait for their place (answers.go).
	sends   *[]*sending // nil before the first
	holding atomic.Int32
	// tellFrom is the number of the first position that may be told here, 0: none,
	// asksSync: none before the answer (position.go).
	tellFrom uint32
	hold     bool
	writing  bool
	lagging  bool
	// must: something is queued that is not a push. deferred is how many Flushes
	// have left the pushes for the next one.
	must     bool
	deferred uint8
	// ending: nothing more is taken; the connection closes when all is written,
	// graceful: and all sends are answered (until then acks are taken).
	ending   bool
	graceful bool
	closed   bool
	code     wire.Code
	reason   string
	// wake is closed when something changes that somebody waits for; nil if nobody does.
	wake chan struct{}
}

func (o *outbox) queued() int {
	n := len(o.shared) + o.taken
	if o.buf != nil {
		n += len(*o.buf)
	}
	return n
}

// room makes sure there is a buffer to append to. Caller holds mu.
func (o *outbox) room(p *pools) *[]byte {
	if o.buf == nil {
		o.buf = p.getBuf()
	}
	if o.shared != nil {
		*o.buf = append(*o.buf, o.shared...)
		o.shared = nil
	}
	return o.buf
}

// signal wakes those who wait. Caller holds mu.
func (o *outbox) signal() {
	if o.wake != nil {
		close(o.wake)
		o.wake = nil
	}
}

// waitWhile blocks while cond holds; cond runs under mu.
func (o *outbox) waitWhile(cond func() bool) {
	o.mu.Lock()
	for cond() {
		if o.wake == nil {
			o.wake = make(chan struct{})
		}
		wake := o.wake
		o.mu.Unlock()
		<-wake
		o.mu.Lock()
	}
	o.mu.Unlock()
}

// refuses tells that a must frame comes too late. Caller holds mu.
func (o *outbox) refuses() bool { return o.closed || (o.ending && !o.graceful) }

// put queues a must frame; payload is not framed yet.
func (s *session) put(t frameType, payload []byte) {
	s.ob.mu.Lock()
	if s.ob.refuses() {
		s.ob.mu.Unlock()
		return
	}
	buf := s.ob.room(&s.g.pools)
	*buf = s.conn.AppendMessage(*buf, payload)
	s.ob.must = true
	s.ob.mu.Unlock()
	s.g.metrics.framesOut[t].Add(1)
}

// push queues a droppable frame, framed already. share tells that the bytes
// may be kept.
func (s *session) push(t frameType, framed []byte, share bool) {
	o := &s.ob
	o.mu.Lock()
	if o.ending || o.closed || o.lagging {
		o.mu.Unlock()
		return
	}
	if o.queued()+len(framed) > s.g.o.Limits.QueueBytes {
		o.lagging = true
		o.missed()
		o.mu.Unlock()
		s.g.metrics.slowConsumers.Add(1)
		s.markDirty()
		return
	}
	if share && o.buf == nil && o.shared == nil {
		o.shared = framed
	} else {
		buf := o.room(&s.g.pools)
		*buf = append(*buf, framed...)
	}
	o.mu.Unlock()
	s.g.metrics.framesOut[t].Add(1)
	s.markDirty()
}

// release puts the Welcome before what was held and lets the queue be written.
func (s *session) release(welcome []byte) bool {
	o := &s.ob
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ending || o.closed {
		return false
	}
	held := o.queued()
	first := s.g.pools.getBuf()
	*first = s.conn.AppendMessage(*first, welcome)
	if held > 0 {
		rest := o.room(&s.g.pools)
		*first = append(*first, *rest...)
		s.g.pools.putBuf(rest)
	}
	o.buf = first
	o.hold = false
	o.must = true
	s.g.metrics.framesOut[frameWelcome].Add(1)
	return true
}

// take hands the queue's bytes to the caller, who becomes the writer. ok is
// false when there is nothing to write or somebody else writes.
func (s *session) take() (p []byte, buf *[]byte, ok bool) {
	o := &s.ob
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.writing || o.hold || o.closed || !s.next() {
		return nil, nil, false
	}
	o.writing = true
	p, buf = o.grab()
	return p, buf, true
}

// next tells whether there are bytes to write, after queueing the Resync that
// is due. Caller holds mu.
func (s *session) next() bool {
	o := &s.ob
	if o.shared != nil || o.buf != nil {
		s.addPosition()
		s.wantPlace()
		return true
	}
	if o.lagging && !o.ending {
		o.lagging = false
		if framed := s.kind.framed(s, frameResync, &wire.ServerFrame{Frame: &wire.ServerFrame_Resync{Resync: &wire.Resync{}}}); framed != nil {
			buf := o.room(&s.g.pools)
			*buf = append(*buf, framed...)
			s.g.metrics.framesOut[frameResync].Add(1)
			s.g.metrics.resyncs.Add(1)
			return true
		}
	}
	return false
}

// grab empties the queue into the writer's hands. Caller holds mu.
func (o *outbox) grab() (p []byte, buf *[]byte) {
	o.must, o.deferred = false, 0
	if o.shared != nil {
		p, o.shared = o.shared, nil
	} else {
		buf, o.buf = o.buf, nil
		p = *buf
	}
	o.taken = len(p)
	return p, buf
}

// waits reports whether what is queued had better wait for the next Flush:
// pushes of a session whose ack comes soon; and whether something that is no
// push is queued.
func (o *outbox) waits() (wait, must bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.inflight == 0 || o.must || o.deferred == maxDeferred || o.ending || o.hold || o.writing {
		return false, o.must || o.ending
	}
	o.deferred++
	return true, false
}

// flushOwn writes if the session itself has queued something; pushes are
// written by Flush.
func (s *session) flushOwn() {
	s.ob.mu.Lock()
	own := s.ob.must || s.ob.ending
	s.ob.mu.Unlock()
	if own {
		s.flush()
	}
}

// flush writes what the peer takes without waiting; the rest goes to a
// goroutine of its own. Any goroutine may call it.
func (s *session) flush() {
	p, buf, ok := s.take()
	if !ok {
		s.closeIfDone()
		return
	}
	for {
		n, err := s.conn.TryWrite(p)
		s.g.metrics.bytesOut.Add(uint64(max(n, 0)))
		s.g.metrics.writes.Add(1)
		switch {
		case err != nil:
			s.stopWriting(buf)
			s.abort(writeFailed(err))
			return
		case n < len(p):
			s.wrote(n)
			go s.writeOut(p[n:], buf)
			return
		}
		if p, buf, ok = s.more(buf); !ok {
			s.closeIfDone()
			return
		}
	}
}

// writeOut is the on-demand writer: it ends when the queue is empty. Serve
// waits for it.
func (s *session) writeOut(p []byte, buf *[]byte) {
	for ok := true; ok; p, buf, ok = s.more(buf) {
		for len(p) > 0 {
			n := min(len(p), writeChunk)
			if err := s.conn.Write(p[:n], time.Now().Add(s.g.o.Limits.Write)); err != nil {
				s.stopWriting(buf)
				s.abort(writeFailed(err))
				return
			}
			s.g.metrics.bytesOut.Add(uint64(n))
			s.g.metrics.writes.Add(1)
			p = p[n:]
			s.wrote(n)
		}
	}
	s.closeIfDone()
}

// wrote lets a reader that waits for room go on.
func (s *session) wrote(n int) {
	s.ob.mu.Lock()
	s.ob.taken = max(s.ob.taken-n, 0)
	s.ob.signal()
	s.ob.mu.Unlock()
}

// more gives back what was written and takes what has come since.
func (s *session) more(buf *[]byte) (p []byte, next *[]byte, ok bool) {
	if buf != nil {
		s.g.pools.putBuf(buf)
	}
	o := &s.ob
	o.mu.Lock()
	defer o.mu.Unlock()
	o.taken = 0
	o.signal()
	if o.closed || !s.next() {
		o.writing = false
		return nil, nil, false
	}
	p, next = o.grab()
	return p, next, true
}

func (s *session) stopWriting(buf *[]byte) {
	if buf != nil {
		s.g.pools.putBuf(buf)
	}
	s.ob.mu.Lock()
	s.ob.writing = false
	s.ob.taken = 0
	s.ob.signal()
	s.ob.mu.Unlock()
}

// closeIfDone closes the connection when it is ending and everything it waits
// for is done.
func (s *session) closeIfDone() {
	o := &s.ob
	o.mu.Lock()
	done := o.ending && !o.closed && !o.writing && o.shared == nil && o.buf == nil && (!o.graceful || o.inflight == 0)
	code, reason := o.code, o.reason
	o.mu.Unlock()
	if done {
		s.closeNow(code, reason)
	}
}

// finish ends the session: final (may be nil) is queued as the last frame, and
// the connection closes once everything queued is written, after at most
// within. graceful lets sends in flight be answered first. The first caller's
// reason is the one that is counted; false tells that it was not the first.
func (s *session) finish(cause string, code wire.Code, reason string, final *wire.ServerFrame, graceful bool, within time.Duration) bool {
	t, payload := frameNone, (*[]byte)(nil)
	if final != nil {
		t = serverFrameType(final)
		payload = s.encode(final)
	}
	o := &s.ob
	o.mu.Lock()
	if o.closed || (o.ending && (graceful || !o.graceful)) {
		o.mu.Unlock()
		return false
	}
	first := !o.ending
	o.ending, o.graceful, o.code, o.reason = true, graceful, code, reason
	if !graceful {
		s.g.asking.end(s)
	}
	if o.hold { // before the Welcome: nothing but the reason is told
		o.drop(&s.g.pools)
		o.hold = false
	}
	if payload != nil {
		buf := o.room(&s.g.pools)
		*buf = s.conn.AppendMessage(*buf, *payload)
	}
	o.signal()
	o.mu.Unlock()
	if payload != nil {
		s.g.pools.putBuf(payload)
		s.g.metrics.framesOut[t].Add(1)
	}
	if first {
		s.cause.CompareAndSwap(nil, &cause)
	}
	s.deadline.Store(s.g.wheel.now.Load() + s.g.wheel.ticks(within))
	s.g.wheel.schedule(s, s.g.wheel.ticks(within))
	s.flush()
	return true
}

// drop forgets what is queued. Caller holds mu.
func (o *outbox) drop(p *pools) {
	o.shared = nil
	if o.buf != nil {
		p.putBuf(o.buf)
		o.buf = nil
	}
}

// abort closes the connection at once.
func (s *session) abort(cause string, code im.Code) {
	s.cause.CompareAndSwap(nil, &cause)
	s.closeNow(wire.Code(code), "")
}

// closeNow closes the connection, once.
func (s *session) closeNow(code wire.Code, reason string) {
	o := &s.ob
	o.mu.Lock()
	if o.closed {
		o.mu.Unlock()
		return
	}
	o.closed = true
	o.ending = true
	s.g.asking.end(s)
	o.drop(&s.g.pools)
	o.signal()
	o.mu.Unlock()
	_ = s.conn.Close(code, reason) // the peer may be gone: nothing to tell then
}
