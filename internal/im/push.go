package im

import "time"

// PushLevel is for which messages a user's devices are woken. The numbers are the
// contract's.
type PushLevel uint8

// The levels. PushUnset is what is set for all conversations of the kind, there PushAll.
const (
	PushUnset    PushLevel = 0
	PushAll      PushLevel = 1
	PushMentions PushLevel = 2
	PushNone     PushLevel = 3
)

const (
	// MaxPushEndpoint is how long the address of a push subscription may be.
	MaxPushEndpoint = 2000
	// PushPointBytes is an uncompressed point of P-256, PushAuthBytes the secret of a
	// subscription.
	PushPointBytes, PushAuthBytes = 65, 16
	// MaxZone is how long the name of a time zone may be.
	MaxZone = 64
	// DayMinutes is how many minutes a day has.
	DayMinutes = 24 * 60
)

// PushKey is the key pair by which push services know this server.
type PushKey struct {
	// Public is a point of P-256.
	Public []byte
	// Sealed is the private key, as only the server's key opens it.
	Sealed []byte
	Made   time.Time
}

// Sealed is what a directory has that only the server's own keys open.
type Sealed struct {
	// Push is the key by which push services know the server, nil: there is none; Devices is
	// how many have a subscription, which is of that key.
	Push    *PushKey
	Devices int
	// Factors is how many users have an authenticator app.
	Factors int
}

// PushSubscription is where the device of a session is woken (RFC 8030), and the keys with
// which it reads what it is told (RFC 8291).
type PushSubscription struct {
	Session  SessionID
	User     UserID
	Endpoint string
	Point    []byte
	Auth     []byte
}

// PushSettings are for what a user's devices are woken.
type PushSettings struct {
	// Direct and Groups count where the user set no level for the conversation.
	Direct, Groups PushLevel
	// MuteMentions: in muted groups not for mentions either.
	MuteMentions bool
	// HideText: a push tells the conversation and no more.
	HideText bool
	// QuietFrom and QuietUntil are minutes of the day in the zone, both the same: no hours
	// are quiet.
	QuietFrom, QuietUntil int
	QuietZone             string
}

// PushTarget is a user of a conversation who has a device that can be woken.
type PushTarget struct {
	Conversation ConversationID
	User         UserID
	Settings     PushSettings
}

// PushJob asks for the devices of a user to be told of a conversation: of messages from
// First to Seq.
type PushJob struct {
	Conversation ConversationID
	User         UserID
	First, Seq   uint64
}

// PushWork is what is to be looked at for one device and one conversation.
type PushWork struct {
	PushSubscription
	Conversation ConversationID
	Settings     PushSettings
	// First and Seq are of the messages that the device is to be told of; Shown is the one
	// that it was told of last, at ShownAt. Seq > Shown: there is something to tell.
	First, Seq, Shown uint64
	ShownAt           time.Time
	// Made is when there was first something to tell, Tries how often that failed.
	Made  time.Time
	Tries int
}

// PushStep is what becomes of a PushWork.
type PushStep uint8

// The steps.
const (
	// PushDone: there is nothing more to do.
	PushDone PushStep = iota + 1
	// PushTold: the device was told of Shown; it is looked at again at At.
	PushTold
	// PushLook: it is looked at again at At.
	PushLook
	// PushAgain: telling failed, and is tried again at At.
	PushAgain
	// PushFailed: telling failed for good, and the subscription may be dead.
	PushFailed
	// PushGone: the push service says that there is no such subscription.
	PushGone
)

// PushOutcome tells what becomes of a PushWork.
type PushOutcome struct {
	Step PushStep
	// Shown is what the device was told of.
	Shown   uint64
	Now, At time.Time
}

// PushNames are what a user knows a conversation and who wrote in it by.
type PushNames struct {
	// Sender is the user's own name for who wrote, or what they are called there.
	Sender string
	// Title is the group's name, "" of a direct chat.
	Title string
	// Blocked: the user blocked who wrote.
	Blocked bool
}
