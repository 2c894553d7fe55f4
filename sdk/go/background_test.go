package skein

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/skein-im/skein/wire"
)

// What a program says of being in the background is told with every Hello, and at
// once while it is connected; so is its wish for a heartbeat.
func TestBackgroundAndHeartbeat(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		c := r.dial(WithHeartbeat(90 * time.Second))
		for _, on := range []bool{true, true, false, true} {
			if err := c.SetBackground(bg, on); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		var told []bool
		for _, f := range frames(r.fake, (*wire.ClientFrame).GetBackground) {
			told = append(told, f.On)
		}
		eq(t, "told", told, []bool{true, false, true})
		r.hangUp()
		pause(time.Minute / 2)
		eq(t, "connections", r.connections(), 2)
		for i, h := range r.hellos {
			if h.Background != (i == 1) || h.IdleMs != 90_000 {
				t.Errorf("hello %d: background %v, idle %d", i, h.Background, h.IdleMs)
			}
		}
		eq(t, "told once more", len(frames(r.fake, (*wire.ClientFrame).GetBackground)), 3)
	})
}
