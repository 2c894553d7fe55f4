package group

import (
	"context"
	"fmt"

	"github.com/skein-im/skein/internal/im"
)

// Places knows where a user is.
type Places interface {
	// RolesOf returns the groups that a user is in, with their roles.
	RolesOf(ctx context.Context, user im.UserID) (map[im.ConversationID]im.Role, error)
}

// Erase has a user whose account was deleted leave all groups. One that they own goes to
// whom the list of members has next: an admin, or else who has been there for longest; one
// without another member is dismissed. Done again it does nothing more.
func (s *Service) Erase(ctx context.Context, user im.UserID) error {
	var denied error
	for range attempts {
		denied = nil
		roles, err := s.o.Places.RolesOf(ctx, user)
		if err != nil {
			return fmt.Errorf("groups of %s: %w", user, err)
		}
		if len(roles) == 0 {
			return nil
		}
		for c, role := range roles {
			err := s.eraseFrom(ctx, im.Actor{User: user}, c, role)
			switch im.CodeOf(err) {
			case "", im.CodeNotFound: // they are out
			case im.CodePermissionDenied: // they have another role by now: another process does this at the same time
				denied = fmt.Errorf("leave %s: %w", c, err)
			default:
				return fmt.Errorf("leave %s: %w", c, err)
			}
		}
	}
	return im.Wrap(denied, im.CodeUnavailable, "the groups of %s change all the time", user)
}

func (s *Service) eraseFrom(ctx context.Context, actor im.Actor, c im.ConversationID, role im.Role) error {
	if role == im.RoleOwner {
		next, err := s.nextOwner(ctx, actor.User, c)
		if err != nil {
			return err
		}
		if next == "" {
			return s.Dismiss(ctx, actor, c)
		}
		if err := s.Transfer(ctx, actor, c, next); err != nil {
			return err
		}
	}
	return s.Leave(ctx, actor, c)
}

// nextOwner is whom a group goes to, "" if nobody else is there.
func (s *Service) nextOwner(ctx context.Context, owner im.UserID, c im.ConversationID) (im.UserID, error) {
	members, _, err := s.store.MembersPage(ctx, c, im.MemberQuery{Limit: 2})
	if err != nil {
		return "", fmt.Errorf("list members: %w", err)
	}
	for _, m := range members {
		if m.User != owner {
			return m.User, nil
		}
	}
	return "", nil
}
