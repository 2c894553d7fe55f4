package account

import (
	"context"
	"time"

	"github.com/skein-im/skein/internal/im"
)

const (
	// RenameEvery is how often users change their usernames, NameHeld how long nobody else
	// may have one that somebody had.
	RenameEvery = 30 * 24 * time.Hour
	NameHeld    = 90 * 24 * time.Hour
)

// ChangeUsername gives the actor another username; password is theirs, if they have one.
// already_exists: it is taken, or was somebody's a short while ago; rate_limited: the last
// change is not RenameEvery ago. Who sees the profile is told by contact.Service.
func (s *Service) ChangeUsername(ctx context.Context, actor im.Actor, username, password string) (User, error) {
	name, err := normalUsername(username)
	if err != nil {
		return User{}, err
	}
	if err := s.ownPasswordIfAny(ctx, actor, password); err != nil {
		return User{}, err
	}
	if err := s.mayChoose(ctx, actor.User, name); err != nil {
		return User{}, err
	}
	return s.rename(ctx, im.Renaming{User: actor.User, Name: name, Every: RenameEvery})
}

// SetUsername gives a user another username, for an administrator, at any time.
func (s *Service) SetUsername(ctx context.Context, user im.UserID, username string) (User, error) {
	name, err := normalUsername(username)
	if err != nil {
		return User{}, err
	}
	if err := s.mayBeGiven(ctx, user, name); err != nil {
		return User{}, err
	}
	return s.rename(ctx, im.Renaming{User: user, Name: name})
}

func (s *Service) rename(ctx context.Context, r im.Renaming) (User, error) {
	r.At, r.Hold = s.o.Now(), NameHeld
	if s.o.Drive == nil {
		return s.store.Rename(ctx, r)
	}
	notice, err := s.profileNotice(r.User, nil)
	if err != nil {
		return User{}, err
	}
	u, err := s.store.Rename(ctx, r, notice)
	if err == nil {
		_ = s.o.Drive(ctx, im.Me(r.User)) // the outbox counts the failure and repeats it
	}
	return u, err
}

// byName is the user with a username, or whose it was a short while ago.
func (s *Service) byName(ctx context.Context, name string) (im.Credentials, error) {
	user, err := s.store.UserByName(ctx, name)
	if im.CodeOf(err) != im.CodeNotFound {
		return user, err
	}
	return s.store.UserByFormerName(ctx, name, s.o.Now())
}
