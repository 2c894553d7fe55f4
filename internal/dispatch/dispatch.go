// Package dispatch brings what logic decided to the gateways of the recipients.
//
// It owns: who the recipients of an entry are (by the conversation's kind), the
// beacons that repair a lost last push, and the coalescing of receipts. It does
// not know connections, codecs or how a gateway is reached: that is im.Dispatch,
// a plain gateway in one process, the bus between several.
//
// Goroutines: one, started by New, ended by Close; it sends receipts at most
// receiptDelay late and beacons beaconDelay after a conversation's last entry.
// Locks: mu guards the two pending maps and is never held while calling out.
//
// Invariants:
//   - Deliver never blocks and never fails; what is lost on the way is repaired
//     by a beacon (SPEC §6.5) or a digest (§7.4).
//   - Entries of one conversation are passed on in the order of Deliver.
package dispatch

import (
	"sync"
	"time"

	"github.com/skein-im/skein/internal/im"
)

const (
	// receiptDelay trades a tick's latency, which nobody sees, for writes: receipts
	// of a conversation that arrive together leave as one.
	receiptDelay = 20 * time.Millisecond
	// beaconDelay is how long a conversation is quiet before its head is told again.
	beaconDelay = time.Second
	// maxBeacons bounds the conversations waiting for their beacon.
	maxBeacons = 200_000
)

// Dispatcher is the dispatch of one logic role. Use New.
type Dispatcher struct {
	gateways im.Dispatch
	now      func() time.Time

	mu       sync.Mutex
	receipts map[receiptKey]receipt
	beacons  map[im.ConversationID]*beacon
	wake     chan struct{} // capacity 1: a receipt waits
	done     chan struct{}
	stopped  sync.WaitGroup
}

type receiptKey struct {
	conversation im.ConversationID
	user         im.UserID
}

type receipt struct {
	mark im.Mark
	to   []im.UserID
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
		receipts: map[receiptKey]receipt{},
		beacons:  map[im.ConversationID]*beacon{},
		wake:     make(chan struct{}, 1),
		done:     make(chan struct{}),
	}
	d.stopped.Add(1)
	go d.run()
	return d
}

// Close sends what waits and ends the goroutine.
func (d *Dispatcher) Close() {
	close(d.done)
	d.stopped.Wait()
}

// Receipt tells users about somebody's marks, a little late and combined with
// later marks of the same user and conversation.
func (d *Dispatcher) Receipt(m im.Mark, to []im.UserID) {
	k := receiptKey{m.Conversation, m.User}
	d.mu.Lock()
	r := d.receipts[k]
	r.mark.User, r.mark.Conversation = m.User, m.Conversation
	r.mark.Received = max(r.mark.Received, m.Received)
	r.mark.Read = max(r.mark.Read, m.Read)
	if len(to) >= len(r.to) {
		r.to = to
	}
	d.receipts[k] = r
	d.mu.Unlock()
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

// Typing tells the other members who types.
func (d *Dispatcher) Typing(c im.ConversationID, user im.UserID) {
	p := im.Parcel{Typing: &im.ParcelTyping{Conversation: c, User: user}}
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
	for {
		select {
		case <-d.wake:
			timer := time.NewTimer(receiptDelay)
			select {
			case <-timer.C:
			case <-d.done:
				timer.Stop()
			}
			d.sendReceipts()
		case <-tick.C:
			d.sendBeacons(d.now())
		case <-d.done:
			d.sendReceipts()
			return
		}
	}
}

// sendReceipts sends what no Deliver took along.
func (d *Dispatcher) sendReceipts() {
	if d.queueReceipts() {
		d.gateways.Flush()
	}
}

// queueReceipts passes the waiting receipts on and reports whether there were any.
func (d *Dispatcher) queueReceipts() bool {
	d.mu.Lock()
	batch := d.receipts
	if len(batch) == 0 {
		d.mu.Unlock()
		return false
	}
	d.receipts = make(map[receiptKey]receipt, len(batch))
	d.mu.Unlock()
	for _, r := range batch {
		d.gateways.ToUsers(r.to, im.Parcel{Receipt: &r.mark})
	}
	return true
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
	for i := range due {
		d.send(due[i].Conversation, im.Parcel{Head: &due[i]})
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
	b.head = im.ParcelHead{Conversation: e.Conversation, Seq: e.Seq, Roster: e.Roster}
}
