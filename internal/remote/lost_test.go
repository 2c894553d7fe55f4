package remote

import (
	"testing"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// A node carries a call out and is cut off before it answers: whoever asked is told
// that nobody knows, and no other node is asked.
func TestACallOfALostNodeIsNotRepeated(t *testing.T) {
	in(t, "g1 l1 l2", func(t *testing.T, w *world) {
		w.store.onCall = func(node string) { w.hub.Partition("g1", node) }
		_, err := w.nodes["g1"].Logic().Call(t.Context(), im.Actor{User: "ann"}, im.Call{Method: "m", Payload: []byte("once")})
		if im.CodeOf(err) != im.CodeUnknown {
			t.Errorf("answered %v", err)
		}
		pass(5 * time.Second)
		w.store.mu.Lock()
		defer w.store.mu.Unlock()
		if n := w.store.calls["once"]; n != 1 {
			t.Errorf("carried out %d times", n)
		}
	})
}

// One answer is lost on the bus, and nothing comes behind it: the sender's node
// asks, notices, and the answer comes.
func TestALostAnswerIsAskedForAgain(t *testing.T) {
	in(t, "g1 l1", func(t *testing.T, w *world) {
		cut := false
		w.store.onSend = func(node string, _ im.Actor, _ im.Message) error {
			if !cut {
				cut = true
				w.hub.Partition("g1", node)
			}
			return nil
		}
		s := w.send("g1", "a00", dm(0))
		pass(50 * time.Millisecond)
		s.mu.Lock()
		replies := s.replies
		s.mu.Unlock()
		if !cut || replies != 0 {
			t.Fatalf("cut %v, %d replies: no answer was lost", cut, replies)
		}
		w.hub.Heal("g1", "l1")
		pass(3 * time.Second)
		w.stored([]*sent{s})
	})
}
