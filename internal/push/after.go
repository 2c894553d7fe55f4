package push

import (
	"context"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// After is how the feed of Handle reads the journal. While no device can be woken nothing
// is read: what had been stored when it looked is passed over, Wait later, if there is
// still no device then. So a device is woken for the same messages either way: for those
// that were not yet Wait old when it subscribed, and for later ones.
func (s *Service) After(ctx context.Context, j im.Follow, after im.Place, limit int) (im.Followed, error) {
	some, err := s.anyPush(ctx)
	if err != nil {
		return im.Followed{}, err
	}
	if some {
		return j.After(ctx, after, limit)
	}
	f, err := j.After(ctx, after, 0)
	if err != nil || f.Now.Pos <= after.Pos {
		return f, err
	}
	if !pause(ctx, s.o.Wait) {
		return im.Followed{}, ctx.Err()
	}
	if some, err = s.lookForAny(ctx); err != nil {
		return im.Followed{}, err
	}
	if some {
		return j.After(ctx, after, limit)
	}
	f.UpTo = f.Now
	return f, nil
}

// anyPush tells whether any device can be woken, as of a moment ago.
func (s *Service) anyPush(ctx context.Context) (bool, error) {
	s.mu.Lock()
	some, known := s.some, !s.found.IsZero() && s.o.Now().Sub(s.found) < anyKnown
	s.mu.Unlock()
	if known {
		return some, nil
	}
	return s.lookForAny(ctx)
}

// lookForAny asks the store for it.
func (s *Service) lookForAny(ctx context.Context) (bool, error) {
	now := s.o.Now()
	some, err := s.o.Subscriptions.AnyPush(ctx)
	if err != nil {
		return false, err
	}
	s.mu.Lock()
	s.some, s.found = some, now
	s.mu.Unlock()
	return some, nil
}

// anyKnown is how long is not looked again whether any device can be woken.
const anyKnown = 2 * time.Second
