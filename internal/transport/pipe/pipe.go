// Package pipe is a transport in memory, for tests and for clients in the same
// process. It owns a pair of buffered byte streams and frames them as tcp does;
// it knows nothing of what the messages mean.
//
// Unlike net.Pipe each direction has a buffer of fixed size: TryWrite takes
// what fits, Write waits for the reader, so that a slow reader can be played.
// It uses mutexes, condition variables and time.AfterFunc only, so it works in
// a testing/synctest bubble, and starts no goroutine.
//
// Locks: stream.mu is a leaf.
package pipe

import (
	"io"
	"net"
	"os"
	"sync"
	"time"

	"github.com/skein-im/skein/wire"
)

// Size is how many bytes each direction of a pair holds.
const Size = 64 << 10

// Pair returns both ends of a connection whose codec is settled: the server's as
// a wire.Conn, the client's as a byte stream. wire.NewStreamConn(client, codec)
// speaks in messages on it.
func Pair(codec string) (server wire.Conn, client net.Conn) {
	return PairSize(codec, Size)
}

// PairSize is Pair with buffers of size bytes in each direction.
func PairSize(codec string, size int) (server wire.Conn, client net.Conn) {
	s, c := Streams(size)
	return wire.NewStreamConn(s, codec), c
}

// Streams returns two connected byte streams with buffers of size bytes.
func Streams(size int) (a, b net.Conn) {
	ab, ba := newStream(size), newStream(size)
	return &end{in: ba, out: ab, name: "pipe-a"}, &end{in: ab, out: ba, name: "pipe-b"}
}

// end is one end of a pair of streams.
type end struct {
	in, out *stream
	name    addr
}

type addr string

func (a addr) Network() string { return "pipe" }
func (a addr) String() string  { return string(a) }

func (e *end) Read(p []byte) (int, error)     { return e.in.read(p) }
func (e *end) Write(p []byte) (int, error)    { return e.out.write(p, true) }
func (e *end) TryWrite(p []byte) (int, error) { return e.out.write(p, false) }
func (e *end) LocalAddr() net.Addr            { return e.name }
func (e *end) RemoteAddr() net.Addr           { return addr("pipe") }

// Close ends both directions. The peer still reads what was written.
func (e *end) Close() error {
	e.out.end()
	e.in.abandon()
	return nil
}

func (e *end) SetDeadline(t time.Time) error {
	e.in.setDeadline(&e.in.readBy, t)
	e.out.setDeadline(&e.out.writeBy, t)
	return nil
}

func (e *end) SetReadDeadline(t time.Time) error {
	e.in.setDeadline(&e.in.readBy, t)
	return nil
}

func (e *end) SetWriteDeadline(t time.Time) error {
	e.out.setDeadline(&e.out.writeBy, t)
	return nil
}

// stream is one direction: bytes in order, at most size of them.
type stream struct {
	mu      sync.Mutex
	changed sync.Cond
	size    int
	// buf[r:] is unread.
	buf []byte
	r   int
	// ended: the writer is done. abandoned: the reader is.
	ended, abandoned bool
	readBy, writeBy  deadline
}

type deadline struct {
	passed bool
	timer  *time.Timer
}

func newStream(size int) *stream {
	s := &stream{size: size}
	s.changed.L = &s.mu
	return s
}

func (s *stream) setDeadline(d *deadline, t time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if d.timer != nil {
		d.timer.Stop()
		d.timer = nil
	}
	d.passed = false
	if !t.IsZero() {
		if wait := time.Until(t); wait <= 0 {
			d.passed = true
		} else {
			var timer *time.Timer
			timer = time.AfterFunc(wait, func() {
				s.mu.Lock()
				defer s.mu.Unlock()
				if d.timer == timer {
					d.passed = true
					s.changed.Broadcast()
				}
			})
			d.timer = timer
		}
	}
	s.changed.Broadcast()
}

func (s *stream) read(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		switch {
		case s.abandoned:
			return 0, net.ErrClosed
		case s.readBy.passed:
			return 0, os.ErrDeadlineExceeded
		case s.r < len(s.buf):
			n := copy(p, s.buf[s.r:])
			if s.r += n; s.r == len(s.buf) {
				s.buf, s.r = s.buf[:0], 0
			}
			s.changed.Broadcast()
			return n, nil
		case s.ended:
			return 0, io.EOF
		case len(p) == 0:
			return 0, nil
		}
		s.changed.Wait()
	}
}

func (s *stream) write(p []byte, wait bool) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	written := 0
	for {
		switch {
		case s.ended:
			return written, net.ErrClosed
		case s.abandoned:
			return written, io.ErrClosedPipe
		case wait && s.writeBy.passed:
			return written, os.ErrDeadlineExceeded
		}
		if n := min(s.size-(len(s.buf)-s.r), len(p)-written); n > 0 {
			s.buf = append(s.buf[:copy(s.buf, s.buf[s.r:])], p[written:written+n]...)
			s.r = 0
			written += n
			s.changed.Broadcast()
		}
		if written == len(p) || !wait {
			return written, nil
		}
		s.changed.Wait()
	}
}

// end marks that nothing more will be written.
func (s *stream) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	s.stop(&s.writeBy)
	s.changed.Broadcast()
}

// abandon marks that nothing more will be read.
func (s *stream) abandon() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.abandoned, s.buf, s.r = true, nil, 0
	s.stop(&s.readBy)
	s.changed.Broadcast()
}

func (s *stream) stop(d *deadline) {
	if d.timer != nil {
		d.timer.Stop()
		d.timer = nil
	}
}
