package account

import (
	"bytes"
	"context"
	"time"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/limits"
)

// Register makes a user with a first session. permission_denied: registration
// is closed; already_exists: the username is taken.
func (s *Service) Register(ctx context.Context, addr string, r Registration) (Tokens, error) {
	at, err := s.attempt("register", addr, r.Device)
	if err != nil {
		return Tokens{}, err
	}
	t, err := s.register(ctx, addr, r, at)
	return t, s.count("register", s.failed(at, err))
}

func (s *Service) register(ctx context.Context, addr string, r Registration, at *attempt) (Tokens, error) {
	mode, err := s.mayRegister(ctx)
	if err != nil {
		return Tokens{}, err
	}
	if err := validOptionalDevice(&r.Device); err != nil {
		return Tokens{}, err
	}
	if err := validNewUser(&r.Username, &r.DisplayName, r.Password); err != nil {
		return Tokens{}, err
	}
	if r.DisplayName != r.Username {
		if err := s.mayCall("displayName", r.DisplayName); err != nil {
			return Tokens{}, err
		}
	}
	if err := s.throttle.register(addr); err != nil {
		return Tokens{}, err
	}
	invitation, err := s.invitation(ctx, addr, r.Invitation, mode)
	if err != nil {
		return Tokens{}, err
	}
	if err := s.mayChoose(ctx, "", r.Username); err != nil {
		return Tokens{}, err
	}
	user, made, err := s.newUser(ctx, s.strangersTurn(addr), r, im.ServerUser)
	if err != nil {
		return Tokens{}, err
	}
	t, opening, err := s.opening(user.ID, addr, r.Device, s.o.AccessLifetime, r.StayLoggedIn)
	if err != nil {
		return Tokens{}, err
	}
	if made {
		opening.IfPasswordHash, err = s.checkPassword(ctx, user.Username, origin{addr, r.Device.ID}, r.Password, user)
		if im.CodeOf(err) == im.CodeBadCredentials { // somebody else, who came by the key
			return Tokens{}, usernameTaken()
		}
		if err != nil {
			return Tokens{}, err
		}
	} else {
		opening.Create, opening.Invitation = &user, invitation
	}
	opening.Act = at.opened(t)
	if err := s.store.OpenSession(ctx, opening); err != nil {
		return Tokens{}, err
	}
	s.throttle.succeeded(user.Username, origin{addr, r.Device.ID})
	return t, nil
}

// CreateUser makes a user without a session, for an administrator.
func (s *Service) CreateUser(ctx context.Context, r Registration) (User, error) {
	if err := validNewUser(&r.Username, &r.DisplayName, r.Password); err != nil {
		return User{}, err
	}
	user, made, err := s.newUser(ctx, ownTurn, r, im.ServerUser)
	if err != nil || made {
		return user.User, err
	}
	if err := s.mayBeGiven(ctx, user.User.ID, r.Username); err != nil {
		return User{}, err
	}
	if err := s.store.CreateUser(ctx, user); err != nil {
		return User{}, err
	}
	return user.User, nil
}

func usernameTaken() error { return im.Errorf(im.CodeAlreadyExists, "the username is taken") }

// newUser makes a user from checked input. A name that is taken is refused
// before the work of hashing; the store decides in the end. made: the same
// registration has made the user before (Registration.Key).
func (s *Service) newUser(ctx context.Context, turn turn, r Registration, role im.ServerRole) (c im.Credentials, made bool, err error) {
	random := s.o.Random
	if r.Key != nil {
		random = bytes.NewReader(r.Key)
	}
	id, err := newUserID(random)
	if err != nil {
		return c, false, err
	}
	switch c, err = s.store.UserByName(ctx, r.Username); im.CodeOf(err) {
	case "":
		if r.Key != nil && c.ID == id {
			return c, true, nil
		}
		return im.Credentials{}, false, usernameTaken()
	case im.CodeNotFound:
	default:
		return im.Credentials{}, false, err
	}
	release, err := s.hasher.turns.Enter(ctx, turn.lane, turn.from)
	if err != nil {
		return im.Credentials{}, false, err
	}
	defer release()
	hash, err := s.hasher.hash(r.Password)
	if err != nil {
		return im.Credentials{}, false, err
	}
	return im.Credentials{PasswordHash: hash, User: im.User{
		ID:          id,
		Username:    r.Username,
		DisplayName: r.DisplayName,
		Role:        role,
		DMPolicy:    s.o.DefaultDMPolicy,
		FindPolicy:  s.o.DefaultFindPolicy,
		Created:     s.o.Now(),
	}}, false, nil
}

// Login opens a session with a password. bad_credentials does not tell whether
// the user exists; rate_limited tells how long to wait.
func (s *Service) Login(ctx context.Context, addr string, l Credentials) (Tokens, error) {
	at, err := s.attempt("login", addr, l.Device)
	if err != nil {
		return Tokens{}, err
	}
	t, err := s.login(ctx, addr, l, at)
	return t, s.count("login", s.failed(at, err))
}

func (s *Service) login(ctx context.Context, addr string, l Credentials, at *attempt) (Tokens, error) {
	if err := validOptionalDevice(&l.Device); err != nil {
		return Tokens{}, err
	}
	name, err := normalUsername(l.Username)
	if err != nil {
		name = "" // nobody's, and treated like a user that is not there
	}
	// A second round is for one whose password was changed, or hashed anew, between
	// the check and the opening of the session.
	for range 2 {
		user, err := s.byName(ctx, name)
		if err != nil && im.CodeOf(err) != im.CodeNotFound {
			return Tokens{}, err
		}
		at.of(user.ID)
		hash, err := s.checkPassword(ctx, name, origin{addr, l.Device.ID}, l.Password, user)
		if err != nil {
			return Tokens{}, err
		}
		if user.Username != name {
			return Tokens{}, im.Errorf(im.CodeBadCredentials, "this account's username is %s now: log in with that", user.Username)
		}
		if err := user.Barred.At(s.o.Now()); err != nil {
			return Tokens{}, err
		}
		t, opening, err := s.opening(user.ID, addr, l.Device, s.o.AccessLifetime, l.StayLoggedIn)
		if err != nil {
			return Tokens{}, err
		}
		if user.SecondFactor {
			return Tokens{}, s.ask(ctx, user.ID, hash)
		}
		opening.IfPasswordHash, opening.Act = hash, at.opened(t)
		switch err = s.store.OpenSession(ctx, opening); im.CodeOf(err) {
		case "":
			s.endSurplus(ctx, user.ID, t.Session)
			return t, nil
		case im.CodeConflict:
		default:
			return t, err
		}
	}
	return Tokens{}, badCredentials()
}

// turn is who waits for a turn at hashing: in which lane, and of which network.
type turn struct {
	lane limits.Lane
	from string
}

// ownTurn is of who has a session, or the admin key, and had to prove it.
var ownTurn = turn{limits.Known, ""}

// strangersTurn is of somebody at an address of whom nothing is known.
func (s *Service) strangersTurn(addr string) turn {
	return turn{s.throttle.lane(origin{addr: addr}, known{}), limits.Network(addr)}
}

// checkPassword checks a password under the throttle; who is charged by name.
// It returns the hash that the user has now. A zero user is nobody.
func (s *Service) checkPassword(ctx context.Context, name string, from origin, password string, user im.Credentials) (hash string, err error) {
	ask := func() known { return s.wasHere(ctx, user.ID, from) }
	k, err := s.throttle.check(name, from, ask)
	if err != nil {
		return "", err // before it takes anybody's place in the queue
	}
	if !k.any() && s.hasher.turns.Waiting() > 0 {
		k = ask() // the same work for who is nobody
	}
	release, err := s.hasher.turns.Enter(ctx, s.throttle.lane(from, k), limits.Network(from.addr))
	if err != nil {
		return "", err
	}
	defer release()
	// Again: others that waited may have failed meanwhile. They are charged
	// before they release.
	again, err := s.throttle.check(name, from, ask)
	if err != nil {
		return "", err
	}
	k = known{k.device || again.device, k.address || again.address}
	hash = user.PasswordHash
	ok, stale, err := s.hasher.verify(password, hash)
	if err != nil {
		return "", err
	}
	if !ok {
		s.throttle.failed(name, from, k)
		s.refused(ctx, from.addr, howPassword, user.ID)
		return "", badCredentials()
	}
	s.throttle.succeeded(name, from)
	if !stale {
		return hash, nil
	}
	renewed, err := s.hasher.hash(password)
	if err != nil {
		return "", err
	}
	done, err := s.store.ReplacePasswordHash(ctx, user.ID, hash, renewed)
	if done {
		hash = renewed
	}
	return hash, err
}

func badCredentials() error {
	return im.Errorf(im.CodeBadCredentials, "the username or the password is wrong")
}

// wasHere tells whether a session of the user was last seen at the address, and whether the
// user signed in with the device: what the throttle knew before a restart. Who is nobody is
// looked for as well: that takes as long.
func (s *Service) wasHere(ctx context.Context, user im.UserID, from origin) (k known) {
	sessions, err := s.Sessions(ctx, user)
	if err != nil {
		return k
	}
	for i := range sessions {
		k.address = k.address || addressKey(sessions[i].LastAddress) == addressKey(from.addr)
	}
	if len(from.device) >= minKnownDevice {
		k.device, err = s.store.HadDevice(ctx, user, from.device)
		k.device = k.device && err == nil
	}
	return k
}

// PrepareClaim makes a code with which the first administrator can be made
// once, in place of an earlier one; "" when there is an administrator. With
// Options.Shared a code that is not older than claimStays is another process's:
// its operator has it, and it stays; then the result is "" as well.
func (s *Service) PrepareClaim(ctx context.Context) (string, error) {
	code, err := newSecret(s.o.Random, "")
	if err != nil {
		return "", err
	}
	if s.o.Shared {
		now := s.o.Now()
		made, open, err := s.store.OfferAdminClaim(ctx, HashKey(code), now, now.Add(-claimStays))
		if err != nil || made {
			return code, err
		}
		if open {
			s.o.Logger.Info("the code that makes the first administrator was printed by another node within the last hour; a node that starts later prints a new one")
		}
		return "", nil
	}
	open, err := s.store.PutAdminClaim(ctx, HashKey(code), s.o.Now())
	if err != nil || !open {
		return "", err
	}
	return code, nil
}

// ClaimAdmin makes the first administrator with the code of PrepareClaim.
// permission_denied: the code is wrong or was used.
func (s *Service) ClaimAdmin(ctx context.Context, addr, code, username, password string) (Tokens, error) {
	at, err := s.attempt("claim", addr, im.Device{})
	if err != nil {
		return Tokens{}, err
	}
	t, err := s.claimAdmin(ctx, addr, code, username, password, at)
	return t, s.count("claim", s.failed(at, err))
}

func (s *Service) claimAdmin(ctx context.Context, addr, code, username, password string, at *attempt) (Tokens, error) {
	var displayName string
	if err := validNewUser(&username, &displayName, password); err != nil {
		return Tokens{}, err
	}
	if _, err := s.throttle.check("", origin{addr: addr}, nothing); err != nil {
		return Tokens{}, err
	}
	claim := HashKey(code)
	open, err := s.store.HasAdminClaim(ctx, claim)
	if err != nil {
		return Tokens{}, err
	}
	if !open {
		s.refusedCode(ctx, addr, howClaim)
		return Tokens{}, im.Errorf(im.CodePermissionDenied, "the code is wrong or was used")
	}
	user, _, err := s.newUser(ctx, s.strangersTurn(addr), Registration{Username: username, Password: password, DisplayName: displayName}, im.ServerOwner)
	if err != nil {
		return Tokens{}, err
	}
	t, opening, err := s.opening(user.ID, addr, im.Device{}, s.o.AccessLifetime, false)
	if err != nil {
		return Tokens{}, err
	}
	opening.Create, opening.Claim, opening.Act = &user, claim, at.opened(t)
	if err := s.store.OpenSession(ctx, opening); err != nil {
		return Tokens{}, err
	}
	s.throttle.succeeded(user.Username, origin{addr: addr})
	return t, nil
}

// maxMinted is the longest life of a minted token.
const maxMinted = 366 * 24 * time.Hour

// Mint opens a session for a user of an integrator, who vouches for them. The
// session ends with its one token.
func (s *Service) Mint(ctx context.Context, m Minting) (Tokens, error) {
	t, err := s.mint(ctx, m)
	return t, s.count("mint", err)
}

func (s *Service) mint(ctx context.Context, m Minting) (Tokens, error) {
	id, err := im.ParseUserID(string(m.User))
	if err != nil {
		return Tokens{}, err
	}
	if m.DisplayName == "" {
		m.DisplayName = string(id)
	}
	name, err := normalDisplayName(m.DisplayName)
	if err != nil {
		return Tokens{}, err
	}
	if err := validOptionalDevice(&m.Device); err != nil {
		return Tokens{}, err
	}
	if m.Lifetime == 0 {
		m.Lifetime = 24 * time.Hour
	}
	if m.Lifetime < time.Second || m.Lifetime > maxMinted {
		return Tokens{}, im.Wrong("lifetimeMs", "must be between a second and 366 days")
	}
	t, opening, err := s.opening(id, "", m.Device, m.Lifetime, false)
	if err != nil {
		return Tokens{}, err
	}
	opening.Create = &im.Credentials{User: im.User{ID: id, DisplayName: name, DMPolicy: s.o.DefaultDMPolicy, FindPolicy: s.o.DefaultFindPolicy, Created: s.o.Now()}}
	opening.KeepExisting = true
	if s.o.Trail != nil {
		line, err := s.o.Trail.Line(im.ActAdmin, "AdminService/MintToken")
		if err != nil {
			return Tokens{}, err
		}
		line.By, line.Role, line.Session, line.Address, line.Target = m.By.User, m.By.Role, m.By.Session, m.By.Address, string(id)
		opening.Act = &line
	}
	if err := s.store.OpenSession(ctx, opening); err != nil {
		return Tokens{}, err
	}
	s.endSurplus(ctx, id, t.Session)
	return t, nil
}
