package remote

import (
	"slices"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/bus/mem"
	"github.com/skein-im/skein/internal/im"
)

// A bus that loses something and says nothing of it lost a heartbeat as well,
// sooner or later: the next one's number tells.
func TestAMissedHeartbeatIsNoticed(t *testing.T) {
	for _, beats := range []int{1, 2, 4} { // five are a death
		in(t, "g1 g2 l1", func(t *testing.T, w *world) {
			w.doors["g2"].online["b00"] = true
			w.nodes["g2"].UserHere("b00")
			pass(3 * time.Second)
			w.hub.SetFaults(mem.Faults{Drop: 1})
			w.store.append("a00", w.message(dm(0))) // whatever told of it is lost
			pass(time.Duration(beats) * beatEvery)
			w.hub.SetFaults(mem.Faults{})
			if got := w.doors["g2"].head(dm(0)); got != 0 {
				t.Fatalf("head %d came through", got)
			}
			pass(2 * time.Second)
			if got := w.doors["g2"].head(dm(0)); got != 1 {
				t.Fatalf("%d beats lost: head %d", beats, got)
			}
			if len(w.doors["g2"].judged()) > 0 {
				t.Fatal("the node was judged dead: this is another test")
			}
		})
	}
}

// What is missing is asked for from a position that is old enough: an entry may be
// below one that was heard and yet be on its way, and be lost there.
func TestARepairReachesBack(t *testing.T) {
	in(t, "g1 g2 l1", func(t *testing.T, w *world) {
		w.doors["g2"].online["b00"] = true
		w.nodes["g2"].UserHere("b00")
		pass(3 * time.Second)
		w.store.append("a00", w.message(dm(0))) // whatever told of it is lost
		pass(2 * beatEvery)                     // its position is heard of
		w.hub.SetFaults(mem.Faults{Drop: 1})
		pass(2 * beatEvery)
		w.hub.SetFaults(mem.Faults{})
		pass(2 * time.Second)
		if got := w.doors["g2"].head(dm(0)); got != 1 {
			t.Fatalf("head %d", got)
		}
	})
}

// A bus that says that it lost something is believed, also when every heartbeat
// came through.
func TestALossThatIsToldIsCompared(t *testing.T) {
	in(t, "g1 g2 l1", func(t *testing.T, w *world) {
		w.doors["g2"].online["b00"] = true
		w.nodes["g2"].UserHere("b00")
		pass(3 * time.Second)
		w.store.append("a00", w.message(dm(0)))
		pass(10 * time.Millisecond)
		handler{w.nodes["g2"]}.Lost("as it is told to")
		pass(100 * time.Millisecond)
		if got := w.doors["g2"].head(dm(0)); got != 1 || w.doors["g2"].verifications() == 0 {
			t.Fatalf("head %d, verified %d times", got, w.doors["g2"].verifications())
		}
	})
}

// What a node that is not heard stored at the time of the first look is found by
// a second one.
func TestALossIsComparedTwice(t *testing.T) {
	in(t, "g1 g2 l1", func(t *testing.T, w *world) {
		w.doors["g2"].online["b00"] = true
		w.nodes["g2"].UserHere("b00")
		pass(3 * time.Second)
		handler{w.nodes["g2"]}.Lost("as it is told to")
		pass(repairAgain / 2)
		w.store.append("a00", w.message(dm(0)))
		pass(repairAgain)
		if got := w.doors["g2"].head(dm(0)); got != 1 {
			t.Fatalf("head %d", got)
		}
	})
}

// A logic node that lost something may have lost the word that somebody was
// blocked, or removed.
func TestALogicNodeForgetsAfterALoss(t *testing.T) {
	in(t, "g1 l1 l2", func(t *testing.T, w *world) {
		pass(time.Second)
		w.forgot("", "") // at the start
		handler{w.nodes["l1"]}.Lost("as it is told to")
		pass(100 * time.Millisecond)
		if got := w.forgot("", ""); !slices.Equal(got, []string{"l1"}) {
			t.Fatalf("what was known was forgotten at %v", got)
		}
	})
}

// The numbers of a link begin anew with every link: an answer that belongs to an
// earlier one, and was long on its way, answers nothing.
func TestAnswersOfAnEarlierLink(t *testing.T) {
	in(t, "g1 l1", func(t *testing.T, w *world) {
		r := w.nodes["g1"].router
		w.hub.Partition("g1", "l1")
		s := w.send("g1", "a00", dm(0))
		pass(10 * time.Millisecond)
		r.mu.Lock()
		l := r.links["l1"]
		late := down{from: "l1", instance: l.instance, to: l.id - 1, number: l.read + 1, next: 2}
		r.mu.Unlock()
		r.answers(putAck(late.append(nil), 1, &im.Ack{Seq: 99, Count: 99}))
		if s.replies != 0 {
			t.Fatalf("answered with %+v", s.ack)
		}
		w.hub.Heal("g1", "l1")
		pass(5 * time.Second)
		w.stored([]*sent{s})
	})
}

// What moves to another node keeps its order: what was written is older than what
// waits to be.
func TestWhatMovesKeepsItsOrder(t *testing.T) {
	in(t, "g1 l1", func(t *testing.T, w *world) {
		r := w.nodes["g1"].router
		r.mu.Lock()
		defer r.mu.Unlock()
		l := r.links["l1"]
		all := []*sending{{}, {}, {}, {}}
		l.sent, l.queue = []*sending{all[0], nil, all[1]}, all[2:] // one was answered
		if got := l.takeAll(); !slices.Equal(got, all) {
			t.Fatalf("%v, want %v", got, all)
		}
	})
}
