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
	return NewDevices(Rates{Sends: r, Marks: one, Reads: one, Calls: one, Signals: one, PerAccount: -1})
}

func TestBucket(t *testing.T) {
	d := slow(Rate{PerSecond: 10, Burst: 3})
	a := d.Enter("ann", "1", "")
	now := int64(1e18)
	for i := range 3 {
		if wait, _ := d.Take(a, Sends, 0, now); wait != 0 {
			t.Fatalf("token %d refused", i)
		}
	}
	if wait, _ := d.Take(a, Sends, 0, now); wait != 100*time.Millisecond {
		t.Fatalf("wait %v", wait)
	}
	if wait, _ := d.Take(a, Sends, 0, now+int64(100*time.Millisecond)); wait != 0 {
		t.Fatal("refused after the wait")
	}
	if wait, _ := d.Take(a, Sends, 0, now+int64(time.Hour)); wait != 0 || a[ofDevice].buckets[Sends].refused != 0 {
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
			a := d.Enter("ann", "1", "")
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
					wait = d.Ask("ann", "1", "", Sends, now).Wait
				} else {
					var flood bool
					if wait, flood = d.Take(a, Sends, 0, now); flood {
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
	a := d.Enter("ann", "1", "")
	now := int64(1e18)
	for range 100_000 {
		d.Ask("ann", "1", "", Sends, now)
	}
	wait, flood := d.Take(a, Sends, 0, now)
	if flood || wait <= 0 || wait > (FloodFactor*5+1)*20*time.Millisecond {
		t.Fatalf("flood %v, wait %v", flood, wait)
	}
	if wait, flood = d.Take(a, Sends, 0, now+int64(wait)); wait != 0 || flood {
		t.Fatalf("after the wait: flood %v, wait %v", flood, wait)
	}
}

// One bucket for both doors, for the device: what is taken at one is gone at the
// other. Sessions without a device share one of their own.
func TestOneBudget(t *testing.T) {
	d := slow(Rate{PerSecond: 1, Burst: 4})
	now := int64(1e18)
	a := d.Enter("ann", "1", "")
	d.Take(a, Sends, 0, now)
	if q := d.Ask("ann", "1", "", Sends, now); q.Wait != 0 || q.Left != 2 || q.Full != 2*time.Second || q.Burst != 4 {
		t.Errorf("%+v", q)
	}
	d.Leave(a, now)
	a = d.Enter("ann", "1", "")
	d.Take(a, Sends, 0, now)
	if q := d.Ask("ann", "1", "", Sends, now); q.Wait != 0 || q.Left != 0 {
		t.Errorf("%+v", q)
	}
	if q := d.Ask("ann", "1", "", Sends, now); q.Wait != time.Second || q.Left != 0 || q.Full != 4*time.Second {
		t.Errorf("%+v", q)
	}
	if wait, _ := d.Take(a, Sends, 0, now); wait != 2*time.Second {
		t.Errorf("the next is told %v: the time of the one before", wait)
	}
	for _, other := range []struct {
		user   im.UserID
		device string
	}{{"ann", "2"}, {"ann", ""}, {"bob", "1"}} {
		if q := d.Ask(other.user, other.device, "", Sends, now); q.Wait != 0 || q.Left != 3 {
			t.Errorf("%v: %+v", other, q)
		}
	}
}

func TestIdleDevicesAreBounded(t *testing.T) {
	const anHour = 1.0 / 3600 // so that none is full, and forgotten, while the test runs
	d := slow(Rate{PerSecond: anHour, Burst: 1000})
	for i := range maxIdle + 100 {
		d.Ask(im.UserID(fmt.Sprint("u", i)), "1", "", Sends, 1e18)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.of) != maxIdle || d.idle.Len() != maxIdle {
		t.Errorf("%d are remembered, %d idle", len(d.of), d.idle.Len())
	}
	if d.of[shareKey{ofDevice, "u0", "1"}] != nil || d.of[shareKey{ofDevice, fmt.Sprint("u", maxIdle), "1"}] == nil {
		t.Error("not the oldest was forgotten")
	}
}

// Nothing is remembered of a device that is as good as new, and nothing is
// forgotten of one that is not.
func TestFullDevicesAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := slow(Rate{PerSecond: 1, Burst: 25})
		a := d.Enter("connected", "1", "")
		d.Ask("once", "1", "", Sends, time.Now().UnixNano())
		for range 15 {
			d.Ask("busy", "1", "", Sends, time.Now().UnixNano())
		}
		remembered := func() (all, idle int) {
			synctest.Wait()
			d.mu.Lock()
			defer d.mu.Unlock()
			return len(d.of), d.idle.Len()
		}
		if all, idle := remembered(); all != 4 || idle != 2 {
			t.Errorf("%d are remembered, %d idle", all, idle)
		}
		time.Sleep(forgetEvery)
		if all, idle := remembered(); all != 3 || idle != 1 {
			t.Errorf("%d are remembered, %d idle, when one is full", all, idle)
		}
		if q := d.Ask("busy", "1", "", Sends, time.Now().UnixNano()); q.Left != 19 {
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
	a := d.Enter("ann", "1", "")
	d.Take(a, Sends, 0, now)
	if wait := d.More("ann", "1", "", Sends, 2, now); wait != 0 {
		t.Errorf("two more: %v", wait)
	}
	if wait := d.More("ann", "1", "", Sends, 2, now); wait != time.Second {
		t.Errorf("two where one is left: %v", wait)
	}
	if wait, _ := d.Take(a, Sends, 0, now); wait != 0 {
		t.Errorf("the one that is left: %v", wait)
	}
	if wait, _ := d.Take(a, Sends, 0, now); wait != time.Second {
		t.Errorf("one where none is left: %v", wait)
	}
	if wait := d.More("ann", "2", "", Sends, 100, now); wait != 0 {
		t.Errorf("more than a bucket holds: %v", wait)
	}
	if q := d.Ask("ann", "2", "", Sends, now); q.Wait == 0 || q.Left != 0 {
		t.Errorf("behind them: %+v", q)
	}
	d.Ask("ann", "3", "", Sends, now)
	d.Ask("ann", "3", "", Sends, now)
	if wait := d.More("ann", "3", "", Sends, 100, now); wait != time.Second {
		t.Errorf("more than a bucket holds that is not full: %v", wait)
	}
}

// The devices of an account have together what a few of them have, however many there are,
// at whichever door and however often they connect; another account is not held up.
func TestAnAccountsDevicesTogether(t *testing.T) {
	one := Rate{PerSecond: 1, Burst: 10}
	d := NewDevices(Rates{Sends: one, Marks: one, Reads: one, Calls: one, Signals: one, PerAccount: 3})
	now := int64(1e18)
	passed := 0
	for i := range 100 {
		device := fmt.Sprint("device", i)
		if i%2 == 0 {
			a := d.Enter("ann", device, "")
			for range 10 {
				if wait, flood := d.Take(a, Sends, 0, now); wait == 0 {
					passed++
				} else if flood {
					t.Fatal("closed")
				}
			}
			d.Leave(a, now)
			continue
		}
		for range 10 {
			if d.Ask("ann", device, "", Sends, now).Wait == 0 {
				passed++
			}
		}
	}
	if passed != 30 {
		t.Errorf("%d of 100 devices passed, want 30", passed)
	}
	if q := d.Ask("bob", "1", "", Sends, now); q.Wait != 0 || q.Left != 9 {
		t.Errorf("another account: %+v", q)
	}
	if q := d.Ask("ann", "1", "", Reads, now); q.Wait != 0 {
		t.Errorf("another class: %+v", q)
	}
	if wait := d.More("ann", "new", "", Sends, 3, now); wait == 0 {
		t.Error("several at once pass")
	}
}

// Each of many devices of an account that waits as it is told gets in, and is not closed.
func TestDevicesOfAnAccountThatWaitAsTold(t *testing.T) {
	d := NewDevices(Rates{Sends: Rate{PerSecond: 50, Burst: 5}, PerAccount: 2})
	now := int64(1e18)
	began := now
	const n = 20
	var of [n]*Allowance
	var due [n]int64
	for i := range of {
		of[i], due[i] = d.Enter("ann", fmt.Sprint(i), ""), now
	}
	passed, again := 0, 0
	var refused [n]bool
	for range 4000 {
		who := 0
		for i := range due {
			if due[i] < due[who] {
				who = i
			}
		}
		now = due[who]
		wait, flood := d.Take(of[who], Sends, 0, now)
		if flood {
			t.Fatal("closed")
		}
		if wait == 0 {
			passed++
		} else if refused[who] {
			again++
		}
		refused[who], due[who] = wait > 0, now+int64(max(wait, time.Millisecond))
	}
	may := 10 + int(time.Duration(now-began)/(10*time.Millisecond))
	if passed > may || passed < may-50 || again > 0 {
		t.Errorf("%d passed where %d may; %d were refused again after they waited as told", passed, may, again)
	}
}

// One device that does not listen is closed, also when it is its account's share that is used
// up; one that listens is not.
func TestAFloodAgainstTheAccount(t *testing.T) {
	d := NewDevices(Rates{Sends: Rate{PerSecond: 1, Burst: 5}, PerAccount: 1})
	now := int64(1e18)
	first, second := d.Enter("ann", "1", ""), d.Enter("ann", "2", "")
	for range 5 {
		d.Take(first, Sends, 0, now)
	}
	for i := range FloodFactor*5 + 1 {
		if _, flood := d.Take(second, Sends, 0, now); flood != (i == FloodFactor*5) {
			t.Fatalf("refusal %d: closed %v", i, flood)
		}
	}
	if _, flood := d.Take(first, Sends, 0, now); flood {
		t.Error("the other device is closed for it")
	}
}

// All accounts at an address, and in its network, have a bound together; loopback has none.
func TestAnAddressTogether(t *testing.T) {
	one := Rate{PerSecond: 1, Burst: 10}
	passes := func(d *Devices, n int, addr func(int) string) (passed int) {
		for i := range n {
			for range 10 {
				if d.Ask(im.UserID(fmt.Sprint("u", i)), "1", addr(i), Sends, 1e18).Wait == 0 {
					passed++
				}
			}
		}
		return passed
	}
	for name, c := range map[string]struct {
		addr func(int) string
		want int
	}{
		"an address":     {func(int) string { return "198.51.100.1" }, 20},
		"a network":      {func(i int) string { return fmt.Sprintf("198.51.100.%d", i) }, 50},
		"an IPv6 /64":    {func(i int) string { return fmt.Sprintf("2001:db8::%d", i) }, 20},
		"an IPv6 /56":    {func(i int) string { return fmt.Sprintf("2001:db8:0:%x::1", i) }, 50},
		"many networks":  {func(i int) string { return fmt.Sprintf("198.51.%d.1", i) }, 200},
		"loopback":       {func(int) string { return "127.0.0.1" }, 200},
		"no address":     {func(int) string { return "" }, 200},
		"with its ports": {func(i int) string { return fmt.Sprintf("198.51.100.1:%d", 1000+i) }, 20},
	} {
		d := NewDevices(Rates{Sends: one, PerAddress: 2, PerNetwork: 5})
		if got := passes(d, 20, c.addr); got != c.want {
			t.Errorf("%s: %d passed, want %d", name, got, c.want)
		}
	}
}

// An account sends so many bytes of messages in a day, by all devices and at both doors,
// all at once if it likes.
func TestBytesPerDay(t *testing.T) {
	d := NewDevices(Rates{BytesPerDay: 24_000})
	now := int64(1e18)
	a := d.Enter("ann", "1", "")
	if wait, _ := d.Take(a, Sends, 20_000, now); wait != 0 {
		t.Fatalf("the first: %v", wait)
	}
	if wait := d.Bytes("ann", "2", "", 4_000, now); wait != 0 {
		t.Fatalf("the second: %v", wait)
	}
	if wait, _ := d.Take(a, Sends, 1_000, now); wait < time.Hour || wait > time.Hour+time.Minute {
		t.Errorf("beyond: %v", wait)
	}
	if wait, _ := d.Take(a, Marks, 1_000, now); wait != 0 {
		t.Errorf("what is no message: %v", wait)
	}
	if wait := d.Bytes("bob", "1", "", 4_000, now); wait != 0 {
		t.Errorf("another account: %v", wait)
	}
	if wait, _ := d.Take(a, Sends, 1_000, now+int64(time.Hour)+int64(time.Minute)); wait != 0 {
		t.Errorf("an hour later: %v", wait)
	}
	free := NewDevices(Rates{BytesPerDay: -1})
	if wait := free.Bytes("ann", "1", "", 1<<40, now); wait != 0 {
		t.Errorf("without a bound: %v", wait)
	}
}

// Each node counts for itself: who spreads over N nodes gets N times as much at most, and
// no more.
func TestEachNodeCountsForItself(t *testing.T) {
	const n = 3
	nodes := make([]*Devices, n)
	for i := range nodes {
		nodes[i] = NewDevices(Rates{Sends: Rate{PerSecond: 1, Burst: 10}, PerAccount: 2})
	}
	passed := 0
	for i := range 600 {
		if nodes[i%n].Ask("ann", fmt.Sprint("device", i%40), "", Sends, 1e18).Wait == 0 {
			passed++
		}
	}
	if passed != n*20 {
		t.Errorf("%d passed at %d nodes, want %d", passed, n, n*20)
	}
}
