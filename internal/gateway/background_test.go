package gateway

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

func background(on bool) *wire.ClientFrame { return wire.NewClientFrame(&wire.Background{On: on}) }

// Who is in the background is not there to others, and gets everything but news of
// them; back again, both hear how it is.
func TestBackground(t *testing.T) {
	bubble(t, func(t *testing.T) {
		n := &neighbours{}
		w := newWorld(t, withPeers(n))
		ann, bob := w.parked("ann", "1", wire.Protobuf()), w.parked("bob", "1", wire.Protobuf())
		ann.say(wire.NewClientFrame(&wire.WatchPresence{Users: []string{"bob"}}))
		bob.say(wire.NewClientFrame(&wire.WatchPresence{Users: []string{"ann", "cat"}}))
		ann.hears(t, "presence bob true")
		bob.hears(t, "presence ann true", "presence cat false")
		n.take()

		bob.say(background(true), background(true))
		time.Sleep(4 * time.Second)
		ann.hears(t)
		time.Sleep(2 * time.Second)
		ann.hears(t, "presence bob false")
		if got := n.take(); !slices.Equal(got, []string{"went bob"}) {
			t.Errorf("the other gateways hear %q", got)
		}
		if w.g.Online("bob") {
			t.Error("another gateway that asks is told that he is there")
		}
		w.g.ToUsers([]im.UserID{"bob"}, parcel(entry(dm, 1, "hi")))
		w.g.ToUsers([]im.UserID{"bob"}, im.Parcel{Typing: &im.ParcelTyping{Conversation: dm, User: "ann"}})
		w.g.Flush()
		bob.hears(t, "push dm:ann:bob#1=hi", "typing dm:ann:bob ann")
		cat := w.parked("cat", "1", wire.Protobuf())
		time.Sleep(time.Second)
		bob.hears(t)

		bob.say(background(false), background(false))
		bob.hears(t, "presence ann true", "presence cat true")
		ann.hears(t, "presence bob true")
		if got := n.take(); !slices.Equal(got, []string{"here cat", "came cat", "came bob"}) {
			t.Errorf("the other gateways hear %q", got)
		}
		_ = cat.Close("", "")
		time.Sleep(6 * time.Second)
		bob.hears(t, "presence cat false")
	})
}

// One connection that is not in the background is enough, whichever comes or goes;
// there and back within the grace is no news.
func TestBackgroundOfSeveral(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		ann := w.parked("ann", "1", wire.Protobuf())
		hidden := func() *scriptConn {
			h := hello("bob", "tab", phone)
			h.GetHello().Background = true
			c := newScript(wire.Protobuf(), h)
			go w.g.Serve(c)
			c.hears(t, "welcome bob")
			return c
		}
		first := hidden()
		ann.say(wire.NewClientFrame(&wire.WatchPresence{Users: []string{"bob"}}))
		ann.hears(t, "presence bob false")
		second := hidden()
		_ = first.Close("", "")
		time.Sleep(10 * time.Second)
		ann.hears(t)
		third := w.parked("bob", "tab", wire.Protobuf())
		ann.hears(t, "presence bob true")
		second.say(background(false))
		third.say(background(true))
		time.Sleep(10 * time.Second)
		ann.hears(t)
		_ = third.Close("", "")
		time.Sleep(10 * time.Second)
		ann.hears(t)
		second.say(background(true))
		time.Sleep(4 * time.Second)
		second.say(background(false))
		time.Sleep(10 * time.Second)
		ann.say(wire.NewClientFrame(&wire.Ping{}))
		ann.hears(t, "pong")
		second.say(background(true))
		_ = second.Close("", "")
		time.Sleep(6 * time.Second)
		ann.hears(t, "presence bob false")
		// A list that is asked for in the background is told on coming back.
		ann.say(background(true), wire.NewClientFrame(&wire.WatchPresence{Users: []string{"bob", "cat"}}))
		ann.hears(t)
		ann.say(background(false))
		ann.hears(t, "presence bob false", "presence cat false")
	})
}

// What a client wishes for holds within the bounds, is told, and is what its silence
// is judged by.
func TestHeartbeatWish(t *testing.T) {
	for wish, want := range map[uint32]uint32{0: 30_000, 1: 5_000, 5_000: 5_000, 12_346: 12_346, 300_000: 300_000, 1<<32 - 1: 300_000} {
		bubble(t, func(t *testing.T) {
			w := newWorld(t)
			p := w.dial(wire.Protobuf())
			h := hello("ann", "d1", phone)
			h.GetHello().IdleMs = wish
			p.send(h)
			got := p.want("welcome ann").GetWelcome().GetHeartbeat()
			if got.IdleMs != want || got.SilenceMs != want*3/2 || got.DeadMs != want*2 {
				t.Fatalf("%d: %v", wish, got)
			}
			p.quiet()
			began := time.Now()
			p.want("ping")
			if d := time.Since(began).Milliseconds(); d < int64(got.SilenceMs) || d > int64(got.SilenceMs)+6000 {
				t.Errorf("%d: pinged after %d ms", wish, d)
			}
			f := p.read()
			for ; brief(f) == "ping"; f = p.read() {
			}
			if d := time.Since(began).Milliseconds(); brief(f) != "error heartbeat_timeout" || d < int64(got.DeadMs) || d > int64(got.DeadMs)+6000 {
				t.Errorf("%d: %s after %d ms", wish, brief(f), d)
			}
			p.wantClosed()
			synctest.Wait()
		})
	}
}
