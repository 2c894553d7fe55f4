package skein

import (
	"strings"
	"time"

	"github.com/skein-im/skein/wire"
)

// State is where the connection stands.
type State int

// The states of a client.
const (
	// StateDisconnected: no connection; the next attempt comes by itself.
	StateDisconnected State = iota
	// StateConnecting: dialing, greeting, and the first sync.
	StateConnecting
	// StateConnected: the first sync is in the store.
	StateConnected
	// StateStopped: refused or kicked for good; Reconnect tries again.
	StateStopped
	// StateClosed: Close was called or the store failed.
	StateClosed
)

func (s State) String() string {
	return [...]string{"disconnected", "connecting", "connected", "stopped", "closed"}[s]
}

// Status is where a message of the user stands.
type Status int

// The ticks of a message.
const (
	// StatusNone: not the user's own.
	StatusNone Status = iota
	// StatusPending: in the outbox, not stored by the server yet.
	StatusPending
	// StatusSent: stored by the server.
	StatusSent
	// StatusDelivered: a device of the other side has it (dm).
	StatusDelivered
	// StatusRead: the other side has read it (dm).
	StatusRead
	// StatusFailed: refused, see Message.Err.
	StatusFailed
)

func (s Status) String() string {
	return [...]string{"", "pending", "sent", "delivered", "read", "failed"}[s]
}

// Message is an entry of a conversation, or a message that is still in the outbox.
type Message struct {
	Conversation string
	// Seq is 0 while it is in the outbox.
	Seq uint64
	ID  MessageID
	// Sender is a user id; "" is the server.
	Sender string
	// Own: the user wrote it, on this device or another.
	Own    bool
	Status Status
	// Err is set for StatusFailed.
	Err *Error
	// Time the server stored it; while it is in the outbox, the time it was written.
	Time time.Time
	Kind wire.EntryKind

	// Type is the content's type, "text" for text; empty when it was recalled.
	Type string
	Text string
	Data []byte
	// Fallback is shown in the content's place by who does not know its type.
	Fallback string
	// Extra is the integrator's own.
	Extra    map[string]string
	ReplyTo  uint64
	Mentions []string
	// GroupMention tells that it mentions all members, or who is there.
	GroupMention wire.GroupMention
	Recalled     bool
	// Amended is the seq of the entry that made it what it is, 0: it is as it was written.
	Amended uint64
	// EditedAt is when it was last edited, zero: never; Edits how often.
	EditedAt time.Time
	Edits    int
	// Reactions are how many reacted with what, some of them, and whether the user did.
	Reactions []*wire.Reaction
	// Poll is what the message asks and what was answered; nil: it is no poll.
	Poll *wire.Poll
	// Pinned tells who pinned it, and when; nil: it is not pinned.
	Pinned *wire.Pinned
	// Thread is the root of the thread that the message is in, 0 if it is in none. AlsoInMain:
	// it stands in the conversation's own line as well.
	Thread     uint64
	AlsoInMain bool
	// Replies is how many replies the thread has that begins with it; LastReply is when the
	// last one was said.
	Replies   int
	LastReply time.Time
	// Silent: its sender asks that nobody be notified of it.
	Silent bool
	// Forward tells who said it first, and when; nil: it is its sender's own.
	Forward *wire.Forward
	// Media are the uploads that it names. Of a message that was sent from here just now
	// they have their ids alone.
	Media []*wire.Media
	// Preview is what its first link leads to, as the server found it; nil: none, or none yet.
	// NoPreview: its sender asks for none.
	Preview   *wire.Preview
	NoPreview bool
	// Streaming: its author goes on with it; Text is what is durable of it so far.
	Streaming bool
	// CutOff: the server ended it, because its author was silent.
	CutOff bool
	// Target is the seq a recall takes back.
	Target uint64
	// Event is set for entries of kind EVENT.
	Event *wire.Event
	// Count is the running count of messages up to this one.
	Count uint64
}

// Summary is a line of the conversation list.
type Summary struct {
	ID string
	// Title is a group's name, empty for others.
	Title string
	// Peer is the other user of a dm.
	Peer string
	// Last is the last applied entry that is no recall or other amendment, nil if none
	// is known.
	Last   *Message
	LastAt time.Time
	Unread uint64
	// UnreadMentions are those of them that mention the user.
	UnreadMentions uint64
	// Read is the user's own read mark.
	Read                   uint64
	PeerReceived, PeerRead uint64
	// Low..High are the entries in the store, all of them that are the user's to
	// read, without amendments; Head is the last known to exist.
	Low, High, Head uint64
	// Member: false once the user has left or was removed.
	Member bool
	// Mine is what the user set for themselves here, on any device; never nil.
	Mine *wire.MyState
	// Hidden: the user hid it, and nothing was written since. MarkedUnread: they marked it
	// as unread, and did not read on since.
	Hidden, MarkedUnread bool
}

// Kind tells the kinds of conversations apart.
type Kind int

// The kinds of conversations.
const (
	KindInvalid Kind = iota
	KindDM
	KindGroup
	// KindMe is the user's own feed of contact events.
	KindMe
)

func kindOf(id string) Kind {
	kind, rest, _ := strings.Cut(id, ":")
	switch kind {
	case "dm":
		a, b, ok := strings.Cut(rest, ":")
		if ok && validID(a) && validID(b) && a <= b {
			return KindDM
		}
	case "grp":
		if validID(rest) {
			return KindGroup
		}
	case "me":
		if validID(rest) {
			return KindMe
		}
	}
	return KindInvalid
}

// validID: [A-Za-z0-9_-]{1,64}, SPEC §2.
func validID(s string) bool {
	for i := range len(s) {
		c := s[i]
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && c != '_' && c != '-' {
			return false
		}
	}
	return len(s) > 0 && len(s) <= 64
}

// DM returns the id of the direct chat of two users; of one with themselves it has their
// notes (Client.Saved).
func DM(a, b string) string {
	if a > b {
		a, b = b, a
	}
	return "dm:" + a + ":" + b
}

func peerOf(conversation, user string) string {
	if kindOf(conversation) != KindDM {
		return ""
	}
	a, b, _ := strings.Cut(conversation[3:], ":")
	switch {
	case a == b:
		return "" // one's notes
	case a == user:
		return b
	}
	return a
}

func messageOf(e *wire.Entry, user string) *Message {
	m := &Message{
		Conversation: e.Conversation, Seq: e.Seq, ID: idFrom(e.Id), Sender: e.Sender,
		Own:  e.Sender != "" && e.Sender == user,
		Time: time.UnixMilli(e.StoredAtMs), Kind: e.Kind,
		ReplyTo: e.ReplyTo, Mentions: e.Mentions, GroupMention: e.GroupMention, Recalled: e.Recalled, Amended: e.Amended,
		Target: e.Target, Event: e.Event, Count: e.Count, Extra: e.Extra, Reactions: e.Reactions, Poll: e.Poll,
		Pinned: e.Pinned, Silent: e.Silent, Forward: e.Forward, Streaming: e.Streaming, CutOff: e.CutOff, Media: e.Media,
		Preview: e.Preview, NoPreview: e.NoPreview,
	}
	if c := e.Content; c != nil {
		m.Type, m.Text, m.Data, m.Fallback = c.Type, c.GetText(), c.GetData(), c.Fallback
	}
	if e.EditedAtMs > 0 {
		m.EditedAt, m.Edits = time.UnixMilli(e.EditedAtMs), int(e.Edits)
	}
	m.setThread(e)
	if m.Own && (e.Kind == wire.EntryKind_ENTRY_KIND_MESSAGE || isReply(e)) {
		m.Status = StatusSent
	}
	return m
}

// tick refines the status of an own message by the peer's marks.
func (m *Message) tick(peerReceived, peerRead uint64) {
	switch {
	case m.Status != StatusSent:
	case m.Seq <= peerRead:
		m.Status = StatusRead
	case m.Seq <= peerReceived:
		m.Status = StatusDelivered
	}
}

func messageOfOutbox(r *OutboxRecord, user string) *Message {
	m := messageOf(entryOf(r.Send, user), user)
	m.Seq, m.Time, m.Status = r.Seq, time.UnixMilli(r.MadeAtMs), StatusPending
	switch r.State {
	case OutboxStored:
		m.Status = StatusSent
	case OutboxFailed:
		m.Status = StatusFailed
		m.Err = &Error{Code: wire.Code(r.Code), Message: r.Reason}
	}
	return m
}
