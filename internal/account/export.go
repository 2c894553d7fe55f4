package account

import (
	"context"

	"github.com/skein-im/skein/internal/im"
)

// ProveForExport proves that the actor may have everything of theirs: with the password,
// if the account has one, and a code, if it has a second factor. The user's devices are
// told.
func (s *Service) ProveForExport(ctx context.Context, actor im.Actor, password, code string) error {
	return s.count("begin_export", s.proveForExport(ctx, actor, password, code))
}

func (s *Service) proveForExport(ctx context.Context, actor im.Actor, password, code string) error {
	if actor.User == "" {
		return noSession()
	}
	user, err := s.store.UserCredentials(ctx, actor.User)
	if err != nil {
		return err
	}
	var step im.SecondStep
	if user.PasswordHash != "" {
		if password == "" {
			return im.Wrong("password", "is missing: this account has one")
		}
		if user, err = s.ownPassword(ctx, actor, password); err != nil {
			return err
		}
	}
	if user.SecondFactor {
		if code == "" {
			return im.Wrong("code", "is missing: this account has a second factor")
		}
		if code, err = normalCode(code); err != nil {
			return err
		}
		if step, err = s.checkCode(ctx, actor.User, origin{addr: actor.Address}, code, nothing); err != nil {
			return err
		}
	}
	err = s.tell(ctx, actor.User, "export", func(notices ...im.Promise) error {
		return s.store.ChangeSecondFactor(ctx, actor.User, step, im.SecondChange{Keep: true}, notices...)
	})
	if err == nil && user.SecondFactor {
		s.throttle.right(codesOf+string(actor.User), origin{addr: actor.Address})
	}
	return err
}
