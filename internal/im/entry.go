package im

import "time"

// EntryKind is what an entry is. The numbers are the contract's.
type EntryKind uint8

// The kinds of entries.
const (
	EntryMessage  EntryKind = 1
	EntryRecall   EntryKind = 2
	EntryEvent    EntryKind = 3
	EntryEdit     EntryKind = 4
	EntryReaction EntryKind = 5
	EntryPin      EntryKind = 6
	EntryVote     EntryKind = 7
	EntryPollEnd  EntryKind = 8
	// EntryStream goes on with a streamed message, or ends it.
	EntryStream EntryKind = 9
	// EntryPreview is the server's: what the first link of its target leads to.
	EntryPreview EntryKind = 10
	// EntryReply is a message in the thread of its target, the root, which says how many
	// there are. It does not count as unread.
	EntryReply EntryKind = 11
)

// Said reports whether an entry of this kind is what a member said: a message of the
// conversation, or one in a thread.
func (k EntryKind) Said() bool { return k == EntryMessage || k == EntryReply }

// Entry is one entry of a conversation's journal: what the server acts on, and a
// body that says what it means. Entries are values; the slices in them are shared
// and never written to.
type Entry struct {
	Conversation ConversationID
	// Seq numbers the entries of a conversation 1, 2, 3 … without a gap.
	Seq    uint64
	ID     MessageID
	Sender UserID // "" is the server
	Stored time.Time
	Kind   EntryKind
	// Count is the number of countable entries up to and including this one.
	Count uint64
	// Target is the seq that an amendment is about, earlier in the same conversation; of
	// EntryReply, and of an EntryMessage that is said in a thread as well, that of the
	// thread's root; 0: this entry concerns no other one.
	Target uint64
	// Amended is the seq of the last amendment of this entry, whose outcome Body is;
	// 0: it is as it was written. Recalled: it was taken back, for ever; Body is empty.
	Amended  uint64
	Recalled bool

	// Pos is the position of the append in the whole journal, told to users for
	// Newest only.
	Pos uint64
	// Roster is the conversation's roster revision as of this entry.
	Roster uint64

	// Body says the rest, in the form of internal/entrycodec. Nobody but that package
	// looks inside: the stores, the bus, migrations and backups carry it as it is.
	Body []byte
	// Event is what the Body of an EVENT says, for those that act on it. Whoever made
	// or decoded the entry sets it; a journal neither keeps nor tells it.
	Event *Event
}

// Countable reports whether the entry counts as unread.
func (e *Entry) Countable() bool { return e.Kind == EntryMessage }

// Amends reports whether the entry changes an earlier one. But for EntryReply it says
// nothing else.
func (e *Entry) Amends() bool { return e.Target != 0 && e.Kind != EntryMessage }

// Root is the root of the thread that a message is said in, 0 if it is said in none.
func (e *Entry) Root() uint64 {
	if e.Kind.Said() {
		return e.Target
	}
	return 0
}

// EventType is what happened. The numbers are the contract's.
type EventType uint8

// The types of events.
const (
	EventGroupCreated     EventType = 1
	EventGroupRenamed     EventType = 2
	EventMemberAdded      EventType = 3
	EventMemberLeft       EventType = 4
	EventMemberRemoved    EventType = 5
	EventRoleChanged      EventType = 6
	EventMemberMuted      EventType = 7
	EventOwnerChanged     EventType = 8
	EventGroupDismissed   EventType = 9
	EventGroupRestored    EventType = 10
	EventGroupChanged     EventType = 11
	EventMemberBanned     EventType = 12
	EventMemberUnbanned   EventType = 13
	EventMemberNicknamed  EventType = 14
	EventLifetimeChanged  EventType = 15
	EventContactRequested EventType = 20
	EventContactAccepted  EventType = 21
	EventContactRefused   EventType = 22
	EventContactRemoved   EventType = 23
	// The following tell a user's own devices what one of them changed, nobody else.
	EventContactBlocked   EventType = 24
	EventContactUnblocked EventType = 25
	EventContactRemarked  EventType = 26
	EventProfileChanged   EventType = 27
	// What a group does in a user's own feed.
	EventGroupInvited           EventType = 28
	EventGroupInvitationRefused EventType = 29
	EventJoinRequested          EventType = 30
	EventJoinRefused            EventType = 31
	EventJoinWithdrawn          EventType = 32
	EventContactTagged          EventType = 33
	EventContactExpired         EventType = 34
	// What the user scheduled is another.
	EventScheduledChanged EventType = 35
	// A contact's profile is another.
	EventContactProfile EventType = 36
	// How the user proves themselves is another; Text says which way.
	EventSecurityChanged EventType = 37
)

// Event is something that happened to a conversation (group events) or to a
// user (contact events in the me feed).
type Event struct {
	Type  EventType `json:"t"`
	Users []UserID  `json:"u,omitempty"`
	Role  Role      `json:"r,omitempty"`
	Until time.Time `json:"m,omitzero"`
	Text  string    `json:"x,omitempty"`
	// Group is what changed of a group's settings; of EventMemberAdded History alone,
	// if those who are added see what was before.
	Group *GroupChange `json:"g,omitempty"`
	// Conversation is the group that an event of a me feed is about.
	Conversation ConversationID `json:"c,omitempty"`
	// Banned: who is removed may not come back until Until, zero = for ever.
	Banned bool `json:"b,omitempty"`
	// Lifetime is how long messages live from here on, in whole seconds; 0: they stay.
	Lifetime time.Duration `json:"l,omitempty"`
}

// Role is a member's role in a group. The numbers are the contract's; a
// greater role may do all a lesser may.
type Role uint8

// The roles.
const (
	RoleNone   Role = 0
	RoleMember Role = 1
	RoleAdmin  Role = 2
	RoleOwner  Role = 3
)

// Message is what a member asks to store.
type Message struct {
	Conversation ConversationID
	ID           MessageID
	Kind         EntryKind
	Target       uint64 // of an amendment
	// ReplyTo is a seq that must be there; Body says it, too.
	ReplyTo uint64
	// Body is the entry's (internal/entrycodec). It is shared and never written to.
	Body []byte
	// Hash identifies what the message says, so that a second message under the same
	// id is told from a resend. It is stored with the id and never changes.
	Hash uint64
}
