package dispatch

import "github.com/skein-im/skein/internal/im"

// Deliver passes stored entries to the gateways of all members and has the
// gateways write. Called once per committed batch, with the entries in commit
// order; an empty batch only flushes (acks and rejections).
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
	if len(batch) == 1 {
		d.sendEntries([]im.Entry{batch[0].Entry}, []im.ConnectionID{batch[0].Origin})
		return
	}
	first := make(map[im.ConversationID]int, len(batch))
	var entries [][]im.Entry
	var origins [][]im.ConnectionID
	for i := range batch {
		e := &batch[i].Entry
		at, ok := first[e.Conversation]
		if !ok {
			at = len(entries)
			first[e.Conversation] = at
			entries = append(entries, nil)
			origins = append(origins, nil)
		}
		entries[at] = append(entries[at], *e)
		origins[at] = append(origins[at], batch[i].Origin)
	}
	for i := range entries {
		d.sendEntries(entries[i], origins[i])
	}
}

func (d *Dispatcher) sendEntries(entries []im.Entry, origin []im.ConnectionID) {
	d.send(entries[0].Conversation, im.Parcel{Entries: entries, Origin: origin})
}

// send finds the recipients by the conversation's kind.
func (d *Dispatcher) send(c im.ConversationID, p im.Parcel) {
	switch c.Kind() {
	case im.KindDM:
		a, b, _ := c.DMMembers()
		d.gateways.ToUsers([]im.UserID{a, b}, p)
	case im.KindGroup:
		d.gateways.ToGroup(c, p)
	case im.KindMe:
		u, _ := c.MeUser()
		d.gateways.ToUsers([]im.UserID{u}, p)
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
