package netio

import (
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"
)

// pollBatch is how many sockets are taken from the system at once.
const pollBatch = 128

// Poller waits for any number of silent sockets with one goroutine: they are
// in an epoll instance of its own, which the runtime's poller waits for like for
// any file. A socket is in it exactly while it is parked, so one that is busy
// pays nothing. A Poller is shared by as many listeners as wanted; Close ends it.
type Poller struct {
	file *os.File
	raw  syscall.RawConn
	done chan struct{}

	mu     sync.Mutex
	closed bool // epoll is not to be used any more
	epoll  int
	parked []*Socket // by file descriptor
}

// NewPoller starts a poller.
func NewPoller() (*Poller, error) {
	fd, err := syscall.EpollCreate1(syscall.EPOLL_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("epoll_create1", err)
	}
	// Only a file that does not block is waited for by the runtime's poller.
	if err := syscall.SetNonblock(fd, true); err != nil {
		_ = syscall.Close(fd)
		return nil, os.NewSyscallError("fcntl", err)
	}
	p := &Poller{file: os.NewFile(uintptr(fd), "epoll"), epoll: fd, done: make(chan struct{})}
	err = p.file.SetReadDeadline(time.Time{}) // fails if it is not waited for
	if err == nil {
		p.raw, err = p.file.SyscallConn()
	}
	if err != nil {
		_ = p.file.Close()
		return nil, fmt.Errorf("wait for epoll: %w", err)
	}
	go p.run()
	return p, nil
}

// Close resumes what is parked; from now on nothing parks.
func (p *Poller) Close() error {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	err := p.file.Close()
	<-p.done
	return err
}

// run resumes sockets that have become readable, until the poller is closed.
func (p *Poller) run() {
	defer close(p.done)
	defer p.resumeAll()
	events := make([]syscall.EpollEvent, pollBatch)
	for {
		n, failed := 0, error(nil)
		err := p.raw.Read(func(fd uintptr) bool {
			for {
				n, failed = syscall.EpollWait(int(fd), events, 0)
				if failed != syscall.EINTR {
					return n > 0 || failed != nil
				}
			}
		})
		if err != nil || failed != nil {
			return
		}
		for _, e := range events[:n] {
			p.wake(int(e.Fd))
		}
	}
}

// wake resumes the socket that is parked under the descriptor. The event may be
// of an older socket with the same number: then this one is resumed for nothing,
// which is allowed.
func (p *Poller) wake(fd int) {
	p.mu.Lock()
	resume := p.take(p.parked[fd])
	p.mu.Unlock()
	if resume != nil {
		go resume()
	}
}

func (p *Poller) resumeAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, s := range p.parked {
		if resume := p.take(s); resume != nil {
			go resume()
		}
	}
}

// park begins the wait of a socket without unread bytes. The descriptor is the
// socket's while its wait has not been ended: BeginClose does that first.
func (p *Poller) park(s *Socket, resume func()) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	// BeginClose sets closing before it ends the wait: either it is seen here, or
	// BeginClose finds what is done here.
	if p.closed || s.closing.Load() {
		return false
	}
	// If something has arrived, or arrives meanwhile, it is an event too: epoll
	// tells the state, not its changes.
	event := syscall.EpollEvent{Events: syscall.EPOLLIN | syscall.EPOLLRDHUP, Fd: s.fd}
	if syscall.EpollCtl(p.epoll, syscall.EPOLL_CTL_ADD, int(s.fd), &event) != nil {
		return false
	}
	if n := int(s.fd) + 1 - len(p.parked); n > 0 {
		p.parked = append(p.parked, make([]*Socket, n)...)
	}
	p.parked[s.fd], s.resume = s, resume
	return true
}

// take ends the wait of s, which may be nil. What it returns is to be called;
// nil if s does not wait. Caller holds mu.
func (p *Poller) take(s *Socket) (resume func()) {
	if s == nil || s.resume == nil {
		return nil
	}
	if !p.closed {
		_ = syscall.EpollCtl(p.epoll, syscall.EPOLL_CTL_DEL, int(s.fd), nil)
	}
	p.parked[s.fd] = nil
	resume, s.resume = s.resume, nil
	return resume
}

// unpark resumes s if it is parked.
func (p *Poller) unpark(s *Socket) {
	p.mu.Lock()
	resume := p.take(s)
	p.mu.Unlock()
	if resume != nil {
		go resume()
	}
}

// nudge wakes the reader of s. Under the lock: BeginClose needs it before the
// closing goroutine sets deadlines of its own.
func (p *Poller) nudge(s *Socket) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s.resume == nil && !s.closing.Load() {
		s.nudged = true
		_ = s.conn.SetReadDeadline(longAgo()) // the reader meets the same error
	}
}

// nudged reports whether a read of s timed out because of a nudge, and lets it
// wait again. A Close that goes on at the same time is not overlooked: who reads
// next looks at closing after the deadline is gone here, and BeginClose sets it
// again after closing.
func (p *Poller) nudged(s *Socket) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !s.nudged {
		return false
	}
	s.nudged = false
	_ = s.conn.SetReadDeadline(time.Time{}) // the next read meets the same error
	return true
}
