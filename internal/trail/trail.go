// Package trail owns the audit log: a line for every act of an administrator, and for
// everybody who signed in or tried to.
//
// It must not know what an act means, nor who may read the log: the API decides both. A line
// of an act is written before the act is done, and what came of it after, before it is
// answered (Begin, Finish). That somebody signed in is written in the transaction that opens
// the session (im.SessionOpening.Act); that they failed to is noted here, and written behind.
//
// Goroutines: one, from New to Close, writes what failed (every flushEvery), and removes what
// is older than lines are kept (every purgeEvery). Locks: mu around what waits to be written,
// for map operations; no store is called under it.
//
// Invariants:
//   - no act is done without a line of it on disk, and none is answered before the line says
//     what came of it, or, where that could not be written, that it is not known;
//   - no session opens without its line, and nobody who signs in waits for another write;
//   - what failed, or was refused for a role, within flushEvery before a crash may be missing;
//     of one way of signing in, account, address and code it is one line with a number, of one
//     method and user as well, and at most maxWaiting lines are written at a time, so a flood
//     of guesses neither fills the store nor slows anybody down.
package trail

import (
	"context"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/skein-im/skein/internal/im"
)

const (
	flushEvery = time.Second
	purgeEvery = time.Hour
	// purgeAtOnce is how many lines one transaction removes.
	purgeAtOnce = 500
	// maxWaiting is how many different failures are told apart between two writes; the rest
	// is one line.
	maxWaiting = 500
	// writeTime bounds a write of the goroutine's.
	writeTime = 30 * time.Second
	// MaxPage is the longest page of lines.
	MaxPage = 1000
)

// Store keeps the lines.
type Store interface {
	// PutActs writes lines; one that is there stays as it is.
	PutActs(ctx context.Context, acts []im.Act) error
	// FinishAct notes what came of an act, and its target if it has none.
	FinishAct(ctx context.Context, id im.MessageID, code im.Code, target string) error
	Acts(ctx context.Context, q im.ActQuery) ([]im.Act, error)
	// PurgeActs removes at most limit lines of a kind from before a time.
	PurgeActs(ctx context.Context, kind im.ActKind, before time.Time, limit int) (int, error)
}

// Options of a Service.
type Options struct {
	Store Store
	// Keep is how long lines of a kind are kept; one that is missing is kept for ever.
	Keep map[im.ActKind]time.Duration
	// Now is the clock, Random makes ids. Both must be set.
	Now    func() time.Time
	Random io.Reader
	Logger *slog.Logger
}

// Service writes the audit log. All methods may be called concurrently.
type Service struct {
	o       Options
	stop    chan struct{}
	stopped sync.WaitGroup
	once    sync.Once

	mu      sync.Mutex
	waiting map[failure]*im.Act
}

// failure is what is told in one line.
type failure struct {
	kind                    im.ActKind
	by                      im.UserID
	action, target, address string
	code                    im.Code
}

// New makes the service and starts its goroutine; Close ends it.
func New(o Options) *Service {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Service{o: o, stop: make(chan struct{}), waiting: map[failure]*im.Act{}}
	s.stopped.Go(s.background)
	return s
}

// Close writes what waits, and ends the goroutine.
func (s *Service) Close() {
	s.once.Do(func() {
		close(s.stop)
		s.stopped.Wait()
		s.Flush(context.Background())
	})
}

func (s *Service) background() {
	flush, purge := time.NewTicker(flushEvery), time.NewTicker(purgeEvery)
	defer flush.Stop()
	defer purge.Stop()
	for {
		select {
		case <-s.stop:
			return
		case <-flush.C:
			s.Flush(context.Background())
		case <-purge.C:
			if err := s.Purge(context.Background()); err != nil {
				s.o.Logger.Warn("trail: old lines of the audit log were not removed, trying again later", "err", err)
			}
		}
	}
}

// Line makes a line of now with an id of its own.
func (s *Service) Line(kind im.ActKind, action string) (im.Act, error) {
	var random [10]byte
	if _, err := io.ReadFull(s.o.Random, random[:]); err != nil {
		return im.Act{}, im.Wrap(err, im.CodeInternal, "the server has no random numbers")
	}
	now := s.o.Now()
	return im.Act{ID: im.NewMessageID(now, random), At: now, Kind: kind, Action: action, Times: 1}, nil
}

// Begin writes that an act is about to be done; without it the act must not be done.
func (s *Service) Begin(ctx context.Context, a im.Act) error {
	a.Code = im.ActBegun
	return s.o.Store.PutActs(ctx, []im.Act{a})
}

// Finish writes what came of an act, also if who asked for it is gone. What cannot be
// written is logged: the line says that nobody knows.
func (s *Service) Finish(ctx context.Context, a im.Act) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTime)
	defer cancel()
	if err := s.o.Store.FinishAct(ctx, a.ID, a.Code, a.Target); err != nil {
		s.o.Logger.Error("trail: what came of an act could not be written to the audit log", "action", a.Action, "by", a.By, "target", a.Target, "code", a.Code, "err", err)
	}
}

// SignInFailed notes that somebody could not sign in.
func (s *Service) SignInFailed(a im.Act) { s.note(a) }

// Refused notes that somebody's role does not allow an act, or a look at something.
func (s *Service) Refused(a im.Act) { s.note(a) }

func (s *Service) note(a im.Act) {
	key := failure{a.Kind, a.By, a.Action, a.Target, a.Address, a.Code}
	s.mu.Lock()
	defer s.mu.Unlock()
	if had := s.waiting[key]; had != nil {
		had.Times++
		return
	}
	if len(s.waiting) >= maxWaiting {
		key = failure{kind: a.Kind, action: a.Action, code: a.Code}
		if had := s.waiting[key]; had != nil {
			had.Times++
			return
		}
		a.By, a.Role, a.Session, a.Address, a.Device, a.Target, a.Detail = "", 0, "", "", "", "", `{"others":true}`
	}
	s.waiting[key] = &a
}

// Flush writes what waits.
func (s *Service) Flush(ctx context.Context) {
	s.mu.Lock()
	waiting := s.waiting
	s.waiting = map[failure]*im.Act{}
	s.mu.Unlock()
	if len(waiting) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, writeTime)
	defer cancel()
	acts := make([]im.Act, 0, len(waiting))
	for _, a := range waiting {
		acts = append(acts, *a)
	}
	if err := s.o.Store.PutActs(ctx, acts); err != nil {
		s.o.Logger.Warn("trail: failed sign-ins were not written to the audit log, trying again", "lines", len(acts), "err", err)
		s.again(waiting)
	}
}

// again has what could not be written wait once more.
func (s *Service) again(failed map[failure]*im.Act) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, a := range failed {
		if had := s.waiting[key]; had != nil {
			a.Times += had.Times
		} else if len(s.waiting) > 2*maxWaiting {
			continue
		}
		s.waiting[key] = a
	}
}

// List returns lines, and whether there are more: see im.ActQuery.
func (s *Service) List(ctx context.Context, q im.ActQuery) (acts []im.Act, more bool, err error) {
	limit := min(max(q.Limit, 1), MaxPage)
	q.Limit = limit + 1
	acts, err = s.o.Store.Acts(ctx, q)
	if len(acts) > limit {
		return acts[:limit], true, err
	}
	return acts, false, err
}

// Purge removes lines that are older than they are kept.
func (s *Service) Purge(ctx context.Context) error {
	for kind, keep := range s.o.Keep {
		for n := purgeAtOnce; n == purgeAtOnce; {
			select {
			case <-s.stop:
				return nil
			default:
			}
			var err error
			one, cancel := context.WithTimeout(ctx, writeTime)
			n, err = s.o.Store.PurgeActs(one, kind, s.o.Now().Add(-keep), purgeAtOnce)
			cancel()
			if err != nil {
				return err
			}
		}
	}
	return nil
}
