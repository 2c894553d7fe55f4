package im

import "time"

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

// ProfileChange is a change of a user's profile: what is nil or 0 stays as it is.
type ProfileChange struct {
	DisplayName *string
	DM          DMPolicy
	Groups      GroupPolicy
	Find        FindPolicy
}

// User is who somebody is.
type User struct {
	ID UserID
	// Username is empty for users that exist by a minted token only.
	Username    string
	DisplayName string
	Admin       bool
	DMPolicy    DMPolicy
	// GroupPolicy is 0 for a new user: GroupsAnyone.
	GroupPolicy GroupPolicy
	// FindPolicy is 0 for a new user: FindAnyone.
	FindPolicy FindPolicy
	Created    time.Time
}

// Credentials is a user with what the password is checked against.
type Credentials struct {
	User
	// PasswordHash is empty for users without a password.
	PasswordHash string
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
	// Admin tells that the user is an administrator.
	Admin bool
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
