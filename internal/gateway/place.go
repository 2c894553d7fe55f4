package gateway

import (
	"time"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

const (
	// placesUnderway is how many positions are looked up at the same time,
	// placesWaiting how many sessions wait for it. Who finds no room asks again.
	placesUnderway = 4
	placesWaiting  = 1024
	// placeAgain is when.
	placeAgain = time.Second
)

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

// beginPlace notes the position that a Sync told. Caller holds the outbox's mu.
func (s *session) beginPlace(position string) {
	if s.g.places == nil || position == "" {
		return
	}
	if s.place == nil {
		s.place = new(place)
	}
	s.place.at, s.place.next = position, s.g.wheel.now.Load()+s.g.wheel.ticks(s.g.o.PlaceEvery)
}

// compared notes the position that a comparison told: who compares in time is
// looked nothing up for.
func (s *session) compared(position string) {
	s.ob.mu.Lock()
	defer s.ob.mu.Unlock()
	if s.place != nil {
		s.beginPlace(position)
	}
}

// wantPlace has the position looked up, if it is time. It is called when something
// is written: a connection with nothing to say compares by itself (SPEC §7.4).
// Caller holds the outbox's mu.
func (s *session) wantPlace() {
	p := s.place
	if p == nil || p.asking || !s.mayPlace() || s.g.wheel.now.Load() < p.next {
		return
	}
	select {
	case s.g.places <- s:
		p.asking = true
	default:
		p.next = s.g.wheel.now.Load() + s.g.wheel.ticks(placeAgain)
	}
}

// mayPlace tells that nothing was dropped since the last Sync, and that none is
// under way. Caller holds the outbox's mu.
func (s *session) mayPlace() bool {
	o := &s.ob
	return o.tellFrom != 0 && o.tellFrom != asksSync && !o.lagging && !o.ending && !o.closed
}

// lookUpPlaces is a worker; it ends with the gateway.
func (g *Gateway) lookUpPlaces() {
	for {
		select {
		case s := <-g.places:
			s.lookUpPlace()
		case <-g.ctx.Done():
			return
		}
	}
}

// lookUpPlace tells the next position, if all before it was told here.
func (s *session) lookUpPlace() {
	defer s.recover("position")
	o := &s.ob
	o.mu.Lock()
	from, may := s.place.at, s.mayPlace()
	o.mu.Unlock()
	to := ""
	if may {
		to = s.toldUpTo(from)
	}
	o.mu.Lock()
	s.place.asking = false
	s.place.next = s.g.wheel.now.Load() + s.g.wheel.ticks(s.g.o.PlaceEvery)
	if to != "" && s.mayPlace() && s.place.at == from {
		if framed := s.kind.framed(s, framePush, wire.NewServerFrame(&wire.Push{Position: to})); framed != nil {
			buf := o.room(&s.g.pools)
			*buf = append(*buf, framed...)
			s.place.at = to
			s.g.metrics.framesOut[framePush].Add(1)
		}
	}
	o.mu.Unlock()
	s.flush()
}

// toldUpTo asks what changed for the user since a position, and returns the new one
// if all of it was queued for this session before, or is now; otherwise "".
func (s *session) toldUpTo(from string) (to string) {
	since, ok := im.ParsePlace(from)
	if !ok {
		return ""
	}
	ctx, answered := s.asking(readTime)
	defer answered()
	res, err := s.g.o.Logic.Sync(ctx, s.actor, im.SyncQuery{Position: from, Timeline: s.g.o.Timeline(), Heads: true})
	if err != nil || res.Reset || res.Next != "" || res.Position == from {
		return ""
	}
	if !s.g.compareRoster(s, res.Conversations) {
		s.ob.misses()
		return ""
	}
	for i := range res.Conversations {
		st := &res.Conversations[i]
		if st.Until != 0 { // they left: the next Sync tells, whatever was told here
			s.ob.misses()
			return ""
		}
		if st.Head.Pos > since.Pos && !s.toldOf(st.Conversation, st.Head.Seq) {
			return ""
		}
	}
	for i := range res.Conversations {
		s.tellMarks(&res.Conversations[i])
	}
	return res.Position
}

// toldOf tells that this session was told of a conversation up to a seq: what is
// noted so was queued for all of the user's connections, and one that missed some
// of it is told no position (outbox.missed).
func (s *session) toldOf(c im.ConversationID, seq uint64) bool {
	if c.Kind() == im.KindGroup {
		grp := s.g.groups.locked(c, false)
		if grp == nil {
			return false
		}
		defer s.g.groups.unlock(grp)
		return grp.has(s) && !grp.suspect && grp.last >= seq
	}
	known := s.g.told.locked(c)
	defer known.mu.Unlock()
	all, _ := known.get(c)
	last := all.of(c, s.actor.User)
	return last != nil && *last >= seq
}

// tellMarks tells the marks of a conversation that changed once more: a receipt may
// have been lost, and nothing else would tell. One that is known already does no
// harm (SPEC §6.2).
func (s *session) tellMarks(st *im.ConversationState) {
	tell := func(m im.Mark) {
		b := s.g.pools.newReceipt(&m)
		f := fanout{frame: &b.frame, typ: frameReceipt}
		f.to(s)
		f.end(&s.g.pools)
		s.g.pools.receipts.Put(b)
	}
	if st.Read > 0 {
		tell(im.Mark{User: s.actor.User, Conversation: st.Conversation, Read: st.Read})
	}
	if peer, dm := st.Conversation.Peer(s.actor.User); dm && (st.PeerReceived > 0 || st.PeerRead > 0) {
		tell(im.Mark{User: peer, Conversation: st.Conversation, Received: st.PeerReceived, Read: st.PeerRead})
	}
}
