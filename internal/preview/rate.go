package preview

import (
	"time"

	"github.com/skein-im/skein/internal/cache"
)

const (
	// A user has the server fetch so many links a second, and so many at once.
	userRate, userBurst = 0.5, 30
	// From a host, and from all, so much is fetched; a preview with its picture is two.
	hostRate, hostBurst = 2, 40
	allRate, allBurst   = 20, 200
	// mostBuckets is of how many users, and hosts, that is known.
	mostBuckets = 10_000
)

// bucket is what somebody has left: it fills with time.
type bucket struct {
	used float64
	at   time.Time
}

func (b *bucket) take(now time.Time, rate, burst float64) bool {
	if d := now.Sub(b.at).Seconds(); d > 0 {
		b.used, b.at = max(0, b.used-d*rate), now
	}
	if b.used+1 > burst {
		return false
	}
	b.used++
	return true
}

func bucketOf[K comparable](c *cache.Cache[K, *bucket], k K) *bucket {
	b, ok := c.Get(k)
	if !ok {
		b = &bucket{}
		c.Put(k, b)
	}
	return b
}
