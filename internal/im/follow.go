package im

import (
	"context"
	"errors"
	"time"
)

// Follow is how what is stored is read in the order of positions, for whoever does
// something about every entry: a follower (internal/feed). Every engine has it; the
// conformance suite checks it, too.
type Follow interface {
	// After returns what follows a place, the zero Place being the beginning.
	//
	// Entries are all those with after.Pos < Pos ≤ UpTo.Pos: nothing with a position up
	// to UpTo can be stored or become visible later, whoever appends, and no crash takes
	// away what is told, so who goes on from UpTo misses nothing. They come in the order
	// of their positions; those of one position by conversation, in any order of
	// conversations; those of a conversation always in the order of their seqs.
	// Amendments are entries like others. A message comes as it was stored or as it is
	// by now, and if it is recalled by now perhaps with its body: what took the body away
	// comes later.
	//
	// There are at most about limit of them and 1 MiB, but positions are told whole, and
	// at least one: as many as one append stored. There may be fewer, or none, though
	// more follows: UpTo = Now tells that nothing does. Reading all of a journal this way
	// costs each entry to be looked at a bounded number of times. Limit 0 reads nothing:
	// UpTo is after, and Now tells how far the journal is.
	//
	// ErrOtherHistory: the place is not of this history (Journal.Holds); see Agree.
	// ErrJournalDamaged: something that was stored after the place cannot be read, so
	// nothing is told: who skipped it would miss it.
	After(ctx context.Context, after Place, limit int) (Followed, error)

	// Agree returns the furthest place that is not beyond p, of this history, and of
	// the one that gave out p as well: what came up to it is in both. The zero Place, if
	// nothing is known of that history, or no more: who was at p begins anew.
	Agree(ctx context.Context, p Place) (Place, error)
}

// Followed is a stretch of what was stored.
type Followed struct {
	Entries []Entry
	// UpTo is where the next stretch begins, Now how far the journal is.
	UpTo, Now Place
}

// ErrOtherHistory: a place that is not of the journal's history.
var ErrOtherHistory = errors.New("journal: the place is of another history")

// Agree returns the furthest place up to p that is of this history, which has
// reached position now, and of the one that p is of; zero if it is not known.
func (es Eras) Agree(p Place, now uint64) Place {
	until := now
	for i := len(es) - 1; i >= 0; i-- {
		if es[i].ID == p.Era {
			return p.At(min(p.Pos, until))
		}
		until = es[i].Begin
	}
	return Place{}
}

// FollowerState is what is kept of a follower: how far it is, and who works on it.
// The zero values of all but Name and Shard: nobody ever did.
type FollowerState struct {
	Name string
	// Shard is the part of the journal, 0 as long as there is one.
	Shard int
	// Place is where it goes on: all up to it is done. Updated is when that was noted.
	Place   Place
	Updated time.Time
	// Holder works on it, "" nobody. Beat grows whenever the holder shows that it is
	// there: who sees the same one for a while takes the work over. So no clock is
	// compared with another's.
	Holder string
	Beat   int64
}

// SetAside is an entry that a follower could not do, and went on without.
type SetAside struct {
	Name         string
	Shard        int
	Conversation ConversationID
	Seq, Pos     uint64
	Reason       string
	At           time.Time
}
