package gateway

import (
	"math"

	"github.com/skein-im/skein/internal/contract"
	"github.com/skein-im/skein/internal/gateway/here"
	"github.com/skein-im/skein/internal/gateway/outgoing"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

// ToUsers queues a parcel for all connections of the users (im.Dispatch).
func (g *Gateway) ToUsers(to []im.UserID, p im.Parcel) {
	if !g.anyOnline(to) {
		return
	}
	switch {
	case len(p.Entries) > 0:
		c := p.Entries[0].Conversation
		for i := range p.Entries {
			g.followFeed(&p.Entries[i])
		}
		g.metrics.out.Delivered(p.Entries)
		if c.Kind() == im.KindGroup { // to a few of its members
			g.pushTo(to, p.Entries, p.Origin)
			return
		}
		g.userEntries(c, to, p)
	case p.Head != nil:
		g.userHead(to, p.Head)
	case p.Receipt != nil:
		b := g.pools.newReceipt(p.Receipt)
		g.frameToUsers(to, &b.frame, "")
		g.pools.receipts.Put(b)
	case p.MyState != nil:
		g.frameToUsers(to, myStateFrame(p.MyState), "")
	case p.Floor != nil:
		g.frameToUsers(to, floorFrame(p.Floor), "")
	case p.Typing != nil, p.Custom != nil:
		frame, not := signalFrame(&p)
		g.frameToUsers(to, frame, not)
	}
}

// userEntries pushes entries of a dm or feed to its users, without those that were
// seen before: pushed, or told by Heads. So nothing overtakes anything (SPEC §6.7).
func (g *Gateway) userEntries(c im.ConversationID, to []im.UserID, p im.Parcel) {
	known := g.told.locked(c)
	defer known.mu.Unlock()
	for len(to) > 0 {
		old, same := known.old(c, to[0], p.Entries), 1
		for same < len(to) && known.old(c, to[same], p.Entries) == old {
			same++
		}
		for _, u := range to[:same] {
			known.advance(c, u, p.Entries[len(p.Entries)-1].Seq)
		}
		rest, origin := p.Entries[old:], p.Origin
		if origin != nil {
			d := delivery{g: g, entries: p.Entries[:old], origin: origin[:old], users: to[:same]}
			d.end()
			origin = origin[old:]
		}
		if len(rest) > 0 {
			g.pushTo(to[:same], rest, origin)
		}
		to = to[same:]
	}
}

// pushTo pushes entries to all connections of the users.
func (g *Gateway) pushTo(to []im.UserID, es []im.Entry, origin []im.ConnectionID) {
	d := newDelivery(g, es, origin, len(to))
	d.users = to
	for _, u := range to {
		g.users.Each(u, d.to)
	}
	d.end()
}

// userHead acts on a beacon of a dm or feed: whoever was not told that far missed
// something, each of the users by themselves.
func (g *Gateway) userHead(to []im.UserID, h *im.ParcelHead) {
	known := g.told.locked(h.Conversation)
	defer known.mu.Unlock()
	f := g.out.Fanout(outgoing.HeadsFrame(h.Conversation, h.Seq), 0)
	for _, u := range to {
		if known.advance(h.Conversation, u, h.Seq) && g.users.Online(u) {
			g.metrics.gapRepairs.Add(1)
			g.users.Each(u, func(s *here.Member) { f.HeadsTo(&s.Queue, h.Conversation, h.Seq) })
		}
	}
	f.End()
}

func (g *Gateway) anyOnline(us []im.UserID) bool {
	for _, u := range us {
		if g.users.Online(u) {
			return true
		}
	}
	return false
}

// followFeed acts on what a `me:` feed tells about the user's standing: who is
// no longer a contact is no longer watched.
func (g *Gateway) followFeed(e *im.Entry) {
	if e.Event == nil || e.Event.Type != im.EventContactRemoved {
		return
	}
	u, ok := e.Conversation.MeUser()
	if !ok {
		return
	}
	gone := e.Event.Users
	if e.Sender != "" && e.Sender != u {
		gone = append(gone[:len(gone):len(gone)], e.Sender)
	}
	for _, x := range gone {
		g.lookAgain(g.users.Of(u), x)
	}
}

func (g *Gateway) frameToUsers(to []im.UserID, frame *wire.ServerFrame, not im.UserID) {
	f := g.out.Fanout(frame, len(to))
	for _, u := range to {
		if u != not {
			g.users.Each(u, func(s *here.Member) { f.To(&s.Queue) })
		}
	}
	f.End()
}

// signalFrame is the frame that tells what is not kept, and who must not get it: the
// user who did it.
func signalFrame(p *im.Parcel) (f *wire.ServerFrame, not im.UserID) {
	if s := p.Custom; s != nil && s.Type == im.SignalPart {
		return partFrame(s), ""
	} else if s != nil {
		return wire.NewServerFrame(&wire.Signal{Conversation: string(s.Conversation), User: string(s.User), Type: s.Type, Data: s.Data}), s.User
	}
	t := p.Typing
	return wire.NewServerFrame(&wire.Typing{Conversation: string(t.Conversation), User: string(t.User)}), t.User
}

// ToGroup queues a parcel for all connections of the group's members
// (im.Dispatch). Parcels of one group go out in the order of the calls.
func (g *Gateway) ToGroup(c im.ConversationID, p im.Parcel) {
	switch {
	case len(p.Entries) > 0:
		g.groupEntries(c, p)
	case p.Head != nil:
		g.groupHead(c, p.Head)
	case p.Floor != nil, p.Typing != nil, p.Custom != nil:
		grp := g.groups.Locked(c, false)
		if grp == nil {
			return
		}
		switch {
		case grp.Suspect:
		case p.Custom != nil && p.Custom.Type == im.SignalPart:
			g.partTo(grp, p.Custom)
		case p.Floor != nil: // of entries that were pushed long ago: it waits for nothing that is held
			grp.Send(g.out, floorFrame(p.Floor), "")
		default:
			frame, not := signalFrame(&p)
			grp.Send(g.out, frame, not)
		}
		g.groups.Unlock(grp)
	}
}

// groupHead acts on a beacon: what lies beyond the last entry seen was lost on
// the way here.
func (g *Gateway) groupHead(c im.ConversationID, h *im.ParcelHead) {
	grp := g.groups.Locked(c, false)
	for _, u := range h.Added {
		g.users.Each(u, func(s *here.Member) {
			if grp == nil || !grp.Has(s) { // or was removed since: reading tells
				g.verifier.user(u)
			}
		})
	}
	if grp == nil {
		return
	}
	defer g.groups.Unlock(grp)
	stale := grp.Roster != 0 && h.Roster > grp.Roster
	switch {
	case grp.Last != 0 && h.Seq > grp.Last, stale:
		g.doubt(grp)
		fallthrough
	case h.Seq > grp.Last:
		grp.Last, grp.Roster = max(grp.Last, h.Seq), max(grp.Roster, h.Roster)
		grp.Heads(g.out)
	}
}

// doubt stops pushes to the group until its roster was read again. Caller
// holds the group's lock.
func (g *Gateway) doubt(grp *here.Group) {
	g.release(grp, nil) // it was seen before the gap
	g.metrics.gapRepairs.Add(1)
	grp.Suspect = true
	grp.Epoch++
	g.verifier.group(grp.ID)
}

// groupEntries pushes entries to a group, following the roster: an entry that
// changes it goes out by itself, after those it adds have joined and before
// those it removes have left (SPEC §4.3).
func (g *Gateway) groupEntries(c im.ConversationID, p im.Parcel) {
	for i := range p.Entries {
		if e := p.Entries[i].Event; rosterEvent(e) {
			g.groups.Loads.Note(c, changedUsers(&p.Entries[i]), e.Type == im.EventGroupDismissed)
		}
	}
	grp := g.groups.Locked(c, g.addsHere(p.Entries))
	if grp == nil {
		g.metrics.out.Delivered(p.Entries)
		g.ackedAll(p.Entries, p.Origin)
		// Nobody here is a member, but those removed while they were connecting see why.
		for i := range p.Entries {
			if e := p.Entries[i].Event; e != nil && removes(e.Type) {
				d := newDelivery(g, p.Entries[i:i+1], nil, 1)
				for _, u := range e.Users {
					g.users.Each(u, d.to)
				}
				d.end()
			}
		}
		return
	}
	defer g.groups.Unlock(grp)
	rest, origin := g.skipOld(grp, p)
	if len(rest) == 0 {
		return
	}
	if missed(grp, &rest[0]) {
		g.doubt(grp)
	}
	for len(rest) > 0 {
		n := 1
		if !rosterEvent(rest[0].Event) {
			for n < len(rest) && !rosterEvent(rest[n].Event) {
				n++
			}
		}
		var o []im.ConnectionID
		if origin != nil {
			o, origin = origin[:n], origin[n:]
		}
		g.groupRun(grp, rest[:n], o)
		rest = rest[n:]
	}
}

// skipOld leaves out entries that were seen before: pushed, or told by Heads. A
// roster change among them came late: what it means now has to be read, unless it
// adds those who are members already. Such entries come twice, see internal/remote.
func (g *Gateway) skipOld(grp *here.Group, p im.Parcel) ([]im.Entry, []im.ConnectionID) {
	rest, origin := p.Entries, p.Origin
	for len(rest) > 0 && rest[0].Seq <= grp.Last {
		if origin != nil {
			g.ackedIn(grp, &rest[0], origin[0], false)
		}
		if rosterEvent(rest[0].Event) && !g.added(grp, &rest[0]) {
			g.doubt(grp)
			for _, u := range changedUsers(&rest[0]) {
				if g.users.Online(u) {
					g.verifier.user(u)
				}
			}
		}
		rest = rest[1:]
		if origin != nil {
			origin = origin[1:]
		}
	}
	return rest, origin
}

// added tells that e adds members and that those of them who are here are in.
// Caller holds the group's lock.
func (g *Gateway) added(grp *here.Group, e *im.Entry) bool {
	in := adds(e.Event.Type)
	for _, u := range changedUsers(e) {
		g.users.Each(u, func(s *here.Member) {
			if !grp.Has(s) {
				in = false
			}
		})
	}
	return in
}

// missed tells that entries, or a roster change, before e were not seen here.
func missed(grp *here.Group, e *im.Entry) bool {
	if grp.Last == 0 { // only the roster was read so far
		return e.Event == nil && grp.Roster != 0 && e.Roster > grp.Roster
	}
	return e.Seq > grp.Last+1 || (e.Event == nil && grp.Roster != 0 && e.Roster > grp.Roster)
}

// groupRun pushes entries between which the roster does not change, or a
// single one that changes it. Caller holds the group's lock.
func (g *Gateway) groupRun(grp *here.Group, es []im.Entry, origin []im.ConnectionID) {
	event := es[0].Event
	last := &es[len(es)-1]
	grp.Last = last.Seq
	grp.Roster = max(grp.Roster, last.Roster)
	if event != nil && adds(event.Type) {
		from := last.Seq // or earlier: the next reading tells
		if event.Group != nil && event.Group.History == im.HistoryAll {
			from = 1
		}
		for _, u := range changedUsers(&es[0]) {
			g.users.Each(u, func(s *here.Member) { grp.Joins(s, from) })
		}
	}
	switch {
	case grp.Suspect:
		grp.Heads(g.out)
		g.ackedAll(es, origin)
	case g.paces(grp, event):
		g.hold(grp, es, origin)
	default:
		g.pushRun(grp, es, origin)
	}
	switch {
	case event == nil:
	case event.Type == im.EventGroupDismissed:
		for s := range grp.Members {
			grp.Leave(s)
		}
	case removes(event.Type):
		for _, u := range event.Users {
			g.users.Each(u, grp.Leave)
		}
	}
}

// pushRun pushes a run to the group's sessions. Caller holds the group's lock.
func (g *Gateway) pushRun(grp *here.Group, es []im.Entry, origin []im.ConnectionID) {
	g.metrics.out.Delivered(es)
	d := newDelivery(g, es, origin, len(grp.Members))
	low := lowestTarget(es)
	for s, at := range grp.Members {
		if low < at.From {
			d.headsTo(s)
		} else {
			d.to(s)
		}
	}
	if event := es[0].Event; event != nil && removes(event.Type) { // also those who are no longer in the registry see why
		for _, u := range event.Users {
			g.users.Each(u, func(s *here.Member) {
				if !grp.Has(s) {
					d.to(s)
				}
			})
		}
	}
	d.end()
}

// lowestTarget is the first of the entries that es amend. Whoever may not read all from
// there on is told of es by Heads: what an amendment says of a message is nobody's who
// may not read that (SPEC §4.3), and which of it is theirs a Pull tells.
func lowestTarget(es []im.Entry) uint64 {
	low := uint64(math.MaxUint64)
	for i := range es {
		if t := es[i].Target; es[i].Amends() {
			low = min(low, t)
			if root := contract.ThreadOf(&es[i]); root != 0 { // it amends a reply
				low = min(low, root)
			}
		}
	}
	return low
}

// addsHere tells whether the entries add somebody who is connected here.
func (g *Gateway) addsHere(es []im.Entry) bool {
	for i := range es {
		if e := es[i].Event; e != nil && adds(e.Type) {
			if g.anyOnline(changedUsers(&es[i])) {
				return true
			}
		}
	}
	return false
}

func adds(t im.EventType) bool { return t == im.EventGroupCreated || t == im.EventMemberAdded }

func removes(t im.EventType) bool { return t == im.EventMemberLeft || t == im.EventMemberRemoved }

func rosterEvent(e *im.Event) bool {
	return e != nil && (adds(e.Type) || removes(e.Type) || e.Type == im.EventGroupDismissed)
}

// changedUsers are those whose membership the entry changes. Who creates a
// group is in it.
func changedUsers(e *im.Entry) []im.UserID {
	if e.Event.Type == im.EventGroupCreated && e.Sender != "" {
		return append(e.Event.Users[:len(e.Event.Users):len(e.Event.Users)], e.Sender)
	}
	return e.Event.Users
}

// Lost implements outgoing.Owner: it repairs what was lost on the way here of a conversation
// in which s, a member, has an ack.
func (s *session) Lost(h im.ParcelHead) {
	g := s.g
	if h.Conversation.Kind() != im.KindGroup {
		g.userHead([]im.UserID{s.Actor.User}, &h)
		return
	}
	here := false
	if grp := g.groups.Locked(h.Conversation, false); grp != nil {
		here = grp.Has(&s.Member)
		g.groups.Unlock(grp)
	}
	if !here { // the delivery goes where members are, and the registry may be wrong
		g.verifier.user(s.Actor.User)
	}
	g.groupHead(h.Conversation, &h)
}
