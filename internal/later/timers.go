package later

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// TimerStore keeps what is to become of messages at a time. internal/directory is one.
type TimerStore interface {
	// DueTimers returns at most limit of those whose time has come, the earliest first.
	DueTimers(ctx context.Context, now time.Time, limit int) ([]im.Timer, error)
	// EndTimers moves timers to another time, or removes those whose time is zero there.
	// One that was set again since it was read stays.
	EndTimers(ctx context.Context, timers []im.Timer, to []time.Time) error
}

// TimersOptions are the options of Timers. Those that are not told to be optional must
// be set.
type TimersOptions struct {
	Store TimerStore
	Lease Lease
	// Do does what a timer is for, and tells when to look at it again; zero: never. Done
	// again it does nothing more.
	Do func(ctx context.Context, t im.Timer) (again time.Time, err error)
	// Node names this process. Optional.
	Node string
	// Alone: no other process has the store.
	Alone  bool
	Now    func() time.Time // optional
	Logger *slog.Logger     // optional
}

// Timers does to messages what is to become of them at a time: a page of those that are
// due, several at once, and then notes that they are done. After a crash between the two
// they are done again, which changes nothing. Use NewTimers.
//
// Goroutines: one, from Start to Close, that looks every second, and while it works at
// most maxDoing more.
type Timers struct {
	worker
	o TimersOptions
}

const (
	// timerPage is how many timers are taken at a time, maxDoing how many are done at
	// once: what they append goes in few batches then.
	timerPage = 512
	maxDoing  = 64
	// doTime bounds the doing of one; doneAgain is when one that failed is done again.
	doTime    = 20 * time.Second
	doneAgain = 5 * time.Second
)

// NewTimers makes one; Start begins.
func NewTimers(o TimersOptions) *Timers {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	t := &Timers{o: o}
	t.look, t.what, t.log = t.Look, "timers of messages", o.Logger
	t.begin(timersName, o.Lease, o.Node, o.Alone)
	return t
}

// Look does what is due, if this process is the one who does.
func (s *Timers) Look(ctx context.Context) error {
	asking, cancel := context.WithTimeout(ctx, storeTime)
	work, err := s.lease.work(asking, s.o.Now())
	cancel()
	if err != nil || !work {
		return err
	}
	for ctx.Err() == nil {
		asking, cancel := context.WithTimeout(ctx, storeTime)
		due, err := s.o.Store.DueTimers(asking, s.o.Now(), timerPage)
		cancel()
		if err != nil || len(due) == 0 {
			return err
		}
		to := s.doAll(ctx, due)
		asking, cancel = context.WithTimeout(ctx, storeTime)
		err = s.o.Store.EndTimers(asking, due, to)
		cancel()
		if err != nil || len(due) < timerPage {
			return err
		}
		if work, err = s.lease.work(ctx, s.o.Now()); err != nil || !work {
			return err
		}
	}
	return nil
}

// doAll does what timers are for, and tells when each is to be looked at again.
func (s *Timers) doAll(ctx context.Context, due []im.Timer) []time.Time {
	to := make([]time.Time, len(due))
	var running sync.WaitGroup
	free := make(chan struct{}, maxDoing)
	for i := range due {
		free <- struct{}{}
		running.Go(func() {
			defer func() { <-free }()
			doing, cancel := context.WithTimeout(ctx, doTime)
			defer cancel()
			again, err := s.o.Do(doing, due[i])
			if err != nil {
				s.o.Logger.Warn("a timer of a message is tried again", "conversation", due[i].Conversation, "err", err)
				again = s.o.Now().Add(doneAgain)
			}
			to[i] = again
		})
	}
	running.Wait()
	return to
}
