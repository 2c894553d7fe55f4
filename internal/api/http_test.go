package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/limits"
	"github.com/skein-im/skein/wire"
)

// fakeLogic knows the tokens `alice`, `root` and `key` and answers calls with
// what the test gives.
type fakeLogic struct {
	im.Logic
	call  func(ctx context.Context, actor im.Actor, method string, payload []byte) ([]byte, error)
	hands []im.Handshake
}

func (f *fakeLogic) Authenticate(_ context.Context, h im.Handshake) (im.Actor, error) {
	f.hands = append(f.hands, h)
	switch h.Token {
	case "alice":
		return alice, nil
	case "root":
		return root, nil
	case "key":
		return key, nil
	case "old":
		return im.Actor{}, im.Errorf(im.CodeTokenExpired, "this token's time is over")
	case "down":
		return im.Actor{}, errors.New("database password is hunter2")
	}
	return im.Actor{}, im.Errorf(im.CodeTokenInvalid, "this is not a token of this server")
}

func (f *fakeLogic) Call(ctx context.Context, actor im.Actor, call im.Call) ([]byte, error) {
	return f.call(ctx, actor, call.Method, call.Payload)
}

// without calls methods without idempotency keys.
func without(c *Calls) func(context.Context, im.Actor, string, []byte) ([]byte, error) {
	return func(ctx context.Context, a im.Actor, method string, payload []byte) ([]byte, error) {
		return c.Call(ctx, a, im.Call{Method: method, Payload: payload})
	}
}

// request is one request to the door.
type request struct {
	method, path, body string
	header             http.Header
	remote             string
}

func post(method, token, body string) request {
	h := http.Header{"Content-Type": {"application/json"}}
	if token != "" {
		h.Set("Authorization", "Bearer "+token)
	}
	return request{method: http.MethodPost, path: "/api/skein.v1." + method, body: body, header: h}
}

func (q request) with(name, value string) request {
	q.header = q.header.Clone()
	q.header.Set(name, value)
	return q
}

func do(h http.Handler, q request) *httptest.ResponseRecorder {
	r := httptest.NewRequest(q.method, q.path, strings.NewReader(q.body))
	if q.header != nil {
		r.Header = q.header
	}
	if q.remote != "" {
		r.RemoteAddr = q.remote
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func errorOf(t *testing.T, w *httptest.ResponseRecorder) (code im.Code, message string) {
	t.Helper()
	var e struct {
		Code    im.Code
		Message string
	}
	if err := json.Unmarshal(w.Body.Bytes(), &e); err != nil {
		t.Fatalf("body %q: %v", w.Body, err)
	}
	if got := w.Header().Get("Content-Type"); got != "application/json" {
		t.Errorf("error has Content-Type %q", got)
	}
	return e.Code, e.Message
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

func TestHTTPForms(t *testing.T) {
	logic := &fakeLogic{call: func(_ context.Context, actor im.Actor, method string, payload []byte) ([]byte, error) {
		var in wire.RecallMessageRequest
		if err := proto.Unmarshal(payload, &in); err != nil {
			return nil, err
		}
		if actor.User != "alice" || actor.Address != "192.0.2.1" || method != "skein.v1.MessageService/RecallMessage" ||
			in.GetConversation() != "dm:alice:bob" || in.GetSeq() != 1<<53+1 {
			t.Errorf("called with %+v %s %v", actor, method, &in)
		}
		return proto.Marshal(&wire.RecallMessageResponse{Seq: 1<<53 + 3})
	}}
	h := NewHTTP(logic, HTTPOptions{Log: quiet()})

	asJSON := post("MessageService/RecallMessage", "alice", `{"conversation":"dm:alice:bob","seq":"9007199254740993"}`).with("User-Agent", "curl\x01/8 "+strings.Repeat("ü", 200))
	w := do(h, asJSON)
	if w.Code != 200 || w.Body.String() != `{"seq":"9007199254740995"}` || w.Header().Get("Content-Type") != "application/json" {
		t.Errorf("JSON: %d %q %s", w.Code, w.Body, w.Header().Get("Content-Type"))
	}
	for name, want := range map[string]string{
		"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store", "Referrer-Policy": "no-referrer", "X-Frame-Options": "DENY",
		"Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'", "Access-Control-Allow-Origin": "",
	} {
		if got := w.Header().Get(name); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
	hand := logic.hands[0]
	if hand.Connection != "" || hand.Address != "192.0.2.1" || !strings.HasPrefix(hand.Client, "curl/8 ü") || len([]rune(hand.Client)) != 100 {
		t.Errorf("handshake %+v", hand)
	}
	if w := do(h, asJSON.with("Content-Type", "application/json; charset=utf-8")); w.Code != 200 {
		t.Errorf("charset: %d", w.Code)
	}

	payload, err := proto.Marshal(&wire.RecallMessageRequest{Conversation: "dm:alice:bob", Seq: 1<<53 + 1})
	if err != nil {
		t.Fatal(err)
	}
	asProto := asJSON.with("Content-Type", "application/proto")
	asProto.body = string(payload)
	w = do(h, asProto)
	var out wire.RecallMessageResponse
	if err := proto.Unmarshal(w.Body.Bytes(), &out); err != nil || w.Code != 200 || out.GetSeq() != 1<<53+3 || w.Header().Get("Content-Type") != "application/proto" {
		t.Errorf("protobuf: %d %v %v", w.Code, &out, err)
	}
}

// The body of a refusal names the field, and quotes nothing; unknown fields are ignored
// as over connections (SPEC §1.4, §8).
func TestHTTPNamesTheField(t *testing.T) {
	h := NewHTTP(&fakeLogic{call: without(NewCalls(Deps{}))}, HTTPOptions{Log: quiet()})
	for body, field := range map[string]string{
		`{"name":"g","members":["b","a b"],"nonsense":[1]}`: "members[1]",
		`{"name":"g","members":["b",7]}`:                    "members[1]",
		`{"name":{"first":"b"}}`:                            "name",
		`{"name":"g","name":"h"}`:                           "name",
	} {
		w := do(h, post("GroupService/CreateGroup", "alice", body))
		var e wire.Error
		if err := protojson.Unmarshal(w.Body.Bytes(), &e); err != nil || w.Code != 400 || e.Field != field {
			t.Errorf("%s: %d %s, want %s", body, w.Code, w.Body, field)
		}
	}
}

// A name that no value has is refused, and not taken for nothing said: who believes
// that a policy is set would be wrong.
func TestNamesOfValues(t *testing.T) {
	h := NewHTTP(&fakeLogic{call: without(NewCalls(Deps{}))}, HTTPOptions{Log: quiet()})
	for _, tc := range []struct{ method, body, field string }{
		{"UserService/UpdateProfile", `{"presencePolicy":"nobody"}`, "presencePolicy"},
		{"UserService/UpdateProfile", `{"dm_policy":"DM_POLICY_NONSENSE"}`, "dmPolicy"},
		{"GroupService/UpdateGroup", `{"conversation":"grp:g","whoMayPin":"ADMINS"}`, "whoMayPin"},
		{"GroupService/ListMembers", `{"conversation":"grp:g","role":"foo"}`, "role"},
		{"MessageService/ScheduleMessage", `{"message":{"groupMention":"everyone"}}`, "message.groupMention"},
	} {
		w := do(h, post(tc.method, "alice", tc.body))
		var e wire.Error
		if err := protojson.Unmarshal(w.Body.Bytes(), &e); err != nil || w.Code != 400 || e.Code != string(im.CodeInvalidArgument) || e.Field != tc.field {
			t.Errorf("%s: %d %s, want %s", tc.body, w.Code, w.Body, tc.field)
		}
	}
}

func TestHTTPRefusals(t *testing.T) {
	logic := &fakeLogic{call: func(_ context.Context, actor im.Actor, method string, _ []byte) ([]byte, error) {
		if actor.User == "" {
			return nil, im.Errorf(im.CodeUnauthenticated, "this needs an access token")
		}
		return nil, im.Errorf(im.CodeNotFound, "no such conversation")
	}}
	h := NewHTTP(logic, HTTPOptions{Log: quiet()})
	ok := post("GroupService/GetGroup", "alice", `{"conversation":"grp:g"}`)
	body := func(b string) request { return post("GroupService/GetGroup", "alice", b) }
	verb := func(m string) request { q := ok; q.method = m; return q }
	path := func(p string) request { q := ok; q.path = p; return q }
	for _, tc := range []struct {
		name   string
		q      request
		status int
		code   im.Code
		says   string
	}{
		{"from the business", ok, 404, im.CodeNotFound, "no such conversation"},
		{"no token", post("GroupService/GetGroup", "", `{}`), 401, im.CodeUnauthenticated, "access token"},
		{"bad token", post("GroupService/GetGroup", "nope", `{}`), 401, im.CodeTokenInvalid, ""},
		{"bad token where none is needed", post("AccountService/Login", "nope", `{}`), 401, im.CodeTokenInvalid, ""},
		{"expired token", post("GroupService/GetGroup", "old", `{}`), 401, im.CodeTokenExpired, ""},
		{"long token", post("GroupService/GetGroup", strings.Repeat("x", 600), `{}`), 401, im.CodeTokenInvalid, ""},
		{"basic auth", ok.with("Authorization", "Basic YTpi"), 401, im.CodeUnauthenticated, "Bearer"},
		{"empty bearer", ok.with("Authorization", "Bearer "), 401, im.CodeUnauthenticated, "Bearer"},
		{"field twice", body(`{"conversation":"grp:g","conversation":"grp:h"}`), 400, im.CodeInvalidArgument, "conversation"},
		{"wrong type", body(`{"conversation":7}`), 400, im.CodeInvalidArgument, "conversation"},
		{"not JSON", body(`conversation=grp:g`), 400, im.CodeInvalidArgument, ""},
		{"a list", body(`[]`), 400, im.CodeInvalidArgument, ""},
		{"two values", body(`{}{}`), 400, im.CodeInvalidArgument, ""},
		{"invalid UTF-8", body("{\"conversation\":\"\xff\"}"), 400, im.CodeInvalidArgument, ""},
		{"deep", body(strings.Repeat(`{"conversation":`, 100000)), 413, im.CodeTooLarge, ""},
		{"negative seq", post("MessageService/MarkRead", "alice", `{"seq":"-1"}`), 400, im.CodeInvalidArgument, "seq"},
		{"too long", body(`{"conversation":"` + strings.Repeat("x", 10<<10) + `"}`), 413, im.CodeTooLarge, "9216"},
		{"no type", ok.with("Content-Type", ""), 415, im.CodeCodecUnsupported, "application/json"},
		{"a form", ok.with("Content-Type", "application/x-www-form-urlencoded"), 415, im.CodeCodecUnsupported, "application/proto"},
		{"GET", verb("GET"), 405, im.CodeUnimplemented, "POST"},
		{"OPTIONS", verb("OPTIONS"), 405, im.CodeUnimplemented, "POST"},
		{"unknown method", path("/api/skein.v1.GroupService/Explode"), 501, im.CodeUnimplemented, "no such method"},
		{"unknown path", path("/api/v2/groups"), 404, im.CodeNotFound, ""},
		{"outside", path("/etc/passwd"), 404, im.CodeNotFound, ""},
		{"bytes in the path", path("/api/skein.v1.%ff%fe"), 501, im.CodeUnimplemented, ""},
	} {
		w := do(h, tc.q)
		code, message := errorOf(t, w)
		if w.Code != tc.status || code != tc.code || !strings.Contains(message, tc.says) {
			t.Errorf("%s: %d %s %q, want %d %s", tc.name, w.Code, code, message, tc.status, tc.code)
		}
		if w.Code == 405 && w.Header().Get("Allow") != "POST" {
			t.Errorf("%s: Allow %q", tc.name, w.Header().Get("Allow"))
		}
		if w.Code == 401 && w.Header().Get("WWW-Authenticate") != "Bearer" {
			t.Errorf("%s: no WWW-Authenticate", tc.name)
		}
		if w.Header().Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: no security headers", tc.name)
		}
	}
}

// An empty body is an empty request, so that `curl -X POST` works.
func TestHTTPEmptyBody(t *testing.T) {
	h := NewHTTP(&fakeLogic{call: func(_ context.Context, _ im.Actor, _ string, p []byte) ([]byte, error) {
		if len(p) != 0 {
			t.Errorf("payload %x", p)
		}
		return nil, nil
	}}, HTTPOptions{Log: quiet()})
	if w := do(h, post("AccountService/Logout", "alice", "")); w.Code != 200 || w.Body.String() != "{}" {
		t.Errorf("%d %q", w.Code, w.Body)
	}
}

// What went wrong inside is told to the log, with a reference, and not to the caller.
func TestHTTPFailuresStayInside(t *testing.T) {
	var out bytes.Buffer
	h := NewHTTP(&fakeLogic{call: func(context.Context, im.Actor, string, []byte) ([]byte, error) {
		return nil, errors.New("table users is on fire")
	}}, HTTPOptions{Log: slog.New(slog.NewTextHandler(&out, nil))})
	w := do(h, post("AccountService/Logout", "alice", "{}"))
	code, message := errorOf(t, w)
	if w.Code != 500 || code != im.CodeInternal || strings.Contains(message, "fire") {
		t.Errorf("%d %s %q", w.Code, code, message)
	}
	ref := message[strings.LastIndex(message, " ")+1:]
	if !strings.Contains(out.String(), "on fire") || !strings.Contains(out.String(), "request="+ref) || strings.Contains(out.String(), "Bearer") {
		t.Errorf("log %q, message %q", out.String(), message)
	}
	out.Reset()
	if w := do(h, post("AccountService/Logout", "down", "{}")); w.Code != 500 || strings.Contains(w.Body.String(), "hunter2") || !strings.Contains(out.String(), "hunter2") {
		t.Errorf("failing authentication: %d %s, log %q", w.Code, w.Body, out.String())
	}
}

func TestHTTPRetryAfter(t *testing.T) {
	e := im.Errorf(im.CodeOverloaded, "busy")
	e.RetryAfter = 1200*time.Millisecond + 1
	h := NewHTTP(&fakeLogic{call: func(context.Context, im.Actor, string, []byte) ([]byte, error) { return nil, e }}, HTTPOptions{Log: quiet()})
	w := do(h, post("AccountService/Logout", "alice", "{}"))
	if w.Code != 503 || w.Header().Get("Retry-After") != "2" || w.Body.String() != `{"code":"overloaded","message":"busy","retryAfterMs":1201,"codeNumber":4000}` {
		t.Errorf("%d %q %s", w.Code, w.Header().Get("Retry-After"), w.Body)
	}
}

func TestHTTPTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := NewHTTP(&fakeLogic{call: func(ctx context.Context, _ im.Actor, _ string, _ []byte) ([]byte, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}}, HTTPOptions{Log: quiet(), Timeout: 3 * time.Second})
		start := time.Now()
		w := do(h, post("MessageService/SendMessage", "alice", "{}"))
		if code, _ := errorOf(t, w); w.Code != 504 || code != im.CodeUnknown || time.Since(start) != 3*time.Second {
			t.Errorf("write: %d %s after %s", w.Code, code, time.Since(start))
		}
		w = do(h, post("MessageService/ListEntries", "alice", "{}"))
		if code, _ := errorOf(t, w); w.Code != 503 || code != im.CodeUnavailable {
			t.Errorf("read: %d %s", w.Code, code)
		}
	})
}

func TestHTTPRateLimits(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	calls := 0
	h := NewHTTP(&fakeLogic{call: func(context.Context, im.Actor, string, []byte) ([]byte, error) { calls++; return nil, nil }}, HTTPOptions{
		Log: quiet(), Limiter: NewLimiter(LimiterOptions{
			Devices: limits.NewDevices(limits.Rates{Calls: limits.Rate{PerSecond: 0.5, Burst: 2}}),
			Limits:  map[Class]Limit{ClassCredential: {PerSecond: 1, Burst: 1}, classFailure: {PerSecond: 1, Burst: 2}},
			Now:     func() time.Time { return now },
		}),
	})
	write := post("AccountService/Logout", "alice", "{}")
	for i, want := range []struct {
		status           int
		remaining, reset string
	}{{200, "1", "2"}, {200, "0", "4"}, {429, "0", "4"}} {
		w := do(h, write)
		if w.Code != want.status || w.Header().Get("RateLimit-Limit") != "2" || w.Header().Get("RateLimit-Remaining") != want.remaining || w.Header().Get("RateLimit-Reset") != want.reset {
			t.Errorf("request %d: %d %v", i, w.Code, w.Header())
		}
		if w.Code == 429 && w.Header().Get("Retry-After") != "2" {
			t.Errorf("Retry-After %q", w.Header().Get("Retry-After"))
		}
	}
	if calls != 2 {
		t.Errorf("%d calls reached the logic", calls)
	}
	if w := do(h, post("AccountService/ListSessions", "alice", "{}")); w.Code != 200 {
		t.Errorf("another class: %d", w.Code)
	}
	if w := do(h, post("AccountService/Logout", "root", "{}")); w.Code != 200 {
		t.Errorf("another user: %d", w.Code)
	}
	now = now.Add(2 * time.Second)
	if w := do(h, write); w.Code != 200 {
		t.Errorf("after the wait: %d", w.Code)
	}

	// Credentials are counted by address, whoever it claims to be; an IPv6 customer is one address.
	login := post("AccountService/Login", "", "{}")
	for i, tc := range []struct {
		remote string
		status int
	}{{"192.0.2.7:1", 200}, {"192.0.2.7:2", 429}, {"192.0.2.8:1", 200}, {"[2001:db8::1]:1", 200}, {"[2001:db8::ffff]:1", 429}, {"[2001:db8:0:1::1]:1", 200}} {
		login.remote = tc.remote
		if w := do(h, login); w.Code != tc.status {
			t.Errorf("login %d from %s: %d", i, tc.remote, w.Code)
		}
	}

	// Bad tokens become rate_limited; a good one from the same address is not held up.
	bad := post("AccountService/ListSessions", "guess", "{}")
	var got []int
	for range 4 {
		got = append(got, do(h, bad).Code)
	}
	if got[0] != 401 || got[1] != 401 || got[2] != 429 || got[3] != 429 {
		t.Errorf("guessing tokens: %v", got)
	}
	if w := do(h, post("AccountService/ListSessions", "alice", "{}")); w.Code != 200 {
		t.Errorf("good token beside: %d", w.Code)
	}
}

func TestLimiterIsBounded(t *testing.T) {
	now := time.Unix(0, 0)
	l := NewLimiter(LimiterOptions{
		Limits: map[Class]Limit{ClassRead: {PerSecond: 1, Burst: 1}}, MaxBuckets: 3, Now: func() time.Time { return now },
	})
	take := func(who string) bool { _, ok := l.take(ClassRead, who); return ok }
	if !take("a") || take("a") {
		t.Fatal("a bucket of one gives two")
	}
	for _, who := range []string{"b", "c", "d", "e", "f"} {
		take(who)
	}
	if n := l.buckets.Len(); n == 0 || n > 3 {
		t.Errorf("%d buckets, want 3 at most", n)
	}
	if take("f") {
		t.Error("the bucket used last was forgotten")
	}
	if !take("a") {
		t.Error("the oldest bucket was not forgotten")
	}
	if _, ok := l.take("none", "a"); !ok {
		t.Error("a class without a limit is limited")
	}
}

func TestAddressBehindProxies(t *testing.T) {
	trusted := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}
	for _, tc := range []struct {
		remote, forwarded, want string
	}{
		{"192.0.2.1:5", "", "192.0.2.1"},
		{"192.0.2.1:5", "203.0.113.9", "192.0.2.1"}, // not a trusted proxy: its word counts for nothing
		{"10.0.0.1:5", "", "10.0.0.1"},
		{"10.0.0.1:5", "203.0.113.9", "203.0.113.9"},
		{"10.0.0.1:5", "1.1.1.1, 203.0.113.9", "203.0.113.9"}, // what the client claims is not believed
		{"10.0.0.1:5", "203.0.113.9, 10.0.0.2", "203.0.113.9"},
		{"10.0.0.1:5", "10.0.0.3, 10.0.0.2", "10.0.0.3"},
		{"10.0.0.1:5", "203.0.113.9, junk", "10.0.0.1"},
		{"10.0.0.1:5", "203.0.113.9:4711", "203.0.113.9"},
		{"[fd00::1]:5", "[2001:db8::1]:80", "2001:db8::1"},
		{"[::ffff:10.0.0.1]:5", "::ffff:203.0.113.9", "203.0.113.9"},
		{"@", "", "invalid IP"},
	} {
		r := httptest.NewRequest("POST", "/", nil)
		r.RemoteAddr = tc.remote
		if tc.forwarded != "" {
			r.Header.Set("X-Forwarded-For", tc.forwarded)
		}
		if got := address(r, trusted).String(); got != tc.want {
			t.Errorf("%s for %q: %s, want %s", tc.remote, tc.forwarded, got, tc.want)
		}
		var seen string
		BehindProxies(trusted, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { seen = r.RemoteAddr })).ServeHTTP(nil, r)
		if got := parseAddr(seen).String(); got != tc.want {
			t.Errorf("%s for %q: the next handler sees %s, want %s", tc.remote, tc.forwarded, got, tc.want)
		}
	}
	r := httptest.NewRequest("POST", "/", nil)
	r.RemoteAddr = "10.0.0.1:5"
	r.Header["X-Forwarded-For"] = []string{"203.0.113.9", "203.0.113.10"}
	if got := address(r, trusted).String(); got != "203.0.113.10" {
		t.Errorf("two headers: %s", got)
	}
}

func TestHTTPOrigins(t *testing.T) {
	logic := &fakeLogic{call: func(context.Context, im.Actor, string, []byte) ([]byte, error) { return nil, nil }}
	h := NewHTTP(logic, HTTPOptions{Log: quiet(), Origins: []string{"https://chat.example"}})
	preflight := func(origin string) request {
		return request{method: "OPTIONS", path: "/api/skein.v1.AccountService/Logout", header: http.Header{
			"Origin": {origin}, "Access-Control-Request-Method": {"POST"},
		}}
	}
	w := do(h, preflight("https://chat.example"))
	if w.Code != 204 || w.Header().Get("Access-Control-Allow-Origin") != "https://chat.example" || w.Header().Get("Access-Control-Allow-Headers") != "Authorization, Content-Type, Idempotency-Key" {
		t.Errorf("preflight: %d %v", w.Code, w.Header())
	}
	if w.Header().Get("Access-Control-Allow-Credentials") != "" {
		t.Error("credentials are allowed")
	}
	for _, origin := range []string{"https://evil.example", "https://chat.example.evil.example", "http://chat.example", "null"} {
		if w := do(h, preflight(origin)); w.Header().Get("Access-Control-Allow-Origin") != "" || w.Code != 405 {
			t.Errorf("%s: %d %v", origin, w.Code, w.Header())
		}
	}
	w = do(h, post("AccountService/Logout", "alice", "{}").with("Origin", "https://chat.example"))
	if w.Code != 200 || w.Header().Get("Access-Control-Allow-Origin") != "https://chat.example" || !slices.Contains(w.Header()["Vary"], "Origin") {
		t.Errorf("call: %d %v", w.Code, w.Header())
	}
	if w := do(NewHTTP(logic, HTTPOptions{Log: quiet()}), preflight("https://chat.example")); w.Header().Get("Access-Control-Allow-Origin") != "" {
		t.Error("origins are allowed by default")
	}
}

func TestHTTPMetrics(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	h := NewHTTP(&fakeLogic{call: func(context.Context, im.Actor, string, []byte) ([]byte, error) { return nil, nil }}, HTTPOptions{Log: quiet(), Metrics: reg})
	do(h, post("AccountService/Logout", "alice", "{}"))
	do(h, post("AccountService/Logout", "bad", "{}"))
	do(h, post("Made/Up1", "alice", "{}"))
	do(h, post("Made/Up2", "alice", "{}"))
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := make(map[string]float64)
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == "skein_api_requests_total" {
				got[m.GetLabel()[0].GetValue()+" "+m.GetLabel()[1].GetValue()] = m.GetCounter().GetValue()
			}
		}
	}
	want := map[string]float64{
		"ok skein.v1.AccountService/Logout": 1, "token_invalid skein.v1.AccountService/Logout": 1, "unimplemented unknown": 2,
	}
	for name, n := range want {
		if got[name] != n {
			t.Errorf("%s: %v, want %v (all: %v)", name, got[name], n, got)
		}
	}
	if len(got) != len(want) {
		t.Errorf("labels: %v", got)
	}
}

// A body that breaks off is refused, not taken for a shorter one.
func TestHTTPBrokenBody(t *testing.T) {
	h := NewHTTP(&fakeLogic{call: func(context.Context, im.Actor, string, []byte) ([]byte, error) {
		t.Error("called")
		return nil, nil
	}}, HTTPOptions{Log: quiet()})
	r := httptest.NewRequest("POST", "/api/skein.v1.AccountService/Logout", io.MultiReader(strings.NewReader("{}"), brokenReader{}))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer alice")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if code, _ := errorOf(t, w); w.Code != 400 || code != im.CodeInvalidArgument {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }
