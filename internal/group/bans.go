package group

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/skein-im/skein/internal/im"
)

const (
	// MaxBans is how many bans a group may have at a time.
	MaxBans = 1000
	// MaxReason is the longest reason in characters.
	MaxReason = 200
)

// Ban is a user who may not be a member.
type Ban = im.Ban

// Ban removes a member of a lower role than the caller's, or keeps out who is none,
// until a time; the zero time: for ever. It is a change of the roster, so who is
// being added at the same time is either removed by it or not added.
func (s *Service) Ban(ctx context.Context, actor im.Actor, c im.ConversationID, user im.UserID, reason string, until time.Time) error {
	if _, err := im.ParseUserID(string(user)); err != nil {
		return err
	}
	if err := im.CheckLines("reason", &reason, MaxReason); err != nil {
		return err
	}
	if !until.IsZero() {
		if until = until.Truncate(time.Millisecond); !until.After(s.o.Now()) {
			return im.Wrong("untilMs", "must be in the future, or 0")
		}
	}
	return s.change(ctx, actor, c, []im.UserID{user}, func(v *view) (*im.Event, error) {
		role := v.roleOf(user)
		if err := im.Authorize(v.Role, im.GroupBan, role); err != nil {
			return nil, err
		}
		if user == actor.User {
			return nil, im.Errorf(im.CodePermissionDenied, "nobody bans themselves")
		}
		if role == im.RoleNone {
			had, err := s.people.Banned(ctx, c, []im.UserID{user}, s.o.Now())
			if err != nil {
				return nil, fmt.Errorf("who is banned: %w", err)
			}
			if len(had) > 0 && had[0].Reason == reason && had[0].Until.Equal(until) {
				return nil, nil
			}
			if len(had) > 0 {
				return &im.Event{Type: im.EventMemberBanned, Users: []im.UserID{user}, Text: reason, Until: until}, nil
			}
		}
		all, err := s.people.BansPage(ctx, c, s.o.Now(), "", MaxBans)
		if err != nil {
			return nil, fmt.Errorf("who is banned: %w", err)
		}
		if len(all) >= MaxBans {
			return nil, im.Errorf(im.CodeTooLarge, "a group may have at most %d bans", MaxBans)
		}
		if role == im.RoleNone {
			return &im.Event{Type: im.EventMemberBanned, Users: []im.UserID{user}, Text: reason, Until: until}, nil
		}
		return &im.Event{Type: im.EventMemberRemoved, Users: []im.UserID{user}, Text: reason, Until: until, Banned: true}, nil
	})
}

// Unban lets a user be added again.
func (s *Service) Unban(ctx context.Context, actor im.Actor, c im.ConversationID, user im.UserID) error {
	if _, err := im.ParseUserID(string(user)); err != nil {
		return err
	}
	return s.change(ctx, actor, c, nil, func(v *view) (*im.Event, error) {
		if err := im.Authorize(v.Role, im.GroupBan, im.RoleNone); err != nil {
			return nil, err
		}
		had, err := s.people.Banned(ctx, c, []im.UserID{user}, s.o.Now())
		if err != nil {
			return nil, fmt.Errorf("who is banned: %w", err)
		}
		if len(had) == 0 {
			return nil, im.Errorf(im.CodeNotFound, "this user is not banned")
		}
		return &im.Event{Type: im.EventMemberUnbanned, Users: []im.UserID{user}}, nil
	})
}

// ListBans returns a page of the bans to an admin, by user id, and the cursor of the
// next one, "" after the last.
func (s *Service) ListBans(ctx context.Context, actor im.Actor, c im.ConversationID, limit int, cursor string) (list []Ban, next string, err error) {
	if limit, err = im.PageSize(cursor == "" || im.ValidID(cursor), limit, MaxPage, DefaultPage); err != nil {
		return nil, "", err
	}
	v, err := s.view(ctx, actor, c, nil)
	if err != nil {
		return nil, "", err
	}
	if err := im.Authorize(v.Role, im.GroupBan, im.RoleNone); err != nil {
		return nil, "", err
	}
	list, err = s.people.BansPage(ctx, c, s.o.Now(), im.UserID(cursor), limit+1)
	if err != nil {
		return nil, "", fmt.Errorf("list bans: %w", err)
	}
	if len(list) > limit {
		list = list[:limit]
		next = string(list[limit-1].User)
	}
	return list, next, nil
}

// welcome leaves out of users who is banned. It is asked after the roster was read:
// a ban that comes later moves the roster, and the change is decided again.
func (s *Service) welcome(ctx context.Context, c im.ConversationID, users []im.UserID) ([]im.UserID, error) {
	if len(users) == 0 {
		return nil, nil
	}
	bans, err := s.people.Banned(ctx, c, users, s.o.Now())
	if err != nil {
		return nil, fmt.Errorf("who is banned: %w", err)
	}
	return slices.DeleteFunc(slices.Clone(users), func(u im.UserID) bool {
		return slices.ContainsFunc(bans, func(b im.Ban) bool { return b.User == u })
	}), nil
}
