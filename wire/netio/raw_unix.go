//go:build unix

package netio

import (
	"io"
	"syscall"
)

// openRaw finds out whether the connection is a socket of the operating system.
// TLS is not: its connection hides the socket.
func (s *Socket) openRaw() {
	sc, ok := s.conn.(syscall.Conn)
	if !ok {
		return
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return
	}
	s.raw, s.readFD, s.writeFD = raw, s.tryRead, s.tryWrite
}

// tryRead is called by the poller: at once, and again whenever the socket has
// become readable. False means: wait.
func (s *Socket) tryRead(fd uintptr) bool {
	s.room()
	for {
		n, err := syscall.Read(int(fd), s.buf[s.w:])
		switch {
		case n > 0:
			s.w += n
			s.received.Add(uint64(n))
		case err == syscall.EINTR:
			continue
		case err == syscall.EAGAIN:
			s.shed()
			return false
		case err != nil:
			s.readErr = err
		default:
			s.readErr = io.EOF
		}
		return true
	}
}

// tryWrite never waits.
func (s *Socket) tryWrite(fd uintptr) bool {
	for {
		n, err := syscall.Write(int(fd), s.p)
		switch {
		case err == syscall.EINTR:
			continue
		case err == syscall.EAGAIN:
			return true
		case err != nil:
			s.writeErr = err
		default:
			// Short or not: after a short write the send buffer is full.
			s.n += n
		}
		return true
	}
}
