package mem_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/skein-im/skein/internal/bus"
	"github.com/skein-im/skein/internal/bus/bustest"
	"github.com/skein-im/skein/internal/bus/mem"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig opens nodes at one Hub.
type rig struct{ hub *mem.Hub }

func (r *rig) Open(_ *testing.T, name string, h bus.Handler, l bustest.Limits) bus.Bus {
	return r.hub.OpenBounded(name, h, l.Messages, l.Bytes)
}
func (r *rig) Cut(_ *testing.T, a, b string)  { r.hub.Partition(a, b) }
func (r *rig) Mend(_ *testing.T, a, b string) { r.hub.Heal(a, b) }

func TestBus(t *testing.T) {
	for _, test := range bustest.Tests() {
		t.Run(test.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { test.Run(t, &rig{mem.NewHub(1)}) })
		})
	}
}

// TestBusWithDelay: a slow way and interest that spreads late are no excuse.
func TestBusWithDelay(t *testing.T) {
	for _, test := range bustest.Tests() {
		t.Run(test.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				hub := mem.NewHub(2)
				hub.SetFaults(mem.Faults{Delay: 3 * time.Millisecond, Interest: 20 * time.Millisecond})
				test.Run(t, &rig{hub})
			})
		})
	}
}

// scene is a publisher a and a subscriber b of "x" under the faults.
func scene(t *testing.T, seed uint64, f mem.Faults, n int) (got []string, counts mem.Counts) {
	synctest.Test(t, func(t *testing.T) {
		hub := mem.NewHub(seed)
		r := bustest.NewRecorder()
		a, b := hub.Open("a", bustest.NewRecorder()), hub.Open("b", r)
		defer a.Close()
		defer b.Close()
		if err := b.Subscribe("x"); err != nil {
			t.Fatal(err)
		}
		hub.SetFaults(f)
		for i := range n {
			a.Publish("x", fmt.Appendf(nil, "%04d", i))
			if i%10 == 0 {
				a.Flush()
			}
		}
		a.Flush()
		time.Sleep(time.Second)
		synctest.Wait()
		for _, m := range r.Got() {
			got = append(got, string(m.Data))
		}
		counts = hub.Counts()
	})
	return got, counts
}

func TestDrop(t *testing.T) {
	got, counts := scene(t, 7, mem.Faults{Drop: 0.3}, 1000)
	if len(got) < 600 || len(got) > 800 || int(counts.Dropped)+len(got) != 1000 {
		t.Errorf("%d of 1000 came, %+v", len(got), counts)
	}
	if !slices.IsSorted(got) {
		t.Error("dropping alone changed the order")
	}
}

func TestDuplicate(t *testing.T) {
	got, counts := scene(t, 7, mem.Faults{Duplicate: 0.3}, 1000)
	if len(got) < 1200 || len(got) > 1400 || int(counts.Duplicated)+1000 != len(got) {
		t.Errorf("%d came, %+v", len(got), counts)
	}
	slices.Sort(got)
	if n := len(slices.Compact(got)); n != 1000 {
		t.Errorf("%d different ones came", n)
	}
}

func TestReorder(t *testing.T) {
	got, counts := scene(t, 7, mem.Faults{Reorder: 0.1, Delay: time.Millisecond}, 1000)
	if len(got) != 1000 || counts.Reordered < 50 || slices.IsSorted(got) {
		t.Errorf("%d came, in order: %v, %+v", len(got), slices.IsSorted(got), counts)
	}
	slices.Sort(got)
	if n := len(slices.Compact(got)); n != 1000 {
		t.Errorf("%d different ones came", n)
	}
}

func TestSeedRepeats(t *testing.T) {
	all := mem.Faults{Drop: 0.1, Duplicate: 0.1, Reorder: 0.1, Delay: time.Millisecond}
	one, _ := scene(t, 1, all, 500)
	again, _ := scene(t, 1, all, 500)
	two, _ := scene(t, 2, all, 500)
	if !slices.Equal(one, again) {
		t.Error("the same seed did not repeat")
	}
	if slices.Equal(one, two) {
		t.Error("another seed did the same")
	}
}

func TestDelayAndInterestTakeTheirTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hub := mem.NewHub(1)
		hub.SetFaults(mem.Faults{Delay: 50 * time.Millisecond, Interest: time.Second})
		r := bustest.NewRecorder()
		a, b := hub.Open("a", bustest.NewRecorder()), hub.Open("b", r)
		defer a.Close()
		defer b.Close()
		if err := b.Subscribe("x"); err != nil {
			t.Fatal(err)
		}
		publish := func(s string) {
			a.Publish("x", []byte(s))
			a.Flush()
			synctest.Wait()
		}
		publish("too early")
		time.Sleep(time.Second)
		publish("in time")
		if r.Count() != 0 {
			t.Errorf("it came at once: %q", r.Got())
		}
		time.Sleep(50 * time.Millisecond)
		synctest.Wait()
		if got := r.Got(); len(got) != 1 || string(got[0].Data) != "in time" {
			t.Errorf("got %q", got)
		}
	})
}

// TestPartitionLosesWhatIsOnItsWay: nothing that was sent before or during a
// partition comes after it, and only the two of it are touched.
func TestPartitionLosesWhatIsOnItsWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hub := mem.NewHub(1)
		hub.SetFaults(mem.Faults{Delay: time.Second})
		rb, rc := bustest.NewRecorder(), bustest.NewRecorder()
		a, b, c := hub.Open("a", bustest.NewRecorder()), hub.Open("b", rb), hub.Open("c", rc)
		for _, n := range []bus.Bus{a, b, c} {
			defer n.Close()
			if err := n.Subscribe("x"); err != nil {
				t.Fatal(err)
			}
		}
		send := func(s string) {
			a.Publish("x", []byte(s))
			a.Flush()
		}
		send("before")
		hub.Partition("b", "a")
		send("during")
		hub.Heal("a", "b")
		hub.Heal("a", "b")
		send("after")
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if got := rb.Got(); len(got) != 1 || string(got[0].Data) != "after" {
			t.Errorf("b got %q", got)
		}
		if got := rb.Losses(); !slices.Equal(got, []string{"route a"}) {
			t.Errorf("b was told %q", got)
		}
		if rc.Count() != 3 || len(rc.Losses()) != 0 {
			t.Errorf("c got %q and was told %q", rc.Got(), rc.Losses())
		}
	})
}

func TestBlock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hub := mem.NewHub(1)
		r := bustest.NewRecorder()
		a, b := hub.Open("a", bustest.NewRecorder()), hub.OpenBounded("b", r, 10, 0)
		defer a.Close()
		if err := b.Subscribe("x"); err != nil {
			t.Fatal(err)
		}
		hub.Block("b")
		for range 100 {
			a.Publish("x", []byte("x"))
			a.Flush()
		}
		synctest.Wait()
		if r.Count() != 0 {
			t.Errorf("a blocked consumer got %d", r.Count())
		}
		hub.Unblock("b")
		synctest.Wait()
		if r.Count() != 10 || !slices.Equal(r.Losses(), []string{bus.SlowConsumer}) {
			t.Errorf("got %d, told %q", r.Count(), r.Losses())
		}
		// Close ends a block.
		hub.Block("b")
		a.Publish("x", nil)
		a.Flush()
		synctest.Wait()
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestNothingLeavesBeforeFlush, so that a forgotten Flush shows in tests.
func TestNothingLeavesBeforeFlush(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hub := mem.NewHub(1)
		r := bustest.NewRecorder()
		a, b := hub.Open("a", bustest.NewRecorder()), hub.Open("b", r)
		defer a.Close()
		defer b.Close()
		if err := b.Subscribe("x"); err != nil {
			t.Fatal(err)
		}
		a.Publish("x", []byte("1"))
		time.Sleep(time.Minute)
		synctest.Wait()
		if r.Count() != 0 {
			t.Error("it came without Flush")
		}
		a.Flush()
		synctest.Wait()
		if r.Count() != 1 {
			t.Error("it did not come with Flush")
		}
	})
}
