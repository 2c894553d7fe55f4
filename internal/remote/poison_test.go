package remote

import (
	"testing"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// A message that makes the logic panic ends with an answer. It takes no node down,
// and is given to no other; those before and behind it are stored.
func TestPoison(t *testing.T) {
	for _, nodes := range []string{"g1 g2 l1 l2", "gl1 gl2"} {
		in(t, nodes, func(t *testing.T, w *world) {
			first := "g1"
			if w.nodes[first] == nil {
				first = "gl1"
			}
			var all []*sent
			for range 50 {
				all = append(all, w.send(first, "a00", dm(0)))
			}
			var replies []error
			m := w.message(dm(0))
			m.Body = []byte("poison")
			w.nodes[first].Logic().Send(t.Context(), im.Actor{User: "a00", Connection: "other"}, m, func(_ im.Ack, err error) {
				w.store.mu.Lock()
				replies = append(replies, err)
				w.store.mu.Unlock()
			})
			for range 50 {
				all = append(all, w.send(first, "a00", dm(0)))
			}
			pass(3 * time.Second)
			w.stored(all)
			w.store.mu.Lock()
			defer w.store.mu.Unlock()
			if len(replies) != 1 || im.CodeOf(replies[0]) != im.CodeUnprocessable || w.store.calls["poison"] != 1 {
				t.Errorf("%s: answers %v, handled %d times", nodes, replies, w.store.calls["poison"])
			}
		})
	}
}
