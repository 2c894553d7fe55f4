package contact

import (
	"sync"
	"time"

	"github.com/skein-im/skein/internal/cache"
	"github.com/skein-im/skein/internal/im"
)

// countedAskers bounds for how many users it is known how many they asked.
const countedAskers = 50_000

// asked counts the requests of users: all of a day at once, if they like, and then one as
// each of them comes back. It is in RAM of the process that decides.
type asked struct{ *askers }

type askers struct {
	mu   sync.Mutex
	each time.Duration // after which one more may be made; 0: there is no bound
	full cache.Cache[im.UserID, time.Time]
}

func newAsked(perDay int) asked {
	a := &askers{full: cache.New[im.UserID, time.Time](countedAskers)}
	if perDay > 0 {
		a.each = 24 * time.Hour / time.Duration(perDay)
	}
	return asked{a}
}

// take counts one request of a user, unless it is counted already, or tells how long to
// wait.
func (a asked) take(user im.UserID, counted *bool, now time.Time) time.Duration {
	if a.each == 0 || *counted {
		return 0
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	full, known := a.full.Get(user)
	if !known || full.Before(now) {
		full = now
	}
	full = full.Add(a.each)
	if wait := full.Sub(now) - 24*time.Hour; wait > 0 {
		return wait
	}
	a.full.Put(user, full)
	*counted = true
	return 0
}
