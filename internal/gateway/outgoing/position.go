package outgoing

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

// Announce announces a position: everything up to it, entries, receipts and
// changes of memberships, was passed to the gateway before the call, and all that
// was passed before the call for the position before is below this one. One
// goroutine calls it.
func (sh *Queues) Announce(position string) {
	a := &announced{n: 1, frame: wire.NewServerFrame(&wire.Push{Position: position})}
	if before := sh.announced.Load(); before != nil {
		a.n = before.n + 1
	}
	sh.announced.Store(a)
}

// addPosition queues the announced position behind what is queued, if the
// session may be told. Caller holds mu.
func (o *Queue) addPosition() {
	a := o.sh.announced.Load()
	if o.tellFrom == 0 || a == nil || a.n < o.tellFrom || o.lagging || o.ending {
		return
	}
	i := o.Kind.index
	if i >= maxKinds {
		return
	}
	a.once[i].Do(func() { a.framed[i], _ = o.Kind.framed(o, a.frame) })
	if a.framed[i] == nil {
		return
	}
	buf := o.room(&o.sh.pools)
	*buf = append(*buf, a.framed[i]...)
	o.tellFrom = a.n + 1
	o.sh.metrics.framesOut[framePush].Add(1)
}

// missed notes that something was not queued: no position is told until the
// client has synced. Caller holds mu.
func (o *Queue) missed() { o.tellFrom = 0 }

// Misses is missed without mu.
func (o *Queue) Misses() {
	o.mu.Lock()
	o.missed()
	o.mu.Unlock()
}

// BeginSync notes that a Sync was asked for. Further pages belong to the first.
func (o *Queue) BeginSync(further bool) {
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

// Synced lets positions be told from now on, if nothing was dropped since the
// Sync began. The next one to be announced may have been read before the answer,
// the one after it was not: it does not go back behind the answer's.
func (o *Queue) Synced(q *im.SyncQuery, res *im.SyncResult) {
	// Of a list the position of the first page counts, of a resume in several pages
	// that of the last.
	if cold := q.Position == "" || res.Reset; res.Next != "" && !cold {
		return
	}
	n := uint32(0)
	if a := o.sh.announced.Load(); a != nil {
		n = a.n
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.tellFrom == asksSync {
		o.tellFrom = n + 2
		o.beginPlace(res.Position)
	}
}

// place is the last position that a session was told, and when the next is looked
// up. It is how positions travel with what is pushed where parcels come from other
// nodes and may be lost: the gateway asks Logic, as the client would, what changed
// for the user since the last position. If all of that was told here, the new
// position is told; if not, the old one stays, and repair goes its own way. So
// nothing has to be known of who stored what, or of what was lost on the way: the
// answer is that of a Sync, which passes nothing.
type place struct {
	at     string
	next   int64 // tick
	asking bool
}

// beginPlace notes the position that a Sync told. Caller holds mu.
func (o *Queue) beginPlace(position string) {
	if o.sh.o.PlaceEvery == 0 || position == "" {
		return
	}
	if o.place == nil {
		o.place = new(place)
	}
	o.place.at, o.place.next = position, o.sh.o.Tick()+o.sh.o.PlaceEvery
}

// Compared notes the position that a comparison told. For a connection that
// compares in time nothing is looked up.
func (o *Queue) Compared(position string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.place != nil {
		o.beginPlace(position)
	}
}

// wantPlace has the position looked up, if it is time. It is called when something
// is written: a connection with nothing to say compares by itself (SPEC §7.4).
// Caller holds mu.
func (o *Queue) wantPlace() {
	p := o.place
	if p == nil || p.asking || !MayTell(o) || o.sh.o.Tick() < p.next {
		return
	}
	if p.asking = o.owner.Place(); !p.asking {
		p.next = o.sh.o.Tick() + o.sh.o.PlaceAgain
	}
}

// MayTell tells that nothing was dropped since the last Sync, and that none is
// under way. Caller holds mu.
func MayTell(o *Queue) bool {
	return o.tellFrom != 0 && o.tellFrom != asksSync && !o.lagging && !o.ending && !o.closed
}

// PlaceFrom is the position from which a new one is looked up, "" if none may be
// told.
func (o *Queue) PlaceFrom() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !MayTell(o) {
		return ""
	}
	return o.place.at
}

// Placed ends a look-up: all up to the position to, if it is not "", was told here.
func (o *Queue) Placed(from, to string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.place.asking = false
	o.place.next = o.sh.o.Tick() + o.sh.o.PlaceEvery
	if to != "" && MayTell(o) && o.place.at == from {
		if framed, err := o.Kind.framed(o, wire.NewServerFrame(&wire.Push{Position: to})); err == nil {
			buf := o.room(&o.sh.pools)
			*buf = append(*buf, framed...)
			o.place.at = to
			o.sh.metrics.framesOut[framePush].Add(1)
		}
	}
}
