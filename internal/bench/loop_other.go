//go:build !linux

package bench

import (
	"sync"
	"time"
)

// loop drives the users of a worker with a goroutine for each connection, and one
// for their times: other systems than Linux are not measured on.
type loop struct {
	t    *traffic
	done sync.WaitGroup
	stop chan struct{}
}

func newLoop(t *traffic) (*loop, error) {
	l := &loop{t: t, stop: make(chan struct{})}
	l.done.Go(func() {
		for {
			next, ok := t.times.turn()
			if !ok {
				return
			}
			wait := time.Millisecond // others may have something earlier
			if !next.IsZero() {
				wait = min(wait, time.Until(next))
			}
			select {
			case <-l.stop:
				return
			case <-time.After(wait):
			}
		}
	})
	return l, nil
}

func (l *loop) take(u *user) error {
	l.done.Go(func() {
		buf := make([]byte, 4<<10)
		for {
			n, err := u.Read(buf)
			u.mu.Lock()
			if n > 0 {
				u.feed(buf[:n], time.Now())
			}
			if err != nil {
				u.end(err)
			}
			over := u.over
			u.mu.Unlock()
			if over {
				return
			}
		}
	})
	return nil
}

// full: a write waits until all is written.
func (l *loop) full(*user, bool) {}

func (l *loop) ring() {}

// close waits for the readers, whose connections are closed before.
func (l *loop) close() {
	close(l.stop)
	l.done.Wait()
}
