package messaging

import (
	"time"

	"github.com/skein-im/skein/internal/im"
)

const (
	// A conversation whose roster is being changed is tried again after
	// retryDelay · attempts, retryAttempts times: 2 s in all.
	retryDelay    = 5 * time.Millisecond
	retryAttempts = 28
	// At attempt helpAttempt whoever changes the roster has had 100 ms for it.
	helpAttempt = 6
	// One that is locked in the store is tried again after lockedDelay · attempts,
	// mostLockedDelay at most. The store says after a second that it is busy; if one
	// holder follows the other, lockedAttempts are enough.
	lockedDelay     = 5 * time.Millisecond
	mostLockedDelay = 50 * time.Millisecond
	lockedAttempts  = 60
)

// held keeps the items of a conversation together and in order while they wait:
// for an admitter, for its roster, which is being changed, or for somebody else who
// has it locked in the store. Only the committer touches it. Events wait for a lock
// only, whatever the others wait for: they may be what they wait for.
type held struct {
	events   []*item
	items    []*item // those that an admitter has are not among them
	asking   bool    // an admitter has some
	before   []*item // of a batch that was begun before those were given to the admitter
	attempts int     // for the roster
	locked   int     // attempts for the lock
}

// hold makes an item wait for its conversation's next attempt.
func (s *Service) hold(it *item) {
	h := s.held[it.entry.Conversation]
	if h == nil {
		h = &held{}
		s.held[it.entry.Conversation] = h
	}
	to := &h.items
	if it.event {
		to = &h.events
	}
	s.holdIn(h, to, it)
}

func (s *Service) holdIn(h *held, to *[]*item, it *item) {
	h.attempts, h.locked = max(h.attempts, it.attempts), max(h.locked, it.locked)
	*to = append(*to, it)
	s.queue.holds(1)
}

// holdAgain makes an item wait that was in a batch, and is decided anew. An admitter
// may have got one that was behind it in the same batch.
func (s *Service) holdAgain(it *item) {
	switch it.res.Status {
	case im.Locked:
		it.locked++
	case im.TargetChanged:
		it.changed++
	}
	it.anew()
	if h := s.held[it.entry.Conversation]; h != nil && h.asking && !it.event {
		s.holdIn(h, &h.before, it)
		return
	}
	s.hold(it)
}

// admit gives what is held of a conversation to an admitter.
func (s *Service) admit(c im.ConversationID) {
	h := s.held[c]
	items := h.items
	h.items, h.asking = nil, true
	s.queue.asks()
	s.admission.put(items, s.ask)
}

// schedule gives a conversation that is held for its roster another attempt: at
// once the first time, when the cached roster was merely old, then with growing
// delay, and at last gives up with a retryable code.
func (s *Service) schedule(r *round, c im.ConversationID) {
	s.permissions.Refresh(c)
	h := s.held[c]
	h.attempts++
	if h.attempts == helpAttempt {
		s.permissions.Help(c)
	}
	switch {
	case h.attempts > retryAttempts:
		s.giveUp(r, c, "the group is being changed; try again")
	case h.asking: // the next attempt comes with what the admitter has
	case h.attempts == 1:
		s.queue.retryNow(c)
	default:
		time.AfterFunc(retryDelay*time.Duration(h.attempts), func() { s.queue.retryNow(c) })
	}
}

// scheduleLocked gives a conversation that somebody else has locked in the store
// another attempt. The store knows by itself when it is free, so this costs it nothing.
func (s *Service) scheduleLocked(c im.ConversationID) {
	delay := min(lockedDelay*time.Duration(s.held[c].locked), mostLockedDelay)
	time.AfterFunc(delay, func() { s.queue.retryNow(c) })
}

// giveUp refuses what is held of a conversation. What an admitter has of it comes
// back to what is held behind it, and is refused as it is behind.
func (s *Service) giveUp(r *round, c im.ConversationID, why string) {
	h := s.held[c]
	over := append(h.events, h.items...)
	if h.asking {
		over = append(h.events, h.before...)
		h.events, h.before, h.attempts = nil, nil, 0
	} else {
		delete(s.held, c)
	}
	s.queue.holds(-len(over))
	for _, it := range over {
		it.err = im.Errorf(im.CodeUnavailable, "%s", why)
		it.refused(it.err)
		r.add(it, false)
	}
}

// released puts the items of due conversations in front of the others.
func (s *Service) released(again []due, items []*item) []*item {
	if len(again) == 0 {
		return items
	}
	var front []*item
	for _, d := range again {
		h := s.held[d.conversation]
		if h == nil {
			continue
		}
		front = append(front, h.events...)
		s.queue.holds(-len(h.events))
		h.events = nil
		if h.asking != (d.admitted != nil) {
			continue
		}
		delete(s.held, d.conversation)
		retried := h.before
		if !h.asking {
			retried = h.items
		}
		for _, it := range retried {
			it.attempts = h.attempts
		}
		s.queue.holds(-len(h.before) - len(d.admitted) - len(h.items))
		front = append(append(append(front, h.before...), d.admitted...), h.items...)
	}
	return append(front, items...)
}

// giveUpHeld answers what still waits when the service closes.
func (s *Service) giveUpHeld() {
	r := s.free.get()
	r.turn = s.committing.Enter()
	for c := range s.held {
		s.giveUp(r, c, "the server is stopping")
	}
	s.handOver(r)
}
