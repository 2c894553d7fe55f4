package skein

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/skein-im/skein/wire"
)

// holes makes a client that comes back to n conversations, each with as many entries
// missing as that, and one more that is told.
func (r *rig) holes(n int, missing int) []string {
	var names []string
	r.do(func() { r.deltaMax = 1 })
	for i := range n {
		names = append(names, fmt.Sprintf("grp:g%03d", i))
		r.say(names[i], "bob", "before")
	}
	r.dial()
	r.end()
	for _, c := range names {
		r.sayMany(c, "bob", missing+1)
	}
	r.do(func() { r.seen = nil })
	return names
}

// takes has the server take Pulls of so many stretches and entries.
func (r *rig) takes(pulls, entries uint32) {
	r.do(func() {
		r.welcome = func(w *wire.Welcome) { w.Limits.Pulls, w.Limits.PullsEntries = pulls, entries }
	})
}

// asked are the sizes of the Pulls, and how many went alone; nothing is asked for twice.
func (r *rig) asked(pulls, entries int) (sizes []int, single int) {
	r.t.Helper()
	numbers := map[uint32]bool{}
	note := func(p *wire.Pull) {
		if numbers[p.Number] || p.Number == 0 {
			r.t.Errorf("number %d is used twice, or none", p.Number)
		}
		numbers[p.Number] = true
	}
	for _, f := range frames(r.fake, (*wire.ClientFrame).GetPulls) {
		sum := 0
		for _, p := range f.Pulls {
			note(p)
			sum += int(p.Limit)
		}
		if len(f.Pulls) < 2 || len(f.Pulls) > pulls || sum > entries {
			r.t.Errorf("a frame asks for %d stretches, %d entries; at most %d and %d", len(f.Pulls), sum, pulls, entries)
		}
		sizes = append(sizes, len(f.Pulls))
	}
	for _, p := range frames(r.fake, (*wire.ClientFrame).GetPull) {
		note(p)
		single++
	}
	return sizes, single
}

// Holes of several conversations are asked for in as few frames as the server takes;
// one is a Pull, and so are all for a server that takes no Pulls (SPEC §7.9).
func TestHolesOfSeveralConversations(t *testing.T) {
	for name, c := range map[string]struct {
		n, missing     int
		pulls, entries uint32
		sizes          []int
		single         int
	}{
		"none":                         {0, 2, 50, 1000, nil, 0},
		"one":                          {1, 2, 50, 1000, nil, 1},
		"two":                          {2, 2, 50, 1000, []int{2}, 0},
		"as many as a frame":           {50, 2, 50, 1000, []int{50}, 0},
		"many":                         {120, 2, 50, 1000, []int{50, 50, 20}, 0},
		"many, of many entries":        {10, 100, 50, 250, []int{2, 2, 2, 2, 2}, 0},
		"more than all may be":         {3, 100, 50, 60, nil, 3},
		"a server that takes one":      {3, 2, 1, 1000, nil, 3},
		"a server that takes no Pulls": {20, 2, 0, 0, nil, 20},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, r *rig) {
				r.takes(c.pulls, c.entries)
				names := r.holes(c.n, c.missing)
				r.dial()
				pause(time.Second)
				sizes, single := r.asked(int(c.pulls), int(c.entries))
				eq(t, "stretches of each frame", sizes, c.sizes)
				eq(t, "alone", single, c.single)
				for _, n := range names {
					r.checkStore(n)
				}
				eq(t, "connections", r.connections(), 2)
			})
		})
	}
}

// While a frame is unanswered no other is sent, but for the last few answers: the
// server makes them one after the other, and so is what waits behind them.
func TestPullsWaitForTheirAnswers(t *testing.T) {
	for pulls, want := range map[uint32][2]int{0: {8, 9}, 50: {50, 100}} {
		inBubble(t, func(t *testing.T, r *rig) {
			r.takes(pulls, 1000)
			names := r.holes(120, 2)
			var waiting []*wire.Pull
			r.do(func() {
				r.onFrame = func(_ *fakeConn, f *wire.ClientFrame) bool {
					if p := f.GetPull(); p != nil {
						waiting = append(waiting, p)
					}
					waiting = append(waiting, f.GetPulls().GetPulls()...)
					return f.GetPull() != nil || f.GetPulls() != nil
				}
			})
			answer := func(n int) {
				r.do(func() {
					for _, p := range waiting[:n] {
						reply(r.conns[0], r.pull(p))
					}
					waiting = waiting[n:]
				})
				synctest.Wait()
			}
			r.dial()
			total := len(waiting)
			eq(t, "asked for at first", total, want[0])
			first := want[0] - maxPulls
			answer(first)
			eq(t, "asked for, eight unanswered", first+len(waiting), want[0])
			answer(1)
			eq(t, "asked for, one answered", first+1+len(waiting), want[1])
			for len(waiting) > 0 {
				answer(len(waiting))
			}
			for _, n := range names {
				r.checkStore(n)
			}
		})
	}
}

// A frame whose answers are slow is no connection that is dead: each answer says that
// the others are to come. If none comes any more it is.
func TestSlowAnswersOfOneFrame(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.takes(50, 1000)
		names := r.holes(10, 2)
		var frame []*wire.Pull
		r.do(func() {
			r.onFrame = func(_ *fakeConn, f *wire.ClientFrame) bool {
				if f.GetPulls() != nil && frame == nil {
					frame = f.GetPulls().Pulls
					return true
				}
				return false
			}
		})
		r.dial()
		synctest.Wait() // frame is there
		for _, p := range frame[:9] {
			pause(10 * time.Second)
			r.do(func() { reply(r.conns[0], r.pull(p)) })
		}
		synctest.Wait()
		eq(t, "connections", r.connections(), 2)
		pause(time.Minute)
		eq(t, "connections, after silence", r.connections(), 3)
		for _, n := range names {
			r.checkStore(n)
		}
	})
}

// What is refused together is asked for again together, after the time that the server
// said, and what cannot be had is given up alone (SPEC §7.9).
func TestPullsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		answered int // before the refusal
		code     wire.Code
		again    []int // sizes of the frames that follow
	}{
		"all, too often":            {0, wire.CodeRateLimited, []int{10}},
		"some, stores do not work":  {4, wire.CodeUnavailable, []int{6}},
		"all but one":               {9, wire.CodeUnavailable, nil},
		"all, that they are no one": {0, wire.CodeNotFound, nil},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, r *rig) {
				r.takes(50, 1000)
				names := r.holes(10, 2)
				refused := false
				r.do(func() {
					r.onFrame = func(cn *fakeConn, f *wire.ClientFrame) bool {
						if refused || f.GetPulls() == nil {
							return false
						}
						refused = true
						for i, p := range f.GetPulls().Pulls {
							if i < c.answered {
								reply(cn, r.pull(p))
								continue
							}
							e := wire.NewError(c.code, "no")
							e.RetryAfterMs = 700
							reply(cn, &wire.Range{Number: p.Number, Conversation: p.Conversation, Error: e})
						}
						return true
					}
				})
				r.dial()
				pause(690 * time.Millisecond)
				sizes, single := r.asked(50, 1000)
				eq(t, "before the time is over", fmt.Sprint(sizes, single), "[10] 0")
				pause(time.Minute)
				sizes, single = r.asked(50, 1000)
				eq(t, "after it", sizes[1:], c.again)
				eq(t, "alone", single == 1, c.answered == 9)
				for _, n := range names {
					if c.code != wire.CodeNotFound {
						r.checkStore(n)
					}
				}
			})
		})
	}
}

// A connection that ends between two answers of a frame leaves nothing out: what was
// not answered is asked for by the next one.
func TestPullsCutOff(t *testing.T) {
	for answered := range 4 {
		inBubble(t, func(t *testing.T, r *rig) {
			r.takes(50, 1000)
			names := r.holes(3, 2)
			cut := false
			r.do(func() {
				r.onFrame = func(c *fakeConn, f *wire.ClientFrame) bool {
					if cut || f.GetPulls() == nil {
						return false
					}
					cut = true
					for _, p := range f.GetPulls().Pulls[:answered] {
						reply(c, r.pull(p))
					}
					c.hang()
					return true
				}
			})
			r.dial()
			pause(time.Minute)
			for _, n := range names {
				r.checkStore(n)
			}
			sizes, single := r.asked(50, 1000)
			eq(t, fmt.Sprintf("asked for, %d answered", answered), fmt.Sprint(sizes, single),
				[]string{"[3 3] 0", "[3 2] 0", "[3] 1", "[3] 0"}[answered])
		})
	}
}

// An answer that tells another conversation than was asked for under its number moves
// nothing.
func TestRangeOfAnotherConversation(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.takes(50, 1000)
		names := r.holes(2, 2)
		swapped := false
		r.do(func() {
			r.onFrame = func(c *fakeConn, f *wire.ClientFrame) bool {
				if swapped || f.GetPulls() == nil {
					return false
				}
				swapped = true
				ps := f.GetPulls().Pulls
				for i, p := range ps {
					a := r.pull(p)
					a.Number = ps[1-i].Number
					reply(c, a)
				}
				return true
			}
		})
		r.dial()
		pause(time.Minute)
		for _, n := range names {
			r.checkStore(n)
		}
	})
}
