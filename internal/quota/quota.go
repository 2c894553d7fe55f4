// Package quota counts what users do against how much of it each may do in a time: a
// bucket for each, which is full in the beginning and fills again evenly.
//
// It is counted in RAM of the process that decides: a restart forgives, and so does
// another node. What a user did is forgotten when very many others did something since.
//
// A quota is safe for concurrent use. Its lock is held for a look-up, and no other is
// taken under it.
package quota

import (
	"sync"
	"time"

	"github.com/skein-im/skein/internal/cache"
	"github.com/skein-im/skein/internal/im"
)

// counted bounds the buckets.
const counted = 50_000

// Quota is what each user may do in a time.
type Quota struct {
	mu   sync.Mutex
	most float64
	in   time.Duration
	of   cache.Cache[im.UserID, bucket]
}

type bucket struct {
	full float64 // what may still be taken, below 0 after more than the whole
	at   time.Time
}

// New allows each user so many, at least one, in a time.
func New(most int, in time.Duration) *Quota {
	return &Quota{most: float64(most), in: in, of: cache.New[im.UserID, bucket](counted)}
}

// SetMost allows another number from now on. What was taken stays taken.
func (q *Quota) SetMost(most int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.most = float64(most)
}

// Take takes n, or tells how long to wait and takes nothing. Who asks for more than the
// whole bucket gets it when it is full, and waits the longer for the next.
func (q *Quota) Take(user im.UserID, n int, now time.Time) (wait time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	b, known := q.of.Get(user)
	if !known {
		b = bucket{q.most, now}
	}
	perSecond := q.most / q.in.Seconds()
	b.full = min(q.most, b.full+max(0, now.Sub(b.at).Seconds())*perSecond)
	b.at = now
	if missing := min(float64(n), q.most) - b.full; missing > 1e-9 {
		q.of.Put(user, b)
		return time.Duration(missing/perSecond*float64(time.Second)) + time.Millisecond
	}
	b.full -= float64(n)
	q.of.Put(user, b)
	return 0
}

// GiveBack undoes a Take.
func (q *Quota) GiveBack(user im.UserID, n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if b, known := q.of.Get(user); known {
		b.full = min(q.most, b.full+float64(n))
		q.of.Put(user, b)
	}
}
