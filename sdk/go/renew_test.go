package skein

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/skein-im/skein/wire"
)

// renewing makes the fake server tell when tokens end, by their names, and take
// newer ones.
func renewing(r *rig, lives map[string]time.Duration) {
	first := time.Duration(0)
	r.onHello = func(h *wire.Hello) *wire.ServerFrame {
		first = lives[h.Token]
		return nil
	}
	r.welcome = func(w *wire.Welcome) { w.TokenExpiresAtMs = time.Now().Add(first).UnixMilli() }
	r.onFrame = func(c *fakeConn, f *wire.ClientFrame) bool {
		m := f.GetRenew()
		if m == nil {
			return false
		}
		if lives[m.Token] == 0 {
			e := wire.NewError(wire.CodeInvalidArgument, "no such token")
			e.Frame = "renew"
			reply(c, e)
			return true
		}
		reply(c, &wire.Renewed{TokenExpiresAtMs: time.Now().Add(lives[m.Token]).UnixMilli()})
		return true
	}
}

// A client whose source has newer tokens gives them to the server in time, as often
// as they end, on the one connection it has.
func TestTokenIsRenewedOnTheConnection(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		lives := map[string]time.Duration{"tok1": time.Hour, "tok2": time.Minute, "tok3": 4 * time.Second, "tok4": time.Hour}
		renewing(r, lives)
		n := 0
		r.dial(WithTokenSource(func(context.Context) (string, error) {
			n++
			return fmt.Sprint("tok", min(n, 4)), nil
		}))
		begin := time.Now()
		var at []time.Duration
		sofar := 0
		for time.Since(begin) < time.Hour+2*time.Minute {
			pause(100 * time.Millisecond)
			if got := len(frames(r.fake, (*wire.ClientFrame).GetRenew)); got > sofar {
				sofar = got
				at = append(at, time.Since(begin).Round(time.Second))
			}
		}
		eq(t, "renewed at", at, []time.Duration{time.Hour - 25*time.Second, time.Hour + 20*time.Second, time.Hour + 23*time.Second})
		eq(t, "connections", r.connections(), 1)
	})
}

// A source without a newer token, one that fails, and a token that the server does
// not take: it is asked again in what is left, and nothing else happens.
func TestNoNewerToken(t *testing.T) {
	for name, source := range map[string]func(n int) (string, error){
		"the same":  func(int) (string, error) { return "tok1", nil },
		"an error":  func(n int) (string, error) { return "tok1", map[bool]error{true: errors.New("offline")}[n > 1] },
		"a bad one": func(n int) (string, error) { return map[bool]string{true: "bad", false: "tok1"}[n > 1], nil },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, r *rig) {
				renewing(r, map[string]time.Duration{"tok1": time.Minute})
				n := 0
				r.dial(WithTokenSource(func(context.Context) (string, error) {
					n++
					return source(n)
				}))
				pause(2 * time.Minute)
				synctest.Wait()
				if n < 3 || n > 12 {
					t.Errorf("the source was asked %d times", n)
				}
				eq(t, "connections", r.connections(), 1)
				eq(t, "state", r.state(), StateConnected)
			})
		})
	}
}

// A token given once and for all is not asked for again.
func TestStaticTokenIsNotRenewed(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		renewing(r, map[string]time.Duration{"tok": time.Minute})
		r.dial(WithToken("tok"))
		pause(2 * time.Minute)
		eq(t, "renewals", len(frames(r.fake, (*wire.ClientFrame).GetRenew)), 0)
	})
}
