package messaging

import (
	"testing"
	"testing/synctest"
)

// While the settler delivers, the next few messages gather and are stored together; when
// many wait they are stored meanwhile.
func TestFewWaitForTheSettler(t *testing.T) {
	for name, c := range map[string]struct{ waiting, meanwhile int }{
		"none": {0, 0},
		"one":  {1, 0},
		"few":  {manyWaiting - 1, 0},
		"many": {manyWaiting, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				through := make(chan struct{})
				w.out.slow = func() { <-through }
				appends := func() int {
					synctest.Wait()
					w.journal.mu.Lock()
					defer w.journal.mu.Unlock()
					return w.journal.appends
				}
				first := w.start("alice", w.message(ab, "being delivered"))
				before := appends()
				if before != 1 {
					t.Fatalf("the first took %d appends", before)
				}
				var waiting []<-chan outcome
				for range c.waiting {
					waiting = append(waiting, w.start("alice", w.message(ab, "waiting")))
				}
				if got := appends() - before; got != c.meanwhile {
					t.Errorf("%d appends during the delivery, want %d", got, c.meanwhile)
				}
				close(through)
				if got, want := appends()-before, min(c.waiting, 1); got != want {
					t.Errorf("%d appends in the end, want %d", got, want)
				}
				for _, got := range append(waiting, first) {
					if o := <-got; o.err != nil {
						t.Error(o.err)
					}
				}
			})
		})
	}
}
