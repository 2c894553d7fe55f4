package im

import (
	"context"
	"sync"
)

// Turns counts what is under way, so that somebody can wait for everything that
// began before. The zero value is ready.
type Turns struct {
	mu      sync.Mutex
	present int
	open    [2]int
	over    chan struct{} // closed when the turn before the present one is over, if somebody waits
}

// Enter begins something and returns its turn, for Leave.
func (t *Turns) Enter() (turn int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.open[t.present]++
	return t.present
}

// Leave ends what Enter began.
func (t *Turns) Leave(turn int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.open[turn]--
	if t.over != nil && turn != t.present && t.open[turn] == 0 {
		close(t.over)
		t.over = nil
	}
}

// Wait returns when everything that was entered before the call has left. When
// ctx ends before, its error; what was waited for then counts for the next call.
func (t *Turns) Wait(ctx context.Context) error {
	for flipped := false; !flipped; { // the turn before the present one may have been given up on
		t.mu.Lock()
		before := 1 - t.present
		if flipped = t.open[before] == 0; flipped {
			t.present, before = before, t.present
		}
		over := chan struct{}(nil)
		if t.open[before] > 0 {
			if t.over == nil {
				t.over = make(chan struct{})
			}
			over = t.over
		}
		t.mu.Unlock()
		if over == nil {
			continue
		}
		select {
		case <-over:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}
