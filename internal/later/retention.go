package later

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// RetentionOptions are the options of Retention. Those that are not told to be optional
// must be set.
type RetentionOptions struct {
	Journal im.Follow
	Lease   Lease
	// Keep is how long messages are kept.
	Keep time.Duration
	// Pause is how long is waited between two looks that found all there was.
	Pause time.Duration
	// Kept are those of the conversations that have a time of their own: they are left
	// alone.
	Kept func(ctx context.Context, cs []im.ConversationID) (map[im.ConversationID]bool, error)
	// Raise moves floors forward, and GiveUp has the journal give up what is below them, as
	// soon as every node knows of them: again is when that is, if it is not yet. Done again
	// they do nothing more.
	Raise  func(ctx context.Context, floors []im.Floor) error
	GiveUp func(ctx context.Context, cs []im.ConversationID) (again time.Time, err error)
	// Node names this process. Optional.
	Node string
	// Alone: no other process has the store.
	Alone  bool
	Now    func() time.Time // optional
	Logger *slog.Logger     // optional
}

// Retention follows the journal as far behind as messages are kept: what it comes to is
// not to be kept any more. So it costs what leaves, whatever is stored. It moves the
// floors of the conversations, waits until every node knows them, has the journal give
// up what is below, and then notes how far it is: whatever crashes, it does again what it
// had not noted, which changes nothing. Use NewRetention.
//
// Goroutines: one, from Start to Close, that looks every second.
type Retention struct {
	worker
	o RetentionOptions

	// raised are the conversations whose floors were moved, and reached where the journal
	// was read up to.
	raised  []im.ConversationID
	reached im.Place
	next    time.Time // of the next look
	told    time.Time // when every node knows of the floors that were raised, as far as is known
}

const (
	// retentionPage is how many entries are read at a time, retentionRound how many are
	// dealt with at a time, at most, and retentionFloors of how many conversations.
	retentionPage   = 1000
	retentionRound  = 200_000
	retentionFloors = 20_000
	// giveUpTime bounds the giving up of some conversations, givenAtOnce of how many.
	giveUpTime  = 10 * time.Minute
	givenAtOnce = 100
)

// NewRetention makes one; Start begins.
func NewRetention(o RetentionOptions) *Retention {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	r := &Retention{o: o}
	r.look, r.what, r.log = r.Look, "messages that are not to be kept any more", o.Logger
	r.begin(retentionName, o.Lease, o.Node, o.Alone)
	return r
}

// Look does the next step, if this process is the one who does.
func (s *Retention) Look(ctx context.Context) error {
	asking, cancel := context.WithTimeout(ctx, storeTime)
	had := s.lease.held
	work, err := s.lease.work(asking, s.o.Now())
	cancel()
	if err != nil || !work {
		return err
	}
	now := s.o.Now()
	if !had { // somebody else may have been further
		s.raised, s.next = nil, time.Time{}
	}
	switch {
	case len(s.raised) > 0 && now.Before(s.told):
		return nil
	case len(s.raised) > 0:
		return s.giveUp(ctx)
	case now.Before(s.next):
		return nil
	}
	floors, reached, all, err := s.read(ctx, now.Add(-s.o.Keep))
	if err != nil {
		return err
	}
	if all {
		s.next = now.Add(s.o.Pause)
	}
	if floors, err = s.theirs(ctx, floors); err != nil {
		return err
	}
	if len(floors) == 0 {
		return s.moved(ctx, reached)
	}
	if err := s.o.Raise(ctx, floors); err != nil {
		return err
	}
	for _, f := range floors {
		s.raised = append(s.raised, f.Conversation)
	}
	s.reached = reached
	return s.giveUp(ctx)
}

// read reads on from where it is to the first entry that was stored after a time: up to
// which entries conversations are not to be kept, and where that ends. all tells that
// there is no more.
func (s *Retention) read(ctx context.Context, stored time.Time) (floors []im.Floor, reached im.Place, all bool, err error) {
	reached = s.lease.place
	at := map[im.ConversationID]int{}
	for n := 0; n < retentionRound && len(floors) < retentionFloors; {
		got, err := s.after(ctx, reached)
		if err != nil {
			return nil, reached, false, err
		}
		for i := range got.Entries {
			e := &got.Entries[i]
			if e.Stored.After(stored) {
				if e.Pos > reached.Pos+1 {
					reached = got.UpTo.At(e.Pos - 1)
				}
				return floors, reached, true, nil
			}
			if e.Conversation.Kind() == im.KindMe {
				continue
			}
			f, ok := at[e.Conversation]
			if !ok {
				f = len(floors)
				at[e.Conversation] = f
				floors = append(floors, im.Floor{Conversation: e.Conversation})
			}
			if e.Seq > floors[f].Seq {
				floors[f].Seq, floors[f].Count = e.Seq, e.Count
			}
		}
		n += max(len(got.Entries), 1)
		reached = got.UpTo
		if got.UpTo == got.Now {
			return floors, reached, true, nil
		}
	}
	return floors, reached, false, nil
}

// after reads a page. After the history went back it begins where the one that is here
// and the one that the place is of agree.
func (s *Retention) after(ctx context.Context, at im.Place) (im.Followed, error) {
	asking, cancel := context.WithTimeout(ctx, doTime)
	defer cancel()
	got, err := s.o.Journal.After(asking, at, retentionPage)
	if !errors.Is(err, im.ErrOtherHistory) {
		return got, err
	}
	if at, err = s.o.Journal.Agree(asking, at); err != nil {
		return got, err
	}
	return s.o.Journal.After(asking, at, retentionPage)
}

// theirs are the floors without those of conversations that have a time of their own.
func (s *Retention) theirs(ctx context.Context, floors []im.Floor) ([]im.Floor, error) {
	if len(floors) == 0 {
		return nil, nil
	}
	cs := make([]im.ConversationID, len(floors))
	for i, f := range floors {
		cs[i] = f.Conversation
	}
	own, err := s.o.Kept(ctx, cs)
	return slices.DeleteFunc(floors, func(f im.Floor) bool { return own[f.Conversation] }), err
}

// giveUp gives up what is below the floors that were raised, and notes how far it is.
func (s *Retention) giveUp(ctx context.Context) error {
	for len(s.raised) > 0 {
		some := s.raised[:min(givenAtOnce, len(s.raised))]
		giving, cancel := context.WithTimeout(ctx, giveUpTime)
		again, err := s.o.GiveUp(giving, some)
		cancel()
		if err != nil || !again.IsZero() {
			s.told = again
			return err
		}
		s.raised = s.raised[len(some):]
		if work, err := s.lease.work(ctx, s.o.Now()); err != nil || !work {
			return err
		}
	}
	return s.moved(ctx, s.reached)
}

// moved notes how far it is.
func (s *Retention) moved(ctx context.Context, to im.Place) error {
	if to == s.lease.place {
		return nil
	}
	asking, cancel := context.WithTimeout(ctx, storeTime)
	defer cancel()
	_, err := s.lease.move(asking, to, s.o.Now())
	return err
}
