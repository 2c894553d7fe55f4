package messaging

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/skein-im/skein/internal/cache"
	"github.com/skein-im/skein/internal/im"
)

// Periods keeps after how long the messages of conversations disappear.
type Periods interface {
	// Periods returns the periods of those of the conversations that have any, in their
	// order.
	Periods(ctx context.Context, cs []im.ConversationID) (map[im.ConversationID][]im.Period, error)
	// PendingOf returns what is promised to a conversation.
	PendingOf(ctx context.Context, c im.ConversationID) ([]im.Promise, error)
	// EndPeriods notes of periods that follow each other, which begin after first and
	// rest, that all of them is gone and given up. Noted again, nothing changes.
	EndPeriods(ctx context.Context, c im.ConversationID, first uint64, rest []uint64) error
}

const (
	// periodsFor is how long the periods of a conversation are taken for what they were:
	// half the shortest lifetime, so what is learned late has hidden nothing yet.
	periodsFor = im.MinLifetime / 2
	// Of how many conversations periods are remembered, of how many periods how far they
	// are gone.
	maxPeriodsKnown = 1 << 16
	maxGoneKnown    = 1 << 14
)

// lifetimes remembers what disappears. All of it may be forgotten at any time.
type lifetimes struct {
	mu      sync.Mutex
	periods cache.Cache[im.ConversationID, knownPeriods]
	gone    cache.Cache[periodKey, goneTo]
	given   cache.Cache[periodKey, uint64] // up to where periods were given up
	raised  knownFloors
}

// knownFloors is what was known at a time of the floors of all conversations.
type knownFloors struct {
	at     time.Time
	newest uint64
	waits  bool
}

// knownPeriods are the periods of a conversation as they were at a time.
type knownPeriods struct {
	at    time.Time
	all   []im.Period
	floor uint64
}

type periodKey struct {
	c     im.ConversationID
	after uint64
}

// goneTo is up to where a period is gone, and when that is to be looked at again.
type goneTo struct {
	to   uint64
	next time.Time
	// until was the period's last entry then. It moves on by one when the period behind it
	// had no entry, and that one may have been stored long ago.
	until uint64
}

func (l *lifetimes) init() {
	l.periods = cache.New[im.ConversationID, knownPeriods](maxPeriodsKnown)
	l.gone = cache.New[periodKey, goneTo](maxGoneKnown)
	l.given = cache.New[periodKey, uint64](maxGoneKnown)
}

// forget forgets everything: the history is another one.
func (l *lifetimes) forget() {
	l.mu.Lock()
	l.periods.Clear()
	l.gone.Clear()
	l.given.Clear()
	l.raised = knownFloors{}
	l.mu.Unlock()
}

// knowPeriods asks for the periods of many conversations at once, as they are now.
func (s *Service) knowPeriods(ctx context.Context, cs []im.ConversationID) error {
	if s.periods == nil || len(cs) == 0 {
		return nil
	}
	now := s.now()
	found, err := s.periods.Periods(ctx, cs)
	if err != nil {
		return err
	}
	var kept map[im.ConversationID]im.Retention
	if s.retention != nil {
		if kept, err = s.retention.Retention(ctx, cs); err != nil {
			return err
		}
	}
	s.lifetimes.mu.Lock()
	for _, c := range cs {
		s.lifetimes.periods.Put(c, knownPeriods{at: now, all: found[c], floor: kept[c].Floor})
	}
	s.lifetimes.mu.Unlock()
	return nil
}

// knowViews is knowPeriods for views.
func (s *Service) knowViews(ctx context.Context, views []view) error {
	if s.periods == nil {
		return nil
	}
	ids := make([]im.ConversationID, 0, len(views))
	for i := range views {
		if views[i].m.Conversation.Kind() != im.KindMe {
			ids = append(ids, views[i].m.Conversation)
		}
	}
	return s.knowPeriods(ctx, ids)
}

// periodsOf returns the periods of a conversation and its floor, as they were at most
// periodsFor ago.
func (s *Service) periodsOf(ctx context.Context, c im.ConversationID) (knownPeriods, error) {
	if s.periods == nil || c.Kind() == im.KindMe {
		return knownPeriods{}, nil
	}
	for range 2 {
		s.lifetimes.mu.Lock()
		known, ok := s.lifetimes.periods.Get(c)
		s.lifetimes.mu.Unlock()
		if age := s.now().Sub(known.at); ok && age >= 0 && age < periodsFor {
			return known, nil
		}
		if err := s.knowPeriods(ctx, []im.ConversationID{c}); err != nil {
			return known, err
		}
	}
	return knownPeriods{}, im.Errorf(im.CodeUnavailable, "the server is busy")
}

// left is what is left of a conversation: gaps are what is gone of it, by where they begin,
// living its periods that are not over.
type left struct {
	gaps   []im.Window
	living []im.Period
	floor  uint64
}

// leftOf returns what is left of a conversation.
func (s *Service) leftOf(ctx context.Context, c im.ConversationID) (l left, err error) {
	known, err := s.periodsOf(ctx, c)
	if err != nil {
		return l, err
	}
	if l.floor = known.floor; l.floor > 0 {
		l.gaps = append(l.gaps, im.Window{First: 1, Until: l.floor})
	}
	for _, p := range known.all {
		if p.Until != 0 && p.Until <= l.floor {
			continue
		}
		if p.Gone {
			l.gaps = append(l.gaps, im.Window{First: p.After + 1, Until: p.Until})
		}
		if p.Lifetime == 0 {
			continue
		}
		to, err := s.goneOf(ctx, c, p)
		if err != nil {
			return left{}, err
		}
		if to > p.After {
			l.gaps = append(l.gaps, im.Window{First: p.After + 1, Until: to})
		}
		if p.Until == 0 || to < p.Until {
			l.living = append(l.living, p)
		}
	}
	return l, nil
}

// goneOf is up to which entry a period is gone. Mostly RAM knows that nothing has changed
// there.
func (s *Service) goneOf(ctx context.Context, c im.ConversationID, p im.Period) (uint64, error) {
	key, now := periodKey{c, p.After}, s.now()
	s.lifetimes.mu.Lock()
	known, _ := s.lifetimes.gone.Get(key)
	s.lifetimes.mu.Unlock()
	to := max(known.to, p.After)
	if p.Until != 0 && to >= p.Until {
		return p.Until, nil
	}
	if now.Before(known.next) && known.until == p.Until {
		return to, nil
	}
	next, err := s.lookGone(ctx, c, p, to, now)
	if errors.Is(err, im.ErrJournalDamaged) {
		return to, nil // who reads what is damaged is told
	}
	if err != nil {
		return 0, err
	}
	s.lifetimes.mu.Lock()
	s.lifetimes.gone.Put(key, next)
	s.lifetimes.mu.Unlock()
	return next.to, nil
}

// lookGone finds the last entry of a period, behind to, that is gone: in steps that grow,
// and between the last two by halves.
func (s *Service) lookGone(ctx context.Context, c im.ConversationID, p im.Period, to uint64, now time.Time) (goneTo, error) {
	head, err := s.head(ctx, c)
	if err != nil {
		return goneTo{}, err
	}
	last := head.Seq
	if p.Until != 0 {
		last = min(last, p.Until)
	}
	// Whatever is stored from now on goes a lifetime from now, at the earliest.
	out := goneTo{to: to, next: now.Add(p.Lifetime), until: p.Until}
	from, end := to+1, last+1 // the first that is alive is one of them
	for step := uint64(1); from < end; step *= 4 {
		at := min(from+step-1, last)
		e, err := s.entryAt(ctx, c, at)
		if err != nil {
			return goneTo{}, err
		}
		if ends := e.Stored.Add(p.Lifetime); ends.After(now) {
			out.next, end = ends, at
			break
		}
		from = at + 1
	}
	for from < end {
		mid := from + (end-from)/2
		e, err := s.entryAt(ctx, c, mid)
		if err != nil {
			return goneTo{}, err
		}
		if ends := e.Stored.Add(p.Lifetime); ends.After(now) {
			out.next, end = ends, mid
		} else {
			from = mid + 1
		}
	}
	out.to = from - 1
	return out, nil
}

// entryAt reads one entry.
func (s *Service) entryAt(ctx context.Context, c im.ConversationID, seq uint64) (im.Entry, error) {
	got, err := s.journal.Read(ctx, c, seq, false, 1)
	if err != nil {
		return im.Entry{}, err
	}
	if len(got) == 0 || got[0].Seq != seq {
		return im.Entry{}, im.Errorf(im.CodeInternal, "entry %d of a conversation is missing", seq)
	}
	return got[0], nil
}

// isGone tells whether an entry of a conversation is gone.
func (s *Service) isGone(ctx context.Context, c im.ConversationID, seq uint64) (bool, error) {
	l, err := s.leftOf(ctx, c)
	for _, g := range l.gaps {
		if g.First <= seq && seq <= g.Until {
			return true, err
		}
	}
	return false, err
}

// membership is what a user may read of a conversation, without what is gone.
func (s *Service) membership(ctx context.Context, u im.UserID, c im.ConversationID, roster uint64) (im.Membership, error) {
	m, err := s.members.Membership(ctx, u, c, roster)
	if err != nil {
		return m, err
	}
	l, err := s.leftOf(ctx, c)
	return without(m, l.gaps), err
}

// withoutGone takes out of a view what is gone.
func (s *Service) withoutGone(ctx context.Context, v *view) error {
	l, err := s.leftOf(ctx, v.m.Conversation)
	v.m, v.living, v.floor = without(v.m, l.gaps), l.living, l.floor
	return err
}

// without is a membership whose times are cut where something is gone. Where that is the
// end, the last time begins behind it.
func without(m im.Membership, gaps []im.Window) im.Membership {
	if len(gaps) == 0 {
		return m
	}
	var earlier []im.Window
	cut := func(w im.Window, last bool) {
		for _, g := range gaps {
			if g.Until < w.First || w.Until != 0 && g.First > w.Until {
				continue
			}
			if w.First < g.First {
				earlier = append(earlier, im.Window{First: w.First, Until: g.First - 1})
			}
			w.First = g.Until + 1
		}
		switch {
		case last:
			m.First = w.First
		case w.First <= w.Until:
			earlier = append(earlier, w)
		}
	}
	for _, w := range m.Earlier {
		cut(w, false)
	}
	cut(im.Window{First: max(m.First, 1), Until: m.Until}, true)
	m.Earlier = earlier
	return m
}
