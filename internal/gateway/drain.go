package gateway

import (
	"context"
	"time"

	"github.com/skein-im/skein/internal/contract"
	"github.com/skein-im/skein/internal/gateway/outgoing"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

const (
	// goAwayRetry is within which time clients come back (elsewhere). The drain
	// itself spreads them.
	goAwayRetry = time.Second
	// drainStep is the shortest pause between two groups of GoAways.
	drainStep = 10 * time.Millisecond
)

// Drain stops accepting, sends every connection a GoAway, spread over time, and
// lets each finish: everything goes on for as long as the GoAway says, then what is
// under way is answered, what is queued is written, and it closes. It returns when all
// are gone or ctx ends; Close ends the rest.
func (g *Gateway) Drain(ctx context.Context, spread time.Duration) error {
	g.mu.Lock()
	g.draining = true
	g.mu.Unlock()
	if err := g.sendAway(ctx, spread); err != nil {
		return err
	}
	select {
	case <-g.conns.gone():
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// TurnAway, while it is on, keeps new connections out and sends those that are
// here to another gateway, spread over time: this one is of no use to anybody.
func (g *Gateway) TurnAway(on bool, spread time.Duration) {
	g.mu.Lock()
	begins := on && !g.away
	g.away = on
	g.mu.Unlock()
	if begins {
		g.spawn(func() {
			_ = g.sendAway(g.ctx, spread) // only Close ends it early
		})
	}
}

// sendAway tells every connection to go, spread over time.
func (g *Gateway) sendAway(ctx context.Context, spread time.Duration) error {
	all := g.conns.list()
	steps := 1
	if spread > 0 {
		steps = max(min(len(all), int(spread/drainStep)), 1)
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for i := range steps {
		select {
		case <-timer.C:
		case <-ctx.Done():
			return ctx.Err()
		}
		for _, s := range all[i*len(all)/steps : (i+1)*len(all)/steps] {
			s.leave()
		}
		timer.Reset(spread / time.Duration(steps))
	}
	// Those who were let in at the same moment the drain began.
	for _, s := range g.conns.list() {
		s.leave()
	}
	return nil
}

// leave asks the session to go in peace (SPEC §3.8), once; when its time is over it
// ends (Expire). One that has not been welcomed yet is just told to come again.
func (s *session) leave() {
	if s.Since.Load() == 0 || s.Is(outgoing.Held) {
		s.fail("drain", errGoingAway())
		return
	}
	t := s.g.wheel.Ticks(goAwayRetry)
	if !s.deadline.CompareAndSwap(0, int32(s.g.wheel.Now()+t)) {
		return // it was told before, or ends already
	}
	s.Send(wire.NewServerFrame(&wire.GoAway{RetryAfterMs: contract.RetryMillis(goAwayRetry)}))
	s.Flush()
	s.g.wheel.Schedule(s, t)
}

func errGoingAway() error {
	return &im.Error{Code: im.CodeGoingAway, Message: "the server stops", RetryAfter: goAwayRetry}
}
