package messaging

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// item is one entry on its way into the journal: a member's message, or an
// event of the server's own with apply.
type item struct {
	ctx   context.Context // of a send, for im.ErrWithdrawn only
	actor im.Actor
	entry im.Entry
	hash  uint64
	// replyTo is the seq that the entry answers, 0 if none.
	replyTo uint64
	// labels are those of a message; everybody: it mentions all members, or those who are
	// there, which not everybody may.
	labels    []string
	everybody bool
	// streaming: more of the message comes, so a timer is kept before it is stored.
	streaming bool
	// sticker: it shows one, whose picture it names once that is known.
	sticker bool
	// media: it names uploads, which is noted before it is stored; copied: those of others.
	media, copied bool
	// breaks are the rules of the filter that it breaks, as it came in; report is the one by
	// which it is reported once it is stored, nil: none.
	breaks []*im.FilterRule
	report *im.FilterRule
	// server: it is an amendment of the server's own, which needs nobody's permission.
	server bool
	// amends is what an amendment makes of its target, once it is admitted.
	amends *amending
	// ifRoster and setRoster as in im.Append; decided for messages by the committer or an admitter.
	ifRoster, setRoster uint64
	// event: no permission check; apply, if set, runs between the commit and the delivery.
	event bool
	apply func(seq uint64) error
	reply func(im.Ack, error)

	queued   time.Time
	attempts int // of its conversation, for its roster
	asked    int // how often an admitter asked the stores
	locked   int // how often its conversation was locked in the store
	changed  int // how often its target had changed
	// admitted: an admitter asked the stores, and what RAM knows does not say otherwise.
	admitted bool
	err      error       // why it is refused; answered in its turn
	deniedAt uint64      // the roster's revision by which err refuses it for good; 0: none
	found    im.Appended // what is stored under its id although err would refuse it now
	res      im.Appended // what became of it
	round    *round      // in which it is settled
}

// anew has an item decided anew, as its conversation's roster changed. What is
// refused for now stays refused: what is behind it was refused as well.
func (it *item) anew() {
	it.res, it.found = im.Appended{}, im.Appended{}
	if !im.ForNow(it.err) {
		it.err, it.deniedAt, it.asked, it.admitted, it.amends = nil, 0, 0, false, nil
	}
}

// again tells why an item that was not stored is tried again: its roster or its target
// changed, or its conversation is locked; 0: it is not. before is why those before it in its
// conversation are. An event waits for a lock only: others wait for its roster.
func (it *item) again(before im.AppendStatus) im.AppendStatus {
	switch {
	case it.res.Status == im.Locked && it.locked < lockedAttempts:
		return im.Locked
	case it.event:
		return 0
	case it.res.Status == im.TargetChanged && it.changed < changedAttempts:
		return cmp.Or(before, im.TargetChanged)
	case it.res.Status == im.RosterChanged && before == 0:
		return im.RosterChanged
	}
	return before
}

// withdrawn tells that the sender took the item back.
func (it *item) withdrawn() bool {
	return it.ctx != nil && it.ctx.Err() != nil && context.Cause(it.ctx) == im.ErrWithdrawn
}

// behind tells that one before it was refused for now.
func (it *item) behind() bool {
	return it.actor.Order.Behind(it.actor.Connection, it.entry.Conversation, it.actor.Turn)
}

// refused holds up what is behind an item that is refused with err.
func (it *item) refused(err error) {
	if im.ForNow(err) || it.actor.Doubt {
		it.actor.Order.Refused(it.actor.Connection, it.entry.Conversation, it.entry.ID, it.actor.Turn)
	}
}

// bytes is what an item takes in memory, about.
func (it *item) bytes() int { return len(it.entry.Body) + entryOverhead }

// maxQueuedBytes bounds the items that are queued, stored or held at a time.
const maxQueuedBytes = 64 << 20

// queue is the bounded FIFO in front of the committer. While a commit is in
// flight the next batch gathers here; there is no timer.
type queue struct {
	mu     sync.Mutex
	items  []*item
	due    []due
	asking int // conversations that are with an admitter, or in due by it
	held   int // items that wait in their conversation, those with an admitter too
	max    int
	bytes  int // of all items without an answer
	closed bool
	wake   chan struct{} // capacity 1
	ended  chan struct{} // closed when the queue is
	crowd  chan struct{} // capacity 1; manyWaiting items wait, or did
}

func (q *queue) init(limit int) {
	q.max = limit
	q.wake = make(chan struct{}, 1)
	q.ended = make(chan struct{})
	q.crowd = make(chan struct{}, 1)
}

// put appends an item. It refuses with a retryable error when the queue is
// full or closed; events of the server's own are refused only when closed.
func (q *queue) put(it *item) error {
	q.mu.Lock()
	switch {
	case q.closed:
		q.mu.Unlock()
		return im.Errorf(im.CodeUnavailable, "the server is stopping")
	case (len(q.items)+q.held >= q.max || q.bytes+it.bytes() > maxQueuedBytes) && !it.event:
		q.mu.Unlock()
		e := im.Errorf(im.CodeOverloaded, "too many messages are waiting to be stored")
		e.RetryAfter = 200 * time.Millisecond
		return e
	}
	q.items = append(q.items, it)
	q.bytes += it.bytes()
	if len(q.items) == manyWaiting {
		select {
		case q.crowd <- struct{}{}:
		default:
		}
	}
	q.mu.Unlock()
	q.signal()
	return nil
}

// done frees the place of an item that is answered.
func (q *queue) done(it *item) {
	q.mu.Lock()
	q.bytes -= it.bytes()
	q.mu.Unlock()
}

// crowded tells whether many items wait for the committer. If not, crowd tells when they do.
func (q *queue) crowded() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	select {
	case <-q.crowd:
	default:
	}
	return len(q.items) >= manyWaiting
}

// waiting tells how many items wait, held ones as well, and how many may.
func (q *queue) waiting() (n, most int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.items) + q.held, q.max
}

// due is a held conversation whose items are decided again: with those that an admitter
// had, or because its roster is to be tried.
type due struct {
	conversation im.ConversationID
	admitted     []*item
}

// retryNow tells the committer that a held conversation is due.
func (q *queue) retryNow(c im.ConversationID) {
	q.mu.Lock()
	q.due = append(q.due, due{conversation: c})
	q.mu.Unlock()
	q.signal()
}

// holds counts items that wait in their conversation.
func (q *queue) holds(n int) {
	q.mu.Lock()
	q.held += n
	q.mu.Unlock()
}

// asks notes that items are given to an admitter, and admitted that they are back.
func (q *queue) asks() {
	q.mu.Lock()
	q.asking++
	q.mu.Unlock()
}

func (q *queue) admitted(items []*item) {
	q.mu.Lock()
	q.asking--
	q.due = append(q.due, due{items[0].entry.Conversation, items})
	q.mu.Unlock()
	q.signal()
}

// take waits for items or due conversations and returns all of them; ok is
// false when the queue is closed, empty, and nothing is with an admitter. buf
// becomes the next queue.
func (q *queue) take(buf []*item) (items []*item, again []due, ok bool) {
	for {
		q.mu.Lock()
		if len(q.items) > 0 || len(q.due) > 0 {
			items, again = q.items, q.due
			q.items, q.due = buf[:0], nil
			q.mu.Unlock()
			return items, again, true
		}
		over := q.closed && q.asking == 0
		q.mu.Unlock()
		if over {
			return nil, nil, false
		}
		<-q.wake
	}
}

func (q *queue) close() {
	q.mu.Lock()
	if !q.closed {
		q.closed = true
		close(q.ended)
	}
	q.mu.Unlock()
	q.signal()
}

// pause waits; false when the queue is closed: then it is time to give up.
func (q *queue) pause(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-q.ended:
		return false
	}
}

func (q *queue) signal() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}
