package outgoing

import (
	"runtime"
	"slices"
	"sync"
	"time"
)

const (
	// writeHere is how many sessions a Flush writes to itself: handing so few over
	// would cost more than it spares: at 8,000 messages a second 0.96 × the CPU time of 8.
	writeHere = 16
	// pushesFirst is how many sessions that have only pushes to write one Flush has written
	// in their turn: about a millisecond's work. Those beyond are written when no
	// other session waits for its writer.
	pushesFirst = 256
	// writerChunk is how many sessions a writer takes from its queue at a time.
	writerChunk = 32
)

// dirty is the sessions that have something to write since the last Flush.
type dirty struct {
	mu    sync.Mutex
	list  []*Queue
	spare []*Queue
}

// markDirty has the next Flush see to this session.
func (o *Queue) markDirty() {
	if o.dirty.Swap(true) {
		return
	}
	d := &o.sh.dirty
	d.mu.Lock()
	d.list = append(d.list, o)
	d.mu.Unlock()
}

// Flush has what was queued written, one write per touched connection. It waits for
// nobody: it hands the sessions over to the writers, unless they are so few that it
// writes to them itself, and what a peer does not take at once is written by a
// goroutine of that connection. Of a great many pushes most let others go first, so
// that a large group does not hold up everybody's next ack.
func (sh *Queues) Flush() { sh.flush(false) }

// FlushAside is Flush for who does not deliver but to large groups: their pushes let all
// others go first, and it gives up no ack that waits for its delivery, which may be
// under way and late.
func (sh *Queues) FlushAside() { sh.flush(true) }

func (sh *Queues) flush(aside bool) {
	d := &sh.dirty
	d.mu.Lock()
	list := d.list
	d.list, d.spare = d.spare, nil
	d.mu.Unlock()
	f := flushing{sh: sh, aside: aside}
	late := 0
	for i, o := range list {
		list[i] = nil
		if f.look(o) {
			list[late] = o
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
	sh     *Queues
	now    time.Time
	aside  bool
	pushes int // sessions that have only pushes to write
	// few[:n] are written by the Flush itself; many: they were too many, so all are
	// the writers'; handed: some are.
	few          [writeHere]*Queue
	n            int
	many, handed bool
}

// look has a session written, or tells that the next Flush looks at it again.
func (f *flushing) look(o *Queue) (again bool) {
	if o.holding.Load() > 0 {
		if f.now.IsZero() {
			f.now = f.sh.o.Now()
		}
		if f.aside || o.giveUp(f.now) {
			f.write(o, true)
			return true
		}
	}
	wait, must := o.waits()
	if wait {
		return true
	}
	o.dirty.Store(false) // before it is written: what comes now is looked at again
	if !must {
		f.pushes++
	}
	f.write(o, must || f.pushes <= pushesFirst && !f.aside)
	return false
}

// write has a session written: by its writer, if that is at work or there are many.
func (f *flushing) write(o *Queue, first bool) {
	switch {
	case f.sh.writers.add(o, first, f.many):
		f.handed = true
	case f.n < len(f.few):
		f.few[f.n] = o
		f.n++
	default:
		f.many, f.handed = true, true
		for _, o := range f.few {
			f.sh.writers.add(o, true, true)
		}
		f.n = 0
		f.sh.writers.add(o, first, true)
	}
}

// end sets the writers to work, and writes to the few.
func (f *flushing) end() {
	if f.handed {
		f.sh.writers.start()
	}
	for _, o := range f.few[:f.n] {
		o.Flush()
	}
	f.sh.metrics.flushed(f.sh.o.Now())
}

// writers write to the sockets what is queued, so that who delivers does not: a
// write costs more than all else that a message causes, and one goroutine that
// writes them all bounds what a node can take on any number of cores.
//
// There are half as many as the process uses cores, so that beside them somebody
// always reads, stores and settles: with one on every core of two, a group of 10,000
// made the acks of others take 17 ms in the middle, now 3 (bench online). A session
// belongs to one of them. One with nothing to write has no goroutine.
type writers struct{ all []writer }

func newWriters(sh *Queues, n int) *writers {
	w := &writers{all: make([]writer, n)}
	for i := range w.all {
		w.all[i].sh = sh
	}
	return w
}

// shard is the writer of the next session, the n-th of all.
func (w *writers) shard(n uint64) uint16 { return uint16(n % uint64(len(w.all))) }

// add queues a session with its writer, once; if it must not wake the writer, only
// while that is at work, else false. Sessions added as first are written before the others.
func (w *writers) add(o *Queue, first, wake bool) bool {
	return w.all[o.writer].add(o, first, wake)
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
	sh *Queues
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
	list []*Queue
	head int // list[:head] was taken
}

func (q *pending) len() int { return len(q.list) - q.head }

func (q *pending) add(o *Queue) {
	if q.head > len(q.list)/2 { // not more memory than for all that ever wait at a time
		q.list, q.head = slices.Delete(q.list, 0, q.head), 0
	}
	q.list = append(q.list, o)
}

// take moves sessions into the memory that is given.
func (q *pending) take(into []*Queue) int {
	n := copy(into, q.list[q.head:])
	clear(q.list[q.head : q.head+n])
	q.head += n
	if q.len() == 0 && cap(q.list) > 1<<14 {
		q.list, q.head = nil, 0
	}
	return n
}

func (w *writer) add(o *Queue, first, wake bool) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case !wake && !w.running:
		return false
	case first && !o.queued.soon:
		o.queued.soon = true
		w.soon.add(o)
		w.added++
	case !first && !o.queued.soon && !o.queued.later:
		o.queued.later = true
		w.later.add(o)
	}
	return true
}

func (w *writer) start() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.soon.len() > 0 && len(w.stamps) == 0 {
		w.stamps, w.stamped = w.sh.metrics.stored(w.stamps), w.added
	}
	if !w.running && w.soon.len()+w.later.len() > 0 {
		w.running = true
		go w.run() // ends by itself: a flush never waits
	}
}

func (w *writer) run() {
	var list [writerChunk]*Queue
	for {
		n := w.next(list[:])
		if n == 0 {
			return
		}
		for _, o := range list[:n] {
			o.Flush()
		}
		// It has work for tens of milliseconds at times. Who waits for a core goes first,
		// and not after 10 ms, when the scheduler interrupts.
		runtime.Gosched()
	}
}

// next takes those that are to be written now, after what was taken before was
// written; none: the writer ends.
func (w *writer) next(list []*Queue) (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.stamps) > 0 && w.taken >= w.stamped {
		w.sh.metrics.written(w.stamps, w.sh.o.Now())
		w.stamps = w.stamps[:0]
	}
	if n = w.soon.take(list); n > 0 {
		w.taken += uint64(n)
		for _, o := range list[:n] {
			o.queued.soon = false // before it is written: what comes now is written again
		}
		return n
	}
	n = w.later.take(list)
	for _, o := range list[:n] {
		o.queued.later = false
	}
	w.running = n > 0
	return n
}
