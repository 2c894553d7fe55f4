package here

import (
	"testing"
	"time"
)

// The wheel fires late by at most two ticks, never early, and forgets what is cancelled.
func TestWheel(t *testing.T) {
	w := NewWheel(time.Second)
	var fired []int64
	mk := func() *testTimer { return &testTimer{fired: &fired, w: w} }
	a, b, c := mk(), mk(), mk()
	w.Schedule(a, 3)
	w.Schedule(b, 100_000) // longer than a turn: looked at once per turn
	w.Schedule(c, 2)
	w.Schedule(c, 5)
	w.Cancel(c)
	step := func(now int64) {
		w.now.Store(now)
		for _, x := range w.advance(nil) {
			x.Expire()
		}
	}
	for now := int64(1); now <= 3; now++ {
		step(now)
	}
	if len(fired) != 0 {
		t.Fatalf("fired at %v", fired)
	}
	step(5) // a tick was missed
	if len(fired) != 1 {
		t.Fatalf("fired at %v", fired)
	}
	for now := int64(6); now < 3*wheelSlots; now++ {
		step(now)
	}
	if len(fired) != 2 {
		t.Fatalf("fired at %v", fired)
	}
	w.Schedule(a, 1)
	step(w.now.Load() + 10*wheelSlots) // the process slept
	if len(fired) != 3 {
		t.Fatalf("fired at %v", fired)
	}
}

type testTimer struct {
	n     WheelNode
	w     *Wheel
	fired *[]int64
}

func (x *testTimer) Node() *WheelNode { return &x.n }
func (x *testTimer) Expire() int64 {
	*x.fired = append(*x.fired, x.w.Now())
	return 0
}
