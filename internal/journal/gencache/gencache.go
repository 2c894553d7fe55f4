// Package gencache is the bounded cache of the journal's engines.
//
// It must not know what it keeps. No goroutines, no locks: the caller holds its
// own.
package gencache

// Cache is a bounded cache of two generations: when the young one is full it
// becomes the old one and the former old one is dropped, so that whatever is
// used stays. It holds between limit and 2·limit values. Not safe for
// concurrent use.
type Cache[K comparable, V any] struct {
	limit      int
	young, old map[K]V
}

// New makes a cache of between limit and 2·limit values.
func New[K comparable, V any](limit int) Cache[K, V] {
	return Cache[K, V]{limit: limit, young: make(map[K]V)}
}

// Get returns what is kept under k.
func (c *Cache[K, V]) Get(k K) (V, bool) {
	v, ok := c.young[k]
	if !ok {
		if v, ok = c.old[k]; ok {
			c.Put(k, v)
		}
	}
	return v, ok
}

// Put keeps v under k, in place of what was there.
func (c *Cache[K, V]) Put(k K, v V) {
	if _, ok := c.young[k]; !ok && len(c.young) >= c.limit {
		c.old, c.young = c.young, make(map[K]V, c.limit/2)
	}
	c.young[k] = v
}

// Clear drops everything.
func (c *Cache[K, V]) Clear() {
	clear(c.young)
	c.old = nil
}
