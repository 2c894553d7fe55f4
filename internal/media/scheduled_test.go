package media

import (
	"context"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// What a message names that is to be stored later stays as long as that is kept, and as
// long as the message from then on.
func TestScheduledMediaStay(t *testing.T) {
	w := newWorld(t)
	s := w.service()
	u := w.up(s, "ann", []byte("later"))
	waits := true
	s.o.Waits = func(_ context.Context, n im.MediaName) (bool, error) { return waits && n.Media == u.ID, nil }
	n := w.say(s, "ann", 1, nil, u.ID)
	kept := w.said.messages[n.ID]
	delete(w.said.messages, n.ID)
	pass := func(d time.Duration) bool {
		t.Helper()
		w.now = w.now.Add(d)
		w.ok(s.Sweep(t.Context()))
		_, err := s.Find(t.Context(), "ann", u.ID, Place{})
		return err == nil
	}
	for range 12 {
		if !pass(checkAgain) {
			t.Fatal("thrown away while its message waits")
		}
	}
	waits, w.said.messages[n.ID] = false, kept
	for range 2 {
		if !pass(checkAgain) {
			t.Error("thrown away after its message was stored")
		}
	}
	delete(w.said.messages, n.ID)
	w.ok(s.Doubt(t.Context(), []im.MediaName{n}))
	pass(checkAfter)
	if pass(unnamedTime) {
		t.Error("what no message names, or will, is there")
	}
}
