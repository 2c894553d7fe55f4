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
		for _, twice := range []bool{false, true} {
			t.Run(fmt.Sprint(floor, twice), func(t *testing.T) {
				inBubble(t, func(t *testing.T, r *rig) {
					r.dial()
					r.sayMany(dm, "bob", 8)
					r.setLifetime(dm, 60)
					r.sayMany(dm, "bob", 14)
					r.do(func() {
						if twice {
							r.earlier[dm] = []*wire.Window{{FirstSeq: 2, UntilSeq: 5}}
							r.first[dm] = 7
						}
					})
					pause(time.Second)
					if err := r.c.Conversation(dm).MarkRead(bg, 6); err != nil {
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
