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
}

// SearchStore finds users by their names.
type SearchStore interface {
	// SearchUsers returns those that the viewer may find.
	SearchUsers(ctx context.Context, q im.UserSearch) ([]im.Found, error)
	// FoldNames makes at most limit users of before findable by their display name, and
	// returns how many there were.
	FoldNames(ctx context.Context, limit int) (int, error)
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
	// ListUsers returns users in the order of their ids, those after the given one.
	ListUsers(ctx context.Context, after im.UserID, limit int) ([]im.User, error)
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
