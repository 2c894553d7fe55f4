package account

import (
	"context"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// MaxBanReason is how long the reason of a ban may be, in characters.
const MaxBanReason = 200

// Me is a user as they are now. not_found: there is no such user.
func (s *Service) Me(ctx context.Context, user im.UserID) (User, error) {
	users, err := s.store.Users(ctx, []im.UserID{user})
	if err == nil && len(users) == 0 {
		err = im.Errorf(im.CodeNotFound, "no such user")
	}
	if err != nil {
		return User{}, err
	}
	return users[0], nil
}

// Ban bars a user until a time, zero: for ever, for a reason that whoever comes in as them
// is told, and returns how many sessions it ended. not_found; account_deleted;
// permission_denied: it is the actor, or who has no lesser role, or the last owner.
func (s *Service) Ban(ctx context.Context, actor im.Actor, user im.UserID, until time.Time, reason string) (int, error) {
	if !until.IsZero() && !until.After(s.o.Now()) {
		return 0, im.Wrong("untilMs", "must lie in the future, or be 0 for ever")
	}
	yes := true
	return s.bar(ctx, actor, "ban_user", im.BarChange{User: user, Ban: &yes, Until: until.Truncate(time.Millisecond), Reason: reason})
}

// Unban ends a ban.
func (s *Service) Unban(ctx context.Context, actor im.Actor, user im.UserID) error {
	no := false
	_, err := s.bar(ctx, actor, "unban_user", im.BarChange{User: user, Ban: &no})
	return err
}

// Disable bars a user until Disable says otherwise, and returns how many sessions it ended.
func (s *Service) Disable(ctx context.Context, actor im.Actor, user im.UserID, disabled bool) (int, error) {
	return s.bar(ctx, actor, "disable_user", im.BarChange{User: user, Disable: &disabled})
}

func (s *Service) bar(ctx context.Context, actor im.Actor, operation string, c im.BarChange) (int, error) {
	n, err := s.changeBar(ctx, actor, c)
	return n, s.count(operation, err)
}

func (s *Service) changeBar(ctx context.Context, actor im.Actor, c im.BarChange) (int, error) {
	if c.User == actor.User {
		return 0, im.Errorf(im.CodePermissionDenied, "nobody bars themselves")
	}
	c.By, c.At = actor.Role, s.o.Now()
	u, ended, err := s.store.Bar(ctx, c)
	if err != nil {
		return 0, err
	}
	s.seen.forget(ended)
	if why := u.Barred.At(c.At); why != nil {
		// Also again for one that was barred before: whoever did that may not have come so far.
		s.o.Control(im.Control{User: c.User, Code: im.CodeBanned, Text: im.Public(why).Message, At: s.o.Now()})
	}
	return len(ended), nil
}

// SetRole gives a user another role, im.ServerUser: none. not_found; account_deleted;
// permission_denied: they are a guest, or the last owner.
func (s *Service) SetRole(ctx context.Context, user im.UserID, role im.ServerRole) error {
	if role > im.ServerOwner {
		return im.Wrong("role", "is not known")
	}
	return s.count("set_role", s.store.SetRole(ctx, user, role))
}
