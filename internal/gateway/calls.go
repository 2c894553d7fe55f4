package gateway

import (
	"errors"
	"strconv"
	"sync"
	"time"

	"github.com/skein-im/skein/internal/contract"
	"github.com/skein-im/skein/internal/gateway/outgoing"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

const (
	// callWorkers is how many Calls of a session run at the same time.
	callWorkers = 4
	// callsHeld and callBytesHeld bound those that wait for a worker.
	callsHeld     = 128
	callBytesHeld = 1 << 20
	// callAgain is what those are told that find no room.
	callAgain = time.Second
	// earlyCalls is how many Calls a connection has before its Hello.
	earlyCalls = 8
)

// calls is the Calls of a session that run or wait. They run beside the read
// loop, so a slow one delays no Send; answers come in any order (SPEC §8).
type calls struct {
	mu      sync.Mutex
	running int
	bytes   int
	queue   []*wire.Call
}

func (s *session) onCall(c *command, f *wire.ClientFrame) {
	s.settleMarks()
	if s.calls == nil {
		s.calls = new(calls)
	}
	call, k := f.GetCall(), s.calls
	size := call.SizeVT()
	k.mu.Lock()
	switch {
	case k.running < callWorkers:
		k.running++
		k.mu.Unlock()
		s.Calling(1)
		s.g.wg.Go(func() { s.work(call) })
		return
	case len(k.queue) < callsHeld && k.bytes+size <= callBytesHeld:
		k.queue = append(k.queue, call)
		k.bytes += size
		k.mu.Unlock()
		s.Calling(1)
		return
	}
	k.mu.Unlock()
	s.refuse(c, f, &im.Error{Code: im.CodeRateLimited, Message: "too many calls at the same time", RetryAfter: callAgain})
}

// work runs calls until none waits.
func (s *session) work(call *wire.Call) {
	defer s.recover("call")
	for call != nil {
		s.call(call)
		s.Calling(-1)
		s.Flush()
		s.WaitWhile(outgoing.Full)
		call = s.nextCall()
	}
}

func (s *session) nextCall() *wire.Call {
	k := s.calls
	ends := s.Is(outgoing.Ending)
	k.mu.Lock()
	defer k.mu.Unlock()
	if ends { // what was not begun is not begun any more
		for _, call := range k.queue {
			s.Send(resultError(call.GetNumber(), im.Errorf(im.CodeUnavailable, "the connection ends; nothing was done")))
		}
		s.Calling(-len(k.queue))
	}
	if ends || len(k.queue) == 0 {
		k.queue, k.bytes = nil, 0
		k.running--
		return nil
	}
	call := k.queue[0]
	k.queue = k.queue[1:]
	k.bytes -= call.SizeVT()
	return call
}

// call runs one API method and queues its result in the form of the request.
func (s *session) call(call *wire.Call) {
	result, err := s.ask(s.Actor, call)
	if err != nil {
		s.logCall(call, err)
		s.Send(resultError(call.GetNumber(), err))
		return
	}
	result.Number = call.GetNumber()
	if !s.SendWithin(wire.NewServerFrame(result)) {
		s.Send(resultError(call.GetNumber(), im.Errorf(im.CodeTooLarge, "the answer is longer than %d bytes; ask for less at a time", s.g.o.Limits.ServerFrameBytes)))
	}
}

// requestID is an id that the client knows as well: that of the connection and the number
// of the Call.
func (s *session) requestID(call *wire.Call) string {
	return string(s.ID) + "." + strconv.FormatUint(uint64(call.GetNumber()), 10)
}

func (s *session) ask(from im.Actor, call *wire.Call) (*wire.Result, error) {
	slow := time.Duration(0)
	if s.g.o.Slow != nil {
		slow = s.g.o.Slow()
	}
	if slow <= 0 {
		return s.askLogic(from, call)
	}
	began := time.Now()
	result, err := s.askLogic(from, call)
	if took := time.Since(began); took >= slow {
		code := im.Code("ok")
		if err != nil {
			code = im.CodeOf(err)
		}
		s.g.o.Logger.Warn("slow call", "method", call.GetMethod(), "took", took.String(), "code", string(code), "door", "connection", "user", string(from.User), "request", s.requestID(call))
	}
	return result, err
}

// logCall writes the line of a Call that the server failed at.
func (s *session) logCall(call *wire.Call, err error) {
	if im.CodeOf(err) == im.CodeInternal {
		s.g.o.Logger.Error("gateway: call", "connection", s.ID, "user", s.Actor.User, "request", s.requestID(call), "err", err)
	}
}

func (s *session) askLogic(from im.Actor, call *wire.Call) (*wire.Result, error) {
	payload := call.GetBody()
	_, asJSON := call.GetRequest().(*wire.Call_Json)
	if asJSON {
		var err error
		if payload, err = wire.StructToRequest(call.GetMethod(), call.GetJson()); err != nil {
			return nil, requestError(err)
		}
	}
	ctx, answered := s.asking(askTime)
	defer answered()
	answer, err := s.g.o.Logic.Call(im.WithRequest(ctx, s.requestID(call)), from, im.Call{Method: call.GetMethod(), Payload: payload, Key: call.GetIdempotencyKey()})
	if err != nil {
		return nil, err
	}
	if !asJSON {
		return &wire.Result{Response: &wire.Result_Body{Body: answer}}, nil
	}
	json, err := wire.ResponseToStruct(call.GetMethod(), answer)
	if err != nil {
		return nil, im.Wrap(err, im.CodeInternal, "the server failed")
	}
	return &wire.Result{Response: &wire.Result_Json{Json: json}}, nil
}

// sayEarly handles what may be said before the Hello: a Call, and a frame of a later
// version, which says nothing to this one.
func (s *session) sayEarly(c *command, f *wire.ClientFrame) {
	if c.index == cmdCall {
		s.callEarly(f.GetCall())
		return
	}
	s.refuseEarly(errorOn(f, errUnknownFrame))
}

// callEarly runs a Call before the Hello (SPEC §3.1): of a method that needs no
// token, one at a time, as nothing is read meanwhile. It is counted by the client's
// address, and stands in the line of those who come with passwords over HTTP.
func (s *session) callEarly(call *wire.Call) {
	if s.tooEarly() {
		return
	}
	s.deadline.Store(0) // the time is the server's
	result, err := s.askEarly(call)
	if err != nil {
		s.logCall(call, err)
		s.Send(resultError(call.GetNumber(), err))
	} else {
		result.Number = call.GetNumber()
		s.Send(wire.NewServerFrame(result))
	}
	s.Flush()
	s.within(s.g.o.Limits.Hello)
}

// tooEarly counts a message that is taken before the Hello; with too many the
// connection is over.
func (s *session) tooEarly() bool {
	if s.early++; s.early <= earlyCalls {
		return false
	}
	s.fail("early_calls", im.Errorf(im.CodeHelloTimeout, "%d messages and no Hello that can be taken", earlyCalls))
	return true
}

func (s *session) askEarly(call *wire.Call) (*wire.Result, error) {
	if !s.g.o.Open(call.GetMethod()) {
		return nil, im.Errorf(im.CodeUnauthenticated, "before the Hello there are only methods that need no token")
	}
	if !s.g.o.WaitElsewhere(call.GetMethod()) {
		leave, err := s.g.o.Credentials.Enter(s.g.ctx)
		if err != nil {
			return nil, err
		}
		defer leave()
	}
	return s.ask(im.Actor{Connection: s.ID, Address: s.Conn.Info().RemoteAddr}, call)
}

// requestError speaks as the other door does.
func requestError(err error) error {
	if errors.Is(err, wire.ErrUnknownMethod) {
		return im.Errorf(im.CodeUnimplemented, "this server has no such method")
	}
	return contract.Unread(err)
}
