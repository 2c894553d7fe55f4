package app

import (
	"context"
	"sync"
	"time"
)

// sweepEvery is the time between two looks for contact requests that nobody answered
// in time. Whoever reads sees them gone at once; the sweep tells both sides' feeds.
const sweepEvery = 10 * time.Minute

// startSweep looks again and again, and has contacts told of changed profiles, in two
// goroutines that stop ends and waits for. Every node with the business does: what one
// did is nothing to the next.
func (a *App) startSweep() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var ended sync.WaitGroup
	ended.Go(func() {
		a.members.contacts.Run(ctx, func(err error) { a.log.Warn("contacts were not told of a profile, trying again later", "err", err) })
	})
	ended.Go(func() {
		ticker := time.NewTicker(sweepEvery)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			if err := a.members.contacts.Sweep(ctx); err != nil && ctx.Err() == nil {
				a.log.Warn("contact requests of before were not ended, trying again later", "err", err)
			}
		}
	})
	return func() { cancel(); ended.Wait() }
}
