package im

import "time"

// SecondFactor is what a user proves themselves with besides the password.
type SecondFactor struct {
	// Sealed is the app's secret, as only the server's key opens it.
	Sealed []byte
	// Active: logins need it. Before, it waits for its first right code.
	Active bool
	// Step is that of the last code that was taken; no code of it or before is.
	Step int64
	// Recovery is how many recovery codes are left.
	Recovery int
}

// SecondStep is a right code, which is used up by what it is for.
type SecondStep struct {
	// Step is that of the app's code; 0: it is a recovery code.
	Step int64
	// Recovery is the hash of a recovery code; nil: it is one of the app.
	Recovery []byte
}

// SecondChange is what becomes of a user's second factor.
type SecondChange struct {
	// Remove: there is none any more.
	Remove bool
	// Recovery are hashes of recovery codes in the place of those of before.
	Recovery [][]byte
	// Keep: it stays as it is, and its recovery codes, but for the one that was used. Without
	// a second factor there is no step.
	Keep bool
}

// TicketKind is what a ticket is for. The numbers are stored.
type TicketKind uint8

// The kinds of tickets.
const (
	// TicketLogin is the second step of a login whose password was right.
	TicketLogin TicketKind = 1
	// TicketReset is an administrator's link that resets a password.
	TicketReset TicketKind = 2
)

// Ticket is what somebody may do once; who has its secret is who may.
type Ticket struct {
	Hash []byte
	Kind TicketKind
	User UserID
	// Bound is the hash of the password that a login was begun with.
	Bound string
	// Flag: a reset takes the second factor away as well.
	Flag bool
	// Tries is how often it may be tried.
	Tries            int
	Created, Expires time.Time
}

// RegistrationLink lets people register where not everybody may.
type RegistrationLink struct {
	ID   string
	Hash []byte
	// Note is what administrators see of what it is for.
	Note string
	// Uses is how many registered by it, of MaxUses; 0: any number.
	Uses, MaxUses    int
	Created, Expires time.Time
}
