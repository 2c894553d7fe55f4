package account

import (
	"context"
	"time"

	"github.com/skein-im/skein/internal/im"
)

const (
	// MaxInvitationLife is how long a registration link may hold, MaxInvitationUses how
	// many may register by it.
	MaxInvitationLife = 366 * 24 * time.Hour
	MaxInvitationUses = 100_000
	// MaxInvitationNote is how long its note may be, in characters.
	MaxInvitationNote = 100
	// MaxInvitations is how many links hold at a time.
	MaxInvitations = 1000
	// MaxResetLife is how long a reset link may hold.
	MaxResetLife = 7 * 24 * time.Hour

	invitationLife = 7 * 24 * time.Hour
	resetLife      = 24 * time.Hour
)

// invitation checks the code of a registration link, if one is needed, and returns its
// hash: nil if none is. permission_denied: it is missing, wrong, used up, or over.
func (s *Service) invitation(ctx context.Context, addr, code string, mode im.RegistrationMode) ([]byte, error) {
	if mode == im.RegistrationOpen {
		return nil, nil
	}
	if code == "" {
		return nil, im.Errorf(im.CodePermissionDenied, "registration on this server is by invitation: ask its administrator for a link")
	}
	if _, err := s.throttle.check("", origin{addr: addr}, nothing); err != nil {
		return nil, err
	}
	hash, holds := HashKey(code), false
	if wellFormed(code, invitationPrefix) {
		var err error
		if holds, err = s.store.RegistrationLinkHolds(ctx, hash, s.o.Now()); err != nil {
			return nil, err
		}
	}
	if !holds {
		s.refusedCode(ctx, addr, howInvitation)
		return nil, im.Errorf(im.CodePermissionDenied, "the invitation is wrong, was used up, or its time is over: ask for another one")
	}
	return hash, nil
}

// CreateRegistrationLink makes a link by which at most uses people register, 0: any
// number, and returns its code, which nobody is told again. lifetime 0 is a week.
func (s *Service) CreateRegistrationLink(ctx context.Context, note string, uses int, lifetime time.Duration) (l im.RegistrationLink, code string, err error) {
	switch {
	case uses < 0 || uses > MaxInvitationUses:
		return l, "", im.Wrong("maxUses", "must be at most %d", MaxInvitationUses)
	case lifetime < 0 || lifetime > MaxInvitationLife:
		return l, "", im.Wrong("lifetimeMs", "must be at most %d (366 days)", MaxInvitationLife.Milliseconds())
	}
	if lifetime == 0 {
		lifetime = invitationLife
	}
	if code, err = newSecret(s.o.Random, invitationPrefix); err != nil {
		return l, "", err
	}
	id, err := newSessionID(s.o.Random)
	if err != nil {
		return l, "", err
	}
	now := s.o.Now()
	l = im.RegistrationLink{ID: string(id), Hash: HashKey(code), Note: note, MaxUses: uses, Created: now, Expires: now.Add(lifetime)}
	return l, code, s.store.PutRegistrationLink(ctx, l, MaxInvitations)
}

// RegistrationLinks returns the links that hold, the newest first.
func (s *Service) RegistrationLinks(ctx context.Context) ([]im.RegistrationLink, error) {
	return s.store.RegistrationLinks(ctx, s.o.Now())
}

// RevokeRegistrationLink ends a link; not_found: there is none that holds.
func (s *Service) RevokeRegistrationLink(ctx context.Context, id string) error {
	return s.store.RevokeRegistrationLink(ctx, id, s.o.Now())
}

// CreateResetLink makes the code with which a user sets a new password, in the place of
// an earlier one, and tells until when. not_found: there is no such user;
// permission_denied: they have no username.
func (s *Service) CreateResetLink(ctx context.Context, user im.UserID, withoutTOTP bool, lifetime time.Duration) (code string, until time.Time, err error) {
	if lifetime < 0 || lifetime > MaxResetLife {
		return "", until, im.Wrong("lifetimeMs", "must be at most %d (7 days)", MaxResetLife.Milliseconds())
	}
	if lifetime == 0 {
		lifetime = resetLife
	}
	u, err := s.store.UserCredentials(ctx, user)
	if err != nil {
		return "", until, err
	}
	if u.Username == "" {
		return "", until, im.Errorf(im.CodePermissionDenied, "this user has no username to log in with: its tokens are minted")
	}
	if code, err = newSecret(s.o.Random, resetPrefix); err != nil {
		return "", until, err
	}
	now := s.o.Now()
	until = now.Add(lifetime)
	return code, until, s.store.PutTicket(ctx, im.Ticket{
		Hash: HashKey(code), Kind: im.TicketReset, User: user, Flag: withoutTOTP, Tries: 1, Created: now, Expires: until,
	}, 1)
}

// ResetPassword sets a new password with the code of CreateResetLink, and ends all
// sessions. not_found: the code is wrong or was used; too_late: its time is over.
func (s *Service) ResetPassword(ctx context.Context, addr, code, password string) error {
	return s.count("reset_password", s.resetPassword(ctx, addr, code, password))
}

func (s *Service) resetPassword(ctx context.Context, addr, code, password string) error {
	if err := validPassword("newPassword", password); err != nil {
		return err
	}
	if _, err := s.throttle.check("", origin{addr: addr}, nothing); err != nil {
		return err
	}
	ticket, err := im.Ticket{}, error(im.Errorf(im.CodeNotFound, "no code"))
	if wellFormed(code, resetPrefix) {
		ticket, err = s.store.Ticket(ctx, im.TicketReset, HashKey(code), s.o.Now())
	}
	switch im.CodeOf(err) {
	case "":
	case im.CodeNotFound:
		s.refusedCode(ctx, addr, howReset)
		return im.Errorf(im.CodeNotFound, "the link is wrong or was used")
	case im.CodeTooLate:
		return im.Errorf(im.CodeTooLate, "the link's time is over: ask the administrator for another one")
	default:
		return err
	}
	turn := s.strangersTurn(addr)
	release, err := s.hasher.turns.Enter(ctx, turn.lane, turn.from)
	if err != nil {
		return err
	}
	hash, err := s.hasher.hash(password)
	release()
	if err != nil {
		return err
	}
	var ended []im.SessionID
	err = s.tell(ctx, ticket.User, "password_reset", func(notices ...im.Promise) error {
		ended, err = s.store.ResetPassword(ctx, ticket, hash, s.o.Now(), notices...)
		return err
	})
	if err != nil {
		return err
	}
	s.close(ticket.User, ended)
	return nil
}
