package account

import (
	"context"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// Store is what the service keeps things in; the directory is one.
type Store interface {
	UserStore
	SessionStore
	ClaimStore
	AuditStore
	SearchStore
	SecondStore
	RegistrationStore
	IdentityStore
	ErasureStore
	NameStore
	GuestStore
	RoleStore
	SettingStore
	DeviceStore
}

// DeviceStore knows the devices of before.
type DeviceStore interface {
	// HadDevice tells whether a session of the user was bound to a device, also one that
	// ended, as long as it is remembered.
	HadDevice(ctx context.Context, user im.UserID, device string) (bool, error)
}

// RoleStore keeps who may do what to the deployment, and who may not come in.
type RoleStore interface {
	// SetRole gives a user another role. not_found; account_deleted; permission_denied: they
	// are a guest, or the last owner that there is.
	SetRole(ctx context.Context, user im.UserID, role im.ServerRole) error
	// Bar changes what bars a user, and returns what it is then, with the sessions that it
	// ended. not_found; account_deleted; permission_denied: their role is no lesser one than
	// that of whoever does it, or they are the last owner that there is.
	Bar(ctx context.Context, c im.BarChange) (im.User, []im.SessionID, error)
}

// GuestStore keeps what is different of guests.
type GuestStore interface {
	CountGuests(ctx context.Context) (int, error)
	// UnseenGuests returns at most limit guests that were not seen since a time.
	UnseenGuests(ctx context.Context, since time.Time, limit int) ([]im.UserID, error)
	// UpgradeGuest: already_exists when the username is taken, permission_denied when they
	// are no guest, or the invitation does not hold any more.
	UpgradeGuest(ctx context.Context, g im.GuestUpgrade, notices ...im.Promise) (im.User, error)
}

// ErasureStore deletes accounts.
type ErasureStore interface {
	// BeginErasure deletes an account in one step, and returns the sessions that it ended;
	// of one that was deleted it tells how far that is. not_found; conflict: the password
	// was changed, or a second factor was added; bad_credentials: the code was used;
	// permission_denied: they are the last owner.
	BeginErasure(ctx context.Context, o im.ErasureOrder) (im.Erasure, []im.SessionID, error)
}

// SearchStore finds users by their names.
type SearchStore interface {
	// SearchUsers returns those that the viewer may find.
	SearchUsers(ctx context.Context, q im.UserSearch) ([]im.Found, error)
	// FoldNames makes at most limit users of before findable by their display name, and
	// returns how many there were.
	FoldNames(ctx context.Context, limit int) (int, error)
}

// SecondStore keeps what users prove themselves with besides the password, and tickets.
type SecondStore interface {
	// SecondFactor: not_found if there is none.
	SecondFactor(ctx context.Context, user im.UserID) (im.SecondFactor, error)
	// PutSecondFactor keeps a secret that waits for its first code; already_exists: one
	// is active.
	PutSecondFactor(ctx context.Context, user im.UserID, sealed []byte, at time.Time) error
	// ActivateSecondFactor makes logins need the secret; conflict: it is another one.
	ActivateSecondFactor(ctx context.Context, user im.UserID, sealed []byte, step int64, recovery [][]byte, notices ...im.Promise) error
	// ChangeSecondFactor uses a code up with the change; bad_credentials: it was used.
	ChangeSecondFactor(ctx context.Context, user im.UserID, step im.SecondStep, change im.SecondChange, notices ...im.Promise) error
	// PutTicket keeps the newest most of the user's and kind.
	PutTicket(ctx context.Context, t im.Ticket, most int) error
	// Ticket: not_found: there is none, or it has no tries left; too_late.
	Ticket(ctx context.Context, kind im.TicketKind, hash []byte, now time.Time) (im.Ticket, error)
	// TryTicket takes one of its tries.
	TryTicket(ctx context.Context, kind im.TicketKind, hash []byte, now time.Time) (im.Ticket, error)
	// ResetPassword uses the ticket up, sets the hash and ends all sessions, which it
	// returns; not_found: it was used.
	ResetPassword(ctx context.Context, t im.Ticket, hash string, at time.Time, notices ...im.Promise) ([]im.SessionID, error)
}

// IdentityStore keeps as whom users log in by providers, and such logins under way.
type IdentityStore interface {
	// IdentityOf: not_found if it is nobody's.
	IdentityOf(ctx context.Context, issuer, subject string) (im.Identity, error)
	// IdentitiesByEmail returns those with an e-mail that was verified; none for "".
	IdentitiesByEmail(ctx context.Context, email string, limit int) ([]im.Identity, error)
	// Identities returns a user's, the oldest first.
	Identities(ctx context.Context, user im.UserID) ([]im.Identity, error)
	// LinkIdentity: already_exists: it is somebody's; too_large: the user has most.
	LinkIdentity(ctx context.Context, i im.Identity, most int, notices ...im.Promise) error
	// UnlinkIdentity: not_found: it is not the user's; permission_denied: it is the last
	// one of a user without a password.
	UnlinkIdentity(ctx context.Context, user im.UserID, id string, notices ...im.Promise) error
	PutProviderLogin(ctx context.Context, l im.ProviderLogin, now time.Time) error
	// TakeProviderLogin removes what it returns: of many, one gets it. not_found; too_late.
	TakeProviderLogin(ctx context.Context, step im.ProviderStep, hash []byte, now time.Time) (im.ProviderLogin, error)
}

// NameStore changes usernames, and knows those of before.
type NameStore interface {
	// Rename: already_exists: the name is another's, or held for another; rate_limited;
	// permission_denied: the user has none.
	Rename(ctx context.Context, r im.Renaming, notices ...im.Promise) (im.User, error)
	// LooksLike returns a username that looks the same (im.UsernameShape) and is neither the
	// same nor except's, "" if there is none.
	LooksLike(ctx context.Context, name string, except im.UserID) (string, error)
	// UserByFormerName: not_found: it is held for nobody.
	UserByFormerName(ctx context.Context, name string, now time.Time) (im.Credentials, error)
}

// RegistrationStore keeps the links by which people register.
type RegistrationStore interface {
	// PutRegistrationLink: too_large when most hold already.
	PutRegistrationLink(ctx context.Context, l im.RegistrationLink, most int) error
	// RegistrationLinks returns those that hold, the newest first.
	RegistrationLinks(ctx context.Context, now time.Time) ([]im.RegistrationLink, error)
	// RevokeRegistrationLink: not_found if none holds.
	RevokeRegistrationLink(ctx context.Context, id string, now time.Time) error
	// RegistrationLinkHolds looks for one by its hash; its use is OpenSession's.
	RegistrationLinkHolds(ctx context.Context, hash []byte, now time.Time) (bool, error)
}

// UserStore keeps users. A user that is not there is not_found.
type UserStore interface {
	// CreateUser: already_exists when the username is taken, conflict when only
	// the id is.
	CreateUser(ctx context.Context, c im.Credentials) error
	// Users returns those that exist, in any order.
	Users(ctx context.Context, ids []im.UserID) ([]im.User, error)
	UserByName(ctx context.Context, username string) (im.Credentials, error)
	UserCredentials(ctx context.Context, id im.UserID) (im.Credentials, error)
	ListUsers(ctx context.Context, q im.AccountQuery) ([]im.AccountInfo, error)
	// UpdateUser changes what is given (ProfileChange.Of). Notices are promised in the
	// same transaction if that is a change.
	UpdateUser(ctx context.Context, id im.UserID, change im.ProfileChange, notices ...im.Promise) (im.User, error)
	// ReplacePasswordHash sets the hash if the old one is there still.
	ReplacePasswordHash(ctx context.Context, id im.UserID, old, hash string) (bool, error)
	// ChangePassword sets the hash if the old one is there still (conflict
	// otherwise) and ends all sessions except one, which it returns, in one step.
	ChangePassword(ctx context.Context, id im.UserID, old, hash string, except im.SessionID, at time.Time) ([]im.SessionID, error)
}

// SessionStore keeps sessions and their tokens. What is not there is not_found.
type SessionStore interface {
	// OpenSession: see im.SessionOpening. already_exists: username; conflict:
	// password changed; permission_denied: claim not open.
	OpenSession(ctx context.Context, o im.SessionOpening) error
	// TokenByHash must see every commit that returned before it was called.
	TokenByHash(ctx context.Context, hash im.TokenHash) (im.TokenState, error)
	// BindDevice binds a living session that is not bound, and returns what it is
	// bound to. Of two at once one wins.
	BindDevice(ctx context.Context, session im.SessionID, device im.Device) (im.Device, error)
	// RotateTokens: conflict when the token was exchanged already, not_found when
	// the session does not live.
	RotateTokens(ctx context.Context, r im.TokenRotation) error
	// SessionsSeen passes over sessions that are gone.
	SessionsSeen(ctx context.Context, seen []im.SessionSeen) error
	// Sessions returns those that have not ended or expired, the oldest first.
	Sessions(ctx context.Context, user im.UserID, now time.Time) ([]im.Session, error)
	// EndSessions ends one session of a user, or all, and returns those it ended.
	EndSessions(ctx context.Context, user im.UserID, session im.SessionID, at time.Time) ([]im.SessionID, error)
	// PurgeSessions removes some of what was over before a time, and forgets the
	// nonces of exchanges before another; more tells that there is more to remove.
	PurgeSessions(ctx context.Context, before, retryBefore time.Time) (more bool, err error)
}

// ClaimStore keeps the code that makes the first administrator, by hash.
type ClaimStore interface {
	// PutAdminClaim replaces the code; false: there is an administrator.
	PutAdminClaim(ctx context.Context, hash []byte, at time.Time) (bool, error)
	// OfferAdminClaim replaces a code that was made before a time only; open as
	// above, made: the code is this one.
	OfferAdminClaim(ctx context.Context, hash []byte, at, since time.Time) (made, open bool, err error)
	HasAdminClaim(ctx context.Context, hash []byte) (bool, error)
}

// AuditStore tells many sessions at once from those that are over.
type AuditStore interface {
}
