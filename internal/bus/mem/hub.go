// Package mem is a bus within one process, for tests: it behaves like a healthy
// one until it is told to lose, repeat, reorder, delay or cut, which it then does
// from a seed.
//
// It must not know what a message means, and needs no clock but the time
// package's, so it runs under testing/synctest.
//
// Goroutines: each node's inbox has one, until the node is closed; a timer runs
// while messages are delayed. Locks, in this order: Hub.mu, which guards
// everything but what the inboxes guard themselves; gate.mu. No Handler is called
// while either is held.
//
// Invariants:
//   - nothing leaves before Flush, so that a forgotten one shows;
//   - without faults a message reaches the inbox of every node that subscribed,
//     in order, before Flush returns;
//   - two nodes that were cut apart are both told when they are joined again,
//     after the last message that was lost.
package mem

import (
	"container/heap"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/skein-im/skein/internal/bus"
)

// Faults are what a Hub does to messages, each chosen by itself for every
// message and receiver. The zero value is a healthy bus.
type Faults struct {
	Drop      float64 // probability that a message is lost
	Duplicate float64 // probability that it comes twice
	Reorder   float64 // probability that later ones overtake it
	// Delay is how long every message travels.
	Delay time.Duration
	// Late is how much longer, at most, the ones that are overtaken and the second
	// copies travel. Default 10 ms.
	Late time.Duration
	// Skew is how much longer, at most, the messages of one subject travel than those
	// of another: each subject keeps its order, and none with the others.
	Skew time.Duration
	// Interest is how long a Subscribe takes until the others know of it.
	Interest time.Duration
}

// Counts are what the faults have done.
type Counts struct {
	Delivered, Dropped, Duplicated, Reordered uint64
}

// Hub joins the nodes that were opened at it.
type Hub struct {
	mu       sync.Mutex
	rand     *rand.Rand
	faults   Faults
	counts   Counts
	nodes    map[string]*node
	known    map[string]bool // names that were open once
	order    []*node         // nodes in the order they were opened, so that a seed repeats
	interest map[string]map[*node]time.Time
	cut      map[[2]string]bool
	travel   travellers
	sent     uint64
	lastDue  map[[2]string]time.Time
	lastSkew map[[3]string]time.Time
	timer    *time.Timer
}

// NewHub makes a healthy one without nodes. Its faults come from the seed.
func NewHub(seed uint64) *Hub {
	return &Hub{
		rand:     rand.New(rand.NewPCG(seed, 1)),
		nodes:    map[string]*node{},
		known:    map[string]bool{},
		interest: map[string]map[*node]time.Time{},
		cut:      map[[2]string]bool{},
		lastDue:  map[[2]string]time.Time{},
		lastSkew: map[[3]string]time.Time{},
	}
}

// Open joins a node. Its name must not be open. Like a real one, a node that
// comes back is a route that comes back, to both sides.
func (h *Hub) Open(name string, handler bus.Handler) bus.Bus {
	return h.OpenBounded(name, handler, 0, 0)
}

// OpenBounded is Open with bounds for the node's inbox; zero is bus's default.
func (h *Hub) OpenBounded(name string, handler bus.Handler, messages, bytes int) bus.Bus {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.nodes[name] != nil {
		panic("mem: " + name + " is open already")
	}
	n := &node{hub: h, name: name, gate: newGate(handler)}
	n.inbox = bus.NewInbox(n.gate, messages, bytes)
	if h.known[name] {
		for _, other := range h.order {
			if !h.isCut(name, other.name) {
				other.inbox.Lost("route " + name)
				n.inbox.Lost("route " + other.name)
			}
		}
	}
	h.known[name] = true
	h.nodes[name] = n
	h.order = append(h.order, n)
	return n
}

// SetFaults replaces the faults for what is published from now on.
func (h *Hub) SetFaults(f Faults) {
	if f.Late <= 0 {
		f.Late = 10 * time.Millisecond
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.faults = f
}

// Counts tells what the faults have done, so that a test can be sure that they
// did something.
func (h *Hub) Counts() Counts {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.counts
}

// Partition loses everything between two nodes, also what is on its way.
func (h *Hub) Partition(a, b string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.cut[pair(a, b)] = true
}

// Heal ends a Partition and tells both nodes, as soon as each knows what the other
// took interest in meanwhile.
func (h *Hub) Heal(a, b string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.isCut(a, b) {
		return
	}
	// What was sent before is lost even if it would arrive only now.
	h.dropTravelling(a, b)
	delete(h.cut, pair(a, b))
	na, nb := h.nodes[a], h.nodes[b]
	if na == nil || nb == nil {
		return
	}
	tell := func() {
		na.inbox.Lost("route " + b)
		nb.inbox.Lost("route " + a)
	}
	if h.faults.Interest == 0 {
		tell()
		return
	}
	time.AfterFunc(h.faults.Interest, tell)
}

// Block keeps a node's Handler from being called, as if it were busy, until
// Unblock.
func (h *Hub) Block(name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if n := h.nodes[name]; n != nil {
		n.gate.block()
	}
}

// Unblock ends a Block.
func (h *Hub) Unblock(name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if n := h.nodes[name]; n != nil {
		n.gate.unblock()
	}
}

// pair is a key for two nodes, whichever comes first.
func pair(a, b string) [2]string { return [2]string{min(a, b), max(a, b)} }

func (h *Hub) isCut(a, b string) bool { return h.cut[pair(a, b)] }

// send carries one message to whom it may concern. h.mu is held.
func (h *Hub) send(from *node, subject string, data []byte, now time.Time) {
	interested := h.interest[subject]
	if len(interested) == 0 {
		return
	}
	for _, to := range h.order {
		since, ok := interested[to]
		if !ok || to == from || since.After(now) {
			continue
		}
		if h.isCut(from.name, to.name) || h.chance(h.faults.Drop) {
			h.counts.Dropped++
			continue
		}
		link := [2]string{from.name, to.name}
		due := now.Add(h.faults.Delay)
		if last := h.lastDue[link]; due.Before(last) {
			due = last
		}
		if h.faults.Skew > 0 {
			key := [3]string{from.name, to.name, subject}
			due = due.Add(time.Duration(h.rand.Int64N(int64(h.faults.Skew))))
			if last := h.lastSkew[key]; !due.After(last) {
				due = last.Add(1) // in order
			}
			h.lastSkew[key] = due
			h.dispatch(from, to, subject, data, due, now)
			continue
		}
		if h.chance(h.faults.Duplicate) {
			h.counts.Duplicated++
			h.dispatch(from, to, subject, data, h.late(due), now)
		}
		if h.chance(h.faults.Reorder) {
			h.counts.Reordered++
			h.dispatch(from, to, subject, data, h.late(due), now)
			continue
		}
		if due.After(now) {
			h.lastDue[link] = due
		}
		h.dispatch(from, to, subject, data, due, now)
	}
}

func (h *Hub) chance(p float64) bool { return p > 0 && h.rand.Float64() < p }

func (h *Hub) late(due time.Time) time.Time {
	return due.Add(1 + time.Duration(h.rand.Int64N(int64(h.faults.Late))))
}

// dispatch delivers at once what is due and keeps the rest for the timer.
func (h *Hub) dispatch(from, to *node, subject string, data []byte, due, now time.Time) {
	t := traveller{from: from, to: to, subject: subject, data: data, due: due, n: h.sent}
	h.sent++
	if !due.After(now) {
		h.arrive(t)
		return
	}
	heap.Push(&h.travel, t)
	h.arm(now)
}

func (h *Hub) arrive(t traveller) {
	if t.to.closed || h.isCut(t.from.name, t.to.name) {
		h.counts.Dropped++
		return
	}
	h.counts.Delivered++
	t.to.inbox.Push(t.subject, t.data)
}

// arm sets the timer to the next message that is due.
func (h *Hub) arm(now time.Time) {
	if len(h.travel) == 0 {
		return
	}
	d := max(0, h.travel[0].due.Sub(now))
	if h.timer == nil {
		h.timer = time.AfterFunc(d, h.fire)
		return
	}
	h.timer.Reset(d)
}

func (h *Hub) fire() {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := time.Now()
	h.arriveUntil(now)
	h.arm(now)
}

// arriveUntil delivers what is due. send calls it first, so that what is due
// comes before what is sent now even if the timer is late.
func (h *Hub) arriveUntil(now time.Time) {
	for len(h.travel) > 0 && !h.travel[0].due.After(now) {
		h.arrive(heap.Pop(&h.travel).(traveller))
	}
}

func (h *Hub) dropTravelling(a, b string) {
	kept := h.travel[:0]
	for _, t := range h.travel {
		if pair(t.from.name, t.to.name) == pair(a, b) {
			h.counts.Dropped++
			continue
		}
		kept = append(kept, t)
	}
	clear(h.travel[len(kept):])
	h.travel = kept
	heap.Init(&h.travel)
}

// traveller is a message on its way.
type traveller struct {
	from, to *node
	subject  string
	data     []byte
	due      time.Time
	n        uint64
}

// travellers is a heap by due, then by the order of sending.
type travellers []traveller

func (t travellers) Len() int { return len(t) }
func (t travellers) Less(i, j int) bool {
	if !t[i].due.Equal(t[j].due) {
		return t[i].due.Before(t[j].due)
	}
	return t[i].n < t[j].n
}
func (t travellers) Swap(i, j int) { t[i], t[j] = t[j], t[i] }
func (t *travellers) Push(x any)   { *t = append(*t, x.(traveller)) }
func (t *travellers) Pop() any {
	old := *t
	x := old[len(old)-1]
	old[len(old)-1] = traveller{}
	*t = old[:len(old)-1]
	return x
}
