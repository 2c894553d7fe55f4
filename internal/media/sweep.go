package media

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// sweepEvery is how often is looked for what to throw away, and sweepFirst how long after
// the start: a process may live shorter than sweepEvery, again and again.
const (
	sweepEvery = time.Minute
	sweepFirst = 5 * time.Second
)

// page is how much is swept at a time.
const page = 200

// Start begins to sweep. Every process may: what one did is nothing to the next. The pieces
// of an upload that was made ready here go at once: until then it lies there twice.
func (s *Service) Start() {
	s.done.Go(func() {
		next := time.NewTimer(sweepFirst)
		defer next.Stop()
		for {
			sweep := s.Sweep
			select {
			case <-s.life.Done():
				return
			case <-next.C:
				next.Reset(sweepEvery)
			case <-s.spent:
				sweep = s.remove
			}
			if err := sweep(s.life); err != nil && s.life.Err() == nil {
				s.o.Logger.Warn("media: not all could be thrown away that is to be, trying again later", "err", err)
			}
		}
	})
}

// Close ends the sweeping, and waits for it.
func (s *Service) Close() {
	s.end()
	s.done.Wait()
}

// Sweep asks the journal about messages whose time for that has come, throws uploads away
// that nothing names, and removes blobs that nothing has.
func (s *Service) Sweep(ctx context.Context) error {
	return errors.Join(s.settle(ctx), s.expire(ctx), s.remove(ctx))
}

// settle asks the journal which messages name uploads. Of those of which it cannot tell it
// is asked again: of what is damaged later, because that stands before all others otherwise,
// and nothing behind it would ever be thrown away.
func (s *Service) settle(ctx context.Context) error {
	var failed error
	for {
		due, err := s.o.Names.DueNames(ctx, s.o.Now(), page)
		if err != nil {
			return errors.Join(failed, err)
		}
		stays := false // something is due as before
		for _, n := range due {
			names, _, err := s.o.Messages.NamesMedia(ctx, n)
			if err == nil && !names {
				names, err = s.o.Waits(ctx, n)
			}
			if err == nil {
				at := s.o.Now().Add(unnamedTime)
				if names {
					at = s.o.Now().Add(checkAgain)
				}
				err = s.o.Names.SettleName(ctx, n, names, at)
			}
			if err != nil {
				failed = fmt.Errorf("a message of %s in %s: %w", n.Sender, n.Conversation, err)
				if ofOne(err) {
					err = s.o.Names.SettleName(ctx, n, true, s.o.Now().Add(checkAfter))
				}
				stays = stays || err != nil
			}
		}
		if stays || len(due) < page {
			return failed
		}
	}
}

// ofOne tells that an error is about one message, and says nothing of others.
func ofOne(err error) bool {
	return errors.Is(err, im.ErrJournalDamaged) || im.CodeOf(err) == im.CodeInternal
}

// expire throws away uploads whose time is over.
func (s *Service) expire(ctx context.Context) error {
	for {
		due, err := s.o.Names.DueUploads(ctx, s.o.Now(), page)
		if err != nil {
			return err
		}
		for _, id := range due {
			// not_found: somebody else did, or a message names it since.
			if err := s.drop(ctx, id, ""); err != nil && im.CodeOf(err) != im.CodeNotFound {
				return fmt.Errorf("upload %s: %w", id, err)
			}
		}
		if len(due) < page {
			return nil
		}
	}
}

// remove removes what nothing has and nothing will.
func (s *Service) remove(ctx context.Context) error {
	for {
		doomed, err := s.o.Names.DoomBlobs(ctx, s.o.Now(), page)
		if err != nil {
			return err
		}
		gone := doomed[:0:0]
		for _, b := range doomed {
			var one error
			if one = s.o.Store.Delete(ctx, b); one == nil {
				gone = append(gone, b)
			}
			err = errors.Join(err, one)
		}
		if err := errors.Join(err, s.o.Names.ForgetBlobs(ctx, gone)); err != nil || len(doomed) < page {
			return err
		}
	}
}
