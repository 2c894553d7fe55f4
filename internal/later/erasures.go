package later

import (
	"context"
	"log/slog"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// ErasureStore keeps what is to be done about users whose accounts were deleted.
// internal/directory is one.
type ErasureStore interface {
	// DueErasures returns at most limit of those that are not done, the earliest first.
	DueErasures(ctx context.Context, limit int) ([]im.Erasure, error)
	// MoveErasure notes how far one is, in the place of how far it was; false: it is
	// elsewhere by now, or more is to be erased.
	MoveErasure(ctx context.Context, was, is im.Erasure) (bool, error)
}

// ErasureStep is a part of what is to be done.
type ErasureStep struct {
	// After is how long after the beginning it may begin.
	After time.Duration
	// Do does some of it, from e.Place on, and tells where to go on; "": it is done. Done
	// again it does nothing more.
	Do func(ctx context.Context, e im.Erasure) (place string, err error)
}

// ErasuresOptions are the options of Erasures. Those that are not told to be optional must
// be set.
type ErasuresOptions struct {
	Store ErasureStore
	Lease Lease
	// Steps are done one after the other.
	Steps []ErasureStep
	// Node names this process. Optional.
	Node string
	// Alone: no other process has the store.
	Alone  bool
	Now    func() time.Time // optional
	Logger *slog.Logger     // optional
}

// Erasures does what is to be done about users whose accounts were deleted: step by step,
// each noted when it is done. After a crash the step that was not noted is done again,
// which changes nothing. One that cannot be gone on with does not hold up the others. Use
// NewErasures.
//
// Goroutines: one, from Start to Close, that looks every second.
type Erasures struct {
	worker
	o ErasuresOptions
}

const (
	// erasuresOnce is how many are gone on with in one look.
	erasuresOnce = 100
	// eraseTime bounds a part of a step.
	eraseTime = time.Minute
)

// NewErasures makes one; Start begins.
func NewErasures(o ErasuresOptions) *Erasures {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Erasures{o: o}
	s.look, s.what, s.log = s.Look, "what deleted accounts leave", o.Logger
	s.begin(erasuresName, o.Lease, o.Node, o.Alone)
	return s
}

// Look goes on with what is to be done, if this process is the one who does.
func (s *Erasures) Look(ctx context.Context) error {
	due, err := s.due(ctx)
	for err == nil && len(due) > 0 {
		var left []im.Erasure
		for _, e := range due {
			work, err := s.lease.work(ctx, s.o.Now())
			if err != nil || !work {
				return err
			}
			next, more, err := s.part(ctx, e)
			if err != nil {
				s.o.Logger.Warn("what a deleted account leaves is tried again", "user", e.User, "step", e.Step, "err", err)
			} else if more {
				left = append(left, next)
			}
		}
		due, err = left, ctx.Err()
	}
	return err
}

func (s *Erasures) due(ctx context.Context) ([]im.Erasure, error) {
	ctx, cancel := context.WithTimeout(ctx, storeTime)
	defer cancel()
	if work, err := s.lease.work(ctx, s.o.Now()); err != nil || !work {
		return nil, err
	}
	return s.o.Store.DueErasures(ctx, erasuresOnce)
}

// part does a part of one, and tells how far it is then and whether there is more to do
// now.
func (s *Erasures) part(ctx context.Context, e im.Erasure) (im.Erasure, bool, error) {
	next := e
	if e.Step < len(s.o.Steps) {
		step := &s.o.Steps[e.Step]
		if s.o.Now().Before(e.Begun.Add(step.After)) {
			return e, false, nil
		}
		doing, cancel := context.WithTimeout(ctx, eraseTime)
		place, err := step.Do(doing, e)
		cancel()
		if err != nil {
			return e, false, err
		}
		if next.Place = place; place == "" {
			next.Step++
		}
	}
	if next.Step >= len(s.o.Steps) {
		next.Done = s.o.Now()
	}
	noting, cancel := context.WithTimeout(ctx, storeTime)
	defer cancel()
	moved, err := s.o.Store.MoveErasure(noting, e, next)
	return next, moved && next.Done.IsZero(), err
}
