package account

import (
	"context"

	"github.com/skein-im/skein/internal/im"
)

func accountDeleted() error { return im.Errorf(im.CodeAccountDeleted, "the account was deleted") }

// Delete deletes the actor's own account, with its password and, if it has a second
// factor, a code. There is no way back. permission_denied: the user has no password, or is
// the last owner.
func (s *Service) Delete(ctx context.Context, actor im.Actor, password, code string) error {
	return s.count("delete_account", s.deleteOwn(ctx, actor, password, code))
}

func (s *Service) deleteOwn(ctx context.Context, actor im.Actor, password, code string) error {
	user, err := s.ownPassword(ctx, actor, password)
	if err != nil {
		return err
	}
	order := im.ErasureOrder{User: actor.User, IfPasswordHash: user.PasswordHash}
	if user.SecondFactor {
		if code == "" {
			return im.Wrong("code", "is missing: this account has a second factor")
		}
		if code, err = normalCode(code); err != nil {
			return err
		}
		step, err := s.checkCode(ctx, actor.User, origin{addr: actor.Address}, code, nothing)
		if err != nil {
			return err
		}
		order.Second = &step
	}
	_, err = s.erase(ctx, order)
	return err
}

// Erase deletes the account of a user, and with messages what they wrote as well. Again
// for one that was deleted it tells how far that is.
func (s *Service) Erase(ctx context.Context, user im.UserID, messages bool) (im.Erasure, error) {
	e, err := s.erase(ctx, im.ErasureOrder{User: user, Messages: messages})
	return e, s.count("erase_user", err)
}

func (s *Service) erase(ctx context.Context, o im.ErasureOrder) (im.Erasure, error) {
	o.At = s.o.Now()
	e, ended, err := s.store.BeginErasure(ctx, o)
	if err != nil {
		return e, err
	}
	s.seen.forget(ended)
	// Told again for one that was deleted before: whoever did that may not have come so far.
	s.o.Control(im.Control{User: o.User, Code: im.CodeAccountDeleted, At: s.o.Now()})
	if s.o.Erased != nil {
		s.o.Erased(ctx, o.User)
	}
	s.o.Logger.Info("account: an account was deleted", "user", o.User, "messages", e.Messages)
	return e, nil
}
