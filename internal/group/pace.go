package group

import (
	"sync"
	"time"

	"github.com/skein-im/skein/internal/cache"
	"github.com/skein-im/skein/internal/im"
)

// Slow mode: a member who is no admin writes a message so many seconds after their
// last one. Who wrote when is in RAM of the process that decides, mostly one of all
// for a group, so no message waits for a store. What is forgotten, by a restart,
// because the group moved to another node, or because too many others wrote, lets
// one message through early.

// pacedMembers bounds for how many members it is known when they wrote (about 200
// bytes each).
const pacedMembers = 100_000

// pace knows when members of groups in slow mode wrote.
type pace struct {
	mu   sync.Mutex
	last cache.Cache[pacer, written]
}

type pacer struct {
	c im.ConversationID
	u im.UserID
}

// written is the last message that was let through, and the ids of those before:
// one whose ack was lost comes again, and is not another one.
type written struct {
	at  time.Time
	ids [4]im.MessageID
}

func newPace(most int) pace { return pace{last: cache.New[pacer, written](most)} }

// take lets a message through, or tells how long it has to wait.
func (p *pace) take(c im.ConversationID, u im.UserID, id im.MessageID, now time.Time, between time.Duration) (wait time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	w, known := p.last.Get(pacer{c, u})
	if known {
		for _, had := range w.ids {
			if had == id {
				return 0
			}
		}
		// A clock that was set back makes nobody wait for longer than the time between.
		if wait = min(w.at.Add(between).Sub(now), between); wait > 0 {
			return wait
		}
	}
	copy(w.ids[1:], w.ids[:])
	w.ids[0], w.at = id, now
	p.last.Put(pacer{c, u}, w)
	return 0
}

// MayWriteYet decides whether a message that its sender may write comes too soon
// after their last one: slow_mode, with the time to wait. A message that was let
// through is let through again. It asks RAM alone; where the roster is not here,
// nobody has to wait.
func (s *Service) MayWriteYet(user im.UserID, c im.ConversationID, id im.MessageID) error {
	r := s.rosters.peek(c)
	if r == nil || r.switches.SlowMode == 0 || r.member(user).role >= im.RoleAdmin {
		return nil
	}
	between := time.Duration(r.switches.SlowMode) * time.Second
	wait := s.pace.take(c, user, id, s.o.Now(), between)
	if wait <= 0 {
		return nil
	}
	e := im.Errorf(im.CodeSlowMode, "members may write here every %s", between)
	e.RetryAfter = wait
	return e
}
