// Package cache is the bounded cache of all packages that need one. What is in it
// may be dropped at any time, so its user can always ask for it elsewhere: state
// that is nowhere else, or that somebody relies on being there, is kept by other
// means (ARCHITECTURE.md, "What is a cache and what is not").
//
// It must not know what it keeps. No goroutines, no locks: the caller holds its
// own, and can so decide in one step over what is here and what it knows besides.
package cache

// Cache keeps what was used lately in two generations: what is used moves to the
// young one, and when that is full it becomes the old one, and what was old and
// was not used is dropped. A look at a young value costs one look into a map and
// writes nothing, which a list in the order of use would have to do.
//
// Make one with New or Sized. It is not safe for concurrent use.
type Cache[K comparable, V any] struct {
	young, old map[K]V
	used       int // of young, in the unit of limit
	limit      int // of a generation
	size       func(K, V) int
}

// New makes a cache of at most so many values; the half of them that was used last
// is there.
func New[K comparable, V any](most int) Cache[K, V] {
	return Sized[K, V](most, nil)
}

// Sized is New for values that take different amounts of what is bounded, as size
// tells. It must tell the same of a value as long as that is kept. One value that
// takes more than half of it is kept nevertheless.
func Sized[K comparable, V any](most int, size func(K, V) int) Cache[K, V] {
	return Cache[K, V]{limit: max(most/2, 1), size: size, young: make(map[K]V)}
}

// Get returns what is kept under k, and has it used.
func (c *Cache[K, V]) Get(k K) (V, bool) {
	v, ok := c.young[k]
	if !ok {
		if v, ok = c.old[k]; ok {
			c.Put(k, v)
		}
	}
	return v, ok
}

// Peek returns what is kept under k, and does not count as a use.
func (c *Cache[K, V]) Peek(k K) (V, bool) {
	v, ok := c.young[k]
	if !ok {
		v, ok = c.old[k]
	}
	return v, ok
}

// Put keeps v under k, in place of what was there.
func (c *Cache[K, V]) Put(k K, v V) {
	size := c.sizeOf(k, v)
	if before, ok := c.young[k]; ok {
		c.used -= c.sizeOf(k, before)
	} else {
		if c.used+size > c.limit && len(c.young) > 0 {
			c.old, c.young, c.used = c.young, make(map[K]V, len(c.young)/2), 0
		}
		delete(c.old, k)
	}
	c.used += size
	c.young[k] = v
}

func (c *Cache[K, V]) sizeOf(k K, v V) int {
	if c.size == nil {
		return 1
	}
	return c.size(k, v)
}

// Delete drops what is kept under k.
func (c *Cache[K, V]) Delete(k K) {
	if v, ok := c.young[k]; ok {
		c.used -= c.sizeOf(k, v)
		delete(c.young, k)
	}
	delete(c.old, k)
}

// DeleteFunc drops all that del is true for. It looks at everything.
func (c *Cache[K, V]) DeleteFunc(del func(K, V) bool) {
	for _, m := range [...]map[K]V{c.young, c.old} {
		for k, v := range m {
			if del(k, v) {
				c.Delete(k)
			}
		}
	}
}

// Clear drops everything.
func (c *Cache[K, V]) Clear() {
	c.young, c.old, c.used = make(map[K]V), nil, 0
}

// Len is how many values are kept.
func (c *Cache[K, V]) Len() int { return len(c.young) + len(c.old) }

// Used is how much of the bound is taken: by number, or as size tells. It looks at
// everything that is old.
func (c *Cache[K, V]) Used() int {
	used := c.used
	for k, v := range c.old {
		used += c.sizeOf(k, v)
	}
	return used
}
