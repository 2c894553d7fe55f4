package here

import (
	"sync"
	"sync/atomic"
	"time"
)

const wheelSlots = 512

// Timed is something on the wheel. expire runs on the wheel's goroutine, must
// not block, and returns in how many ticks it wants to run again (≤ 0: never).
type Timed interface {
	Expire() int64
	Node() *WheelNode
}

// WheelNode is the place of a timed in the wheel.
type WheelNode struct {
	owner      Timed
	prev, next *WheelNode
	due        int64
}

// Wheel is the one timer of a gateway: hello deadlines, heartbeats, token
// expiry and presence graces. Ticks also serve as the cheap clock by which
// silence is judged. A timer is late by up to two ticks, never early.
type Wheel struct {
	tick  time.Duration
	start time.Time
	now   atomic.Int64

	mu    sync.Mutex
	slots [wheelSlots]*WheelNode
	done  int64 // slots up to this tick have fired
}

// NewWheel makes one that stands still until Run.
func NewWheel(tick time.Duration) *Wheel {
	return &Wheel{tick: tick, start: time.Now()}
}

// Now is the tick of this moment.
func (w *Wheel) Now() int64 { return w.now.Load() }

// Ticks converts a duration, rounding up.
func (w *Wheel) Ticks(d time.Duration) int64 {
	return int64((d + w.tick - 1) / w.tick)
}

// Schedule (re)places t to expire in that many ticks. Longer than a turn of
// the wheel is shortened to one: expire decides anew then.
func (w *Wheel) Schedule(t Timed, ticks int64) {
	w.mu.Lock()
	w.place(t, ticks)
	w.mu.Unlock()
}

func (w *Wheel) place(t Timed, ticks int64) {
	n := t.Node()
	w.unlink(n)
	n.owner = t
	n.due = max(w.now.Load(), w.done) + min(max(ticks, 1), wheelSlots-2) + 1
	slot := &w.slots[n.due%wheelSlots]
	n.next = *slot
	if n.next != nil {
		n.next.prev = n
	}
	*slot = n
}

func (w *Wheel) unlink(n *WheelNode) {
	if n.owner == nil {
		return
	}
	if n.prev != nil {
		n.prev.next = n.next
	} else {
		w.slots[n.due%wheelSlots] = n.next
	}
	if n.next != nil {
		n.next.prev = n.prev
	}
	n.owner, n.prev, n.next = nil, nil, nil
}

// Cancel takes t off the wheel. Its expire may be running.
func (w *Wheel) Cancel(t Timed) {
	w.mu.Lock()
	w.unlink(t.Node())
	w.mu.Unlock()
}

// Run turns the wheel until stop is closed; each is called after every tick.
func (w *Wheel) Run(stop <-chan struct{}, each func()) {
	ticker := time.NewTicker(w.tick)
	defer ticker.Stop()
	var due []Timed
	for {
		select {
		case <-stop:
			return
		case <-ticker.C:
		}
		w.now.Store(int64(time.Since(w.start) / w.tick))
		due = w.advance(due[:0])
		for i, t := range due {
			if again := t.Expire(); again > 0 {
				w.again(t, again)
			}
			due[i] = nil
		}
		each()
	}
}

// advance collects what has become due.
func (w *Wheel) advance(due []Timed) []Timed {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.now.Load()
	for first := max(w.done+1, now-wheelSlots+1); first <= now; first++ {
		for n := w.slots[first%wheelSlots]; n != nil; {
			next := n.next
			if n.due <= now {
				due = append(due, n.owner)
				w.unlink(n)
			}
			n = next
		}
	}
	w.done = max(w.done, now)
	return due
}

// again re-places t unless somebody scheduled it while it expired.
func (w *Wheel) again(t Timed, ticks int64) {
	w.mu.Lock()
	if t.Node().owner == nil {
		w.place(t, ticks)
	}
	w.mu.Unlock()
}
