package gateway

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

// One call at a time, each refusal waited for as told: that was closed after half
// a minute, because refusals were counted until the bucket was full.
func TestWhoWaitsAsToldIsNotClosed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, func(o *Options) { o.Rates.Sends = Rate{PerSecond: 50, Burst: 2} })
		p, c := w.login("ann", "1"), string(dm)
		refused := 0
		for i := range 2000 {
			p.send(text(c, byte(i%250), "x"))
			f := p.read()
			if e := f.GetSendError(); e != nil {
				refused++
				time.Sleep(time.Duration(e.Error.RetryAfterMs) * time.Millisecond)
				p.send(text(c, byte(i%250), "x"))
				f = p.read()
			}
			if f.GetSendAck() == nil {
				t.Fatalf("send %d, %d refusals waited for: %s", i, refused, brief(f))
			}
		}
		if refused < floodFactor*2 {
			t.Fatalf("%d were refused", refused)
		}
	})
}

// Many at once, each waiting as told: each is told a time of its own.
func TestManyWhoWaitAsTold(t *testing.T) {
	r := &newRates(Rates{Sends: Rate{50, 5}, Marks: Rate{1, 1}, Reads: Rate{1, 1}, Calls: Rate{1, 1}, Signals: Rate{1, 1}}).rules[classSend]
	var b bucket
	now := int64(1e18)
	due := make([]int64, 40) // when each of forty comes again
	for i := range due {
		due[i] = now
	}
	for range 4000 {
		first := 0
		for i := range due {
			if due[i] < due[first] {
				first = i
			}
		}
		now = due[first]
		wait, flood := b.take(r, now)
		if flood {
			t.Fatal("closed")
		}
		due[first] = now + int64(max(wait, time.Millisecond))
	}
}

// A device that connects anew, or twice, has what is left; another device, and
// one that waited, has all. Nothing is remembered of who is gone for long.
func TestRatesBelongToTheDevice(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, func(o *Options) { o.Rates.Sends = Rate{PerSecond: 1, Burst: 2} })
		c := string(dm)
		p := w.login("ann", "1")
		p.batch(text(c, 1, "x"), text(c, 2, "x"))
		p.hearsAll("ack 1 dm:ann:bob 1", "ack 2 dm:ann:bob 2")
		p.send(wire.NewClientFrame(&wire.Bye{}))
		p.wantClosed()
		p = w.login("ann", "1")
		p.batch(text(c, 3, "x"))
		p.hearsAll("send_error 3 rate_limited")
		other := w.login("ann", "2")
		other.batch(text(c, 4, "x"))
		other.hearsAll("ack 4 dm:ann:bob 3")
		p.send(wire.NewClientFrame(&wire.Bye{}))
		p.wantClosed()
		time.Sleep(3 * time.Second)
		synctest.Wait()
		w.g.rates.mu.Lock()
		if n, idle := len(w.g.rates.of), w.g.rates.idle; n != 1 || idle != 0 {
			t.Errorf("%d are remembered, %d idle", n, idle)
		}
		w.g.rates.mu.Unlock()
		p = w.login("ann", "1")
		p.batch(text(c, 5, "x"), text(c, 6, "x"))
		p.hearsAll("ack 5 dm:ann:bob 4", "ack 6 dm:ann:bob 5")
	})
}

func TestIdleRatesAreBounded(t *testing.T) {
	const anHour = 1.0 / 3600 // so that none is full, and forgotten, while the test runs
	r := newRates(Rates{Sends: Rate{anHour, 1000}, Marks: Rate{1, 1}, Reads: Rate{1, 1}, Calls: Rate{1, 1}, Signals: Rate{1, 1}})
	for i := range maxIdleRates + 100 {
		a := r.enter(im.UserID(fmt.Sprint("u", i)), "1")
		r.take(a, classSend, 1e18)
		r.leave(a, 1e18)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.of) != maxIdleRates || r.idle != maxIdleRates {
		t.Errorf("%d are remembered, %d idle", len(r.of), r.idle)
	}
}

func TestWelcomeTellsTheRates(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, func(o *Options) { o.Rates.Signals = Rate{PerSecond: 0.5, Burst: 3} })
		p := w.dial(wire.Protobuf())
		p.send(hello("ann", "1", wire.DeviceClass_DEVICE_CLASS_PHONE))
		l := p.read().GetWelcome().GetLimits()
		if l.GetSends().GetBurst() != 1000 || l.GetSends().GetPerSecond() != 200 || l.GetSignals().GetPerSecond() != 0.5 || l.GetSignals().GetBurst() != 3 || l.GetCalls().GetBurst() == 0 {
			t.Fatal(l)
		}
	})
}
