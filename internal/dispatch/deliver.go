package dispatch

import (
	"slices"

	"github.com/skein-im/skein/internal/im"
)

// Deliver passes stored entries to the gateways of all members and has the
// gateways write. Called once per committed batch, with the entries in commit
// order, by one goroutine at a time; an empty batch only flushes (acks and
// rejections).
//
// message path 5/6: recipients → gateways
func (d *Dispatcher) Deliver(batch []im.Delivery) {
	if len(batch) > 0 {
		d.expectAll(batch)
		d.deliverByConversation(batch)
	}
	d.queueReceiptsOf(batch)
	d.gateways.Flush()
}

// deliverByConversation sends one parcel per conversation of the batch. Under
// a storm in one conversation its entries so leave packed together.
func (d *Dispatcher) deliverByConversation(batch []im.Delivery) {
	b := &d.batch
	b.sort(batch)
	for g := range b.ends {
		first := 0
		if g > 0 {
			first = b.ends[g-1]
		}
		entries, origins := b.entries[first:b.ends[g]], b.origins[first:b.ends[g]]
		d.send(entries[0].Conversation, im.Parcel{Entries: entries, Origin: origins}, &b.to)
	}
	b.clear()
}

// sorted is a batch by conversation, those in the order of their first entry,
// in memory that is used again.
type sorted struct {
	groups  map[im.ConversationID]int
	group   []int // of batch[i]
	ends    []int // of group g in entries
	entries []im.Entry
	origins []im.ConnectionID
	to      [2]im.UserID
}

func (s *sorted) sort(batch []im.Delivery) {
	s.group, s.ends = s.group[:0], s.ends[:0]
	for i := range batch {
		c := batch[i].Entry.Conversation
		g, ok := s.groups[c]
		if !ok {
			g = len(s.ends)
			s.groups[c] = g
			s.ends = append(s.ends, 0)
		}
		s.group = append(s.group, g)
		s.ends[g]++
	}
	next := 0 // ends become the groups' beginnings, and grow to their ends again
	for g, n := range s.ends {
		s.ends[g] = next
		next += n
	}
	s.entries, s.origins = slices.Grow(s.entries, next)[:next], slices.Grow(s.origins, next)[:next]
	for i, g := range s.group {
		s.entries[s.ends[g]], s.origins[s.ends[g]] = batch[i].Entry, batch[i].Origin
		s.ends[g]++
	}
}

// clear lets go of the batch.
func (s *sorted) clear() {
	clear(s.groups)
	clear(s.entries)
	clear(s.origins)
	s.entries, s.origins, s.to = s.entries[:0], s.origins[:0], [2]im.UserID{}
}

// send finds the recipients by the conversation's kind; to is memory for them.
func (d *Dispatcher) send(c im.ConversationID, p im.Parcel, to *[2]im.UserID) {
	switch c.Kind() {
	case im.KindDM:
		to[0], to[1], _ = c.DMMembers()
		if to[0] == to[1] { // a user's notes to themselves
			d.gateways.ToUsers(to[:1], p)
			return
		}
		d.gateways.ToUsers(to[:], p)
	case im.KindGroup:
		d.gateways.ToGroup(c, p)
	case im.KindMe:
		to[0], _ = c.MeUser()
		d.gateways.ToUsers(to[:1], p)
	}
}

func (d *Dispatcher) expectAll(batch []im.Delivery) {
	due := d.now().Add(beaconDelay)
	d.mu.Lock()
	for i := range batch {
		d.expect(&batch[i].Entry, due)
	}
	d.mu.Unlock()
}
