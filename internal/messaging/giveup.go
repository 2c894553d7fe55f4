package messaging

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/skein-im/skein/internal/entrycodec"
	"github.com/skein-im/skein/internal/im"
)

const (
	// goneFor is how long something is gone before the store gives it up: other processes
	// may have another clock, and a read may be under way.
	goneFor = 10 * time.Second
	// What goes one after the other is given up together: a sixtieth of the lifetime passes
	// between two looks, within these bounds.
	minPause = 10 * time.Second
	maxPause = time.Hour
	// One look reads so many pages of so many entries of a period at most, and goes on
	// with the next look: others wait for it.
	givenPages = 8
	givenPage  = 500
)

// giveUpGone has the store give up what is gone of a conversation, and tells when to look
// again; zero: nothing more goes. Done again it does nothing more.
func (s *Service) giveUpGone(ctx context.Context, c im.ConversationID) (again time.Time, err error) {
	if s.periods == nil || s.trims == nil {
		return time.Time{}, nil
	}
	now := s.now()
	// An entry that ends a period may be stored while its period is not yet: what is
	// behind it would be taken for the period before. So promises are read before periods.
	promised, err := s.periods.PendingOf(ctx, c)
	if err != nil {
		return time.Time{}, err
	}
	if slices.ContainsFunc(promised, func(p im.Promise) bool { return p.Event.Type == im.EventLifetimeChanged }) {
		return now.Add(minPause), nil
	}
	found, err := s.periods.Periods(ctx, []im.ConversationID{c})
	if err != nil {
		return time.Time{}, err
	}
	all, ended := found[c], map[uint64]bool{}
	for i := range all {
		p := &all[i]
		if p.Lifetime == 0 {
			continue
		}
		to, next, err := s.givePeriod(ctx, c, all, *p, now)
		switch {
		case errors.Is(err, im.ErrJournalDamaged): // who reads it is told; others go on
			next = now.Add(maxPause)
		case err != nil:
			return time.Time{}, err
		case p.Until != 0 && to >= p.Until:
			p.Gone, p.Lifetime, ended[p.After] = true, 0, true
			continue
		}
		if again.IsZero() || next.Before(again) {
			again = next
		}
	}
	if len(ended) == 0 {
		return again, nil
	}
	return again, s.endPeriods(ctx, c, all, ended)
}

// endPeriods notes which periods ended now, each with those beside it that have ended.
func (s *Service) endPeriods(ctx context.Context, c im.ConversationID, all []im.Period, now map[uint64]bool) error {
	for len(all) > 0 {
		n, news := 0, false
		var rest []uint64
		for ; n < len(all) && all[n].Gone; n++ {
			news = news || now[all[n].After]
			if n > 0 {
				rest = append(rest, all[n].After)
			}
		}
		if news {
			if err := s.periods.EndPeriods(ctx, c, all[0].After, rest); err != nil {
				return err
			}
		}
		all = all[max(n, 1):]
	}
	return s.knowPeriods(ctx, []im.ConversationID{c})
}

// givePeriod gives up what is gone of a period, one of all: up to which entry that is
// done, and when more is to be done.
func (s *Service) givePeriod(ctx context.Context, c im.ConversationID, all []im.Period, p im.Period, now time.Time) (to uint64, next time.Time, err error) {
	key := periodKey{c, p.After}
	to = max(s.lifetimes.givenTo(key), p.After)
	gone, err := s.lookGone(ctx, c, p, to, now.Add(-goneFor))
	if err != nil {
		return 0, time.Time{}, err
	}
	for n := 0; to < gone.to; n++ {
		if n == givenPages {
			return to, now, nil
		}
		if to, err = s.givePage(ctx, c, all, to, gone.to); err != nil {
			return 0, time.Time{}, err
		}
		s.lifetimes.mu.Lock()
		s.lifetimes.given.Put(key, to)
		s.lifetimes.mu.Unlock()
	}
	next = now.Add(min(max(p.Lifetime/60, minPause), maxPause))
	if at := gone.next.Add(goneFor); at.After(next) {
		next = at
	}
	return to, next, nil
}

// givenTo is up to where a period was given up, as far as RAM knows. Who does not know
// does it again.
func (l *lifetimes) givenTo(key periodKey) uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	to, _ := l.given.Get(key)
	return to
}

// givePage gives up a page of gone entries behind after, up to until, and tells where it
// ends. Uploads that its messages name are doubted before. Left out is what carries who
// reacted to a message that is not given up, or voted in it: it goes with the message.
func (s *Service) givePage(ctx context.Context, c im.ConversationID, all []im.Period, after, until uint64) (last uint64, err error) {
	es, err := s.journal.Read(ctx, c, after+1, false, givenPage)
	if err != nil {
		return 0, err
	}
	if len(es) == 0 || es[0].Seq != after+1 {
		return 0, im.Errorf(im.CodeInternal, "entry %d of a conversation is missing", after+1)
	}
	es = es[:min(uint64(len(es)), until-after)] // seqs have no gap
	if err := s.doubtMedia(ctx, es...); err != nil {
		return 0, err
	}
	first := after
	for i := range es {
		e := &es[i]
		needed, err := s.carriesFor(ctx, e, first)
		if err == nil {
			err = s.giveBuckets(ctx, c, all, e)
		}
		if err == nil && needed {
			if e.Seq-1 > after {
				err = s.trims.Trim(ctx, im.Span{Conversation: c, After: after, Until: e.Seq - 1})
			}
			after = e.Seq
		}
		if err != nil {
			return 0, err
		}
		last = e.Seq
	}
	if last > after {
		err = s.trims.Trim(ctx, im.Span{Conversation: c, After: after, Until: last})
	}
	return last, err
}

// carriesFor tells whether an entry carries a bucket for a message up to until that the
// store has.
func (s *Service) carriesFor(ctx context.Context, e *im.Entry, until uint64) (bool, error) {
	if e.Target == 0 || e.Target > until || len(e.Body) == 0 {
		return false, nil
	}
	if records, err := entrycodec.Bucket(e.Body); err != nil || len(records) == 0 {
		return err != nil, nil // what cannot be read stays
	}
	target, err := s.entryAt(ctx, e.Conversation, e.Target)
	if err != nil || target.Recalled || len(target.Body) == 0 {
		return false, err
	}
	state, err := entrycodec.Open(target.Body, target.Amended)
	return err != nil || slices.Contains(state.Buckets(), e.Seq), nil
}

// giveBuckets gives up the buckets of a message, before it, that were left out when the
// entries that carry them were given up.
func (s *Service) giveBuckets(ctx context.Context, c im.ConversationID, all []im.Period, e *im.Entry) error {
	if e.Amended == 0 || len(e.Body) == 0 {
		return nil
	}
	state, err := entrycodec.Open(e.Body, e.Amended)
	if err != nil {
		return nil // it names none that can be read
	}
	for _, seq := range state.Buckets() {
		at := slices.IndexFunc(all, func(p im.Period) bool { return p.After < seq && (p.Until == 0 || seq <= p.Until) })
		if at < 0 || !all[at].Gone && seq > s.lifetimes.givenTo(periodKey{c, all[at].After}) {
			continue
		}
		if err := s.trims.Trim(ctx, im.Span{Conversation: c, After: seq - 1, Until: seq}); err != nil {
			return err
		}
	}
	return nil
}
