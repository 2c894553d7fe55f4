package account

import (
	"context"
	"crypto/rand"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/skein-im/skein/internal/im"
)

// User is who somebody is.
type User = im.User

// Session is one login of a user on a device.
type Session = im.Session

// DMPolicy is who may write to a user without being a contact.
type DMPolicy = im.DMPolicy

// The policies.
const (
	DMContacts = im.DMContacts
	DMEveryone = im.DMEveryone
)

// Tokens are what a session is used with. Refresh is empty for sessions that
// end with their access token.
type Tokens struct {
	User           im.UserID
	Session        im.SessionID
	Access         string
	AccessExpires  time.Time
	Refresh        string
	RefreshExpires time.Time
}

// Registration is what a new user tells.
type Registration struct {
	// Username is [a-z0-9_.-]{3,32}, in any case.
	Username string
	// Password has 8 to 200 characters.
	Password string
	// DisplayName has at most 64 characters; empty: the username.
	DisplayName string
	// Device may be zero: the first Hello settles it.
	Device       im.Device
	StayLoggedIn bool
	// Invitation is the code of a registration link, if registration is by invitation.
	Invitation string
	// Key makes a repeat the same registration: at least 8 bytes that nobody guesses,
	// of which the user's id is made. nil: an id of its own, and no repeat.
	Key []byte
}

// Credentials are what a user logs in with.
type Credentials struct {
	Username, Password string
	// Device may be zero: the first Hello settles it.
	Device       im.Device
	StayLoggedIn bool
}

// Minting is a session that an integrator asks for.
type Minting struct {
	// User is the integrator's own id; the user is created if need be.
	User im.UserID
	// DisplayName is used when the user is created; empty: the id.
	DisplayName string
	// Lifetime is 24 h when 0, at most 366 days.
	Lifetime time.Duration
	// Device may be zero: the first Hello settles it.
	Device im.Device
	// By is who asks.
	By im.Actor
}

// Argon are the costs of a password hash (argon2id).
type Argon struct {
	MemoryKiB uint32 // default 19 MiB
	Time      uint32 // default 2
	Threads   uint8  // default 1
}

// Options of a Service. The zero value is good, with registration closed.
type Options struct {
	// Now is the clock; default time.Now.
	Now func() time.Time
	// Random makes ids, tokens and salts; default crypto/rand. It must take calls
	// from several goroutines.
	Random io.Reader
	// OpenRegistration lets anybody register, where nothing else was set at run time.
	OpenRegistration bool
	// InvitedRegistration lets those register who have a link of an administrator's, likewise.
	InvitedRegistration bool
	// MaxGuests is about how many guests there may be; 0: guests are not taken.
	MaxGuests int
	// GuestLife is how long a guest lives whom nobody sees, at least AccessLifetime; default
	// 7 days.
	GuestLife time.Duration
	// SealKey seals the secrets of authenticator apps: 32 bytes, the same in all processes
	// and after a restart. nil: there are no second factors.
	SealKey []byte
	// RegistrationsPerHour bounds what one address may register; default 600,
	// negative: no bound.
	RegistrationsPerHour int
	// AccessLifetime of an access token; default 24 h.
	AccessLifetime time.Duration
	// RefreshLifetime of a refresh token; default 60 days.
	RefreshLifetime time.Duration
	// MaxSessions bounds the living sessions of a user: opening one more ends the
	// one not seen for longest. Default 200; negative: no bound.
	MaxSessions int
	// AdminKeyHash is HashKey of the admin key; nil: there is none.
	AdminKeyHash []byte
	// DevicePolicy is `class` (default), `all` or `one` (SPEC §3.5).
	DevicePolicy string
	// Control closes connections, of all processes. It must not block. nil: there
	// are none.
	Control func(im.Control)
	// Drive carries out what is promised to a conversation: the notices that a
	// profile changed. nil: nobody is told.
	Drive func(ctx context.Context, c im.ConversationID) error
	// Erased has what follows from the deletion of an account looked up anew: who may write
	// to whom, and who sees whom. nil: nothing does.
	Erased func(ctx context.Context, user im.UserID)
	// Shared: other processes have the same store.
	Shared bool
	// Argon are the costs of password hashes.
	Argon Argon
	// DefaultDMPolicy of new users; default DMContacts.
	DefaultDMPolicy DMPolicy
	// DefaultFindPolicy of new users; default FindAnyone.
	DefaultFindPolicy im.FindPolicy
	// ReservedNames are names that nobody takes, besides im.Reserved's own.
	ReservedNames []string
	// Issuer is what authenticator apps call this server; default Skein.
	Issuer string
	// Providers are those by which people log in besides a password.
	Providers []Provider
	// ReturnURLs are where browsers may be sent back to from there, besides loopback.
	ReturnURLs []string
	// Named refuses (filtered) what nobody may be called: what a provider calls somebody is
	// held to it here, what users say themselves before. nil: everything may be.
	Named func(ctx context.Context, name string) error
	// Trail writes the audit log; nil: there is none.
	Trail Trail
	// Logger; default none.
	Logger *slog.Logger
	// Registerer takes the metrics; nil: nobody does.
	Registerer prometheus.Registerer
}

const (
	flushEvery = 3 * time.Second
	purgeEvery = time.Hour
	// tombstones is how long an ended or expired session is remembered.
	tombstones = 30 * 24 * time.Hour
	// retryWindow is how long an exchange of refresh tokens may be repeated.
	retryWindow = 30 * time.Second
	// claimStays is how long a code that another process made is left alone.
	claimStays = time.Hour
)

// Service is the business of accounts. All methods may be called concurrently.
// Errors are fit for im.Public.
type Service struct {
	store    Store
	o        Options
	hasher   *hasher
	throttle *throttle
	seen     *seen
	requests *prometheus.CounterVec
	// adminKey is the hash of the admin key.
	adminKey atomic.Pointer[[]byte]

	stop    chan struct{}
	stopped sync.WaitGroup
	once    sync.Once
	closed  error
}

// New makes the service and starts its goroutine; Close ends it.
func New(store Store, o Options) *Service {
	o = o.withDefaults()
	metrics := promauto.With(o.Registerer)
	s := &Service{
		store:    store,
		o:        o,
		hasher:   newHasher(o.Argon, o.Random),
		throttle: newThrottle(o.Now, o.RegistrationsPerHour),
		seen:     newSeen(),
		requests: metrics.NewCounterVec(prometheus.CounterOpts{
			Name: "skein_account_requests_total",
			Help: "Registrations, logins, refreshes and authentications, by result (ok or an error code).",
		}, []string{"operation", "result"}),
		stop: make(chan struct{}),
	}
	s.adminKey.Store(&o.AdminKeyHash)
	s.stopped.Go(s.background)
	return s
}

func (o Options) withDefaults() Options {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Random == nil {
		o.Random = rand.Reader
	}
	if o.RegistrationsPerHour == 0 {
		o.RegistrationsPerHour = 600
	}
	if o.AccessLifetime <= 0 {
		o.AccessLifetime = 24 * time.Hour
	}
	if o.RefreshLifetime <= 0 {
		o.RefreshLifetime = 60 * 24 * time.Hour
	}
	if o.MaxSessions == 0 {
		o.MaxSessions = 200
	}
	if o.GuestLife <= 0 {
		o.GuestLife = 7 * 24 * time.Hour
	}
	// Who is connected is seen when the token is renewed.
	o.GuestLife = max(o.GuestLife, o.AccessLifetime)
	if o.DevicePolicy == "" {
		o.DevicePolicy = "class"
	}
	if o.Control == nil {
		o.Control = func(im.Control) {}
	}
	if o.Argon.MemoryKiB == 0 {
		o.Argon.MemoryKiB = 19 << 10
	}
	if o.Argon.Time == 0 {
		o.Argon.Time = 2
	}
	if o.Argon.Threads == 0 {
		o.Argon.Threads = 1
	}
	if o.Issuer == "" {
		o.Issuer = "Skein"
	}
	if o.DefaultDMPolicy == 0 {
		o.DefaultDMPolicy = DMContacts
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

// Close writes what was held back and ends the goroutine. Requests must be
// over, or what they hold back is not written.
func (s *Service) Close() error {
	s.once.Do(func() {
		close(s.stop)
		s.stopped.Wait()
		s.closed = s.flush(context.Background())
	})
	return s.closed
}

// background writes signs of life behind and removes what is over.
func (s *Service) background() {
	purgeNow := func() {
		if err := s.purge(context.Background()); err != nil {
			s.o.Logger.Warn("account: old sessions were not removed, trying again later", "err", err)
		}
		if err := s.fold(context.Background()); err != nil {
			s.o.Logger.Warn("account: names of before cannot be searched yet, trying again later", "err", err)
		}
	}
	purgeNow()
	looked := false // for guests, first when all is up whom a deletion is told
	unseen := func() {
		looked = true
		if err := s.EraseUnseen(context.Background()); err != nil {
			s.o.Logger.Warn("account: guests that nobody saw were not deleted, trying again later", "err", err)
		}
	}
	flush, purge := time.NewTicker(flushEvery), time.NewTicker(purgeEvery)
	defer flush.Stop()
	defer purge.Stop()
	for {
		select {
		case <-s.stop:
			return
		case <-flush.C:
			if err := s.flush(context.Background()); err != nil {
				s.o.Logger.Warn("account: signs of life were not written, trying again", "err", err)
			}
			if !looked {
				unseen()
			}
		case <-purge.C:
			purgeNow()
			unseen()
		}
	}
}

// purge removes sessions and tokens that are long over, a bounded number in
// one transaction, so that logins do not wait for it.
func (s *Service) purge(ctx context.Context) error {
	for {
		now := s.o.Now()
		more, err := s.store.PurgeSessions(ctx, now.Add(-tombstones), now.Add(-retryWindow))
		if err != nil || !more {
			return err
		}
		select {
		case <-s.stop:
			return nil
		default:
		}
	}
}

// count counts a request by its result and returns the error.
func (s *Service) count(operation string, err error) error {
	result := "ok"
	if err != nil {
		result = string(im.CodeOf(err))
	}
	s.requests.WithLabelValues(operation, result).Inc()
	return err
}
