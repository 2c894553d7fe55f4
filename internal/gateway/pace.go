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
	// paceEvery is how often the sessions of such a group are pushed something.
	paceEvery = 100 * time.Millisecond
	// maxHeld and maxHeldBytes bound what is held of a group. With more it goes at once:
	// then one push carries so much that the writes are not what it costs.
	maxHeld      = 512
	maxHeldBytes = 256 << 10
)

// pacer lets large groups have their pushes in few frames: the first entry after
// quiet goes at once, those that follow wait until paceEvery after it and leave as
// one. Whoever an ack is due to is told what is held before it at once, so acks do
// not wait and nothing overtakes anything. Nothing else is told of a group while
// something is held: Heads release it first, a joining session begins behind it, one
// that leaves is told it, and a position waits for it.
//
// Its goroutine runs while something is held. Its mu is a leaf but for Gateway.mu.
type pacer struct {
	g       *Gateway
	mu      sync.Mutex
	waits   []paced
	begun   uint64 // how often something began to be held
	running bool
	settled chan struct{} // closed when waits became shorter; nil: nobody waits
}

// paced is a group that holds something until then; n is its place among all.
type paced struct {
	grp *here.Group
	at  time.Time
	n   uint64
}

func newPacer(g *Gateway) *pacer { return &pacer{g: g} }

// add has what a group holds released in time.
func (p *pacer) add(grp *here.Group, at time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.begun++
	p.waits = append(p.waits, paced{grp, at, p.begun})
	if !p.running {
		p.running = p.g.spawn(p.run)
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
	wait = paceEvery
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
				p.g.release(grp)
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

// paces tells whether a run is held, and when not, when the next one may go. The end
// of a group is not. Caller holds the group's lock.
func (g *Gateway) paces(grp *here.Group, event *im.Event) bool {
	if grp.Held == nil && len(grp.Members) < paceFrom {
		return false
	}
	if event != nil && event.Type == im.EventGroupDismissed {
		g.release(grp)
		return false
	}
	now := g.o.Now()
	if grp.Held != nil || grp.Next.After(now) {
		return true
	}
	grp.Next = now.Add(paceEvery)
	return false
}

// hold keeps a run until the group's sessions may be pushed something again. Whose
// entries they are has the acks now, and who is removed all of it. Caller holds the
// group's lock.
func (g *Gateway) hold(grp *here.Group, es []im.Entry, origin []im.ConnectionID) {
	if grp.Held == nil {
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
		g.release(grp)
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
				grp.Skip(s)
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
	if rest := grp.Rest(s); len(rest) > 0 {
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
// lock.
func (g *Gateway) release(grp *here.Group) {
	h := grp.Held
	if h == nil {
		return
	}
	grp.Held = nil
	grp.Next = g.o.Now().Add(paceEvery)
	g.metrics.out.Delivered(h.Entries)
	d := newDelivery(g, h.Entries, nil, len(grp.Members))
	for s := range grp.Members {
		if told := h.Ahead[s]; told == 0 {
			d.to(s)
		} else if told < len(h.Entries) {
			g.pushAlone(s, h.Entries[told:])
		}
	}
	d.end()
}
