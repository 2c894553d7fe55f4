package netio

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	// chunkSize is the size of a pooled read buffer: about forty chat frames.
	chunkSize = 8 << 10
	// shortRest is up to which size the beginning of a message is copied back
	// into a pooled buffer when more arrives.
	shortRest = 1 << 10
	// smallSize is what a connection that cannot wait without a buffer waits with.
	smallSize = 64
	// lingerTime and lingerBytes bound how long a closed socket still reads.
	lingerTime  = time.Second
	lingerBytes = 1 << 20
)

type chunk [chunkSize]byte

var chunks = sync.Pool{New: func() any { return new(chunk) }}

// TryWriter is implemented by connections that can write without waiting
// although they are no sockets of the operating system.
type TryWriter interface {
	// TryWrite writes what fits and returns how much that was.
	TryWrite(p []byte) (int, error)
}

// ErrNudged is what Fill returns when Nudge was called.
var ErrNudged = errors.New("nudged: nothing has arrived")

// Socket reads and writes one net.Conn. Peek, Skip, Fill, Prefill and Park
// belong to the reading goroutine, TryWrite and Write to one writer at a time.
// Close, Nudge and Received may be called by any.
type Socket struct {
	conn net.Conn
	// raw is nil for connections that are no sockets of the operating system.
	raw     syscall.RawConn
	readFD  func(fd uintptr) bool
	writeFD func(fd uintptr) bool

	// poller is nil if the socket does not park. Its lock guards resume, which is
	// called at the end of a wait and nil while there is none, and nudged: the read
	// deadline was set by Nudge.
	poller *Poller
	resume func()
	fd     int32
	nudged bool

	// The unread bytes are buf[r:w]. pooled is buf's array when it is from the pool.
	buf    []byte
	r, w   int
	pooled *chunk
	// small is what a connection without raw waits with.
	small   *[smallSize]byte
	need    int
	readErr error

	// p, n and writeErr are the arguments and results of writeFD.
	p        []byte
	n        int
	writeErr error

	reading sync.Mutex
	closing atomic.Bool
	// ended: the peer sends no more, there is nothing to wait for at the close.
	ended    atomic.Bool
	received atomic.Uint64
}

// New wraps conn, which from now on belongs to the Socket. Without a poller
// (nil), and if conn is no socket of the operating system, it never parks.
func New(conn net.Conn, poller *Poller) *Socket {
	s := &Socket{conn: conn}
	s.openRaw()
	if poller != nil && s.raw != nil && s.raw.Control(func(fd uintptr) { s.fd = int32(fd) }) == nil {
		s.poller = poller
	}
	return s
}

// Peek returns what has been read and not yet skipped. It is valid, and may be
// written to, until the next call of Fill.
func (s *Socket) Peek() []byte { return s.buf[s.r:s.w] }

// Skip takes n bytes off what Peek returns.
func (s *Socket) Skip(n int) { s.r += n }

// Prefill gives the socket bytes that were read from the connection before it
// was made. Only before the first Fill.
func (s *Socket) Prefill(b []byte) {
	if len(b) > 0 {
		s.buf = append([]byte(nil), b...)
		s.w = len(b)
	}
}

// Received counts the bytes that arrived.
func (s *Socket) Received() uint64 { return s.received.Load() }

// RemoteAddr is the peer's address without port.
func (s *Socket) RemoteAddr() string {
	addr := s.conn.RemoteAddr()
	if addr == nil {
		return ""
	}
	if tcp, ok := addr.(*net.TCPAddr); ok {
		return tcp.IP.String()
	}
	if host, _, err := net.SplitHostPort(addr.String()); err == nil {
		return host
	}
	return addr.String()
}

// SetReadDeadline bounds Fill; the zero time removes the bound.
func (s *Socket) SetReadDeadline(t time.Time) error { return s.conn.SetReadDeadline(t) }

// Fill waits until Peek returns at least need bytes. It fails with io.EOF when
// the peer has ended before the first byte of them, io.ErrUnexpectedEOF when
// amidst, net.ErrClosed after Close, ErrNudged when Nudge was called and none of
// them is there.
func (s *Socket) Fill(need int) error {
	if s.w-s.r >= need {
		return nil
	}
	// Only the closing goroutine is ever in the way.
	if !s.reading.TryLock() {
		s.release()
		return net.ErrClosed
	}
	defer s.reading.Unlock()
	s.need = need
	for s.w-s.r < need {
		err := s.fill()
		if err != nil && os.IsTimeout(err) && s.poller != nil && s.poller.nudged(s) {
			if s.w > s.r {
				continue // within a message
			}
			err = ErrNudged
		}
		if err != nil {
			return s.readFailed(err)
		}
	}
	return nil
}

// Park lets the poller wait for the next byte in the reader's place. If it
// returns true, the reader must not touch the socket any more, and resume is
// called in a goroutine of its own, which is the reader from then on: once, when
// something has arrived, the peer has ended or Close is called, and perhaps for
// nothing. If it returns false nothing has changed: there are unread bytes, the
// socket is closed or cannot park.
func (s *Socket) Park(resume func()) bool {
	if s.poller == nil || s.w > s.r {
		return false
	}
	s.release()
	return s.poller.park(s, resume)
}

// Nudge makes Fill return ErrNudged, at once if it waits and else when it would
// wait, unless the beginning of what it waits for is there. On a socket that
// cannot park, or is parked, it does nothing.
func (s *Socket) Nudge() {
	if s.poller != nil {
		s.poller.nudge(s)
	}
}

// longAgo is a deadline that has passed.
func longAgo() time.Time { return time.Unix(1, 0) }

// readFailed releases the buffer and names the failure.
func (s *Socket) readFailed(err error) error {
	amidst := s.w > s.r
	switch {
	case s.closing.Load():
		err = net.ErrClosed
	case err == io.EOF && amidst:
		err = io.ErrUnexpectedEOF
	}
	if err == ErrNudged || os.IsTimeout(err) {
		return err
	}
	if err != net.ErrClosed {
		s.ended.Store(true)
	}
	s.release()
	return err
}

// fill reads once.
func (s *Socket) fill() error {
	if s.closing.Load() {
		return net.ErrClosed
	}
	if s.raw == nil {
		return s.fillConn()
	}
	s.readErr = nil
	if err := s.raw.Read(s.readFD); err != nil {
		return err
	}
	return s.readErr
}

// fillConn waits with a small buffer for the first bytes; the rest of what
// arrived with them comes by the next call, into a pooled buffer.
func (s *Socket) fillConn() error {
	if s.r == s.w {
		s.release()
		if s.small == nil {
			s.small = new([smallSize]byte)
		}
		s.buf = s.small[:]
	} else {
		s.room()
	}
	n, err := s.conn.Read(s.buf[s.w:])
	s.w += n
	s.received.Add(uint64(n))
	if n > 0 {
		return nil
	}
	return err
}

// room makes sure that there is space after w, and enough for the message that
// is waited for unless it is longer than what has arrived justifies.
func (s *Socket) room() {
	if s.r == s.w {
		if s.pooled == nil {
			s.buf = nil
		}
		s.r, s.w = 0, 0
	}
	if s.buf == nil {
		s.take(nil)
		return
	}
	unread := s.buf[s.r:s.w]
	small := s.pooled == nil && len(s.buf) == smallSize
	if !small && s.w < len(s.buf) && s.r+s.need <= len(s.buf) {
		return
	}
	if s.pooled == nil && len(unread) < shortRest {
		s.take(unread)
		return
	}
	if s.r > 0 {
		s.w = copy(s.buf, unread)
		s.r = 0
		if s.w < len(s.buf) {
			return
		}
	}
	if s.w < len(s.buf) {
		return
	}
	// Full: the message is longer than the buffer. Doubling keeps the memory
	// within twice what has arrived.
	grown := make([]byte, max(min(2*len(s.buf), s.need), len(s.buf)+1))
	w := copy(grown, unread)
	s.release()
	s.buf, s.w = grown, w
}

// take switches to a buffer from the pool that begins with unread.
func (s *Socket) take(unread []byte) {
	c := chunks.Get().(*chunk)
	s.w = copy(c[:], unread)
	s.r, s.buf, s.pooled = 0, c[:], c
}

// shed gives the pooled buffer back before a wait. The beginning of a message
// moves to memory of its own size.
func (s *Socket) shed() {
	if s.r == s.w {
		s.release()
		return
	}
	if s.pooled != nil {
		rest := append([]byte(nil), s.buf[s.r:s.w]...)
		s.release()
		s.buf, s.w = rest, len(rest)
	}
}

// release drops the buffer and what is unread.
func (s *Socket) release() {
	if s.pooled != nil {
		chunks.Put(s.pooled)
		s.pooled = nil
	}
	s.buf, s.r, s.w = nil, 0, 0
}

// Holds returns how many bytes of read buffer the socket has now. For tests.
func (s *Socket) Holds() int { return len(s.buf) }

// CanTryWrite reports whether TryWrite can do anything.
func (s *Socket) CanTryWrite() bool {
	if s.raw != nil {
		return true
	}
	_, ok := s.conn.(TryWriter)
	return ok
}

// TryWrite writes as much of p as the peer takes without waiting.
func (s *Socket) TryWrite(p []byte) (int, error) {
	if s.raw == nil {
		if t, ok := s.conn.(TryWriter); ok {
			return t.TryWrite(p)
		}
		return 0, nil
	}
	if len(p) == 0 {
		return 0, nil
	}
	s.p, s.n, s.writeErr = p, 0, nil
	err := s.raw.Write(s.writeFD)
	s.p = nil
	if err == nil {
		err = s.writeErr
	}
	if err != nil && s.closing.Load() {
		err = net.ErrClosed
	}
	return s.n, err
}

// Write writes all of p, waiting until the deadline at most, and returns how
// much was written. After an error the stream is cut and must be closed.
func (s *Socket) Write(p []byte, deadline time.Time) (int, error) {
	if err := s.conn.SetWriteDeadline(deadline); err != nil {
		return 0, err
	}
	// After the deadline is set: either this sees a Close that goes on at the
	// same time, or that Close sees the deadline and moves it.
	if s.closing.Load() {
		return 0, net.ErrClosed
	}
	n, err := s.conn.Write(p)
	if err != nil {
		if s.closing.Load() {
			err = net.ErrClosed
		}
		return n, err
	}
	return n, s.conn.SetWriteDeadline(time.Time{})
}

// Closing reports whether Close or BeginClose was called.
func (s *Socket) Closing() bool { return s.closing.Load() }

// BeginClose wakes reader and writer, and resumes a parked socket; both fail
// with net.ErrClosed. It reports false if that had been done before. Close must
// follow.
func (s *Socket) BeginClose() bool {
	if !s.closing.CompareAndSwap(false, true) {
		return false
	}
	_ = s.conn.SetReadDeadline(longAgo())
	_ = s.conn.SetWriteDeadline(longAgo())
	if s.poller != nil {
		s.poller.unpark(s)
	}
	return true
}

// Close ends the connection after BeginClose, without waiting: what was
// written still goes to the peer, then last, then the end. For at most a second
// the peer's bytes are read and dropped, because closing a socket with unread
// bytes resets the connection and the peer would not see what it was told.
// Whoever gives last has made sure that no writer is left.
func (s *Socket) Close(last []byte) error {
	if !s.CanTryWrite() {
		go func() { _ = s.end(last) }()
		return nil
	}
	return s.end(last)
}

func (s *Socket) end(last []byte) error {
	if len(last) > 0 {
		// Only now: a writer that still waits must see the deadline of BeginClose.
		_ = s.conn.SetWriteDeadline(time.Now().Add(lingerTime))
		if s.CanTryWrite() {
			_, _ = s.TryWrite(last)
		} else {
			_, _ = s.conn.Write(last)
		}
	}
	half, ok := s.conn.(interface{ CloseWrite() error })
	if !ok || s.ended.Load() || half.CloseWrite() != nil {
		return s.conn.Close()
	}
	go s.linger()
	return nil
}

func (s *Socket) linger() {
	defer s.conn.Close()
	// The reader has been woken and is on its way out.
	s.reading.Lock()
	defer s.reading.Unlock()
	if s.conn.SetReadDeadline(time.Now().Add(lingerTime)) != nil {
		return
	}
	c := chunks.Get().(*chunk)
	defer chunks.Put(c)
	for total := 0; total < lingerBytes; {
		n, err := s.conn.Read(c[:])
		if err != nil {
			return
		}
		total += n
	}
}
