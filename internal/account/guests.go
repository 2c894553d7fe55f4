package account

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"slices"

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
	at, err := s.attempt("register_guest", addr, g.Device)
	if err != nil {
		return Tokens{}, err
	}
	t, err := s.registerGuest(ctx, addr, g, at)
	return t, s.count("register_guest", s.failed(at, err))
}

func (s *Service) registerGuest(ctx context.Context, addr string, g Guesting, at *attempt) (Tokens, error) {
	if s.o.MaxGuests <= 0 {
		return Tokens{}, im.Errorf(im.CodePermissionDenied, "this server takes no guests")
	}
	if err := validOptionalDevice(&g.Device); err != nil {
		return Tokens{}, err
	}
	name, err := normalDisplayName(g.DisplayName)
	if err == nil {
		err = s.mayCall("displayName", name)
	}
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
	opening.KeepExisting, opening.Act = g.Key != nil, at.opened(t)
	return t, s.store.OpenSession(ctx, opening)
}

// Upgrade is by what a guest becomes a user: a username and a password, or who a provider
// named.
type Upgrade struct {
	// Username may be empty with a Code: then it is by what the provider calls them.
	Username, Password string
	// Invitation is the code of a registration link, if registration is by invitation.
	Invitation string
	// Code and Verifier are those of ProviderFinish.
	Code, Verifier string
}

// UpgradeGuest makes the actor, a guest, a user, as Register would, or FinishProvider: the
// id and the sessions stay. A repeat tells the same. permission_denied: registration is
// closed, or the provider makes no accounts, or they are no guest; already_exists: the
// username is taken, or whom the provider named has an account; not_found, too_late: the
// login by the provider begins again.
func (s *Service) UpgradeGuest(ctx context.Context, actor im.Actor, up Upgrade) (User, error) {
	u, err := s.upgradeGuest(ctx, actor, up)
	return u, s.count("upgrade_guest", err)
}

func (s *Service) upgradeGuest(ctx context.Context, actor im.Actor, up Upgrade) (User, error) {
	if actor.User == "" {
		return User{}, noSession()
	}
	if err := validUpgrade(&up); err != nil {
		return User{}, err
	}
	c, err := s.store.UserCredentials(ctx, actor.User)
	if err != nil {
		return User{}, err
	}
	switch byProvider := up.Code != ""; {
	case !c.Guest && byProvider:
		return s.providedBefore(ctx, up, c)
	case !c.Guest:
		return s.upgradedBefore(ctx, actor, up, c)
	case byProvider:
		return s.upgradeByProvider(ctx, actor, up)
	}
	mode, err := s.mayRegister(ctx)
	if err != nil {
		return User{}, err
	}
	if err := s.throttle.register(actor.Address); err != nil {
		return User{}, err
	}
	if err := s.mayChoose(ctx, actor.User, up.Username); err != nil {
		return User{}, err
	}
	g := im.GuestUpgrade{User: actor.User, Username: up.Username, FindPolicy: s.o.DefaultFindPolicy, At: s.o.Now()}
	if g.Invitation, err = s.invitation(ctx, actor.Address, up.Invitation, mode); err != nil {
		return User{}, err
	}
	release, err := s.hasher.turns.Enter(ctx, ownTurn.lane, ownTurn.from)
	if err != nil {
		return User{}, err
	}
	g.PasswordHash, err = s.hasher.hash(up.Password)
	release()
	if err != nil {
		return User{}, err
	}
	return s.storeUpgrade(ctx, g)
}

// validUpgrade checks what a guest chose and brings it into its normal form.
func validUpgrade(up *Upgrade) (err error) {
	if up.Code == "" {
		var name string // what is shown stays
		return validNewUser(&up.Username, &name, up.Password)
	}
	if up.Password != "" {
		return im.Wrong("password", "must be empty: who logs in by a provider has none")
	}
	if up.Username != "" {
		up.Username, err = normalUsername(up.Username)
	}
	return err
}

// storeUpgrade makes a guest a user and tells their devices.
func (s *Service) storeUpgrade(ctx context.Context, g im.GuestUpgrade) (User, error) {
	if s.o.Drive == nil {
		return s.store.UpgradeGuest(ctx, g)
	}
	var notices []im.Promise
	notice, err := s.profileNotice(g.User, nil)
	if err != nil {
		return User{}, err
	}
	notices = append(notices, notice)
	if g.Identity != nil {
		if notice, err = s.securityNotice(g.User, identityLinked); err != nil {
			return User{}, err
		}
		notices = append(notices, notice)
	}
	u, err := s.store.UpgradeGuest(ctx, g, notices...)
	if err == nil {
		_ = s.o.Drive(ctx, im.Me(g.User)) // the outbox counts the failure and repeats it
	}
	return u, err
}

// upgradeByProvider makes a guest the user whom a provider named. A name that is taken is
// told before the code is used up, so that another one can be chosen without a further
// round by the provider.
func (s *Service) upgradeByProvider(ctx context.Context, actor im.Actor, up Upgrade) (User, error) {
	taken := im.Errorf(im.CodeAlreadyExists, "the username is taken")
	if up.Username != "" {
		if _, err := s.store.UserByName(ctx, up.Username); err == nil {
			return User{}, taken
		} else if im.CodeOf(err) != im.CodeNotFound {
			return User{}, err
		}
		if err := s.mayChoose(ctx, actor.User, up.Username); err != nil {
			return User{}, err
		}
	}
	p, who, err := s.whoCame(ctx, up.Code, up.Verifier)
	if err != nil {
		return User{}, err
	}
	if !p.Create {
		return User{}, im.Errorf(im.CodePermissionDenied, "this provider makes no accounts here; ask the administrator for one")
	}
	// A further round is for a name that was taken, or is held, since it was chosen.
	for round := range 4 {
		if err := s.unknownHere(ctx, p, who); err != nil {
			return User{}, err
		}
		identity, err := s.newIdentity(p, who)
		if err != nil {
			return User{}, err
		}
		identity.ID, identity.User = upgradeIdentity(up.Code), actor.User
		g := im.GuestUpgrade{User: actor.User, Username: up.Username, Identity: &identity, FindPolicy: s.o.DefaultFindPolicy, At: s.o.Now()}
		if g.Username == "" {
			if g.Username, err = s.providedName(ctx, who, round > 0); err != nil {
				return User{}, err
			}
		}
		u, err := s.storeUpgrade(ctx, g)
		if im.CodeOf(err) != im.CodeAlreadyExists || up.Username != "" {
			return u, err
		}
	}
	return User{}, taken
}

// unknownHere is already_exists for whom a provider named that has an account, or that may
// take one: they would lose it to the guest.
func (s *Service) unknownHere(ctx context.Context, p Provider, who im.ProviderClaims) error {
	_, err := s.store.IdentityOf(ctx, who.Issuer, who.Subject)
	if im.CodeOf(err) == im.CodeNotFound {
		_, err = s.mayTake(ctx, p, who)
	}
	switch im.CodeOf(err) {
	case im.CodeNotFound:
		return nil
	case "":
		return im.Errorf(im.CodeAlreadyExists, "this person has an account here: log in to it")
	}
	return err
}

// upgradeIdentity is the id of the identity that a code made a guest's: who has the code
// finds it again, and nobody learns the code from it.
func upgradeIdentity(code string) string {
	sum := sha256.Sum256([]byte("skein guest upgraded by\x00" + code))
	return base64.RawURLEncoding.EncodeToString(sum[:16])
}

// providedBefore answers a repeat whose answer was lost: to who has the code that made
// them a user.
func (s *Service) providedBefore(ctx context.Context, up Upgrade, c im.Credentials) (User, error) {
	all, err := s.store.Identities(ctx, c.ID)
	if err != nil {
		return User{}, err
	}
	id := upgradeIdentity(up.Code)
	if !slices.ContainsFunc(all, func(i im.Identity) bool { return i.ID == id }) {
		return User{}, noGuest()
	}
	return c.User, nil
}

func noGuest() error { return im.Errorf(im.CodePermissionDenied, "this account is no guest's") }

// upgradedBefore answers a repeat whose answer was lost: to who has the name and the
// password right.
func (s *Service) upgradedBefore(ctx context.Context, actor im.Actor, up Upgrade, c im.Credentials) (User, error) {
	if c.Username != up.Username || c.PasswordHash == "" || !c.ID.MayBeGuest() {
		return User{}, noGuest()
	}
	_, err := s.checkPassword(ctx, c.Username, origin{addr: actor.Address}, up.Password, c)
	if im.CodeOf(err) == im.CodeBadCredentials {
		err = noGuest()
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
