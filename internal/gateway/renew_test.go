package gateway

import (
	"testing"
	"time"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

func renew(token string) *wire.ClientFrame { return wire.NewClientFrame(&wire.Renew{Token: token}) }

// A connection lives as long as the newest token of its session that it was given,
// ends with it, and is told the time.
func TestRenew(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		begin := time.Now()
		at := func(s int) int64 { return begin.Add(time.Duration(s) * time.Second).UnixMilli() }
		w.logic.authenticate = func(h im.Handshake) (im.Actor, error) {
			mine := im.Actor{User: "ann", Session: "s1", Connection: h.Connection, Device: im.Device{ID: "d1", Class: im.DevicePhone}}
			switch h.Token {
			case "ann":
				mine.ExpiresMs = at(20)
			case "older":
				mine.ExpiresMs = at(10)
			case "newer":
				mine.ExpiresMs = at(100)
			case "other session":
				mine.Session, mine.ExpiresMs = "s2", at(1000)
			case "other user":
				mine.User, mine.ExpiresMs = "bob", at(1000)
			case "admin key":
				return im.Actor{Role: im.ServerOwner}, nil
			case "slow":
				return im.Actor{}, &im.Error{Code: im.CodeUnavailable, Message: "slow", RetryAfter: time.Second}
			default:
				return im.Actor{}, im.Errorf(im.Code(h.Token), "no good")
			}
			return mine, nil
		}
		p := w.dial(wire.Protobuf())
		p.send(hello("ann", "d1", phone))
		if got := p.want("welcome ann").GetWelcome().TokenExpiresAtMs; got != at(20) {
			t.Errorf("Welcome says %d", got)
		}
		for token, want := range map[string]im.Code{
			"": im.CodeInvalidArgument, "other session": im.CodeInvalidArgument, "other user": im.CodeInvalidArgument, "admin key": im.CodeInvalidArgument,
			string(im.CodeTokenInvalid): im.CodeInvalidArgument, string(im.CodeTokenExpired): im.CodeInvalidArgument, string(im.CodeSessionRevoked): im.CodeInvalidArgument,
			string(im.CodeInternal): im.CodeUnavailable, "slow": im.CodeUnavailable,
		} {
			p.send(renew(token))
			e := p.want("error " + string(want)).GetError()
			if e.Frame != "renew" || (e.Field == "renew.token") != (want == im.CodeInvalidArgument) {
				t.Errorf("%q: %v", token, e)
			}
			if want == im.CodeUnavailable && e.RetryAfterMs == 0 {
				t.Errorf("%q: %v says not when", token, e)
			}
		}
		p.send(renew("older"))
		if got := p.read().GetRenewed().GetTokenExpiresAtMs(); got != at(20) {
			t.Errorf("after an older one it is %d", got)
		}
		time.Sleep(15 * time.Second)
		p.send(renew("newer"))
		if got := p.read().GetRenewed().GetTokenExpiresAtMs(); got != at(100) {
			t.Errorf("after a newer one it is %d", got)
		}
		p.want("ping") // it is silent
		p.quiet()
		if d := time.Since(begin); d < 40*time.Second {
			t.Errorf("pinged after %v", d)
		}
		p.want("kick token_expired")
		if d := time.Since(begin); d < 100*time.Second || d > 101*time.Second {
			t.Errorf("expired after %v", d)
		}
		p.wantClosed()
	})
}

// Who was given a new token is ended by a revocation as before.
func TestRenewedIsRevoked(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		w.logic.authenticate = func(h im.Handshake) (im.Actor, error) {
			return im.Actor{User: "ann", Session: "s1", Connection: h.Connection, Device: im.Device{ID: "d1"}, ExpiresMs: time.Now().Add(time.Minute).UnixMilli()}, nil
		}
		p := w.login("ann", "d1")
		time.Sleep(time.Second)
		p.send(renew("another"))
		p.read()
		w.g.Control(revoke("ann"))
		p.want("kick session_revoked")
		p.wantClosed()
	})
}
