package gateway

import (
	"time"

	"github.com/skein-im/skein/internal/im"
)

const (
	// placesUnderway is how many positions are looked up at the same time,
	// placesWaiting how many sessions wait for it. Who finds no room asks again.
	placesUnderway = 4
	placesWaiting  = 1024
	// placeAgain is when.
	placeAgain = time.Second
)

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
	from, to := s.PlaceFrom(), ""
	if from != "" {
		to = s.toldUpTo(from)
	}
	s.Placed(from, to)
	s.Flush()
}

// toldUpTo asks what changed for the user since a position, and returns the new one
// if all of it was queued for this session before, or is now; otherwise "".
func (s *session) toldUpTo(from string) (to string) {
	ctx, answered := s.asking(readTime)
	defer answered()
	res, err := s.g.o.Logic.Sync(ctx, s.Actor, im.SyncQuery{Position: from, Timeline: s.g.o.Timeline(), Heads: true})
	if err != nil || res.Reset || res.Next != "" || res.Position == from {
		return ""
	}
	if !s.g.sameGroups(&s.Member, res.Conversations) {
		s.Misses()
		s.g.verifier.user(s.Actor.User)
		return ""
	}
	for i := range res.Conversations {
		st := &res.Conversations[i]
		if st.Until != 0 { // they left: the next Sync tells, whatever was told here
			s.Misses()
			return ""
		}
		if !st.MarksOnly && !s.toldOf(st.Conversation, st.Head.Seq) {
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
// of it is told no position (outgoing.Queue.Misses).
func (s *session) toldOf(c im.ConversationID, seq uint64) bool {
	if c.Kind() == im.KindGroup {
		grp := s.g.groups.Locked(c, false)
		if grp == nil {
			return false
		}
		defer s.g.groups.Unlock(grp)
		if !grp.Has(&s.Member) || grp.Suspect || grp.Last < seq {
			return false
		}
		s.g.tellHeld(grp, &s.Member)
		return true
	}
	known := s.g.told.locked(c)
	defer known.mu.Unlock()
	all, _ := known.last.Peek(c)
	last := all.of(c, s.Actor.User)
	return last != nil && *last >= seq
}

// tellMarks tells the marks of a conversation that changed once more: a receipt may
// have been lost, and nothing else would tell. One that is known already does no
// harm (SPEC §6.2).
func (s *session) tellMarks(st *im.ConversationState) {
	tell := func(m im.Mark) {
		b := s.g.pools.newReceipt(&m)
		f := s.g.out.Fanout(&b.frame, 1)
		f.To(&s.Queue)
		f.End()
		s.g.pools.receipts.Put(b)
	}
	if st.Read > 0 {
		tell(im.Mark{User: s.Actor.User, Conversation: st.Conversation, Read: st.Read})
	}
	if st.Mine.Revision > 0 {
		f := s.g.out.Fanout(myStateFrame(&st.Mine), 1)
		f.To(&s.Queue)
		f.End()
	}
	if peer, dm := st.Conversation.Peer(s.Actor.User); dm && (st.PeerReceived > 0 || st.PeerRead > 0) {
		tell(im.Mark{User: peer, Conversation: st.Conversation, Received: st.PeerReceived, Read: st.PeerRead})
	}
}

// Place implements outgoing.Owner: it has a worker look up the position.
func (s *session) Place() bool {
	select {
	case s.g.places <- s:
		return true
	default:
		return false
	}
}
