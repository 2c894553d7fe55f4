package messaging

import (
	"time"

	"github.com/skein-im/skein/internal/im"
)

// held keeps the items of a conversation together and in order while its
// roster is being changed. Only the committer touches it.
type held struct {
	items    []*item
	attempts int
}

// hold makes an item wait for its conversation's next attempt.
func (s *Service) hold(it *item) {
	h := s.held[it.entry.Conversation]
	if h == nil {
		h = &held{}
		s.held[it.entry.Conversation] = h
	}
	h.attempts = max(h.attempts, it.attempts)
	h.items = append(h.items, it)
}

// holdBack makes later items of held conversations wait behind the others;
// events pass, they are what the others wait for.
func (s *Service) holdBack(items []*item) []*item {
	if len(s.held) == 0 {
		return items
	}
	kept := make([]*item, 0, len(items))
	for _, it := range items {
		if s.held[it.entry.Conversation] != nil && !it.event {
			s.hold(it)
			continue
		}
		kept = append(kept, it)
	}
	return kept
}

// schedule gives a held conversation another attempt: at once the first time,
// when the cached roster was merely old, then with growing delay, and at last
// gives up with a retryable code.
func (s *Service) schedule(c im.ConversationID) {
	s.members.Refresh(c)
	h := s.held[c]
	h.attempts++
	switch {
	case h.attempts > retryAttempts:
		delete(s.held, c)
		for _, it := range h.items {
			s.reject(it, im.Errorf(im.CodeUnavailable, "the group is being changed; try again"))
		}
	case h.attempts == 1:
		s.queue.retryNow(c)
	default:
		if h.attempts == helpAttempt {
			s.members.Help(c)
		}
		time.AfterFunc(retryDelay*time.Duration(h.attempts), func() { s.queue.retryNow(c) })
	}
}

// released puts the items of due conversations in front of the others.
func (s *Service) released(due []im.ConversationID, items []*item) []*item {
	if len(due) == 0 {
		return items
	}
	var front []*item
	for _, c := range due {
		h := s.held[c]
		if h == nil {
			continue
		}
		delete(s.held, c)
		for _, it := range h.items {
			it.attempts = h.attempts
		}
		front = append(front, h.items...)
	}
	return append(front, items...)
}

// giveUpHeld answers what still waits when the service closes.
func (s *Service) giveUpHeld() {
	for c, h := range s.held {
		delete(s.held, c)
		for _, it := range h.items {
			s.reject(it, im.Errorf(im.CodeUnavailable, "the server is stopping"))
		}
	}
	s.deliverer.Deliver(nil)
}
