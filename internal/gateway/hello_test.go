package gateway

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/limits"
	"github.com/skein-im/skein/wire"
)

const phone = wire.DeviceClass_DEVICE_CLASS_PHONE

func TestHelloWithSync(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		p := w.dial(wire.JSON())
		h := hello("ann", "d1", phone)
		h.GetHello().Sync = &wire.Sync{Number: 3}
		p.send(h)
		wel := p.want("welcome ann").GetWelcome()
		if wel.Version != 1 || wel.Timeline != "tl" || wel.Heartbeat.SilenceMs != 45_000 || wel.Limits.InFlight != 256 || wel.Session != "s-d1" {
			t.Fatalf("welcome %v", wel)
		}
		p.want("delta 3 p1")
		p.quiet()
	})
}

// The Sync of the Hello has its answer too, and the connection stays.
func TestHelloWithRefusedSync(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		w.logic.sync = func(im.SyncQuery) (im.SyncResult, error) {
			return im.SyncResult{}, &im.Error{Code: im.CodeUnavailable, Message: "not now", RetryAfter: 250 * time.Millisecond}
		}
		p := w.dial(wire.Protobuf())
		h := hello("ann", "d1", phone)
		h.GetHello().Sync = &wire.Sync{Number: 3}
		p.send(h)
		p.want("welcome ann")
		if d := p.want("delta 3 error unavailable").GetSyncDelta(); d.Error.RetryAfterMs != 250 || d.Position != "" {
			t.Fatalf("delta %v", d)
		}
		p.send(wire.NewClientFrame(&wire.Ping{}))
		p.want("pong")
	})
}

func TestHelloRefused(t *testing.T) {
	change := func(f func(*wire.Hello)) *wire.ClientFrame {
		h := hello("ann", "d1", phone)
		f(h.GetHello())
		return h
	}
	bad := func(code im.Code) func(*world) {
		return func(w *world) {
			w.logic.authenticate = func(im.Handshake) (im.Actor, error) { return im.Actor{}, im.Errorf(code, "no") }
		}
	}
	for name, c := range map[string]struct {
		hello *wire.ClientFrame
		world func(*world)
		want  string
		stays bool // and the Hello may be said again
	}{
		"not allowed":       {world: bad(im.CodePermissionDenied), want: "permission_denied", stays: true},
		"newer version":     {hello: change(func(h *wire.Hello) { h.VersionMin, h.VersionMax = 2, 3 }), want: "version_unsupported"},
		"no version":        {hello: change(func(h *wire.Hello) { h.VersionMin, h.VersionMax = 0, 0 }), want: "version_unsupported"},
		"versions crossed":  {hello: change(func(h *wire.Hello) { h.VersionMin, h.VersionMax = 1, 0 }), want: "version_unsupported"},
		"no token":          {hello: change(func(h *wire.Hello) { h.Token = "" }), want: "token_invalid"},
		"no device":         {hello: change(func(h *wire.Hello) { h.Device = nil }), want: "invalid_argument", stays: true},
		"device id":         {hello: change(func(h *wire.Hello) { h.Device.Id = "a.b" }), want: "invalid_argument", stays: true},
		"device name":       {hello: change(func(h *wire.Hello) { h.Device.Name = strings.Repeat("é", 101) }), want: "too_large", stays: true},
		"client":            {hello: change(func(h *wire.Hello) { h.Client = strings.Repeat("c", 101) }), want: "too_large", stays: true},
		"client's controls": {hello: change(func(h *wire.Hello) { h.Client = "c\x1b[2J" }), want: "invalid_argument", stays: true},
		"bad token":         {world: bad(im.CodeTokenInvalid), want: "token_invalid"},
		"expired":           {world: bad(im.CodeTokenExpired), want: "token_expired"},
		"revoked":           {world: bad(im.CodeSessionRevoked), want: "session_revoked"},
		"other device":      {world: bad(im.CodeDeviceMismatch), want: "device_mismatch"},
		"nobody's token": {world: func(w *world) {
			w.logic.authenticate = func(im.Handshake) (im.Actor, error) { return im.Actor{Role: im.ServerOwner}, nil }
		}, want: "token_invalid"},
		"groups cannot be read": {world: func(w *world) { w.errGroup = im.Errorf(im.CodeUnavailable, "later") }, want: "not_ready"},
		"the store fails":       {world: func(w *world) { w.errGroup = errors.New("secret detail") }, want: "internal"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := newWorld(t)
				if c.world != nil {
					c.world(w)
				}
				p := w.dial(wire.Protobuf())
				if c.hello == nil {
					c.hello = hello("ann", "d1", phone)
				}
				p.send(c.hello)
				f := p.want("error " + c.want)
				if strings.Contains(f.GetError().Message, "secret") {
					t.Fatal("the cause was told to the client")
				}
				if f.GetError().Frame != "hello" {
					t.Fatalf("it answers %q", f.GetError().Frame)
				}
				if c.stays {
					w.logic.authenticate = nil
					time.Sleep(4 * time.Second) // within the time of the first
					p.send(hello("ann", "d1", phone))
					p.want("welcome ann")
					return
				}
				p.wantClosed()
				if w.g.Online("ann") || w.g.Stats() != (Stats{}) {
					t.Fatalf("something is left: %+v", w.g.Stats())
				}
			})
		})
	}
}

func TestHelloAcceptsWiderVersions(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newWorld(t).dial(wire.Protobuf())
		h := hello("ann", "d1", wire.DeviceClass(77)) // a class of a later version
		h.GetHello().VersionMax = 9
		p.send(h)
		p.want("welcome ann")
	})
}

func TestHelloDeadline(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newWorld(t).dial(wire.Protobuf())
		begin := time.Now()
		p.want("error hello_timeout")
		if d := time.Since(begin); d < 5*time.Second || d > 6*time.Second {
			t.Fatalf("hello_timeout after %v", d)
		}
		p.wantClosed()
	})
}

// A slow Authenticate is not the client's silence.
func TestSlowAuthenticateIsNoTimeout(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		w.logic.authenticate = func(h im.Handshake) (im.Actor, error) {
			time.Sleep(9 * time.Second)
			return actorOf(h), nil
		}
		w.login("ann", "d1").quiet()
	})
}

func TestGarbage(t *testing.T) {
	for name, raw := range map[string][]byte{"garbage": {0xff, 0xff, 0xff}, "truncated": {0x0a, 0x7f, 1}, "utf8": {0x0a, 4, 0x1a, 2, 0xff, 0xfe}} {
		for _, ready := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					w := newWorld(t)
					p := w.dial(wire.Protobuf())
					if ready {
						p.send(hello("ann", "d1", phone))
						p.want("welcome ann")
					}
					p.raw(raw)
					p.want("error invalid_argument")
					if ready {
						p.quiet()
						return
					}
					// The Hello still has its time, and no more.
					for range earlyCalls - 1 {
						p.raw(raw)
						p.want("error invalid_argument")
					}
					begin := time.Now()
					p.raw(raw)
					p.want("error hello_timeout")
					p.wantClosed()
					if d := time.Since(begin); d > time.Second {
						t.Fatalf("closed after %v", d)
					}
				})
			})
		}
	}
}

func TestFrameTooLong(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		early := w.dial(wire.Protobuf())
		early.raw(make([]byte, helloBytes+1))
		early.want("error frame_too_long")
		early.wantClosed()
		p := w.login("ann", "d1")
		p.raw(make([]byte, 256<<10+1))
		p.want("error frame_too_long")
		p.wantClosed()
	})
}

func TestNothingIsDoneAfterTheEnd(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		c := newScript(wire.Protobuf(), hello("ann", "d1", phone), hello("ann", "d1", phone), text("dm:ann:bob", 1, "late"))
		c.take(1) // the peer reads slowly: the connection lives on for a while
		go w.g.Serve(c)
		time.Sleep(time.Minute)
		if w.logic.sentCount() != 0 {
			t.Fatal("a frame was handled after protocol_error")
		}
		if closed, code := c.isClosed(); !closed || code != wire.CodeProtocolError {
			t.Fatalf("closed %v, %s", closed, code)
		}
	})
}

func TestConnectionLimits(t *testing.T) {
	for name, o := range map[string]func(*Options){
		"server": func(o *Options) { o.MaxConnections = 1 }, "address": func(o *Options) { o.MaxPerAddress = 1 },
		"user": func(o *Options) { o.MaxPerUser = 1 },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := newWorld(t, o)
				a := w.login("ann", "d1")
				b := w.dial(wire.Protobuf())
				b.send(hello("ann", "d2", phone))
				b.want("error too_many_connections")
				b.wantClosed()
				a.send(wire.NewClientFrame(&wire.Bye{}))
				a.wantClosed()
				w.login("ann", "d3")
			})
		})
	}
}

func TestAddressKeyCountsAnIPv6NetworkAsOne(t *testing.T) {
	if a, b := addressKey("2001:db8::1"), addressKey("2001:db8::ffff:2"); a != b {
		t.Errorf("%s != %s", a, b)
	}
	if a, b := addressKey("2001:db8::1"), addressKey("2001:db8:0:1::1"); a == b {
		t.Error("two networks are one")
	}
	for _, s := range []string{"192.0.2.1", "::ffff:192.0.2.1", "pipe"} {
		if addressKey(s) != s {
			t.Errorf("%s became %s", s, addressKey(s))
		}
	}
}

// Everybody behind a proxy on this machine comes from loopback.
func TestLoopbackHasNoLimitPerAddress(t *testing.T) {
	for addr, want := range map[string]int{"127.0.0.1": 3, "127.9.9.9": 3, "::1": 3, "::ffff:127.0.0.1": 3, "192.0.2.1": 1, "2001:db8::1": 1} {
		bubble(t, func(t *testing.T) {
			w := newWorld(t, func(o *Options) { o.MaxPerAddress = 1 })
			for i := range 3 {
				c := newScript(wire.Protobuf(), hello(fmt.Sprintf("u%d", i), "d", phone))
				c.info.RemoteAddr = addr
				go w.g.Serve(c)
				synctest.Wait()
			}
			if n := w.g.Stats().Users; n != want {
				t.Errorf("%d of 3 connections from %s, want %d", n, addr, want)
			}
			_ = w.g.Close()
			if n := len(w.g.conns.byAddress); n != 0 {
				t.Errorf("%d addresses are remembered", n)
			}
		})
	}
}

func TestUnknownCodecIsClosed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, func(o *Options) { o.Codecs = o.Codecs[:1] })
		c := newScript(wire.JSON())
		w.g.Serve(c)
		if closed, code := c.isClosed(); !closed || code != wire.CodeCodecUnsupported {
			t.Fatalf("closed %v, %s", closed, code)
		}
	})
}

func revoke(u im.UserID) im.Control { return im.Control{User: u, Code: im.CodeSessionRevoked} }

func TestRevoke(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		a, b, other := w.login("ann", "d1"), w.login("ann", "d2"), w.login("bob", "d1")
		w.g.Control(im.Control{User: "ann", Session: "s-d2", Code: im.CodeSessionRevoked})
		b.want("kick session_revoked")
		b.wantClosed()
		a.quiet()
		w.g.Control(im.Control{User: "ann", Code: im.CodeBanned})
		a.want("kick banned")
		a.wantClosed()
		other.quiet()
	})
}

// A revoked session's socket is closed within a second, even if nobody reads it,
// and nothing more is pushed to it.
func TestRevokeOfASlowReader(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		c := newScript(wire.Protobuf(), hello("ann", "d1", phone))
		go w.g.Serve(c)
		synctest.Wait()
		c.take(0)
		w.g.ToUsers([]im.UserID{"ann"}, parcel(entry("dm:ann:bob", 1, "x")))
		w.g.Flush()
		w.g.Control(revoke("ann"))
		time.Sleep(time.Second)
		if closed, code := c.isClosed(); !closed || code != wire.CodeSessionRevoked {
			t.Fatalf("closed %v, %s", closed, code)
		}
	})
}

// A Control for a user that arrives while a handshake of that user runs must
// end this connection, at whatever point it arrives.
func TestRevokeDuringHandshake(t *testing.T) {
	for name, at := range map[string]func(w *world){
		"in Authenticate": func(w *world) {
			w.logic.authenticate = func(h im.Handshake) (im.Actor, error) {
				a := actorOf(h) // decided: the session is good
				w.g.Control(revoke("ann"))
				return a, nil
			}
		},
		"while groups are read": func(w *world) { w.onGroups = func(u im.UserID) { w.g.Control(revoke(u)) } },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := newWorld(t)
				at(w)
				p := w.dial(wire.Protobuf())
				p.send(hello("ann", "d1", phone))
				p.want("kick session_revoked")
				p.wantClosed()
				synctest.Wait()
				if len(w.g.controls.recent) != 0 || len(w.g.controls.queue) != 0 || len(w.g.controls.marks) != 0 {
					t.Fatalf("Controls are kept: %+v", w.g.controls)
				}
			})
		})
	}
}

// The same with real concurrency: whatever the interleaving, after a revoke
// that follows the decision no session of the user lives.
func TestRevokeRacesWithHandshake(t *testing.T) {
	w := newWorld(t)
	for range 200 {
		decided := make(chan struct{})
		w.logic.mu.Lock()
		w.logic.authenticate = func(h im.Handshake) (im.Actor, error) {
			a := actorOf(h)
			close(decided)
			return a, nil
		}
		w.logic.mu.Unlock()
		p := w.dial(wire.Protobuf())
		p.send(hello("ann", "d1", phone))
		<-decided
		w.g.Control(revoke("ann"))
		for {
			f, err := p.next()
			if errors.Is(err, os.ErrDeadlineExceeded) {
				t.Fatal("a revoked session lives")
			}
			if err != nil {
				break
			}
			if b := brief(f); b != "welcome ann" && b != "kick session_revoked" {
				t.Fatalf("got %s", b)
			}
		}
		p.ended()
	}
}

// Kick is the last thing a session hears, though answers and pushes go on coming.
func TestNothingFollowsTheKick(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		var reply func(im.Ack, error)
		w.logic.send = func(_ im.Actor, _ im.Message, r func(im.Ack, error)) { reply = r }
		c := w.parked("ann", "d1", wire.Protobuf())
		c.say(text("dm:ann:bob", 1, "x"))
		synctest.Wait()
		c.take(0)
		w.g.Control(revoke("ann"))
		reply(im.Ack{Seq: 1}, nil)
		w.g.ToUsers([]im.UserID{"ann"}, parcel(entry("dm:ann:bob", 2, "secret")))
		w.g.Flush()
		c.take(-1)
		c.hears(t, "kick session_revoked")
	})
}

// yielding makes Authenticate behave as with the default device policy.
func yielding(w *world, at func(h im.Handshake) time.Time) {
	w.logic.authenticate = func(h im.Handshake) (im.Actor, error) {
		w.g.Control(im.Control{User: im.UserID(h.Token), Yield: true, By: h.Device, ByConnection: h.Connection, At: at(h), Class: h.Device.Class})
		return actorOf(h), nil
	}
}

func TestYield(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		yielding(w, func(im.Handshake) time.Time { return time.Now() })
		first := w.login("ann", "d1")
		web := w.dial(wire.Protobuf())
		web.send(hello("ann", "w1", wire.DeviceClass_DEVICE_CLASS_WEB))
		web.want("welcome ann")
		time.Sleep(time.Second)
		second := w.login("ann", "d2")
		k := first.want("kick replaced by d2").GetKick()
		if k.By.Name != "d2's name" || k.AtMs != time.Now().UnixMilli() {
			t.Fatalf("kick %v", k)
		}
		first.wantClosed()
		time.Sleep(time.Second)
		again := w.login("ann", "d2") // the same device: beside the other one
		second.quiet()
		web.quiet() // another class stays
		again.quiet()
	})
}

// Of two logins that race, the later stays, in whatever order their Controls
// and registrations come; exactly one stays.
func TestTwoLoginsRace(t *testing.T) {
	for _, equal := range []bool{false, true} {
		w := newWorld(t)
		var mu sync.Mutex
		start := time.Now()
		for range 100 {
			yielding(w, func(im.Handshake) time.Time {
				mu.Lock()
				defer mu.Unlock()
				if !equal {
					start = start.Add(time.Microsecond)
				}
				return start
			})
			peers := []*peer{w.dial(wire.Protobuf()), w.dial(wire.Protobuf())}
			for i, p := range peers {
				go p.send(hello("ann", string(rune('a'+i)), phone))
			}
			lost, welcome := make(chan int, 2), [2]chan struct{}{make(chan struct{}), make(chan struct{})}
			for i, p := range peers {
				go func() {
					for {
						f, err := p.next()
						if err != nil {
							return
						}
						switch b := brief(f); {
						case strings.HasPrefix(b, "kick replaced"):
							lost <- i
						case b == "welcome ann":
							close(welcome[i])
						}
					}
				}()
			}
			loser := -1
			select {
			case loser = <-lost:
			case <-time.After(patience()):
				t.Fatal("both stay")
			}
			peers[loser].ended()
			select {
			case <-peers[1-loser].done:
				t.Fatal("both are gone")
			case <-welcome[1-loser]:
			case <-time.After(patience()):
				t.Fatal("nobody is welcomed")
			}
			if !w.g.Online("ann") {
				t.Fatal("nobody is left")
			}
			_ = peers[1-loser].nc.Close()
			peers[1-loser].ended()
		}
		_ = w.g.Close()
	}
}

// An old Yield that comes late does not end a newer session.
func TestLateYield(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		yielding(w, func(im.Handshake) time.Time { return time.Now() })
		p := w.login("ann", "d1")
		w.g.Control(im.Control{User: "ann", Yield: true, By: im.Device{ID: "old"}, ByConnection: "zzz", At: time.Now().Add(-time.Second), Class: im.DevicePhone})
		p.quiet()
	})
}

func TestTokenExpires(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		begin := time.Now()
		w.logic.authenticate = func(h im.Handshake) (im.Actor, error) {
			a := actorOf(h)
			a.ExpiresMs = begin.Add(20 * time.Second).UnixMilli()
			return a, nil
		}
		p := w.login("ann", "d1")
		p.want("kick token_expired")
		if d := time.Since(begin); d < 20*time.Second || d > 21*time.Second {
			t.Fatalf("expired after %v", d)
		}
		p.wantClosed()
	})
}

// What cannot be read counts, so that a flood of it ends as others do.
func TestGarbageIsNoWayToFlood(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		c := newScript(wire.JSON(), hello("ann", "d1", phone))
		go w.g.Serve(c)
		synctest.Wait()
		for range 100 + limits.FloodFactor*100 + 1 {
			c.sayRaw([]byte("{"))
		}
		synctest.Wait()
		if closed, code := c.isClosed(); !closed || code != wire.CodeFlood {
			t.Fatalf("closed %v, %s", closed, code)
		}
	})
}

// Garbage does not put the deadline of the Hello off.
func TestGarbageIsNoHello(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := newWorld(t).dial(wire.JSON())
		begin := time.Now()
		time.Sleep(4 * time.Second)
		p.raw([]byte("{"))
		p.want("error invalid_argument")
		p.want("error hello_timeout")
		p.wantClosed()
		if d := time.Since(begin); d > 6*time.Second {
			t.Fatalf("hello_timeout after %v", d)
		}
	})
}
