package contact

import (
	"context"
	"fmt"
	"time"

	"github.com/skein-im/skein/internal/im"
)

const (
	// newsPage is how many contacts are told in one step of the directory, and how many
	// notices wait at most for the journal.
	newsPage = 100
	// newsEvery is the time between two looks for what a node left behind.
	newsEvery = 10 * time.Second
)

// ProfileChanged tells that somebody's profile is another: Run takes it up at once.
func (s *Service) ProfileChanged() {
	select {
	case s.news <- struct{}{}:
	default:
	}
}

// Run tells contacts of changed profiles until ctx ends. Every node with the business
// runs it: what one did is nothing to the next. failed is told of errors; what failed is
// tried again.
func (s *Service) Run(ctx context.Context, failed func(error)) {
	ticker := time.NewTicker(newsEvery)
	defer ticker.Stop()
	for {
		if err := s.TellProfiles(ctx); err != nil && ctx.Err() == nil {
			failed(err)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		case <-s.news:
		}
	}
}

// TellProfiles tells all who are to be told of a changed profile: a page of each user's
// contacts in turn, so that one with 10,000 holds nobody up, and the next page when the
// notices of the last one are in the journal, so that few wait in the outbox. A profile
// that changes while its contacts are told is told once more, however often it changes.
func (s *Service) TellProfiles(ctx context.Context) error {
	for after, any := im.UserID(""), false; ; {
		now := s.o.Now()
		changed, told, err := s.people.TellProfile(ctx, after, newsPage, func(owner, changed im.UserID) im.Promise {
			return s.notice(now, owner, changed, changed, event{kind: im.EventContactProfile})
		})
		switch {
		case err != nil:
			return fmt.Errorf("tell of a profile: %w", err)
		case changed == "" && !any:
			return nil
		case changed == "": // the next round
			after, any = "", false
			continue
		}
		after, any = changed, true
		for _, p := range told {
			_ = s.outbox.Drive(ctx, p) // the outbox counts the failure and repeats it
		}
	}
}
