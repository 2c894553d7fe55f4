package group

import (
	"context"
	"fmt"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// SetLifetime has what is said in a group from now on disappear after a time, 0: stay
// (SPEC §4.27). Admins and the owner may.
func (s *Service) SetLifetime(ctx context.Context, actor im.Actor, c im.ConversationID, lifetime time.Duration) error {
	if err := im.CheckLifetime(lifetime); err != nil {
		return err
	}
	return s.change(ctx, actor, c, nil, func(v *view) (*im.Event, error) {
		if err := im.Authorize(v.Role, im.GroupLifetime, im.RoleNone); err != nil {
			return nil, err
		}
		// Each change is one of the roster: what is read here is so until the promise.
		all, err := s.store.Periods(ctx, []im.ConversationID{c})
		if err != nil {
			return nil, fmt.Errorf("periods of %s: %w", c, err)
		}
		return im.ChangeLifetime(all[c], lifetime)
	})
}
