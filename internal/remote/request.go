package remote

import (
	"context"
	"encoding/binary"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// request is anything asked of logic but a send.
type request struct {
	number uint64
	kind   byte
	key    string // its home
	body   []byte
	// again: asking twice is harmless.
	again    bool
	deadline time.Time
	began    time.Time

	// Guarded by router.mu.
	link    *link // nil: it waits for one
	sent    bool  // written at least once
	asked   time.Time
	partial []byte
	over    bool
	// One of the two takes the reply: who waits for it, until the deadline or less
	// long; or, where nobody does, a function in a goroutine of its own. The router
	// sees to its deadline.
	done chan reply // capacity 1
	then func(reply)
}

// reply is the answer to a request.
type reply struct {
	body []byte
	err  error
	// local: the request belongs to this process's own logic after all.
	local im.Logic
}

// defaultTime bounds requests whose context has no deadline.
const defaultTime = 30 * time.Second

// end gives a request its reply. Caller holds mu.
func (r *router) end(q *request, x reply) {
	delete(r.pending, q.number)
	if q.over {
		return
	}
	q.over = true
	if q.then == nil {
		q.done <- x
		return
	}
	then := q.then
	q.then = nil // it may stay in a queue for a while; who asked need not
	r.marks--
	r.wg.Go(func() { then(x) })
}

func (r *router) fail(q *request, err error) { r.end(q, reply{err: err}) }

// localFor returns this process's own logic when it is the home of key.
func (r *router) localFor(key string) im.Logic {
	r.mu.Lock()
	defer r.mu.Unlock()
	if l := r.home(key, r.node.now()); l != nil {
		return l.local
	}
	return nil
}

// ask asks the home of key and waits for the answer. When the home turns out
// to be this process, the answer is its logic.
func (r *router) ask(ctx context.Context, kind byte, key string, again bool, body []byte) ([]byte, im.Logic, error) {
	now := r.node.now()
	deadline, ok := ctx.Deadline()
	if !ok {
		deadline = now.Add(defaultTime)
	}
	q := &request{kind: kind, key: key, body: body, again: again, deadline: deadline, done: make(chan reply, 1)}
	if err := r.start(q); err != nil {
		return nil, nil, err
	}
	timer := time.NewTimer(deadline.Sub(now))
	defer timer.Stop()
	select {
	case x := <-q.done:
		return x.body, x.local, x.err
	case <-ctx.Done():
	case <-timer.C:
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.pending, q.number)
	select {
	case x := <-q.done: // just in time
		return x.body, x.local, x.err
	default:
	}
	q.over = true
	r.cancel(q)
	if q.sent && !again {
		return nil, nil, im.Errorf(im.CodeUnknown, "no answer in time; this may or may not have been done")
	}
	return nil, nil, im.Errorf(im.CodeUnavailable, "no node answers now")
}

// cancel tells the node that carries a request out that nobody waits for it any
// more. Caller holds mu.
func (r *router) cancel(q *request) {
	if q.link == nil || !q.sent {
		return
	}
	q.link.asks = append(q.link.asks, &request{
		kind: askCancel, link: q.link, deadline: r.node.now().Add(time.Second), body: binary.AppendUvarint(nil, q.number),
	})
	q.link.signal()
}

// start numbers a request and gives it to its home.
func (r *router) start(q *request) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.closed:
		return im.Errorf(im.CodeUnavailable, "the server is stopping")
	case len(r.pending) >= maxUnderway, q.then != nil && r.marks >= maxMarks:
		return &im.Error{Code: im.CodeOverloaded, Message: "too many requests are under way", RetryAfter: 200 * time.Millisecond}
	}
	if q.then != nil {
		r.marks++
	}
	r.requests++
	q.number, q.began = r.requests, r.node.now()
	r.pending[q.number] = q
	r.route(q, r.node.now())
	return nil
}

// route gives a request to its home, or lets it wait for one. Caller holds mu.
func (r *router) route(q *request, now time.Time) {
	if q.sent && !q.again {
		r.fail(q, im.Errorf(im.CodeUnknown, "the node that was asked is gone; this may or may not have been done"))
		return
	}
	l := r.home(q.key, now)
	if l == nil {
		return
	}
	if l.local != nil {
		r.end(q, reply{local: l.local})
		return
	}
	q.link, q.partial = l, nil
	l.asks = append(l.asks, q)
	if q.kind == askMark {
		l.signalSoon()
		return
	}
	l.signal()
}

// part takes a part of an answer.
func (r *router) part(number uint64, l *link, last bool, part []byte) {
	q := r.pending[number]
	if q == nil || q.link != l {
		return
	}
	q.partial = append(q.partial, part...)
	if last {
		r.end(q, reply{body: q.partial})
	}
}

// refused takes an error for an answer. A node that cannot do anything now is
// left alone for a while, and what may be asked again is asked of another.
func (r *router) refused(number uint64, l *link, err error, now time.Time) {
	q := r.pending[number]
	if q == nil || q.link != l {
		return
	}
	if cannot(err) && q.again && q.deadline.Sub(now) > suspectTime && len(r.links) > 1 {
		l.suspect = now.Add(suspectTime)
		q.link = nil
		r.route(q, now)
		return
	}
	if q.then != nil && im.CodeOf(err) == im.CodeOverloaded {
		q.asked = now // nobody waits: it is asked again after attemptTime
		return
	}
	r.fail(q, err)
}

// askAgain repeats the requests whose answers may be lost; others wait for
// theirs until their time is over. Caller holds mu.
func (r *router) askAgain(l *link) {
	for _, q := range r.pending {
		if q.link == l && q.sent {
			if q.again {
				q.sent = false
				r.route(q, r.node.now())
			} else {
				q.partial = nil
			}
		}
	}
}

// ask1 is ask for methods of im.Logic: here runs it on a logic of this process,
// there reads the answer of another.
func ask1[T any](ctx context.Context, r *router, kind byte, key string, again bool, here func(im.Logic) (T, error), body func() []byte, there func(*reader) T) (T, error) {
	var none T
	if local := r.localFor(key); local != nil {
		return here(local)
	}
	answer, local, err := r.ask(ctx, kind, key, again, body())
	switch {
	case err != nil:
		return none, err
	case local != nil:
		return here(local)
	}
	in := &reader{b: answer}
	v := there(in)
	if in.err != nil {
		return none, im.Wrap(in.err, im.CodeInternal, "the server failed")
	}
	return v, nil
}
