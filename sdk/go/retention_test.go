package skein

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/skein-im/skein/wire"
)

// What is not kept any more (SPEC §4.33) is taken away with the next state, from what is
// shown, from what is unread and from the store, and it is told once; of none, some and all
// of what is here, of a user who was there twice, and beside what disappears.
func TestNotKeptAnyMore(t *testing.T) {
	for _, floor := range []uint64{0, 1, 3, 8, 9, 10, 24, 25} {
		for how := range 4 {
			twice, disappears := how&1 > 0, how&2 > 0
			t.Run(fmt.Sprintf("%d, twice %t, disappears %t", floor, twice, disappears), func(t *testing.T) {
				inBubble(t, func(t *testing.T, r *rig) {
					r.dial()
					r.sayMany(dm, "bob", 5)
					pause(time.Second)
					if twice {
						r.do(func() { r.earlier[dm], r.first[dm] = []*wire.Window{{FirstSeq: 1, UntilSeq: 5}}, 7 })
						r.hangUp()
					}
					r.sayMany(dm, "bob", 3)
					if disappears {
						r.setLifetime(dm, 60)
					}
					r.sayMany(dm, "bob", 14)
					pause(10 * time.Second)
					r.checkLeft("before", dm)
					if err := r.c.Conversation(dm).MarkRead(bg, 8); err != nil {
						t.Fatal(err)
					}
					pause(time.Second)
					r.hangUp()
					r.do(func() { r.floor[dm] = floor })
					r.sayMany(dm, "bob", 2)
					pause(30 * time.Second)
					r.checkLeft("then", dm)
					if kept := r.keptOf(dm); len(kept) > 0 && slices.Min(kept) <= floor {
						t.Errorf("kept: %v", kept)
					}
					told := len(eventsOf[*GoneEvent](r.events))
					r.hangUp()
					r.say(dm, "bob", "more")
					pause(10 * time.Second)
					r.checkLeft("again", dm)
					eq(t, "told again", len(eventsOf[*GoneEvent](r.events)), told)
					pause(5 * time.Minute)
					r.checkLeft("in the end", dm)
					r.restart()
					pause(time.Second)
					r.checkLeft("after a restart", dm)
				})
			})
		}
	}
}
