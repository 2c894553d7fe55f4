package remote

import (
	"context"
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

// No node reaches its store: who asks hears that it is not possible now, before a
// client's patience is over.
func TestNobodyTakesARequest(t *testing.T) {
	in(t, "g1 l1", func(t *testing.T, w *world) {
		w.store.setAway("l1", true)
		pass(time.Second)
		began := time.Now()
		_, err := w.nodes["g1"].router.Sync(t.Context(), im.Actor{User: "u"}, im.SyncQuery{})
		if e := im.Public(err); e.Code != im.CodeUnavailable || e.RetryAfter <= 0 {
			t.Errorf("%+v", e)
		}
		if took := time.Since(began); took > sendPatience+time.Second {
			t.Errorf("it took %s", took)
		}
	})
}

// A session that ends takes its work along, also at another node.
func TestARequestIsTakenBack(t *testing.T) {
	for _, nodes := range []string{"g1 l1", "gl1"} {
		in(t, nodes, func(t *testing.T, w *world) {
			first := "g1"
			if w.nodes[first] == nil {
				first = "gl1"
			}
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() {
				_, err := w.nodes[first].router.Pull(ctx, im.Actor{User: "u"}, im.PullQuery{Conversation: dm(0)})
				done <- err
			}()
			pass(time.Second)
			cancel()
			pass(time.Second)
			w.store.mu.Lock()
			if n := w.store.calls["pull ended"]; n != 1 {
				t.Errorf("%s: %d requests ended with who asked", nodes, n)
			}
			w.store.mu.Unlock()
			if err := <-done; im.CodeOf(err) != im.CodeUnavailable {
				t.Errorf("%s: %v", nodes, err)
			}
			if s := w.nodes[first].served; s != nil {
				return
			}
			for _, a := range w.nodes["l1"].served.asking {
				a.mu.Lock()
				if len(a.running) != 0 {
					t.Errorf("%d requests are kept", len(a.running))
				}
				a.mu.Unlock()
			}
		})
	}
}
