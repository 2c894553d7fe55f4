package outgoing

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/skein-im/skein/wire"
)

// framer is a member whose framing has a name, which stands in front of what it
// frames, and which counts how often it frames.
type framer struct {
	member
	framing string
	deflate bool
	framed  *atomic.Int64
}

func (c *framer) Info() wire.ConnInfo {
	return wire.ConnInfo{Codec: wire.JSONName, Framing: c.framing, Deflate: c.deflate}
}

func (c *framer) AppendMessage(dst, payload []byte) []byte {
	c.framed.Add(1)
	return append(append(append(dst, c.framing+" "...), payload...), '\n')
}

// lines are what was written, framing and all, since the last call.
func (c *framer) lines() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	got := strings.TrimSuffix(string(c.got), "\n")
	c.got = nil
	if got == "" {
		return nil
	}
	return strings.Split(got, "\n")
}

// A message to many is framed once for each framing: deflating is dear. Each
// connection gets its own framing's bytes, and no other's.
func TestFanoutIsFramedOncePerFraming(t *testing.T) {
	for _, n := range [][2]int{{0, 0}, {1, 0}, {0, 1}, {1, 1}, {2, 2}, {shareFrom + 1, shareFrom + 1}} {
		synctest.Test(t, func(t *testing.T) {
			a := newAudience(t, 0)
			var framed [2]atomic.Int64
			var of []*framer
			for kind, name := range []string{"plain", "deflated"} {
				for range n[kind] {
					c := &framer{member: member{takes: -1}, framing: name, deflate: kind == 1, framed: &framed[kind]}
					c.cond.L = &c.mu
					c.Begin(a.all, c, c, a.all.KindOf(c.Info()), "x", uint64(len(of)))
					if !c.Welcome(wire.NewServerFrame(&wire.Welcome{})) {
						t.Fatal("not welcome")
					}
					c.Flush()
					c.lines()
					of = append(of, c)
				}
			}
			framed[0].Store(0)
			framed[1].Store(0)
			f := a.all.Fanout(wire.NewServerFrame(&wire.Resync{}), len(of))
			for _, c := range of {
				f.To(&c.Queue)
			}
			f.End()
			a.all.Flush()
			synctest.Wait()
			for i, c := range of {
				if got := c.lines(); !slices.Equal(got, []string{c.framing + ` {"resync":{}}`}) {
					t.Errorf("%v: %d hears %q", n, i, got)
				}
			}
			if got, want := fmt.Sprint(framed[0].Load(), framed[1].Load()), fmt.Sprint(min(n[0], 1), min(n[1], 1)); got != want {
				t.Errorf("%v: framed %s times, want %s", n, got, want)
			}
		})
	}
}
