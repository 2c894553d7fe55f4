package messaging

import (
	"testing"

	"github.com/skein-im/skein/internal/im"
)

// A message whose handling panics is refused for good: it is not repeated, and
// nothing of its sender waits for it. The service goes on, and all others are stored.
func TestAPanicEndsItsMessage(t *testing.T) {
	w := newWorld(t)
	m := w.message(im.DM("poison", "y"), "x")
	for range 3 {
		if _, err := w.send("poison", m); im.CodeOf(err) != im.CodeUnprocessable {
			t.Fatalf("the poison: %v", err)
		}
		if a, err := w.send("alice", w.message(ab, "hi")); err != nil || a.Seq == 0 {
			t.Fatal(a, err)
		}
	}
	select {
	case err := <-w.failed:
		t.Fatalf("gave up: %v", err)
	default:
	}
}
