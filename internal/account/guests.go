package account

import (
	"bytes"
	"context"

	"github.com/skein-im/skein/internal/im"
)

// unseenAtOnce is how many guests are looked for at once that nobody saw.
const unseenAtOnce = 100

// Guesting is what a new guest tells.
type Guesting struct {
	DisplayName string
	// Device may be zero: the first Hello settles it.
	Device im.Device
	// Key makes a repeat the same guest, as Registration.Key does.
	Key []byte
}

// RegisterGuest makes a guest with a session that is prolonged. permission_denied: guests
// are not taken; too_large: there are as many as may be.
func (s *Service) RegisterGuest(ctx context.Context, addr string, g Guesting) (Tokens, error) {
	t, err := s.registerGuest(ctx, addr, g)
	return t, s.count("register_guest", err)
}

func (s *Service) registerGuest(ctx context.Context, addr string, g Guesting) (Tokens, error) {
	if s.o.MaxGuests <= 0 {
		return Tokens{}, im.Errorf(im.CodePermissionDenied, "this server takes no guests")
	}
	if err := validOptionalDevice(&g.Device); err != nil {
		return Tokens{}, err
	}
	name, err := normalDisplayName(g.DisplayName)
	if err != nil {
		return Tokens{}, err
	}
	if err := s.throttle.register(addr); err != nil {
		return Tokens{}, err
	}
	n, err := s.store.CountGuests(ctx)
	if err != nil {
		return Tokens{}, err
	}
	if n >= s.o.MaxGuests {
		return Tokens{}, im.Errorf(im.CodeTooLarge, "this server has as many guests as it takes; try again when some of them are gone")
	}
	random := s.o.Random
	if g.Key != nil {
		random = bytes.NewReader(g.Key)
	}
	id, err := newUserID(random)
	if err != nil {
		return Tokens{}, err
	}
	t, opening, err := s.opening(im.GuestPrefix+id, addr, g.Device, s.o.AccessLifetime, true)
	if err != nil {
		return Tokens{}, err
	}
	opening.Create = &im.Credentials{User: im.User{
		ID: t.User, DisplayName: name, DMPolicy: s.o.DefaultDMPolicy, FindPolicy: im.FindNobody, Guest: true, Created: s.o.Now(),
	}}
	// Whoever has the key that the id is made of made the guest.
	opening.KeepExisting = g.Key != nil
	return t, s.store.OpenSession(ctx, opening)
}

// Upgrade is by what a guest becomes a user.
type Upgrade struct {
	Username, Password string
	// Invitation is the code of a registration link, if registration is by invitation.
	Invitation string
}

// UpgradeGuest makes the actor, a guest, a user, as Register would: the id and the sessions
// stay. A repeat tells the same. permission_denied: registration is closed, or they are no
// guest; already_exists: the username is taken.
func (s *Service) UpgradeGuest(ctx context.Context, actor im.Actor, up Upgrade) (User, error) {
	u, err := s.upgradeGuest(ctx, actor, up)
	return u, s.count("upgrade_guest", err)
}

func (s *Service) upgradeGuest(ctx context.Context, actor im.Actor, up Upgrade) (User, error) {
	if actor.User == "" {
		return User{}, noSession()
	}
	var name string // what is shown stays
	if err := validNewUser(&up.Username, &name, up.Password); err != nil {
		return User{}, err
	}
	c, err := s.store.UserCredentials(ctx, actor.User)
	if err != nil {
		return User{}, err
	}
	if !c.Guest {
		return s.upgradedBefore(ctx, actor, up, c)
	}
	if !s.o.OpenRegistration && !s.o.InvitedRegistration {
		return User{}, im.Errorf(im.CodePermissionDenied, "registration is closed on this server; ask its administrator for an account")
	}
	if err := s.throttle.register(actor.Address); err != nil {
		return User{}, err
	}
	g := im.GuestUpgrade{User: actor.User, Username: up.Username, FindPolicy: s.o.DefaultFindPolicy, At: s.o.Now()}
	if g.Invitation, err = s.invitation(ctx, actor.Address, up.Invitation); err != nil {
		return User{}, err
	}
	release, err := s.hasher.acquire(ctx)
	if err != nil {
		return User{}, err
	}
	g.PasswordHash, err = s.hasher.hash(up.Password)
	release()
	if err != nil {
		return User{}, err
	}
	if s.o.Drive == nil {
		return s.store.UpgradeGuest(ctx, g)
	}
	notice, err := s.profileNotice(actor.User, nil)
	if err != nil {
		return User{}, err
	}
	u, err := s.store.UpgradeGuest(ctx, g, notice)
	if err == nil {
		_ = s.o.Drive(ctx, im.Me(actor.User)) // the outbox counts the failure and repeats it
	}
	return u, err
}

// upgradedBefore answers a repeat whose answer was lost: to who has the name and the
// password right.
func (s *Service) upgradedBefore(ctx context.Context, actor im.Actor, up Upgrade, c im.Credentials) (User, error) {
	none := im.Errorf(im.CodePermissionDenied, "this account is no guest's")
	if c.Username != up.Username || c.PasswordHash == "" || !c.ID.MayBeGuest() {
		return User{}, none
	}
	_, err := s.checkPassword(ctx, c.Username, actor.Address, up.Password, c)
	if im.CodeOf(err) == im.CodeBadCredentials {
		err = none
	}
	return c.User, err
}

// IsGuest tells whether a user is a guest, without a look at the store for most.
func (s *Service) IsGuest(ctx context.Context, user im.UserID) (bool, error) {
	if !user.MayBeGuest() {
		return false, nil
	}
	users, err := s.store.Users(ctx, []im.UserID{user})
	return len(users) == 1 && users[0].Guest, err
}

// EraseUnseen deletes the guests whom nobody saw for GuestLife. The service does so itself
// every hour.
func (s *Service) EraseUnseen(ctx context.Context) error {
	since := s.o.Now().Add(-s.o.GuestLife)
	for {
		guests, err := s.store.UnseenGuests(ctx, since, unseenAtOnce)
		if err != nil {
			return err
		}
		for _, g := range guests {
			_, err := s.erase(ctx, im.ErasureOrder{User: g, IfUnseen: since})
			if err != nil && im.CodeOf(err) != im.CodeConflict {
				return err
			}
		}
		if len(guests) < unseenAtOnce {
			return nil
		}
		select {
		case <-s.stop:
			return nil
		default:
		}
	}
}
