package account

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/skein-im/skein/internal/im"
)

// MaxIdentities is how many an account may have.
const MaxIdentities = 20

// The words of SECURITY_CHANGED about identities.
const (
	identityLinked   = "identity_linked"
	identityUnlinked = "identity_unlinked"
)

// ProviderFinish is the last step of a login by a provider.
type ProviderFinish struct {
	// Code is what the browser came back with, Verifier what the client began with.
	Code, Verifier string
	// Device may be zero: the first Hello settles it.
	Device       im.Device
	StayLoggedIn bool
}

// FinishProvider opens a session for whom a provider named; created: the account was made
// by this. not_found, too_late: begin again; permission_denied: nobody here is known as
// that; totp_required: as with a password.
func (s *Service) FinishProvider(ctx context.Context, addr string, f ProviderFinish) (t Tokens, created bool, err error) {
	at, err := s.attempt("provider", addr, f.Device)
	if err != nil {
		return t, false, err
	}
	t, created, err = s.finishProvider(ctx, addr, f, at)
	return t, created, s.count("provider_finish", s.failed(at, err))
}

func (s *Service) finishProvider(ctx context.Context, addr string, f ProviderFinish, at *attempt) (Tokens, bool, error) {
	if err := validOptionalDevice(&f.Device); err != nil {
		return Tokens{}, false, err
	}
	p, who, err := s.whoCame(ctx, f.Code, f.Verifier)
	if err != nil {
		return Tokens{}, false, err
	}
	// A further round is for what changed between the look and the opening of the session:
	// the identity was linked or unlinked, a name was taken, a second factor was added.
	for round := range 4 {
		t, created, err := s.openByProvider(ctx, addr, p, who, f, round > 0, at)
		switch im.CodeOf(err) {
		case "":
			s.endSurplus(ctx, t.User, t.Session)
			return t, created, nil
		case im.CodeConflict, im.CodeAlreadyExists:
		default:
			return Tokens{}, false, err
		}
	}
	return Tokens{}, false, im.Errorf(im.CodeUnavailable, "the account is being changed; begin again")
}

// openByProvider opens a session of the account that is known as who came, of one that the
// provider may take, or of a new one; numbered: not by the bare name, which is taken.
func (s *Service) openByProvider(ctx context.Context, addr string, p Provider, who im.ProviderClaims, f ProviderFinish, numbered bool, at *attempt) (t Tokens, created bool, err error) {
	identity, err := s.store.IdentityOf(ctx, who.Issuer, who.Subject)
	linked := err == nil
	if err != nil && im.CodeOf(err) != im.CodeNotFound {
		return t, false, err
	}
	var user im.Credentials
	if linked {
		user, err = s.store.UserCredentials(ctx, identity.User)
	} else if identity, err = s.newIdentity(p, who); err == nil {
		user, created, err = s.accountFor(ctx, p, who, numbered)
	}
	if err != nil {
		return t, false, err
	}
	identity.User, identity.Username, identity.Email, identity.LastUsed = user.ID, shown(who), who.Email, s.o.Now()
	at.of(user.ID)
	if err := user.Barred.At(s.o.Now()); err != nil {
		return t, false, err
	}
	if user.SecondFactor {
		return t, false, s.ask(ctx, user.ID, "")
	}
	t, opening, err := s.opening(user.ID, addr, f.Device, s.o.AccessLifetime, f.StayLoggedIn)
	if err != nil {
		return t, false, err
	}
	opening.Identity, opening.Link, opening.Act = &identity, !linked, at.opened(t)
	if created {
		opening.Create = &user
	} else if !linked && s.o.Drive != nil {
		notice, err := s.securityNotice(user.ID, identityLinked)
		if err != nil {
			return t, false, err
		}
		opening.Notice = &notice
	}
	if err := s.store.OpenSession(ctx, opening); err != nil {
		return t, false, err
	}
	if opening.Notice != nil {
		_ = s.o.Drive(ctx, im.Me(user.ID)) // the outbox counts the failure and repeats it
	}
	return t, created, nil
}

func (s *Service) newIdentity(p Provider, who im.ProviderClaims) (im.Identity, error) {
	id, err := newSessionID(s.o.Random)
	now := s.o.Now()
	return im.Identity{
		ID: string(id), Provider: p.Name, Issuer: who.Issuer, Subject: who.Subject, Username: shown(who), Email: who.Email, Created: now, LastUsed: now,
	}, err
}

// shown is what is kept of how a provider calls somebody, for them to recognise: whatever
// it says, on one line.
func shown(who im.ProviderClaims) string {
	for _, s := range []string{who.Username, who.Email, who.Name, who.Subject} {
		if im.CheckName("name", s, 1, MaxDisplayName) == nil {
			return s
		}
	}
	return "-"
}

// accountFor is the account of somebody who came for the first time: one that the provider
// may take, or a new one. permission_denied: there is none.
func (s *Service) accountFor(ctx context.Context, p Provider, who im.ProviderClaims, numbered bool) (user im.Credentials, created bool, err error) {
	user, err = s.mayTake(ctx, p, who)
	if err == nil || im.CodeOf(err) != im.CodeNotFound {
		return user, false, err
	}
	if !p.Create {
		return user, false, im.Errorf(im.CodePermissionDenied, "nobody on this server is known as that: log in otherwise and link it, or ask its administrator for an account")
	}
	user, err = s.providedUser(ctx, who, numbered)
	return user, true, err
}

// mayTake finds the account that a provider may take: not_found if there is none. An
// administrator's is never one, nor one with a second factor: who has it links it.
func (s *Service) mayTake(ctx context.Context, p Provider, who im.ProviderClaims) (user im.Credentials, err error) {
	none := im.Errorf(im.CodeNotFound, "no account to take")
	switch p.Link {
	case LinkUsername:
		name, invalid := normalUsername(who.Username)
		if invalid != nil {
			return user, none
		}
		user, err = s.store.UserByName(ctx, name)
	case LinkEmail:
		same, failed := s.store.IdentitiesByEmail(ctx, who.Email, 2)
		if failed != nil {
			return user, failed
		}
		// Of two accounts with that address neither is the one that is meant.
		if len(same) != 1 {
			return user, none
		}
		user, err = s.store.UserCredentials(ctx, same[0].User)
	default:
		return user, none
	}
	if err != nil {
		return user, err
	}
	// Who has an identity of this provider is somebody else there, whatever they are called.
	others, err := s.store.Identities(ctx, user.ID)
	if err != nil {
		return user, err
	}
	here := slices.ContainsFunc(others, func(i im.Identity) bool { return i.Issuer == who.Issuer })
	if here || user.Role != im.ServerUser || user.SecondFactor {
		return im.Credentials{}, none
	}
	return user, nil
}

// providedUser is a new user, called as the provider calls them as far as names go here.
func (s *Service) providedUser(ctx context.Context, who im.ProviderClaims, numbered bool) (im.Credentials, error) {
	id, err := newUserID(s.o.Random)
	if err != nil {
		return im.Credentials{}, err
	}
	name, err := s.providedName(ctx, who, numbered)
	if err != nil {
		return im.Credentials{}, err
	}
	display, wrong := normalDisplayName(who.Name)
	if wrong == nil {
		wrong, err = s.notNamed(ctx, display)
	}
	if err != nil {
		return im.Credentials{}, err
	}
	if wrong != nil {
		display = name
	}
	return im.Credentials{User: im.User{
		ID: id, Username: name, DisplayName: display, DMPolicy: s.o.DefaultDMPolicy, FindPolicy: s.o.DefaultFindPolicy, Created: s.o.Now(),
	}}, nil
}

// providedName is a username by what the provider calls somebody: with a number behind it
// where that is somebody's, or looks like somebody's, or is reserved, or numbered, as it is held for somebody.
func (s *Service) providedName(ctx context.Context, who im.ProviderClaims, numbered bool) (string, error) {
	base := usernameFrom(who)
	wrong, err := s.notNamed(ctx, base)
	if err != nil {
		return "", err
	}
	if wrong != nil {
		base = neutralName
	}
	name := base
	for range 8 {
		if !numbered {
			_, err := s.store.UserByName(ctx, name)
			if im.CodeOf(err) == im.CodeNotFound {
				if err = s.mayChoose(ctx, "", name); err == nil {
					break
				}
			}
			if err != nil && im.CodeOf(err) != im.CodeAlreadyExists {
				return "", err
			}
		}
		numbered = false
		var random [4]byte
		if _, err := io.ReadFull(s.o.Random, random[:]); err != nil {
			return "", im.Wrap(err, im.CodeInternal, "the server has no random numbers")
		}
		name = fmt.Sprintf("%s-%05d", base, binary.BigEndian.Uint32(random[:])%100_000)
	}
	return name, nil
}

// usernameFrom makes a username of what a provider calls somebody, of 26 characters at
// most: there is room for a number.
func usernameFrom(who im.ProviderClaims) string {
	said := who.Username
	if said == "" {
		said = who.Email
	}
	said, _, _ = strings.Cut(strings.ToLower(said), "@")
	name := strings.Trim(strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '_' || r == '.' || r == '-' {
			return r
		}
		return '-'
	}, said), "-.")
	name = name[:min(len(name), 26)]
	if len(name) < 3 {
		return neutralName
	}
	return name
}

// neutralName is of who cannot be called here as a provider calls them, with a number.
const neutralName = "user"

// notNamed tells why nobody may be called so, if that is not allowed.
func (s *Service) notNamed(ctx context.Context, name string) (wrong, err error) {
	if s.o.Named == nil {
		return nil, nil
	}
	if err = s.o.Named(ctx, name); im.CodeOf(err) == im.CodeFiltered {
		return err, nil
	}
	return nil, err
}

// LinkIdentity has the actor log in as whom the provider named. password is theirs, if
// they have one. already_exists: it is somebody's.
func (s *Service) LinkIdentity(ctx context.Context, actor im.Actor, code, verifier, password string) (im.Identity, error) {
	if err := s.ownPasswordIfAny(ctx, actor, password); err != nil {
		return im.Identity{}, err
	}
	p, who, err := s.whoCame(ctx, code, verifier)
	if err != nil {
		return im.Identity{}, err
	}
	identity, err := s.newIdentity(p, who)
	if err != nil {
		return im.Identity{}, err
	}
	identity.User = actor.User
	return identity, s.tell(ctx, actor.User, identityLinked, func(notices ...im.Promise) error {
		return s.store.LinkIdentity(ctx, identity, MaxIdentities, notices...)
	})
}

// ownPasswordIfAny checks the actor's password, if they have one: what they log in by is
// not changed by who only has their session.
func (s *Service) ownPasswordIfAny(ctx context.Context, actor im.Actor, password string) error {
	if actor.User == "" {
		return noSession()
	}
	user, err := s.store.UserCredentials(ctx, actor.User)
	if err != nil || user.PasswordHash == "" {
		return err
	}
	_, err = s.ownPassword(ctx, actor, password)
	return err
}

// Identities returns by what the actor logs in besides the password, the oldest first.
func (s *Service) Identities(ctx context.Context, actor im.Actor) ([]im.Identity, error) {
	if actor.User == "" {
		return nil, noSession()
	}
	return s.store.Identities(ctx, actor.User)
}

// UnlinkIdentity takes an identity away; password is the actor's, if they have one.
// not_found: it is not theirs; permission_denied: it is the last one of an account without
// a password.
func (s *Service) UnlinkIdentity(ctx context.Context, actor im.Actor, id, password string) error {
	if err := s.ownPasswordIfAny(ctx, actor, password); err != nil {
		return err
	}
	return s.tell(ctx, actor.User, identityUnlinked, func(notices ...im.Promise) error {
		return s.store.UnlinkIdentity(ctx, actor.User, id, notices...)
	})
}
