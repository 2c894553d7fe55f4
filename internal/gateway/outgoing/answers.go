package outgoing

import (
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/skein-im/skein/internal/contract"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

// sending is a Send without an answer, in memory that is used again.
//
// Its ack has a place among the pushes of its conversation (SPEC §6.7): where the
// entry itself is delivered, and the delivery tells it there. Logic's answer may
// come before (it is held until then) or after (nothing is left to tell).
type sending struct {
	o     *Queue
	order *im.Order
	conv  im.ConversationID
	id    im.MessageID
	kind  im.EntryKind
	place im.Turn
	start time.Time
	reply func(im.Ack, error) // answered, bound once

	// Guarded by o.mu.
	told bool // the client got its ack before Logic's answer, which is still to come
	held bool // Logic answered, and it is not told yet
	ack  im.Ack
	err  error
	at   time.Time // held since
}

// sends are the sends of a connection without an answer.
type sends struct {
	// telling is held by who takes answers out of the list, until they are queued:
	// two who tell, the one that delivers and one that gives up waiting, would
	// change their order otherwise (SPEC §5.1). Locked before Queue.mu.
	telling sync.Mutex
	list    []*sending // in their order; guarded by Queue.mu
}

// lockAnswers has nobody else tell answers until telling is unlocked; nil if the
// connection never sent anything.
func (o *Queue) lockAnswers() *sends {
	o.mu.Lock()
	s := o.sends
	o.mu.Unlock()
	if s != nil {
		s.telling.Lock()
	}
	return s
}

// Sending notes a Send that is passed on now, behind those before it, and returns
// who takes Logic's answer.
func (o *Queue) Sending(from *im.Actor, m *im.Message, now time.Time) (answer func(im.Ack, error)) {
	p := &o.sh.pools
	x, ok := p.sends.Get().(*sending)
	if !ok {
		x = &sending{}
		x.reply = x.answered
	}
	x.o, x.order, x.conv, x.id, x.kind, x.place, x.start = o, from.Order, m.Conversation, m.ID, m.Kind, from.Turn, now
	o.mu.Lock()
	o.inflight++
	if o.sends == nil {
		o.sends = new(sends)
	}
	o.sends.list = append(o.sends.list, x)
	o.mu.Unlock()
	return x.reply
}

// free gives x back. Nobody may know it any more.
func (x *sending) free() {
	p, reply := &x.o.sh.pools, x.reply
	*x = sending{reply: reply}
	p.sends.Put(x)
}

// follows tells that the answer has a place among the pushes.
func (x *sending) follows() bool { return x.err == nil && x.ack.Follows }

// answered takes Logic's answer.
func (x *sending) answered(a im.Ack, err error) {
	o := x.o
	now := o.sh.o.Now()
	defer o.lockAnswers().telling.Unlock()
	o.mu.Lock()
	if x.told {
		o.mu.Unlock()
		x.free()
		return
	}
	x.ack, x.err = a, err
	if im.ForNow(err) { // whoever refused it has noted it, or nothing was behind it
		x.order.Refused(o.ID, x.conv, x.id, x.place)
	}
	if x.follows() || o.holdsBefore(x) {
		x.held, x.at = true, now
		o.holding.Add(1)
		o.mu.Unlock()
		o.markDirty()
		return
	}
	o.remove(x)
	o.mu.Unlock()
	o.tell(x, now)
	x.free()
}

// holdsBefore tells that an answer to an earlier Send to x's conversation waits:
// what comes after waits behind it (SPEC §5.1). Caller holds mu.
func (o *Queue) holdsBefore(x *sending) bool {
	if o.holding.Load() == 0 {
		return false
	}
	for _, y := range o.unanswered() {
		if y == x {
			return false
		}
		if y.held && y.conv == x.conv {
			return true
		}
	}
	return false
}

// remove takes x out of the sends without an answer. Caller holds telling and mu.
func (o *Queue) remove(x *sending) {
	i := slices.Index(o.sends.list, x)
	if i < 0 {
		return
	}
	o.sends.list = slices.Delete(o.sends.list, i, i+1)
	if len(o.sends.list) == 0 && cap(o.sends.list) > 8 {
		o.sends.list = nil // an idle session holds little
	}
}

// unanswered are the sends without an answer, in their order. Caller holds mu.
func (o *Queue) unanswered() []*sending {
	if o.sends == nil {
		return nil
	}
	return o.sends.list
}

// tell queues the answer of x, which no list holds any more.
func (o *Queue) tell(x *sending, now time.Time) {
	if x.err != nil {
		if im.CodeOf(x.err) == im.CodeInternal {
			o.owner.Log().Error("gateway: send", "err", x.err)
		}
		o.SendError(x.order, x.conv, x.id, inFrame(x.kind, x.err))
	} else {
		b := o.sh.pools.newAck()
		b.id = x.id
		b.ack.Conversation, b.ack.Seq, b.ack.StoredAtMs, b.ack.Count, b.ack.Pos = string(x.conv), x.ack.Seq, contract.Millis(x.ack.Stored), x.ack.Count, x.ack.Pos
		o.Send(&b.frame)
		o.sh.pools.acks.Put(b)
		o.sh.metrics.SendSeconds.Observe(now.Sub(x.start).Seconds())
	}
	o.mu.Lock()
	o.inflight--
	if o.inflight == 0 || int(o.inflight) <= o.sh.o.InFlight*3/4 {
		o.signal()
	}
	o.mu.Unlock()
	o.markDirty()
}

// Delivered tells the ack of an entry of the session's own, which is delivered
// now, and what waited for its turn before and behind it.
func (o *Queue) Delivered(e *im.Entry) { o.tellUpTo(e.Conversation, e.Seq, e) }

// TellBelow tells what is held of a conversation and goes before anything from seq on.
func (o *Queue) TellBelow(c im.ConversationID, seq uint64) {
	if o.holding.Load() > 0 {
		o.tellUpTo(c, seq-1, nil)
	}
}

// tellUpTo tells what is held of a conversation and goes before anything beyond
// seq: acks up to it, and answers that waited only behind those. own, if not nil,
// is an entry whose ack is due as well, held or not.
func (o *Queue) tellUpTo(c im.ConversationID, seq uint64, own *im.Entry) {
	s := o.lockAnswers()
	if s == nil {
		return
	}
	defer s.telling.Unlock()
	var memory [8]*sending
	due, waits := memory[:0], false
	o.mu.Lock()
	for _, x := range o.unanswered() {
		switch {
		case x.conv != c:
		case own != nil && x.id == own.ID:
			if !x.held {
				x.ack, x.told = im.Ack{Seq: own.Seq, Count: own.Count, Stored: own.Stored, Pos: own.Pos}, true
			}
			due = append(due, x)
		case !x.held:
		case x.follows() && x.ack.Seq > seq:
			waits = true
		case x.follows() || !waits:
			due = append(due, x)
		}
	}
	for _, x := range due {
		o.remove(x)
	}
	o.mu.Unlock()
	o.tellAll(due)
}

// tellAll queues answers that no list holds any more. Caller holds telling.
func (o *Queue) tellAll(due []*sending) {
	if len(due) == 0 {
		return
	}
	now := o.sh.o.Now()
	for _, x := range due {
		o.tell(x, now)
		if x.held { // otherwise Logic's answer is still to come
			o.holding.Add(-1) // now: what is told behind it may go
			x.free()
		}
	}
}

// giveUp tells acks whose delivery does not come; it was lost on the way here,
// and what came with it, which is then repaired as after a beacon. It reports
// whether others still wait.
func (o *Queue) giveUp(now time.Time) (waits bool) {
	for _, lost := range o.tellOverdue(now) {
		o.owner.Lost(lost) // it may have something told here
	}
	return o.holding.Load() > 0
}

// tellOverdue tells what is held for longer than Options.AckPatience, and returns where its
// delivery would have ended.
func (o *Queue) tellOverdue(now time.Time) (lost []im.ParcelHead) {
	s := o.lockAnswers()
	if s == nil {
		return nil
	}
	defer s.telling.Unlock()
	var due []*sending
	o.mu.Lock()
	for _, x := range o.unanswered() {
		if x.held && now.Sub(x.at) >= o.sh.o.AckPatience {
			due = append(due, x)
		}
	}
	for _, x := range due {
		o.remove(x)
	}
	o.mu.Unlock()
	for _, x := range due {
		if x.follows() {
			lost = append(lost, im.ParcelHead{Conversation: x.conv, Seq: x.ack.Seq})
		}
	}
	o.tellAll(due)
	return lost
}

// HeadsFrame tells of the end of a conversation.
func HeadsFrame(c im.ConversationID, seq uint64) *wire.ServerFrame {
	return &wire.ServerFrame{Frame: &wire.ServerFrame_Heads{Heads: &wire.Heads{Heads: []*wire.Head{{Conversation: string(c), Seq: seq}}}}}
}

// HeadsTo tells a session of the end of a conversation, after its acks up to there.
func (f *Fanout) HeadsTo(o *Queue, c im.ConversationID, seq uint64) {
	o.TellBelow(c, seq+1)
	f.To(o)
}

// inFrame names the field of a refusal from the frame down (SPEC §10): what an Amend says
// beside its target stands in the part for what it does.
func inFrame(k im.EntryKind, err error) error {
	part := ""
	switch k {
	case im.EntryEdit:
		part = "edit"
	case im.EntryReaction:
		part = "react"
	case im.EntryVote:
		part = "vote"
	case im.EntryPollEnd:
		part = "endPoll"
	case im.EntryPin:
		part = "pin"
	default:
		return im.In("send", err)
	}
	if e := (*im.Error)(nil); errors.As(err, &e) {
		switch e.Field {
		case "conversation", "id", "target":
			return im.In("amend", err)
		}
	}
	return im.In("amend."+part, err)
}

// SendError queues the refusal of a send, naming what has to come first. The field of
// err is named from the frame down.
func (o *Queue) SendError(order *im.Order, c im.ConversationID, id im.MessageID, err error) {
	e := &wire.SendError{Id: id[:], Error: contract.Error(im.Public(err))}
	if im.CodeOf(err) == im.CodeOutOfOrder {
		if first, waits := order.First(o.ID, c); waits {
			e.First = first[:]
		}
	}
	o.Send(wire.NewServerFrame(e))
}

// ackBox is a SendAck whose parts are used again.
type ackBox struct {
	frame wire.ServerFrame
	one   wire.ServerFrame_SendAck
	ack   wire.SendAck
	id    im.MessageID
}

func (p *buffers) newAck() *ackBox {
	if b, ok := p.acks.Get().(*ackBox); ok {
		return b
	}
	b := &ackBox{}
	b.one.SendAck = &b.ack
	b.frame.Frame = &b.one
	b.ack.Id = b.id[:]
	return b
}
