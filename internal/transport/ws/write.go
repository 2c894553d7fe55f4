package ws

import (
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/skein-im/skein/wire"
)

const (
	// maxPongs is how many pings of one read are answered; of more the last.
	maxPongs = 16
	// controlTimeout bounds a control frame's write on TLS, where the reader may
	// have to wait for it.
	controlTimeout = 5 * time.Second
)

// control holds control frames until they can be written between two frames.
type control struct {
	// waiting is set when frames is not empty, so that writers need no lock to see
	// that nothing is there.
	waiting atomic.Bool
	mu      sync.Mutex
	frames  []byte
	// closed: a close frame was queued or written; nothing may follow it.
	closed bool
}

// put queues frames. Pongs replace what waits: a peer that does not read gets
// the answers to its last pings only.
func (q *control) put(frames []byte, isClose bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return
	}
	if isClose {
		q.closed = true
		q.frames = append(q.frames, frames...)
	} else {
		q.frames = append(q.frames[:0], frames...)
	}
	q.waiting.Store(true)
}

// take empties the queue; closes tells that a close frame is the last.
func (q *control) take() (frames []byte, closes bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	frames = q.frames
	q.frames = nil
	q.waiting.Store(false)
	return frames, q.closed
}

// close marks the end and reports whether a close frame is still to be sent.
func (q *control) close() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	first := !q.closed
	q.closed = true
	return first
}

func (c *conn) AppendMessage(dst, payload []byte) []byte {
	op := byte(opText)
	if c.binary {
		op = opBinary
	}
	if c.info.Deflate && len(payload) >= deflateFrom {
		return appendDeflated(dst, op, payload)
	}
	return appendFrame(dst, op, payload)
}

// queuePong belongs to the reader; the pongs are sent before it waits or returns.
func (c *conn) queuePong(payload []byte) {
	if c.pongCount == maxPongs {
		c.pongs, c.pongCount = c.pongs[:0], 0
	}
	c.pongs = appendFrame(c.pongs, opPong, payload)
	c.pongCount++
}

func (c *conn) sendPongs() {
	if len(c.pongs) > 0 {
		c.control.put(c.pongs, false)
		c.pongs, c.pongCount = nil, 0
		c.flushControl()
	}
}

func (c *conn) answerClose(status int) {
	c.control.put(appendClose(nil, status, ""), true)
	c.flushControl()
}

// flushControl writes the waiting control frames unless somebody is writing,
// who does it then.
func (c *conn) flushControl() {
	if c.writer.TryLock() {
		c.writeControl()
		c.unlockWriter()
	}
}

// unlockWriter gives the right to write back. Control frames that came up in
// the meantime are written first. If the stream stands within a frame or takes
// nothing more, the next writer does it.
func (c *conn) unlockWriter() {
	for {
		c.writer.Unlock()
		if !c.control.waiting.Load() || !c.writer.TryLock() {
			return
		}
		if !c.out.between() || !c.writeControl() {
			c.writer.Unlock()
			return
		}
	}
}

// writeControl writes the waiting control frames if the stream stands between
// two frames. It reports whether data may follow: not while a control frame is
// cut off. The caller holds c.writer.
func (c *conn) writeControl() bool {
	if c.out.between() && c.control.waiting.Load() {
		frames, closes := c.control.take()
		c.rest = append(c.rest, frames...)
		c.closeWritten = c.closeWritten || closes
	}
	if len(c.rest) == 0 {
		return true
	}
	var n int
	var err error
	if c.sock.CanTryWrite() {
		n, err = c.sock.TryWrite(c.rest)
	} else {
		n, err = c.sock.Write(c.rest, time.Now().Add(controlTimeout))
	}
	if err != nil {
		// The reader or the next writer meets the same error.
		return false
	}
	if c.rest = c.rest[n:]; len(c.rest) == 0 {
		c.rest = nil
	}
	return c.rest == nil
}

func (c *conn) TryWrite(p []byte) (int, error) {
	if !c.sock.CanTryWrite() {
		return 0, nil
	}
	c.writer.Lock()
	defer c.unlockWriter()
	if c.sock.Closing() {
		return 0, net.ErrClosed
	}
	free := c.writeControl()
	if c.closeWritten {
		return 0, net.ErrClosed
	}
	if !free {
		return 0, nil
	}
	n, err := c.sock.TryWrite(p)
	c.out.advance(p[:n])
	return n, err
}

func (c *conn) Write(p []byte, deadline time.Time) error {
	c.writer.Lock()
	defer c.unlockWriter()
	if c.sock.Closing() {
		return net.ErrClosed
	}
	if !c.writeControl() {
		if _, err := c.sock.Write(c.rest, deadline); err != nil {
			return err
		}
		c.rest = nil
	}
	if c.closeWritten {
		return net.ErrClosed
	}
	n, err := c.sock.Write(p, deadline)
	c.out.advance(p[:n])
	return err
}

// Close sends a close frame with the code's number, if the stream stands between
// two frames and the peer takes it at once. An empty code is a normal end, 1000.
func (c *conn) Close(code wire.Code, reason string) error {
	if !c.sock.BeginClose() {
		return nil
	}
	status := 1000
	if code != "" {
		status = code.Info().Number
	}
	c.writer.Lock()
	var last []byte
	if c.out.between() {
		frames, _ := c.control.take()
		last = append(c.rest, frames...)
		if c.control.close() {
			last = appendClose(last, status, reason)
		}
	}
	c.writer.Unlock()
	return c.sock.Close(last)
}
