package im

import "time"

// DeletedName is what a user is called whose account was deleted.
const DeletedName = "Deleted account"

// NameHeld is for how long nobody may take the username of an account that was deleted.
const NameHeld = 30 * 24 * time.Hour

// Erasure is what becomes of a user whose account is deleted (SPEC §3.16).
type Erasure struct {
	User UserID
	// Messages: what they wrote is erased as well.
	Messages bool
	// Begun is when the account was deleted, Done when everything was done; zero: not yet.
	Begun, Done time.Time
	// Step is what is done next, from 0 on, and Place where that goes on; "": from its
	// beginning.
	Step  int
	Place string
}

// ErasureOrder is the one step by which an account is deleted: from then on nobody comes
// in by it.
type ErasureOrder struct {
	User     UserID
	Messages bool
	At       time.Time
	// IfPasswordHash, when set, must be the user's still; Second is used up then, nil: the
	// user must have no active second factor.
	IfPasswordHash string
	Second         *SecondStep
	// IfUnseen, when set, must be a time since which the user, a guest still, was not seen.
	IfUnseen time.Time
}
