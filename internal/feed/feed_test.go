package feed_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/skein-im/skein/internal/feed"
	"github.com/skein-im/skein/internal/im"
)

// None, one, two, many: each once, in order, soon after it was stored; where it is is
// noted behind that, and a new start goes on there.
func TestFollows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		n := w.node("a")
		time.Sleep(time.Second)
		w.complete(1)
		for _, stored := range []int{1, 1, 2, 100} {
			w.store(stored)
			n.feed.Wake()
			time.Sleep(500 * time.Millisecond)
			w.complete(1)
		}
		w.store(1) // by somebody else
		time.Sleep(2 * time.Second)
		w.complete(1)
		n.feed.Close()
		if w.state.Place.Pos != 105 || w.state.Holder != "" {
			t.Errorf("left %+v", w.state)
		}
		w.store(25)
		n = w.node("b")
		time.Sleep(time.Second)
		w.complete(1)
		n.feed.Close()
	})
}

// A cursor that moves is noted at most once a second, one that does not now and then.
func TestNotesSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		n := w.node("a")
		for range 100 {
			w.store(3)
			n.feed.Wake()
			time.Sleep(100 * time.Millisecond)
		}
		noted := func() (n int) {
			w.locked(func() { n, w.saves = w.saves, 0 })
			return n
		}
		if n := noted(); n > 11 || n < 9 {
			t.Errorf("noted %d times in 10 seconds", n)
		}
		time.Sleep(30 * time.Second)
		if n := noted(); n > 11 || n < 9 {
			t.Errorf("noted %d times in 30 quiet seconds", n)
		}
		n.feed.Close()
	})
}

// Killed at any moment, also again and again: another one goes on, soon, and nothing
// is left out.
func TestKilled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		nodes := []*node{w.node("a"), w.node("b")}
		for round := range 12 {
			for range round + 1 {
				w.store(7)
				nodes[0].feed.Wake()
				time.Sleep(230 * time.Millisecond)
			}
			victim := round % 2
			nodes[victim].kill()
			nodes[victim] = w.node("c")
			w.store(50)
			time.Sleep(20 * time.Second)
			w.complete(2)
		}
		for _, n := range nodes {
			n.feed.Close()
		}
	})
}

// One of several works, for as long as it is there; when it is gone, another one does
// within 15 seconds.
func TestOneWorks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		var nodes []*node
		for _, name := range []string{"a", "b", "c"} {
			nodes = append(nodes, w.node(name))
		}
		working := func() (all []*node) {
			for _, n := range nodes {
				if n.figure("working") == 1 {
					all = append(all, n)
				}
			}
			return all
		}
		time.Sleep(time.Second)
		first := working()
		for range 100 {
			w.store(2)
			time.Sleep(time.Second)
			if now := working(); len(now) != 1 || now[0] != first[0] {
				t.Fatalf("%d work", len(now))
			}
		}
		w.complete(1)
		first[0].kill()
		w.store(2)
		time.Sleep(15 * time.Second)
		w.complete(1)
		if now := working(); len(now) != 1 || now[0] == first[0] {
			t.Fatalf("%d work", len(now))
		}
		// Who leaves makes room at once.
		working()[0].feed.Close()
		w.store(2)
		time.Sleep(4 * time.Second)
		w.complete(1)
		for _, n := range nodes {
			n.feed.Close()
		}
	})
}

// A node that stands still is replaced. When it comes back it does what it had begun
// once more, and moves no cursor.
func TestFrozen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		a := w.node("a")
		time.Sleep(time.Second)
		thaw := make(chan struct{})
		w.locked(func() { a.frozen, a.dead = thaw, true }) // nothing of it arrives either
		w.store(30)
		b := w.node("b")
		time.Sleep(20 * time.Second)
		w.complete(1)
		w.locked(func() { a.frozen, a.dead = nil, false })
		close(thaw)
		time.Sleep(20 * time.Second)
		w.complete(2)
		w.locked(func() {
			if at := w.state.Place.Pos; at != 30 {
				t.Errorf("the cursor is at %d", at)
			}
		})
		if a.figure("working") != 0 || b.figure("working") != 1 {
			t.Error("it is not the one that took over who works")
		}
		a.feed.Close()
		b.feed.Close()
	})
}

// Alone, nobody waits for one who was killed.
func TestAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		alone := func(o *feed.Options) { o.Alone = true }
		w.node("a", alone).kill()
		w.store(5)
		n := w.node("a", alone)
		time.Sleep(time.Second)
		w.complete(1)
		n.feed.Close()
	})
}

// What fails for ever is found among others, set aside, and everything else is
// handled, in order.
func TestPoison(t *testing.T) {
	broken := errors.New("broken")
	for name, tt := range map[string]struct {
		fails func(*im.Entry) error
		in    time.Duration
	}{
		"it says so":       {func(*im.Entry) error { return feed.Permanent(broken) }, 2 * time.Second},
		"it fails, always": {func(*im.Entry) error { return broken }, 4 * time.Minute},
		"it says it badly": {func(*im.Entry) error { return feed.Permanent(errors.New("\x00\xff" + strings.Repeat("€", 500))) }, 2 * time.Second},
		"it panics":        {func(*im.Entry) error { panic("broken") }, 4 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				n := w.node("a")
				w.locked(func() {
					n.broken = func(e *im.Entry) error {
						if e.Pos == 37 || e.Pos == 91 {
							return tt.fails(e)
						}
						return nil
					}
				})
				w.store(100)
				time.Sleep(tt.in)
				w.complete(1)
				n.feed.Close()
				if len(w.aside) != 2 || !w.isAside(37) || w.aside[0].Conversation != "grp:0" || w.aside[0].Seq != 19 || w.aside[0].Reason == "" || !utf8.ValidString(w.aside[0].Reason) || strings.ContainsRune(w.aside[0].Reason, 0) {
					t.Errorf("set aside: %+v", w.aside)
				}
				if n.figure("set_aside_total") != 2 || n.figure("entries_total") != 98 || n.figure("errors_total") < 2 {
					t.Error("the figures do not tell")
				}
			})
		})
	}
}

// What fails a few times, or because something else is not there, is not set aside,
// however long that takes.
func TestRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		n := w.node("a")
		fails := 5
		w.locked(func() {
			n.broken = func(e *im.Entry) error {
				if e.Pos == 7 && fails > 0 {
					fails--
					return errors.New("not now")
				}
				return nil
			}
		})
		w.store(20)
		time.Sleep(time.Minute)
		w.complete(1)
		began := time.Now()
		w.locked(func() {
			n.broken = func(*im.Entry) error {
				if time.Since(began) < time.Hour {
					return feed.Later(errors.New("the disk is full"))
				}
				return nil
			}
		})
		w.store(20)
		time.Sleep(30 * time.Minute)
		if lag := n.figure("lag_seconds"); lag < 1790 || lag > 1810 || n.figure("lag_positions") != 20 {
			t.Errorf("after half an hour it is behind by %v s and %v positions", lag, n.figure("lag_positions"))
		}
		w.locked(func() { n.calls = 0 })
		time.Sleep(31 * time.Minute)
		w.complete(1)
		w.locked(func() {
			if len(w.aside) != 0 || n.calls > 65 {
				t.Errorf("set aside %+v, after %d calls", w.aside, n.calls)
			}
		})
		time.Sleep(2 * time.Second)
		if n.figure("lag_seconds") > 2 || n.figure("lag_positions") != 0 {
			t.Errorf("afterwards it is behind by %v s", n.figure("lag_seconds"))
		}
		n.feed.Close()
	})
}

// A journal that cannot be read is asked again, and the lag grows meanwhile.
func TestJournalFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		n := w.node("a")
		time.Sleep(time.Second)
		w.locked(func() { w.failing = im.ErrJournalUnavailable })
		w.store(5)
		time.Sleep(time.Minute)
		if lag := n.figure("lag_seconds"); lag < 55 {
			t.Errorf("behind by %v s", lag)
		}
		w.locked(func() { w.failing = nil })
		time.Sleep(35 * time.Second)
		w.complete(1)
		n.feed.Close()
	})
}

// A history that went back is followed from where both agree.
func TestOtherHistory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		n := w.node("a")
		w.store(30)
		time.Sleep(3 * time.Second)
		w.complete(1)
		w.locked(func() { w.entries, w.era, w.agreed = w.entries[:20], 2, 18 })
		w.store(40)
		time.Sleep(3 * time.Second)
		w.mu.Lock()
		for pos := uint64(1); pos <= 60; pos++ {
			want := 1
			if pos > 18 && pos <= 30 {
				want = 2
			}
			if w.handled[pos] != want {
				t.Errorf("%d was handled %d times, want %d", pos, w.handled[pos], want)
			}
		}
		w.mu.Unlock()
		n.feed.Close()
		if w.state.Place != (im.Place{Era: 2, Pos: 60}) {
			t.Errorf("it is at %+v", w.state.Place)
		}
	})
}
