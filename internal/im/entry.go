package im

import (
	"encoding/binary"
	"hash/fnv"
	"time"
)

// EntryKind is what an entry is. The numbers are the contract's.
type EntryKind uint8

// The kinds of entries.
const (
	EntryMessage EntryKind = 1
	EntryRecall  EntryKind = 2
	EntryEvent   EntryKind = 3
)

// Entry is one entry of a conversation's journal. Entries are values; the
// slices in them are shared and never written to.
type Entry struct {
	Conversation ConversationID
	// Seq numbers the entries of a conversation 1, 2, 3 … without a gap.
	Seq    uint64
	ID     MessageID
	Sender UserID // "" is the server
	Stored time.Time
	Kind   EntryKind

	Content  Content
	ReplyTo  uint64
	Mentions []UserID
	// Count is the number of countable entries up to and including this one.
	Count    uint64
	Recalled bool
	// Target is the seq a RECALL takes back.
	Target uint64
	// Event is set for EVENT entries.
	Event *Event

	// Pos is the journal-wide position of the append, never shown to users.
	Pos uint64
	// Roster is the conversation's roster revision as of this entry.
	Roster uint64
}

// Countable reports whether the entry counts as unread.
func (e *Entry) Countable() bool { return e.Kind == EntryMessage }

// Content is what a member wrote; the server never looks inside Body.
type Content struct {
	Type string // [a-z0-9._-]{1,64}
	Body []byte
	// Text tells that Body is UTF-8 text, shown as text in JSON.
	Text bool
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
	EventContactRequested EventType = 20
	EventContactAccepted  EventType = 21
	EventContactRefused   EventType = 22
	EventContactRemoved   EventType = 23
	// The following tell a user's own devices what one of them changed, nobody else.
	EventContactBlocked   EventType = 24
	EventContactUnblocked EventType = 25
	EventContactRemarked  EventType = 26
	EventProfileChanged   EventType = 27
)

// Event is something that happened to a conversation (group events) or to a
// user (contact events in the me feed).
type Event struct {
	Type  EventType `json:"t"`
	Users []UserID  `json:"u,omitempty"`
	Role  Role      `json:"r,omitempty"`
	Until time.Time `json:"m,omitzero"`
	Text  string    `json:"x,omitempty"`
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
	Kind         EntryKind // EntryMessage or EntryRecall
	Content      Content
	ReplyTo      uint64
	Mentions     []UserID
	Target       uint64 // EntryRecall
}

// Hash identifies what a message says, so that a second message under the same
// id is told from a resend. It is stored with the id and must never change.
func (m *Message) Hash() uint64 {
	h := fnv.New64a()
	var n [8]byte
	num := func(v uint64) {
		binary.BigEndian.PutUint64(n[:], v)
		h.Write(n[:])
	}
	str := func(s string) {
		num(uint64(len(s)))
		h.Write([]byte(s))
	}
	str(string(m.Conversation))
	num(uint64(m.Kind))
	str(m.Content.Type)
	num(uint64(len(m.Content.Body)))
	h.Write(m.Content.Body)
	if m.Content.Text {
		num(1)
	}
	num(m.ReplyTo)
	num(m.Target)
	for _, u := range m.Mentions {
		str(string(u))
	}
	return h.Sum64()
}
