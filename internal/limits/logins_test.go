package limits

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// While Logic is slow a storm of handshakes is let in as fast as it answers: a
// bounded number is under way, none waits long, and the others are told when to
// come back. When it is fast again all get in.
func TestLogins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newLogins(time.Now, 8)
		var underway, most, refused, served atomic.Int32
		storm := func(n int, each time.Duration) {
			var wg sync.WaitGroup
			for range n {
				wg.Go(func() {
					began := time.Now()
					leave, err := a.Enter(t.Context())
					if waited := time.Since(began); waited > loginWait {
						t.Errorf("waited for %s", waited)
					}
					if err != nil {
						if e := im.Public(err); e.Code != im.CodeUnavailable || e.RetryAfter < loginRetryLeast || e.RetryAfter > 2*loginRetryMost {
							t.Errorf("refused with %+v", e)
						}
						refused.Add(1)
						return
					}
					most.Store(max(most.Load(), underway.Add(1)))
					time.Sleep(each)
					underway.Add(-1)
					served.Add(1)
					leave()
				})
			}
			wg.Wait()
		}
		storm(8, 2*time.Second) // it becomes slow
		storm(1000, 2*time.Second)
		if most.Load() > 8 || refused.Load() < 900 || served.Load() < 16 {
			t.Errorf("%d at the same time, %d refused, %d served", most.Load(), refused.Load(), served.Load())
		}
		for range 20 {
			storm(8, time.Millisecond)
		}
		refused.Store(0)
		storm(1000, time.Millisecond)
		if refused.Load() != 0 {
			t.Errorf("%d refused when it is fast again", refused.Load())
		}
	})
}
