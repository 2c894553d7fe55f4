package remote

import (
	"context"
	"sync"
	"time"

	"github.com/skein-im/skein/internal/im"
)

const (
	// sendPatience is how long a send waits for a logic node that takes it, before
	// it is answered with a retryable code.
	sendPatience = 5 * time.Second
	// doubtTime is for how long a node that is cut off from its store may still have
	// under way what it began to store: the kernel sends it when it can, until
	// the connection counts as dead (UserTimeout in internal/journal/postgres, 10 s).
	doubtTime = 15 * time.Second
	// undecided is for how long such a node may still decide about what it was given,
	// in messaging 2.5 s; what it had decided before is over once the refusal of
	// another node says so (im.Error.Settled). soonest is how soon a sender is asked to
	// come again at least.
	undecided = 3 * time.Second
	soonest   = 100 * time.Millisecond
	// suspectTime is how long a node that said `unavailable` is not asked.
	suspectTime = 500 * time.Millisecond
	// probeAfter is how long the oldest unanswered send may wait until the node is
	// asked what it has.
	probeAfter = 2 * beatEvery
	// attemptTime is how long an answer to something that may be repeated is awaited
	// before it is repeated.
	attemptTime = 3 * time.Second
	// markDelay is how long marks, and their answers, wait for something to leave with.
	markDelay = 10 * time.Millisecond
	// maxMarks bounds the marks without an answer: they must leave room for what
	// somebody waits for.
	maxMarks = 1 << 14
	// maxUnderway bounds the sends without an answer, over all nodes.
	maxUnderway      = 1 << 16
	maxUnderwayBytes = 128 << 20
)

// router is im.Logic for a gateway or the API: it finds the home of what is
// asked and sees it through. A logic node of this very process is asked directly.
type router struct {
	node  *Node
	peers *peers

	mu    sync.Mutex
	links map[string]*link
	lines map[im.ConversationID]*line
	// waiting sends have no node now, in their order.
	waiting []*sending
	// pending requests by their number, those without a node now included.
	pending  map[uint64]*request
	requests uint64
	marks    int // of pending, the marks
	lastLink uint64
	underway int
	bytes    int
	closed   bool
	wg       sync.WaitGroup
}

// line is a conversation with sends under way: all of them are with one node.
type line struct {
	link *link // nil: they wait
	n    int
}

// sending is a Send without an answer.
type sending struct {
	user       im.UserID
	connection im.ConnectionID
	order      *im.Order // the connection's
	place      im.Turn
	msg        im.Message
	reply      func(im.Ack, error)
	line       *line
	began      time.Time
	written    time.Time // last, zero if never
	// doubt: another node had it before and did not say what became of it. left is when
	// that was given it last.
	doubt bool
	left  time.Time
}

func newRouter(n *Node) *router {
	return &router{node: n, peers: &n.peers, links: map[string]*link{}, lines: map[im.ConversationID]*line{}, pending: map[uint64]*request{}}
}

// Send passes a message to its conversation's home (im.Logic).
func (r *router) Send(ctx context.Context, from im.Actor, m im.Message, reply func(im.Ack, error)) {
	s := &sending{user: from.User, connection: from.Connection, order: from.Order, place: from.Turn, msg: m, reply: reply, began: r.node.now()}
	r.mu.Lock()
	if s.behind() {
		r.mu.Unlock()
		reply(im.Ack{}, im.ErrBehind())
		return
	}
	if r.closed || r.underway >= maxUnderway || r.bytes+s.size() > maxUnderwayBytes {
		closed := r.closed
		r.mu.Unlock()
		if closed {
			reply(im.Ack{}, im.Errorf(im.CodeUnavailable, "the server is stopping"))
			return
		}
		reply(im.Ack{}, &im.Error{Code: im.CodeOverloaded, Message: "too many messages are under way", RetryAfter: 200 * time.Millisecond})
		return
	}
	r.underway++
	r.bytes += s.size()
	ln := r.lines[m.Conversation]
	if ln == nil {
		ln = &line{link: r.home(string(m.Conversation), s.began)}
		r.lines[m.Conversation] = ln
	}
	s.line = ln
	ln.n++
	direct := r.place(s, true)
	r.mu.Unlock()
	if direct != nil {
		direct()
	}
}

// behind tells that a send before it was refused for now: the other nodes need
// not be asked, and must not, who do not know of that.
func (s *sending) behind() bool { return s.order.Behind(s.connection, s.msg.Conversation, s.place) }

// refused holds up what is behind it, before the answer is given.
func (s *sending) refused(err error) {
	if im.ForNow(err) {
		s.order.Refused(s.connection, s.msg.Conversation, s.msg.ID, s.place)
	}
}

func (s *sending) size() int { return len(s.msg.Body) + 256 }

// place puts a send behind the others of its line; see link.put.
func (r *router) place(s *sending, first bool) (direct func()) {
	l := s.line.link
	if l == nil {
		r.waiting = append(r.waiting, s)
		return nil
	}
	return l.put(s, first)
}

// home is the link of the node that key belongs to; nil if none takes anything
// now.
func (r *router) home(key string, now time.Time) *link {
	var best *link
	var most uint64
	h := seedOf(key)
	for _, l := range r.links {
		if !l.ready || now.Before(l.suspect) {
			continue
		}
		if score := mix(h ^ l.seed); best == nil || score > most {
			best, most = l, score
		}
	}
	return best
}

// done takes an answered send out of the books. Caller holds mu.
func (r *router) done(s *sending) {
	r.underway--
	r.bytes -= s.size()
	if s.line.n--; s.line.n == 0 {
		delete(r.lines, s.msg.Conversation)
	}
}

// answer is a reply to be given without the lock.
type answer struct {
	reply func(im.Ack, error)
	ack   im.Ack
	err   error
}

func give(all []answer) {
	for i := range all {
		all[i].reply(all[i].ack, all[i].err)
	}
}

// follow makes the links what the heartbeats say.
func (r *router) follow(now time.Time) {
	nodes := r.peers.list(roleLogic)
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return
	}
	there := map[string]bool{}
	for i := range nodes {
		x := &nodes[i]
		there[x.name] = true
		r.link(x.name, x.instance, nil).ready = x.ready
	}
	if s := r.node.served; s != nil {
		there[r.node.o.Name] = true
		r.link(r.node.o.Name, r.node.instance, s.logic).ready = r.node.ready.Load()
	}
	for name, l := range r.links {
		switch {
		case !there[name]:
			r.drop(l)
		case !l.ready && l.busy():
			r.park(l)
		}
	}
	r.release(now)
	answers := r.expire(now)
	r.mu.Unlock()
	give(answers)
	if len(answers) > 0 {
		r.node.flushLocal()
	}
}

// link returns the link to a node, a new one if it was started anew.
func (r *router) link(name string, instance uint64, local im.Logic) *link {
	l := r.links[name]
	if l != nil && l.instance != instance {
		r.drop(l)
		l = nil
	}
	if l == nil {
		l = newLink(r, name, instance, local)
		r.links[name] = l
	}
	return l
}

// nextLink numbers the links: by time, so that those of a process that was
// started again are newer.
func (r *router) nextLink() uint64 {
	r.lastLink = max(r.lastLink+1, uint64(r.node.now().UnixNano()))
	return r.lastLink
}

// drop ends the link to a node that is gone; what was under way moves on at the
// next release. Caller holds mu.
func (r *router) drop(l *link) {
	delete(r.links, l.name)
	l.ready = false
	l.close()
	r.park(l)
}

// park takes everything unanswered from a link, in order, and lets it wait.
func (r *router) park(l *link) {
	all := l.takeAll()
	for _, s := range all {
		s.line.link = nil
		if !s.written.IsZero() {
			s.doubt, s.left = true, s.written
		}
	}
	// What moves now is older than what waits of the same conversations, if anything.
	r.waiting = append(all, r.waiting...)
	for _, q := range r.pending {
		if q.link == l {
			q.link = nil
		}
	}
	l.asks = nil
}

// move gives everything unanswered of a link to other nodes, in order.
func (r *router) move(l *link, now time.Time) {
	r.park(l)
	r.release(now)
}

// release gives what waits to those who are ready. Caller holds mu.
func (r *router) release(now time.Time) {
	waiting := r.waiting
	r.waiting = nil
	for _, s := range waiting {
		if s.behind() {
			r.waiting = append(r.waiting, s) // for expire
			continue
		}
		if s.line.link == nil {
			s.line.link = r.home(string(s.msg.Conversation), now)
		}
		r.place(s, false)
	}
	for _, q := range r.pending {
		if q.link == nil {
			r.route(q, now)
		}
	}
}

// expire gives up on sends that nobody takes, and on what is behind them.
func (r *router) expire(now time.Time) (answers []answer) {
	kept := r.waiting[:0]
	for _, s := range r.waiting {
		if s.behind() {
			answers = append(answers, r.refuse(s, im.ErrBehind()))
			continue
		}
		if now.Sub(s.began) < sendPatience {
			kept = append(kept, s)
			continue
		}
		code, text := im.CodeUnavailable, "no node can store messages now"
		if !s.written.IsZero() {
			code, text = im.CodeUnknown, "no node can tell now whether this was stored"
		}
		answers = append(answers, r.refuse(s, &im.Error{Code: code, Message: text, RetryAfter: time.Second}))
	}
	clear(r.waiting[len(kept):])
	r.waiting = kept
	return answers
}

// refuse takes a send out of the books; the answer is to be given.
func (r *router) refuse(s *sending, err error) answer {
	s.refused(err)
	r.done(s)
	return answer{s.reply, im.Ack{}, err}
}

// tick looks after what waits too long for an answer.
func (r *router) tick(now time.Time) {
	r.follow(now)
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, l := range r.links {
		l.tick(now)
	}
	for _, q := range r.pending {
		// Nobody takes it: who asked does better to hear so than to leave.
		if q.then != nil && now.After(q.deadline) || q.then == nil && q.link == nil && now.Sub(q.began) > sendPatience {
			r.fail(q, im.Errorf(im.CodeUnavailable, "no node answers now"))
			continue
		}
		if q.again && q.link != nil && q.link.local == nil && q.sent && now.Sub(q.asked) > attemptTime {
			q.link = nil
			r.route(q, now)
		}
	}
}

// close answers what is under way and ends the links.
func (r *router) close() {
	r.mu.Lock()
	r.closed = true
	for _, l := range r.links {
		r.drop(l)
	}
	var answers []answer
	for _, s := range r.waiting {
		answers = append(answers, answer{s.reply, im.Ack{}, im.Errorf(im.CodeUnknown, "the server stops; this may or may not have been stored")})
		r.done(s)
	}
	r.waiting = nil
	for _, q := range r.pending {
		r.fail(q, im.Errorf(im.CodeUnavailable, "the server is stopping"))
	}
	r.mu.Unlock()
	give(answers)
	r.wg.Wait()
}
