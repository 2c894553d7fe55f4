package skein

import (
	"context"

	"github.com/skein-im/skein/wire"
)

// Store keeps what a client knows. NewMemoryStore keeps it while the process
// lives, package sqlitestore on disk; storetest.Run checks any other.
//
// Apply is called by one goroutine at a time, reads may come from others at
// the same time. Entries and records that are passed in or returned are not
// changed by either side afterwards. One store serves one client at a time;
// the client does not close it.
type Store interface {
	// Load returns what the client keeps in memory.
	Load(ctx context.Context) (*Snapshot, error)
	// Apply makes all changes of a batch or none. When it returns nil they are
	// durable and visible to every read that begins afterwards.
	Apply(ctx context.Context, b *Batch) error
	// Entries returns the conversation's entries from..to (both included) in
	// ascending order; if there are more than limit, the newest of them.
	Entries(ctx context.Context, conversation string, from, to uint64, limit int) ([]*wire.Entry, error)
	// Feed returns the events with a number greater than after, in order, at most limit.
	Feed(ctx context.Context, after uint64, limit int) ([]FeedItem, error)
	// Close releases the store.
	Close() error
}

// Snapshot is what Load returns.
type Snapshot struct {
	Meta          Meta
	Conversations []ConversationRecord
	// Outbox is in ascending order of N.
	Outbox []OutboxRecord
	// Threads are the threads that are kept, in any order: at most 64, with at most 200
	// replies and 256 KiB each, or one reply.
	Threads []ThreadRecord
	// LastFeed is the highest feed number ever used.
	LastFeed uint64
}

// Meta is what there is one of.
type Meta struct {
	// User and Timeline say whose journal it is, and which; empty at first.
	User, Timeline string
	// Device is the id the client made for itself, if it was not given one.
	Device string
	// Position up to which everything is in the store or known to be missing.
	Position string
	// Listing: the conversation list of a cold start is not complete yet; ListNext
	// is the cursor of the next page.
	Listing  bool
	ListNext string
	// SettledAtMs: marks sent before this time (Unix ms) need no repetition.
	SettledAtMs int64
}

// ConversationRecord is what is known of a conversation.
type ConversationRecord struct {
	ID    string
	Title string
	// First visible entry of the last time the user was a member, 0 = not known.
	// Until: the last, once they have left; 0 = still a member.
	First, Until uint64
	// Earlier are the times before, in their order. The slice is not changed.
	Earlier []Window
	// The window of entries in the store, all that are the user's to read and amend
	// nothing, as they are now; empty when High < Low.
	Low, High uint64
	// Head is the last seq known to exist, HeadCount its running count.
	Head, HeadCount uint64
	LastAtMs        int64
	// Read is the user's read mark, ReadCount the running count there.
	Read, ReadCount uint64
	// Recalled are the messages after Read that were recalled, ascending, and
	// RecalledMore how many more the server knows behind the last of them without
	// having named them. The slice is not changed.
	Recalled     []uint64
	RecalledMore uint64
	// Mentions are the messages after Read that mention the user, as they are now,
	// ascending, and MentionsMore how many more there are behind the last of them
	// without a name. The slice is not changed.
	Mentions     []uint64
	MentionsMore uint64
	// Received is the highest entry of somebody else that is in the store.
	Received uint64
	// MarkedAtMs is when Read or Received last moved here.
	MarkedAtMs             int64
	PeerReceived, PeerRead uint64
	// Last is the last entry up to High that amends nothing, as far as it is known.
	Last *wire.Entry
	// Newest names the entry with the greatest pos that was applied, also an amendment:
	// by it the server sees whether its history is the one that is known here.
	Newest *wire.Newest
	// Mine is what the user set for themselves, nil if nothing ever was.
	Mine *wire.MyState
	// Lifetimes are the periods in which what is said disappears, as far as they are not
	// over, in their order. The slice is not changed.
	Lifetimes []Lifetime
	// Unsure: the server was to tell since when the user is a member, and what is unread;
	// whoever goes on asks again.
	Unsure bool
}

// OutboxState is where a message of the outbox stands.
type OutboxState uint8

// The states of an outbox record.
const (
	// OutboxPending: not acknowledged, to be sent (again).
	OutboxPending OutboxState = 1
	// OutboxStored: acknowledged; its entry waits for those before it.
	OutboxStored OutboxState = 2
	// OutboxFailed: refused for good; kept until it is retried or discarded.
	OutboxFailed OutboxState = 3
)

// OutboxRecord is a message of this device that is not an applied entry yet.
type OutboxRecord struct {
	// N orders the outbox.
	N     uint64
	State OutboxState
	// Send is the frame that is sent, with the id.
	Send *wire.Send
	// MadeAtMs is when the program sent it.
	MadeAtMs int64
	// Seq is set when State is OutboxStored.
	Seq uint64
	// Code and Reason are set when State is OutboxFailed.
	Code, Reason string
}

// FeedKind is what an event of the feed is about. The numbers are stored.
type FeedKind uint8

// The kinds of feed items.
const (
	FeedEntry    FeedKind = 1 // an entry was applied
	FeedAck      FeedKind = 2 // the entry of a message this client sent was applied
	FeedFailed   FeedKind = 3 // a message was refused
	FeedGap      FeedKind = 4 // entries From..Seq were left out
	FeedReset    FeedKind = 5 // another timeline: everything was forgotten
	FeedChanged  FeedKind = 6 // an entry of the window was amended
	FeedRecalled FeedKind = 7 // the entry Seq of the window turned out to be recalled
	FeedGone     FeedKind = 8 // what lies in From..Seq is gone (SPEC §4.27, §4.33)
)

// FeedItem is an event the program has not handled yet.
type FeedItem struct {
	// N numbers the feed, strictly increasing, for the life of the store.
	N            uint64
	Kind         FeedKind
	Conversation string
	// From and Seq bound what was left out (FeedGap), or is gone (FeedGone).
	From, Seq uint64
	// Entry is set for FeedEntry, FeedAck and FeedChanged, as it is now (Batch.Changed),
	// and with its content even if the entry itself left the window since.
	Entry *wire.Entry
	// Failed is set for FeedFailed.
	Failed *OutboxRecord
}

// Batch is a set of changes, made in the order of the fields.
type Batch struct {
	// Reset forgets conversations, entries and threads; Meta, outbox and feed stay.
	Reset bool
	// ForgetThreads names threads by their roots, Threads adds or replaces them as a whole;
	// no thread is in both. Nothing else touches a thread: Forget and Changed do not.
	ForgetThreads []EntryRef
	Threads       []*ThreadRecord
	// Forget drops the entries of a conversation below a seq.
	Forget []EntryRef
	// Entries are added; one that is there is replaced.
	Entries []*wire.Entry
	// Conversations are added or replaced by ID.
	Conversations []*ConversationRecord
	Meta          *Meta
	// OutboxDelete names records by N; OutboxPut adds or replaces by N.
	OutboxDelete []uint64
	OutboxPut    []*OutboxRecord
	// Feed is appended.
	Feed []FeedItem
	// Changed are entries as they are now: each replaces what is stored of it, in the
	// window and in the feed, and is ignored where nothing is. Of several states of an
	// entry the last one counts. A recalled one has lost its content: nothing of that
	// may stay.
	Changed []*wire.Entry
	// FeedHandled drops feed items up to that number.
	FeedHandled uint64
}

// EntryRef names an entry.
type EntryRef struct {
	Conversation string
	Seq          uint64
}

// Empty reports whether the batch changes nothing.
func (b *Batch) Empty() bool {
	return !b.Reset && b.Meta == nil && b.FeedHandled == 0 &&
		len(b.ForgetThreads)+len(b.Threads)+len(b.Forget)+len(b.Entries)+len(b.Changed)+len(b.Conversations)+
			len(b.OutboxDelete)+len(b.OutboxPut)+len(b.Feed) == 0
}
