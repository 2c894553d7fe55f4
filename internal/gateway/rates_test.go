package gateway

import (
	"testing"
	"time"

	"github.com/skein-im/skein/internal/limits"
	"github.com/skein-im/skein/wire"
)

// One call at a time, each refusal waited for as told: that was closed after half
// a minute, because refusals were counted until the bucket was full.
func TestWhoWaitsAsToldIsNotClosed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, func(o *Options) {
			o.Devices = limits.NewDevices(limits.Rates{Sends: limits.Rate{PerSecond: 50, Burst: 2}})
		})
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
		if refused < limits.FloodFactor*2 {
			t.Fatalf("%d were refused", refused)
		}
	})
}

// A device that connects anew, or twice, has what is left; another device, and
// one that waited, has all.
func TestRatesBelongToTheDevice(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, func(o *Options) {
			o.Devices = limits.NewDevices(limits.Rates{Sends: limits.Rate{PerSecond: 1, Burst: 2}})
		})
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
		p = w.login("ann", "1")
		p.batch(text(c, 5, "x"), text(c, 6, "x"))
		p.hearsAll("ack 5 dm:ann:bob 4", "ack 6 dm:ann:bob 5")
	})
}

// A Call counts as what its method does: a message is a message.
func TestCallsCountAsWhatTheyDo(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, func(o *Options) {
			o.Devices = limits.NewDevices(limits.Rates{Sends: limits.Rate{PerSecond: 1, Burst: 2}})
			o.ClassOf = func(method string) limits.Class {
				if method == "send" {
					return limits.Sends
				}
				return limits.Calls
			}
		})
		p, c := w.login("ann", "1"), string(dm)
		call := func(n uint32, method string) *wire.ClientFrame {
			return wire.NewClientFrame(&wire.Call{Number: n, Method: method, Request: &wire.Call_Body{}})
		}
		p.send(text(c, 1, "x"))
		p.hearsAll("ack 1 dm:ann:bob 1")
		p.send(call(1, "send"))
		if r := p.read().GetResult(); r.GetNumber() != 1 || r.GetError() != nil {
			t.Fatal(r)
		}
		p.send(call(2, "send"))
		p.hearsAll("result 2 error rate_limited")
		p.send(text(c, 2, "x"))
		p.hearsAll("send_error 2 rate_limited")
		p.send(call(3, "other"))
		if r := p.read().GetResult(); r.GetNumber() != 3 || r.GetError() != nil {
			t.Fatal(r)
		}
	})
}

func TestWelcomeTellsTheRates(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, func(o *Options) {
			o.Devices = limits.NewDevices(limits.Rates{Signals: limits.Rate{PerSecond: 0.5, Burst: 3}})
		})
		p := w.dial(wire.Protobuf())
		p.send(hello("ann", "1", wire.DeviceClass_DEVICE_CLASS_PHONE))
		l := p.read().GetWelcome().GetLimits()
		if l.GetSends().GetBurst() != 1000 || l.GetSends().GetPerSecond() != 200 || l.GetSignals().GetPerSecond() != 0.5 || l.GetSignals().GetBurst() != 3 || l.GetCalls().GetBurst() == 0 {
			t.Fatal(l)
		}
	})
}
