package gencache

import "testing"

// What is used stays, what is not goes, and there are never more than twice the
// limit.
func TestCache(t *testing.T) {
	const limit = 10
	c := New[int, int](limit)
	for i := range 100 {
		c.Put(i, i)
		if v, ok := c.Get(0); !ok || v != 0 {
			t.Fatalf("0 is gone after %d", i)
		}
		if n := len(c.young) + len(c.old); n > 2*limit {
			t.Fatalf("%d are kept", n)
		}
	}
	if _, ok := c.Get(1); ok {
		t.Error("1 was not used and is still there")
	}
	c.Put(0, 7)
	if v, _ := c.Get(0); v != 7 {
		t.Errorf("0 is %d", v)
	}
	c.Clear()
	if _, ok := c.Get(0); ok {
		t.Error("0 outlived Clear")
	}
}
