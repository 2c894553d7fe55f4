// Package dispatch brings what logic decided to the gateways of the recipients.
//
// It owns: who the recipients of an entry are (by the conversation's kind), the
// beacons that repair a lost last push, and the coalescing of receipts
// (receipts.go). It does not know connections, codecs or how a gateway is
// reached: that is im.Dispatch, a plain gateway in one process, the bus between
// several.
//
// Goroutines: one, started by New, ended by Close; it sends the receipts that no
// Deliver took along and beacons beaconDelay after a conversation's last entry.
// Locks: mu guards what is pending and is never held while calling out.
//
// Invariants:
//   - Deliver never blocks and never fails; what is lost on the way is repaired
//     by a beacon (SPEC §6.5) or a digest (§7.4).
//   - Entries of one conversation are passed on in the order of Deliver.
package dispatch

import (
	"slices"
	"sync"
	"time"

	"github.com/skein-im/skein/internal/im"
)

const (
	// beaconDelay is how long a conversation is quiet before its head is told again.
	beaconDelay = time.Second
	// remindDelay is how soon a head is told again when it may never have been told.
	remindDelay = 100 * time.Millisecond
	// maxBeacons bounds the conversations waiting for their beacon.
	maxBeacons = 200_000
	// floorsAtOnce is how many floors are told between two writes: a user's queue holds so
	// many, and more.
	floorsAtOnce = 1000
	// maxAdded is from how many new members on a beacon names no further ones.
	maxAdded = 10_000
)

// Dispatcher is the dispatch of one logic role. Use New.
type Dispatcher struct {
	gateways im.Dispatch
	now      func() time.Time

	mu       sync.Mutex
	receipts receipts
	waits    im.Turns // the recipients whose receipts wait
	beacons  map[im.ConversationID]*beacon
	wake     chan struct{} // capacity 1: a receipt waits where none did
	done     chan struct{}
	stopped  sync.WaitGroup

	batch sorted // of Deliver
}

type beacon struct {
	head im.ParcelHead
	due  time.Time
}

// New starts a dispatcher over the gateways.
func New(gateways im.Dispatch, now func() time.Time) *Dispatcher {
	d := &Dispatcher{
		gateways: gateways,
		now:      now,
		beacons:  map[im.ConversationID]*beacon{},
		wake:     make(chan struct{}, 1),
		done:     make(chan struct{}),
	}
	d.receipts.init()
	d.batch.groups = map[im.ConversationID]int{}
	d.stopped.Add(1)
	go d.run()
	return d
}

// Close sends what waits and ends the goroutine.
func (d *Dispatcher) Close() {
	close(d.done)
	d.stopped.Wait()
}

// Remind has the head of a conversation told as after a burst: receivers that
// have the entry ignore it.
func (d *Dispatcher) Remind(h im.ParcelHead) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if b := d.beacons[h.Conversation]; b != nil && b.head.Seq >= h.Seq {
		return
	}
	d.expect(&im.Entry{Conversation: h.Conversation, Seq: h.Seq, Roster: h.Roster}, d.now().Add(remindDelay))
}

// MyState tells a user's devices what one of them set.
func (d *Dispatcher) MyState(u im.UserID, state im.MyState) {
	d.gateways.ToUsers([]im.UserID{u}, im.Parcel{MyState: &state})
	d.gateways.Flush()
}

// Floors tells the members of conversations up to where these are gone for all.
func (d *Dispatcher) Floors(floors []im.Floor) {
	var to [2]im.UserID
	for some := range slices.Chunk(floors, floorsAtOnce) {
		for i := range some {
			d.send(some[i].Conversation, im.Parcel{Floor: &some[i]}, &to)
		}
		d.gateways.Flush()
	}
}

// Typing tells the other members who types.
func (d *Dispatcher) Typing(c im.ConversationID, user im.UserID) {
	d.toOthers(c, user, im.Parcel{Typing: &im.ParcelTyping{Conversation: c, User: user}})
}

// Custom tells the other members what one of them signals, and all of them the next part
// of a streamed message.
func (d *Dispatcher) Custom(s im.CustomSignal) {
	if s.Type == im.SignalPart && s.Conversation.Kind() == im.KindDM { // for the author's devices as well
		peer, _ := s.Conversation.Peer(s.User)
		d.gateways.ToUsers([]im.UserID{s.User, peer}, im.Parcel{Custom: &s})
		d.gateways.Flush()
		return
	}
	d.toOthers(s.Conversation, s.User, im.Parcel{Custom: &s})
}

// toOthers passes on what is not kept. A group's gateways leave the user out.
func (d *Dispatcher) toOthers(c im.ConversationID, user im.UserID, p im.Parcel) {
	switch c.Kind() {
	case im.KindDM:
		if peer, ok := c.Peer(user); ok {
			d.gateways.ToUsers([]im.UserID{peer}, p)
		}
	case im.KindGroup:
		d.gateways.ToGroup(c, p)
	}
	d.gateways.Flush()
}

func (d *Dispatcher) run() {
	defer d.stopped.Done()
	tick := time.NewTicker(beaconDelay / 4)
	defer tick.Stop()
	late := time.NewTimer(beaconDelay)
	defer late.Stop()
	for {
		select {
		case <-d.wake:
			late.Reset(d.untilReceipts())
		case <-late.C:
			d.sendReceipts(d.now())
			late.Reset(d.untilReceipts())
		case <-tick.C:
			d.sendBeacons(d.now())
		case <-d.done:
			d.sendReceipts(d.now().Add(receiptDelay))
			return
		}
	}
}

// sendBeacons repeats the head of every conversation that has been quiet.
func (d *Dispatcher) sendBeacons(now time.Time) {
	var due []im.ParcelHead
	d.mu.Lock()
	for c, b := range d.beacons {
		if !b.due.After(now) {
			due = append(due, b.head)
			delete(d.beacons, c)
		}
	}
	d.mu.Unlock()
	var to [2]im.UserID
	for i := range due {
		d.send(due[i].Conversation, im.Parcel{Head: &due[i]}, &to)
	}
	if len(due) > 0 {
		d.gateways.Flush()
	}
}

// expect notes that a conversation's head moved, for its beacon. When too many
// wait, the conversation goes without: digests still repair it.
func (d *Dispatcher) expect(e *im.Entry, due time.Time) {
	b := d.beacons[e.Conversation]
	if b == nil {
		if len(d.beacons) >= maxBeacons {
			return
		}
		b = &beacon{}
		d.beacons[e.Conversation] = b
	}
	b.due = due
	b.head = im.ParcelHead{Conversation: e.Conversation, Seq: e.Seq, Roster: e.Roster, Added: b.head.Added}
	if ev := e.Event; ev != nil && (ev.Type == im.EventGroupCreated || ev.Type == im.EventMemberAdded) && len(b.head.Added) < maxAdded {
		b.head.Added = append(b.head.Added, ev.Users...)
		if ev.Type == im.EventGroupCreated && e.Sender != "" {
			b.head.Added = append(b.head.Added, e.Sender)
		}
	}
}
