package gateway

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/limits"
	"github.com/skein-im/skein/wire"
)

// instead is a Send that takes the place of a refused one.
func instead(c string, id, of byte, s string) *wire.ClientFrame {
	f := text(c, id, s)
	f.GetSend().InsteadOf = msgID(of)
	return f
}

// hearsAll wants these frames, in this order, and nothing else.
func (p *peer) hearsAll(wants ...string) {
	p.w.t.Helper()
	for _, want := range wants {
		p.want(want)
	}
	p.quiet()
}

// The second of four pipelined sends came too fast. Later ones were taken as soon
// as there was a token again, and stood before it (SPEC §5.9).
func TestRateLimitKeepsTheOrder(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, func(o *Options) {
			o.Devices = limits.NewDevices(limits.Rates{Sends: limits.Rate{PerSecond: 1, Burst: 1}})
		})
		p, c := w.login("ann", "1"), string(dm)
		p.batch(text(c, 1, "x"), text(c, 2, "x"), text(c, 3, "x"), text("dm:ann:cid", 9, "x"))
		p.hearsAll("ack 1 dm:ann:bob 1", "send_error 2 rate_limited", "send_error 3 out_of_order first 2", "send_error 9 rate_limited")
		time.Sleep(time.Second) // a token has come, not for those behind
		p.batch(text(c, 3, "x"), text(c, 4, "x"))
		p.hearsAll("send_error 3 out_of_order first 2", "send_error 4 out_of_order first 2")
		p.batch(text(c, 2, "x"))
		p.hearsAll("ack 2 dm:ann:bob 2")
		time.Sleep(time.Second)
		p.batch(text(c, 3, "x"))
		p.hearsAll("ack 3 dm:ann:bob 3")
		time.Sleep(time.Second)
		p.batch(text("dm:ann:cid", 9, "x"))
		p.hearsAll("ack 9 dm:ann:cid 1")
		if n := w.logic.sentCount(); n != 4 {
			t.Fatalf("%d sends were passed on", n)
		}
	})
}

// A message that came too fast is too long, or none, when it comes again: it will
// never be stored, so what is behind it goes on. It stayed out_of_order for ever.
func TestComesAgainAndIsRefusedForGood(t *testing.T) {
	none := text(string(dm), 2, "x")
	none.GetSend().Content.Type = "NO TYPE"
	for code, again := range map[string]*wire.ClientFrame{"too_large": text(string(dm), 2, strings.Repeat("x", 200<<10)), "invalid_argument": none} {
		t.Run(code, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := newWorld(t, func(o *Options) {
					o.Devices = limits.NewDevices(limits.Rates{Sends: limits.Rate{PerSecond: 1, Burst: 1}})
				})
				p, c := w.login("ann", "1"), string(dm)
				p.batch(text(c, 1, "x"), text(c, 2, "x"))
				p.hearsAll("ack 1 dm:ann:bob 1", "send_error 2 rate_limited")
				time.Sleep(time.Second)
				p.batch(again)
				p.hearsAll("send_error 2 " + code)
				time.Sleep(time.Second)
				p.batch(text(c, 3, "x"))
				p.hearsAll("ack 3 dm:ann:bob 2")
			})
		})
	}
}

// Logic refuses the first of three while the others are under way, and the client
// sends it again before they are answered: it goes on when they are.
func TestRefusedByLogicKeepsTheOrder(t *testing.T) {
	for name, code := range map[string]im.Code{
		"for now": im.CodeOverloaded, "unknown": im.CodeUnknown, "failed": im.CodeInternal, "for good": im.CodeNotContact,
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := newWorld(t)
				var asked []im.Turn
				var replies []func(im.Ack, error)
				w.logic.send = func(a im.Actor, m im.Message, reply func(im.Ack, error)) {
					asked, replies = append(asked, a.Turn), append(replies, reply)
					if a.Order.Behind(a.Connection, m.Conversation, a.Turn) {
						t.Error("asked for what is behind")
					}
				}
				p, c := w.login("ann", "1"), string(dm)
				p.batch(text(c, 1, "x"), text(c, 2, "x"), text(c, 3, "x"))
				synctest.Wait()
				replies[0](im.Ack{}, im.Errorf(code, "no"))
				w.g.Flush()
				p.want("send_error 1 " + string(code))
				if code == im.CodeNotContact {
					p.batch(text(c, 4, "x"))
					synctest.Wait()
					if len(replies) != 4 {
						t.Fatal("what is behind a message that was refused for good is held up")
					}
					for _, r := range replies[1:] {
						r(im.Ack{Seq: 1}, nil)
					}
					w.g.Flush()
					p.hearsAll("ack 2 dm:ann:bob 1", "ack 3 dm:ann:bob 1", "ack 4 dm:ann:bob 1")
					return
				}
				p.batch(text(c, 1, "x"), text(c, 2, "x"))
				synctest.Wait()
				if len(replies) != 3 {
					t.Fatal("passed on while others are under way")
				}
				replies[1](im.Ack{}, im.ErrBehind())
				w.g.Flush()
				synctest.Wait()
				replies[2](im.Ack{}, im.ErrBehind())
				w.g.Flush()
				p.hearsAll("send_error 2 out_of_order first 1", "send_error 3 out_of_order first 1")
				if len(replies) != 5 || asked[3].Since <= asked[2].At || asked[4].Since != asked[3].Since {
					t.Fatalf("places %v", asked)
				}
				for _, r := range replies[3:] {
					r(im.Ack{Seq: 1}, nil)
				}
				w.g.Flush()
				p.hearsAll("ack 1 dm:ann:bob 1", "ack 2 dm:ann:bob 1")
			})
		})
	}
}

// The one sent before was refused later: it has to come first.
func TestAnEarlierRefusalComesFirst(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		var replies []func(im.Ack, error)
		w.logic.send = func(_ im.Actor, _ im.Message, reply func(im.Ack, error)) { replies = append(replies, reply) }
		p, c := w.login("ann", "1"), string(dm)
		p.batch(text(c, 1, "x"), text(c, 2, "x"))
		synctest.Wait()
		replies[1](im.Ack{}, im.Errorf(im.CodeOverloaded, "no room"))
		w.g.Flush()
		p.want("send_error 2 overloaded")
		p.batch(text(c, 2, "x"))
		synctest.Wait()
		replies[0](im.Ack{}, im.Errorf(im.CodeStorageFull, "no disk"))
		w.g.Flush()
		p.hearsAll("send_error 1 storage_full", "send_error 2 out_of_order first 1")
	})
}

// A client that gives the refused message up says so in the one that takes its
// place, and that counts from this one on.
func TestGivingUpARefusedMessage(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, func(o *Options) {
			o.Devices = limits.NewDevices(limits.Rates{Sends: limits.Rate{PerSecond: 1, Burst: 1}})
		})
		p, c := w.login("ann", "1"), string(dm)
		p.batch(text(c, 1, "x"), text(c, 2, "x"), text(c, 3, "x"))
		p.hearsAll("ack 1 dm:ann:bob 1", "send_error 2 rate_limited", "send_error 3 out_of_order first 2")
		p.batch(instead(c, 3, 2, "x"))
		p.hearsAll("send_error 3 rate_limited") // not yet; it may be said again
		time.Sleep(time.Second)
		p.batch(instead(c, 3, 1, "x"), instead(c, 3, 2, "x"))
		p.hearsAll("send_error 3 out_of_order first 2", "ack 3 dm:ann:bob 2")
		time.Sleep(time.Second)
		p.batch(instead(c, 4, 3, "x")) // nothing was refused: it says nothing
		p.hearsAll("ack 4 dm:ann:bob 3")
	})
}

// Who sends on and on behind a refused message is closed, but not before more
// than a client may have under way.
func TestBehindIsNoWayToFlood(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, func(o *Options) {
			o.Limits.InFlight, o.Devices = 4, limits.NewDevices(limits.Rates{Sends: limits.Rate{PerSecond: 0.001, Burst: 1}})
		})
		p, c := w.parked("ann", "1", wire.Protobuf()), string(dm)
		p.say(text(c, 1, "x"), text(c, 2, "x"))
		for range limits.FloodFactor * 4 {
			p.say(text(c, 3, "x"))
		}
		synctest.Wait()
		if closed, _ := p.isClosed(); closed {
			t.Fatal("closed too early")
		}
		p.say(text(c, 3, "x"))
		synctest.Wait()
		if closed, code := p.isClosed(); !closed || code != wire.CodeFlood {
			t.Fatalf("closed %v, %s", closed, code)
		}
	})
}

// Who does as SPEC §5.9 says is never closed: in two conversations everything is sent
// again from the refused one on, again and again, and one message a second is let in.
func TestWhoSendsAgainInOrderIsNotClosed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, func(o *Options) {
			o.Limits.InFlight, o.Devices = 60, limits.NewDevices(limits.Rates{Sends: limits.Rate{PerSecond: 1, Burst: 1}})
		})
		p := w.parked("ann", "1", wire.Protobuf())
		const many = 30
		conversations := []string{string(dm), "dm:ann:cid"}
		for round := range many {
			for _, c := range conversations {
				for n := round; n < many; n++ {
					p.say(text(c, byte(n+1), "x"))
				}
			}
			time.Sleep(2 * time.Second)
			synctest.Wait()
			if closed, code := p.isClosed(); closed {
				t.Fatalf("closed in round %d: %s", round, code)
			}
		}
	})
}

// An amendment has its place among the sends: it is refused behind a refused one, and
// what is behind a refused amendment is.
func TestAmendKeepsTheOrder(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, func(o *Options) {
			o.Devices = limits.NewDevices(limits.Rates{Sends: limits.Rate{PerSecond: 1, Burst: 1}})
		})
		p, c := w.login("ann", "1"), string(dm)
		p.batch(text(c, 1, "x"), amend(c, 2, 1, "x"), text(c, 3, "x"), amend(c, 4, 1, "x"))
		p.hearsAll("ack 1 dm:ann:bob 1", "send_error 2 rate_limited", "send_error 3 out_of_order first 2", "send_error 4 out_of_order first 2")
		time.Sleep(time.Second)
		p.batch(amend(c, 4, 1, "x"))
		p.hearsAll("send_error 4 out_of_order first 2")
		p.batch(amend(c, 2, 1, "x"))
		p.hearsAll("ack 2 dm:ann:bob 2")
		time.Sleep(time.Second)
		p.batch(amend(c, 4, 1, "x"))
		p.hearsAll("ack 4 dm:ann:bob 3")
		// One that will never be stored is given up for the next.
		p.batch(text(c, 5, "x"))
		p.hearsAll("send_error 5 rate_limited")
		time.Sleep(time.Second)
		f := amend(c, 6, 1, "x")
		f.GetAmend().InsteadOf = msgID(5)
		p.batch(f)
		p.hearsAll("ack 6 dm:ann:bob 4")
		if n := w.logic.sentCount(); n != 4 {
			t.Fatalf("%d were passed on", n)
		}
	})
}
