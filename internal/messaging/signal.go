package messaging

import (
	"context"

	"github.com/skein-im/skein/internal/im"
)

// Signal passes typing on, or answers whom the actor may watch; see im.Logic.
func (s *Service) Signal(ctx context.Context, from im.Actor, sig im.Signal) ([]im.UserID, error) {
	if sig.Typing == "" {
		return s.members.MayWatch(ctx, from.User, sig.Watch)
	}
	// Who may not write is not seen typing either.
	if _, err := s.permissions.MaySend(ctx, from.User, sig.Typing); err != nil {
		return nil, err
	}
	s.deliverer.Typing(sig.Typing, from.User)
	return nil, nil
}
