package gateway

import (
	"strings"
	"sync"
	"time"

	"github.com/skein-im/skein/internal/gateway/here"
	"github.com/skein-im/skein/internal/im"
)

const (
	// paceFrom is from how many sessions of a group here on its pushes are paced: a
	// write to so many takes a core about two milliseconds.
	paceFrom = 256
	// paceEvery is how often the sessions of such a group are pushed something, the
	// larger ones' more seldom: paceEach for each session, which is a quarter of a core
	// for their writes, but within paceMost.
	paceEvery = 100 * time.Millisecond
	paceEach  = 25 * time.Microsecond
	paceMost  = 500 * time.Millisecond
	// paceChunk is how many sessions are pushed something before others may have the
	// group: a tenth of a millisecond.
	paceChunk = 256
	pauseFor  = 50 * time.Microsecond
	// maxHeld and maxHeldBytes bound what is held of a group. With more it goes at once:
	// then one push carries so much that the writes are not what it costs.
	maxHeld      = 512
	maxHeldBytes = 256 << 10
)

// pacer lets large groups have their pushes in few frames, and by a goroutine of its
// own, so that who delivers waits for no large group. What comes first after quiet
// goes at once, what follows waits until paceOf after it and leaves as one. Whoever an
// ack is due to is told what is held before it at once, so acks do not wait and
// nothing overtakes anything. Nothing else is told of a group while something is held:
// Heads release it first, a joining session begins behind it, one that leaves is told
// it, and a position waits for it.
//
// It takes the group's lock for paceChunk sessions at a time. Between them entries are
// held that leave the next time, and each session is told what it was not told yet
// (Group.Members).
//
// Its goroutine runs while something is held. Its mu is a leaf but for Gateway.mu.
type pacer struct {
	g       *Gateway
	mu      sync.Mutex
	waits   []paced
	begun   uint64 // how often something began to be held
	running bool
	sooner  chan struct{} // tells run that something waits for less long than it does
	settled chan struct{} // closed when waits became shorter; nil: nobody waits
}

// paced is a group that holds something until then; n is its place among all.
type paced struct {
	grp *here.Group
	at  time.Time
	n   uint64
}

func newPacer(g *Gateway) *pacer { return &pacer{g: g, sooner: make(chan struct{}, 1)} }

// add has what a group holds released in time.
func (p *pacer) add(grp *here.Group, at time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.begun++
	p.waits = append(p.waits, paced{grp, at, p.begun})
	if !p.running {
		p.running = p.g.spawn(p.run)
		return
	}
	select {
	case p.sooner <- struct{}{}:
	default: // told already
	}
}

// next is the groups whose time has come, or how long until the first one's has; ok
// is false when the goroutine may end.
func (p *pacer) next(now time.Time) (due []paced, wait time.Duration, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.waits) == 0 || p.g.ctx.Err() != nil {
		p.running = false
		return nil, 0, false
	}
	wait = paceMost
	for i := range p.waits {
		if left := p.waits[i].at.Sub(now); left <= 0 {
			due = append(due, p.waits[i])
		} else {
			wait = min(wait, left)
		}
	}
	return due, wait, true
}

func (p *pacer) run() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
		case <-p.sooner:
		case <-p.g.ctx.Done():
		}
		now := p.g.o.Now()
		due, wait, ok := p.next(now)
		if !ok {
			return
		}
		for i := range due {
			grp := due[i].grp
			grp.Lock()
			if !grp.Next.After(now) { // otherwise it went meanwhile, and what came since waits anew
				p.g.release(grp, p.g.pause)
			}
			p.g.groups.Unlock(grp)
		}
		if len(due) > 0 {
			p.done(due)
			p.g.out.FlushAside()
		}
		timer.Reset(wait)
	}
}

// pause lets others have a group, and has written what was queued.
func (g *Gateway) pause(grp *here.Group) {
	g.groups.Unlock(grp)
	g.out.FlushAside()
	// Asleep and not only last in the queue: while a writer is at work on the other of
	// two cores nobody else would look at the network.
	time.Sleep(pauseFor)
	grp.Lock()
}

// done takes out groups whose time has come.
func (p *pacer) done(due []paced) {
	p.mu.Lock()
	defer p.mu.Unlock()
	left := p.waits[:0]
	for _, w := range p.waits {
		if len(due) > 0 && due[0].n == w.n {
			due = due[1:]
			continue
		}
		left = append(left, w)
	}
	clear(p.waits[len(left):])
	p.waits = left
	if p.settled != nil {
		close(p.settled)
		p.settled = nil
	}
}

// settle returns when what is held now was queued.
func (p *pacer) settle() {
	p.mu.Lock()
	last := p.begun
	for len(p.waits) > 0 && p.waits[0].n <= last {
		if p.settled == nil {
			p.settled = make(chan struct{})
		}
		released := p.settled
		p.mu.Unlock()
		select {
		case <-released:
		case <-p.g.ctx.Done():
			return
		}
		p.mu.Lock()
	}
	p.mu.Unlock()
}

// paceOf is how often the group's sessions are pushed something. Caller holds the
// group's lock.
func paceOf(grp *here.Group) time.Duration {
	return min(max(paceEvery, time.Duration(len(grp.Members))*paceEach), paceMost)
}

// paces tells whether a run is held. The end of a group is not. Caller holds the
// group's lock.
func (g *Gateway) paces(grp *here.Group, event *im.Event) bool {
	if grp.Held == nil && len(grp.Members) < paceFrom {
		return false
	}
	if event != nil && event.Type == im.EventGroupDismissed {
		g.release(grp, nil)
		return false
	}
	return true
}

// hold keeps a run until the group's sessions may be pushed something again. Whose
// entries they are has the acks now, and who is removed all of it. Caller holds the
// group's lock.
func (g *Gateway) hold(grp *here.Group, es []im.Entry, origin []im.ConnectionID) {
	if !grp.Waits() {
		g.pacer.add(grp, grp.Next)
	}
	for i := range es {
		if origin != nil {
			g.ackedIn(grp, &es[i], origin[i], true)
		}
		grp.Hold(&es[i])
	}
	if e := es[0].Event; e != nil && removes(e.Type) {
		for _, u := range e.Users {
			g.users.Each(u, func(s *here.Member) {
				if grp.Has(s) {
					g.tellHeld(grp, s)
				} else { // also those who are no longer in the registry see why
					g.pushAlone(s, es)
				}
			})
		}
	}
	if len(grp.Held.Entries) >= maxHeld || grp.Held.Bytes >= maxHeldBytes {
		g.release(grp, nil)
	}
}

// ackedIn tells the ack of an entry after what is held before it; own: the entry is
// held next, and its sender needs no push of it. Caller holds the group's lock.
func (g *Gateway) ackedIn(grp *here.Group, e *im.Entry, o im.ConnectionID, own bool) {
	if o == "" || !strings.HasPrefix(string(o), g.node) {
		return
	}
	g.users.Each(e.Sender, func(s *here.Member) {
		if s.ID != o {
			return
		}
		if grp.Has(s) {
			g.tellHeld(grp, s)
			if own {
				grp.Skip(s, e.Seq)
			}
		}
		s.Delivered(e)
	})
}

// tellHeld tells one session what is held. Caller holds the group's lock.
func (g *Gateway) tellHeld(grp *here.Group, s *here.Member) {
	if grp.Held == nil {
		return
	}
	rest := grp.Rest(s, grp.Held.Entries)
	switch {
	case len(rest) == 0:
	case lowestTarget(rest) < grp.Members[s].From:
		d := newDelivery(g, rest, nil, 1)
		d.headsTo(s)
		d.end()
	default:
		g.pushAlone(s, rest)
	}
}

// pushAlone pushes entries of a conversation to one session.
func (g *Gateway) pushAlone(s *here.Member, es []im.Entry) {
	d := newDelivery(g, es, nil, 1)
	d.to(s)
	d.end()
}

// release pushes what is held to all who were not told it. Caller holds the group's
// lock, but not while pause, if not nil, is called between some sessions and the next.
func (g *Gateway) release(grp *here.Group, pause func(*here.Group)) {
	h := grp.Held
	if h == nil {
		return
	}
	es := h.Entries // what is held from now on is told the next time
	h.Leaving = len(es)
	grp.Next = g.o.Now().Add(paceOf(grp))
	g.metrics.out.Delivered(es)
	d := newDelivery(g, es, nil, len(grp.Members))
	defer d.end()
	n, low := 0, lowestTarget(es)
	for s, at := range grp.Members {
		switch rest := grp.Rest(s, es); {
		case low < at.From && len(rest) > 0: // of one that is not theirs, perhaps
			d.headsTo(s)
		case len(rest) == len(es):
			d.to(s)
		case len(rest) > 0:
			g.pushAlone(s, rest)
		}
		if n++; pause == nil || n%paceChunk > 0 || n >= len(grp.Members) {
			continue
		}
		if pause(grp); grp.Held != h { // all of it was told meanwhile, or is of no history
			return
		}
	}
	grp.Left()
}
