package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/limits"
)

// doors is an API with both doors and one limiter.
type doors struct {
	calls *Calls
	http  http.Handler
	done  int
}

func newDoors(o LimiterOptions) *doors {
	limiter := NewLimiter(o)
	d := &doors{calls: NewCalls(Deps{Limiter: limiter})}
	d.calls.rows = map[string]row{}
	for _, m := range Methods() {
		d.calls.rows[m.Name] = row{Method: m, call: func(context.Context, im.Actor, []byte, *keyed) ([]byte, error) { d.done++; return nil, nil }}
	}
	d.http = NewHTTP(&fakeLogic{call: without(d.calls)}, HTTPOptions{Log: quiet(), Limiter: limiter})
	return d
}

// over calls a method over a connection, when the gateway has counted it.
func (d *doors) over(t *testing.T, user im.UserID, addr, method string) *im.Error {
	t.Helper()
	_, err := d.calls.Call(t.Context(), im.Actor{User: user, Session: "s", Connection: "c", Address: addr}, im.Call{Method: "skein.v1." + method})
	var e *im.Error
	errors.As(err, &e)
	return e
}

// What belongs to a device is counted in its buckets, which its connections take
// from as well (the gateway does), and as what it does.
func TestBothDoorsTakeFromOneBucket(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	slow := limits.Rate{PerSecond: 0.5, Burst: 3}
	devices := limits.NewDevices(limits.Rates{Sends: slow, Marks: slow, Reads: slow, Calls: slow})
	d := newDoors(LimiterOptions{Devices: devices, Now: func() time.Time { return now }})
	for method, class := range map[string]limits.Class{
		"AccountService/Logout": limits.Calls, "ContactService/ListContacts": limits.Reads,
		"MessageService/SendMessage": limits.Sends, "MessageService/RecallMessage": limits.Sends, "MessageService/EditMessage": limits.Sends, "MessageService/ReactToMessage": limits.Sends, "MessageService/ListReactions": limits.Reads, "MessageService/VoteInPoll": limits.Sends, "MessageService/EndPoll": limits.Sends, "MessageService/ListVotes": limits.Reads, "MessageService/PinMessage": limits.Sends, "MessageService/StreamMessage": limits.Sends, "MessageService/ForwardMessages": limits.Sends, "MessageService/ListPins": limits.Reads, "MessageService/ScheduleMessage": limits.Calls, "MessageService/ListScheduled": limits.Reads, "MessageService/ListEdits": limits.Reads, "MessageService/MarkRead": limits.Marks, "MessageService/SetMyState": limits.Marks,
	} {
		if got := OfDevice()("skein.v1." + method); got != class {
			t.Errorf("%s counts as %d over a connection, want %d", method, got, class)
		}
		now = now.Add(time.Minute) // all is full
		d.done = 0
		a := devices.Enter("alice", "", "") // alice's session has no device
		for range 2 {
			if wait, _ := devices.Take(a, class, 0, now.UnixNano()); wait != 0 {
				t.Errorf("%s over the connection: %v", method, wait)
			}
			if e := d.over(t, "alice", "192.0.2.1:1000", method); e != nil { // is not counted again
				t.Errorf("%s: %v", method, e)
			}
		}
		devices.Leave(a, now.UnixNano())
		if w := do(d.http, post(method, "alice", "{}")); w.Code != http.StatusOK || w.Header().Get("RateLimit-Limit") != "3" || w.Header().Get("RateLimit-Remaining") != "0" {
			t.Errorf("%s, the third: %d %v", method, w.Code, w.Header())
		}
		w := do(d.http, post(method, "alice", "{}"))
		if code, _ := errorOf(t, w); w.Code != http.StatusTooManyRequests || code != im.CodeRateLimited || w.Header().Get("Retry-After") != "2" {
			t.Errorf("%s, the fourth: %d %v", method, w.Code, w.Header())
		}
		if w := do(d.http, post(method, "root", "{}")); w.Code != http.StatusOK {
			t.Errorf("%s of another user: %d", method, w.Code)
		}
		if d.done != 4 {
			t.Errorf("%s was carried out %d times", method, d.done)
		}
	}
}

// Passwords count by address, whoever is connected, through whichever door and port.
func TestBothDoorsTakeFromOneLimit(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	d := newDoors(LimiterOptions{Limits: map[Class]Limit{ClassCredential: {PerSecond: 0.1, Burst: 2}}, Now: func() time.Time { return now }})
	const method = "AccountService/Login"
	limited := func(user im.UserID, addr string) {
		t.Helper()
		if e := d.over(t, user, addr, method); e == nil || e.Code != im.CodeRateLimited || e.RetryAfter != 10*time.Second {
			t.Errorf("%+v, want rate_limited for 10 s", e)
		}
	}
	passes := func(user im.UserID, addr string) {
		t.Helper()
		if e := d.over(t, user, addr, method); e != nil {
			t.Error(e)
		}
	}
	passes("eve", "192.0.2.66:1")
	passes("mallory", "192.0.2.66:2")
	limited("eve", "192.0.2.66:3")
	login := post(method, "", "{}")
	login.remote = "192.0.2.66:4"
	if w := do(d.http, login); w.Code != http.StatusTooManyRequests {
		t.Errorf("the same address over HTTP: %d", w.Code)
	}
	passes("eve", "192.0.2.67:1")
	// A transport without addresses does not make its users one.
	passes("ann", "pipe")
	passes("ann", "pipe")
	limited("ann", "pipe")
	passes("ben", "pipe")
	if d.done != 6 {
		t.Errorf("%d calls were carried out, want 6", d.done)
	}
}

// One caller over HTTP, waiting after each refusal as the answer says, to the
// millisecond or in whole seconds: never refused twice in a row, at the full rate.
func TestWhoWaitsAsToldOverHTTP(t *testing.T) {
	for _, wholeSeconds := range []bool{false, true} {
		now := time.Unix(1_800_000_000, 0)
		began := now
		h := NewHTTP(&fakeLogic{call: func(context.Context, im.Actor, string, []byte) ([]byte, error) { return nil, nil }}, HTTPOptions{Log: quiet(), Limiter: NewLimiter(LimiterOptions{
			Devices: limits.NewDevices(limits.Rates{Sends: limits.Rate{PerSecond: 7, Burst: 3}}), Now: func() time.Time { return now },
		})})
		refused, passed := false, 0
		for range 1000 {
			w := do(h, post("MessageService/SendMessage", "alice", "{}"))
			if w.Code == http.StatusOK {
				refused = false
				passed++
				continue
			}
			var body struct{ RetryAfterMs int }
			if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil || w.Code != http.StatusTooManyRequests || body.RetryAfterMs <= 0 || refused {
				t.Fatalf("%d %s after %d, refused before: %v", w.Code, w.Body, passed, refused)
			}
			refused = true
			wait := time.Duration(body.RetryAfterMs) * time.Millisecond
			if wholeSeconds {
				seconds, err := strconv.Atoi(w.Header().Get("Retry-After"))
				if err != nil || time.Duration(seconds)*time.Second < wait {
					t.Fatal(w.Header())
				}
				wait = time.Duration(seconds) * time.Second
			}
			now = now.Add(wait)
		}
		may := 3 + int(now.Sub(began).Seconds()*7)
		if passed > may || !wholeSeconds && passed < may-may/100-1 {
			t.Errorf("%d passed in %v, %d may", passed, now.Sub(began), may)
		}
	}
}

// While logic is slow, refreshes and the like are let in as fast as it answers, like
// handshakes; the others are told when to come back, and nothing else is held up: neither
// those whose passwords are hashed, who wait for that where it is done.
func TestCredentialsStandInLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var underway, most, refused, served atomic.Int32
		h := NewHTTP(&fakeLogic{call: func(_ context.Context, _ im.Actor, method string, _ []byte) ([]byte, error) {
			if !strings.HasSuffix(method, "/Refresh") {
				return nil, nil
			}
			most.Store(max(most.Load(), underway.Add(1)))
			time.Sleep(4 * time.Second)
			underway.Add(-1)
			return nil, nil
		}}, HTTPOptions{Log: quiet(), Limiter: NewLimiter(LimiterOptions{Unlimited: true}), MaxPerAddress: -1})
		storm := func(n int) {
			var wg sync.WaitGroup
			for range n {
				wg.Go(func() {
					w := do(h, post("AccountService/Refresh", "", "{}"))
					switch code, _ := errorOf(t, w); {
					case w.Code == http.StatusOK:
						served.Add(1)
					case w.Code == http.StatusServiceUnavailable && code == im.CodeUnavailable && w.Header().Get("Retry-After") != "":
						refused.Add(1)
					default:
						t.Errorf("%d %s", w.Code, w.Body)
					}
				})
			}
			wg.Wait()
		}
		storm(64) // it becomes slow
		began := time.Now()
		go func() {
			if w := do(h, post("AccountService/ListSessions", "alice", "{}")); w.Code != http.StatusOK {
				t.Errorf("beside: %d", w.Code)
			}
			if w := do(h, post("AccountService/Login", "", "{}")); w.Code != http.StatusOK {
				t.Errorf("a password beside: %d", w.Code)
			}
			if time.Since(began) > 0 {
				t.Errorf("beside: after %v", time.Since(began))
			}
		}()
		storm(1000)
		if most.Load() > 64 || refused.Load() < 800 || served.Load() < 128 {
			t.Errorf("%d at the same time, %d refused, %d served", most.Load(), refused.Load(), served.Load())
		}
	})
}

// A connection is held to the default limits if nobody chose any.
func TestCallsAreLimitedByDefault(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	c := NewCalls(Deps{Now: func() time.Time { return now }})
	c.rows["m"] = row{Method: Method{Name: "m", Who: User, Class: ClassCredential}, call: func(context.Context, im.Actor, []byte, *keyed) ([]byte, error) { return nil, nil }}
	passed := 0
	for range 500 {
		if _, err := c.Call(t.Context(), im.Actor{User: "alice", Connection: "c"}, im.Call{Method: "m"}); err == nil {
			passed++
		}
	}
	if want := DefaultLimits()[ClassCredential].Burst; passed != want {
		t.Errorf("%d calls passed, want %d", passed, want)
	}
}

// Whose password is hashed does not stand in the line: each of those methods is one, and
// counts by the address.
func TestMethodsThatHash(t *testing.T) {
	n := 0
	for _, m := range Methods() {
		if !hashes(m.Name) {
			continue
		}
		if n++; m.Class != ClassCredential {
			t.Errorf("%s is of the class %s", m.Name, m.Class)
		}
	}
	if n != 14 || hashes("skein.v1.AccountService/Refresh") {
		t.Errorf("%d methods hash", n)
	}
}
