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
		_, _, epoch := g.get("a", to, 0)
		g.put("a", to, closed, false, epoch)
		if a, known, _ := g.get("a", "hot", 0); !known || !a.open(0) {
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
	known := func(from, to im.UserID) bool { _, known, _ := g.get(from, to, 0); return known }
	put := func(from, to im.UserID) {
		_, _, epoch := g.get(from, to, 0)
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
	put("c", "b")
	g.forgetUser("a") // also whom they may write to: who is deleted writes no more
	if known("b", "a") || known("c", "a") || known("a", "c") || !known("c", "b") {
		t.Fatal("forgetUser")
	}
}

// Who wrote may be answered, and is not noted again; but what was forgotten meanwhile, of
// this pair and of no other, counts more.
func TestGatesWrote(t *testing.T) {
	g := newGates(64)
	put := func(from, to im.UserID, until int64) (epoch uint64) {
		_, _, epoch = g.get(from, to, 0)
		g.put(from, to, until, false, epoch)
		return epoch
	}
	noted := func(from, to im.UserID) bool { a, known, _ := g.get(from, to, 0); return known && a.noted }
	known := func(from, to im.UserID) bool { _, known, _ := g.get(from, to, 0); return known }

	epoch := put("a", "b", openForEver)
	put("b", "a", closed)
	other := im.UserID("c")
	for i := 0; g.shard("b").pair(g, other) == g.shard("b").pair(g, "a") || g.shard(other).pair(g, "b") == g.shard("b").pair(g, "a"); i++ {
		other = im.UserID(fmt.Sprint("c", i))
	}
	g.forget(other, "b")
	g.wrote("a", "b", epoch)
	if !noted("a", "b") || known("b", "a") {
		t.Fatalf("noted %v, the answer to it is known as before: %v", noted("a", "b"), known("b", "a"))
	}

	epoch = put("a", "d", openForEver)
	g.forget("a", "d")
	put("a", "d", openForEver) // as of after it was taken back
	g.wrote("a", "d", epoch)
	if known("a", "d") {
		t.Fatal("what was taken back counts as noted")
	}
}
