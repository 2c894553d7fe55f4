package gateway

import (
	"errors"
	"io"
	"log/slog"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/skein-im/skein/internal/gateway/here"
	"github.com/skein-im/skein/internal/gateway/outgoing"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/limits"
	"github.com/skein-im/skein/wire"
)

const (
	// helloBytes is the longest message before the Welcome (SPEC §1.5).
	helloBytes = 16 << 10
	// finishTime is how long a connection that is told to go has to take its last
	// frames; leaveTime the same when it leaves in peace (drain, Bye).
	finishTime = 500 * time.Millisecond
	leaveTime  = 5 * time.Second
	// marksHeld is how many conversations' marks are gathered at most.
	marksHeld = 64
	// parkAfter is how long a connection is silent before it gives its goroutine
	// back. Parking and coming back take a few microseconds, so one that says more
	// keeps its goroutine.
	parkAfter = 3 * time.Second
)

// session is one connection. Its goroutine owns the fields without another
// note: first Serve's, after a time parked a new one (serve).
type session struct {
	here.Member
	g *Gateway

	rates *limits.Allowance // from the Hello on
	turns *turns            // nil before the first Send
	marks *marks            // nil before the first
	now   time.Time         // when the message that is handled arrived
	named *string           // the conversation that the client named last (wire.ClientReader), nil before the first frame

	timer here.WheelNode
	// received and checked are the bytes counted, and when, at the wheel's last look.
	received uint64
	checked  int32
	// seen is the tick of the last sign of life, deadline the tick at which
	// the current stage (hello, leaving, finishing) must be over, 0 = none.
	seen     atomic.Int32
	deadline atomic.Int32
	// expires is when the token's time is over, in Unix milliseconds, 0 = never.
	expires atomic.Int64
	// waiting: the server itself does not read (backpressure, authentication), so silence proves nothing.
	waiting atomic.Bool
	ready   bool
	early   uint8 // Calls before the Hello, and messages that were refused there
	// idle is the client's wish for its heartbeat in milliseconds, within the bounds; 0: none.
	idle  atomic.Int32
	calls *calls // nil before the first Call
}

// marks are those that wait for the end of the read buffer.
type marks struct{ waiting []markSet }

// markSet is the furthest marks in a conversation.
type markSet struct {
	conversation   im.ConversationID
	received, read uint64
}

// Serve runs one connection. Listeners call it in a goroutine of its own. It
// returns when the connection is over, or silent and parked: then a goroutine of
// the transport's goes on with it.
func (g *Gateway) Serve(c wire.Conn) {
	s, err := g.admit(c)
	if err != nil {
		g.turnAway(c, s, err)
		return
	}
	s.serve()
}

// serve runs the session until it is over or parked. Whoever comes back from a
// time parked calls it again.
func (s *session) serve() {
	if parked := s.run(); parked {
		return // it is another goroutine's now
	}
	defer s.g.dismiss(s)
	s.settle()
}

// turnAway ends a connection that was not admitted.
func (g *Gateway) turnAway(c wire.Conn, s *session, err error) {
	if s == nil {
		_ = c.Close(wire.Code(im.CodeOf(err)), im.Public(err).Message) // the peer may be gone
		return
	}
	defer g.wg.Done()
	s.fail(string(im.CodeOf(err)), err)
	s.settle()
	g.wheel.Cancel(s)
	g.metrics.ended(s)
}

// message path 2/6: a message is read and decoded, looked up in the command
// table, checked against its limits, and handled (commands.go, handlers.go).
func (s *session) run() (parked bool) {
	defer s.recover("session")
	for {
		msg, err := s.Conn.ReadMessage()
		if err != nil && err != wire.ErrNudged {
			s.flushMarks()
			s.readFailed(err)
			return false
		}
		silent := s.silent()
		if err == nil {
			s.seen.Store(int32(s.g.wheel.Now()))
			s.arrived(msg)
		}
		if silent && s.ready && s.park() {
			return true
		}
	}
}

// arrived does all that one message asks for.
func (s *session) arrived(msg []byte) {
	s.g.metrics.bytesIn.Add(uint64(len(msg)))
	if s.Is(outgoing.Ending) {
		return // told to go: nothing more is done for it
	}
	if s.ready {
		s.handle(msg)
	} else {
		s.aside(func() { s.handle(msg) })
	}
	if !s.Conn.Buffered() {
		s.flushMarks()
		s.FlushOwn()
	}
	s.backpressure()
}

// silent tells whether the connection has said nothing for long enough to park:
// after a nudge, or until the message that has just come, and then it is one of
// those that say little and parks again at once.
func (s *session) silent() bool {
	return s.g.wheel.Now()-int64(s.seen.Load()) >= s.g.parkTicks
}

// park gives this goroutine back until the peer says something or the
// connection is closed. When it is true the session is another goroutine's.
func (s *session) park() bool {
	c, ok := s.Conn.(wire.Parker)
	return ok && c.Park(s.serve)
}

func (s *session) handle(msg []byte) {
	reader, _ := s.g.pools.readers.Get().(*wire.ClientReader)
	if reader == nil {
		reader = new(wire.ClientReader)
	}
	defer func() {
		reader.Forget()
		s.g.pools.readers.Put(reader)
	}()
	s.now = s.g.o.Now()
	if s.named == nil {
		s.named = new(string)
	}
	frame, err := reader.Read(s.Kind.Codec, msg, s.named)
	if err != nil {
		s.unreadable(err)
		return
	}
	c := commandOf(frame)
	s.g.metrics.framesIn[c.index].Add(1)
	if err := c.admits(s, len(msg)); err != nil {
		s.failOn(frame, err)
		return
	}
	if !s.ready && c.state == stateAny {
		s.sayEarly(c, frame)
		return
	}
	if c.class == limits.Sends && !s.inTurn(frame) {
		return
	}
	if limited, over := s.take(s.classOf(c, frame), len(msg)); over {
		return
	} else if limited != nil {
		if c.class == limits.Sends {
			s.holdUp(frame)
		}
		s.refuse(c, frame, limited)
		return
	}
	if len(msg) > c.bytes(&s.g.o.Limits) {
		s.refuse(c, frame, im.Errorf(im.CodeTooLarge, "a %s may have %d bytes", c.name, c.bytes(&s.g.o.Limits)))
		return
	}
	if c.aside && s.ready {
		s.aside(func() { c.handle(s, c, frame) })
		return
	}
	c.handle(s, c, frame)
}

// take counts a request of a class, of so many bytes. It returns the refusal if there were too many,
// and whether the connection is over for it.
func (s *session) take(c limits.Class, size int) (limited error, over bool) {
	wait, flood := s.g.o.Devices.Take(s.rates, c, size, s.now.UnixNano())
	switch {
	case flood:
		s.fail("flood", &im.Error{Code: im.CodeFlood, Message: "too many requests in spite of rate_limited", RetryAfter: wait})
		return nil, true
	case wait > 0:
		return &im.Error{Code: im.CodeRateLimited, Message: "too many requests", RetryAfter: wait}, false
	}
	return nil, false
}

// unreadable answers a message that is no frame (SPEC §1.7). What the peer wrote is
// neither told nor logged.
func (s *session) unreadable(err error) {
	e, frame := im.Errorf(im.CodeInvalidArgument, "the message is no frame"), ""
	if wrong := (*wire.FrameError)(nil); errors.As(err, &wrong) {
		e.Message += ": " + wrong.Error()
		e.Field, frame = wrong.Field, wrong.Frame
	}
	answer := fromError(e)
	answer.Frame = frame
	if !s.ready {
		s.refuseEarly(wire.NewServerFrame(answer))
		return
	}
	if limited, over := s.take(limits.Signals, 0); over {
		return
	} else if limited != nil {
		answer = fromError(limited)
		answer.Frame = frame
	}
	s.Send(wire.NewServerFrame(answer))
}

// refuseEarly answers a message before the Welcome that is refused without an end:
// the time for the Hello goes on.
func (s *session) refuseEarly(answer *wire.ServerFrame) {
	if !s.tooEarly() {
		s.Send(answer)
	}
}

// classOf is what a frame counts as: a Call as what its method does.
func (s *session) classOf(c *command, f *wire.ClientFrame) limits.Class {
	if c.index == cmdCall {
		return s.g.o.ClassOf(f.GetCall().GetMethod())
	}
	return c.class
}

// aside runs f on a goroutine of its own and waits for it. The deep stack that
// logging in, syncing and reading stores take is given back when it ends,
// instead of staying with an idle connection for its life.
func (s *session) aside(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer s.recover("session")
		f()
	}()
	<-done
}

// refuse answers a frame with an error in the form the frame has for it.
func (s *session) refuse(c *command, f *wire.ClientFrame, err error) {
	if c.class == limits.Sends {
		s.settleSends()
	}
	if c.class == limits.Sends && !im.ForNow(err) {
		s.refusedForGood(f)
	}
	if im.CodeOf(err) == im.CodeInternal {
		s.g.o.Logger.Error("gateway: "+c.name, "connection", s.ID, "user", s.Actor.User, "err", err)
	}
	if c.index == cmdPulls {
		s.refusePulls(f.GetPulls().GetPulls(), err)
		return
	}
	s.Send(c.answer(f, err))
}

// settleSends waits until all sends are answered, so that an error of the
// gateway's own does not overtake their answers (SPEC §5.1).
func (s *session) settleSends() {
	s.await(outgoing.SendsOpen)
}

// settleMarks passes the marks on and waits until they are answered: what is
// asked next sees them.
func (s *session) settleMarks() {
	s.flushMarks()
	s.await(outgoing.MarksOpen)
}

// await reads nothing while something is so, and writes what is queued before. The
// client's silence meanwhile proves nothing.
func (s *session) await(c outgoing.Condition) {
	if !s.Is(c) {
		return
	}
	s.Flush()
	s.waiting.Store(true)
	s.WaitWhile(c)
	s.seen.Store(int32(s.g.wheel.Now()))
	s.waiting.Store(false)
}

// backpressure stops reading while too much is unanswered or too many answers
// wait to be written (SPEC §5.4, §6.4).
func (s *session) backpressure() {
	if s.Is(outgoing.Overcharged) {
		s.flushMarks()
		s.await(outgoing.Overcharged)
	}
}

// fail tells the client what was wrong and ends the connection.
func (s *session) fail(cause string, err error) { s.end(cause, errorFrame, err) }

// failOn is fail for what a frame says.
func (s *session) failOn(f *wire.ClientFrame, err error) {
	s.end(string(im.CodeOf(err)), func(err error) *wire.ServerFrame { return errorOn(f, err) }, err)
}

func (s *session) end(cause string, told func(error) *wire.ServerFrame, err error) {
	e := closing(err)
	if e.Code == im.CodeInternal {
		s.g.o.Logger.Error("gateway: connection failed", "connection", s.ID, "user", s.Actor.User, "err", err)
	}
	s.Finish(cause, wire.Code(e.Code), e.Message, told(e), false, finishTime)
}

// readFailed ends a session whose connection ended or broke the framing.
func (s *session) readFailed(err error) {
	var ce *wire.CloseError
	switch {
	case errors.As(err, &ce):
		s.fail(string(ce.Code), im.Errorf(im.Code(ce.Code), "%s", ce.Reason))
	case errors.Is(err, io.EOF):
		s.Abort("client_closed", im.CodeGoingAway)
	default:
		s.Abort("read_failed", im.CodeGoingAway)
	}
}

// recover turns a panic into the end of this session.
func (s *session) recover(where string) {
	if r := recover(); r != nil {
		s.g.metrics.panics.Add(1)
		s.g.o.Logger.Error("gateway: panic", "in", where, "connection", s.ID, "user", s.Actor.User, "panic", r, "stack", string(debug.Stack()))
		s.Finish("internal", wire.Code(im.CodeInternal), "internal", errorFrame(im.Errorf(im.CodeInternal, "the server failed (reference %s)", s.ID)), false, finishTime)
	}
}

// settle waits until what is queued has been written (or given up, see
// expire) and the connection is closed.
func (s *session) settle() {
	if !s.Is(outgoing.Ending) {
		s.Abort("internal", im.CodeInternal)
	}
	s.Flush()
	s.WaitWhile(outgoing.InUse)
}

func (s *session) Node() *here.WheelNode { return &s.timer }

// Expire is the session's turn on the wheel: the deadline of its stage, the
// end of its token, its heartbeat (SPEC §3.1, §9.2).
func (s *session) Expire() int64 {
	w, now := s.g.wheel, s.g.wheel.Now()
	if s.Is(outgoing.Closed) {
		return 0
	}
	stranger := s.Since.Load() == 0
	if d := int64(s.deadline.Load()); d > 0 {
		switch {
		case now < d:
			return d - now
		case s.Is(outgoing.Ending):
			s.CloseAsTold()
			return 0
		case stranger:
			s.Finish("hello_timeout", wire.CodeHelloTimeout, "no Hello", errorFrame(im.Errorf(im.CodeHelloTimeout, "no Hello within %v", s.g.o.Limits.Hello)), false, finishTime)
			return 0
		default: // after a GoAway
			s.Finish("drain", wire.CodeGoingAway, "the server stops", nil, true, leaveTime)
			return 0
		}
	}
	if stranger {
		return w.Ticks(time.Second) // asking, authenticating: has its own time limit
	}
	next := s.heartbeat(now)
	if expires := s.expires.Load(); next > 0 && expires != 0 {
		left := time.Duration(expires-s.g.o.Now().UnixMilli()) * time.Millisecond
		if left <= 0 {
			s.g.kick(&s.Member, "token_expired", im.Errorf(im.CodeTokenExpired, "the access token expired"))
			return 0
		}
		next = min(next, max(w.Ticks(left), 1))
	}
	return next
}

// beats is the heartbeat of this connection (SPEC §9.4).
func (s *session) beats() Heartbeat {
	h := s.g.o.Heartbeat
	if idle := time.Duration(s.idle.Load()) * time.Millisecond; idle > 0 {
		h.Idle, h.Silence, h.Dead = idle, idle*3/2, 2*idle
	}
	return h
}

// heartbeat judges the silence and returns when to look again.
func (s *session) heartbeat(now int64) int64 {
	w, h := s.g.wheel, s.beats()
	if s.waiting.Load() {
		s.seen.Store(int32(now))
	}
	counter, counts := s.Conn.(wire.ByteCounter)
	if counts {
		n := counter.Received()
		if n != s.received && s.seen.Load() < s.checked { // bytes, but no whole message
			s.seen.Store(int32(now))
		}
		s.received, s.checked = n, int32(now)
	}
	silent := now - int64(s.seen.Load())
	if c, ok := s.Conn.(wire.Parker); ok && silent >= s.g.parkTicks {
		c.Nudge()
	}
	silence, dead := w.Ticks(h.Silence), w.Ticks(h.Dead)
	switch {
	case silent >= dead:
		s.Finish("heartbeat_timeout", wire.CodeHeartbeatTimeout, "silence", errorFrame(im.Errorf(im.CodeHeartbeatTimeout, "not a byte within %v", h.Dead)), false, finishTime)
		return 0
	case silent >= silence:
		s.Send(s.g.ping)
		s.Flush()
		return min(w.Ticks(h.Every), dead-silent)
	}
	if counts {
		return min(silence-silent, w.Ticks(h.Every))
	}
	return silence - silent
}

// Ends implements outgoing.Owner.
func (s *session) Ends(within time.Duration) {
	s.within(within)
}

// within has the stage that begins now be over within that time.
func (s *session) within(d time.Duration) {
	ticks := s.g.wheel.Ticks(d)
	s.deadline.Store(int32(s.g.wheel.Now() + ticks))
	s.g.wheel.Schedule(s, ticks)
}

// Log implements outgoing.Owner.
func (s *session) Log() *slog.Logger {
	return s.g.o.Logger.With("connection", s.ID, "user", s.Actor.User)
}
