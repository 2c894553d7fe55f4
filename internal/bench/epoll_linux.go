package bench

import (
	"context"
	"errors"
	"os"
	"runtime"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// epoll is one epoll instance with a bell, for one thread that does everything.
//
// The runtime is not told of its system calls: after one that it knows of, a
// thread of its own looks after the one that might be waiting, every 20 µs for a
// while, which at low rates is most of what a message costs. So this thread keeps
// its processor while it waits; it gives it up for a collection, which interrupts
// the wait. Where there is one processor only, the runtime is told of the wait.
type epoll struct {
	fd     int
	bell   int // rings when somebody else has something for the thread
	timer  int
	alarm  time.Time // when the timer goes off
	events [256]unix.EpollEvent
}

func newEpoll() (*epoll, error) {
	var e epoll
	var err1, err2, err3 error
	e.fd, err1 = unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	e.bell, err2 = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	e.timer, err3 = unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_CLOEXEC|unix.TFD_NONBLOCK)
	if err := errors.Join(err1, err2, err3); err != nil {
		return nil, err // the process is out of descriptors, and will end
	}
	// Edges: neither is ever read.
	return &e, errors.Join(e.add(e.bell, noOne, unix.EPOLLIN|unix.EPOLLET), e.add(e.timer, noOne, unix.EPOLLIN|unix.EPOLLET))
}

func (e *epoll) close() {
	_ = unix.Close(e.timer)
	_ = unix.Close(e.bell)
	_ = unix.Close(e.fd)
}

// noOne is the number of the events of the bell and the timer.
const noOne = -1

// add has events of fd told with this number.
func (e *epoll) add(fd, number int, events uint32) error {
	return os.NewSyscallError("epoll_ctl", unix.EpollCtl(e.fd, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: events, Fd: int32(number)}))
}

// watch has fd's events told: that it can be read, and, if it is full, written.
func (e *epoll) watch(fd, number int, full bool) error {
	events := uint32(unix.EPOLLIN)
	if full {
		events |= unix.EPOLLOUT
	}
	return os.NewSyscallError("epoll_ctl", unix.EpollCtl(e.fd, unix.EPOLL_CTL_MOD, fd, &unix.EpollEvent{Events: events, Fd: int32(number)}))
}

// ring wakes the thread. Any goroutine may call it, until close.
func (e *epoll) ring() {
	one := [8]byte{1}
	_, _ = unix.Write(e.bell, one[:]) // it is full only while the thread is awake
}

// ringAt rings when the context ends; stop ends the watch.
func (e *epoll) ringAt(ctx context.Context) (stop func()) {
	ended := make(chan struct{})
	unlink := context.AfterFunc(ctx, func() { e.ring(); close(ended) })
	return func() {
		if !unlink() {
			<-ended
		}
	}
}

// wait returns what has happened, at the latest at until; zero: no matter how
// long it takes. It may return nothing before.
func (e *epoll) wait(until time.Time) ([]unix.EpollEvent, error) {
	n, err := e.poll()
	if n > 0 || err != nil {
		return e.events[:n], err
	}
	if !until.Equal(e.alarm) {
		e.alarm = until
		var when unix.ItimerSpec // zero disarms
		if !until.IsZero() {
			when.Value = unix.NsecToTimespec(int64(max(time.Until(until), 1)))
		}
		if err := unix.TimerfdSettime(e.timer, 0, &when, nil); err != nil {
			return nil, os.NewSyscallError("timerfd_settime", err)
		}
	}
	if runtime.GOMAXPROCS(0) > 1 {
		n, err = e.rawWait(100)
		return e.events[:n], err
	}
	n, err = unix.EpollWait(e.fd, e.events[:], -1)
	if errors.Is(err, unix.EINTR) {
		return nil, nil
	}
	return e.events[:max(n, 0)], os.NewSyscallError("epoll_wait", err)
}

// poll returns how many events there are by now.
func (e *epoll) poll() (int, error) { return e.rawWait(0) }

// rawWait waits for some milliseconds at most.
func (e *epoll) rawWait(ms uintptr) (int, error) {
	n, _, errno := syscall.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(e.fd), uintptr(unsafe.Pointer(&e.events[0])), uintptr(len(e.events)), ms, 0, 0)
	if errno != 0 && errno != unix.EINTR {
		return 0, os.NewSyscallError("epoll_wait", errno)
	}
	if errno != 0 {
		return 0, nil
	}
	return int(n), nil
}

// rawRead reads from a socket that does not block; 0 and nil is its end.
func rawRead(fd int, p []byte) (int, error) {
	for {
		n, _, errno := syscall.RawSyscall(unix.SYS_READ, uintptr(fd), uintptr(unsafe.Pointer(&p[0])), uintptr(len(p)))
		switch errno {
		case 0:
			return int(n), nil
		case unix.EINTR:
		default:
			return 0, errno
		}
	}
}

// rawWrite writes what a file or a socket takes without waiting.
func rawWrite(fd int, p []byte) (int, error) {
	for {
		n, _, errno := syscall.RawSyscall(unix.SYS_WRITE, uintptr(fd), uintptr(unsafe.Pointer(&p[0])), uintptr(len(p)))
		switch errno {
		case 0:
			return int(n), nil
		case unix.EINTR:
		case unix.EAGAIN:
			return 0, nil
		default:
			return 0, errno
		}
	}
}
