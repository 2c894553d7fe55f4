package gateway

import (
	"time"

	"github.com/skein-im/skein/internal/contract"
	"github.com/skein-im/skein/internal/gateway/here"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

// askTime bounds what a client waits for at Logic, sends excepted: those are
// never cancelled half-way.
const askTime = 30 * time.Second

// readTime bounds a Sync, a Pull and what else only reads: less than clients wait
// for any sign of life, who would otherwise leave and ask the same anew.
const readTime = 10 * time.Second

// errUnknownFrame is what is told of a frame of a later version (SPEC §1.4).
var errUnknownFrame = im.Errorf(im.CodeUnimplemented, "this server does not know this frame")

func (s *session) onUnknown(c *command, f *wire.ClientFrame) { s.refuse(c, f, errUnknownFrame) }

// onSend hands a message, or an amendment, to Logic. The answer comes on whatever goroutine
// commits or delivers: it is queued there and written by Flush (answers.go).
func (s *session) onSend(c *command, f *wire.ClientFrame) {
	msg, err := toMessage(f, &s.g.o.Limits)
	if err != nil {
		s.refuse(c, f, err)
		return
	}
	t := s.turned()
	if t.order.Waiting() > 0 && !s.goOn(msg.Conversation, msg.ID, sentBy(f).GetInsteadOf()) {
		s.refuseBehind(f)
		return
	}
	t.place.At++
	from := s.Actor
	from.Order, from.Turn = &t.order, t.place
	s.g.o.Logic.Send(s.g.ctx, from, msg, s.Sending(&from, &msg, s.now))
}

func (s *session) logInternal(what string, err error) {
	if im.CodeOf(err) == im.CodeInternal {
		s.g.o.Logger.Error("gateway: "+what, "connection", s.ID, "user", s.Actor.User, "err", err)
	}
}

func (s *session) onReceived(c *command, f *wire.ClientFrame) {
	p := f.GetReceived()
	s.mark(c, f, p.GetConversation(), p.GetSeq(), 0)
}

func (s *session) onRead(c *command, f *wire.ClientFrame) {
	p := f.GetRead()
	s.mark(c, f, p.GetConversation(), 0, p.GetSeq())
}

// mark gathers marks until the read buffer is empty: only the furthest of each
// conversation is passed on. Reading implies having received only where the
// client says so.
func (s *session) mark(c *command, f *wire.ClientFrame, conversation string, received, read uint64) {
	conv, err := im.ParseConversationID(conversation)
	if err != nil {
		s.refuse(c, f, err)
		return
	}
	if s.marks == nil {
		s.marks = &marks{}
	}
	w := s.marks
	for i := range w.waiting {
		if m := &w.waiting[i]; m.conversation == conv {
			m.received, m.read = max(m.received, received), max(m.read, read)
			return
		}
	}
	w.waiting = append(w.waiting, markSet{conv, received, read})
	if len(w.waiting) >= marksHeld {
		s.flushMarks()
	}
}

// flushMarks passes on what was gathered. It does not wait for the answers.
func (s *session) flushMarks() {
	w := s.marks
	if w == nil || len(w.waiting) == 0 {
		return
	}
	if !s.BeginMarks(len(w.waiting)) { // the client repeats what still holds
		w.waiting = w.waiting[:0]
	}
	for _, m := range w.waiting {
		s.g.o.Logic.Mark(s.g.ctx, s.Actor, m.conversation, m.received, m.read, s.marking(m))
	}
	if cap(w.waiting) > 8 {
		w.waiting = nil // an idle session holds little
	}
	w.waiting = w.waiting[:0]
}

// markAnswer takes the answer to a mark, in memory that is used again.
type markAnswer struct {
	s     *session
	set   markSet
	reply func(error) // answered, bound once
}

// marking returns who takes the answer to a mark.
func (s *session) marking(m markSet) func(error) {
	x, ok := s.g.pools.marks.Get().(*markAnswer)
	if !ok {
		x = &markAnswer{}
		x.reply = x.answered
	}
	x.s, x.set = s, m
	return x.reply
}

// answered tells the client of a mark that was refused; others have no answer.
func (x *markAnswer) answered(err error) {
	s, m := x.s, x.set
	x.s, x.set = nil, markSet{}
	s.g.pools.marks.Put(x)
	if err != nil { // first: what waits for this answer must not overtake it
		s.logInternal("mark", err)
		frame := "received"
		if m.read > 0 {
			frame = "read"
		}
		s.Send(errorAbout(frame, string(m.conversation), err))
		s.Flush()
	}
	s.MarkAnswered()
}

func (s *session) onSync(c *command, f *wire.ClientFrame) { s.sync(f.GetSync()) }

func (s *session) sync(p *wire.Sync) {
	s.settleMarks()
	ctx, done := s.asking(readTime)
	defer done()
	q, err := contract.SyncQuery(p)
	s.BeginSync(q.Cursor != "")
	var res im.SyncResult
	if err == nil {
		res, err = s.g.o.Logic.Sync(ctx, s.Actor, q)
	}
	if err != nil {
		s.logInternal("sync", err)
		s.Send(syncError(p, err))
		return
	}
	d := contract.SyncResult(&res)
	d.Number = p.GetNumber()
	s.Doubt(false)
	same := s.g.sameGroups(&s.Member, res.Conversations)
	if !same {
		s.Misses()
	}
	s.sendDelta(d)
	s.Synced(&q, &res)
	if !same { // behind the delta, so that its Resync covers what came between the two
		s.g.verifier.user(s.Actor.User)
	}
}

func (s *session) onTyping(c *command, f *wire.ClientFrame) {
	conv, err := im.ParseConversationID(f.GetTyping().GetConversation())
	if err == nil {
		_, err = s.g.o.Logic.Signal(s.g.ctx, s.Actor, im.Signal{Typing: conv})
	}
	if err != nil {
		s.refuse(c, f, err)
	}
}

func (s *session) onSignal(c *command, f *wire.ClientFrame) {
	told, err := contract.Signal(f.GetSignal())
	if err == nil {
		_, err = s.g.o.Logic.Signal(s.g.ctx, s.Actor, im.Signal{Custom: &told})
	}
	if err != nil {
		s.refuse(c, f, err)
	}
}

func (s *session) onWatchPresence(c *command, f *wire.ClientFrame) {
	ids := f.GetWatchPresence().GetUsers()
	if len(ids) > maxListed {
		s.refuse(c, f, im.TooLarge("users", "has %d users; at most %d can be watched", len(ids), maxListed))
		return
	}
	users, err := contract.Users("users", ids)
	var may []im.Watched
	if err == nil {
		ctx, done := s.asking(readTime)
		defer done()
		s.g.presence.Ask(&s.Member, users) // first: who is unwatched while Logic looks must not come back
		if len(users) > 0 {
			may, err = s.g.o.Logic.Signal(ctx, s.Actor, im.Signal{Watch: users})
		}
	}
	if err != nil {
		s.g.presence.Forgo(&s.Member)
		s.refuse(c, f, err)
		return
	}
	for _, u := range s.g.presence.Watch(&s.Member, may) {
		s.g.lookAgain([]*here.Member{&s.Member}, u)
	}
}

func (s *session) onBackground(_ *command, f *wire.ClientFrame) {
	s.g.presence.Background(&s.Member, f.GetBackground().GetOn())
}

func (s *session) onPing(c *command, f *wire.ClientFrame) {
	p, pong := f.GetPing(), &wire.Pong{ServerTimeMs: s.now.UnixMilli(), Stickers: s.g.o.Stickers()}
	// With a position the client takes its marks for stored.
	if p.Digest != nil && p.Position != "" {
		s.settleMarks()
		ctx, done := s.asking(readTime)
		defer done()
		same, position, err := s.g.o.Logic.Compare(ctx, s.Actor, p.Position, *p.Digest)
		switch {
		case err != nil && im.CodeOf(err).Info().Action == im.ActionRetry:
			// Not now: the next ping asks again.
		case err != nil:
			s.logInternal("compare", err)
			pong.Resync = true
		case same:
			pong.Position = position
			s.Compared(position)
		default:
			pong.Resync = true
		}
	}
	s.Send(&wire.ServerFrame{Frame: &wire.ServerFrame_Pong{Pong: pong}})
}

// onPong has nothing to do: that it came is the news.
func (s *session) onPong(*command, *wire.ClientFrame) {}

func (s *session) onBye(*command, *wire.ClientFrame) {
	s.flushMarks()
	s.Finish("bye", "", "bye", nil, false, leaveTime)
}
