package messaging

import (
	"context"
	"time"

	"github.com/skein-im/skein/internal/im"
)

const (
	// positionEvery is how often a position is told to those who are pushed something.
	positionEvery = time.Second
	// positionTime bounds the search for one; it is given up then.
	positionTime = 10 * time.Second
)

// Positions has positions told to connections that are busy, so that they begin
// there when they come back. It is for a process whose gateway gets everything
// that is stored, by plain calls: nothing on the way there may be lost.
type Positions struct {
	// Promised tells whether the directory has a promise that is not carried out.
	Promised func(ctx context.Context) (bool, error)
	// Receipts returns when all that were passed to Deliverer.Receipt before are
	// queued for their connections.
	Receipts func(ctx context.Context) error
	// Tell tells a position: everything up to it was queued, for all whom it concerns.
	Tell func(position string)
}

// tellPositions tells one whenever the journal moved on.
func (s *Service) tellPositions(p *Positions) {
	defer s.stopped.Done()
	ticker := time.NewTicker(positionEvery)
	defer ticker.Stop()
	var last im.Position
	for {
		select {
		case <-ticker.C:
		case <-s.closing:
			return
		}
		if at, ok := s.reached(p, last); ok {
			last = at
			p.Tell(at.String())
		}
	}
}

// reached finds a position beyond last up to which everything is queued for
// whom it concerns. The order is what makes it true:
//
//   - a position is read: what is stored up to it is stored now;
//   - the directory has no promise then: every roster change among it is visible
//     there and will not be delivered later (AppendEvent);
//   - all batches that were begun are over: every entry among it is delivered;
//   - all marks that were begun are durable, and all receipts of them queued; no
//     mark was ever moved that could not be told (the disk was full).
//
// Where one of these is not so, there is no position this time.
func (s *Service) reached(p *Positions, last im.Position) (at im.Position, ok bool) {
	ctx, cancel := context.WithTimeout(s.life, positionTime)
	defer cancel()
	at, err := s.journal.Position(ctx)
	if err != nil || at.Equal(last) {
		return at, false
	}
	promised, err := p.Promised(ctx)
	if err != nil || promised {
		return at, false
	}
	for _, wait := range []func(context.Context) error{s.committing.Wait, s.moving.Wait, p.Receipts} {
		if wait(ctx) != nil {
			return at, false
		}
	}
	return at, !s.broken.Load() && !s.untold.Load()
}
