package limits

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// crowd has n wait for turns, each of which takes a while.
type crowd struct {
	t     *testing.T
	turns *Turns
	all   sync.WaitGroup
	mu    sync.Mutex
	order []string // who had a turn
	codes map[im.Code]int
}

func (c *crowd) come(n int, l Lane, from string, takes time.Duration) {
	for range n {
		c.all.Go(func() {
			leave, err := c.turns.Enter(c.t.Context(), l, from)
			c.mu.Lock()
			defer c.mu.Unlock()
			if err != nil {
				if e := im.Public(err); e.Code != im.CodeOverloaded || e.RetryAfter <= 0 {
					c.t.Errorf("refused with %+v", e)
				}
				c.codes[im.CodeOf(err)]++
				return
			}
			c.order = append(c.order, from)
			go func() {
				time.Sleep(takes)
				leave()
			}()
		})
		synctest.Wait() // in this order
	}
}

// end waits until all have had their turns, and have left.
func (c *crowd) end() {
	c.all.Wait()
	time.Sleep(time.Second)
}

func newCrowd(t *testing.T, atOnce int) *crowd {
	return &crowd{t: t, turns: NewTurns(atOnce), codes: map[im.Code]int{}}
}

// Of a place with many and one with few both have every second turn.
func TestTurnsArePlaceByPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, 1)
		c.come(100, Unknown, "many", 10*time.Millisecond)
		c.come(3, Unknown, "few", 10*time.Millisecond)
		c.end()
		for i, want := range []string{"many", "many", "few", "many", "few", "many", "few", "many"} {
			if c.order[i] != want {
				t.Fatalf("turn %d went to %s: %v", i, c.order[i], c.order[:8])
			}
		}
		if len(c.order) != 103 {
			t.Errorf("%d turns", len(c.order))
		}
		if w := c.turns.Waiting(); w != 0 || c.turns.free != 1 {
			t.Errorf("%d wait, %d are free at the end", w, c.turns.free)
		}
	})
}

// Who is known comes before who is not, and that one before who is doubted, who still has
// a share.
func TestLanes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, 1)
		c.come(1, Unknown, "first", 10*time.Millisecond)
		for i := range 200 {
			c.come(1, Doubted, fmt.Sprint("doubted", i), 10*time.Millisecond)
		}
		c.come(20, Unknown, "unknown", 10*time.Millisecond)
		c.come(20, Known, "known", 10*time.Millisecond)
		c.end()
		at := map[string]int{} // the last turn of each
		doubted := 0
		for i, who := range c.order {
			at[who] = i
			if i <= 41 && who != "known" && who != "unknown" && who != "first" {
				doubted++
			}
		}
		if at["known"] > 35 || at["unknown"] > 60 {
			t.Errorf("the last who is known had turn %d, who is unknown turn %d", at["known"], at["unknown"])
		}
		if doubted < 2 {
			t.Errorf("%d who are doubted had one of the first 41 turns, want some", doubted)
		}
		if len(c.order) != 241 {
			t.Errorf("%d turns", len(c.order))
		}
	})
}

// When too many wait, those of the place with the most go, and nobody for the sake of one
// who is trusted less.
func TestTurnsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, 1)
		c.come(1, Unknown, "first", time.Millisecond)
		c.come(turnsOfOne+10, Doubted, "attacker", time.Millisecond)
		if c.codes[im.CodeOverloaded] != 10 {
			t.Errorf("%d of one place were refused, want 10", c.codes[im.CodeOverloaded])
		}
		c.come(turnsWaiting, Doubted, "other", time.Millisecond)
		if w := c.turns.Waiting(); w > turnsWaiting {
			t.Errorf("%d wait, more than %d", w, turnsWaiting)
		}
		before := c.codes[im.CodeOverloaded]
		c.come(100, Known, "owner", time.Millisecond)
		synctest.Wait()
		if got := c.codes[im.CodeOverloaded] - before; got != 100 {
			t.Errorf("%d were refused to make room for 100", got)
		}
		c.come(10, Doubted, "third", time.Millisecond)
		c.end()
		owner, third := 0, 0
		for _, who := range c.order {
			switch who {
			case "owner":
				owner++
			case "third":
				third++
			}
		}
		if owner != 100 || third != 10 {
			t.Errorf("%d of 100 who are known had their turn, %d of 10 of a place with few", owner, third)
		}
	})
}

// Who gives up, or waits for too long, holds nothing.
func TestTurnsThatAreGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := NewTurns(1)
		leave, err := turns.Enter(t.Context(), Unknown, "a")
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		if _, err := turns.Enter(ctx, Known, "b"); im.CodeOf(err) != im.CodeUnavailable || time.Since(began) != time.Second {
			t.Errorf("given up: %v after %s", err, time.Since(began))
		}
		began = time.Now()
		if _, err := turns.Enter(t.Context(), Known, "b"); im.CodeOf(err) != im.CodeOverloaded || time.Since(began) != turnWait {
			t.Errorf("too long: %v after %s", err, time.Since(began))
		}
		if w := turns.Waiting(); w != 0 {
			t.Errorf("%d wait", w)
		}
		leave()
		for range 3 {
			leave, err := turns.Enter(t.Context(), Doubted, "c")
			if err != nil {
				t.Fatal(err)
			}
			leave()
		}
		for l := range turns.lanes {
			if n := turns.lanes[l].order.Len(); n != 0 {
				t.Errorf("lane %d has %d places", l, n)
			}
		}
	})
}
