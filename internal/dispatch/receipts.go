package dispatch

import (
	"context"
	"math"
	"time"

	"github.com/skein-im/skein/internal/im"
)

const (
	// receiptDelay is how late a received mark is told if nothing else is written to
	// the recipient before: a write of its own would cost as much as a message.
	receiptDelay = 200 * time.Millisecond
	// readDelay is the same for a read mark, which people look at.
	readDelay = 20 * time.Millisecond
	// receiptSlack is how much too early a receipt may leave with another one.
	receiptSlack = 5 * time.Millisecond
)

// receipts are the marks that wait to be told, by recipient. Those of one user
// and conversation become one. They leave with whatever is written to the
// recipient next, and by themselves when they are due.
type receipts struct {
	waiting map[im.UserID]*waitingReceipts
	spare   []*waitingReceipts
	// slow and fast are the recipients in the order their received and read marks
	// are due. A recipient that was served meanwhile stays in line: its turn finds
	// nothing due.
	slow, fast dueLine
}

type waitingReceipts struct {
	due   time.Time
	turn  int // of Dispatcher.waits
	to    [1]im.UserID
	marks []im.Mark // User, Conversation, Received and Read
}

func (r *receipts) init() { r.waiting = map[im.UserID]*waitingReceipts{} }

// add has m told to the recipient, and reports whether the line was empty.
func (r *receipts) add(to im.UserID, m *im.Mark, now time.Time, waits *im.Turns) (first bool) {
	line, delay := &r.slow, receiptDelay
	if m.Read > 0 {
		line, delay = &r.fast, readDelay
	}
	due := now.Add(delay)
	w, there := r.waiting[to]
	if !there {
		if n := len(r.spare); n > 0 {
			w, r.spare = r.spare[n-1], r.spare[:n-1]
		} else {
			w = &waitingReceipts{}
		}
		w.to[0], w.turn = to, waits.Enter()
		r.waiting[to] = w
	}
	if !there || due.Before(w.due) {
		w.due = due
		first = line.empty()
		line.push(dueReceipt{due, to})
	}
	for i := range w.marks {
		if x := &w.marks[i]; x.Conversation == m.Conversation && x.User == m.User {
			x.Received = max(x.Received, m.Received)
			if m.Read > x.Read {
				x.Read, x.ReadCount = m.Read, m.ReadCount
			}
			return first
		}
	}
	w.marks = append(w.marks, im.Mark{User: m.User, Conversation: m.Conversation, Received: m.Received, Read: m.Read, ReadCount: m.ReadCount})
	return first
}

// take removes what waits for the recipient, nil if nothing does.
func (r *receipts) take(to im.UserID) *waitingReceipts {
	w := r.waiting[to]
	if w != nil {
		delete(r.waiting, to)
	}
	return w
}

// free gives back what take returned.
func (r *receipts) free(w *waitingReceipts) {
	const kept = 64
	if len(r.spare) < 4096 && cap(w.marks) <= kept {
		clear(w.marks)
		w.marks = w.marks[:0]
		r.spare = append(r.spare, w)
	}
}

// dueTo returns the recipients whose receipts are due.
func (r *receipts) dueTo(now time.Time) (to []im.UserID) {
	now = now.Add(receiptSlack)
	for _, line := range []*dueLine{&r.slow, &r.fast} {
		for !line.empty() && !line.first().at.After(now) {
			x := line.pop()
			if w := r.waiting[x.to]; w != nil && !w.due.After(now) {
				to = append(to, x.to)
			}
		}
	}
	return to
}

// next is when the next receipt is due, at the earliest.
func (r *receipts) next() (at time.Time, any bool) {
	for _, line := range []*dueLine{&r.slow, &r.fast} {
		if !line.empty() && (!any || line.first().at.Before(at)) {
			at, any = line.first().at, true
		}
	}
	return at, any
}

// dueLine is a queue in the order of time.
type dueLine struct {
	items []dueReceipt
	head  int
}

type dueReceipt struct {
	at time.Time
	to im.UserID
}

func (l *dueLine) empty() bool        { return l.head == len(l.items) }
func (l *dueLine) first() *dueReceipt { return &l.items[l.head] }

func (l *dueLine) push(x dueReceipt) {
	if l.head > 0 && len(l.items) == cap(l.items) { // move instead of growing
		n := copy(l.items, l.items[l.head:])
		clear(l.items[n:])
		l.items, l.head = l.items[:n], 0
	}
	l.items = append(l.items, x)
}

func (l *dueLine) pop() dueReceipt {
	x := l.items[l.head]
	l.items[l.head] = dueReceipt{}
	if l.head++; l.head == len(l.items) {
		l.items, l.head = l.items[:0], 0
	}
	return x
}

// Receipt tells users about somebody's marks, a little late and combined with
// later marks of the same user and conversation.
func (d *Dispatcher) Receipt(m im.Mark, to []im.UserID) {
	now := d.now()
	first := false
	d.mu.Lock()
	for _, u := range to {
		first = d.receipts.add(u, &m, now, &d.waits) || first
	}
	d.mu.Unlock()
	if first {
		select {
		case d.wake <- struct{}{}:
		default:
		}
	}
}

// Receipts returns when everything that was passed to Receipt before is with the
// gateways.
func (d *Dispatcher) Receipts(ctx context.Context) error { return d.waits.Wait(ctx) }

// queueReceiptsOf has the receipts that wait for somebody who is written to
// anyway leave in the same write: the authors of the batch get acks, the other
// sides of their direct chats pushes.
func (d *Dispatcher) queueReceiptsOf(batch []im.Delivery) {
	d.mu.Lock()
	idle := len(d.receipts.waiting) == 0
	d.mu.Unlock()
	if idle {
		return
	}
	for i := range batch {
		e := &batch[i].Entry
		if a, b, ok := e.Conversation.DMMembers(); ok {
			d.queueReceiptsTo(a)
			d.queueReceiptsTo(b)
		} else if e.Sender != "" {
			d.queueReceiptsTo(e.Sender)
		}
	}
}

func (d *Dispatcher) queueReceiptsTo(u im.UserID) {
	d.mu.Lock()
	w := d.receipts.take(u)
	d.mu.Unlock()
	if w == nil {
		return
	}
	for i := range w.marks {
		d.gateways.ToUsers(w.to[:], im.Parcel{Receipt: &w.marks[i]})
	}
	d.waits.Leave(w.turn)
	d.mu.Lock()
	d.receipts.free(w)
	d.mu.Unlock()
}

// sendReceipts sends what is due and no Deliver took along.
func (d *Dispatcher) sendReceipts(now time.Time) {
	d.mu.Lock()
	to := d.receipts.dueTo(now)
	d.mu.Unlock()
	for _, u := range to {
		d.queueReceiptsTo(u)
	}
	if len(to) > 0 {
		d.gateways.Flush()
	}
}

// untilReceipts is how long no receipt is due.
func (d *Dispatcher) untilReceipts() time.Duration {
	d.mu.Lock()
	at, any := d.receipts.next()
	d.mu.Unlock()
	if !any {
		return math.MaxInt64
	}
	return max(at.Sub(d.now()), time.Millisecond)
}
