package messaging

import (
	"context"

	"github.com/skein-im/skein/internal/im"
)

// Signal passes typing and signals of the clients' own on, or answers whom the actor
// may watch, or notes when users were there last; see im.Logic.
func (s *Service) Signal(ctx context.Context, from im.Actor, sig im.Signal) ([]im.Watched, error) {
	c := sig.Typing
	if sig.Custom != nil {
		c = sig.Custom.Conversation
	}
	if sig.Seen != nil {
		return nil, s.members.Seen(ctx, sig.Seen)
	}
	if c == "" {
		return s.members.MayWatch(ctx, from.User, sig.Watch)
	}
	// Who may not write is not seen typing either.
	if _, err := s.permissions.MaySend(ctx, from.User, c, 0); err != nil {
		return nil, err
	}
	if sig.Custom == nil {
		s.deliverer.Typing(c, from.User)
		return nil, nil
	}
	told := *sig.Custom
	told.User = from.User
	s.deliverer.Custom(told)
	return nil, nil
}
