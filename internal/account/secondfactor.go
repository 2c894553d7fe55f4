package account

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/skein-im/skein/internal/im"
)

const (
	// ticketLife is how long a login waits for its code, ticketTries how often one may be
	// tried, ticketsOfUser how many logins of a user wait at a time.
	ticketLife    = 5 * time.Minute
	ticketTries   = 5
	ticketsOfUser = 8
	// recoveryCodes are given at a time, of recoveryBytes random bytes.
	recoveryCodes = 10
	recoveryBytes = 10
	recoveryChars = 16
)

// CodeLogin is the second step of a login.
type CodeLogin struct {
	// Ticket is that of the error totp_required.
	Ticket string
	// Code is one of the app, or a recovery code.
	Code string
	// Device may be zero: the first Hello settles it.
	Device       im.Device
	StayLoggedIn bool
}

// Security is how an account is secured.
type Security struct {
	Password, TOTP bool
	// Recovery is how many recovery codes are left.
	Recovery int
}

// ask answers a login whose password was right: it goes on with a ticket.
func (s *Service) ask(ctx context.Context, user im.UserID, passwordHash string) error {
	secret, err := newSecret(s.o.Random, ticketPrefix)
	if err != nil {
		return err
	}
	now := s.o.Now()
	if err := s.store.PutTicket(ctx, im.Ticket{
		Hash: HashKey(secret), Kind: im.TicketLogin, User: user, Bound: passwordHash, Tries: ticketTries, Created: now, Expires: now.Add(ticketLife),
	}, ticketsOfUser); err != nil {
		return err
	}
	e := im.Errorf(im.CodeTotpRequired, "this account needs a code of its authenticator app as well, or a recovery code: LoginWithCode")
	e.Ticket = secret
	return e
}

// LoginWithCode opens a session with the ticket of a login and a code. bad_credentials:
// the code is wrong or was used; not_found, too_late: begin again with the password.
func (s *Service) LoginWithCode(ctx context.Context, addr string, l CodeLogin) (Tokens, error) {
	at, err := s.attempt("login_code", addr, l.Device)
	if err != nil {
		return Tokens{}, err
	}
	t, err := s.loginWithCode(ctx, addr, l, at)
	return t, s.count("login_code", s.failed(at, err))
}

func (s *Service) loginWithCode(ctx context.Context, addr string, l CodeLogin, at *attempt) (Tokens, error) {
	code, err := normalCode(l.Code)
	if err != nil {
		return Tokens{}, err
	}
	if err := validOptionalDevice(&l.Device); err != nil {
		return Tokens{}, err
	}
	ticket, err := im.Ticket{}, error(im.Errorf(im.CodeNotFound, "no ticket"))
	if wellFormed(l.Ticket, ticketPrefix) {
		ticket, err = s.store.TryTicket(ctx, im.TicketLogin, HashKey(l.Ticket), s.o.Now())
	}
	switch im.CodeOf(err) {
	case "":
	case im.CodeNotFound:
		return Tokens{}, im.Errorf(im.CodeNotFound, "the ticket is wrong, or was used, also by too many wrong codes: begin again with the password")
	case im.CodeTooLate:
		return Tokens{}, im.Errorf(im.CodeTooLate, "this login's time is over: begin again with the password")
	default:
		return Tokens{}, err
	}
	at.of(ticket.User)
	from := origin{addr, l.Device.ID}
	step, err := s.checkCode(ctx, ticket.User, from, code, func() known { return s.wasHere(ctx, ticket.User, from) })
	if err != nil {
		if im.CodeOf(err) == im.CodeBadCredentials {
			s.refused(ctx, addr, howCode, ticket.User)
		}
		return Tokens{}, err
	}
	t, opening, err := s.opening(ticket.User, addr, l.Device, s.o.AccessLifetime, l.StayLoggedIn)
	if err != nil {
		return Tokens{}, err
	}
	opening.IfPasswordHash, opening.Second, opening.Ticket, opening.Act = ticket.Bound, &step, ticket.Hash, at.opened(t)
	if step.Recovery != nil && s.o.Drive != nil {
		notice, err := s.securityNotice(ticket.User, "recovery_code_used")
		if err != nil {
			return Tokens{}, err
		}
		opening.Notice = &notice
	}
	switch err := s.store.OpenSession(ctx, opening); im.CodeOf(err) {
	case "":
	case im.CodeConflict:
		return Tokens{}, im.Errorf(im.CodeNotFound, "this login was finished, or the password was changed: begin again with the password")
	default:
		if im.CodeOf(err) == im.CodeBadCredentials { // a recovery code
			s.refused(ctx, addr, howCode, ticket.User)
		}
		return Tokens{}, err
	}
	if opening.Notice != nil {
		_ = s.o.Drive(ctx, im.Me(ticket.User)) // the outbox counts the failure and repeats it
	}
	s.throttle.right(codesOf+string(ticket.User), from)
	s.endSurplus(ctx, ticket.User, t.Session)
	return t, nil
}

// nothing is known of an origin: who has a session makes each address that they come from one of the user's, so
// that tells nothing of who tries codes with it.
func nothing() known { return known{} }

// checkCode checks a code of a user's app, or a recovery code, under the throttle: it is
// charged before, however many are tried at once. ask tells what is known of
// where they come from: at an address or a device of their own they are not held to what
// others tried elsewhere. What it returns is not used
// up yet.
func (s *Service) checkCode(ctx context.Context, user im.UserID, from origin, code string, ask func() known) (im.SecondStep, error) {
	factor, err := s.store.SecondFactor(ctx, user)
	if err != nil && im.CodeOf(err) != im.CodeNotFound {
		return im.SecondStep{}, err
	}
	if !factor.Active {
		return im.SecondStep{}, im.Errorf(im.CodeNotFound, "this account has no second factor")
	}
	if err := s.throttle.attempt(codesOf+string(user), from, ask); err != nil {
		return im.SecondStep{}, err
	}
	if len(code) == recoveryChars {
		return im.SecondStep{Recovery: recoveryHash(user, code)}, nil // whether it is one is seen when it is used
	}
	secret, err := s.unseal(user, factor.Sealed)
	if err == errNoSeal {
		s.o.Logger.Warn("account: a second factor was sealed with another key", "user", user)
		return im.SecondStep{}, im.Errorf(im.CodePermissionDenied, "the server has another key now and cannot check codes of this app any more: use a recovery code, or ask the administrator for a reset link")
	}
	if err != nil {
		return im.SecondStep{}, err
	}
	step := totpFind(secret, code, s.o.Now(), factor.Step)
	if step == 0 {
		return im.SecondStep{}, im.Errorf(im.CodeBadCredentials, "the code is wrong or was used")
	}
	return im.SecondStep{Step: step}, nil
}

// Security tells how the actor's account is secured.
func (s *Service) Security(ctx context.Context, actor im.Actor) (Security, error) {
	user, err := s.withPassword(ctx, actor)
	if err != nil && user.ID == "" {
		return Security{}, err
	}
	out := Security{Password: user.PasswordHash != "", TOTP: user.SecondFactor}
	if user.SecondFactor {
		f, err := s.store.SecondFactor(ctx, actor.User)
		if err != nil && im.CodeOf(err) != im.CodeNotFound {
			return Security{}, err
		}
		out.Recovery = f.Recovery
	}
	return out, nil
}

// withPassword is the actor's own user, who must have a password.
func (s *Service) withPassword(ctx context.Context, actor im.Actor) (im.Credentials, error) {
	if actor.User == "" {
		return im.Credentials{}, noSession()
	}
	user, err := s.store.UserCredentials(ctx, actor.User)
	if err == nil && user.PasswordHash == "" {
		err = im.Errorf(im.CodePermissionDenied, "this user has no password")
	}
	return user, err
}

// ownPassword checks the actor's password.
func (s *Service) ownPassword(ctx context.Context, actor im.Actor, password string) (im.Credentials, error) {
	user, err := s.withPassword(ctx, actor)
	if err != nil {
		return user, err
	}
	// Charged apart from logins (no username has a colon).
	user.PasswordHash, err = s.checkPassword(ctx, "id:"+string(actor.User), origin{addr: actor.Address}, password, user)
	return user, err
}

// BeginTOTP makes a secret for an app; it counts from ConfirmTOTP on. already_exists: one
// counts already.
func (s *Service) BeginTOTP(ctx context.Context, actor im.Actor, password string) (secret, uri string, err error) {
	user, err := s.ownPassword(ctx, actor, password)
	if err != nil {
		return "", "", err
	}
	raw := make([]byte, totpBytes)
	if _, err := io.ReadFull(s.o.Random, raw); err != nil {
		return "", "", im.Wrap(err, im.CodeInternal, "the server has no random numbers")
	}
	sealed, err := s.seal(actor.User, raw)
	if err != nil {
		return "", "", err
	}
	if err := s.store.PutSecondFactor(ctx, actor.User, sealed, s.o.Now()); err != nil {
		return "", "", err
	}
	return totpSecret(raw), totpURI(s.o.Issuer, user.Username, raw), nil
}

// ConfirmTOTP proves that the actor's app has the secret of BeginTOTP: logins need a code
// from now on. It returns the recovery codes. not_found: nothing was begun, or it was
// confirmed already.
func (s *Service) ConfirmTOTP(ctx context.Context, actor im.Actor, code string) ([]string, error) {
	if actor.User == "" {
		return nil, noSession()
	}
	code, err := normalCode(code)
	if err != nil {
		return nil, err
	}
	factor, err := s.store.SecondFactor(ctx, actor.User)
	if im.CodeOf(err) == im.CodeNotFound || err == nil && factor.Active {
		return nil, im.Errorf(im.CodeNotFound, "there is nothing to confirm: BeginTotp makes a secret")
	}
	if err != nil {
		return nil, err
	}
	from := origin{addr: actor.Address}
	if err := s.throttle.attempt(codesOf+string(actor.User), from, func() known { return s.wasHere(ctx, actor.User, from) }); err != nil {
		return nil, err
	}
	secret, err := s.unseal(actor.User, factor.Sealed)
	if err == errNoSeal {
		return nil, im.Errorf(im.CodeNotFound, "there is nothing to confirm: BeginTotp makes a secret")
	}
	if err != nil {
		return nil, err
	}
	step := totpFind(secret, code, s.o.Now(), 0)
	if step == 0 {
		return nil, im.Errorf(im.CodeBadCredentials, "the code is wrong")
	}
	codes, hashes, err := s.newRecovery(actor.User)
	if err != nil {
		return nil, err
	}
	err = s.tell(ctx, actor.User, "totp_on", func(notices ...im.Promise) error {
		return s.store.ActivateSecondFactor(ctx, actor.User, factor.Sealed, step, hashes, notices...)
	})
	if err != nil {
		return nil, err
	}
	s.throttle.right(codesOf+string(actor.User), origin{addr: actor.Address})
	return codes, nil
}

// DisableTOTP takes the second factor away, with the password and a code.
func (s *Service) DisableTOTP(ctx context.Context, actor im.Actor, password, code string) error {
	return s.changeSecond(ctx, actor, password, code, "totp_off", im.SecondChange{Remove: true})
}

// NewRecoveryCodes makes recovery codes in the place of those of before.
func (s *Service) NewRecoveryCodes(ctx context.Context, actor im.Actor, password, code string) ([]string, error) {
	codes, hashes, err := s.newRecovery(actor.User)
	if err != nil {
		return nil, err
	}
	return codes, s.changeSecond(ctx, actor, password, code, "recovery_codes", im.SecondChange{Recovery: hashes})
}

func (s *Service) changeSecond(ctx context.Context, actor im.Actor, password, code, what string, change im.SecondChange) error {
	code, err := normalCode(code)
	if err != nil {
		return err
	}
	if _, err := s.ownPassword(ctx, actor, password); err != nil {
		return err
	}
	step, err := s.checkCode(ctx, actor.User, origin{addr: actor.Address}, code, nothing)
	if err != nil {
		return err
	}
	err = s.tell(ctx, actor.User, what, func(notices ...im.Promise) error {
		return s.store.ChangeSecondFactor(ctx, actor.User, step, change, notices...)
	})
	if err == nil {
		s.throttle.right(codesOf+string(actor.User), origin{addr: actor.Address})
	}
	return err
}

// tell makes a change together with the promise that the user's devices hear of it.
func (s *Service) tell(ctx context.Context, user im.UserID, what string, change func(notices ...im.Promise) error) error {
	if s.o.Drive == nil {
		return change()
	}
	notice, err := s.securityNotice(user, what)
	if err != nil {
		return err
	}
	if err := change(notice); err != nil {
		return err
	}
	s.o.Logger.Info("account: something about the security of an account was changed", "user", user, "what", what)
	_ = s.o.Drive(ctx, im.Me(user)) // the outbox counts the failure and repeats it
	return nil
}

// securityNotice tells the user's own devices, in their feed, that they log in otherwise.
func (s *Service) securityNotice(user im.UserID, what string) (im.Promise, error) {
	return s.notice(user, im.Event{Type: im.EventSecurityChanged, Users: []im.UserID{user}, Text: what})
}

// notice is a promise of an event in the user's own feed.
func (s *Service) notice(user im.UserID, e im.Event) (im.Promise, error) {
	var random [10]byte
	if _, err := io.ReadFull(s.o.Random, random[:]); err != nil {
		return im.Promise{}, fmt.Errorf("random: %w", err)
	}
	return im.Promise{ID: im.NewMessageID(s.o.Now(), random), Conversation: im.Me(user), Sender: user, Event: e}, nil
}

// newRecovery makes recovery codes of a user: four groups of four, of 80 bits.
func (s *Service) newRecovery(user im.UserID) (codes []string, hashes [][]byte, err error) {
	for range recoveryCodes {
		var raw [recoveryBytes]byte
		if _, err := io.ReadFull(s.o.Random, raw[:]); err != nil {
			return nil, nil, im.Wrap(err, im.CodeInternal, "the server has no random numbers")
		}
		c := strings.ToLower(base32.StdEncoding.EncodeToString(raw[:]))
		hashes = append(hashes, recoveryHash(user, c))
		codes = append(codes, c[:4]+"-"+c[4:8]+"-"+c[8:12]+"-"+c[12:])
	}
	return codes, hashes, nil
}

func recoveryHash(user im.UserID, code string) []byte {
	h := sha256.Sum256([]byte("skein recovery code\x00" + string(user) + "\x00" + code))
	return h[:]
}

// normalCode is a code without what people type into it: 6 digits, or a recovery code in
// lower case.
func normalCode(s string) (string, error) {
	if len(s) > 64 {
		return "", im.Wrong("code", "must be 6 digits, or a recovery code")
	}
	code := strings.ToLower(strings.NewReplacer(" ", "", "-", "").Replace(s))
	allowed := ""
	switch len(code) {
	case totpDigits:
		allowed = "0123456789"
	case recoveryChars:
		allowed = "abcdefghijklmnopqrstuvwxyz234567"
	}
	if code == "" || strings.Trim(code, allowed) != "" {
		return "", im.Wrong("code", "must be 6 digits, or a recovery code")
	}
	return code, nil
}
