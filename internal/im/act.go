package im

import "time"

// Act is a line of the audit log: what somebody did to the deployment, or that somebody
// signed in, or tried to.
type Act struct {
	// ID orders the lines; its time is At's.
	ID   MessageID
	At   time.Time
	Kind ActKind
	// Action is the method, as AdminService/BanUser, or the way of signing in, as login.
	Action string
	// By is who did it with which role; the admin key is an owner with By "", who failed to
	// sign in is nobody.
	By   UserID
	Role ServerRole
	// Target is to whom or what it was done: a user, a conversation, or another id. Of a
	// sign-in that failed: whose account it was, if there is one.
	Target string
	// Address and Device are of whoever did it, as far as they said.
	Address, Device string
	Session         SessionID
	// Code is "" for what was done, ActBegun for what may have been done, otherwise that of
	// the refusal.
	Code Code
	// Detail is what was asked for, as JSON, without secrets.
	Detail string
	// Times is how often, for what is told in one line.
	Times int
}

// ActKind is a kind of line. The numbers are the contract's.
type ActKind uint8

// The kinds.
const (
	ActAdmin  ActKind = 1
	ActSignIn ActKind = 2
)

// ActBegun is the code of an act of which the server knows no end: it was killed meanwhile,
// or could not write it down.
const ActBegun Code = "unknown"

// ActQuery asks for lines: Limit of them behind After, the newest first.
type ActQuery struct {
	After MessageID // zero: from the beginning
	Limit int
	// OldestFirst turns the order.
	OldestFirst bool
	// What is set has to be so; times are From inclusive, Until exclusive.
	Kind        ActKind
	By          *UserID
	Target      string
	Action      string
	From, Until time.Time
	// Failed: what was refused alone.
	Failed bool
}
