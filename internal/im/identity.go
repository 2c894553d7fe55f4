package im

import "time"

// Identity is as whom a user logs in by a provider.
type Identity struct {
	ID   string
	User UserID
	// Provider is the provider's name in the settings when it was linked.
	Provider string
	// Issuer and Subject are who somebody is. Nothing else is.
	Issuer, Subject string
	// Username and Email are what the provider said when the user came last; Email is
	// empty unless it had verified it.
	Username, Email   string
	Created, LastUsed time.Time
}

// ProviderAuth is what one login at a provider is bound to.
type ProviderAuth struct {
	// State comes back with the browser, Nonce in the ID token.
	State, Nonce string
	// Verifier is the server's own (PKCE): the provider gives the ID token to nobody else.
	Verifier string
	// Issuer is who sent the browser back, if it was said (RFC 9207).
	Issuer string
}

// ProviderClaims is whom a provider named. As JSON it is how the directory keeps it.
type ProviderClaims struct {
	Issuer  string `json:"iss"`
	Subject string `json:"sub"`
	// Username and Name are what the provider calls them; they may be empty, and
	// anything.
	Username string `json:"username,omitempty"`
	Name     string `json:"name,omitempty"`
	// Email is empty unless the provider verified it.
	Email string `json:"email,omitempty"`
}

// ProviderStep is how far a login by a provider is. The numbers are stored.
type ProviderStep uint8

// The steps.
const (
	// ProviderAway: a browser was sent to the provider.
	ProviderAway ProviderStep = 1
	// ProviderBack: it came back, and a code finishes the login.
	ProviderBack ProviderStep = 2
)

// ProviderLogin is a login by a provider that is under way. As JSON it is how the
// directory keeps it.
type ProviderLogin struct {
	Hash     []byte       `json:"-"`
	Step     ProviderStep `json:"-"`
	Provider string       `json:"provider"`
	// Challenge is the hash of the verifier of the client that began it.
	Challenge string `json:"challenge"`
	ReturnTo  string `json:"return,omitempty"`
	// Claims is who came back.
	Claims  ProviderClaims `json:"claims,omitzero"`
	Expires time.Time      `json:"-"`
}

// Renaming gives a user another username.
type Renaming struct {
	User UserID
	Name string
	At   time.Time
	// Hold is how long the old one is nobody else's.
	Hold time.Duration
	// Every is how long ago the last one must be, 0: it does not matter, and this one does
	// not count.
	Every time.Duration
}
