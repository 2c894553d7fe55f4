package postgres

import (
	"context"
	"math"
	"sync/atomic"

	"github.com/skein-im/skein/internal/im"
)

// followSQL reads entries by position, a number of them. The bodies of what exceeds
// a number of bytes are left out. The index on positions keeps it to the pages those
// are in, of which there are as many as the stretch is long, whatever is wanted of it.
const followSQL = "SELECT e.seq, e.count, e.stored, e.pos, e.id, e.kind, e.recalled, e.sender, CASE WHEN e.told THEN e.body END, e.roster, e.target, e.amended" + `, h.conversation, e.told
	FROM (SELECT e.*, sum(octet_length(body) + 256) OVER (ORDER BY pos, slot, no, seq ROWS UNBOUNDED PRECEDING) <= $4 AS told
		FROM (SELECT * FROM journal_entries WHERE pos > $1 AND pos <= $2 ORDER BY pos, slot, no, seq LIMIT $3) e) e
	JOIN journal_heads h ON h.no = e.no AND h.slot = e.slot ORDER BY e.pos, e.slot, e.no, e.seq`

var _ im.Follow = (*Journal)(nil)

// stretch is how many positions After looks at in one question. Positions are
// transactions of the whole server, so how many entries those have is learnt.
type stretch struct{ positions atomic.Uint64 }

const (
	stretchLeast = 64
	stretchMost  = 1 << 62
)

func (s *stretch) get() uint64 { return max(s.positions.Load(), stretchLeast) }

// learn adapts it to how many entries it had, of those that were wanted.
func (s *stretch) learn(was uint64, entries, limit int) {
	switch {
	case entries == 0:
		was = min(was, stretchMost/8) * 8
	case entries <= limit/4:
		was = min(was, stretchMost/2) * 2
	case entries > limit:
		was /= 2
	}
	s.positions.Store(was)
}

// After returns what was stored after a place, whoever stored it.
func (j *Journal) After(ctx context.Context, after im.Place, limit int) (f im.Followed, err error) {
	// First, so that all up to it is seen by what is asked next.
	if f.Now, err = j.position(ctx, j.readers); err != nil {
		return f, err
	}
	if after != (im.Place{}) {
		held, err := j.Holds(ctx, im.PositionAt(after))
		if err != nil {
			return im.Followed{}, err
		}
		if !held {
			return im.Followed{}, im.ErrOtherHistory
		}
	}
	if limit <= 0 {
		f.UpTo = f.Now.At(after.Pos)
		return f, nil
	}
	if err := j.enter(); err != nil {
		return im.Followed{}, err
	}
	defer j.life.RUnlock()
	upTo := after.Pos
	for upTo < f.Now.Pos && len(f.Entries) == 0 {
		positions := j.stretch.get()
		end := min(upTo+positions, f.Now.Pos)
		var more bool
		if f.Entries, more, err = j.readPositions(ctx, upTo, end, limit, readBytes); err != nil {
			return im.Followed{}, err
		}
		if n := len(f.Entries); !more {
			if end-upTo == positions { // one that the journal's end cut short has few whatever its length
				j.stretch.learn(positions, n, limit)
			}
			upTo = end
			continue
		}
		j.stretch.learn(positions, limit+1, limit)
		first, last := f.Entries[0].Pos, f.Entries[len(f.Entries)-1].Pos
		if first == last { // one position is more than that; it is told as a whole
			if f.Entries, _, err = j.readPositions(ctx, upTo, first, math.MaxInt32-1, math.MaxInt64); err != nil {
				return im.Followed{}, err
			}
			upTo = first
			continue
		}
		for f.Entries[len(f.Entries)-1].Pos == last {
			f.Entries = f.Entries[:len(f.Entries)-1]
		}
		upTo = f.Entries[len(f.Entries)-1].Pos
	}
	f.UpTo = f.Now.At(upTo)
	return f, nil
}

// readPositions reads the entries with after < pos ≤ end. more: there were too many,
// or too many bytes; then the last one, of which there may be nothing but the position,
// is the first that is too much.
func (j *Journal) readPositions(ctx context.Context, after, end uint64, limit, size int) (entries []im.Entry, more bool, err error) {
	params := [][]byte{int8Param(after), int8Param(min(end, math.MaxInt64)), int8Param(uint64(limit) + 1), int8Param(uint64(size))}
	err = j.query(ctx, stmtFollow, params, func(v [][]byte) error {
		if more {
			return nil
		}
		e := im.Entry{Conversation: im.ConversationID(v[12])}
		scanEntry(v, &e)
		more = len(entries) == limit || !boolOf(v[13])
		entries = append(entries, e)
		return nil
	})
	return entries, more, err
}

// Agree returns how far this history and that of a place are the same.
func (j *Journal) Agree(ctx context.Context, p im.Place) (im.Place, error) {
	now, err := j.position(ctx, j.readers)
	if err != nil {
		return im.Place{}, err
	}
	j.history.mu.Lock()
	eras := j.history.eras
	j.history.mu.Unlock()
	return eras.Agree(p, now.Pos), nil
}
