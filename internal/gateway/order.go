package gateway

import (
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/limits"
	"github.com/skein-im/skein/wire"
)

// maxHeldUp is in how many conversations a connection may have a refused message
// that has not come again. A client that goes on to still others ignores what it is
// told.
const maxHeldUp = 4096

// turns keeps the order of a session's sends. The session's goroutine owns it;
// others may ask and tell the order.
type turns struct {
	order im.Order
	place im.Turn // of the last send
	// behind counts the sends that were refused for being behind another, since a
	// refused one came again, or there was nothing to be behind of.
	behind int
}

// turned is the session's turns, from its first Send on.
func (s *session) turned() *turns {
	if s.turns == nil {
		s.turns = &turns{}
	}
	return s.turns
}

// inTurn refuses a send behind one that was refused for now (SPEC §5.9), at no
// cost to the sender's rate. While nothing was refused it is one atomic load.
func (s *session) inTurn(f *wire.ClientFrame) bool {
	t := s.turned()
	n := t.order.Waiting()
	if n == 0 {
		t.behind = 0
		return true
	}
	if n > maxHeldUp {
		s.fail("flood", im.Errorf(im.CodeFlood, "messages to %d conversations were refused and none came again", n))
		return false
	}
	p := sentBy(f)
	conv, id, err := sendKey(p)
	if err != nil {
		return true // refused for that
	}
	first, waits := t.order.First(s.ID, conv)
	if !waits {
		return true
	}
	if takesTurn(first, id, p.GetInsteadOf()) {
		t.behind = 0 // who sends again what was refused listens; its own rate bounds that
		return true
	}
	// A client has no more than this under way when it reads of the refusal.
	if t.behind++; t.behind > limits.FloodFactor*s.g.o.Limits.InFlight {
		s.fail("flood", im.Errorf(im.CodeFlood, "too many messages in spite of out_of_order"))
		return false
	}
	s.refuseBehind(f)
	return false
}

// takesTurn tells that a message is the refused one, or comes in its place.
func takesTurn(first, id im.MessageID, insteadOf []byte) bool {
	return id == first || string(insteadOf) == string(first[:])
}

// sendKey is what a Send, or an Amend, is known by.
func sendKey(p sent) (conv im.ConversationID, id im.MessageID, err error) {
	if conv, err = im.ParseConversationID(p.GetConversation()); err == nil {
		id, err = im.ParseMessageID(p.GetId())
	}
	return conv, id, err
}

// holdUp notes that a send is refused here, for now.
func (s *session) holdUp(f *wire.ClientFrame) {
	if conv, id, err := sendKey(sentBy(f)); err == nil {
		t := s.turned()
		t.place.At++
		t.order.Refused(s.ID, conv, id, t.place)
	}
}

// goOn lets a conversation go on with the message that was waited for. Everything
// that is under way is answered before: what was behind the refused one is refused
// by then, wherever it is. It is false when something earlier was refused
// meanwhile.
func (s *session) goOn(c im.ConversationID, id im.MessageID, insteadOf []byte) bool {
	t := s.turned()
	if _, waits := t.order.First(s.ID, c); !waits {
		return true
	}
	s.settleSends()
	if first, waits := t.order.First(s.ID, c); waits && !takesTurn(first, id, insteadOf) {
		return false
	}
	t.order.GoOn(s.ID, c)
	t.place.Since = t.place.At + 1
	return true
}

// refusedForGood has a conversation go on when what was waited for came again, and
// will never be stored: it is too long by now, or its content is none.
func (s *session) refusedForGood(f *wire.ClientFrame) {
	if s.turned().order.Waiting() == 0 {
		return
	}
	if conv, id, err := sendKey(sentBy(f)); err == nil {
		s.goOn(conv, id, sentBy(f).GetInsteadOf())
	}
}

// refuseBehind answers a send whose turn it is not.
func (s *session) refuseBehind(f *wire.ClientFrame) {
	s.settleSends()
	conv, id, err := sendKey(sentBy(f))
	if err == nil {
		s.SendError(&s.turns.order, conv, id, im.ErrBehind())
	}
}
