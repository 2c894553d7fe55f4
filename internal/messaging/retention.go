package messaging

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// What is said is kept for a time (SPEC §4.33): what is older lies up to the
// conversation's floor, and is gone for all. Two move floors: for all conversations what
// follows the journal (internal/later's Retention), and for one with a time of its own its
// timer. Both do it in two steps, with what Raise and GiveUp are: first the floor is noted,
// then, when every node has taken note of it, the journal gives up what is below it.

// Retention keeps how long messages are kept, and the floors.
type Retention interface {
	// Retention returns how long the messages of those of the conversations are kept of
	// which anything is known.
	Retention(ctx context.Context, cs []im.ConversationID) (map[im.ConversationID]im.Retention, error)
	// SetRetention sets it for one, and has a TimerRetention look at it now.
	SetRetention(ctx context.Context, c im.ConversationID, own bool, keep time.Duration, now time.Time) error
	// RaiseFloors moves floors forward, none of them back, at a time.
	RaiseFloors(ctx context.Context, floors []im.Floor, now time.Time) error
	// Raised tells the greatest Told of all conversations, and whether some floor is not
	// given up yet.
	Raised(ctx context.Context) (newest uint64, waits bool, err error)
	// GaveUp notes up to where conversations were given up.
	GaveUp(ctx context.Context, given []im.Floor) error
}

// floorTold is after what time every node knows that a floor has moved, and nobody reads
// any more what was read below it.
const floorTold = periodsFor + goneFor

// givenSpan is how many entries are given up before that is noted.
const givenSpan = 50_000

// SetRetention sets how long the messages of a dm or group are kept: keep, or for ever if
// that is 0; where own is false, as all of the deployment's. Whether the users of a dm are
// there is the caller's to know.
func (s *Service) SetRetention(ctx context.Context, c im.ConversationID, own bool, keep time.Duration) error {
	if own && keep != 0 {
		if err := im.CheckRetention(keep); err != nil {
			return err
		}
	}
	if err := s.keeps(ctx, c); err != nil {
		return err
	}
	return s.retention.SetRetention(ctx, c, own, keep, s.now())
}

// GetRetention returns how long the messages of a dm or group are kept; where it has no
// time of its own, Keep is the deployment's.
func (s *Service) GetRetention(ctx context.Context, c im.ConversationID) (im.Retention, error) {
	if err := s.keeps(ctx, c); err != nil {
		return im.Retention{}, err
	}
	return s.retentionOf(ctx, c)
}

// keeps refuses conversations that have no retention.
func (s *Service) keeps(ctx context.Context, c im.ConversationID) error {
	if c.Kind() == im.KindMe {
		return im.Wrong("conversation", "must be a dm or a group")
	}
	if c.Kind() == im.KindDM {
		return nil // it may be that nothing was said in it yet
	}
	head, err := s.head(ctx, c)
	if err == nil && head.Seq == 0 {
		e := im.Errorf(im.CodeNotFound, "there is no such group")
		e.Field = "conversation"
		err = e
	}
	return err
}

func (s *Service) retentionOf(ctx context.Context, c im.ConversationID) (im.Retention, error) {
	found, err := s.retention.Retention(ctx, []im.ConversationID{c})
	r := found[c]
	if !r.Own {
		r.Keep = s.keepFor
	}
	return r, err
}

// Kept are those of the conversations that have a time of their own.
func (s *Service) Kept(ctx context.Context, cs []im.ConversationID) (map[im.ConversationID]bool, error) {
	found, err := s.retention.Retention(ctx, cs)
	own := map[im.ConversationID]bool{}
	for c, r := range found {
		if r.Own {
			own[c] = true
		}
	}
	return own, err
}

// Raise moves floors, as far as they are behind, and tells them.
func (s *Service) Raise(ctx context.Context, floors []im.Floor) error {
	if err := s.retention.RaiseFloors(ctx, floors, s.now()); err != nil {
		return err
	}
	s.lifetimes.mu.Lock()
	for _, f := range floors {
		s.lifetimes.periods.Delete(f.Conversation)
	}
	s.lifetimes.mu.Unlock()
	s.deliverer.Floors(floors)
	return nil
}

// remindFloor tells a floor once more when the journal is about to give up what lies up to
// it: who missed it, or was told less by a node that had not noticed yet, learns it.
func (s *Service) remindFloor(ctx context.Context, c im.ConversationID, floor uint64) error {
	count, err := s.countAt(ctx, c, floor, im.Head{})
	if errors.Is(err, im.ErrJournalDamaged) {
		return nil // whoever reads it is told
	}
	if err == nil {
		s.deliverer.Floors([]im.Floor{{Conversation: c, Seq: floor, Count: count}})
	}
	return err
}

// raisedFor is for how long what is known of all floors is taken for what it is: less than
// floorTold, so that who is told nothing by it has a position before Told.
const raisedFor = 5 * time.Second

// raised are the conversations of a user whose floors have risen since a position, or may
// have: those that are not given up, and those that were known everywhere at it or later.
func (s *Service) raised(ctx context.Context, u im.UserID, since im.Position) (map[im.ConversationID]bool, error) {
	if s.retention == nil {
		return nil, nil
	}
	if some, err := s.anyRaised(ctx, since); err != nil || !some {
		return nil, err
	}
	ms, _, err := s.members.Memberships(ctx, u)
	if err != nil {
		return nil, err
	}
	ids := make([]im.ConversationID, len(ms))
	for i := range ms {
		ids[i] = ms[i].Conversation
	}
	found, err := s.retention.Retention(ctx, ids)
	raised := map[im.ConversationID]bool{}
	for c, r := range found {
		if r.Given < r.Floor || r.Told > 0 && r.Told >= since.At(s.shard(c)) {
			raised[c] = true
		}
	}
	return raised, err
}

// anyRaised tells whether the floor of any conversation may have risen since a position.
func (s *Service) anyRaised(ctx context.Context, since im.Position) (bool, error) {
	l := &s.lifetimes
	l.mu.Lock()
	known := l.raised
	l.mu.Unlock()
	if age := s.now().Sub(known.at); known.at.IsZero() || age < 0 || age >= raisedFor {
		var err error
		known.at = s.now()
		if known.newest, known.waits, err = s.retention.Raised(ctx); err != nil {
			return false, err
		}
		l.mu.Lock()
		l.raised = known
		l.mu.Unlock()
	}
	return known.waits || known.newest > 0 && (s.shards != nil || known.newest >= since.At(0)), nil
}

// GiveUp has the journal give up what is below the floors of conversations that were
// raised floorTold ago. Done again it does nothing more. again tells when those are that
// were raised later; zero: none were.
func (s *Service) GiveUp(ctx context.Context, cs []im.ConversationID) (again time.Time, err error) {
	found, err := s.retention.Retention(ctx, cs)
	if err != nil {
		return time.Time{}, err
	}
	at, err := s.journal.Position(ctx)
	if err != nil {
		return time.Time{}, err
	}
	now := s.now()
	var given []im.Floor
	for _, c := range slices.Sorted(maps.Keys(found)) {
		r := found[c]
		if r.Given >= r.Floor {
			continue
		}
		if at := r.Raised.Add(floorTold); at.After(now) {
			if again.IsZero() || at.Before(again) {
				again = at
			}
			continue
		}
		if err := s.remindFloor(ctx, c, r.Floor); err != nil {
			return time.Time{}, err
		}
		for r.Given < r.Floor {
			to := min(r.Given+givenSpan, r.Floor)
			err := s.doubtSpan(ctx, c, r.Given, to)
			if err == nil {
				err = s.trims.Trim(ctx, im.Span{Conversation: c, After: r.Given, Until: to})
			}
			if errors.Is(err, im.ErrJournalDamaged) {
				break // who reads it is told; others go on
			}
			if err == nil && to < r.Floor {
				err = s.retention.GaveUp(ctx, []im.Floor{{Conversation: c, Seq: to, Told: at.At(s.shard(c))}})
			}
			if err != nil {
				return time.Time{}, err
			}
			s.metrics.givenUp.Add(float64(to - r.Given))
			r.Given = to
		}
		if r.Given == r.Floor {
			given = append(given, im.Floor{Conversation: c, Seq: r.Floor, Told: at.At(s.shard(c))})
		}
	}
	return again, s.retention.GaveUp(ctx, given)
}

// keepOwn is what the timer of a conversation with a time of its own is for: it gives up
// what is below its floor, moves it, and tells when to look again. One that has none any
// more is looked at until it is as all others are.
func (s *Service) keepOwn(ctx context.Context, c im.ConversationID) (again time.Time, err error) {
	if s.retention == nil || s.trims == nil {
		return time.Time{}, nil
	}
	if again, err = s.GiveUp(ctx, []im.ConversationID{c}); err != nil || !again.IsZero() {
		return again, err
	}
	r, err := s.retentionOf(ctx, c)
	if err != nil || r.Keep == 0 {
		return time.Time{}, err
	}
	now := s.now()
	gone, err := s.lookGone(ctx, c, im.Period{Lifetime: r.Keep}, r.Floor, now)
	switch {
	case errors.Is(err, im.ErrJournalDamaged):
		return now.Add(maxPause), nil
	case err != nil:
		return time.Time{}, err
	case gone.to > r.Floor:
		count, err := s.countAt(ctx, c, gone.to, im.Head{})
		if err != nil {
			return time.Time{}, err
		}
		return now.Add(floorTold), s.Raise(ctx, []im.Floor{{Conversation: c, Seq: gone.to, Count: count}})
	case !r.Own:
		return time.Time{}, nil
	}
	again = now.Add(KeepPause(r.Keep))
	if gone.next.After(again) {
		again = gone.next
	}
	return again, nil
}

// KeepPause is how long is waited between two looks for what is not to be kept any more.
func KeepPause(keep time.Duration) time.Duration {
	return min(max(keep/24, minPause), maxPause)
}
