package bench

import (
	"errors"
	"net"
	"os"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// loop drives all users of a worker on one thread over epoll: what measures must
// leave the cores to what is measured. A goroutine for each connection took twice
// as much.
type loop struct {
	*epoll
	t    *traffic
	buf  []byte
	done sync.WaitGroup

	mu     sync.Mutex // guards all below
	taken  []*user    // by their number here
	closed bool
}

func newLoop(t *traffic) (*loop, error) {
	e, err := newEpoll()
	if err != nil {
		return nil, err
	}
	l := &loop{epoll: e, t: t, buf: make([]byte, 64<<10), taken: make([]*user, len(t.users))}
	l.done.Go(l.run)
	return l, nil
}

// rawSocket is a connection that the runtime knows nothing of.
type rawSocket struct{ fd int }

func (s rawSocket) Write(p []byte) (int, error) {
	n, err := rawWrite(s.fd, p)
	return n, os.NewSyscallError("write", err)
}

func (s rawSocket) Close() error                    { return unix.Close(s.fd) }
func (s rawSocket) Read([]byte) (int, error)        { return 0, errors.ErrUnsupported } // the loop does
func (s rawSocket) SetReadDeadline(time.Time) error { return nil }

// take has the loop read for the user from now on. The runtime's connection is
// replaced by another descriptor of the same socket, or it would be polled twice.
func (l *loop) take(u *user) error {
	tcp, ok := u.socket.(*net.TCPConn)
	if !ok {
		return errors.New("not a TCP connection")
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return err
	}
	fd := -1
	var failed error
	err = raw.Control(func(old uintptr) { fd, failed = unix.FcntlInt(old, unix.F_DUPFD_CLOEXEC, 0) })
	if err = errors.Join(err, failed); err != nil {
		return err
	}
	err = tcp.Close()
	u.mu.Lock()
	u.socket = rawSocket{fd}
	u.mu.Unlock()
	l.mu.Lock()
	l.taken[u.here] = u
	l.mu.Unlock()
	return errors.Join(err, l.add(fd, u.here, unix.EPOLLIN))
}

// full has the user's connection watched for room, or no longer.
func (l *loop) full(u *user, full bool) {
	if s, ok := u.socket.(rawSocket); ok {
		if err := l.watch(s.fd, u.here, full); err != nil {
			l.t.fail(err)
		}
	}
}

func (l *loop) run() {
	runtime.LockOSThread() // ends with the goroutine
	for {
		next, ok := l.t.times.turn()
		if !ok {
			return
		}
		events, err := l.wait(next)
		if err != nil {
			l.t.fail(err)
			return
		}
		l.mu.Lock() // whoever was added before an event is seen here
		taken, closed := l.taken, l.closed
		l.mu.Unlock()
		if closed {
			return
		}
		for i := range events {
			if n := int(events[i].Fd); n != noOne {
				l.ready(taken[n], events[i].Events)
			}
		}
	}
}

// ready reads once: what is left makes the socket ready again.
func (l *loop) ready(u *user, events uint32) {
	u.mu.Lock()
	defer u.mu.Unlock()
	s, ok := u.socket.(rawSocket)
	if !ok || u.over {
		return
	}
	if events&unix.EPOLLOUT != 0 {
		u.write(time.Now())
	}
	if events&^unix.EPOLLOUT == 0 {
		return
	}
	n, err := rawRead(s.fd, l.buf)
	switch {
	case errors.Is(err, unix.EAGAIN):
		return
	case err != nil:
		u.end(os.NewSyscallError("read", err))
	case n == 0:
		u.end(errors.New("the server ended the connection"))
	default:
		u.feed(l.buf[:n], time.Now())
	}
	if u.over { // it would be ready for ever
		_ = unix.EpollCtl(l.fd, unix.EPOLL_CTL_DEL, s.fd, nil)
	}
}

func (l *loop) close() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.ring()
	l.done.Wait()
	l.epoll.close()
}
