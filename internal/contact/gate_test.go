package contact

import (
	"fmt"
	"testing"

	"github.com/skein-im/skein/internal/im"
)

// However many pairs are asked for, the cache keeps a bounded number, and those
// in use stay.
func TestGatesAreBounded(t *testing.T) {
	const limit = 1000
	g := newGates(limit)
	g.put("a", "hot", openForEver, false, 0)
	for i := range 100_000 {
		to := im.UserID(fmt.Sprint(i))
		_, _, _, epoch := g.get("a", to, 0)
		g.put("a", to, closed, false, epoch)
		if open, _, known, _ := g.get("a", "hot", 0); !known || !open {
			t.Fatalf("a pair in use was forgotten after %d others", i)
		}
	}
	n := 0
	for i := range g.shards {
		n += g.shards[i].until.Len()
	}
	if n > limit {
		t.Fatalf("%d pairs are kept, the limit is %d", n, limit)
	}
}

// What was forgotten is gone from both generations, and only that.
func TestGatesForget(t *testing.T) {
	g := newGates(64)
	known := func(from, to im.UserID) bool { _, _, known, _ := g.get(from, to, 0); return known }
	put := func(from, to im.UserID) {
		_, _, _, epoch := g.get(from, to, 0)
		g.put(from, to, openForEver, false, epoch)
	}
	put("a", "b")
	put("b", "a")
	put("c", "a")
	g.forget("a", "b")
	if known("a", "b") || known("b", "a") || !known("c", "a") {
		t.Fatal("forget")
	}
	put("b", "a")
	put("a", "c")
	g.forgetUser("a")
	if known("b", "a") || known("c", "a") || !known("a", "c") {
		t.Fatal("forgetUser")
	}
}
