package skein

import (
	"context"
	"sort"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/skein-im/skein/wire"
)

// outbox is the part of the core that sends messages. SPEC §5. In the store
// first, then on the wire; per conversation in the order of N; the same id until
// it is answered.
type outbox struct {
	items    map[MessageID]*item
	queues   map[string]*sendQueue
	active   []*sendQueue // those with something to send, in turn
	inflight int
	waiting  int // pending items
	// pumpAt is when a queue that was told to wait goes on.
	pumpAt time.Time
}

// item is an outbox record in memory.
type item struct {
	rec     OutboxRecord
	pending *Pending // nil after a restart
	sent    bool     // on this connection, not answered
	sentAt  time.Time
	tries   int
	// skewed: the id's time was refused; it gets a new one once the server's time is known.
	skewed bool
}

func (it *item) id() MessageID { return idFrom(it.rec.Send.Id) }

// sendQueue holds a conversation's pending items in order.
type sendQueue struct {
	conversation string
	items        []*item
	inflight     int
	// held: one was refused for now. All that are under way are answered before it
	// is sent again, with those behind it.
	held bool
	// instead is the refused message that the server waits for and that will not come
	// again: the next one takes its place.
	instead []byte
	retryAt time.Time
	listed  bool // in active
}

// Pending is a message on its way.
type Pending struct {
	// ID names the message from the start. It changes in one case only: the
	// device's clock was far wrong (clock_skew); the result has the final one.
	ID   MessageID
	done chan struct{}
	msg  *Message
	err  error
}

// Done is closed when the server has stored or refused the message.
func (p *Pending) Done() <-chan struct{} { return p.done }

// Wait returns the stored message. An *Error of the fix range: it was refused
// and is kept as failed. Any other error says nothing about the message: it is
// in the outbox and is sent when there is a connection.
func (p *Pending) Wait(ctx context.Context) (*Message, error) {
	select {
	case <-p.done:
		return p.msg, p.err
	default:
	}
	select {
	case <-p.done:
		return p.msg, p.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// resolve answers the program, once; it runs after the commit.
func (p *Pending) resolve(m *Message, err error) {
	select {
	case <-p.done:
	default:
		p.msg, p.err = m, err
		close(p.done)
	}
}

func (o *outbox) init(k *core, recs []OutboxRecord) {
	o.items, o.queues = map[MessageID]*item{}, map[string]*sendQueue{}
	for _, r := range recs {
		// What was acknowledged and not applied is sent once more: its answer tells
		// whether the server has it still, and where. SPEC §7.8.
		if r.State == OutboxStored {
			r.State, r.Seq = OutboxPending, 0
		}
		it := &item{rec: r}
		o.items[it.id()] = it
		k.lastN = max(k.lastN, r.N)
		if r.State == OutboxPending {
			o.enqueue(it)
		}
	}
}

func (o *outbox) enqueue(it *item) {
	c := it.rec.Send.Conversation
	q := o.queues[c]
	if q == nil {
		q = &sendQueue{conversation: c}
		o.queues[c] = q
	}
	i := sort.Search(len(q.items), func(i int) bool { return q.items[i].rec.N > it.rec.N })
	q.items = append(q.items, nil)
	copy(q.items[i+1:], q.items[i:])
	q.items[i] = it
	o.waiting++
	o.activate(q)
}

func (o *outbox) activate(q *sendQueue) {
	if !q.listed && len(q.items) > 0 {
		q.listed = true
		o.active = append(o.active, q)
	}
}

// dequeue takes an item out of its queue; it is no longer to be sent.
func (o *outbox) dequeue(it *item) {
	q := o.queues[it.rec.Send.Conversation]
	if q == nil {
		return
	}
	for i, x := range q.items {
		if x != it {
			continue
		}
		q.items = append(q.items[:i], q.items[i+1:]...)
		o.waiting--
		o.unsent(q, it)
		break
	}
	if len(q.items) == 0 && !q.listed {
		delete(o.queues, q.conversation)
	} else {
		o.activate(q)
	}
}

func (o *outbox) unsent(q *sendQueue, it *item) {
	if it.sent {
		it.sent = false
		q.inflight--
		o.inflight--
	}
}

// add takes a new message. It is sent after the commit of this turn.
func (k *core) add(s *wire.Send) (*Pending, error) {
	if k.waiting >= k.o.outboxLimit {
		return nil, ErrOutboxFull
	}
	s.Id = k.idOr(s.Id)
	id := idFrom(s.Id)
	if it := k.items[id]; it != nil {
		return k.join(it, s)
	}
	k.lastN++
	it := &item{
		rec:     OutboxRecord{N: k.lastN, State: OutboxPending, Send: s, MadeAtMs: k.o.now().UnixMilli()},
		pending: &Pending{ID: id, done: make(chan struct{})},
	}
	k.items[id] = it
	k.put(it)
	k.enqueue(it)
	if k.state == StateStopped {
		k.resolve(it, nil, k.stateErr)
	}
	return it.pending, nil
}

// idOr is the program's own id, or a new one.
func (k *core) idOr(given []byte) []byte {
	if len(given) > 0 {
		return given
	}
	id := k.ids.Next()
	return id[:]
}

// join answers a message that is in the outbox already, by the program's own id.
func (k *core) join(it *item, s *wire.Send) (*Pending, error) {
	switch {
	case !proto.Equal(it.rec.Send, s):
		return nil, &Error{Code: wire.CodeIdConflict, Message: "another message in the outbox has this id"}
	case it.rec.State == OutboxFailed:
		return nil, &Error{Code: wire.Code(it.rec.Code), Message: it.rec.Reason}
	case it.pending == nil:
		it.pending = &Pending{ID: it.id(), done: make(chan struct{})}
	}
	if k.state == StateStopped {
		k.resolve(it, nil, k.stateErr)
	}
	return it.pending, nil
}

func (k *core) put(it *item) {
	rec := it.rec
	k.batch.OutboxPut = append(k.batch.OutboxPut, &rec)
}

// pump sends what may be sent: each conversation in order with at most
// pipeline messages unanswered, conversations in turn. It runs after a commit:
// everything in the queues is in the store.
func (k *core) pump() {
	k.pumpAt = time.Time{}
	if k.state != StateConnected || !k.byeAt.IsZero() {
		return
	}
	now := k.o.now()
	var waiting []*sendQueue
	for len(k.active) > 0 && k.maySend() {
		q := k.active[0]
		k.active = k.active[1:]
		it := q.next(k.o.pipeline)
		switch {
		case it == nil:
			q.listed = false // an answer lists it again
			if len(q.items) == 0 {
				delete(k.queues, q.conversation)
			}
		case it.skewed:
			q.listed = false // the server's time lists it again
		case now.Before(q.retryAt):
			k.pumpAt = earliest(k.pumpAt, q.retryAt)
			waiting = append(waiting, q)
		default:
			k.transmit(q, it, now)
			k.active = append(k.active, q)
			if len(k.markDue) > 0 {
				k.marksAt = now // they go with it
			}
		}
	}
	k.active = append(k.active, waiting...)
}

// next returns the first item that is not on its way, nil if there is none or
// enough are.
func (q *sendQueue) next(pipeline int) *item {
	if q.held && q.inflight > 0 || q.inflight >= pipeline {
		return nil
	}
	q.held = false
	for _, it := range q.items {
		if !it.sent {
			return it
		}
	}
	return nil
}

func (k *core) maySend() bool {
	most := 128
	if n := int(k.limits.GetInFlight()); n > 0 {
		most = min(most, n)
	}
	return k.inflight < most && !k.link.full()
}

func (k *core) transmit(q *sendQueue, it *item, now time.Time) {
	if n := contentSize(it.rec.Send.Content); k.limits.GetContentBytes() > 0 && n > int(k.limits.GetContentBytes()) {
		k.refuse(it, &Error{Code: wire.CodeTooLarge, Message: "the content is longer than the server takes"})
		return
	}
	s := it.rec.Send
	if q.instead != nil {
		s = proto.Clone(s).(*wire.Send)
		s.InsteadOf, q.instead = q.instead, nil
	}
	if !k.send(wire.NewClientFrame(s)) {
		k.refuse(it, &Error{Code: wire.CodeInvalidArgument, Message: "the message cannot be encoded"})
		return
	}
	it.sent, it.sentAt = true, now
	q.inflight++
	k.inflight++
	k.owes()
}

func contentSize(c *wire.Content) int { return len(c.GetText()) + len(c.GetData()) }

func (k *core) oldestInFlight() time.Time {
	var t time.Time
	if k.inflight == 0 {
		return t
	}
	for _, q := range k.queues {
		if q.inflight > 0 {
			for _, it := range q.items {
				if it.sent {
					t = earliest(t, it.sentAt)
				}
			}
		}
	}
	return t
}

// entryOf is the entry that a Send becomes, but for what the ack tells. Of uploads it has
// the ids alone: what the server knows of them is told by GetMedia, and with the entry when
// it is read again.
func entryOf(s *wire.Send, user string) *wire.Entry {
	var media []*wire.Media
	for _, id := range s.Media {
		media = append(media, &wire.Media{Id: id})
	}
	kind, target := wire.EntryKind_ENTRY_KIND_MESSAGE, uint64(0)
	if s.Thread != 0 && !s.AlsoInMain {
		kind, target = wire.EntryKind_ENTRY_KIND_THREAD_REPLY, s.Thread
	}
	return &wire.Entry{
		Conversation: s.Conversation, Id: s.Id, Sender: user, Kind: kind, Target: target, Thread: s.Thread, AlsoInMain: s.AlsoInMain,
		Content: s.Content, ReplyTo: s.ReplyTo, Mentions: s.Mentions, GroupMention: s.GroupMention, Extra: s.Extra, Poll: s.Poll,
		Silent: s.Silent, Streaming: s.Streaming, Media: media, NoPreview: s.NoPreview,
	}
}

// onAck: the message is durable. If its turn has come it is applied in the same
// batch that takes it out of the outbox.
func (k *core) onAck(a *wire.SendAck) {
	it := k.items[idFrom(a.Id)]
	if it == nil || it.rec.State == OutboxStored || a.Conversation != it.rec.Send.Conversation || a.Seq == 0 {
		return // answered twice
	}
	k.stored(it, a.Seq)
	e := entryOf(it.rec.Send, k.meta.User)
	e.Seq, e.StoredAtMs, e.Count, e.Pos = a.Seq, a.StoredAtMs, a.Count, a.Pos
	k.resolve(it, messageOf(e, k.meta.User), nil)
	k.take([]*wire.Entry{e})
}

// stored notes that the server has the message: it is not sent again.
func (k *core) stored(it *item, seq uint64) {
	if it.rec.State == OutboxPending {
		k.dequeue(it)
	}
	it.rec.State, it.rec.Seq = OutboxStored, seq
	it.rec.Code, it.rec.Reason = "", ""
	k.put(it)
}

func (k *core) resolve(it *item, m *Message, err error) {
	if p := it.pending; p != nil {
		k.after = append(k.after, func(failed error) {
			if failed != nil {
				m, err = nil, failed
			}
			p.resolve(m, err)
		})
	}
}

// settle is called for each own entry that is applied: if it is one of the
// outbox, it leaves it. It reports whether this client sent it.
func (k *core) settle(e *wire.Entry) bool {
	it := k.items[idFrom(e.Id)]
	if it == nil || e.Sender != k.meta.User || e.Conversation != it.rec.Send.Conversation {
		return false
	}
	if it.rec.State == OutboxPending {
		k.dequeue(it) // the ack was lost; this is as good
	}
	delete(k.items, it.id())
	k.unput(it)
	k.resolve(it, messageOf(e, k.meta.User), nil)
	return true
}

func (k *core) unput(it *item) {
	n := it.rec.N
	// Deletes come before puts in a batch.
	puts := k.batch.OutboxPut[:0]
	for _, p := range k.batch.OutboxPut {
		if p.N != n {
			puts = append(puts, p)
		}
	}
	k.batch.OutboxPut = puts
	k.batch.OutboxDelete = append(k.batch.OutboxDelete, n)
}

// onSendError: by the code's range wait and repeat, with all behind it, or keep as
// failed. SPEC §5.9.
func (k *core) onSendError(f *wire.SendError) {
	it := k.items[idFrom(f.Id)]
	if it == nil || !it.sent {
		return
	}
	e := errorOf(f.GetError())
	q := k.queues[it.rec.Send.Conversation]
	k.unsent(q, it)
	switch {
	case e.Code == wire.CodeClockSkew:
		it.skewed = true
		if k.ping == nil {
			k.sendPing() // its answer tells the time
		}
	case e.Action() == wire.ActionFix:
		k.refuse(it, e)
	default:
		q.held = true
		first := k.items[idFrom(f.First)]
		if e.Code == wire.CodeOutOfOrder && first != nil && first != it && first.rec.State == OutboxPending {
			break // it waits with that one
		}
		if e.Code == wire.CodeOutOfOrder && first != it {
			q.instead = f.First
		}
		it.tries++
		q.retryAt = k.o.now().Add(max(e.RetryAfter, k.o.backoff(it.tries)))
	}
	k.activate(q)
}

// refuse keeps a message as failed. Those after it go on.
func (k *core) refuse(it *item, e *Error) {
	k.dequeue(it)
	it.rec.State, it.rec.Code, it.rec.Reason = OutboxFailed, string(e.Code), e.Message
	k.put(it)
	rec := it.rec
	k.feed(FeedItem{Kind: FeedFailed, Conversation: rec.Send.Conversation, Failed: &rec})
	k.resolve(it, nil, e)
	it.pending = nil
}

// renewIDs gives messages whose id lay in the future a new one; they were never stored.
func (k *core) renewIDs() {
	for id, it := range k.items {
		if it.skewed {
			it.skewed = false
			delete(k.items, id)
			k.newID(it)
			k.activate(k.queues[it.rec.Send.Conversation])
		}
	}
}

func (k *core) newID(it *item) {
	id := MessageID(k.ids.Next())
	s := proto.Clone(it.rec.Send).(*wire.Send)
	s.Id = id[:]
	it.rec.Send = s
	k.items[id] = it
	k.put(it)
}

// requeue makes everything unanswered be sent again, in order, on the next connection.
func (k *core) requeue() {
	for _, q := range k.queues {
		for _, it := range q.items {
			k.unsent(q, it)
		}
		q.retryAt, q.held, q.instead = time.Time{}, false, nil
		k.activate(q)
	}
	sort.SliceStable(k.active, func(i, j int) bool { return k.active[i].first() < k.active[j].first() })
}

func (q *sendQueue) first() uint64 {
	if len(q.items) == 0 {
		return 0
	}
	return q.items[0].rec.N
}

// resend makes acknowledged messages whose entries were forgotten pending again.
func (k *core) resend() {
	for _, it := range k.items {
		if it.rec.State == OutboxStored {
			it.rec.State, it.rec.Seq = OutboxPending, 0
			k.put(it)
			k.enqueue(it)
		}
	}
}

// forgetStored drops acknowledged messages below seq whose entries will not be
// applied: they were left out with a gap, or may no longer be read.
func (k *core) forgetStored(conversation string, below uint64) {
	for id, it := range k.items {
		if it.rec.State == OutboxStored && it.rec.Send.Conversation == conversation && it.rec.Seq < below {
			delete(k.items, id)
			k.unput(it)
		}
	}
}

func (k *core) retry(id MessageID) error {
	it := k.items[id]
	if it == nil || it.rec.State != OutboxFailed {
		return ErrNoMessage
	}
	// Its place in the order is gone. Deleting the old row and putting the new one is one batch.
	k.unput(it)
	k.lastN++
	renew := it.rec.Code == string(wire.CodeIdConflict)
	it.rec.N, it.rec.State, it.rec.Code, it.rec.Reason = k.lastN, OutboxPending, "", ""
	if renew {
		delete(k.items, id)
		k.newID(it)
	} else {
		k.put(it)
	}
	k.enqueue(it)
	return nil
}

func (k *core) discard(id MessageID) error {
	it := k.items[id]
	if it == nil || it.rec.State != OutboxFailed {
		return ErrNoMessage
	}
	delete(k.items, id)
	k.unput(it)
	return nil
}

// outboxMessages lists what is not an applied entry, of one conversation or all.
func (k *core) outboxMessages(conversation string) []*Message {
	var its []*item
	for _, it := range k.items {
		if conversation == "" || it.rec.Send.Conversation == conversation {
			its = append(its, it)
		}
	}
	sort.Slice(its, func(i, j int) bool { return its[i].rec.N < its[j].rec.N })
	out := make([]*Message, len(its))
	for i, it := range its {
		rec := it.rec
		out[i] = messageOfOutbox(&rec, k.meta.User)
	}
	return out
}

// idle reports that nothing is to be sent or unanswered.
func (o *outbox) idle() bool { return o.waiting == 0 }

// release tells those who wait for an ack that it will not come by itself. The
// messages stay in the outbox.
func (o *outbox) release(err error) {
	for _, it := range o.items {
		if it.pending != nil {
			it.pending.resolve(nil, err)
			it.pending = nil
		}
	}
}

func (o *outbox) abandon(err error) { o.release(err) }
