package gateway

import (
	"slices"
	"sync"
	"time"
)

const (
	// writeHere is how many sessions a Flush writes to itself: handing so few over
	// would cost more than it spares.
	writeHere = 8
	// pushesFirst is how many sessions with nothing but pushes one Flush has written
	// in their turn: about a millisecond's work. Those beyond are written when no
	// other session waits for its writer.
	pushesFirst = 256
	// writerChunk is how many sessions a writer takes from its queue at a time.
	writerChunk = 32
)

// dirty is the sessions that have something to write since the last Flush.
type dirty struct {
	mu    sync.Mutex
	list  []*session
	spare []*session
}

// markDirty has the next Flush see to this session.
func (s *session) markDirty() {
	if s.dirty.Swap(true) {
		return
	}
	d := &s.g.dirty
	d.mu.Lock()
	d.list = append(d.list, s)
	d.mu.Unlock()
}

// Flush has what was queued written, one write per touched connection
// (im.Dispatch). It waits for nobody: it hands the sessions over to the writers,
// unless they are so few that it writes to them itself, and what a peer does not
// take at once is written by a goroutine of that connection. Of a great many
// pushes most let others go first, so that a large group does not hold up
// everybody's next ack.
func (g *Gateway) Flush() {
	d := &g.dirty
	d.mu.Lock()
	list := d.list
	d.list, d.spare = d.spare, nil
	d.mu.Unlock()
	f := flushing{g: g}
	late := 0
	for i, s := range list {
		list[i] = nil
		if f.look(s) {
			list[late] = s
			late++
		}
	}
	f.end()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.list = append(d.list, list[:late]...)
	clear(list[:late])
	if d.spare == nil && cap(list) <= 1<<14 {
		d.spare = list[:0]
	}
}

// flushing is one Flush.
type flushing struct {
	g      *Gateway
	now    time.Time
	pushes int // sessions with nothing but pushes
	// few[:n] are written by the Flush itself; many: they were too many, so all are
	// the writers'; handed: some are.
	few          [writeHere]*session
	n            int
	many, handed bool
}

// look has a session written, or tells that the next Flush looks at it again.
func (f *flushing) look(s *session) (again bool) {
	if s.ob.holding.Load() > 0 {
		if f.now.IsZero() {
			f.now = f.g.o.Now()
		}
		if s.giveUp(f.now) {
			f.write(s, true)
			return true
		}
	}
	wait, must := s.ob.waits()
	if wait {
		return true
	}
	s.dirty.Store(false) // before it is written: what comes now is looked at again
	if !must {
		f.pushes++
	}
	f.write(s, must || f.pushes <= pushesFirst)
	return false
}

// write has a session written: by its writer, if that is at work or there are many.
func (f *flushing) write(s *session, first bool) {
	switch {
	case f.g.writers.add(s, first, f.many):
		f.handed = true
	case f.n < len(f.few):
		f.few[f.n] = s
		f.n++
	default:
		f.many, f.handed = true, true
		for _, s := range f.few {
			f.g.writers.add(s, true, true)
		}
		f.n = 0
		f.g.writers.add(s, first, true)
	}
}

// end sets the writers to work, and writes to the few.
func (f *flushing) end() {
	if f.handed {
		f.g.writers.start()
	}
	for _, s := range f.few[:f.n] {
		s.flush()
	}
	f.g.metrics.flushed()
}

// writers write to the sockets what is queued, so that who delivers does not: a
// write costs more than all else that a message causes, and one goroutine that
// writes them all bounds what a node can take on any number of cores.
//
// There are as many as the process uses cores. A session belongs to one of them.
// One with nothing to write has no goroutine.
type writers struct{ all []writer }

func newWriters(g *Gateway, n int) *writers {
	w := &writers{all: make([]writer, n)}
	for i := range w.all {
		w.all[i].g = g
	}
	return w
}

// shard is the writer of the next session, the n-th of all.
func (w *writers) shard(n uint64) uint16 { return uint16(n % uint64(len(w.all))) }

// add queues a session with its writer, once; if it must not wake the writer, only
// while that is at work, else false. What is first leaves before what is not.
func (w *writers) add(s *session, first, wake bool) bool {
	return w.all[s.writer].add(s, first, wake)
}

// start sets those to work that have something to write.
func (w *writers) start() {
	for i := range w.all {
		w.all[i].start()
	}
}

// writer writes to its sessions, one after the other. Its goroutine runs while
// there are any.
type writer struct {
	g  *Gateway
	mu sync.Mutex
	// soon are written first, later when there are none of those.
	soon, later pending
	running     bool
	// added and taken count what went through soon. stamps are when that was stored
	// of which the last to be written was added as number stamped.
	added, taken, stamped uint64
	stamps                []time.Time
}

// pending is a queue of sessions, each in it at most once.
type pending struct {
	list []*session
	head int // list[:head] was taken
}

func (q *pending) len() int { return len(q.list) - q.head }

func (q *pending) add(s *session) {
	if q.head > len(q.list)/2 { // not more memory than for all that ever wait at a time
		q.list, q.head = slices.Delete(q.list, 0, q.head), 0
	}
	q.list = append(q.list, s)
}

// take moves sessions into the memory that is given.
func (q *pending) take(into []*session) int {
	n := copy(into, q.list[q.head:])
	clear(q.list[q.head : q.head+n])
	q.head += n
	if q.len() == 0 && cap(q.list) > 1<<14 {
		q.list, q.head = nil, 0
	}
	return n
}

func (w *writer) add(s *session, first, wake bool) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case !wake && !w.running:
		return false
	case first && !s.queued.soon:
		s.queued.soon = true
		w.soon.add(s)
		w.added++
	case !first && !s.queued.soon && !s.queued.later:
		s.queued.later = true
		w.later.add(s)
	}
	return true
}

func (w *writer) start() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.soon.len() > 0 && len(w.stamps) == 0 {
		w.stamps, w.stamped = w.g.metrics.stored(w.stamps), w.added
	}
	if !w.running && w.soon.len()+w.later.len() > 0 {
		w.running = true
		go w.run() // ends by itself: a flush never waits
	}
}

func (w *writer) run() {
	var list [writerChunk]*session
	for {
		n := w.next(list[:])
		if n == 0 {
			return
		}
		for _, s := range list[:n] {
			s.flush()
		}
	}
}

// next takes those that are to be written now, after what was taken before was
// written; none: the writer ends.
func (w *writer) next(list []*session) (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.stamps) > 0 && w.taken >= w.stamped {
		w.g.metrics.written(w.stamps)
		w.stamps = w.stamps[:0]
	}
	if n = w.soon.take(list); n > 0 {
		w.taken += uint64(n)
		for _, s := range list[:n] {
			s.queued.soon = false // before it is written: what comes now is written again
		}
		return n
	}
	n = w.later.take(list)
	for _, s := range list[:n] {
		s.queued.later = false
	}
	w.running = n > 0
	return n
}
