package gateway

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

// pullsOf asks for n stretches of as many conversations, with the numbers from 1.
func pullsOf(n int, limit uint32) *wire.ClientFrame {
	p := &wire.Pulls{}
	for i := range n {
		p.Pulls = append(p.Pulls, &wire.Pull{Number: uint32(i + 1), Conversation: fmt.Sprintf("grp:g%d", i+1), Limit: limit})
	}
	return wire.NewClientFrame(p)
}

// As many as there may be are answered, each with its own number; more are refused:
// each, or the frame, where there are too many to answer (SPEC §7.9).
func TestPullsHaveBounds(t *testing.T) {
	for name, c := range map[string]struct {
		ask   *wire.ClientFrame
		count int
		want  string // with the number
	}{
		"none":               {pullsOf(0, 0), 0, "error invalid_argument"},
		"one":                {pullsOf(1, 0), 1, "range %d grp:g%[1]d 7 "},
		"two":                {pullsOf(2, 0), 2, "range %d grp:g%[1]d 7 "},
		"many":               {pullsOf(50, 20), 50, "range %d grp:g%[1]d 7 "},
		"of the default":     {pullsOf(20, 0), 20, "range %d grp:g%[1]d 7 "},
		"too many":           {pullsOf(51, 1), 0, "error too_large"},
		"too many entries":   {pullsOf(50, 21), 50, "range %d grp:g%[1]d 0 too_large"},
		"too many, defaults": {pullsOf(21, 0), 21, "range %d grp:g%[1]d 0 too_large"},
		"as one may give":    {pullsOf(5, 1<<32-1), 5, "range %d grp:g%[1]d 7 "},
		"more than these":    {pullsOf(6, 1<<32-1), 6, "range %d grp:g%[1]d 0 too_large"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				p := newWorld(t).login("ann", "d1")
				p.send(c.ask)
				if c.count == 0 {
					p.want(c.want)
				}
				for i := range c.count {
					p.want(fmt.Sprintf(c.want, i+1))
				}
				p.quiet()
			})
		})
	}
}

// Each Pull has an answer of its own, and what is wrong with one is not the others'.
// Where the stores do not answer they are asked once.
func TestPullsAreAnsweredOneByOne(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		asked := 0
		w.logic.pull = func(q im.PullQuery) (im.PullResult, error) {
			asked++
			switch q.Conversation {
			case "grp:g1":
				return im.PullResult{}, im.Errorf(im.CodeNotFound, "no")
			case "grp:g2":
				return im.PullResult{}, im.Errorf(im.CodeUnavailable, "not now")
			}
			return im.PullResult{Head: 3}, nil
		}
		p := w.login("ann", "d1")
		ask := func(conversations ...string) {
			m := &wire.Pulls{}
			for i, c := range conversations {
				m.Pulls = append(m.Pulls, &wire.Pull{Number: uint32(i), Conversation: c})
			}
			p.send(wire.NewClientFrame(m))
		}
		ask("grp:g1", "grp:g3", "x", "grp:g3")
		p.want("range 0 grp:g1 0 not_found")
		p.want("range 1 grp:g3 3 ")
		p.want("range 2 x 0 invalid_argument")
		p.want("range 3 grp:g3 3 ")
		asked = 0
		ask("grp:g3", "grp:g2", "grp:g3", "grp:g2")
		p.want("range 0 grp:g3 3 ")
		for i, c := range []string{"g2", "g3", "g2"} {
			p.want(fmt.Sprintf("range %d grp:%s 0 unavailable", i+1, c))
		}
		p.quiet()
		if asked != 2 {
			t.Fatalf("the stores were asked %d times", asked)
		}
	})
}

// Answers are made as the peer takes them, and not for one that is gone.
func TestPullsWaitForThePeer(t *testing.T) {
	for _, ends := range []bool{false, true} {
		bubble(t, func(t *testing.T) {
			w := newWorld(t, func(o *Options) { o.Limits.QueueBytes = 4000 })
			asked := 0
			w.logic.pull = func(im.PullQuery) (im.PullResult, error) {
				asked++
				return im.PullResult{Stretch: im.Stretch{First: 1, Last: 1, Entries: []im.Entry{entry(dm, 1, strings.Repeat("x", 1000))}}}, nil
			}
			c := w.parked("ann", "1", wire.Protobuf())
			c.take(0)
			c.say(pullsOf(50, 20))
			synctest.Wait()
			if asked > 5 {
				t.Fatalf("%d answers were made while nothing was taken", asked)
			}
			if ends {
				w.g.Control(im.Control{User: "ann"})
				synctest.Wait()
			}
			c.take(-1)
			synctest.Wait()
			heard := c.heard()
			if ends && asked > 5 {
				t.Fatalf("%d answers were made for a session that ends", asked)
			}
			if !ends && (len(heard) != 50 || heard[49] != "range 50 grp:g50 0 ") {
				t.Fatalf("heard %d answers", len(heard))
			}
		})
	}
}
