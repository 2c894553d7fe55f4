package account

import (
	"context"
	"slices"

	"github.com/skein-im/skein/internal/im"
)

// Sessions returns a user's sessions that live, the oldest first.
func (s *Service) Sessions(ctx context.Context, user im.UserID) ([]Session, error) {
	sessions, err := s.store.Sessions(ctx, user, s.o.Now())
	if err != nil {
		return nil, err
	}
	s.seen.overlay(sessions)
	return sessions, nil
}

// Logout ends the actor's session and closes its connections, the calling one
// included.
func (s *Service) Logout(ctx context.Context, actor im.Actor) error {
	if actor.Session == "" {
		return noSession()
	}
	return s.end(ctx, actor.User, actor.Session)
}

// Revoke ends a session of a user, or all with session "", closes their
// connections, and returns how many it ended: 0 for one that had ended already.
// not_found: there is no such session, or no such user.
func (s *Service) Revoke(ctx context.Context, user im.UserID, session im.SessionID) (int, error) {
	ended, err := s.store.EndSessions(ctx, user, session, s.o.Now())
	if err != nil {
		return 0, err
	}
	s.close(user, ended)
	return len(ended), nil
}

// end ends one session of a user.
func (s *Service) end(ctx context.Context, user im.UserID, session im.SessionID) error {
	_, err := s.Revoke(ctx, user, session)
	return err
}

// maxUnused bounds a user's minted sessions that nobody came with.
const maxUnused = 16

// endSurplus ends what a user has beyond MaxSessions after one was opened: those
// not seen for longest, never the new one. That one is open whatever happens
// here; the next login tries again.
func (s *Service) endSurplus(ctx context.Context, user im.UserID, opened im.SessionID) {
	if s.o.MaxSessions < 0 {
		return
	}
	sessions, err := s.Sessions(ctx, user)
	if err == nil {
		sessions, err = s.endUnused(ctx, user, sessions, opened)
	}
	if err == nil && len(sessions) > s.o.MaxSessions {
		surplus := len(sessions) - s.o.MaxSessions
		sessions = slices.DeleteFunc(sessions, func(x Session) bool { return x.ID == opened })
		slices.SortStableFunc(sessions, func(a, b Session) int { return a.LastSeen.Compare(b.LastSeen) })
		for _, old := range sessions[:min(surplus, len(sessions))] {
			if err = s.end(ctx, user, old.ID); err != nil {
				break
			}
		}
	}
	if err != nil {
		s.o.Logger.Warn("account: a user has too many sessions, and the oldest were not ended", "user", user, "err", err)
	}
}

// endUnused ends what a user has beyond maxUnused of sessions that were minted and
// nobody came with, the oldest ones, and returns the others. A backend that mints a
// token for each page it serves has few of them left, and pushes out nothing that is used.
func (s *Service) endUnused(ctx context.Context, user im.UserID, sessions []Session, opened im.SessionID) ([]Session, error) {
	n := 0
	for _, x := range sessions {
		if unused(&x) {
			n++
		}
	}
	var kept []Session
	for _, x := range sessions { // the oldest first
		if n > maxUnused && unused(&x) && x.ID != opened {
			n--
			if err := s.end(ctx, user, x.ID); err != nil {
				return sessions, err
			}
			continue
		}
		kept = append(kept, x)
	}
	return kept, nil
}

// unused tells that a session was minted and nobody has come with its token.
func unused(x *Session) bool { return x.LastAddress == "" && !x.LastSeen.After(x.Created) }

// close closes the connections of sessions whose end is durable. One by one: a
// session that the user opens at this moment must not be told that it ended.
func (s *Service) close(user im.UserID, ended []im.SessionID) {
	s.seen.forget(ended)
	for _, id := range ended {
		s.o.Control(im.Control{User: user, Session: id, Code: im.CodeSessionRevoked, At: s.o.Now()})
	}
}

// ChangePassword changes the actor's password and ends all their other
// sessions. bad_credentials: the old one is wrong.
func (s *Service) ChangePassword(ctx context.Context, actor im.Actor, old, password string) error {
	return s.count("change_password", s.changePassword(ctx, actor, old, password))
}

func (s *Service) changePassword(ctx context.Context, actor im.Actor, old, password string) error {
	if actor.User == "" {
		return noSession()
	}
	if err := validPassword("newPassword", password); err != nil {
		return err
	}
	user, err := s.store.UserCredentials(ctx, actor.User)
	if err != nil {
		return err
	}
	if user.PasswordHash == "" {
		return im.Errorf(im.CodePermissionDenied, "this user has no password: its tokens are minted")
	}
	// Charged apart from logins (no username has a colon).
	hash, err := s.checkPassword(ctx, "id:"+string(actor.User), origin{addr: actor.Address}, old, user)
	if err != nil {
		return err
	}
	release, err := s.hasher.turns.Enter(ctx, ownTurn.lane, ownTurn.from)
	if err != nil {
		return err
	}
	renewed, err := s.hasher.hash(password)
	release()
	if err != nil {
		return err
	}
	ended, err := s.store.ChangePassword(ctx, actor.User, hash, renewed, actor.Session, s.o.Now())
	if err != nil {
		return err
	}
	s.close(actor.User, ended)
	return nil
}

func noSession() error {
	return im.Errorf(im.CodePermissionDenied, "this needs a user's own session")
}
