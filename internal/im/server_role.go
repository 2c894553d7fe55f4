package im

import (
	"strconv"
	"time"
)

// ServerRole is what somebody may do to the deployment, besides what all users may. The
// numbers are the contract's: a greater one is the greater role.
type ServerRole uint8

// The roles.
const (
	ServerUser ServerRole = iota // a user like any other
	ServerAuditor
	ServerModerator
	ServerAdmin
	ServerOwner
)

func (r ServerRole) String() string {
	names := [...]string{"none", "auditor", "moderator", "admin", "owner"}
	if int(r) >= len(names) {
		return strconv.Itoa(int(r))
	}
	return names[r]
}

// ActOn decides whether who has the role may act on the account of a user who has another:
// on those of a lesser one, and an owner on all.
func (r ServerRole) ActOn(other ServerRole) error {
	if r > other || r == ServerOwner {
		return nil
	}
	return Errorf(CodePermissionDenied, "this user has the role %s, and yours is no greater one", other)
}

// Barred is why nobody comes in as a user. The zero value: they may.
type Barred struct {
	Disabled bool
	// Banned until a time, zero: for ever, for a reason that the user is told.
	Banned bool
	Until  time.Time
	Reason string
}

// BannedAt tells whether a ban holds at a time.
func (b *Barred) BannedAt(now time.Time) bool {
	return b.Banned && (b.Until.IsZero() || now.Before(b.Until))
}

// At is what who comes in as the user is told at a time, nil if they may.
func (b *Barred) At(now time.Time) error {
	switch {
	case b.BannedAt(now):
		text := "the account is banned"
		if !b.Until.IsZero() {
			text += " until " + b.Until.UTC().Format("2006-01-02 15:04") + " UTC"
		}
		if b.Reason != "" {
			text += ": " + b.Reason
		}
		return Errorf(CodeBanned, "%s", text)
	case b.Disabled:
		return Errorf(CodeBanned, "the account was disabled by an administrator")
	}
	return nil
}

// BarChange bars a user from coming in, or takes that back: what is nil stays.
type BarChange struct {
	User UserID
	// By is the role of whoever does it.
	By ServerRole
	// Ban with Until and Reason, or end a ban; disable, or enable.
	Ban, Disable *bool
	Until        time.Time
	Reason       string
	At           time.Time
}

// Of is what the change makes of what bars a user.
func (c *BarChange) Of(b Barred) Barred {
	if c.Ban != nil {
		b.Banned, b.Until, b.Reason = *c.Ban, time.Time{}, ""
		if *c.Ban {
			b.Until, b.Reason = c.Until, c.Reason
		}
	}
	set(&b.Disabled, c.Disable)
	return b
}

// AccountState is what became of an account. The numbers are the contract's.
type AccountState uint8

// The states.
const (
	AccountActive AccountState = iota + 1
	AccountBanned
	AccountDisabled
	AccountDeleted
)

// AccountInfo is what administrators see of a user.
type AccountInfo struct {
	User
	// LastSeen is when somebody came with one of the sessions last, zero: never.
	LastSeen time.Time
	// Sessions are those that live.
	Sessions int
	// StorageBytes are those of the user's uploads.
	StorageBytes int64
	Password     bool
	SecondFactor bool
}

// State is what became of the account, at a time.
func (a *AccountInfo) State(now time.Time) AccountState {
	switch {
	case a.Deleted:
		return AccountDeleted
	case a.Barred.BannedAt(now):
		return AccountBanned
	case a.Barred.Disabled:
		return AccountDisabled
	}
	return AccountActive
}

// AccountQuery asks for users in the order of their ids: Limit of them behind After.
type AccountQuery struct {
	After UserID
	Limit int
	// Guests alone.
	Guests bool
	// Query is what a username or a display name begins with, or the whole id.
	Query string
	// State, if set, is the accounts' at Now.
	State AccountState
	// WithRole: those who have one.
	WithRole bool
	Now      time.Time
}
