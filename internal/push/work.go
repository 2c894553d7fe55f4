package push

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/skein-im/skein/internal/entrycodec"
	"github.com/skein-im/skein/internal/im"
)

const (
	// lookEvery is how often is looked for what is due; what is queued here is looked for at
	// once.
	lookEvery = time.Second
	// parallel is how much is worked on at a time. Nobody else gets it for holds, which is
	// longer than sending it takes.
	parallel = 64
	holds    = 20 * time.Second
	// storeTime bounds a question to the stores.
	storeTime = 5 * time.Second
	// What failed is tried again after retryLeast, then twice as long each time up to
	// retryMost, mostTries times in all: some two hours.
	retryLeast, retryMost = 5 * time.Second, 30 * time.Minute
	mostTries             = 12
	// watched is how long a notification may be taken away. It is looked whether it is to be
	// after watchLeast, then each time when it is a quarter older, at least.
	watched    = 24 * time.Hour
	watchLeast = 5 * time.Second
	// mostBack is how many messages are looked at for the newest one to be told.
	mostBack = 20
)

// run looks for work until the life ends.
func (s *Service) run() {
	t := time.NewTicker(lookEvery)
	defer t.Stop()
	failed := false
	for {
		err := s.Look(s.life)
		if err != nil && !failed && s.life.Err() == nil {
			s.o.Logger.Warn("push: what is to be pushed waits: the stores cannot be asked", "err", err)
		}
		failed = err != nil
		select {
		case <-s.life.Done():
			return
		case <-t.C:
		case <-s.wake:
		}
	}
}

// nudge has run look at once.
func (s *Service) nudge() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Look does all that is due, and what becomes so meanwhile. A push service that does not
// answer keeps mostSilent places of parallel, not the others.
func (s *Service) Look(ctx context.Context) error {
	t := time.NewTicker(lookEvery)
	defer t.Stop()
	done := make(chan error, parallel)
	running := 0
	var failed error
	for ctx.Err() == nil && failed == nil {
		n, err := s.begin(ctx, parallel-running, done)
		running += n
		failed = err
		if running == 0 {
			return failed
		}
		if n > 0 && running < parallel {
			continue // there may be more
		}
		select {
		case err := <-done:
			running--
			failed = errors.Join(failed, err)
		case <-t.C:
		case <-s.wake:
		}
	}
	for ; running > 0; running-- {
		failed = errors.Join(failed, <-done)
	}
	return failed
}

// begin claims at most so much and has it done, each telling done how that ended. An error is
// the stores'; what is left undone is claimed again.
func (s *Service) begin(ctx context.Context, most int, done chan<- error) (int, error) {
	asking, cancel := context.WithTimeout(ctx, storeTime)
	defer cancel()
	now := s.o.Now()
	all, err := s.o.Queue.ClaimPushes(asking, now, now.Add(holds), most)
	if err != nil || len(all) == 0 {
		return 0, err
	}
	keys := make([]im.MarkKey, len(all))
	for i := range all {
		keys[i] = im.MarkKey{User: all[i].User, Conversation: all[i].Conversation}
	}
	marks, err := s.marks(asking, keys, false)
	if err != nil {
		return 0, err
	}
	for i := range all {
		go func() { done <- s.do(ctx, &all[i], marks[i]) }()
	}
	return len(all), nil
}

// marks reads marks. One that is damaged is nil, and the others are as they are: whom it is
// of is not woken there, and nobody else waits for it.
func (s *Service) marks(ctx context.Context, keys []im.MarkKey, recent bool) ([]*im.Mark, error) {
	read, all := make([]im.Mark, len(keys)), make([]*im.Mark, len(keys))
	for i := range read {
		all[i] = &read[i]
	}
	err := im.Apart(0, len(keys), func(from, until int) error {
		return s.o.Marks.Marks(ctx, keys[from:until], read[from:until], recent)
	}, func(i int, _ error) { all[i] = nil })
	return all, err
}

// do works on what was claimed, and notes what became of it.
func (s *Service) do(ctx context.Context, w *im.PushWork, m *im.Mark) error {
	o, err := s.one(ctx, w, m)
	if errors.Is(err, im.ErrJournalDamaged) { // it is not to be looked at for ever; who reads it is told
		o, err = im.PushOutcome{Step: im.PushDone}, nil
	}
	if err != nil || ctx.Err() != nil {
		return errors.Join(err, ctx.Err())
	}
	o.Now = s.o.Now()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTime)
	defer cancel()
	return s.o.Queue.FinishPush(ctx, w, o)
}

// one decides what becomes of a work, and does it. A panic is that of what it was given: it
// is given up.
func (s *Service) one(ctx context.Context, w *im.PushWork, m *im.Mark) (o im.PushOutcome, err error) {
	defer func() {
		if r := recover(); r != nil {
			s.o.Logger.Error("push: a message made its reader panic", "conversation", w.Conversation, "seq", w.Seq, "panic", fmt.Sprint(r), "stack", string(debug.Stack()))
			o, err = im.PushOutcome{Step: im.PushDone}, nil
		}
	}()
	if m == nil {
		return o, im.ErrJournalDamaged
	}
	told, err := s.toTell(ctx, w, m)
	switch {
	case err == nil:
		return s.tell(ctx, w, told), nil
	case !errors.Is(err, errEmpty):
		return o, err
	}
	return s.watch(ctx, w, m)
}

// telling is what a device is told.
type telling struct {
	said
	seq    uint64
	stored time.Time
	names  im.PushNames
	// more is how many messages there are besides it.
	more int
}

// toTell finds the newest message that the device is to be told of. errEmpty: there is none.
func (s *Service) toTell(ctx context.Context, w *im.PushWork, m *im.Mark) (*telling, error) {
	from := max(w.First, w.Shown+1, m.Received+1, m.Read+1)
	if w.Seq <= w.Shown || from > w.Seq {
		return nil, errEmpty
	}
	if w.Seq-from >= mostBack {
		from = w.Seq - mostBack + 1
	}
	var seqs []uint64
	for seq := w.Seq; seq >= from; seq-- {
		seqs = append(seqs, seq)
	}
	shown, err := s.shown(ctx, w, seqs)
	if err != nil {
		return nil, err
	}
	mine, err := entrycodec.MyState(m.Mine, w.Conversation)
	if err != nil {
		return nil, errEmpty
	}
	var t *telling
	blocked := map[im.UserID]im.PushNames{}
	for i := range shown { // the newest first
		e := &shown[i]
		what, ok := saidBy(e)
		if !ok || e.Sender == w.User || !wants(w.Conversation, &w.Settings, &mine, what.mentions(w.User), s.o.Now()) {
			continue
		}
		names, known := blocked[e.Sender]
		if !known {
			if names, err = s.o.Subscriptions.PushNames(ctx, w.User, w.Conversation, e.Sender); im.CodeOf(err) == im.CodeNotFound {
				names.Blocked = true
			} else if err != nil {
				return nil, err
			}
			blocked[e.Sender] = names
		}
		switch {
		case names.Blocked:
		case t == nil:
			t = &telling{said: what, seq: e.Seq, stored: e.Stored, names: names}
		default:
			t.more++
		}
	}
	if t == nil {
		return nil, errEmpty
	}
	return t, nil
}

// shown are messages as the user's devices would be shown them, in the order of seqs. Who is
// no member any more is shown none.
func (s *Service) shown(ctx context.Context, w *im.PushWork, seqs []uint64) ([]im.Entry, error) {
	all, err := s.o.Messages.Shown(ctx, im.Actor{User: w.User}, w.Conversation, seqs)
	switch im.CodeOf(err) {
	case "":
		return all, nil
	case im.CodeNotFound, im.CodePermissionDenied:
		return nil, nil
	}
	return nil, err
}

// tell sends it.
func (s *Service) tell(ctx context.Context, w *im.PushWork, t *telling) im.PushOutcome {
	urgency := "normal"
	if w.Conversation.Kind() == im.KindDM || t.mentions(w.User) {
		urgency = "high"
	}
	o := s.outcome(ctx, w, s.send(ctx, w, payloadOf(w, t), urgency), resultSent)
	if o.Step == im.PushTold {
		s.metrics.took.Observe(s.o.Now().Sub(t.stored).Seconds())
		o.Shown, o.At = t.seq, s.o.Now().Add(watchLeast)
	}
	return o
}

// watch decides what becomes of what a device was told before.
func (s *Service) watch(ctx context.Context, w *im.PushWork, m *im.Mark) (im.PushOutcome, error) {
	now := s.o.Now()
	if w.Shown == 0 || now.Sub(w.ShownAt) > watched {
		return im.PushOutcome{Step: im.PushDone}, nil
	}
	over := m.Read >= w.Shown
	if !over {
		still, err := s.shown(ctx, w, []uint64{w.Shown})
		if err != nil {
			return im.PushOutcome{}, err
		}
		over = len(still) == 0 // recalled, gone, deleted by the user, or they left
	}
	if !over {
		return im.PushOutcome{Step: im.PushLook, Shown: w.Shown, At: now.Add(max(watchLeast, now.Sub(w.ShownAt)/4))}, nil
	}
	o := s.outcome(ctx, w, s.send(ctx, w, closing(w), "normal"), resultClosed)
	if o.Step == im.PushTold {
		o.Step = im.PushDone
	}
	return o, nil
}

// outcome is what follows from how sending ended.
func (s *Service) outcome(ctx context.Context, w *im.PushWork, err error, done string) im.PushOutcome {
	var answer *answerError
	errors.As(err, &answer)
	now := s.o.Now()
	switch {
	case err == nil:
		s.metrics.results.WithLabelValues(done).Inc()
		return im.PushOutcome{Step: im.PushTold}
	case ctx.Err() != nil: // do looks at it, too
		return im.PushOutcome{Step: im.PushAgain, At: now}
	case answer != nil && answer.gone:
		s.metrics.results.WithLabelValues(resultGone).Inc()
		return im.PushOutcome{Step: im.PushGone}
	case answer != nil && answer.final || w.Tries+1 >= mostTries || now.Sub(w.Made) > s.o.TTL:
		s.metrics.results.WithLabelValues(resultFailed).Inc()
		s.o.Logger.Warn("push: given up", "service", hostOf(w.Endpoint), "tries", w.Tries+1, "err", err)
		return im.PushOutcome{Step: im.PushFailed}
	}
	s.metrics.results.WithLabelValues(resultRetried).Inc()
	s.o.Logger.Debug("push: tried again later", "service", hostOf(w.Endpoint), "err", err)
	after := min(retryLeast<<min(w.Tries, 20), retryMost)
	if answer != nil {
		after = max(after, min(answer.after, s.o.TTL))
	}
	return im.PushOutcome{Step: im.PushAgain, At: now.Add(after)}
}
