package bustest

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/bus"
)

// dropper is what both kinds of bus can tell besides: how many messages did not
// fit on the way in, and out.
type dropper interface{ Dropped() (in, out uint64) }

// testSlowConsumer: whoever does not take its messages loses some and is told,
// once, after the last that it lost.
func testSlowConsumer(t *testing.T, rig Rig) {
	const bound, n = 100, 5000
	a, b := open(t, rig, "a", Limits{}), open(t, rig, "b", Limits{Messages: bound})
	overflow(t, a, b, n, bound, 10)
}

// testSlowConsumerBytes: the same where few messages are many bytes.
func testSlowConsumerBytes(t *testing.T, rig Rig) {
	const size, bound, n = 32 << 10, 8, 400
	a, b := open(t, rig, "a", Limits{}), open(t, rig, "b", Limits{Bytes: size * bound})
	overflow(t, a, b, n, bound, size)
}

// overflow sends n messages of a size to b, which has room for bound of them and
// whose Handler is blocked. The message it is blocked in takes one of the places.
// Only when all the others were counted as dropped has the last one arrived: one
// that is still under way when the Handler goes on would rightly be delivered.
func overflow(t *testing.T, a, b *member, n, bound, size int) {
	t.Helper()
	b.subscribe(t, "u.1")
	a.subscribe(t, "back")
	a.settle(t, "u.1", b)
	b.settle(t, "back", a)
	unblock := b.Block()
	defer unblock()
	a.send("u.1", "first")
	b.Until(t, "a call to wait", b.isWaiting)
	for i := range n {
		a.Publish("u.1", fmt.Appendf(nil, "%0*d", size, i))
		a.Flush()
	}
	b.Until(t, "all to arrive", func() bool {
		in, _ := b.Bus.(dropper).Dropped()
		return int(in) >= n-(bound-1)
	})
	// What b sends goes out all the same.
	b.send("back", "free")
	a.expect(t, 1)
	unblock()
	b.Until(t, "slow consumer", func() bool { return slices.Contains(b.Losses(), bus.SlowConsumer) })
	b.Settle(t, a, "u.1")
	for i, g := range b.Got() {
		if i >= bound || i > 0 && string(g.Data) != fmt.Sprintf("%0*d", size, i-1) {
			t.Fatalf("message %d of at most %d ends in %q", i, bound, g.Data[max(0, len(g.Data)-20):])
		}
	}
	lost := slices.DeleteFunc(b.Losses(), func(s string) bool { return s != bus.SlowConsumer })
	if len(lost) != 1 {
		t.Errorf("told %d times", len(lost))
	}
}

// testBlockedConsumer: a node whose Handler does not return costs the others
// nothing, and itself a bounded queue.
func testBlockedConsumer(t *testing.T, rig Rig) {
	a, b, c := open(t, rig, "a", Limits{}), open(t, rig, "b", Limits{Messages: 10}), open(t, rig, "c", Limits{})
	b.subscribe(t, "g.1")
	c.subscribe(t, "g.1")
	a.settle(t, "g.1", b, c)
	unblock := b.Block()
	defer unblock()
	const n = 5000
	for i := range n {
		a.Publish("g.1", []byte(strconv.Itoa(i)))
		a.Flush()
	}
	for i, g := range c.expect(t, n) {
		if string(g.Data) != strconv.Itoa(i) {
			t.Fatalf("message %d is %q", i, g.Data)
		}
	}
	unblock()
	b.Settle(t, a, "g.1")
}

// testCutAndMend: two nodes that cannot reach each other are both told when they
// can again, and interest taken and ended meanwhile counts.
func testCutAndMend(t *testing.T, rig Rig) {
	cutAndMend(t, rig, open(t, rig, "a", Limits{}), open(t, rig, "b", Limits{}))
}

// testCutBetweenOthers: the same between two that know each other through the
// seed only. The seed goes on with both.
func testCutBetweenOthers(t *testing.T, rig Rig) {
	seed := open(t, rig, "seed", Limits{})
	a, b := open(t, rig, "a", Limits{}), open(t, rig, "b", Limits{})
	a.subscribe(t, "g.1")
	b.subscribe(t, "g.1")
	seed.settle(t, "g.1", a, b)
	a.settle(t, "g.1", b)
	cutAndMend(t, rig, a, b)
	seed.settle(t, "g.1", a, b)
}

func cutAndMend(t *testing.T, rig Rig, a, b *member) {
	t.Helper()
	a.subscribe(t, "u.a", "old")
	b.subscribe(t, "u.b")
	a.settle(t, "u.b", b)
	b.settle(t, "u.a", a)
	b.settle(t, "old", a)

	rig.Cut(t, a.name, b.name)
	a.send("u.b", "cut")
	b.send("u.a", "cut")
	a.subscribe(t, "new")
	a.Unsubscribe("old")
	a.Reset()
	b.Reset()
	rig.Mend(t, a.name, b.name)

	// Whoever was told gets everything from then on, at the first try.
	a.Until(t, "a to be told", func() bool { return a.rejoined(0) })
	b.Until(t, "b to be told", func() bool { return b.rejoined(0) })
	a.send("u.b", "after")
	b.Publish("old", []byte("nobody listens"))
	b.Publish("new", []byte("after"))
	b.send("u.a", "after")
	if got := b.expect(t, 1); string(got[0].Data) != "after" {
		t.Errorf("b got %q", got)
	}
	if got := a.expect(t, 2); got[0].Subject != "new" || got[1].Subject != "u.a" {
		t.Errorf("a got %q", got)
	}
}

// testRestart: a node that comes back is found again, by who it knew and by who
// knew it, and the ones that stayed are told.
func testRestart(t *testing.T, rig Rig) {
	a, b, c := open(t, rig, "a", Limits{}), open(t, rig, "b", Limits{}), open(t, rig, "c", Limits{})
	for _, m := range []*member{a, b, c} {
		m.subscribe(t, "g.1")
	}
	a.settle(t, "g.1", b, c)
	b.settle(t, "g.1", a, c)
	for round, name := range []string{"b", "a"} { // then the seed itself
		la, lc := len(a.Losses()), len(c.Losses())
		if name == "b" {
			b.Close()
			b = open(t, rig, "b", Limits{})
			b.subscribe(t, "g.1")
			a.Until(t, "a to be told", func() bool { return a.rejoined(la) })
		} else {
			a.Close()
			a = open(t, rig, "a", Limits{})
			a.subscribe(t, "g.1")
		}
		c.Until(t, "c to be told", func() bool { return c.rejoined(lc) })
		all := []*member{a, b, c}
		for _, m := range all {
			for _, o := range all {
				if o != m {
					m.settle(t, "g.1", o)
				}
			}
		}
		for _, m := range all {
			m.Reset()
		}
		a.send("g.1", fmt.Sprint("round ", round))
		b.expect(t, 1)
		c.expect(t, 1)
	}
}

func testCloseWhilePublishing(t *testing.T, rig Rig) {
	a := open(t, rig, "a", Limits{})
	a.subscribe(t, "x")
	for range 5 {
		r := NewRecorder()
		b := rig.Open(t, "b", r, Limits{})
		if err := b.Subscribe("x"); err != nil {
			t.Fatal(err)
		}
		r.Settle(t, a, "x")
		stop := make(chan struct{})
		var users sync.WaitGroup
		for _, from := range []bus.Bus{a, b, b} {
			users.Go(func() {
				// In bursts: where time stands still while anybody is busy, nothing would
				// ever arrive.
				burst := time.NewTicker(again / 10)
				defer burst.Stop()
				for i := 0; ; i++ {
					if i%20 == 0 {
						select {
						case <-stop:
							return
						case <-burst.C:
						}
					}
					s := "y." + strconv.Itoa(i%50)
					if err := from.Subscribe(s); err != nil && !errors.Is(err, bus.ErrClosed) {
						t.Error(err)
					}
					from.Publish("x", make([]byte, 200))
					from.Flush()
					from.Unsubscribe(s)
				}
			})
		}
		r.Until(t, "traffic", func() bool { return r.Count() > 20 })
		if err := b.Close(); err != nil {
			t.Error(err)
		}
		n := r.Count()
		close(stop)
		users.Wait()
		if r.Count() != n {
			t.Error("the Handler was called after Close")
		}
	}
}

func testClosed(t *testing.T, rig Rig) {
	a, b := open(t, rig, "a", Limits{}), open(t, rig, "b", Limits{})
	a.subscribe(t, "x")
	b.subscribe(t, "x", "y")
	a.settle(t, "x", b)
	b.settle(t, "x", a)
	for range 2 {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := b.Subscribe("z"); !errors.Is(err, bus.ErrClosed) {
		t.Errorf("subscribe after close: %v", err)
	}
	b.Unsubscribe("y")
	b.send("x", "from the grave")
	a.send("x", "to nobody")
	c := open(t, rig, "c", Limits{})
	c.settle(t, "x", a)
	if a.Count() != 0 || b.Count() != 0 {
		t.Errorf("a got %q, b got %q", a.Got(), b.Got())
	}
}
