package contact

import (
	"context"
	"fmt"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// LifetimeStore keeps after how long messages of a dm disappear.
type LifetimeStore interface {
	// OpenDM makes both users of a dm members; idempotent.
	OpenDM(ctx context.Context, c im.ConversationID) error
	// PromiseLifetime promises a change that decide makes of the periods so far, in one
	// transaction; nil: there is none. busy: something else is promised of the dm, and
	// nothing was done.
	PromiseLifetime(ctx context.Context, c im.ConversationID, decide func([]im.Period) (*im.Promise, error)) (p *im.Promise, busy bool, err error)
	// PendingOf returns the promises of a conversation.
	PendingOf(ctx context.Context, c im.ConversationID) ([]im.Promise, error)
}

// lifetimeAttempts is how often a change is made again behind another one.
const lifetimeAttempts = 8

// SetLifetime has what is said in a dm from now on disappear after a time, 0: stay (SPEC
// §4.27). Who may write there may; in their own notes, their user.
func (s *Service) SetLifetime(ctx context.Context, actor im.Actor, c im.ConversationID, lifetime time.Duration) error {
	if err := im.CheckLifetime(lifetime); err != nil {
		return err
	}
	if owner, saved := c.SavedBy(); !saved || owner != actor.User {
		peer, ok := c.Peer(actor.User)
		if !ok || saved {
			return im.Errorf(im.CodeNotFound, "no such conversation")
		}
		if err := s.MaySend(ctx, actor.User, peer); err != nil {
			return err
		}
	}
	if err := s.o.Lifetimes.OpenDM(ctx, c); err != nil {
		return fmt.Errorf("open %s: %w", c, err)
	}
	for range lifetimeAttempts {
		p, busy, err := s.o.Lifetimes.PromiseLifetime(ctx, c, func(all []im.Period) (*im.Promise, error) {
			ev, err := im.ChangeLifetime(all, lifetime)
			if ev == nil || err != nil {
				return nil, err
			}
			var random [10]byte
			s.o.Random(random[:])
			return &im.Promise{ID: im.NewMessageID(s.o.Now(), random), Conversation: c, Sender: actor.User, Event: *ev}, nil
		})
		switch {
		case err != nil:
			return err
		case p != nil:
			if err := s.outbox.Drive(ctx, *p); err != nil {
				return im.Wrap(err, im.CodeUnknown, "the change is promised, and comes by itself")
			}
			return nil
		case !busy:
			return nil
		}
		pending, err := s.o.Lifetimes.PendingOf(ctx, c)
		for i := 0; err == nil && i < len(pending); i++ {
			err = s.outbox.Drive(ctx, pending[i])
		}
		if err != nil {
			return im.Wrap(err, im.CodeConflict, "another change of this conversation is not done yet")
		}
	}
	return im.Errorf(im.CodeConflict, "this conversation changes too fast just now")
}
