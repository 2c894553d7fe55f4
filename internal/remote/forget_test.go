package remote

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/bus/mem"
)

// A change of two users' relation is answered when every logic node knows: what
// the bus loses is told again, and nobody waits longer than for a judgement.
func TestForget(t *testing.T) {
	in(t, "g1 l1 l2 l3", func(t *testing.T, w *world) {
		forget := func(node string, want ...string) time.Duration {
			t.Helper()
			began := time.Now()
			w.nodes[node].Forget(t.Context(), "ann", "bob")
			took := time.Since(began)
			if got := w.forgot("ann", "bob"); !slices.Equal(got, want) {
				t.Fatalf("%v forgot within %s, want %v", got, took, want)
			}
			return took
		}
		forget("l1", "l2", "l3") // l1 did so itself
		if d := forget("g1", "l1", "l2", "l3"); d >= forgetAgain {
			t.Fatalf("took %s on a good bus", d)
		}
		// Not so bad that somebody seems gone: five heartbeats in a row.
		w.hub.SetFaults(mem.Faults{Drop: 0.1, Duplicate: 0.2, Reorder: 0.2, Delay: time.Millisecond})
		for range 20 {
			forget("l1", "l2", "l3")
		}
		w.hub.SetFaults(mem.Faults{})
		pass(2 * beatEvery)
		w.forgot("ann", "bob")

		w.kill("l3")
		if d := forget("l1", "l2"); d < deadAfter-2*beatEvery || d > deadAfter+2*beatEvery {
			t.Fatalf("took %s beside a dead node", d)
		}
		w.kill("l2")
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		began := time.Now()
		w.nodes["l1"].Forget(ctx, "ann", "cem")
		if d := time.Since(began); d != time.Millisecond {
			t.Fatalf("waited %s without its caller", d)
		}
	})
}

// A change of a list is answered when every logic node has read it again, also where the bus
// loses the word.
func TestReread(t *testing.T) {
	in(t, "g1 l1 l2 l3", func(t *testing.T, w *world) {
		for round := range 10 {
			w.hub.SetFaults(mem.Faults{Drop: 0.05 * float64(round%2)})
			w.nodes["l1"].Reread(t.Context())
			for _, node := range []string{"l2", "l3"} {
				if n := w.took("reread at " + node); n == 0 {
					t.Errorf("round %d: %s did not", round, node)
				}
			}
		}
	})
}

// took is how often something was called, and forgets it.
func (w *world) took(what string) int {
	w.store.mu.Lock()
	defer w.store.mu.Unlock()
	n := w.store.calls[what]
	delete(w.store.calls, what)
	return n
}
