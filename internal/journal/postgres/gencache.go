package postgres

// genCache is a bounded cache of two generations: when the young one is full it
// becomes the old one and the former old one is dropped, so that whatever is
// used stays. It holds between limit and 2·limit values. Not safe for
// concurrent use.
type genCache[K comparable, V any] struct {
	limit      int
	young, old map[K]V
}

func newGenCache[K comparable, V any](limit int) genCache[K, V] {
	return genCache[K, V]{limit: limit, young: make(map[K]V)}
}

func (c *genCache[K, V]) get(k K) (V, bool) {
	v, ok := c.young[k]
	if !ok {
		if v, ok = c.old[k]; ok {
			c.put(k, v)
		}
	}
	return v, ok
}

func (c *genCache[K, V]) put(k K, v V) {
	if _, ok := c.young[k]; !ok && len(c.young) >= c.limit {
		c.old, c.young = c.young, make(map[K]V, c.limit/2)
	}
	c.young[k] = v
}

func (c *genCache[K, V]) clear() {
	clear(c.young)
	c.old = nil
}
