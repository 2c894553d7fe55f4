package api

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// Once a Call frame was as good as any other: over a connection nothing held the
// expensive methods to the limits that they had over HTTP.
func TestBothDoorsTakeFromOneLimit(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	limiter := NewLimiter(LimiterOptions{
		Limits: map[Class]Limit{ClassWrite: {PerSecond: 0.5, Burst: 3}, ClassCredential: {PerSecond: 0.1, Burst: 2}, ClassRead: {PerSecond: 1, Burst: 1}},
		Now:    func() time.Time { return now },
	})
	calls := NewCalls(Deps{Limiter: limiter})
	done := 0
	calls.rows = map[string]row{}
	for _, m := range Methods() {
		calls.rows[m.Name] = row{Method: m, call: func(context.Context, im.Actor, []byte) ([]byte, error) { done++; return nil, nil }}
	}
	h := NewHTTP(&fakeLogic{call: calls.Call}, HTTPOptions{Log: quiet(), Limiter: calls.Limiter})
	on := func(user im.UserID, addr string) im.Actor {
		return im.Actor{User: user, Session: "s", Connection: "c", Address: addr}
	}
	call := func(a im.Actor, method string) *im.Error {
		t.Helper()
		_, err := calls.Call(t.Context(), a, "skein.v1."+method, nil)
		var e *im.Error
		errors.As(err, &e)
		return e
	}
	limited := func(a im.Actor, method string, wait time.Duration) {
		t.Helper()
		if e := call(a, method); e == nil || e.Code != im.CodeRateLimited || e.RetryAfter != wait {
			t.Errorf("%s: %+v, want rate_limited for %v", method, e, wait)
		}
	}
	passes := func(a im.Actor, method string) {
		t.Helper()
		if e := call(a, method); e != nil {
			t.Errorf("%s: %v", method, e)
		}
	}

	// Two over the connection and one over HTTP make three, for this user.
	phone := on("alice", "192.0.2.1:1000")
	passes(phone, "AccountService/Logout")
	passes(on("alice", "198.51.100.9:7"), "ContactService/BlockUser")
	if w := do(h, post("AccountService/Logout", "alice", "{}")); w.Code != http.StatusOK {
		t.Errorf("the third: %d", w.Code)
	}
	limited(phone, "AccountService/Logout", 2*time.Second)
	if w := do(h, post("AccountService/Logout", "alice", "{}")); w.Code != http.StatusTooManyRequests {
		t.Errorf("the fourth over HTTP: %d", w.Code)
	}
	passes(phone, "AccountService/ListSessions")
	passes(on("bob", "192.0.2.1:1000"), "AccountService/Logout")
	now = now.Add(2 * time.Second)
	passes(phone, "AccountService/Logout")

	// Passwords count by address, whoever is connected and through whichever port.
	passes(on("eve", "192.0.2.66:1"), "AccountService/Login")
	passes(on("mallory", "192.0.2.66:2"), "AccountService/Login")
	limited(on("eve", "192.0.2.66:3"), "AccountService/Login", 10*time.Second)
	login := post("AccountService/Login", "", "{}")
	login.remote = "192.0.2.66:4"
	if w := do(h, login); w.Code != http.StatusTooManyRequests {
		t.Errorf("the same address over HTTP: %d", w.Code)
	}
	passes(on("eve", "192.0.2.67:1"), "AccountService/Login")
	// A transport without addresses does not make its users one.
	passes(on("ann", "pipe"), "AccountService/Login")
	passes(on("ann", "pipe"), "AccountService/Login")
	limited(on("ann", "pipe"), "AccountService/Login", 10*time.Second)
	passes(on("ben", "pipe"), "AccountService/Login")
	if done != 12 {
		t.Errorf("%d calls were carried out, want 12", done)
	}
}

// A connection is held to the default limits if nobody chose any.
func TestCallsAreLimitedByDefault(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	c := NewCalls(Deps{Now: func() time.Time { return now }})
	c.rows["m"] = row{Method: Method{Name: "m", Who: User, Class: ClassWrite}, call: func(context.Context, im.Actor, []byte) ([]byte, error) { return nil, nil }}
	passed := 0
	for range 500 {
		if _, err := c.Call(t.Context(), im.Actor{User: "alice", Connection: "c"}, "m", nil); err == nil {
			passed++
		}
	}
	if want := DefaultLimits()[ClassWrite].Burst; passed != want {
		t.Errorf("%d calls passed, want %d", passed, want)
	}
}
