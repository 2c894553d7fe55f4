package im

import (
	"context"
	"slices"
	"time"
)

// Logic is what gateways and the API ask of the role that decides and stores.
// In one process it is a plain value; otherwise a stub that forwards.
//
// Every error is fit for im.Public.
type Logic interface {
	// Authenticate checks a token and binds the connection to its session. It
	// makes older connections yield according to the device policy (through
	// Dispatch.Control).
	Authenticate(ctx context.Context, h Handshake) (Actor, error)

	// Send takes a message and returns at once; reply is called exactly once,
	// from any goroutine, with the durable outcome. Replies for one conversation
	// come in the order of the sends. Overload is a reply as well. The caller must
	// keep msg's slices unchanged until the reply. reply must not block. A ctx that
	// ends with the cause ErrWithdrawn takes the message back if nothing was decided
	// yet: it is refused as unavailable. Otherwise the end of ctx changes nothing.
	// From a send on that is refused for now, those behind it by from.Order are
	// refused as well.
	Send(ctx context.Context, from Actor, msg Message, reply func(Ack, error))

	// Mark moves the actor's marks forward. Marks beyond the head are refused. It
	// does not wait for another process: reply is called exactly once, from any
	// goroutine, perhaps before Mark returns. reply must not block.
	Mark(ctx context.Context, from Actor, c ConversationID, received, read uint64, reply func(error))

	// Sync answers what changed since a position, or a page of the conversation list.
	Sync(ctx context.Context, from Actor, q SyncQuery) (SyncResult, error)

	// Pull reads a part of a conversation.
	Pull(ctx context.Context, from Actor, q PullQuery) (PullResult, error)

	// Compare tells whether a device that holds everything up to digest since
	// position misses something, and the new position if it does not ("": there is
	// none yet, the old one stays).
	Compare(ctx context.Context, from Actor, position string, digest uint64) (same bool, newPosition string, err error)

	// Signal passes an ephemeral signal on (typing, or of the clients' own), or answers
	// which users the actor may watch (presence), or notes when users were there last.
	Signal(ctx context.Context, from Actor, s Signal) ([]Watched, error)

	// Call runs an API method; the answer is the protobuf encoding of the method's
	// response.
	Call(ctx context.Context, from Actor, call Call) ([]byte, error)
}

// Dispatch is what logic asks of the gateways, wherever they are. Calls never
// block and never fail: what cannot be passed on is dropped and repaired by
// beacons and digests. After the call neither users nor anything of the parcel is
// kept, except the memory that its entries' contents point to: nobody changes that.
type Dispatch interface {
	// ToUsers passes a parcel to all connections of the users.
	ToUsers(users []UserID, p Parcel)
	// ToGroup passes a parcel to all connections of the group's members.
	ToGroup(c ConversationID, p Parcel)
	// Control ends or changes connections.
	Control(c Control)
	// Flush tells that the batch is done: write what was queued.
	Flush()
}

// Handshake is what a Hello or an HTTP request proves who it is with.
type Handshake struct {
	Token string
	// Connection is set for connections; empty for HTTP requests.
	Connection ConnectionID
	Device     Device
	Client     string
	Address    string
	// Request is the id of the request that asks, "" for none.
	Request string
}

// Call asks for an API method.
type Call struct {
	// Method is `skein.v1.<Service>/<Method>`.
	Method string
	// Payload is the protobuf encoding of its request.
	Payload []byte
	// Key is the idempotency key, "" for none (SPEC §8).
	Key string
}

// Device is one installation of a client.
type Device struct {
	ID    string
	Class DeviceClass
	Name  string
}

// DeviceClass is a kind of device. The numbers are the contract's.
type DeviceClass uint8

// The classes of devices.
const (
	DeviceUnspecified DeviceClass = iota
	DevicePhone
	DeviceTablet
	DeviceDesktop
	DeviceWeb
	DeviceOther
)

// Actor is who asks, proved by Authenticate. The zero Actor is a stranger.
type Actor struct {
	User       UserID
	Session    SessionID
	Connection ConnectionID
	Device     Device
	Address    string
	// Role is what they may do to the deployment, as of the handshake: calls that need one
	// look again. The admin key is an owner whose User is "".
	Role ServerRole
	// ExpiresMs is when the access token ends, in Unix milliseconds; 0 for the admin key.
	ExpiresMs int64

	// Of a send: the order it has to keep, nil for none, and its place in it.
	Order *Order
	Turn  Turn
	// Doubt, of a send: another node had it before and may yet store it, so that even
	// a refusal for good holds up what is behind it.
	Doubt bool
	// Had, of a send: when this process got it, if that was before it is asked to send.
	Had time.Time
}

// Ack is the durable outcome of a send.
type Ack struct {
	Seq    uint64
	Count  uint64
	Stored time.Time
	Pos    uint64
	// Follows: the entry is on its way to the gateways as well, with the connection
	// that sent it as its Origin, and the ack has its place there. Otherwise it was
	// stored before: a resend.
	Follows bool
}

// SyncQuery asks for changes (Position set) or a page of the list (cold).
type SyncQuery struct {
	Position string
	Timeline string
	Limit    int
	Cursor   string
	// Heads: what changed is asked for without the entries.
	Heads bool
	// Newest is the newest of all entries that the device has applied, zero if it
	// does not say: an entry that is not in the journal means that the device knows
	// another history.
	Newest Newest
	// Only, if set, asks for the states of these alone, as they are now, and everything
	// else is empty: the answer has no position. At most MaxOnly.
	Only []ConversationID
}

// MaxOnly is of how many conversations a SyncQuery asks for the states alone. All of them
// fit into one answer.
const MaxOnly = 20

// Newest names an entry by all that tells it from what another history has in its
// place.
type Newest struct {
	Conversation ConversationID
	Seq          uint64
	ID           MessageID
	StoredMs     int64
	Pos          uint64
}

// Is tells whether e is the entry that is meant.
func (n *Newest) Is(e *Entry) bool { return *n == NewestOf(e) }

// NewestOf names an entry.
func NewestOf(e *Entry) Newest {
	return Newest{Conversation: e.Conversation, Seq: e.Seq, ID: e.ID, StoredMs: e.Stored.UnixMilli(), Pos: e.Pos}
}

// SyncResult is the answer to a SyncQuery.
type SyncResult struct {
	Timeline      string
	Position      string
	Conversations []ConversationState
	Next          string
	Reset         bool
}

// ConversationState is a conversation as one user sees it.
type ConversationState struct {
	Conversation ConversationID
	Head         Head
	// First and Until bound what the user may read of the last time they were in it;
	// Until 0 = member. Earlier are the times before, in their order.
	First, Until           uint64
	Earlier                []PastWindow
	Read                   uint64
	Unread                 uint64
	PeerReceived, PeerRead uint64
	Title                  string
	// MarksOnly, of a conversation that changed since a position: it has no entry after
	// it.
	MarksOnly bool
	// Recalled is how many messages of these windows above Read were recalled, which
	// Unread leaves out; RecalledSeqs are the first of them.
	Recalled     uint64
	RecalledSeqs []uint64
	// UnreadMentions is how many messages of what is unread mention the user;
	// MentionSeqs are the first of them.
	UnreadMentions uint64
	MentionSeqs    []uint64
	// Lifetimes are the periods in which messages disappear, without those that are over.
	Lifetimes []Period
	// Floor is up to where it is gone for all, 0: nothing is (SPEC §4.33).
	Floor uint64
	// Mine is what the user set for themselves.
	Mine MyState
	// Told is what is told of the entries, up to Head; its First is 0 if nothing is.
	Told Stretch
}

// Stretch is what the entries from First to Last come to for a user; 0, 0: there are
// none. Whatever of them is the user's to read and not in Entries amends another one.
type Stretch struct {
	First, Last uint64
	// Entries are those that amend nothing, Touched those before First which something
	// in it amended, as they are now, each ascending in seq.
	Entries, Touched []Entry
	// End names the entry at Last, if it is not among Entries.
	End Newest
}

// PullQuery asks for a part of a conversation.
type PullQuery struct {
	Conversation ConversationID
	From         uint64
	Backward     bool
	Limit        int
	// At, if set, takes the place of From: forward from the first entry stored then or
	// later, backward from the one before that.
	At time.Time
}

// PullResult is what was asked for, as far as one answer goes.
type PullResult struct {
	Stretch
	Head uint64
}

// Signal is something that may be lost.
type Signal struct {
	// Typing in a conversation …
	Typing ConversationID
	// … or a signal of the clients' own …
	Custom *CustomSignal
	// … or wanting to watch these users …
	Watch []UserID
	// … or, of a gateway, those who are there no more.
	Seen []Watched
}

// Watched is a user whose presence somebody may see, and when they were there last,
// zero if nobody knows.
type Watched struct {
	User UserID
	Seen time.Time
}

// CustomSignal is what clients tell each other and nobody keeps. Nobody but they knows
// what it means.
type CustomSignal struct {
	Conversation ConversationID
	// User is who says it, as Logic knows.
	User UserID
	Type string
	Data []byte
}

// Parcel is what travels to gateways. Exactly one of the pointer or slice
// fields is set.
type Parcel struct {
	// Entries are new entries of one conversation, in seq order.
	Entries []Entry
	// Origin is the connection that gets an entry's ack in its place and needs no push
	// of it; parallel to Entries, "" for none. May be nil.
	Origin []ConnectionID
	// Head is a beacon: the conversation's last entry, after a burst.
	Head *ParcelHead
	// Receipt are somebody's marks.
	Receipt *Mark
	// MyState is what the user to whom it goes set for themselves.
	MyState *MyState
	// Floor is up to where a conversation is gone for all, as it rose.
	Floor *Floor
	// Typing is who types where; not passed to their own connections.
	Typing *ParcelTyping
	// Custom is a signal of the clients' own; likewise.
	Custom *CustomSignal
}

// ParcelHead is a beacon.
type ParcelHead struct {
	Conversation ConversationID
	Seq          uint64
	Roster       uint64
	// Added are those whom entries before this beacon made members: where they are,
	// nobody may know of the group yet. Not all when they are very many.
	Added []UserID
}

// ParcelTyping tells who types where.
type ParcelTyping struct {
	Conversation ConversationID
	User         UserID
}

// Control ends connections of a user, or what they watch.
type Control struct {
	User UserID
	// Unwatch, if set, is all this Control means: no connection is ended, but none of
	// User's (of all users', if User is empty) is told of this user's presence any longer,
	// until Logic was asked again whether it may be. It is sent after what forbids or
	// allows it is committed.
	Unwatch UserID
	// Session: connections of this session only, "" = all that match below.
	Session SessionID
	// Yield: connections older than (At, By) and of class Class (any class when
	// DeviceUnspecified) close because By took their place; those of By's own device
	// stay.
	Yield bool
	By    Device
	// ByConnection and At order two logins that race: the greater (At, ByConnection) stays.
	ByConnection ConnectionID
	At           time.Time
	Class        DeviceClass
	// Code is why, when Yield is false: session_revoked, account_deleted, banned, token_expired.
	Code Code
	// Text is what the user is told besides the code; empty: that the session was ended.
	Text string
	// News, if set, is all this Control means: what the deployment announces changed.
	News bool
}

// Membership is a user's place in a conversation.
type Membership struct {
	Conversation ConversationID
	// First and Until bound what may be read of the last time; Until 0 = member still.
	First, Until uint64
	Title        string
	// Earlier are the times before, in their order, if they were asked for.
	Earlier []Window
	// ReadTo: what lies up to it is not unread, whatever was read. Told with Earlier.
	ReadTo uint64
}

// Readable is what a user may read of a conversation and did not clear for themselves.
type Readable struct {
	Conversation ConversationID
	// Windows are stretches of it, ascending; at least one.
	Windows []Window
	// Newest is the position of the last entry there, or a later one.
	Newest uint64
}

// Reader is a member of a group: User is one without a break since the entry Since, that
// of their joining.
type Reader struct {
	User  UserID
	Since uint64
}

// MaxReaders is how many members a group may have that tells who has read a message.
const MaxReaders = 200

// Window is a time of membership: the entries from First until Until, both
// included; Until 0 = to the end.
type Window struct{ First, Until uint64 }

// MaxWindows is how many times of membership of a user in a group are kept, the
// last one included. The oldest are dropped.
const MaxWindows = 64

// PastWindow is a time of membership that has ended, with another one after it.
type PastWindow struct {
	Window
	// Hidden is how many messages lie between it and the next, told if the user's
	// read mark does not lie behind them.
	Hidden uint64
}

// Promised is a change of a user's place in a group (they join or leave it) that
// is promised and not made yet. From the revision on that the promise sets, the
// journal has the entry and the directory does not show what it did.
type Promised struct {
	Conversation ConversationID
	Roster       uint64
}

// Standing is what a gateway knows a user by: for its registry, and for finding
// out what it was told and did not hear.
type Standing struct {
	// Groups the user is a member of.
	Groups []GroupStanding
	// Sessions that have not ended; nil when nobody looked.
	Sessions []SessionID
}

// GroupStanding is a membership as of a roster revision.
type GroupStanding struct {
	Conversation ConversationID
	Roster       uint64
	// From is the entry from which on all are theirs to read; 0: not known.
	From uint64
}

// From is the entry from which on all are theirs to read who are members still.
func (m *Membership) From() uint64 {
	from := m.First
	for _, w := range slices.Backward(m.Earlier) {
		if w.Until+1 < from {
			break
		}
		from = min(from, w.First)
	}
	return from
}

// Delivery is a stored entry on its way to the members.
type Delivery struct {
	Entry Entry
	// Origin is the connection that gets the ack instead of a push; "" for none.
	Origin ConnectionID
}

// Promise is an entry that a directory transaction promised to append: the
// outbox row. Its id was fixed in advance, so appending twice is harmless.
type Promise struct {
	ID           MessageID
	Conversation ConversationID
	Sender       UserID
	Event        Event
	// IfRoster and SetRoster as in Append; both 0 in me feeds.
	IfRoster, SetRoster uint64
}
