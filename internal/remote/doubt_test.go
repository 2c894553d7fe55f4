package remote

import (
	"errors"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// What a node that fell silent had under way may be stored after all: when another
// one refuses it (the sender was removed meanwhile), the sender is told to ask
// again when that is over, and only then that it is refused.
func TestARefusalBehindASilentNode(t *testing.T) {
	in(t, "g1 l1 l2", func(t *testing.T, w *world) {
		home := w.nodes["g1"].router.home(string(dm(0)), time.Now()).name
		other := "l1"
		if home == other {
			other = "l2"
		}
		w.store.refuse["l1"], w.store.refuse["l2"] = true, true
		certain := w.send("g1", "a00", dm(0))
		pass(time.Second)
		if im.CodeOf(certain.err) != im.CodeNotFound {
			t.Fatalf("refused by its home: %v", certain.err)
		}
		w.hub.Partition(home, "g1")
		w.hub.Partition(home, other)
		moved := w.send("g1", "a00", dm(0))
		pass(4 * time.Second)
		var e *im.Error
		if !errors.As(moved.err, &e) || e.Code != im.CodeUnknown || e.RetryAfter != doubtTime {
			t.Fatalf("refused by another node: %v", moved.err)
		}
		again := w.send("g1", "a00", dm(0))
		pass(time.Second)
		if im.CodeOf(again.err) != im.CodeNotFound {
			t.Fatalf("asked again: %v", again.err)
		}
	})
}

// A logic node is killed with a send under way, and the next one refuses it for
// good. If that one knows that nothing of the first can be stored any more, the
// sender is told to ask again as soon as no node is left that may still decide,
// and is refused for good then; otherwise once the connection of the dead one
// to the database is over, too.
func TestARefusalBehindADeadNode(t *testing.T) {
	for _, settled := range []bool{true, false} {
		in(t, "g1 l1 l2", func(t *testing.T, w *world) {
			home := w.nodes["g1"].router.home(string(dm(0)), time.Now()).name
			w.store.refuse["l1"], w.store.refuse["l2"], w.store.settled = true, true, settled
			// The message is on its way when the node dies: nobody hears it any more.
			for _, other := range []string{"g1", "l1", "l2"} {
				if other != home {
					w.hub.Partition(home, other)
				}
			}
			killed := time.Now()
			moved := w.send("g1", "a00", dm(0))
			pass(100 * time.Millisecond)
			w.kill(home)
			pass(4 * time.Second)
			var e *im.Error
			if !errors.As(moved.err, &e) || e.Code != im.CodeUnknown || e.RetryAfter <= 0 {
				t.Fatalf("refused by another node: %v", moved.err)
			}
			certain := moved.at.Sub(killed) + e.RetryAfter
			t.Logf("settled %v: %v after the kill `unknown`, certain after %v", settled, moved.at.Sub(killed), certain)
			switch undecidedUntil := killed.Add(undecided); {
			case settled && (moved.at.Add(e.RetryAfter).Before(undecidedUntil) || e.RetryAfter > undecided):
				t.Errorf("to ask again %v after the kill, want when nobody may decide any more (%v)", certain, undecided)
			case !settled && e.RetryAfter != doubtTime:
				t.Errorf("to ask again after %v, want %v", e.RetryAfter, doubtTime)
			}
			again := w.send("g1", "a00", dm(0))
			pass(time.Second)
			if im.CodeOf(again.err) != im.CodeNotFound {
				t.Fatalf("asked again: %v", again.err)
			}
		})
	}
}
