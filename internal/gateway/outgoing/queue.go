package outgoing

import (
	"errors"
	"log/slog"
	"net"
	"os"
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
	// marksUnderway is how many marks may be without an answer while more is read.
	marksUnderway = 128
	// writeChunk is what a peer must take within Options.Write.
	writeChunk = 16 << 10
)

// Queue is what waits to be written to one connection, already framed.
//
// Contract:
//   - must frames (acks, errors, results, Welcome, Kick …) are always taken until
//     the queue is ending; the session stops reading while more than the limit waits;
//   - push frames beyond the limit are dropped, and so are all further ones until
//     the queue has drained: then one Resync is queued (lagging);
//   - pushes alone wait for up to maxDeferred further Flushes while a send of the
//     session's is on its way: they leave in one write with its ack;
//   - from the registration to the Welcome (hold) pushes wait and nothing is written;
//   - order is kept; at most one goroutine writes at a time (writing);
//   - an empty queue holds no buffer.
type Queue struct {
	// Set by Begin, never changed after.
	sh    *Queues
	owner Owner
	Conn  wire.Conn
	Kind  *Kind
	ID    im.ConnectionID

	mu sync.Mutex
	// shared is a frame many connections share, first in the queue; never written to.
	shared []byte
	// buf is the rest of the queue, a buffer of the pool.
	buf *[]byte
	// taken is how many bytes the writer has in its hands.
	taken    int
	inflight int32 // sends without an answer
	marking  int32 // marks without an answer
	// sends are the sends without an answer; holding counts the answers among them
	// that wait for their place, until they are queued (answers.go).
	sends   *sends // nil before the first, never changed after
	holding atomic.Int32
	// tellFrom is the number of the first position that may be told here, 0: none,
	// asksSync: none before the answer (position.go).
	tellFrom uint32
	hold     bool
	doubted  bool // see doubt
	writing  bool
	lagging  bool
	// must: something is queued that is not a push. deferred is how many Flushes
	// have left the pushes for the next one.
	must     bool
	deferred uint8
	// ending: nothing more is taken; the connection closes when all is written,
	// graceful: and all sends and Calls are answered (until then answers are taken).
	ending   bool
	graceful bool
	closed   bool
	calling  int16     // Calls without an answer
	bye      *farewell // set with ending, unless it ended at once
	// wake is closed when something changes that somebody waits for; nil if nobody does.
	wake chan struct{}
	// place is where the client begins again, nil where that is not looked up.
	place *place
	// cause is why the connection ended, for the metrics; the first one counts.
	cause atomic.Pointer[string]

	// dirty: the next Flush sees to it. writer is which of the writers is this
	// queue's; queued tells in which of its queues it waits, guarded by the writer's mu.
	dirty  atomic.Bool
	writer uint16
	queued struct{ soon, later bool }
}

// farewell is what the connection is closed with.
type farewell struct {
	code   wire.Code
	reason string
	// final is the last frame, framed, while it waits for answers; nil otherwise.
	final  []byte
	within time.Duration
}

// Owner is the session that a queue belongs to.
type Owner interface {
	// Over is called when nothing more will be told to the client but why: what is
	// asked for it need not be answered. It may be called again, and with the
	// queue's lock.
	Over()
	// Ends is called when the connection closes within that time, written or not.
	Ends(within time.Duration)
	// Lost is called for an ack whose delivery did not come.
	Lost(h im.ParcelHead)
	// Place has a new position looked up (PlaceFrom), and tells whether it will be. It
	// is called with the queue's lock, does not wait, and Placed follows.
	Place() bool
	// Log is where errors of this connection are logged.
	Log() *slog.Logger
}

// Owner is the session that the queue belongs to.
func (o *Queue) Owner() Owner { return o.owner }

func (o *Queue) size() int {
	n := len(o.shared) + o.taken
	if o.buf != nil {
		n += len(*o.buf)
	}
	return n
}

// room makes sure there is a buffer to append to. Caller holds mu.
func (o *Queue) room(p *buffers) *[]byte {
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
func (o *Queue) signal() {
	if o.wake != nil {
		close(o.wake)
		o.wake = nil
	}
}

// BeginMarks notes that n marks are passed on; false: they do not count.
func (o *Queue) BeginMarks(n int) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.doubted {
		return false
	}
	o.marking += int32(n)
	return true
}

// Calling notes that n more Calls are under way, or fewer.
func (o *Queue) Calling(n int) {
	o.mu.Lock()
	o.calling += int16(n)
	o.mu.Unlock()
}

// MarkAnswered notes the answer to a mark.
func (o *Queue) MarkAnswered() {
	o.mu.Lock()
	o.marking--
	if o.marking == 0 || o.marking == marksUnderway/2 {
		o.signal()
	}
	o.mu.Unlock()
}

// Doubt tells that what the client knows may be of what the stores were before they
// went back, or that it has synced since. Its marks do not count meanwhile.
func (o *Queue) Doubt(on bool) {
	o.mu.Lock()
	o.doubted = on
	o.mu.Unlock()
}

// Cause is why the connection ended.
func (o *Queue) Cause() string {
	if c := o.cause.Load(); c != nil {
		return *c
	}
	return "unknown"
}

// CloseAsTold closes a queue that is ending, written or not.
func (o *Queue) CloseAsTold() {
	o.mu.Lock()
	bye := o.bye
	last := o.sayLast()
	o.mu.Unlock()
	switch {
	case last: // what it waited for did not come in time
		o.owner.Over()
		o.owner.Ends(bye.within)
		o.Flush()
	case bye != nil: // otherwise it is closed
		o.closeNow(bye.code, bye.reason)
	}
}

// sayLast queues the last frame, if it waits. Caller holds mu.
func (o *Queue) sayLast() bool {
	if o.closed || o.bye == nil || o.bye.final == nil {
		return false
	}
	buf := o.room(&o.sh.pools)
	*buf = append(*buf, o.bye.final...)
	o.bye.final, o.graceful = nil, false
	return true
}

// Compare has the client sync, as after pushes that were dropped.
func (o *Queue) Compare() {
	o.mu.Lock()
	if o.ending || o.closed || o.hold {
		o.mu.Unlock()
		return
	}
	o.lagging = true
	o.missed()
	o.mu.Unlock()
	o.markDirty()
}

// refuses tells that a must frame comes too late. Caller holds mu.
func (o *Queue) refuses() bool { return o.closed || (o.ending && !o.graceful) }

// put queues a must frame; payload is not framed yet. Deflating takes time, in which
// nobody waits for the lock.
func (o *Queue) put(t frameType, payload []byte) {
	var framed *[]byte
	if o.Kind.deflates {
		framed = o.sh.pools.getBuf()
		defer o.sh.pools.putBuf(framed)
		*framed = o.Conn.AppendMessage((*framed)[:0], payload)
	}
	o.mu.Lock()
	if o.refuses() {
		o.mu.Unlock()
		return
	}
	buf := o.room(&o.sh.pools)
	if framed != nil {
		*buf = append(*buf, *framed...)
	} else {
		*buf = o.Conn.AppendMessage(*buf, payload)
	}
	o.must = true
	o.mu.Unlock()
	o.sh.metrics.framesOut[t].Add(1)
}

// push queues a droppable frame, framed already. share tells that the bytes
// may be kept.
func (o *Queue) push(t frameType, framed []byte, share bool) {
	o.mu.Lock()
	if o.ending || o.closed || o.lagging {
		o.mu.Unlock()
		return
	}
	if o.size()+len(framed) > o.sh.o.QueueBytes {
		o.lagging = true
		o.missed()
		o.mu.Unlock()
		o.sh.metrics.SlowConsumers.Add(1)
		o.markDirty()
		return
	}
	if share && o.buf == nil && o.shared == nil {
		o.shared = framed
	} else {
		buf := o.room(&o.sh.pools)
		*buf = append(*buf, framed...)
	}
	o.mu.Unlock()
	o.sh.metrics.framesOut[t].Add(1)
	o.markDirty()
}

// Welcome puts the Welcome before what was held and lets the queue be written.
// False: it ended meanwhile.
func (o *Queue) Welcome(f *wire.ServerFrame) bool {
	payload := o.encode(f)
	if payload == nil {
		return false
	}
	defer o.sh.pools.putBuf(payload)
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ending || o.closed {
		return false
	}
	held := o.size()
	first := o.sh.pools.getBuf()
	*first = o.Conn.AppendMessage(*first, *payload)
	if held > 0 {
		rest := o.room(&o.sh.pools)
		*first = append(*first, *rest...)
		o.sh.pools.putBuf(rest)
	}
	o.buf = first
	o.hold = false
	o.must = true
	o.sh.metrics.framesOut[frameWelcome].Add(1)
	return true
}

// take hands the queue's bytes to the caller, who becomes the writer. ok is
// false when there is nothing to write or somebody else writes.
func (o *Queue) take() (p []byte, buf *[]byte, ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.writing || o.hold || o.closed || !o.next() {
		return nil, nil, false
	}
	o.writing = true
	p, buf = o.grab()
	return p, buf, true
}

// next tells whether there are bytes to write, after queueing the Resync that
// is due. Caller holds mu.
func (o *Queue) next() bool {
	if o.shared != nil || o.buf != nil {
		o.addPosition()
		o.wantPlace()
		return true
	}
	if o.lagging && !o.ending {
		o.lagging = false
		if framed, err := o.Kind.framed(o, &wire.ServerFrame{Frame: &wire.ServerFrame_Resync{Resync: &wire.Resync{}}}); err == nil {
			buf := o.room(&o.sh.pools)
			*buf = append(*buf, framed...)
			o.sh.metrics.framesOut[frameResync].Add(1)
			o.sh.metrics.Resyncs.Add(1)
			return true
		}
	}
	return false
}

// grab empties the queue into the writer's hands. Caller holds mu.
func (o *Queue) grab() (p []byte, buf *[]byte) {
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
func (o *Queue) waits() (wait, must bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.inflight == 0 || o.must || o.deferred == maxDeferred || o.ending || o.hold || o.writing {
		return false, o.must || o.ending
	}
	o.deferred++
	return true, false
}

// FlushOwn writes if the session itself has queued something; pushes are
// written by Flush.
func (o *Queue) FlushOwn() {
	o.mu.Lock()
	own := o.must || o.ending
	o.mu.Unlock()
	if own {
		o.Flush()
	}
}

// Flush writes what the peer takes without waiting; the rest goes to a
// goroutine of its own. Any goroutine may call it.
func (o *Queue) Flush() {
	p, buf, ok := o.take()
	if !ok {
		o.closeIfDone()
		return
	}
	for {
		n, err := o.Conn.TryWrite(p)
		o.sh.metrics.BytesOut.Add(uint64(max(n, 0)))
		o.sh.metrics.Writes.Add(1)
		switch {
		case err != nil:
			o.stopWriting(buf)
			o.Abort(writeFailed(err))
			return
		case n < len(p):
			o.wrote(n)
			go o.writeOut(p[n:], buf)
			return
		}
		if p, buf, ok = o.more(buf); !ok {
			o.closeIfDone()
			return
		}
	}
}

// writeOut is the on-demand writer: it ends when the queue is empty. Serve
// waits for it.
func (o *Queue) writeOut(p []byte, buf *[]byte) {
	for ok := true; ok; p, buf, ok = o.more(buf) {
		for len(p) > 0 {
			n := min(len(p), writeChunk)
			if err := o.Conn.Write(p[:n], time.Now().Add(o.sh.o.Write)); err != nil {
				o.stopWriting(buf)
				o.Abort(writeFailed(err))
				return
			}
			o.sh.metrics.BytesOut.Add(uint64(n))
			o.sh.metrics.Writes.Add(1)
			p = p[n:]
			o.wrote(n)
		}
	}
	o.closeIfDone()
}

// wrote lets a reader that waits for room go on.
func (o *Queue) wrote(n int) {
	o.mu.Lock()
	o.taken = max(o.taken-n, 0)
	o.signal()
	o.mu.Unlock()
}

// more gives back what was written and takes what has come since.
func (o *Queue) more(buf *[]byte) (p []byte, next *[]byte, ok bool) {
	if buf != nil {
		o.sh.pools.putBuf(buf)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.taken = 0
	o.signal()
	if o.closed || !o.next() {
		o.writing = false
		return nil, nil, false
	}
	p, next = o.grab()
	return p, next, true
}

func (o *Queue) stopWriting(buf *[]byte) {
	if buf != nil {
		o.sh.pools.putBuf(buf)
	}
	o.mu.Lock()
	o.writing = false
	o.taken = 0
	o.signal()
	o.mu.Unlock()
}

// closeIfDone closes the connection when it is ending and everything it waits
// for is done.
func (o *Queue) closeIfDone() {
	o.mu.Lock()
	done := o.ending && !o.closed && !o.writing && o.shared == nil && o.buf == nil &&
		(!o.graceful || o.inflight == 0 && o.calling == 0)
	last := done && o.sayLast()
	o.mu.Unlock()
	switch {
	case last:
		o.Flush()
	case done:
		o.CloseAsTold()
	}
}

// Finish ends the session: final (may be nil) is the last frame, and
// the connection closes once everything queued is written, after at most
// within. graceful lets sends in flight and Calls be answered first; if they are not
// within that time, final has as much time again. The first caller's
// reason is the one that is counted; false tells that it was not the first.
func (o *Queue) Finish(cause string, code wire.Code, reason string, final *wire.ServerFrame, graceful bool, within time.Duration) bool {
	t, payload := frameNone, (*[]byte)(nil)
	if final != nil {
		t = serverFrameType(final)
		payload = o.encode(final)
	}
	o.mu.Lock()
	if o.closed || (o.ending && (graceful || !o.graceful)) {
		o.mu.Unlock()
		return false
	}
	first := !o.ending
	o.ending, o.graceful, o.bye = true, graceful, &farewell{code: code, reason: reason, within: within}
	if !graceful {
		o.owner.Over()
	}
	if o.hold { // before the Welcome: only the reason is told
		o.drop(&o.sh.pools)
		o.hold = false
	}
	switch {
	case payload != nil && graceful:
		o.bye.final = o.Conn.AppendMessage(nil, *payload)
	case payload != nil:
		buf := o.room(&o.sh.pools)
		*buf = o.Conn.AppendMessage(*buf, *payload)
	}
	o.signal()
	o.mu.Unlock()
	if payload != nil {
		o.sh.pools.putBuf(payload)
		o.sh.metrics.framesOut[t].Add(1)
	}
	if first {
		o.cause.CompareAndSwap(nil, &cause)
	}
	o.owner.Ends(within)
	o.Flush()
	return true
}

// drop forgets what is queued. Caller holds mu.
func (o *Queue) drop(p *buffers) {
	o.shared = nil
	if o.buf != nil {
		p.putBuf(o.buf)
		o.buf = nil
	}
}

// Abort closes the connection at once.
func (o *Queue) Abort(cause string, code im.Code) {
	o.cause.CompareAndSwap(nil, &cause)
	o.closeNow(wire.Code(code), "")
}

// closeNow closes the connection, once.
func (o *Queue) closeNow(code wire.Code, reason string) {
	o.mu.Lock()
	if o.closed {
		o.mu.Unlock()
		return
	}
	o.closed = true
	o.ending = true
	o.owner.Over()
	o.drop(&o.sh.pools)
	o.signal()
	o.mu.Unlock()
	_ = o.Conn.Close(code, reason) // the peer may be gone: nothing to tell then
}

// writeFailed tells why a write failed, as a cause and a code.
func writeFailed(err error) (string, im.Code) {
	var ne net.Error
	if errors.Is(err, os.ErrDeadlineExceeded) || (errors.As(err, &ne) && ne.Timeout()) {
		return string(im.CodeSlowConsumer), im.CodeSlowConsumer
	}
	return "write_failed", im.CodeGoingAway
}
