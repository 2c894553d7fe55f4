package later

import (
	"context"
	"sync"
	"time"

	"github.com/skein-im/skein/internal/im"
)

const (
	// lookEvery is how often is looked for what is due.
	lookEvery = time.Second
	// page is how many messages are taken at a time, maxSenders how many conversations
	// are sent to at once.
	page       = 200
	maxSenders = 8
	// storeTime bounds a question to the store, sendTime the wait for an answer.
	storeTime = 5 * time.Second
	sendTime  = 30 * time.Second
)

// Look sends what is due, if this process is the one who does.
func (s *Service) Look(ctx context.Context) error {
	asking, cancel := context.WithTimeout(ctx, storeTime)
	defer cancel()
	work, err := s.lease.work(asking, s.o.Now())
	if err != nil || !work {
		return err
	}
	due, err := s.o.Due.AnyDue(asking, s.o.Now())
	if err != nil || !due {
		return err
	}
	if err := s.o.Due.ClaimDue(asking, s.o.Now()); err != nil {
		return err
	}
	for after, waiting := (im.ScheduledPlace{}), (lines{}); ctx.Err() == nil; {
		asking, cancel := context.WithTimeout(ctx, storeTime)
		all, err := s.o.Due.Claimed(asking, after, page)
		cancel()
		if err != nil || len(all) == 0 {
			return err
		}
		after = all[len(all)-1].Place()
		s.sendAll(ctx, all, waiting)
	}
	return nil
}

// line is what is sent one after the other.
type line struct {
	user         im.UserID
	conversation im.ConversationID
}

// lines are those that wait for the next round.
type lines map[line]bool

// sendAll sends a page, line by line, several of them at once.
func (s *Service) sendAll(ctx context.Context, all []im.Scheduled, waiting lines) {
	var order []line
	of := map[line][]im.Scheduled{}
	for _, m := range all {
		l := line{m.User, m.Message.Conversation}
		if waiting[l] {
			continue
		}
		if of[l] == nil {
			order = append(order, l)
		}
		of[l] = append(of[l], m)
	}
	var mu sync.Mutex
	var running sync.WaitGroup
	free := make(chan struct{}, maxSenders)
	for _, l := range order {
		free <- struct{}{}
		running.Go(func() {
			defer func() { <-free }()
			for i := range of[l] {
				if !s.sendOne(ctx, &of[l][i]) {
					mu.Lock()
					waiting[l] = true
					mu.Unlock()
					return
				}
			}
		})
	}
	running.Wait()
}

// sendOne sends a message and notes what became of it. It is false where that is not
// certain, or may be another thing later: then it is sent again.
func (s *Service) sendOne(ctx context.Context, m *im.Scheduled) bool {
	sent := make(chan error, 1)
	sending, cancel := context.WithTimeout(ctx, sendTime)
	defer cancel()
	s.o.Send(sending, im.Actor{User: m.User}, m.Message, func(_ im.Ack, err error) { sent <- err })
	var err error
	select {
	case err = <-sent:
	case <-sending.Done():
		return false
	}
	if im.ForNow(err) {
		return false
	}
	if err = s.note(ctx, m, err); err != nil {
		s.o.Logger.Warn("a scheduled message was sent or refused, and is sent again: that cannot be noted", "user", m.User, "err", err)
	}
	return err == nil
}

// note notes the outcome of a message that is certain.
func (s *Service) note(ctx context.Context, m *im.Scheduled, refused error) error {
	ctx, cancel := context.WithTimeout(ctx, storeTime)
	defer cancel()
	if refused == nil {
		return s.o.Due.FinishScheduled(ctx, m.User, m.Message.ID)
	}
	notice, err := s.notice(m.User, m.Message.Conversation)
	if err != nil {
		return err
	}
	e := im.Public(refused)
	if err := s.o.Due.FailScheduled(ctx, m.User, m.Message.ID, e.Code, e.Message, notice); err != nil {
		return err
	}
	s.drive(ctx, m.User)
	return nil
}
