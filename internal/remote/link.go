package remote

import (
	"context"
	"encoding/binary"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// link is the way to one logic node. Its fields are guarded by router.mu; its
// writer gathers what waits and puts it on the bus.
type link struct {
	r        *router
	name     string
	instance uint64
	subject  string
	seed     uint64
	// local is the logic of this very process: it is called directly.
	local im.Logic
	// ready: the node takes requests. suspect: it said that it cannot, until then.
	ready   bool
	suspect time.Time

	// id grows with every link from here to there: the node knows by it that the
	// numbers begin anew.
	id uint64
	// sent[i] has the number base+i; nil is answered. queue is not written yet.
	sent  []*sending
	base  uint64
	queue []*sending
	asks  []*request // not written yet
	// restart: the next frame begins anew with the number of its first send.
	restart bool
	// began is the number at which the present numbering began, and since when.
	began   uint64
	beganAt time.Time
	// ctx is of the sends to this process's own logic since then; see asking.ctx.
	ctx    context.Context
	cancel context.CancelCauseFunc
	order  *im.Order // of the same sends
	probe  bool
	// draining: the queue of a local link is being emptied; who comes now waits
	// behind it.
	draining bool
	// Frames written and read.
	written, read uint64
	progress      time.Time // the last answer or write
	// soon: the writer is woken within markDelay.
	soon   bool
	wake   chan struct{}
	closed chan struct{}
}

// againAfter is how long what a node says may be older than our last attempt.
const againAfter = beatEvery

func newLink(r *router, name string, instance uint64, local im.Logic) *link {
	l := &link{
		r: r, name: name, instance: instance, local: local, subject: "l." + name, seed: seedOf(name), id: r.nextLink(),
		ctx: context.Background(), order: new(im.Order), base: 1, began: 1, wake: make(chan struct{}, 1), closed: make(chan struct{}),
	}
	if local != nil {
		l.ctx, l.cancel = context.WithCancelCause(l.ctx)
		r.wg.Go(l.drain)
	} else {
		r.wg.Go(l.write)
	}
	return l
}

func (l *link) close() { close(l.closed) }

func (l *link) busy() bool { return len(l.sent) > 0 || len(l.queue) > 0 }

func (l *link) signal() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// signalSoon wakes the writer within markDelay: what waits is in no hurry. Caller
// holds router.mu.
func (l *link) signalSoon() {
	if !l.soon {
		l.soon = true
		time.AfterFunc(markDelay, l.signal)
	}
}

// put adds a send. What it returns, if not nil, is to be called without the
// lock by the one who sends. Caller holds router.mu.
func (l *link) put(s *sending, first bool) (direct func()) {
	if first && l.local != nil && !l.draining && len(l.queue) == 0 {
		number := l.base + uint64(len(l.sent))
		l.sent = append(l.sent, s)
		s.written = s.began
		ctx, from := l.ctx, l.actor(s)
		return func() { l.direct(ctx, from, s, number) }
	}
	l.queue = append(l.queue, s)
	l.signal()
	return nil
}

// actor is who sends, for this process's own logic. Caller holds router.mu.
func (l *link) actor(s *sending) im.Actor {
	return im.Actor{User: s.user, Connection: s.connection, Order: l.order, Turn: s.place, Doubt: s.doubt}
}

// direct is the shortest path: to the logic of this process.
func (l *link) direct(ctx context.Context, from im.Actor, s *sending, number uint64) {
	l.r.node.send(l.local, ctx, from, s.msg, func(a im.Ack, err error) {
		l.r.mu.Lock()
		x, given := l.answered(number, a, err, l.r.node.now())
		l.r.mu.Unlock()
		if given {
			x.reply(x.ack, x.err)
		}
	})
}

// drain passes what was moved to this process's own logic, in order.
func (l *link) drain() {
	for {
		select {
		case <-l.wake:
		case <-l.closed:
			return
		}
		for {
			l.r.mu.Lock()
			l.draining = len(l.queue) > 0
			if !l.draining {
				l.r.mu.Unlock()
				break
			}
			s := l.queue[0]
			l.queue = l.queue[1:]
			number := l.base + uint64(len(l.sent))
			l.sent = append(l.sent, s)
			s.written = l.r.node.now()
			ctx, from := l.ctx, l.actor(s)
			l.r.mu.Unlock()
			l.direct(ctx, from, s, number)
		}
	}
}

// answered takes the answer of a send. One that says that the node cannot store
// now moves it, with all others that wait for this node, to another. given is
// false when nobody is to be answered (now). Caller holds router.mu.
func (l *link) answered(number uint64, a im.Ack, err error, now time.Time) (x answer, given bool) {
	i := number - l.base
	if number < l.base || i >= uint64(len(l.sent)) || l.sent[i] == nil {
		return answer{}, false // moved, or answered before
	}
	s := l.sent[i]
	refused := cannot(err) && !l.r.closed
	if refused && now.Sub(s.began) < sendPatience {
		l.suspect = now.Add(suspectTime)
		before := s.doubt
		l.r.move(l, now)
		s.doubt = before // it was not stored here
		return answer{}, false
	}
	l.sent[i] = nil
	l.trim()
	l.progress = now
	l.r.done(s)
	s.refused(err)
	if refused { // it is given up; the node takes nothing more behind it
		l.suspect = now.Add(suspectTime)
		l.r.move(l, now)
	}
	if s.doubt && im.CodeOf(err).Info().Action == im.ActionFix {
		// This node refuses it; another one may be about to store it. To be sure, the
		// sender asks again when that is over.
		after := doubtTime
		if im.Public(err).Settled {
			after = max(undecided-now.Sub(s.left), soonest)
		}
		err = &im.Error{Code: im.CodeUnknown, Message: "no node can tell now whether this was stored", RetryAfter: after}
		s.refused(err)
	}
	return answer{s.reply, a, err}, true
}

// cannot tells that a node refuses something which another one may take.
func cannot(err error) bool {
	return im.CodeOf(err) == im.CodeUnavailable && !im.Public(err).Everywhere
}

// trim forgets the answered ones at the front.
func (l *link) trim() {
	n := 0
	for n < len(l.sent) && l.sent[n] == nil {
		n++
	}
	if n == 0 {
		return
	}
	l.base += uint64(n)
	if n == len(l.sent) {
		l.sent = l.sent[:0]
		return
	}
	l.sent = l.sent[n:]
}

// takeAll removes what is unanswered, in order. Caller holds router.mu.
func (l *link) takeAll() (all []*sending) {
	for _, s := range l.sent {
		if s != nil {
			all = append(all, s)
		}
	}
	all = append(all, l.queue...)
	l.base += uint64(len(l.sent))
	l.sent, l.queue = nil, nil
	l.began, l.restart = l.base, true
	if l.local != nil {
		l.cancel(im.ErrWithdrawn)
		l.ctx, l.cancel = context.WithCancelCause(context.Background())
		l.order = new(im.Order)
	}
	return all
}

// again gives everything unanswered new numbers and has it sent once more, but
// for what is behind a refused send: that is refused too (expire).
func (l *link) again(now time.Time) {
	for _, s := range l.takeAll() {
		if s.behind() {
			l.r.waiting = append(l.r.waiting, s)
		} else {
			l.queue = append(l.queue, s)
		}
	}
	l.beganAt = now
	l.r.node.metrics.repeats.Add(float64(len(l.queue)))
	l.signal()
}

// tick asks the node what it has when an answer takes long.
func (l *link) tick(now time.Time) {
	if l.local != nil && l.order.Waiting() > maxHeldUp {
		l.again(now)
	}
	if l.local == nil && len(l.sent) > 0 && now.Sub(l.progress) > probeAfter {
		l.probe = true
		l.progress = now
		l.signal()
	}
}

// write is the writer: everything that gathered goes in one frame, or a few.
func (l *link) write() {
	var buf []byte
	for {
		select {
		case <-l.wake:
		case <-l.closed:
			return
		}
		for {
			frame, more := l.frame(buf[:0])
			if frame == nil {
				break
			}
			buf = frame
			l.r.node.bus.Publish(l.subject, frame)
			if !more {
				break
			}
		}
		l.r.node.bus.Flush()
	}
}

// frame encodes what waits, up to a frame's size; nil if nothing does.
func (l *link) frame(buf []byte) (frame []byte, more bool) {
	r := l.r
	now := r.node.now()
	r.mu.Lock()
	defer r.mu.Unlock()
	l.soon = false // also when what it was for went another way
	if len(l.queue) == 0 && len(l.asks) == 0 && !l.probe {
		return nil, false
	}
	sends, bytes := 0, 0
	for sends < len(l.queue) && bytes < frameBytes {
		bytes += l.queue[sends].size()
		sends++
	}
	first := l.base + uint64(len(l.sent))
	l.written++
	head := up{from: r.node.o.Name, instance: l.id, to: l.instance, number: l.written, first: first, restart: l.restart, sends: uint64(sends)}
	buf = head.append(buf)
	l.restart, l.probe = false, false
	for _, s := range l.queue[:sends] {
		s.written = now
		buf = putSend(buf, s)
	}
	l.sent = append(l.sent, l.queue[:sends]...)
	rest := copy(l.queue, l.queue[sends:])
	clear(l.queue[rest:])
	l.queue = l.queue[:rest]
	l.progress = now
	asks := l.takeAsks()
	buf = binary.AppendUvarint(buf, uint64(len(asks)))
	for _, q := range asks {
		q.sent, q.asked = true, now
		buf = putRequest(buf, q, q.deadline.Sub(now))
	}
	return buf, len(l.queue) > 0 || len(l.asks) > 0
}

// takeAsks takes requests for one frame, without those that are over or were
// given to another node.
func (l *link) takeAsks() (asks []*request) {
	bytes, n := 0, 0
	for n < len(l.asks) && bytes < frameBytes {
		if q := l.asks[n]; q.link == l && !q.over {
			asks = append(asks, q)
			bytes += len(q.body) + 64
		}
		n++
	}
	rest := copy(l.asks, l.asks[n:])
	clear(l.asks[rest:]) // let go of who asked
	l.asks = l.asks[:rest]
	return asks
}

// answers takes a frame of answers, from the bus's goroutine.
func (r *router) answers(data []byte) {
	in := opened(data)
	in.byte() // downAnswers
	head := in.down()
	if in.err != nil {
		return
	}
	now := r.node.now()
	var all []answer
	r.mu.Lock()
	l := r.links[head.from]
	if l == nil || l.instance != head.instance || l.id != head.to || head.number <= l.read {
		r.mu.Unlock()
		return
	}
	missed := head.number != l.read+1
	l.read = head.number
	for len(in.b) > 0 && in.err == nil {
		if x, given := r.item(l, in, now); given {
			all = append(all, x)
		}
	}
	switch {
	case missed: // answers are lost
		l.again(now)
		r.askAgain(l)
	case head.gap && head.next >= l.began && head.next < l.base+uint64(len(l.sent)): // sends are lost
		l.again(now)
	case head.gap && head.next < l.began && now.Sub(l.beganAt) > againAfter: // and so was the next attempt
		l.again(now)
	}
	r.mu.Unlock()
	give(all)
	if len(all) > 0 {
		r.node.flushLocal()
	}
}

// item takes one answer of a frame.
func (r *router) item(l *link, in *reader, now time.Time) (x answer, given bool) {
	switch kind := in.byte(); kind {
	case itemAck, itemFound:
		n, a := in.uint(), im.Ack{Seq: in.uint(), Count: in.uint(), Stored: time.UnixMilli(in.int()), Pos: in.uint(), Follows: kind == itemAck}
		return l.answered(n, a, nil, now)
	case itemSendError:
		n, err := in.uint(), in.error()
		return l.answered(n, im.Ack{}, err, now)
	case itemAnswer:
		n, last, part := in.uint(), in.bool(), in.bytes()
		r.part(n, l, last, part)
	case itemError:
		n, err := in.uint(), in.error()
		r.refused(n, l, err, now)
	default:
		in.fail()
	}
	return answer{}, false
}
