package remote

import (
	"testing"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// A conversation that no node can store into is refused at once, and moves
// nothing: its node is not to blame.
func TestALockedConversationMovesNothing(t *testing.T) {
	for _, nodes := range []string{"g1 g2 l1 l2", "gl1 gl2"} {
		in(t, nodes, func(t *testing.T, w *world) {
			first := "g1"
			if w.nodes[first] == nil {
				first = "gl1"
			}
			locked := im.DM("locked", "other")
			w.store.mu.Lock()
			w.store.locked[locked] = true
			w.store.mu.Unlock()
			var all, refused []*sent
			for i := range 300 {
				all = append(all, w.send(first, "a00", dm(i%10)))
				if i%10 == 5 {
					refused = append(refused, w.send(first, "locked", locked))
				}
				if i%5 == 0 {
					pass(time.Millisecond)
				}
			}
			pass(time.Second)
			w.stored(all)
			for _, s := range refused {
				if e := im.Public(s.err); s.replies != 1 || e.Code != im.CodeUnavailable || e.RetryAfter != time.Second {
					t.Fatalf("%d answers: %v", s.replies, s.err)
				}
			}
			total := 0
			for _, n := range w.store.sends {
				total += n
			}
			if total != len(all)+len(refused) {
				t.Errorf("the nodes were given %d sends, want %d", total, len(all)+len(refused))
			}
		})
	}
}
