package bench

import (
	"container/heap"
	"math"
	"math/rand/v2"
	"sync"
	"time"
)

// times is what the users of a worker do by the clock. Who runs the loop calls
// turn; anybody may add, and rings the loop if it comes before what it waits for.
type times struct {
	t *traffic

	mu     sync.Mutex
	due    dueHeap
	rate   arrivals
	closed bool
}

// due is what a user does at a time.
type due struct {
	at   time.Time
	u    *user
	what func(*user, time.Time)
}

// add has the user do something at that time, under its lock.
func (p *times) add(u *user, at time.Time, what func(*user, time.Time)) {
	p.mu.Lock()
	heap.Push(&p.due, due{at, u, what})
	p.mu.Unlock()
}

// offer has messages sent at a rate from now on, 0: none.
func (p *times) offer(rate float64) {
	p.mu.Lock()
	p.rate = newArrivals(rate, time.Now())
	p.mu.Unlock()
}

func (p *times) close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
}

// turn does what is due and returns when something is again, the zero time if
// never; false: it is over. It does not do too much at once: who reads the
// connections is waiting.
func (p *times) turn() (next time.Time, ok bool) {
	for range 64 {
		now := time.Now()
		p.mu.Lock()
		var do due
		switch {
		case p.closed:
			p.mu.Unlock()
			return next, false
		case p.rate.due(now):
			do = due{p.rate.next, p.t.anyone(), (*user).owe}
			p.rate.draw()
		case len(p.due) > 0 && !p.due[0].at.After(now):
			do = heap.Pop(&p.due).(due)
		default:
			next = p.rate.next
			if len(p.due) > 0 && (next.IsZero() || p.due[0].at.Before(next)) {
				next = p.due[0].at
			}
			p.mu.Unlock()
			return next, true
		}
		p.mu.Unlock()
		if do.u != nil {
			do.u.mu.Lock()
			do.what(do.u, do.at)
			do.u.mu.Unlock()
		}
	}
	return time.Now(), true
}

// arrivals are the times of messages at a rate, as those of many who do not know
// of each other: at random within a second, but in every second as many as the
// rate says. So a low rate is kept, too.
type arrivals struct {
	next time.Time // zero: none

	rate  float64
	begin time.Time
	span  float64 // seconds in which the number is exact
	block int     // which span since begin
	left  int     // messages left in it
	at    float64 // of the last one, as a share of the span
}

func newArrivals(rate float64, now time.Time) arrivals {
	a := arrivals{rate: rate, begin: now, span: math.Max(1, 1/rate), block: -1}
	if rate > 0 {
		a.draw()
	}
	return a
}

func (a *arrivals) due(now time.Time) bool { return !a.next.IsZero() && !a.next.After(now) }

// draw finds the next time: the earliest of the span's left ones, which are spread
// evenly over its rest.
func (a *arrivals) draw() {
	for a.left == 0 {
		a.block++
		before := math.Floor(float64(a.block) * a.rate * a.span)
		a.left = int(math.Floor(float64(a.block+1)*a.rate*a.span) - before)
		a.at = 0
	}
	a.at = 1 - (1-a.at)*math.Pow(1-rand.Float64(), 1/float64(a.left))
	a.left--
	a.next = a.begin.Add(time.Duration((float64(a.block) + a.at) * a.span * float64(time.Second)))
}

// dueHeap is ordered by time.
type dueHeap []due

func (h dueHeap) Len() int           { return len(h) }
func (h dueHeap) Less(i, j int) bool { return h[i].at.Before(h[j].at) }
func (h dueHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *dueHeap) Push(x any)        { *h = append(*h, x.(due)) }
func (h *dueHeap) Pop() any {
	old := *h
	x := old[len(old)-1]
	old[len(old)-1] = due{}
	*h = old[:len(old)-1]
	return x
}
