package gateway

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/limits"
	"github.com/skein-im/skein/wire"
)

// A reader that takes nothing costs the others nothing, gets one Resync when it
// takes again, and is pushed to from then on.
func TestSlowReaderLagsThenResyncs(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, func(o *Options) { o.Limits.QueueBytes = 10_000 })
		slow, fast := w.parked("ann", "1", wire.Protobuf()), w.parked("bob", "1", wire.Protobuf())
		slow.take(0)
		both := []im.UserID{"ann", "bob"}
		for seq := uint64(1); seq <= 200; seq++ {
			w.g.ToUsers(both, parcel(entry(dm, seq, strings.Repeat("x", 500))))
			w.g.Flush()
		}
		synctest.Wait()
		if n := len(fast.heard()); n != 200 {
			t.Fatalf("the fast reader heard %d pushes", n)
		}
		slow.take(-1)
		synctest.Wait()
		got := slow.heard()
		if n := len(got); n < 10 || n > 21 || got[n-1] != "resync" || slices.Index(got, "resync") != n-1 {
			t.Fatalf("the slow reader heard %d frames, the last %q", n, got[n-1])
		}
		w.g.ToUsers(both, parcel(entry(dm, 201, "after")))
		w.g.Flush()
		slow.hears(t, "push dm:ann:bob#201=after")
		if w.g.metrics.out.SlowConsumers.Load() != 1 || w.g.metrics.out.Resyncs.Load() != 1 {
			t.Fatal("not counted")
		}
	})
}

func TestReaderThatTakesNothingIsClosed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		c := w.parked("ann", "1", wire.Protobuf())
		c.take(0)
		begin := time.Now()
		w.g.ToUsers([]im.UserID{"ann"}, parcel(entry(dm, 1, "x")))
		w.g.Flush()
		time.Sleep(29 * time.Second)
		if closed, _ := c.isClosed(); closed {
			t.Fatal("closed too early")
		}
		time.Sleep(2 * time.Second)
		if closed, code := c.isClosed(); !closed || code != wire.CodeSlowConsumer {
			t.Fatalf("closed %v, %s after %v", closed, code, time.Since(begin))
		}
		synctest.Wait()
		if w.g.metrics.disconnects["slow_consumer"] != 1 {
			t.Fatalf("disconnects %v", w.g.metrics.disconnects)
		}
	})
}

// Answers are never dropped: when they pile up, the server stops reading.
func TestAnswersPileUp(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, func(o *Options) { o.Limits.QueueBytes = 4000 })
		pulls := 0
		w.logic.pull = func(im.PullQuery) (im.PullResult, error) {
			pulls++
			return im.PullResult{Stretch: im.Stretch{First: 1, Last: 1, Entries: []im.Entry{entry(dm, 1, strings.Repeat("x", 1000))}}}, nil
		}
		c := w.parked("ann", "1", wire.Protobuf())
		c.take(0)
		for n := range uint32(100) {
			c.say(wire.NewClientFrame(&wire.Pull{Number: n, Conversation: string(dm)}))
		}
		synctest.Wait()
		if pulls > 5 {
			t.Fatalf("%d pulls were read while nothing was taken", pulls)
		}
		c.take(-1)
		synctest.Wait()
		if got := c.heard(); len(got) != 100 || got[99] != "range 99 dm:ann:bob 0 " {
			t.Fatalf("heard %d answers", len(got))
		}
	})
}

// A client with too many unanswered sends is not read from (SPEC §5.4), and
// silence meanwhile is not its fault.
func TestInFlightLimit(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, func(o *Options) { o.Limits.InFlight = 4 })
		var replies []func(im.Ack, error)
		w.logic.send = func(_ im.Actor, _ im.Message, r func(im.Ack, error)) { replies = append(replies, r) }
		c := w.parked("ann", "1", wire.Protobuf())
		for i := range byte(10) {
			c.say(text(string(dm), i, "x"))
		}
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		if len(replies) != 4 {
			t.Fatalf("%d sends were read", len(replies))
		}
		c.hears(t) // no ping, no timeout
		for i := 0; i < 10; i++ {
			replies[i](im.Ack{Seq: uint64(i + 1)}, nil)
			w.g.Flush()
			synctest.Wait()
		}
		if got := c.heard(); len(got) != 10 || got[9] != "ack 9 dm:ann:bob 10" {
			t.Fatalf("heard %v", got)
		}
	})
}

// A reply after the connection is gone is dropped quietly.
func TestReplyAfterTheEnd(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		var reply func(im.Ack, error)
		w.logic.send = func(_ im.Actor, _ im.Message, r func(im.Ack, error)) { reply = r }
		c := w.parked("ann", "1", wire.Protobuf())
		c.say(text(string(dm), 1, "x"))
		synctest.Wait()
		_ = c.Close("", "")
		synctest.Wait()
		if st := w.g.Stats(); st.Connections != 0 {
			t.Fatalf("%+v", st)
		}
		reply(im.Ack{Seq: 1}, nil)
		w.g.Flush()
	})
}

func TestByeFlushesWhatIsQueued(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		c := w.parked("ann", "1", wire.Protobuf())
		w.g.ToUsers([]im.UserID{"ann"}, parcel(entry(dm, 1, "x")))
		c.say(wire.NewClientFrame(&wire.Received{Conversation: string(dm), Seq: 1}), wire.NewClientFrame(&wire.Bye{}))
		c.hears(t, "push dm:ann:bob#1=x")
		if closed, _ := c.isClosed(); !closed {
			t.Fatal("not closed")
		}
		if m := w.logic.markList(); len(m) != 1 || m[0].Received != 1 {
			t.Fatalf("marks %v", m)
		}
	})
}

func TestFlood(t *testing.T) {
	one := func(o *Options) {
		r := limits.Rate{PerSecond: 1, Burst: 2}
		o.Devices = limits.NewDevices(limits.Rates{Sends: r, Marks: r, Reads: r, Calls: r, Signals: r})
	}
	for name, c := range map[string]struct {
		frame   *wire.ClientFrame
		ok, not string
	}{
		"send":   {text(string(dm), 1, "x"), "ack", "send_error 1 rate_limited"},
		"pull":   {wire.NewClientFrame(&wire.Pull{Number: 7, Conversation: string(dm)}), "range 7 dm:ann:bob 7 ", "range 7 dm:ann:bob 0 rate_limited"},
		"pulls":  {wire.NewClientFrame(&wire.Pulls{Pulls: []*wire.Pull{{Number: 7, Conversation: string(dm)}}}), "range 7 dm:ann:bob 7 ", "range 7 dm:ann:bob 0 rate_limited"},
		"sync":   {wire.NewClientFrame(&wire.Sync{Number: 7}), "delta 7 p1", "delta 7 error rate_limited"},
		"call":   {wire.NewClientFrame(&wire.Call{Number: 7, Request: &wire.Call_Body{}}), "result", "result 7 error rate_limited"},
		"ping":   {wire.NewClientFrame(&wire.Ping{}), "pong", "error rate_limited"},
		"mark":   {wire.NewClientFrame(&wire.Read{Conversation: string(dm), Seq: 1}), "", "error rate_limited"},
		"typing": {wire.NewClientFrame(&wire.Typing{Conversation: string(dm)}), "", "error rate_limited"},
		"signal": {wire.NewClientFrame(&wire.Signal{Conversation: string(dm), Type: "t"}), "", "error rate_limited"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := newWorld(t, one)
				p := w.parked("ann", "1", wire.Protobuf())
				p.say(c.frame, c.frame, c.frame)
				synctest.Wait()
				limited := func() (n int) {
					for _, h := range p.heard() {
						if h == c.not {
							n++
						} else if c.ok == "" || !strings.HasPrefix(h, c.ok) {
							t.Errorf("heard %q", h)
						}
					}
					return n
				}
				if n := limited(); n != 1 {
					t.Fatalf("%d of 3 were limited", n)
				}
				time.Sleep(1100 * time.Millisecond) // a token has come
				p.say(c.frame)
				synctest.Wait()
				if n := limited(); n != 0 {
					t.Fatal("limited in spite of waiting")
				}
				for range limits.FloodFactor*2 + 5 {
					p.say(c.frame)
				}
				synctest.Wait()
				if closed, code := p.isClosed(); !closed || code != wire.CodeFlood {
					t.Fatalf("a flood: closed %v, %s", closed, code)
				}
			})
		})
	}
}

func TestRateLimitTellsHowLongToWait(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, func(o *Options) {
			o.Devices = limits.NewDevices(limits.Rates{Sends: limits.Rate{PerSecond: 4, Burst: 1}})
		})
		p := w.login("ann", "1")
		p.batch(text(string(dm), 1, "x"), text(string(dm), 2, "x"))
		p.want("ack 1 dm:ann:bob 1")
		if ms := p.want("send_error 2 rate_limited").GetSendError().Error.RetryAfterMs; ms != 250 {
			t.Fatalf("retry_after %d ms", ms)
		}
	})
}

func TestHeartbeat(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		c := w.parked("ann", "1", wire.Protobuf())
		begin := time.Now()
		time.Sleep(44 * time.Second)
		c.hears(t)
		time.Sleep(2 * time.Second)
		c.hears(t, "ping")
		c.say(wire.NewClientFrame(&wire.Pong{})) // life
		time.Sleep(44 * time.Second)
		c.hears(t)
		time.Sleep(12 * time.Second)
		c.hears(t, "ping", "ping", "ping")
		time.Sleep(5 * time.Second)
		if closed, code := c.isClosed(); !closed || code != wire.CodeHeartbeatTimeout {
			t.Fatalf("closed %v, %s after %v", closed, code, time.Since(begin))
		}
		c.hears(t, "error heartbeat_timeout")
	})
}

func TestClientPings(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		same, err := true, error(nil)
		w.logic.compare = func(p string, d uint64) (bool, string, error) {
			if p != "p1" || d != 9 {
				t.Errorf("compare %s %d", p, d)
			}
			return same, "p2", err
		}
		p := w.login("ann", "1")
		d := uint64(9)
		ping := wire.NewClientFrame(&wire.Ping{Position: "p1", Digest: &d})
		p.send(ping)
		p.want("pong p2")
		same = false
		p.send(ping)
		p.want("pong resync")
		err = im.Errorf(im.CodeUnavailable, "later")
		p.send(ping)
		p.want("pong")
		p.send(wire.NewClientFrame(&wire.Ping{}))
		if at := p.want("pong").GetPong().ServerTimeMs; at != time.Now().UnixMilli() {
			t.Fatalf("server time %d", at)
		}
	})
}

// Bytes of an unfinished message are life, too (SPEC §9.2).
func TestSlowUploadIsLife(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		p := w.login("ann", "1")
		frame, _ := p.codec.Append(nil, text(string(dm), 1, "slow but sure"))
		for _, b := range p.conn.AppendMessage(nil, frame) {
			time.Sleep(20 * time.Second)
			if _, err := p.nc.Write([]byte{b}); err != nil {
				t.Fatal(err)
			}
		}
		p.want("ack 1 dm:ann:bob 1")
	})
}

func TestPresence(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		w.logic.signal = func(_ im.Actor, s im.Signal) ([]im.UserID, error) {
			return slices.DeleteFunc(slices.Clone(s.Watch), func(u im.UserID) bool { return u == "foe" }), nil
		}
		a := w.parked("ann", "1", wire.Protobuf())
		w.parked("foe", "1", wire.Protobuf())
		b := w.parked("bob", "1", wire.Protobuf())
		watch := func(us ...string) { a.say(wire.NewClientFrame(&wire.WatchPresence{Users: us})) }
		watch("bob", "cat", "foe")
		a.hears(t, "presence bob true", "presence cat false", "presence foe false")
		b2 := w.parked("bob", "2", wire.Protobuf())
		_ = b.Close("", "")
		time.Sleep(20 * time.Second)
		a.hears(t)
		_ = b2.Close("", "")
		time.Sleep(4 * time.Second)
		b3 := w.parked("bob", "3", wire.Protobuf()) // back within the grace
		time.Sleep(10 * time.Second)
		a.hears(t)
		_ = b3.Close("", "")
		a.say(wire.NewClientFrame(&wire.Pong{}))
		time.Sleep(4 * time.Second)
		a.hears(t)
		time.Sleep(2 * time.Second)
		a.hears(t, "presence bob false")
		b4 := w.parked("bob", "4", wire.Protobuf())
		a.hears(t, "presence bob true")
		// No longer a contact: no longer watched, as if they had gone.
		w.logic.signal = func(im.Actor, im.Signal) ([]im.UserID, error) { return nil, nil }
		gone := rosterEntry("me:ann", 1, im.EventContactRemoved, "bob")
		w.g.ToUsers([]im.UserID{"ann"}, parcel(gone))
		w.g.Flush()
		a.hears(t, "push me:ann#1=contact_removed", "presence bob false")
		_ = b4.Close("", "")
		time.Sleep(10 * time.Second)
		a.hears(t)
		watch()
		synctest.Wait()
		if n := watched(w); n != 0 {
			t.Fatalf("%d users are watched by nobody", n)
		}
	})
}

// Blocking makes no entry in the feed of who is blocked: a Control ends what
// their connections watch, and nothing else.
func TestUnwatch(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		a, other := w.parked("ann", "1", wire.Protobuf()), w.parked("cat", "1", wire.Protobuf())
		b := w.parked("bob", "1", wire.Protobuf())
		for _, c := range []*scriptConn{a, other} {
			c.say(wire.NewClientFrame(&wire.WatchPresence{Users: []string{"bob", "dan"}}))
			c.hears(t, "presence bob true", "presence dan false")
		}
		w.logic.signal = func(im.Actor, im.Signal) ([]im.UserID, error) { return nil, nil }
		w.g.Control(im.Control{User: "ann", Unwatch: "bob"})
		a.hears(t, "presence bob false")
		_ = b.Close("", "")
		time.Sleep(10 * time.Second)
		a.hears(t)
		other.hears(t, "presence bob false")
		w.parked("bob", "2", wire.Protobuf())
		w.parked("dan", "1", wire.Protobuf())
		a.hears(t, "presence dan true") // still connected, still watching the others
		other.hears(t, "presence bob true", "presence dan true")
	})
}

// What Logic read before a contact ended must not begin a watch after: neither
// what the feed tells nor a Control may slip in between.
func TestUnwatchWhileAsking(t *testing.T) {
	for name, end := range map[string]func(*Gateway){
		"control": func(g *Gateway) { g.Control(im.Control{User: "ann", Unwatch: "bob"}) },
		"feed": func(g *Gateway) {
			g.ToUsers([]im.UserID{"ann"}, parcel(rosterEntry("me:ann", 1, im.EventContactRemoved, "bob")))
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := newWorld(t)
				w.parked("bob", "1", wire.Protobuf())
				a := w.parked("ann", "1", wire.Protobuf())
				refused := false
				w.logic.signal = func(_ im.Actor, s im.Signal) ([]im.UserID, error) {
					if len(s.Watch) == 1 { // bob, after the end
						return nil, nil
					}
					end(w.g)
					if refused {
						return nil, im.Errorf(im.CodeUnavailable, "not now")
					}
					return s.Watch, nil
				}
				watch := wire.NewClientFrame(&wire.WatchPresence{Users: []string{"dan", "bob"}})
				a.say(watch)
				synctest.Wait()
				if got := a.heard(); !slices.Contains(got, "presence dan false") || slices.Contains(got, "presence bob true") {
					t.Fatalf("heard %q", got)
				}
				if n := watched(w); n != 1 {
					t.Errorf("%d users are watched, want dan", n)
				}
				refused = true // then the earlier list stands
				a.say(watch)
				synctest.Wait()
				if n := watched(w); n != 1 {
					t.Errorf("%d users are watched after a refusal, want dan", n)
				}
				if n := askedNow(w); n != 0 {
					t.Errorf("%d sessions ask for ever", n)
				}
			})
		})
	}
}

func TestDrain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		var reply func(im.Ack, error)
		w.logic.send = func(_ im.Actor, _ im.Message, r func(im.Ack, error)) { reply = r }
		var all []*scriptConn
		for i := range 10 {
			all = append(all, w.parked(fmt.Sprintf("u%d", i), "1", wire.Protobuf()))
		}
		pending := newScript(wire.Protobuf()) // no Hello yet
		go w.g.Serve(pending)
		all[0].say(text("dm:u0:u1", 1, "x"))
		synctest.Wait()
		begin := time.Now()
		done := make(chan error, 1)
		go func() { done <- w.g.Drain(context.Background(), 2*time.Second) }()
		time.Sleep(1100 * time.Millisecond)
		told, goOn := map[*scriptConn]bool{}, 0
		for _, c := range all {
			if slices.Equal(c.heard(), []string{"go_away"}) {
				told[c] = true
				// Everything goes on for as long as the GoAway says.
				if is, _ := c.isClosed(); !is && c != all[0] {
					c.say(wire.NewClientFrame(&wire.Pull{Number: 1, Conversation: "dm:u0:u1"}))
					c.hears(t, "range 1 dm:u0:u1 7 ")
					goOn++
				}
			}
		}
		if len(told) < 3 || len(told) > 8 {
			t.Fatalf("%d of 10 were told at half time", len(told))
		}
		if goOn < 3 {
			t.Fatalf("%d go on for a second", goOn)
		}
		late := newScript(wire.Protobuf(), hello("late", "1", phone))
		w.g.Serve(late)
		if got := late.heard(); !slices.Equal(got, []string{"error going_away"}) {
			t.Fatalf("a late one heard %v", got)
		}
		time.Sleep(2500 * time.Millisecond)
		for _, c := range all {
			if !told[c] {
				c.hears(t, "go_away")
			}
			if is, code := c.isClosed(); c != all[0] && (!is || code != wire.CodeGoingAway) {
				t.Fatalf("closed %v, %s", is, code)
			}
		}
		pending.hears(t, "error going_away")
		// A send in flight is answered before the connection closes.
		reply(im.Ack{Seq: 4}, nil)
		w.g.Flush()
		all[0].hears(t, "ack 1 dm:u0:u1 4")
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if d := time.Since(begin); d > 4*time.Second {
			t.Fatalf("took %v", d)
		}
	})
}

func TestDrainEndsWithItsContext(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		w.logic.send = func(im.Actor, im.Message, func(im.Ack, error)) {} // never answered
		c := w.parked("ann", "1", wire.Protobuf())
		c.say(text(string(dm), 1, "x"))
		synctest.Wait()
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if err := w.g.Drain(ctx, 0); err == nil {
			t.Fatal("Drain did not tell that a connection is left")
		}
		_ = w.g.Close()
		if st := w.g.Stats(); st != (Stats{}) {
			t.Fatalf("%+v", st)
		}
	})
}

func TestCloseEndsEverything(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		a, b := w.login("ann", "1"), w.dial(wire.Protobuf())
		synctest.Wait()
		_ = w.g.Close()
		a.wantClosed()
		b.wantClosed()
		c := newScript(wire.Protobuf())
		w.g.Serve(c)
		if closed, code := c.isClosed(); !closed || code != wire.CodeGoingAway {
			t.Fatalf("closed %v, %s", closed, code)
		}
		w.g.ToUsers([]im.UserID{"ann"}, parcel(entry(dm, 1, "x")))
		w.g.Flush()
	})
}

func TestPanicEndsTheSessionOnly(t *testing.T) {
	for name, frame := range map[string]*wire.ClientFrame{
		"handler": wire.NewClientFrame(&wire.Pull{Conversation: string(dm)}),
		"call":    wire.NewClientFrame(&wire.Call{Method: "m", Request: &wire.Call_Body{}}),
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := newWorld(t)
				w.logic.pull = func(im.PullQuery) (im.PullResult, error) { panic("planted") }
				w.logic.call = func(context.Context, string, []byte) ([]byte, error) { panic("planted") }
				other, p := w.login("bob", "1"), w.login("ann", "1")
				p.send(frame)
				f := p.want("error internal")
				if m := f.GetError().Message; !strings.Contains(m, "n-2") || strings.Contains(m, "planted") {
					t.Fatalf("message %q", m)
				}
				p.wantClosed()
				other.quiet()
				if w.g.metrics.panics.Load() != 1 || w.g.metrics.disconnects["internal"] != 1 {
					t.Fatal("not counted")
				}
			})
		})
	}
}

func watched(w *world) int {
	n, _ := w.g.presence.Count()
	return n
}

func askedNow(w *world) int {
	_, n := w.g.presence.Count()
	return n
}
