package messaging

import (
	"context"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// markOwn moves the senders' marks: sending is reading (SPEC §4.2). It comes
// before the answers, so that who asks after an ack finds nothing of their own
// unread; for a resend as well, whose first mark a crash may have cost.
func (s *Service) markOwn(ctx context.Context, items []*item) {
	sc := &s.scratch
	sc.marks = sc.marks[:0]
	for k, i := range sc.index {
		res, e := &sc.out[k], &items[i].entry
		if (res.Status == im.Stored || res.Status == im.Duplicate) && e.Kind == im.EntryMessage {
			sc.marks = append(sc.marks, im.Mark{
				User: e.Sender, Conversation: e.Conversation, Received: res.Seq, Read: res.Seq, ReadCount: res.Count, Pos: res.Pos,
			})
		}
	}
	if len(sc.marks) == 0 {
		return
	}
	if err := s.journal.SetMarks(ctx, sc.marks, im.MarkWait{}); err != nil {
		s.log.Warn("marks not kept; devices repeat theirs", "err", err)
	}
}

// answer replies to the items of a batch in their order and collects what is
// to be delivered. storeErr is the outcome of the whole append.
func (s *Service) answer(items []*item, storeErr error) {
	sc := &s.scratch
	now := s.now()
	next := 0 // of sc.index
	again := map[im.ConversationID]bool(nil)
	for i, it := range items {
		var res im.Appended
		if next < len(sc.index) && sc.index[next] == i {
			switch {
			case storeErr != nil:
				it.err = storeErr
			case len(sc.errs) > 0 && sc.errs[next] != nil:
				it.err = sc.errs[next]
			default:
				res = sc.out[next]
			}
			next++
		} else if it.found.Status == im.Duplicate {
			res = it.found
		}
		c := it.entry.Conversation
		// Once an item of a conversation waits for a retry, what comes after it waits as well.
		if storeErr == nil && !it.event && (res.Status == im.RosterChanged || again[c]) && res.Status != im.Stored && res.Status != im.Duplicate {
			if again == nil {
				again = map[im.ConversationID]bool{}
			}
			again[c] = true
			s.hold(it)
			continue
		}
		s.answerOne(it, res, now)
	}
	for c := range again {
		s.schedule(c)
	}
}

func (s *Service) answerOne(it *item, res im.Appended, now time.Time) {
	if it.err != nil {
		s.reject(it, it.err)
		return
	}
	switch res.Status {
	case im.Stored, im.Duplicate:
		s.accept(it, res, now)
	case im.RosterChanged: // of an event: somebody else's change came first
		s.reject(it, im.Errorf(im.CodeConflict, "the group changed at the same time"))
	case im.Busy:
		s.reject(it, busy(s.scratch.asked))
	case im.IDConflict:
		s.reject(it, im.Errorf(im.CodeIdConflict, "this id was used for another message"))
	default:
		s.reject(it, im.Errorf(im.CodeInternal, "the journal gave no outcome"))
	}
}

// busy refuses what waits for somebody else who holds its conversation in the
// store. An item that was asked for before, with no answer, may be stored.
func busy(asked bool) error {
	if asked {
		return &im.Error{Code: im.CodeUnknown, Message: "the server cannot tell now whether this was stored; repeat the message with the same id", RetryAfter: time.Second, Everywhere: true}
	}
	return &im.Error{Code: im.CodeUnavailable, Message: "the conversation is locked in the database; nothing was stored", RetryAfter: time.Second, Everywhere: true}
}

func (s *Service) reject(it *item, err error) {
	it.refused(err)
	s.metrics.reject(err)
	s.reply(it, im.Ack{}, err)
}

// reply answers an item that was queued, once, and frees its place. The item
// must not be used after it.
func (s *Service) reply(it *item, a im.Ack, err error) {
	s.queue.done(it)
	it.reply(a, err)
	s.items.put(it)
}

// accept answers a stored item, applies an event, and queues the delivery.
func (s *Service) accept(it *item, res im.Appended, now time.Time) {
	sc := &s.scratch
	if it.apply != nil {
		// What was stored before leaves before the roster moves: somebody who is being
		// added must not be pushed what came before them.
		s.deliverer.Deliver(sc.delivery)
		clear(sc.delivery)
		sc.delivery = sc.delivery[:0]
		if err := it.apply(res.Seq); err != nil {
			s.reply(it, im.Ack{}, err)
			return
		}
		s.members.Refresh(it.entry.Conversation)
	}
	e := &it.entry
	if res.Status == im.Stored {
		s.metrics.accepted.Inc()
	} else {
		s.metrics.duplicates.Inc()
	}
	// A duplicate may be an entry that nobody has been sent yet: an event stored
	// just before a crash, a batch whose outcome was unknown at first. Receivers
	// ignore what they have.
	follows := res.Status == im.Stored || it.event || sc.asked
	if follows {
		e.Seq, e.Count, e.Stored, e.Pos, e.Roster = res.Seq, res.Count, res.Time, res.Pos, res.Roster
		sc.delivery = append(sc.delivery, im.Delivery{Entry: *e, Origin: it.actor.Connection})
	}
	if s.known != nil && res.Status == im.Duplicate && !it.event && !sc.asked {
		// Another process stored it, perhaps, and was gone before it delivered it.
		s.deliverer.Remind(im.ParcelHead{Conversation: e.Conversation, Seq: res.Seq, Roster: res.Roster})
	}
	s.metrics.sendDuration.Observe(now.Sub(it.queued).Seconds())
	s.reply(it, im.Ack{Seq: res.Seq, Count: res.Count, Stored: res.Time, Pos: res.Pos, Follows: follows && it.actor.Connection != ""}, nil)
}
