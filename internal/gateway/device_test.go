package gateway

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

// Two tabs: connections of one device have ids of their own, both live, each gets
// the acks of its own sends in their places, and what the other one sends as a push.
func TestConnectionsOfADeviceLiveSideBySide(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		yielding(w, func(im.Handshake) time.Time { return time.Now() })
		var ids []im.ConnectionID
		w.logic.send = func(from im.Actor, m im.Message, reply func(im.Ack, error)) {
			ids = append(ids, from.Connection)
			seq := uint64(len(ids))
			reply(im.Ack{Seq: seq, Count: seq}, nil)
			p := parcel(entry(m.Conversation, seq, "hi"))
			p.Entries[0].Sender = from.User
			p.Origin = []im.ConnectionID{from.Connection}
			w.g.ToUsers([]im.UserID{"ann", "bob"}, p)
			w.g.Flush()
		}
		first, second := w.dial(wire.Protobuf()), w.dial(wire.JSON())
		var named []string
		for _, p := range []*peer{first, second} {
			p.send(hello("ann", "browser", phone))
			named = append(named, p.want("welcome ann").GetWelcome().GetConnection())
		}
		bob := w.login("bob", "d1")
		c := string(dm)
		for i, p := range []*peer{first, second, second, first} {
			p.send(text(c, byte(i+1), "x"))
			p.want(fmt.Sprintf("ack %d %s %d", i+1, c, i+1))
			for _, q := range []*peer{first, second, bob} {
				if q != p {
					q.want(fmt.Sprintf("push %s#%d=hi", c, i+1))
				}
			}
		}
		if named[0] == named[1] || named[0] != string(ids[0]) || named[1] != string(ids[1]) {
			t.Errorf("they are told the names %q and have %q", named, ids)
		}
		// A Control of another node, of the same device's connection there.
		w.g.Control(im.Control{User: "ann", Yield: true, By: im.Device{ID: "browser"}, ByConnection: "zzz", At: time.Now().Add(time.Second), Class: im.DevicePhone})
		first.quiet()
		second.quiet()
		// Another phone ends both.
		w.login("ann", "other")
		first.want("kick replaced by other")
		second.want("kick replaced by other")
	})
}

// A refused message holds up the connection that it came by, no other one of the device.
func TestOrderIsTheConnections(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		refuse := true
		var seq uint64
		w.logic.send = func(from im.Actor, m im.Message, reply func(im.Ack, error)) {
			if refuse {
				reply(im.Ack{}, im.Errorf(im.CodeUnavailable, "not now"))
				return
			}
			seq++
			reply(im.Ack{Seq: seq, Count: seq}, nil)
		}
		first, second := w.login("ann", "d1"), w.login("ann", "d1")
		c := string(dm)
		first.send(text(c, 1, "x"))
		first.want("send_error 1 unavailable")
		refuse = false
		second.send(text(c, 2, "x"))
		second.want("ack 2 dm:ann:bob 1")
		first.send(text(c, 3, "x"))
		first.want("send_error 3 out_of_order first 1")
		first.batch(text(c, 1, "x"), text(c, 3, "x"))
		first.want("ack 1 dm:ann:bob 2")
		first.want("ack 3 dm:ann:bob 3")
	})
}

// One more than a device may have ends the one that was silent for longest.
func TestConnectionsOfADeviceAreBounded(t *testing.T) {
	for _, most := range []int{1, 2, 5} {
		t.Run(fmt.Sprint(most), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := newWorld(t, func(o *Options) { o.Limits.DeviceConnections = most })
				other := w.login("ann", "other")
				var all []*peer
				for range most {
					all = append(all, w.login("ann", "d1"))
					time.Sleep(time.Second)
				}
				all[0].quiet() // it says something: now it is silent for the shortest time
				all = append(all[1:], all[0])
				for range 3 {
					time.Sleep(time.Second)
					all = append(all, w.login("ann", "d1"))
					all[0].want("error too_many_connections")
					all[0].wantClosed()
					all = all[1:]
				}
				for _, p := range append(all, other) {
					p.quiet()
				}
				if n := w.g.Stats().Connections; n != most+1 {
					t.Errorf("%d connections", n)
				}
			})
		})
	}
}

// What a device left behind does not keep it out where its user has as many
// connections as they may; a device that has none is refused.
func TestADeviceTakesItsOwnPlace(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, func(o *Options) { o.MaxPerUser = 2 })
		first, second := w.login("ann", "d1"), w.login("ann", "d2")
		p := w.dial(wire.Protobuf())
		p.send(hello("ann", "d3", phone))
		p.want("error too_many_connections")
		p.wantClosed()
		again := w.login("ann", "d1")
		first.want("error too_many_connections")
		first.wantClosed()
		second.quiet()
		again.quiet()
	})
}

// Many that come at once: the bound holds, whoever was first, and no more end than
// have to. Two that made room at the same time once ended one too many.
func TestManyConnectionsOfADeviceAtOnce(t *testing.T) {
	const n, stay, rounds = 40, 3, 10
	for range rounds {
		w := newWorld(t, func(o *Options) { o.Limits.DeviceConnections = stay })
		ended := make(chan struct{}, n)
		for range n {
			p := w.dial(wire.Protobuf())
			go func() {
				p.send(hello("ann", "d1", phone))
				<-p.done
				ended <- struct{}{}
			}()
		}
		deadline := time.After(patience())
		for i := range n - stay {
			select {
			case <-ended:
			case <-deadline:
				t.Fatalf("%d ended, %d are connected", i, w.g.Stats().Connections)
			}
		}
		if here := w.g.Stats().Connections; here != stay {
			t.Fatalf("%d are connected", here)
		}
	}
}

// Who arrives waits for another connection of the same user that is about to: between
// making room and taking it is nothing that a test could stop at, so it holds the turn.
func TestArrivalsTakeTurns(t *testing.T) {
	w := newWorld(t)
	done := w.g.users.Arriving("ann")
	p := w.dial(wire.Protobuf())
	go p.send(hello("ann", "d1", phone))
	for end := time.Now().Add(100 * time.Millisecond); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if len(w.g.users.Of("ann")) > 0 {
			t.Fatal("it has not waited")
		}
	}
	done()
	for end := time.Now().Add(patience()); len(w.g.users.Of("ann")) == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it waits for nobody")
		}
	}
}

// A connection that is half open, nothing is taken and nothing comes, does not
// disturb the device's new one, and is found by its silence.
func TestAHalfOpenConnectionDisturbsNobody(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		old := w.parked("ann", "d1", wire.Protobuf())
		old.take(0)
		began := time.Now()
		p := w.login("ann", "d1")
		for i := range 100 {
			es := parcel(entry(dm, uint64(i+1), "hi"))
			w.g.ToUsers([]im.UserID{"ann"}, es)
			w.g.Flush()
			p.want(fmt.Sprintf("push %s#%d=hi", dm, i+1))
		}
		for time.Since(began) < 2*time.Minute {
			time.Sleep(20 * time.Second)
			p.quiet()
		}
		synctest.Wait()
		if closed, _ := old.isClosed(); !closed || w.g.Stats().Connections != 1 {
			t.Errorf("the old one is closed: %v; %d connections", closed, w.g.Stats().Connections)
		}
	})
}
