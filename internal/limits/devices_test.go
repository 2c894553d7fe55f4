package limits

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/skein-im/skein/internal/im"
)

func slow(r Rate) *Devices {
	one := Rate{PerSecond: 1, Burst: 1}
	return NewDevices(Rates{Sends: r, Marks: one, Reads: one, Calls: one, Signals: one})
}

func TestBucket(t *testing.T) {
	d := slow(Rate{PerSecond: 10, Burst: 3})
	a := d.Enter("ann", "1")
	now := int64(1e18)
	for i := range 3 {
		if wait, _ := d.Take(a, Sends, now); wait != 0 {
			t.Fatalf("token %d refused", i)
		}
	}
	if wait, _ := d.Take(a, Sends, now); wait != 100*time.Millisecond {
		t.Fatalf("wait %v", wait)
	}
	if wait, _ := d.Take(a, Sends, now+int64(100*time.Millisecond)); wait != 0 {
		t.Fatal("refused after the wait")
	}
	if wait, _ := d.Take(a, Sends, now+int64(time.Hour)); wait != 0 || a.buckets[Sends].refused != 0 {
		t.Fatal("an idle bucket is not full")
	}
}

// Forty of one device at once, at one door, the other, or both, each waiting as it
// is told: all the rate allows passes and no more, nobody is refused twice in a
// row once those that came at once have their times, and nobody is closed.
func TestManyWhoWaitAsTold(t *testing.T) {
	for _, doors := range []string{"connections", "http", "both"} {
		t.Run(doors, func(t *testing.T) {
			d := slow(Rate{PerSecond: 50, Burst: 5})
			a := d.Enter("ann", "1")
			began := int64(1e18)
			now, passed, again := began, 0, 0
			due, refused := make([]int64, 40), make([]bool, 40)
			for i := range due {
				due[i] = now
			}
			const turns = 4000
			for range turns {
				who := 0
				for i := range due {
					if due[i] < due[who] {
						who = i
					}
				}
				now = due[who]
				var wait time.Duration
				if doors == "http" || doors == "both" && who%2 == 0 {
					wait = d.Ask("ann", "1", Sends, now).Wait
				} else {
					var flood bool
					if wait, flood = d.Take(a, Sends, now); flood {
						t.Fatal("closed")
					}
				}
				if wait == 0 {
					passed++
				} else if refused[who] {
					again++
				}
				refused[who] = wait > 0
				due[who] = now + int64(max(wait, time.Millisecond))
			}
			may := 5 + int(time.Duration(now-began)/(20*time.Millisecond))
			if passed > may || passed < may-50 || again > 0 {
				t.Errorf("%d passed where %d may; %d were refused again after they waited as told", passed, may, again)
			}
		})
	}
}

// Who never waits over HTTP does not make others of the device wait without end,
// and its refusals close no connection.
func TestAFloodOverHTTP(t *testing.T) {
	d := slow(Rate{PerSecond: 50, Burst: 5})
	a := d.Enter("ann", "1")
	now := int64(1e18)
	for range 100_000 {
		d.Ask("ann", "1", Sends, now)
	}
	wait, flood := d.Take(a, Sends, now)
	if flood || wait <= 0 || wait > (FloodFactor*5+1)*20*time.Millisecond {
		t.Fatalf("flood %v, wait %v", flood, wait)
	}
	if wait, flood = d.Take(a, Sends, now+int64(wait)); wait != 0 || flood {
		t.Fatalf("after the wait: flood %v, wait %v", flood, wait)
	}
}

// One bucket for both doors, for the device: what is taken at one is gone at the
// other. Sessions without a device share one of their own.
func TestOneBudget(t *testing.T) {
	d := slow(Rate{PerSecond: 1, Burst: 4})
	now := int64(1e18)
	a := d.Enter("ann", "1")
	d.Take(a, Sends, now)
	if q := d.Ask("ann", "1", Sends, now); q.Wait != 0 || q.Left != 2 || q.Full != 2*time.Second || q.Burst != 4 {
		t.Errorf("%+v", q)
	}
	d.Leave(a, now)
	a = d.Enter("ann", "1")
	d.Take(a, Sends, now)
	if q := d.Ask("ann", "1", Sends, now); q.Wait != 0 || q.Left != 0 {
		t.Errorf("%+v", q)
	}
	if q := d.Ask("ann", "1", Sends, now); q.Wait != time.Second || q.Left != 0 || q.Full != 4*time.Second {
		t.Errorf("%+v", q)
	}
	if wait, _ := d.Take(a, Sends, now); wait != 2*time.Second {
		t.Errorf("the next is told %v: the time of the one before", wait)
	}
	for _, other := range []deviceKey{{"ann", "2"}, {"ann", ""}, {"bob", "1"}} {
		if q := d.Ask(other.user, other.device, Sends, now); q.Wait != 0 || q.Left != 3 {
			t.Errorf("%v: %+v", other, q)
		}
	}
}

func TestIdleDevicesAreBounded(t *testing.T) {
	const anHour = 1.0 / 3600 // so that none is full, and forgotten, while the test runs
	d := slow(Rate{PerSecond: anHour, Burst: 1000})
	for i := range maxIdle + 100 {
		d.Ask(im.UserID(fmt.Sprint("u", i)), "1", Sends, 1e18)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.of) != maxIdle || d.idle.Len() != maxIdle {
		t.Errorf("%d are remembered, %d idle", len(d.of), d.idle.Len())
	}
	if d.of[deviceKey{"u0", "1"}] != nil || d.of[deviceKey{im.UserID(fmt.Sprint("u", maxIdle)), "1"}] == nil {
		t.Error("not the oldest was forgotten")
	}
}

// Nothing is remembered of a device that is as good as new, and nothing is
// forgotten of one that is not.
func TestFullDevicesAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := slow(Rate{PerSecond: 1, Burst: 25})
		a := d.Enter("connected", "1")
		d.Ask("once", "1", Sends, time.Now().UnixNano())
		for range 15 {
			d.Ask("busy", "1", Sends, time.Now().UnixNano())
		}
		remembered := func() (all, idle int) {
			synctest.Wait()
			d.mu.Lock()
			defer d.mu.Unlock()
			return len(d.of), d.idle.Len()
		}
		if all, idle := remembered(); all != 3 || idle != 2 {
			t.Errorf("%d are remembered, %d idle", all, idle)
		}
		time.Sleep(forgetEvery)
		if all, idle := remembered(); all != 2 || idle != 1 {
			t.Errorf("%d are remembered, %d idle, when one is full", all, idle)
		}
		if q := d.Ask("busy", "1", Sends, time.Now().UnixNano()); q.Left != 19 {
			t.Errorf("%+v", q)
		}
		time.Sleep(forgetEvery)
		d.Leave(a, time.Now().UnixNano())
		if all, idle := remembered(); all != 0 || idle != 0 {
			t.Errorf("%d are remembered, %d idle, when all are full", all, idle)
		}
	})
}

// A request that counts as several takes all of them or none; who asks for more than a
// bucket holds gets it when it is full. What was taken is gone at both doors.
func TestMore(t *testing.T) {
	d := slow(Rate{PerSecond: 1, Burst: 4})
	now := int64(1e18)
	a := d.Enter("ann", "1")
	d.Take(a, Sends, now)
	if wait := d.More("ann", "1", Sends, 2, now); wait != 0 {
		t.Errorf("two more: %v", wait)
	}
	if wait := d.More("ann", "1", Sends, 2, now); wait != time.Second {
		t.Errorf("two where one is left: %v", wait)
	}
	if wait, _ := d.Take(a, Sends, now); wait != 0 {
		t.Errorf("the one that is left: %v", wait)
	}
	if wait, _ := d.Take(a, Sends, now); wait != time.Second {
		t.Errorf("one where none is left: %v", wait)
	}
	if wait := d.More("ann", "2", Sends, 100, now); wait != 0 {
		t.Errorf("more than a bucket holds: %v", wait)
	}
	if q := d.Ask("ann", "2", Sends, now); q.Wait == 0 || q.Left != 0 {
		t.Errorf("behind them: %+v", q)
	}
	d.Ask("ann", "3", Sends, now)
	d.Ask("ann", "3", Sends, now)
	if wait := d.More("ann", "3", Sends, 100, now); wait != time.Second {
		t.Errorf("more than a bucket holds that is not full: %v", wait)
	}
}
