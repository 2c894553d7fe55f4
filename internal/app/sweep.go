package app

import (
	"context"
	"time"
)

// sweepEvery is the time between two looks for contact requests that nobody answered
// in time. Whoever reads sees them gone at once; the sweep tells both sides' feeds.
const sweepEvery = 10 * time.Minute

// startSweep looks again and again, in a goroutine that stop ends and waits for. Every
// node with the business does: what one did is nothing to the next.
func (a *App) startSweep() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
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
	}()
	return func() { cancel(); <-ended }
}
