package bench

import (
	"container/heap"
	"runtime"
	"sync"
	"time"
)

// pacer sends at the intended times for all users of a worker, on a thread of
// its own: the runtime's timers are late by up to a millisecond, which would
// count against the server.
type pacer struct {
	mu     sync.Mutex
	due    dueHeap
	late   dueHeap // marks
	closed bool
	done   sync.WaitGroup
}

type dueUser struct {
	at time.Time
	u  *user
}

func newPacer() *pacer { return &pacer{} }

// at has the user's messages sent from that time on.
func (p *pacer) at(u *user, at time.Time) {
	p.mu.Lock()
	heap.Push(&p.due, dueUser{at, u})
	p.mu.Unlock()
}

// marks has the user's marks sent at that time, if nothing took them along.
func (p *pacer) marks(u *user, at time.Time) {
	p.mu.Lock()
	heap.Push(&p.late, dueUser{at, u})
	p.mu.Unlock()
}

func (p *pacer) close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.done.Wait()
}

func (p *pacer) run(t *traffic) {
	p.done.Go(func() {
		runtime.LockOSThread() // it sleeps in the kernel
		for p.turn() {
			nap(p.idle())
		}
	})
}

// idle is how long nothing is due, at most a millisecond: marks may come.
func (p *pacer) idle() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.due) == 0 {
		return time.Millisecond
	}
	return min(max(time.Until(p.due[0].at), 50*time.Microsecond), time.Millisecond)
}

// turn does what is due and reports whether to go on.
func (p *pacer) turn() bool {
	for {
		now := time.Now()
		p.mu.Lock()
		if p.closed {
			p.mu.Unlock()
			return false
		}
		var send, marks *user
		if len(p.due) > 0 && !p.due[0].at.After(now) {
			send = heap.Pop(&p.due).(dueUser).u
		}
		if len(p.late) > 0 && !p.late[0].at.After(now) {
			marks = heap.Pop(&p.late).(dueUser).u
		}
		p.mu.Unlock()
		if send == nil && marks == nil {
			return true
		}
		if send != nil {
			send.mu.Lock()
			next := send.sendDue(now)
			send.mu.Unlock()
			if !next.IsZero() {
				p.at(send, next)
			}
		}
		if marks != nil {
			marks.mu.Lock()
			marks.waiting = time.Time{}
			if len(marks.marked) > 0 {
				marks.write()
			}
			marks.mu.Unlock()
		}
	}
}

// dueHeap is ordered by time.
type dueHeap []dueUser

func (h dueHeap) Len() int           { return len(h) }
func (h dueHeap) Less(i, j int) bool { return h[i].at.Before(h[j].at) }
func (h dueHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *dueHeap) Push(x any)        { *h = append(*h, x.(dueUser)) }
func (h *dueHeap) Pop() any {
	old := *h
	x := old[len(old)-1]
	old[len(old)-1] = dueUser{}
	*h = old[:len(old)-1]
	return x
}
