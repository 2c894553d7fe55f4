package account

import (
	"context"

	"golang.org/x/text/unicode/norm"

	"github.com/skein-im/skein/internal/im"
)

// mayChoose tells whether somebody may have a username that they chose themselves:
// already_exists: it is reserved, or looks like another one's. An administrator gives reserved
// ones, but none that look like another one's (mayBeGiven).
func (s *Service) mayChoose(ctx context.Context, user im.UserID, username string) error {
	if im.Reserved(username, s.o.ReservedNames) {
		if s.isCalled(ctx, user, username) {
			return nil // an administrator gave it to them
		}
		return im.Errorf(im.CodeAlreadyExists, "this username is reserved: choose another one, or ask an administrator for it")
	}
	return s.mayBeGiven(ctx, user, username)
}

// mayBeGiven tells whether a username can be had by anybody, also from an administrator:
// already_exists: it looks like another one's. Two who get such names at the same moment may
// both have them: it is there for who is known by a name already. Who has the name keeps it.
func (s *Service) mayBeGiven(ctx context.Context, user im.UserID, username string) error {
	like, err := s.store.LooksLike(ctx, username, user)
	if err == nil && like != "" && !s.isCalled(ctx, user, username) {
		return im.Errorf(im.CodeAlreadyExists, "the username looks like another one that is taken: choose another one")
	}
	return err
}

// isCalled tells whether a user, if it is one, has that username already.
func (s *Service) isCalled(ctx context.Context, user im.UserID, username string) bool {
	is, err := s.store.UserByName(ctx, username)
	return err == nil && user != "" && is.ID == user
}

// mayCall tells whether who is no administrator may be shown by a name.
func (s *Service) mayCall(field, name string) error {
	if im.Reserved(norm.NFKC.String(name), s.o.ReservedNames) {
		return im.Wrong(field, "is reserved: nobody is to be taken for the server, or for who runs it")
	}
	return nil
}
