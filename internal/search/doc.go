// Package search finds messages by what they say (SPEC §4.32).
//
// It owns what of a message is searched (said.go), the follower that keeps an index of it
// (Indexer), and how a question is answered (Service). An index only proposes: what it
// names is read as every other message is, by Reader, which knows who may read what, and
// compared with the question again. So nothing is shown that its reader may not read, or
// that does not say what was looked for, also when the index is behind or wrong; an answer
// has no count and no text of the index.
//
// An index keeps tokens (package token), each together with its conversation, so what is
// asked costs what lies in the conversations that are asked about, whatever others wrote.
// Engines are in sqlite and postgres; both pass indextest.
//
// It must not know how messages are stored or who is a member of what. Sending knows
// nothing of it: an index that is slow, full or gone stops no message.
//
// Goroutines: none of its own; the feed's, and those of who asks. Locks: Indexer.mu guards
// a few values and is never held during a call.
//
// Invariants:
//   - the place of the index is kept in the index, and moves behind what it has: whatever
//     crashes, all behind the place is indexed again, and comes to the same;
//   - an index of another history, of other tokens, or that is damaged or gone, is made
//     anew from the first entry on, while it is asked; until then answers say that they
//     are not complete;
//   - text that was recalled, edited away or trimmed is in no index once that is followed;
//     none is in an answer at any time.
package search

import (
	"context"
	"errors"
	"time"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/search/token"
)

// Doc is a message as an index has it.
type Doc struct {
	Conversation im.ConversationID
	Seq          uint64
	Pos          uint64
	Stored       time.Time
	// Terms are what it is found by, each once. None: it is not found any more.
	Terms []string
}

// Hit is a message that an index proposes.
type Hit struct {
	Conversation im.ConversationID
	Seq          uint64
	Pos          uint64
	// Order tells which of two was stored later: the one with the greater one.
	Order int64
}

// Find is what an index is asked for: messages of some conversations that have all of the
// Terms and, if there are any, one of Any.
type Find struct {
	Conversations []im.ConversationID // at most MaxAsked
	Terms         []token.Term
	Any           []string
	// From and To are bounds of when it was stored, zero for none: From ≤ t < To.
	From, To time.Time
	// Below is a message behind which the answer begins, zero for none: all of it was
	// stored before, or in the same step.
	Below Place
	// Limit is how many are answered at most: the newest.
	Limit int
}

// Place is a message's place among all.
type Place struct {
	Pos          uint64
	Conversation im.ConversationID
	Seq          uint64
}

// MaxAsked is how many conversations an index is asked about at a time.
const MaxAsked = 64

// State is what an index keeps of itself.
type State struct {
	// Place is how far the journal was followed, zero: not at all.
	Place im.Place
	// Known: whatever was stored up to this time is in it, as far as its follower knows.
	Known time.Time
	// Docs is how many messages it has.
	Docs int64
}

// Index keeps tokens of messages. Every engine passes indextest. Each call is done as a
// whole or not at all, and errors mean that the index is not to be had now, but for
// ErrDamaged.
type Index interface {
	// Apply notes messages, each in the place of what was there of it. They come in the
	// order of positions, those of a conversation in the order of their seqs; what was there
	// keeps its place in the order. What was forgotten stays so.
	Apply(ctx context.Context, docs []Doc) error
	// Forget drops the messages of a span, also those that are applied later.
	Forget(ctx context.Context, span im.Span) error
	// Find answers the newest first.
	Find(ctx context.Context, q Find) ([]Hit, error)
	State(ctx context.Context) (State, error)
	// SaveState notes Place and Known.
	SaveState(ctx context.Context, s State) error
	// Reset empties it.
	Reset(ctx context.Context) error
	Close() error
}

// ErrDamaged: what is kept of an index is damaged, or was taken away. Reset helps.
var ErrDamaged = errors.New("search: the index is damaged")
