// Package split makes one journal of several: each conversation is in one of them,
// its shard, and so are each user's marks. It passes journaltest over two embedded
// journals. It knows the contract of a journal (internal/im) and nothing of an
// engine, of what is stored, or of who asks. The server does not use it yet: see
// docs/adr/0005-shards.md.
//
// Goroutines: a call that concerns several shards asks all but the first on
// goroutines of its own, and returns when all have answered. Calls of one shard run
// where they are called.
//
// Locks: told.mu guards what positions were told last; nothing is called under it.
//
// Invariants:
//   - What is of a conversation is asked of its shard only, and what is of a user's
//     marks of the user's: the numbers of two shards are never compared.
//   - A position names every shard. What it says of one, that shard said itself.
//   - What one shard refuses, or has no answer to, concerns its own items.
package split

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/skein-im/skein/internal/im"
)

// Engine is what a shard is kept by.
type Engine interface {
	im.Journal
	im.Marks
	im.Recalls
	im.Labels
	im.Trims
	im.Lookups
	im.Pages
}

// Shard is one of the stores.
type Shard struct {
	// Number is the shard's for ever, and no other's.
	Number im.Shard
	Engine Engine
}

// Journal is several shards. It implements im.Journal and im.Shards.
type Journal struct {
	shards []Shard          // ascending by number
	slots  [im.Slots]uint16 // the place in shards of who has the slot
	told   told
}

var (
	_ Engine    = (*Journal)(nil)
	_ im.Shards = (*Journal)(nil)
)

// told is what the shards said last of how far they are.
type told struct {
	mu sync.Mutex
	at im.Position
}

// New makes a journal of shards. Of names which shard has a slot, by its number; nil
// gives each an equal part. Close closes the shards.
func New(shards []Shard, of func(slot uint16) im.Shard) (*Journal, error) {
	j := &Journal{shards: slices.SortedFunc(slices.Values(shards), func(a, b Shard) int { return int(a.Number) - int(b.Number) })}
	if len(shards) == 0 || len(shards) > im.MaxShards {
		return nil, fmt.Errorf("%d shards; there may be 1 to %d", len(shards), im.MaxShards)
	}
	for i := range j.shards[1:] {
		if j.shards[i].Number == j.shards[i+1].Number {
			return nil, fmt.Errorf("shard %d is there twice", j.shards[i].Number)
		}
	}
	if of == nil {
		of = func(slot uint16) im.Shard { return j.shards[int(slot)*len(j.shards)/im.Slots].Number }
	}
	for slot := range j.slots {
		n := of(uint16(slot))
		i := slices.IndexFunc(j.shards, func(s Shard) bool { return s.Number == n })
		if i < 0 {
			return nil, fmt.Errorf("slot %d is with shard %d, which is not there", slot, n)
		}
		j.slots[slot] = uint16(i)
	}
	return j, nil
}

// place is where among the shards a conversation is, and userPlace where a user's
// marks are.
func (j *Journal) place(c im.ConversationID) int      { return int(j.slots[im.SlotOf(c)]) }
func (j *Journal) userPlace(u im.UserID) int          { return int(j.slots[im.SlotOf(u)]) }
func (j *Journal) of(c im.ConversationID) Engine      { return j.shards[j.place(c)].Engine }
func (j *Journal) Shard(c im.ConversationID) im.Shard { return j.shards[j.place(c)].Number }

// UserShard implements im.Shards.
func (j *Journal) UserShard(u im.UserID) im.Shard { return j.shards[j.userPlace(u)].Number }

// Read is the shard's.
func (j *Journal) Read(ctx context.Context, c im.ConversationID, from uint64, backward bool, limit int) ([]im.Entry, error) {
	return j.of(c).Read(ctx, c, from, backward, limit)
}

// Page is the shard's.
func (j *Journal) Page(ctx context.Context, q im.PageQuery) (im.Page, error) {
	return j.of(q.Conversation).Page(ctx, q)
}

// ReadAt is the shard's.
func (j *Journal) ReadAt(ctx context.Context, c im.ConversationID, seqs []uint64) ([]im.Entry, error) {
	return j.of(c).ReadAt(ctx, c, seqs)
}

// UserMarks is the user's shard's.
func (j *Journal) UserMarks(ctx context.Context, u im.UserID) ([]im.Mark, error) {
	return j.shards[j.userPlace(u)].Engine.UserMarks(ctx, u)
}

// Heads asks the shards of the conversations.
func (j *Journal) Heads(ctx context.Context, cs []im.ConversationID, out []im.Head) error {
	return gather(cs, out, j.place, func(i int, in []im.ConversationID, out []im.Head) error {
		return j.shards[i].Engine.Heads(ctx, in, out)
	})
}

// Marks asks the shards of the users.
func (j *Journal) Marks(ctx context.Context, keys []im.MarkKey, out []im.Mark, recent bool) error {
	return gather(keys, out, func(k im.MarkKey) int { return j.userPlace(k.User) }, func(i int, in []im.MarkKey, out []im.Mark) error {
		return j.shards[i].Engine.Marks(ctx, in, out, recent)
	})
}

// Recalled asks the shards of the conversations.
func (j *Journal) Recalled(ctx context.Context, spans []im.Span, limit int, out []im.Recalled) error {
	return gather(spans, out, func(s im.Span) int { return j.place(s.Conversation) }, func(i int, in []im.Span, out []im.Recalled) error {
		return j.shards[i].Engine.Recalled(ctx, in, limit, out)
	})
}

// Labelled asks the shards of the conversations.
func (j *Journal) Labelled(ctx context.Context, spans []im.LabelSpan, limit int, out []im.Labelled) error {
	return gather(spans, out, func(s im.LabelSpan) int { return j.place(s.Conversation) }, func(i int, in []im.LabelSpan, out []im.Labelled) error {
		return j.shards[i].Engine.Labelled(ctx, in, limit, out)
	})
}

// Trim is the shard's.
func (j *Journal) Trim(ctx context.Context, s im.Span) error {
	return j.of(s.Conversation).Trim(ctx, s)
}

// Lookup asks the shards of the conversations.
func (j *Journal) Lookup(ctx context.Context, batch []im.Append, out []im.Appended) error {
	return gather(batch, out, j.placeOf, func(i int, in []im.Append, out []im.Appended) error {
		return j.shards[i].Engine.Lookup(ctx, in, out)
	})
}

func (j *Journal) placeOf(a im.Append) int { return j.place(a.Entry.Conversation) }

// Position is what each shard says of itself, asked at the same time: no shard's word
// is about what another one has. One that cannot be reached said something before,
// which stays true.
func (j *Journal) Position(ctx context.Context) (im.Position, error) {
	at, errs := make([]im.Place, len(j.shards)), make([]error, len(j.shards))
	together(len(j.shards), func(i int) {
		p, err := j.shards[i].Engine.Position(ctx)
		var one bool
		if at[i], one = p.One(); !one && err == nil {
			err = fmt.Errorf("shard %d told %q, which is not of one store", j.shards[i].Number, p)
		}
		errs[i] = err
	})
	j.told.mu.Lock()
	defer j.told.mu.Unlock()
	var p im.Position
	for i := range at {
		n := j.shards[i].Number
		before, known := j.told.at.Place(n)
		switch {
		case errs[i] == nil:
			if !known || at[i].Era != before.Era || at[i].Pos > before.Pos {
				j.told.at = j.told.at.With(n, at[i])
			}
		case known && errors.Is(errs[i], im.ErrJournalUnavailable):
			at[i] = before
		default:
			return im.Position{}, errs[i]
		}
		p = p.With(n, at[i])
	}
	return p, nil
}

// Holds asks every shard that the position names for its place. One of another
// history is enough for no.
func (j *Journal) Holds(ctx context.Context, p im.Position) (bool, error) {
	var asked []int
	var at []im.Position
	for n, place := range p.All() {
		i := slices.IndexFunc(j.shards, func(s Shard) bool { return s.Number == n })
		if i < 0 {
			return false, nil
		}
		asked, at = append(asked, i), append(at, im.PositionAt(place))
	}
	held, errs := make([]bool, len(asked)), make([]error, len(asked))
	together(len(asked), func(k int) { held[k], errs[k] = j.shards[asked[k]].Engine.Holds(ctx, at[k]) })
	for k := range asked {
		if !held[k] && errs[k] == nil {
			return false, nil
		}
	}
	if err := errors.Join(errs...); err != nil {
		return false, err
	}
	return len(asked) > 0, nil
}

// Timeline is another one as soon as that of any shard is. That of a single shard is
// its own.
func (j *Journal) Timeline() string {
	if len(j.shards) == 1 {
		return j.shards[0].Engine.Timeline()
	}
	var b strings.Builder
	for _, s := range j.shards {
		fmt.Fprintf(&b, "%d %q ", s.Number, s.Engine.Timeline())
	}
	sum := sha256.Sum256([]byte(b.String()))
	return base32.StdEncoding.EncodeToString(sum[:])[:26]
}

// Close closes the shards.
func (j *Journal) Close() error {
	errs := make([]error, len(j.shards))
	for i, s := range j.shards {
		errs[i] = s.Engine.Close()
	}
	return errors.Join(errs...)
}
