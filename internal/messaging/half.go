package messaging

import (
	"context"
	"errors"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// helpAfter is how long whoever changes a roster has for the directory's part
// before one who waits for it helps.
const helpAfter = time.Second

// half looks for changes of the user's places that are half done: the journal has
// the entry, and the directory did not show what it did when it was asked. No
// position may pass such an entry, or the device that has it never hears of the
// group. So it returns how much of a position may be told: in the shards of such
// entries up to before the first one. It concerns only those whom the change names.
//
// The position that is to be told was read first, then promised, then heads. So a
// promised entry that heads do not show is stored beyond that position.
func (s *Service) half(ctx context.Context, at im.Position, promised []im.Promised, heads []im.Head) (im.Position, error) {
	held := false
	for i, p := range promised {
		if heads[i].Roster < p.Roster {
			continue
		}
		pos, err := s.changedAt(ctx, p, heads[i])
		if errors.Is(err, im.ErrJournalDamaged) {
			continue // nobody can be shown it
		}
		if err != nil {
			return im.Position{}, err
		}
		at, held = at.Upto(s.shard(p.Conversation), pos-1), true
		if s.now().Sub(heads[i].Time) > helpAfter {
			s.permissions.Help(p.Conversation)
		}
	}
	if held {
		s.metrics.held.Inc()
	}
	return at, nil
}

// changedAt is the position of the entry that set a revision. Mostly it is the
// head: nothing is appended before the directory shows what it did.
func (s *Service) changedAt(ctx context.Context, p im.Promised, head im.Head) (pos uint64, err error) {
	pos = head.Pos
	for from, n := head.Seq-1, 1; from > 0; n *= 4 {
		got, err := s.journal.Read(ctx, p.Conversation, from, true, n)
		if err != nil {
			return 0, err
		}
		for i := len(got) - 1; i >= 0; i-- {
			if got[i].Roster < p.Roster {
				return pos, nil
			}
			pos = got[i].Pos
		}
		if len(got) == 0 {
			return 0, im.Errorf(im.CodeInternal, "entry %d of a conversation is missing", from)
		}
		from = got[0].Seq - 1
	}
	return pos, nil
}
