package gateway

import (
	"math"
	"sync"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

// asksSync stands for the number of a position while a Sync is under way and
// nothing was dropped since it began.
const asksSync = math.MaxUint32

// announced is a position up to which everything was queued for whom it concerns,
// when it was announced. It is told, once, to each connection that is written to
// anyway and missed nothing since its last Sync (SPEC §7.7).
type announced struct {
	n      uint32 // the first is 1
	frame  *wire.ServerFrame
	once   [maxKinds]sync.Once
	framed [maxKinds][]byte
}

// Position announces a position: everything up to it, entries, receipts and
// changes of memberships, was passed to this gateway before the call, and all that
// was passed before the call for the position before is below this one. One
// goroutine calls it.
func (g *Gateway) Position(position string) {
	a := &announced{n: 1, frame: wire.NewServerFrame(&wire.Push{Position: position})}
	if before := g.announced.Load(); before != nil {
		a.n = before.n + 1
	}
	g.announced.Store(a)
}

// addPosition queues the announced position behind what is queued, if the
// session may be told. Caller holds the outbox's mu.
func (s *session) addPosition() {
	o, a := &s.ob, s.g.announced.Load()
	if o.tellFrom == 0 || a == nil || a.n < o.tellFrom || o.lagging || o.ending {
		return
	}
	i := s.kind.index
	if i >= maxKinds {
		return
	}
	a.once[i].Do(func() { a.framed[i] = s.kind.framed(s, framePush, a.frame) })
	if a.framed[i] == nil {
		return
	}
	buf := o.room(&s.g.pools)
	*buf = append(*buf, a.framed[i]...)
	o.tellFrom = a.n + 1
	s.g.metrics.framesOut[framePush].Add(1)
}

// missed notes that something was not queued: no position is told until the
// client has synced. Caller holds mu.
func (o *outbox) missed() { o.tellFrom = 0 }

// misses is missed without mu.
func (o *outbox) misses() {
	o.mu.Lock()
	o.missed()
	o.mu.Unlock()
}

// beginSync notes that a Sync was asked for. Further pages belong to the first.
func (o *outbox) beginSync(further bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case further:
	case o.lagging:
		o.tellFrom = 0
	default:
		o.tellFrom = asksSync
	}
}

// synced lets positions be told from now on, if nothing was dropped since the
// Sync began. The next one to be announced may have been read before the answer,
// the one after it was not: it does not go back behind the answer's.
func (s *session) synced(q *im.SyncQuery, res *im.SyncResult) {
	// Of a list the position of the first page counts, of a resume in several pages
	// that of the last.
	if cold := q.Position == "" || res.Reset; res.Next != "" && !cold {
		return
	}
	n := uint32(0)
	if a := s.g.announced.Load(); a != nil {
		n = a.n
	}
	s.ob.mu.Lock()
	defer s.ob.mu.Unlock()
	if s.ob.tellFrom == asksSync {
		s.ob.tellFrom = n + 2
		s.beginPlace(res.Position)
	}
}
