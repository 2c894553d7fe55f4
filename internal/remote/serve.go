package remote

import (
	"context"
	"encoding/binary"
	"fmt"
	"sync"
	"time"

	"github.com/skein-im/skein/internal/im"
)

const (
	// shards take the sends of all gateways; those of a conversation always the same
	// one, so that they stay in order while others wait for the database.
	shards     = 128
	shardQueue = 512
	// maxServed bounds the requests that are carried out or wait for it.
	maxServed  = 16384
	maxRunning = 256
	// maxHeldUp bounds in how many conversations of how many connections a node
	// remembers, for another node, that a send was refused.
	maxHeldUp = 16384
	// gapEvery is how often a gateway is told that something is missing.
	gapEvery = 20 * time.Millisecond
)

// Backend is what only a node with the store can tell, beside im.Logic.
type Backend interface {
	// Position and Timeline are the journal's.
	Position(ctx context.Context) (uint64, error)
	Timeline() string
	// Eras are the journal's newest, a few.
	Eras() im.Eras
	// Changed returns the heads of at most limit conversations with entries after a
	// position; more tells that there are others.
	Changed(ctx context.Context, since uint64, limit int) (heads []im.ParcelHead, more bool, err error)
	// Standing is for gateways, see im.Standing.
	Standing(ctx context.Context, u im.UserID) (im.Standing, error)
	// Media answers what a node without the directory asks about uploads.
	Media(ctx context.Context, method string, payload []byte) ([]byte, error)
	// Forget what is remembered of two users' relation; b "" means everybody who
	// writes to a, a "" everything: such news may have been lost.
	Forget(a, b im.UserID)
	// Reread reads again the lists of the deployment that somebody changed.
	Reread(ctx context.Context)
}

// server carries out what gateways and API nodes ask of this logic node.
type server struct {
	node    *Node
	logic   im.Logic
	backend Backend
	ctx     context.Context
	cancel  context.CancelFunc
	wg      sync.WaitGroup

	// asking are the nodes that ask, by name; the bus's goroutine only.
	asking map[string]*asking
	shards [shards]chan task
	queue  chan served
	slots  chan struct{}

	mu    sync.Mutex
	dirty []*asking // with answers that wait for a flush
	soon  bool      // there is one within markDelay
}

// asking is a node that asks, and what goes back to it.
type asking struct {
	s       *server
	name    string
	subject string
	link    uint64
	frames  uint64 // read; the bus's goroutine only
	heard   time.Time
	gapTold time.Time

	mu sync.Mutex
	// running are the requests that are carried out, or wait for it, by number.
	running map[uint64]context.CancelFunc
	// ctx is of the sends since the last restart. The first of them that is answered
	// with `unavailable` withdraws those behind it: they move together, in order.
	ctx    context.Context
	cancel context.CancelCauseFunc
	// order is of the same sends: what comes again after a restart has a new one.
	order   *im.Order
	next    uint64 // the number of the send that is expected
	gap     bool
	items   []byte // answers that wait
	dirty   bool
	written uint64
	frame   []byte
}

// task is a send on its way to the committer.
type task struct {
	to     *asking
	ctx    context.Context
	cancel context.CancelCauseFunc
	number uint64
	actor  im.Actor
	msg    im.Message
}

// served is a request on its way to a goroutine of its own.
type served struct {
	to *asking
	asked
	ctx    context.Context
	cancel context.CancelFunc
}

func newServer(n *Node, logic im.Logic, backend Backend) *server {
	s := &server{node: n, logic: logic, backend: backend, asking: map[string]*asking{}, queue: make(chan served, maxServed), slots: make(chan struct{}, maxRunning)}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	for i := range s.shards {
		s.shards[i] = make(chan task, shardQueue)
		s.wg.Go(func() { s.take(s.shards[i]) })
	}
	s.wg.Go(s.run)
	return s
}

// close stops taking requests; what is being carried out is cancelled.
func (s *server) close() {
	s.cancel()
	s.wg.Wait()
	s.flush()
}

// up takes a frame from a gateway or API node. It is the bus's goroutine.
func (s *server) up(data []byte) {
	in := opened(data) // the messages in it live until they are stored
	head := in.up()
	if in.err != nil || head.to != s.node.instance {
		return
	}
	a := s.asking[head.from]
	if a == nil || head.instance > a.link {
		a = &asking{s: s, name: head.from, subject: "n." + head.from, link: head.instance, next: 1, running: map[uint64]context.CancelFunc{}}
		a.begin()
		s.forget()
		s.asking[head.from] = a
	}
	if head.instance < a.link || head.number <= a.frames {
		return // from before, repeated or overtaken: what is missing is asked for again
	}
	a.frames = head.number
	a.heard = s.node.now()
	a.mu.Lock()
	next := a.next
	if head.restart {
		next = max(next, head.first)
		a.begin()
	}
	// When too many wait behind refused ones, the row begins anew, as after a loss.
	gap := head.first > next || head.sends > 0 && a.order.Waiting() > maxHeldUp
	for i := range head.sends {
		t := task{to: a, ctx: a.ctx, cancel: a.cancel, number: head.first + i}
		t.actor, t.msg = in.send()
		t.actor.Order, t.actor.Had = a.order, a.heard
		if in.err != nil || gap || t.number != next {
			continue // read on: the requests come behind
		}
		next++
		s.put(t)
	}
	a.next, a.gap = next, gap
	tell := head.sends == 0 || gap && a.heard.Sub(a.gapTold) > gapEvery
	if tell {
		a.gapTold = a.heard
		s.mark(a)
	} else {
		a.gap = false
	}
	a.mu.Unlock()
	for range in.count() {
		q := in.request()
		if in.err != nil {
			break
		}
		if q.kind == askCancel {
			a.cancelled(&reader{b: q.body})
			continue
		}
		x := a.serve(q)
		select {
		case s.queue <- x:
		default:
			x.end()
			a.error(q.number, &im.Error{Code: im.CodeOverloaded, Message: "the node has more to do than it can", RetryAfter: 200 * time.Millisecond})
		}
	}
	if tell {
		s.flush()
	}
}

// serve begins a request: its time runs from now on.
func (a *asking) serve(q asked) served {
	x := served{to: a, asked: q}
	x.ctx, x.cancel = context.WithTimeout(a.s.ctx, q.timeout)
	a.mu.Lock()
	a.running[q.number] = x.cancel
	a.mu.Unlock()
	return x
}

// end is called when a request is answered, or will not be.
func (x *served) end() {
	x.cancel()
	x.to.mu.Lock()
	delete(x.to.running, x.number)
	x.to.mu.Unlock()
}

// cancelled ends what nobody waits for any more.
func (a *asking) cancelled(in *reader) {
	number := in.uint()
	a.mu.Lock()
	cancel := a.running[number]
	a.mu.Unlock()
	if cancel != nil {
		cancel()
	}
}

// forgetAfter is how long a node that asks nothing is remembered.
const forgetAfter = 10 * time.Minute

// forget drops the nodes that are gone, when another one comes.
func (s *server) forget() {
	for name, a := range s.asking {
		if s.node.now().Sub(a.heard) > forgetAfter {
			delete(s.asking, name)
		}
	}
}

// put gives a send to its shard. Caller holds the asking's lock.
func (s *server) put(t task) {
	select {
	case s.shards[seedOf(t.msg.Conversation)%shards] <- t:
	default:
		t.actor.Order.Refused(t.actor.Connection, t.msg.Conversation, t.msg.ID, t.actor.Turn)
		t.to.items = binary.AppendUvarint(append(t.to.items, itemSendError), t.number)
		t.to.items = putError(t.to.items, &im.Error{Code: im.CodeOverloaded, Message: "too many messages are waiting to be stored", RetryAfter: 200 * time.Millisecond})
		s.mark(t.to)
	}
}

// take passes the sends of a shard on, in order.
func (s *server) take(tasks chan task) {
	for {
		select {
		case t := <-tasks:
			s.node.send(s.logic, t.ctx, t.actor, t.msg, func(a im.Ack, err error) {
				if cannot(err) {
					t.cancel(im.ErrWithdrawn)
				}
				t.to.sent(t.number, a, err)
			})
			if len(tasks) == 0 {
				s.flush() // what was refused at once; the rest leaves with its batch
			}
		case <-s.ctx.Done():
			return
		}
	}
}

// begin starts a new row of sends. Caller holds a's lock, or has it alone.
func (a *asking) begin() {
	if a.cancel != nil {
		a.cancel(nil) // what is under way goes on
	}
	a.ctx, a.cancel = context.WithCancelCause(context.Background())
	a.order = new(im.Order)
}

// sent notes the answer of a send; it leaves with the next flush.
func (a *asking) sent(number uint64, ack im.Ack, err error) {
	a.mu.Lock()
	if err == nil {
		a.items = putAck(a.items, number, &ack)
	} else {
		a.items = putError(binary.AppendUvarint(append(a.items, itemSendError), number), err)
	}
	if len(a.items) > frameBytes {
		a.publish()
	}
	a.s.mark(a)
	a.mu.Unlock()
}

func (a *asking) error(number uint64, err error) {
	a.mu.Lock()
	a.items = putError(binary.AppendUvarint(append(a.items, itemError), number), err)
	a.s.mark(a)
	a.mu.Unlock()
}

// answer notes the answer of a request, in parts if it is long.
func (a *asking) answer(number uint64, body []byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for first := true; first || len(body) > 0; first = false {
		part := body[:min(len(body), partBytes)]
		body = body[len(part):]
		a.items = binary.AppendUvarint(append(a.items, itemAnswer), number)
		a.items = putBytes(putBool(a.items, len(body) == 0), part)
		if len(a.items) > frameBytes {
			a.publish()
		}
	}
	a.s.mark(a)
}

// mark has the next flush write to a. Caller holds a's lock.
func (s *server) mark(a *asking) {
	if a.dirty {
		return
	}
	a.dirty = true
	s.mu.Lock()
	s.dirty = append(s.dirty, a)
	s.mu.Unlock()
}

// publish writes what waits. Caller holds a's lock.
func (a *asking) publish() {
	a.written++
	head := down{from: a.s.node.o.Name, instance: a.s.node.instance, to: a.link, number: a.written, next: a.next, gap: a.gap}
	a.frame = append(head.append(a.frame[:0]), a.items...)
	a.gap = false
	a.items = a.items[:0]
	a.s.node.bus.Publish(a.subject, a.frame)
}

// flushSoon writes them within markDelay.
func (s *server) flushSoon() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.soon {
		s.soon = true
		time.AfterFunc(markDelay, s.flush)
	}
}

// flush writes all answers that wait.
func (s *server) flush() {
	s.mu.Lock()
	all := s.dirty
	s.dirty, s.soon = nil, false
	s.mu.Unlock()
	if len(all) == 0 {
		return
	}
	for _, a := range all {
		a.mu.Lock()
		a.dirty = false
		a.publish()
		a.mu.Unlock()
	}
	s.node.bus.Flush()
}

// run carries out requests, each in a goroutine of its own.
func (s *server) run() {
	for {
		select {
		case q := <-s.queue:
			s.slots <- struct{}{}
			s.wg.Go(func() {
				defer func() { <-s.slots }()
				s.answer(&q)
				if q.kind == askMark {
					s.flushSoon()
					return
				}
				s.flush()
			})
		case <-s.ctx.Done():
			return
		}
	}
}

func (s *server) answer(q *served) {
	defer q.end()
	if q.ctx.Err() != nil {
		return // nobody waits any more
	}
	defer s.recover(q)
	body, err := s.carryOut(q.ctx, q.kind, &reader{b: q.body})
	if err != nil {
		if im.CodeOf(err) == im.CodeInternal {
			s.node.o.Logger.Error("remote: request", "kind", q.kind, "from", q.to.name, "request", requestOf(q), "err", err)
		}
		q.to.error(q.number, err)
		return
	}
	q.to.answer(q.number, body)
}

// requestOf is the id of the request that a question is part of, "" if it has none.
func requestOf(q *served) string {
	if q.kind != askCall {
		return ""
	}
	in := &reader{b: q.body}
	in.actor()
	in.call()
	return in.requestID()
}

// requestID is the id at the end of a call; nodes of before send none.
func (r *reader) requestID() string {
	if len(r.b) == 0 {
		return ""
	}
	return r.string()
}

// recover turns a panic into the end of this request: whoever asks again could
// take down one node after the other with it.
func (s *server) recover(q *served) {
	if r := recover(); r != nil {
		s.node.panicked(fmt.Sprintf("request %d of %s", q.kind, q.to.name), r)
		q.to.error(q.number, im.Errorf(im.CodeInternal, "the server failed"))
	}
}

// carryOut asks the logic of this process.
func (s *server) carryOut(ctx context.Context, kind byte, in *reader) (body []byte, err error) {
	switch kind {
	case askAuthenticate:
		a, err := s.logic.Authenticate(ctx, in.handshake())
		return putActor(nil, &a), err
	case askMark:
		m := in.mark()
		done := make(chan error, 1)
		s.logic.Mark(ctx, im.Actor{User: m.user}, m.conversation, m.received, m.read, func(err error) { done <- err })
		return nil, <-done
	case askSync:
		from := in.actor()
		res, err := s.logic.Sync(ctx, from, in.syncQuery())
		return putSyncResult(nil, &res), err
	case askPull:
		from, q := in.actor(), in.pullQuery()
		res, err := s.logic.Pull(ctx, from, q)
		return putPullResult(nil, q.Conversation, &res), err
	case askCompare:
		from := in.actor()
		same, position, err := s.logic.Compare(ctx, from, in.string(), in.uint())
		return putString(putBool(nil, same), position), err
	case askSignal:
		from := in.actor()
		users, err := s.logic.Signal(ctx, from, im.Signal{Typing: im.ConversationID(in.string()), Watch: in.users()})
		return putWatched(nil, users), err
	case askCustom:
		from := in.actor()
		_, err := s.logic.Signal(ctx, from, im.Signal{Custom: in.custom()})
		return nil, err
	case askSeen:
		from := in.actor()
		_, err := s.logic.Signal(ctx, from, im.Signal{Seen: in.watched()})
		return nil, err
	case askCall:
		from, call := in.actor(), in.call()
		body, err := s.logic.Call(im.WithRequest(ctx, in.requestID()), from, call)
		return putBytes(nil, body), err
	case askStanding:
		st, err := s.backend.Standing(ctx, im.UserID(in.string()))
		return putStanding(nil, &st), err
	case askMedia:
		body, err := s.backend.Media(ctx, in.string(), in.bytes())
		return putBytes(nil, body), err
	case askChanged:
		heads, more, err := s.backend.Changed(ctx, in.uint(), int(in.uint()))
		return putChanged(nil, heads, more), err
	}
	return nil, im.Errorf(im.CodeUnimplemented, "this node does not know request %d", kind)
}
