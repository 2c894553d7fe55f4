package messaging

import (
	"context"
	"errors"
	"math"
	"slices"

	"github.com/skein-im/skein/internal/im"
)

// wholePlace is the revision for which a membership is told with the times before
// the last one: no roster that is kept in RAM is that new.
const wholePlace = math.MaxUint64

// windows returns what of a conversation up to last a read from start may touch,
// in order. The times before the last one are looked up only where it does.
func (s *Service) windows(ctx context.Context, u im.UserID, m im.Membership, last, start uint64, backward bool, limit int) ([]im.Window, error) {
	now := im.Window{First: m.First, Until: last}
	within := start >= m.First && (!backward || start-m.First >= uint64(limit))
	if m.First <= 1 || within {
		return []im.Window{now}, nil
	}
	whole, err := s.members.Membership(ctx, u, m.Conversation, wholePlace)
	if err != nil {
		return nil, err
	}
	earlier := slices.DeleteFunc(slices.Clone(whole.Earlier), func(w im.Window) bool { return w.Until >= m.First })
	return append(earlier, now), nil
}

// readUp reads at most limit entries of the windows from a seq up.
func (s *Service) readUp(ctx context.Context, c im.ConversationID, windows []im.Window, from uint64, limit int) (entries []im.Entry, err error) {
	b := budget{limit, maxSyncBytes}
	for _, w := range windows {
		if w.Until < from || w.First > w.Until {
			continue
		}
		got, err := s.journal.Read(ctx, c, max(from, w.First), false, b.entries)
		if err != nil {
			return nil, err
		}
		cut := len(got) == 0 || got[len(got)-1].Seq < w.Until // by its size
		got = slices.DeleteFunc(got, func(e im.Entry) bool { return e.Seq > w.Until })
		entries = append(entries, got...)
		if b.spend(got); cut || b.entries <= 0 || b.bytes <= 0 {
			break
		}
	}
	return entries, nil
}

// readDown reads at most limit entries of the windows from a seq down; they come
// in ascending order.
func (s *Service) readDown(ctx context.Context, c im.ConversationID, windows []im.Window, from uint64, limit int) (entries []im.Entry, err error) {
	b := budget{limit, maxSyncBytes}
	for _, w := range slices.Backward(windows) {
		if w.First > from || w.First > w.Until {
			continue
		}
		got, err := s.journal.Read(ctx, c, min(from, w.Until), true, b.entries)
		if err != nil {
			return nil, err
		}
		cut := len(got) == 0 || got[0].Seq > w.First
		got = slices.DeleteFunc(got, func(e im.Entry) bool { return e.Seq < w.First })
		entries = append(got, entries...)
		if b.spend(got); cut || b.entries <= 0 || b.bytes <= 0 {
			break
		}
	}
	return entries, nil
}

func (b *budget) spend(es []im.Entry) {
	b.entries -= len(es)
	for i := range es {
		b.bytes -= len(es[i].Body) + entryOverhead
	}
}

// missed returns the newest entries after since, at most limit and within the
// budget, of all times that the user was a member.
func (s *Service) missed(ctx context.Context, v *view, since uint64, limit int, b *budget) (missed []im.Entry, err error) {
	limit = min(limit, b.entries)
	from, first := v.head.Seq, v.m.First
	for i := len(v.m.Earlier); ; i-- {
		got, more, err := s.missedIn(ctx, v.m.Conversation, from, first, since, limit-len(missed), b)
		if err != nil {
			return nil, err
		}
		missed = append(got, missed...)
		if !more || i == 0 {
			return missed, nil
		}
		from, first = v.m.Earlier[i-1].Until, v.m.Earlier[i-1].First
	}
}

// missedIn is missed for one window; more tells that all of it is new to the
// device and fits.
func (s *Service) missedIn(ctx context.Context, c im.ConversationID, from, first, since uint64, limit int, b *budget) (missed []im.Entry, more bool, err error) {
	if limit <= 0 || b.bytes <= 0 {
		return nil, false, nil
	}
	// Mostly one or two are new: what is read beyond them costs as much as they do.
	for n := 2; limit > 0 && from >= max(first, 1); n *= 4 {
		got, err := s.journal.Read(ctx, c, from, true, min(n, limit))
		if errors.Is(err, im.ErrJournalDamaged) {
			return missed, false, nil // whoever pulls them is told; the other conversations go on
		}
		if err != nil {
			return nil, false, err
		}
		k := len(got)
		for k > 0 && got[k-1].Seq >= first && b.takes(&got[k-1], since) {
			k--
		}
		missed = append(got[k:len(got):len(got)], missed...)
		if k > 0 || len(got) < min(n, limit) {
			break
		}
		limit -= len(got)
		from = got[0].Seq - 1
	}
	return missed, len(missed) > 0 && missed[0].Seq <= first, nil
}

// takes reports whether an entry is new to the device and fits, and takes its
// share of the budget then.
func (b *budget) takes(e *im.Entry, since uint64) bool {
	size := len(e.Body) + entryOverhead
	if e.Pos <= since || size > b.bytes {
		return false
	}
	b.bytes -= size
	b.entries--
	return true
}
