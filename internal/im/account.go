package im

import (
	"maps"
	"strings"
	"time"
)

// DMPolicy is who may write to a user. The numbers are the contract's.
type DMPolicy uint8

// The policies.
const (
	DMContacts DMPolicy = 1
	DMEveryone DMPolicy = 2
	DMNobody   DMPolicy = 3
)

// FindPolicy is who finds a user by their name. The numbers are the contract's.
type FindPolicy uint8

// The policies.
const (
	FindAnyone   FindPolicy = 1
	FindContacts FindPolicy = 2
	FindNobody   FindPolicy = 3
)

// PresencePolicy is who sees whether a user is there, and when they were last. The
// numbers are the contract's.
type PresencePolicy uint8

// The policies.
const (
	PresenceContacts PresencePolicy = 1
	PresenceEveryone PresencePolicy = 2
	PresenceNobody   PresencePolicy = 3
)

// UserSearch asks for users by their names, among those that Viewer may find: who is
// found by anyone, or by contacts and has Viewer as one, and did not block them; and
// Viewer.
type UserSearch struct {
	// Viewer is empty for who finds everybody.
	Viewer UserID
	// Username, if set, is the whole one. Otherwise Prefix is what a username (or,
	// with Names, a display name of somebody whose username does not) begins with, of
	// whatever case and width.
	Username, Prefix string
	Names            bool
	// After and AfterID are the last one of the page before: Found.Name, and with Names
	// their id.
	After   string
	AfterID UserID
	Limit   int
}

// Found is a user who was found; Name is what they are ordered by.
type Found struct {
	User
	Name string
}

// GroupPolicy is who may add a user to groups. The numbers are the contract's.
type GroupPolicy uint8

// The policies.
const (
	GroupsAnyone   GroupPolicy = 1
	GroupsContacts GroupPolicy = 2
	GroupsNobody   GroupPolicy = 3
)

// ProfileChange is a change of a user's profile and settings: what is nil or 0 stays as
// it is.
type ProfileChange struct {
	DisplayName, Picture, About *string
	// Extra are the keys that change; "" takes one away.
	Extra  map[string]string
	DM     DMPolicy
	Groups GroupPolicy
	Find   FindPolicy
	// Presence is who sees the user's, HideReads whether the others of their dms see how
	// far they have read.
	Presence  PresencePolicy
	HideReads *bool
}

// MaxProfileExtra is how many bytes the keys and values of Profile.Extra may have
// together: less than those of a group, because a page of users has many of them.
const MaxProfileExtra = 1024

// Of makes the change of a user. It is refused if they would have more fields of the
// deployment's own than they may.
func (c *ProfileChange) Of(u User) (User, error) {
	set(&u.DisplayName, c.DisplayName)
	set(&u.Profile.Picture, c.Picture)
	set(&u.Profile.About, c.About)
	u.Profile.Extra = withExtra(u.Profile.Extra, c.Extra)
	choose(&u.DMPolicy, c.DM)
	choose(&u.GroupPolicy, c.Groups)
	choose(&u.FindPolicy, c.Find)
	choose(&u.PresencePolicy, c.Presence)
	set(&u.HideReads, c.HideReads)
	return u, CheckExtra(u.Profile.Extra, MaxProfileExtra)
}

// Profile is what a user shows besides a name. As JSON it is how the directory keeps it.
type Profile struct {
	// Picture is an https address, or the id of an upload.
	Picture string `json:"picture,omitempty"`
	About   string `json:"about,omitempty"`
	// Extra is the deployment's own.
	Extra map[string]string `json:"extra,omitempty"`
}

// Is tells whether two profiles are the same.
func (p *Profile) Is(q *Profile) bool {
	return p.Picture == q.Picture && p.About == q.About && maps.Equal(p.Extra, q.Extra)
}

// User is who somebody is.
type User struct {
	ID UserID
	// Username is empty for users that exist by a minted token only.
	Username    string
	DisplayName string
	Role        ServerRole
	Barred      Barred
	DMPolicy    DMPolicy
	// GroupPolicy is 0 for a new user: GroupsAnyone.
	GroupPolicy GroupPolicy
	// FindPolicy is 0 for a new user: FindAnyone.
	FindPolicy FindPolicy
	// PresencePolicy is 0 for a new user: PresenceContacts.
	PresencePolicy PresencePolicy
	HideReads      bool
	Created        time.Time
	Profile        Profile
	// Deleted: the account was deleted; nothing else is known of the user.
	Deleted bool
	// Guest: nobody who registered; see GuestPrefix.
	Guest bool
}

// GuestPrefix begins the ids of guests. It is no proof: who was a guest keeps the id as a
// user, and an integrator may choose such ids. So only about users with such an id somebody
// has to ask whether they are guests.
const GuestPrefix = "guest-"

// MayBeGuest tells whether a user may be a guest; of all others it is known that they are not.
func (u UserID) MayBeGuest() bool { return strings.HasPrefix(string(u), GuestPrefix) }

// GuestUpgrade is the one atomic step that makes a guest a user.
type GuestUpgrade struct {
	User UserID
	// PasswordHash is empty for who logs in by Identity.
	Username, PasswordHash string
	// Identity, when set, is the user's from then on.
	Identity   *Identity
	FindPolicy FindPolicy
	// Invitation, when set, is the hash of a registration link of which this is a use.
	Invitation []byte
	At         time.Time
}

// ShowsAs tells whether others see the same of two states of a user.
func (u *User) ShowsAs(v *User) bool {
	return u.DisplayName == v.DisplayName && u.Profile.Is(&v.Profile)
}

// Is tells whether two states of a user are the same.
func (u *User) Is(v *User) bool {
	return u.ShowsAs(v) && u.Username == v.Username && u.DMPolicy == v.DMPolicy && u.GroupPolicy == v.GroupPolicy && u.FindPolicy == v.FindPolicy &&
		u.PresencePolicy == v.PresencePolicy && u.HideReads == v.HideReads
}

// Credentials is a user with what the password is checked against.
type Credentials struct {
	User
	// PasswordHash is empty for users without a password.
	PasswordHash string
	// SecondFactor: logins with the password need a code as well.
	SecondFactor bool
}

// Session is one login of a user on a device.
type Session struct {
	ID   SessionID
	User UserID
	// Device is zero until the first Hello settles it, when the login did not.
	Device      Device
	Client      string
	Created     time.Time
	LastSeen    time.Time
	LastAddress string
}

// TokenHash is the SHA-256 of a token, all that is kept of it.
type TokenHash [32]byte

// TokenKind is what a token is for. The numbers are the directory's.
type TokenKind uint8

// The kinds of tokens.
const (
	TokenAccess  TokenKind = 1
	TokenRefresh TokenKind = 2
)

// Token is a token of a session as the directory keeps it.
type Token struct {
	Hash    TokenHash
	Kind    TokenKind
	Created time.Time
	Expires time.Time
	// Parent is the refresh token that this one was exchanged for; zero for the
	// first ones of a session.
	Parent TokenHash
}

// TokenState is a token with all that decides whether it is good.
type TokenState struct {
	Token
	// Replaced is when a refresh token was exchanged, zero while it was not.
	Replaced time.Time
	// RetryNonce is set from the exchange until its outcome is known to have
	// arrived: with it the same exchange can be answered again.
	RetryNonce []byte
	// ParentRetry tells that the parent has a RetryNonce still.
	ParentRetry bool
	Session     Session
	// Ended is when the session was ended, zero while it lives.
	Ended time.Time
	// Role, Barred and Deleted are the user's.
	Role    ServerRole
	Barred  Barred
	Deleted bool
}

// SessionOpening is the one atomic step that opens a session.
type SessionOpening struct {
	Session Session
	// Expires is when the last of the tokens does.
	Expires time.Time
	Tokens  []Token
	// Create, when set, is created in the same step.
	Create *Credentials
	// KeepExisting makes Create yield to a user with that id.
	KeepExisting bool
	// IfPasswordHash, when set, must be the user's still.
	IfPasswordHash string
	// Claim, when set, is the hash of a claim that is used up by this.
	Claim []byte
	// Identity, when set, is one by which the user logs in, and must be theirs still. If it
	// is Link as well, it is made theirs in the same step. What it says of the provider's
	// name for them is kept.
	Identity *Identity
	Link     bool
	// Second is used up by this, with the ticket; nil: the user must have no active
	// second factor, if IfPasswordHash or Identity is set.
	Second *SecondStep
	Ticket []byte
	// Invitation, when set, is the hash of a registration link of which this is a use.
	Invitation []byte
	// Notice, when set, is promised in the same step.
	Notice *Promise
	// Act, when set, is written to the audit log in the same step.
	Act *Act
}

// TokenRotation is the one atomic step that exchanges a refresh token.
type TokenRotation struct {
	Session SessionID
	Old     TokenHash
	// OldParent's RetryNonce is forgotten: its outcome has arrived.
	OldParent TokenHash
	At        time.Time
	Nonce     []byte
	Tokens    []Token
	// Expires is when the session does now.
	Expires time.Time
}

// SessionSeen is a sign of life of a session.
type SessionSeen struct {
	Session SessionID
	At      time.Time
	Address string
	// Client stays as it is when empty.
	Client string
	// Confirmed, when set, is a refresh token whose successors are in use.
	Confirmed TokenHash
}
