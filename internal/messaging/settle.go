package messaging

import (
	"context"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// settling is the settler's memory.
type settling struct {
	// applying are the conversations of which a change is being applied.
	applying map[im.ConversationID]*applying
	// delivery waits for the next deliver; over are the rounds that end with it.
	delivery []im.Delivery
	over     []*round
}

// applying is a conversation whose directory half is being changed: what comes
// behind the change waits in order.
type applying struct{ items []*item }

// applied is a change that was applied, or not.
type applied struct {
	it  *item
	err error
}

func (s *Service) settleLoop() {
	defer s.stopped.Done()
	rounds := s.rounds
	for rounds != nil || len(s.settling.applying) > 0 {
		select {
		case r, ok := <-rounds:
			if !ok {
				rounds = nil
				continue
			}
			if r == nil { // the committer waits for this moment
				continue
			}
			s.settleRound(r)
			s.deliverAll()
			s.answered.Add(1)
		case a := <-s.applied:
			s.goOn(a)
			s.deliverAll()
		}
	}
}

// settleRound answers the items of a round in their order and collects what is to be
// delivered.
func (s *Service) settleRound(r *round) {
	r.open = len(r.items)
	s.markOwn(context.Background(), r)
	now := s.now()
	for _, it := range r.items {
		it.round = r
		if a := s.settling.applying[it.entry.Conversation]; a != nil {
			a.items = append(a.items, it)
		} else {
			s.settleOne(it, now)
		}
	}
}

// settleOne answers an item, or begins to apply it.
func (s *Service) settleOne(it *item, now time.Time) {
	switch {
	case it.err != nil:
		s.reject(it, it.err)
	case it.apply != nil:
		s.apply(it)
	default:
		s.accept(it, now)
	}
}

// apply has a change applied aside. What was stored before leaves first: somebody
// who is being added must not be pushed what came before them.
func (s *Service) apply(it *item) {
	s.deliverAll()
	s.settling.applying[it.entry.Conversation] = &applying{}
	go func() {
		err := s.guarded("apply", &it.entry, func() error { return it.apply(it.res.Seq) })
		s.applied <- applied{it, err}
	}()
}

// goOn settles a change that was applied, and what waited behind it.
func (s *Service) goOn(a applied) {
	c, now := a.it.entry.Conversation, s.now()
	if a.err != nil {
		s.reply(a.it, im.Ack{}, a.err)
	} else {
		s.permissions.Refresh(c)
		s.accept(a.it, now)
	}
	behind := s.settling.applying[c].items
	delete(s.settling.applying, c)
	for i, it := range behind {
		s.settleOne(it, now)
		if next := s.settling.applying[c]; next != nil { // another change
			next.items = behind[i+1:]
			return
		}
	}
}

// markOwn moves the senders' marks: sending is reading (SPEC §4.2). It comes
// before the answers, so that who asks after an ack finds nothing of their own
// unread; for a resend as well, whose first mark a crash may have cost.
func (s *Service) markOwn(ctx context.Context, r *round) {
	r.marks = r.marks[:0]
	for _, it := range r.items {
		res, e := &it.res, &it.entry
		if it.err == nil && e.Kind == im.EntryMessage && it.found.Status != im.Duplicate {
			r.marks = append(r.marks, im.Mark{
				User: e.Sender, Conversation: e.Conversation, Received: res.Seq, Read: res.Seq, ReadCount: res.Count, Pos: res.Pos,
			})
		}
	}
	if len(r.marks) == 0 {
		return
	}
	if err := s.markStore.SetMarks(ctx, r.marks, im.MarkWait{}); err != nil {
		s.log.Warn("marks not kept; devices repeat theirs", "err", err)
	}
}

// reject refuses an item.
func (s *Service) reject(it *item, err error) {
	s.metrics.reject(err)
	s.reply(it, im.Ack{}, err)
}

// accept answers a stored item and queues the delivery.
func (s *Service) accept(it *item, now time.Time) {
	e, res := &it.entry, &it.res
	if res.Status == im.Stored {
		s.metrics.accepted.Inc()
	} else {
		s.metrics.duplicates.Inc()
	}
	// A duplicate may be an entry that nobody has been sent yet: an event stored
	// just before a crash, a batch whose outcome was unknown at first. Receivers
	// ignore what they have.
	asked := it.round.asked
	follows := res.Status == im.Stored || it.event || asked
	if m := it.amends; m != nil {
		e.Body = m.told
	}
	if it.report != nil && res.Status == im.Stored {
		stored := *e
		stored.Seq = res.Seq
		s.filter.Report(stored, it.report)
	}
	// Of an amendment nobody knows what it made of its target then.
	again := res.Status == im.Duplicate && e.Target != 0 && asked
	if follows = follows && !again && res.Seq != 0; follows { // 0: it changed nothing
		e.Seq, e.Count, e.Stored, e.Pos, e.Roster = res.Seq, res.Count, res.Time, res.Pos, res.Roster
		s.settling.delivery = append(s.settling.delivery, im.Delivery{Entry: *e, Origin: it.actor.Connection})
	}
	if res.Seq != 0 && (again || s.known != nil && res.Status == im.Duplicate && !it.event && !asked) {
		// Another process stored it, perhaps, and was gone before it delivered it.
		s.deliverer.Remind(im.ParcelHead{Conversation: e.Conversation, Seq: res.Seq, Roster: res.Roster})
	}
	s.metrics.sendDuration.Observe(now.Sub(it.queued).Seconds())
	s.reply(it, im.Ack{Seq: res.Seq, Count: res.Count, Stored: res.Time, Pos: res.Pos, Follows: follows && it.actor.Connection != ""}, nil)
}

// reply answers an item that was queued, once, and frees its place. The item
// must not be used after it.
func (s *Service) reply(it *item, a im.Ack, err error) {
	s.queue.done(it)
	it.reply(a, err)
	if r := it.round; r != nil {
		if r.open--; r.open == 0 {
			s.settling.over = append(s.settling.over, r)
		}
	}
	s.items.put(it)
}

// deliverAll hands on what was collected, and ends the rounds that are over with it.
func (s *Service) deliverAll() {
	x := &s.settling
	s.deliver(x.delivery)
	clear(x.delivery)
	x.delivery = x.delivery[:0]
	for i, r := range x.over {
		s.committing.Leave(r.turn)
		s.free.put(r)
		x.over[i] = nil
	}
	x.over = x.over[:0]
}
