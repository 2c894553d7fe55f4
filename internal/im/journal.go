package im

import (
	"cmp"
	"context"
	"errors"
	"time"
)

// Journal is the contract of the store that keeps conversations. The engines
// (internal/journal/…) pass internal/journal/journaltest; the messaging
// package is its only user.
//
// All methods may be called concurrently. Errors of Append other than those
// named leave the engine unusable: the process stops serving (see ErrJournalFailed).
type Journal interface {
	// Append stores a batch in one atomic, durable step for each shard it concerns (it
	// returns after fsync or commit) and fills out[i] for batch[i]; len(out) ==
	// len(batch). So what is stored of a conversation is always all of it, in one step;
	// of two conversations it is where they lie in one shard. Items are treated in their
	// order:
	//   - (sender, id) stored before in this conversation, also earlier in the batch:
	//     Duplicate with the original's seq and time, or IDConflict when the hash
	//     differs (then nothing of the original is revealed). The same id in another
	//     conversation is another entry;
	//   - IfRoster differs from the conversation's roster revision: RosterChanged;
	//   - Amend has a condition that does not hold: TargetChanged;
	//   - after either of these, every later new item of that conversation in the
	//     batch is RosterChanged, so that a sender's order survives the retry;
	//   - otherwise Stored: seq is the conversation's last + 1.
	// In a store that others use as well, somebody may hold what a conversation
	// needs: then all its items, also earlier ones and resends, are Busy within about
	// a second, nothing of them was stored, and the other conversations go on. Where
	// all items of the batch have NoWait, they are Locked within some appends' time, so
	// that the others need not wait for that second; they become Busy when they are
	// asked for again and it is over.
	// On an error nothing of the batch is visible, now or after a restart, except
	// when the error is ErrOutcomeUnknown, or in a journal of several shards
	// ErrJournalFailed; out means nothing then. Another exception is a *PartlyError: some
	// shards stored their items, and others did not.
	// ErrJournalFull: there is no room; nothing was stored, reading still works.
	// ErrJournalUnavailable: the store cannot be reached now; nothing was stored.
	// ErrAppendInvalid: an item no journal can store, e.g. one that amends a seq
	// its conversation does not have (yet); nothing of the batch was stored, and
	// the engine goes on. Callers check first.
	// A ctx that is done before the batch was begun: its error, nothing was stored.
	// A batch that was begun is never cancelled.
	Append(ctx context.Context, batch []Append, out []Appended) error

	// Read returns at most limit entries in ascending seq order: with backward
	// false those from `from` up (0 and 1 are the same), otherwise those from
	// `from` down (0, or anything beyond the head = from the head). Limit also
	// bounds the bytes returned to about 1 MiB, but at least one entry is returned
	// when there is one.
	Read(ctx context.Context, c ConversationID, from uint64, backward bool, limit int) ([]Entry, error)

	// Heads fills out[i] with the head of cs[i]; a conversation without entries
	// has the zero Head. One whose end cannot be read, because what is stored is
	// damaged, has nothing but Damaged, and keeps nobody from the others.
	// len(out) == len(cs).
	Heads(ctx context.Context, cs []ConversationID, out []Head) error

	// Position returns a position such that in each shard every entry and mark that it
	// covers is visible to later reads, whoever stored it, and durable: no crash takes it
	// away. It names every shard, and in none does it go back within a timeline. In each
	// it is at least that of the last durable Append once no append is under way; a
	// store that several processes append to may tell less until then and for a moment
	// after it, and one that cannot be reached now what it told last, so that what was
	// stored meanwhile is told twice rather than not at all.
	Position(ctx context.Context) (Position, error)

	// Holds tells whether this history is the one that gave out a position: whether
	// everything that it covers is here, in all shards that it names. One with a shard
	// that the journal does not have, or with none, is not of its history. It may be asked
	// at any time later, after any number of restarts; see Eras for those that are
	// forgotten.
	Holds(ctx context.Context, p Position) (bool, error)

	// Timeline names this history. It changes when acknowledged entries are known
	// to be lost, in any shard.
	Timeline() string

	Close() error
}

// Marks is where a journal keeps how far users have received and read. Every engine
// has it; the conformance suite checks it, too. Its positions are the Journal's.
type Marks interface {
	// SetMarks moves marks forward (Received and Read each by itself, never back;
	// ReadCount goes with Read; Mine, if not empty, replaces what was there; Pos is given
	// by the journal) and makes them durable within a second or so, and at Close. A crash may lose those that are not: who
	// answers for a mark, or tells of it, waits as w says; see MarkWait.
	// ErrJournalFull, only to who waits: the marks have moved for readers, and there
	// is no room to store them now. Where a journal has several shards, some of the marks
	// may have moved on any error.
	SetMarks(ctx context.Context, marks []Mark, w MarkWait) error

	// UserMarks returns all marks of a user, in any order.
	UserMarks(ctx context.Context, u UserID) ([]Mark, error)

	// Marks fills out[i] with the mark of keys[i], zero if there is none: never less
	// than what was durable before the call, whoever set it, or with recent, than
	// what was so a second or so before. len(out) == len(keys).
	Marks(ctx context.Context, keys []MarkKey, out []Mark, recent bool) error
}

// Shards is what a journal tells of the stores that it is made of. One without it is
// one store, shard 0.
type Shards interface {
	// Shard is where a conversation's entries are: the Pos of its entries and of its
	// head are that shard's.
	Shard(c ConversationID) Shard
	// UserShard is where a user's marks are, in whatever conversation: the Pos of a mark
	// is its user's shard's, whichever shard the conversation is in.
	UserShard(u UserID) Shard
}

// Recalls is what a journal tells of recalled messages, which do not count as
// unread. Every engine has it; the conformance suite checks it, too.
type Recalls interface {
	// Recalled fills out[i] with the recalled messages of spans[i], of which it names
	// the first ones, at most limit of each span. It is one question to the store,
	// and costs what was recalled there, not what was stored. A span that cannot be
	// read, because what is stored is damaged, has none, and keeps nobody from the
	// others. len(out) == len(spans).
	Recalled(ctx context.Context, spans []Span, limit int, out []Recalled) error
}

// Labels is what a journal tells of labels: short texts that Append puts on entries so
// that they are found again. Every engine has it; the conformance suite checks it, too.
type Labels interface {
	// Labelled fills out[i] with the entries of spans[i] that have its label and are not
	// recalled, of which it names at most limit of each span. It is one question to the
	// store, and costs what has the label there, not what was stored. A span that cannot be
	// read, because what is stored is damaged, has none, and keeps nobody from the others.
	// len(out) == len(spans).
	Labelled(ctx context.Context, spans []LabelSpan, limit int, out []Labelled) error
}

// Trims is how a journal gives up what entries said when their time is over. Every
// engine has it; the conformance suite checks it, too.
type Trims interface {
	// Trim empties the entries of a conversation with After < seq ≤ Until: what they
	// said, what amendments made of them and keep beside that (earlier versions, buckets
	// of reactions and votes), whether they were amended or recalled, and their labels
	// are gone from the store. Their places stay: Seq, ID, Sender, Stored, Kind, Count,
	// Target, Pos and Roster, so that a resend is known for what it was, and counts,
	// positions and heads are what they were. Body is empty, Amended 0, Recalled false.
	//
	// What is trimmed comes back by nothing: an entry without a Body is changed by no
	// amendment (see Amend), also by one that was on its way meanwhile. Amendments that
	// lie in the span are emptied like all others. One that lies behind Until keeps its
	// own body, with the words that it gave a target in the span, until it is trimmed
	// itself: who trims by age comes to it as long after its target as it was stored
	// after it, and must not tell of it before.
	//
	// Nobody may read the entries any more: who calls it has made sure of that before. A
	// read that is under way may still see some as they were.
	//
	// It is durable when it returns without an error. An Until beyond the head is the
	// head. Trimmed again, nothing changes. It works in steps of at most some thousand
	// entries, keeps appends to the conversation waiting for one step at most, and ends
	// between two when ctx is done; after any error a part may be done, which stays done,
	// and it is asked for again. ErrJournalUnavailable, ErrJournalFull and ErrOutcomeUnknown
	// are those of Append; ErrJournalDamaged: what comes before the damage is trimmed.
	Trim(ctx context.Context, s Span) error
}

// MaxLabel is how long a label may be.
const MaxLabel = 80

// LabelSpan are the entries of a span that have a label.
type LabelSpan struct {
	Span
	Label string
	// Newest: those with the greatest seqs are named, descending, of those whose Pos is at
	// most Pos, and nobody counts. Otherwise the first ones are named, ascending, and
	// all are counted.
	Newest bool
	Pos    uint64
}

// Labelled are entries that have a label: how many, and the seqs of some, with the Pos
// of each.
type Labelled struct {
	Count uint64
	Seqs  []uint64
	Pos   []uint64
}

// Lookups is what a journal tells of ids: what became of a message that is refused
// now, and was perhaps stored when it was not. Every engine has it; the conformance
// suite checks it, too.
type Lookups interface {
	// Lookup fills out[i] for batch[i], of which Conversation, ID, Sender and Hash
	// count, as Append does for an id that was stored before: Duplicate or
	// IDConflict; otherwise Absent. It stores nothing, waits for no append, and is one
	// question to the store. Whatever an append stored that returned before the call
	// is found; what is stored meanwhile may be absent. len(out) == len(batch).
	Lookup(ctx context.Context, batch []Append, out []Appended) error
}

// Dates is what a journal does for who brings conversations from elsewhere. Every engine has
// it; the conformance suite checks it, too.
type Dates interface {
	// AppendDated is Append with times of the caller's: what becomes Stored of batch[i] was
	// stored at at[i], in whole milliseconds, for all who read it; out tells the same time.
	// len(at) == len(batch). That times do not go back within a conversation is the
	// caller's to see to: who looks for a time in one relies on it.
	//
	// It is for a store that nobody else uses meanwhile. ErrOutcomeUnknown is final: the
	// same again tells what was stored.
	AppendDated(ctx context.Context, batch []Append, at []time.Time, out []Appended) error
}

// Pages is what a journal tells of a stretch of entries as they come to in the end:
// amendments are not told, what they made of their targets is. Every engine has it;
// the conformance suite checks it, too.
type Pages interface {
	// Page reads one page. It costs what lies in the stretch, amendments included; an
	// engine may end a page early after some thousand of them, but never before it
	// covers one entry.
	Page(ctx context.Context, q PageQuery) (Page, error)
	// ReadAt reads entries of a conversation by their seqs: the i-th is that of seqs[i],
	// one without a Seq where there is none. It is one question to the store. It may end
	// early where they come to more than about 1 MiB, but not before the first.
	ReadAt(ctx context.Context, c ConversationID, seqs []uint64) ([]Entry, error)
}

// PageQuery names a stretch of a conversation and a direction in it.
type PageQuery struct {
	Conversation ConversationID
	// From and Until are the stretch's ends, both included, From ≤ Until and at least
	// 1. Until may lie beyond the conversation's end.
	From, Until uint64
	// Backward: the page begins at Until (or the end, if that comes first) and goes
	// down, otherwise at From and goes up.
	Backward bool
	// Limit is how many entries the page has at most, at least 1; their bytes are
	// bounded as those of Read are.
	Limit int
}

// Page is a part of a stretch.
type Page struct {
	// First and Last are the ends of what the page covers, both included; 0, 0 if the
	// stretch has no entries. Forward First is the query's From.
	First, Last uint64
	// Entries are those of First … Last that amend nothing, as they are now, ascending.
	Entries []Entry
	// Touched are the entries before First that an amendment within First … Last names
	// as its target, as they are now, once each, ascending.
	Touched []Entry
}

// Span are the entries of a conversation with After < seq ≤ Until.
type Span struct {
	Conversation ConversationID
	After, Until uint64
}

// Recalled are recalled entries that would count as unread: how many, and the
// seqs of the first ones, ascending.
type Recalled struct {
	Count uint64
	Seqs  []uint64
}

// The errors of a journal.
var (
	// ErrJournalFull: no room to store; nothing was stored.
	ErrJournalFull = errors.New("journal: disk full")
	// ErrJournalUnavailable: the store cannot be reached now, nothing was stored; it
	// may come back.
	ErrJournalUnavailable error = &Error{Code: CodeUnavailable, Message: "the database cannot do this now", RetryAfter: time.Second}
	// ErrJournalDamaged: what is stored of this conversation is damaged. Others are
	// not concerned.
	ErrJournalDamaged = errors.New("journal: damaged")
	// ErrOutcomeUnknown: the batch may or may not be stored; ask again with the same ids.
	ErrOutcomeUnknown = errors.New("journal: outcome unknown")
	// ErrAppendInvalid: an item of the batch can never be stored; nothing was.
	ErrAppendInvalid = errors.New("journal: invalid batch")
	// ErrJournalFailed: the engine cannot store durably any more (fsync failed);
	// it answers every further Append with this.
	ErrJournalFailed = errors.New("journal: failed, stopped storing")
)

// PartlyError is why a part of a batch was not stored by a journal of several shards:
// Errs[i] is why batch[i] was not, and nil where out[i] tells what became of it. All
// items of a shard were stored, or none. The errors are those of Append that say
// that nothing was stored; more than one shard was concerned, or one alone would have
// given its own.
type PartlyError struct{ Errs []error }

func (e *PartlyError) Error() string {
	for _, err := range e.Errs {
		if err != nil {
			return "journal: a part of the batch was not stored: " + err.Error()
		}
	}
	return "journal: a part of the batch was not stored"
}

// Append is one entry to store. Seq, Stored, Count, Pos and Roster of the
// entry are given by the journal.
type Append struct {
	Entry Entry
	// Hash is Message.Hash, for telling a resend from a reused id.
	Hash uint64
	// IfRoster is the roster revision the permission was decided against.
	IfRoster uint64
	// SetRoster, when not zero, becomes the conversation's roster revision with
	// this entry.
	SetRoster uint64
	// Amend changes the entry that Entry.Target names, in the same step. It counts only
	// when the item is Stored.
	Amend Amend
	// Labels are put on the entry, or on what it changes, and Unlabels are taken off it, in
	// the same step: 1 to MaxLabel bytes each. They count only when the item is Stored.
	// What is so already stays so.
	Labels, Unlabels []string
	// Own are labels that are put on the entry itself, whatever it changes.
	Own []string
	// NoWait: the caller holds the item aside and asks again when it is Locked.
	NoWait bool
}

// Amend is what an amendment makes of its target, an earlier entry of the same
// conversation, also of the same batch. The target's Body and Amended change, and
// Recalled may be set; everything else of it stays. The zero value changes nothing.
type Amend struct {
	// Change: the target's Body becomes this one, its Amended the amendment's seq, if
	// its Amended is If and it has a Body, so it is neither recalled nor trimmed;
	// otherwise the item is TargetChanged.
	Change bool
	If     uint64
	Body   []byte
	// Recall: the target's Body is emptied, Recalled set, and Amended becomes the
	// amendment's seq, whatever it was. Recalling twice is harmless. With Change only
	// where Of is set.
	Recall bool
	// Of, with Recall and Change alone: Change, If and Body are about the entry Of, another
	// one than the target. Both entries change in the one step, or neither does. So what
	// says something about others (the root of a thread) follows when one is recalled.
	Of uint64
}

// None tells that nothing is changed.
func (a *Amend) None() bool { return !a.Change && !a.Recall }

// Check refuses what no journal can do for an entry with a target.
func (a *Amend) Check(target uint64) error {
	switch {
	case !a.None() && target == 0:
		return errors.New("it amends, and names no entry")
	case a.Change && a.Recall && (a.Of == 0 || a.Of == target):
		return errors.New("it changes what it recalls")
	case a.Of != 0 && !(a.Change && a.Recall):
		return errors.New("it names a second entry and does not recall the first")
	}
	return nil
}

// Changes is the entry that Change is about, given the item's target.
func (a *Amend) Changes(target uint64) uint64 { return cmp.Or(a.Of, target) }

// AppendStatus is what became of an item of a batch.
type AppendStatus uint8

// The outcomes of an append.
const (
	AppendInvalid AppendStatus = iota
	Stored
	Duplicate
	IDConflict
	RosterChanged
	// Busy: the conversation's place in the store is held by somebody else, for a
	// second or more; nothing was stored.
	Busy
	// Absent, of Lookup: nothing is stored under the id.
	Absent
	// TargetChanged: what the item amends is not as its Amend says; nothing was
	// stored. Read it again.
	TargetChanged
	// Locked: the same as Busy, for less than a second so far. It may be free in a
	// moment. Only with NoWait.
	Locked
)

// Appended is the outcome of one item.
type Appended struct {
	Status AppendStatus
	// Seq, Count, Time, Pos and Roster are the stored entry's, for Stored and
	// Duplicate; zero otherwise. Time is in whole milliseconds.
	Seq    uint64
	Count  uint64
	Time   time.Time
	Pos    uint64
	Roster uint64
}

// Head is the end of a conversation's journal.
type Head struct {
	Seq    uint64
	Count  uint64
	Time   time.Time
	Roster uint64
	// Pos is the position of the last append, in the conversation's shard.
	Pos uint64
	// Damaged: it cannot be read.
	Damaged bool
}

// MaxMine is how long a Mark's Mine may be.
const MaxMine = 16 << 10

// MarkKey names a mark.
type MarkKey struct {
	User         UserID
	Conversation ConversationID
}

// MarkWait says what becomes of marks that are set. The zero value waits for nothing.
type MarkWait struct {
	// Stored, if not nil, is called once when all of the marks are durable: at once
	// when they were already, otherwise from any goroutine when the write is done
	// that takes all marks which wait then. While the store cannot be reached it
	// waits on; it is called with an error when the engine failed for good. It must
	// not block, nor call the journal, and is not called when SetMarks returned an
	// error.
	Stored func(error)
	// Soon has that write begin within some milliseconds instead of a second.
	Soon bool
}

// Mark is how far a user has received and read a conversation. Of a user's
// devices the furthest counts.
type Mark struct {
	User         UserID
	Conversation ConversationID
	Received     uint64
	Read         uint64
	// ReadCount is Entry.Count at Read.
	ReadCount uint64
	// Mine is what the user set for themselves in the conversation, in a form that the
	// journal does not look into; the last one counts, "" is none. At most MaxMine
	// bytes.
	Mine string
	// Pos orders mark changes among the appends of the user's shard: a device that synced
	// at a position which covers it there knows this mark.
	Pos uint64
}
