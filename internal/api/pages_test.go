package api

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

func TestPagesAreClosed(t *testing.T) {
	h := NewHTTP(&fakeLogic{}, HTTPOptions{Log: quiet()})
	for path, kind := range map[string]string{
		"/docs/": "text/html; charset=utf-8", "/docs/spec": "text/html; charset=utf-8", "/docs/codes": "text/html; charset=utf-8",
		"/api/docs": "text/html; charset=utf-8", "/claim": "text/html; charset=utf-8", "/api/docs.js": "text/javascript; charset=utf-8",
		"/api/pages.css": "text/css; charset=utf-8", "/api/openapi.json": "application/json",
	} {
		w := do(h, request{method: "GET", path: path})
		if w.Code != 200 || w.Header().Get("Content-Type") != kind || w.Header().Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %d %v", path, w.Code, w.Header())
		}
		policy := w.Header().Get("Content-Security-Policy")
		if !strings.HasPrefix(policy, "default-src 'none'") || strings.Contains(policy, "unsafe") || !strings.Contains(policy, "frame-ancestors 'none'") {
			t.Errorf("%s: policy %q", path, policy)
		}
		if kind != "text/html; charset=utf-8" {
			continue
		}
		page := w.Body.String()
		for what, bad := range map[string]string{
			"inline script": `<script(>| [^>]*[^/]>[^<])`, "inline handler": `\son[a-z]+=`, "inline style": `<style|style=`,
			"foreign resource": `(src|href|action)="(https?:)?//`,
		} {
			if m := regexp.MustCompile(bad).FindString(page); m != "" {
				t.Errorf("%s has an %s: %s", path, what, m)
			}
		}
	}
	script := do(h, request{method: "GET", path: "/api/docs.js"}).Body.String()
	if m := regexp.MustCompile(`innerHTML|outerHTML|insertAdjacent|document\.write|eval\(|localStorage|https?://`).FindString(script); m != "" {
		t.Errorf("docs.js uses %s", m)
	}
	if w := do(h, request{method: "GET", path: "/"}); w.Code != 302 || w.Header().Get("Location") != "/docs/" {
		t.Errorf("/: %d %v", w.Code, w.Header())
	}
	// With the web app / is its own, and so is what no path of the door's has; it hands back what it does not know.
	web := NewHTTP(&fakeLogic{}, HTTPOptions{Web: func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/gone" {
				next.ServeHTTP(w, r)
				return
			}
			w.WriteHeader(http.StatusTeapot)
		})
	}})
	for path, want := range map[string]int{"/": 418, "/people": 418, "/gone": 404, "/docs/": 200, "/claim": 200, "/api/x": 404} {
		if w := do(web, request{method: "GET", path: path}); w.Code != want {
			t.Errorf("%s with the web app: %d, want %d", path, w.Code, want)
		}
	}
	if w := do(h, request{method: "GET", path: "/api/static/claim.html"}); w.Code != 404 {
		t.Errorf("template is served: %d", w.Code)
	}
}

func claimRequest(values url.Values, origin string) request {
	h := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}
	if origin != "" {
		h.Set("Origin", origin)
	}
	return request{method: "POST", path: "/claim", body: values.Encode(), header: h}
}

func TestClaim(t *testing.T) {
	var log bytes.Buffer
	var calls []string
	logic := &fakeLogic{call: func(_ context.Context, actor im.Actor, method string, payload []byte) ([]byte, error) {
		calls = append(calls, method+" by "+string(actor.User))
		if method == logoutMethod {
			return nil, nil
		}
		var in wire.ClaimAdminRequest
		if err := proto.Unmarshal(payload, &in); err != nil {
			return nil, err
		}
		if in.GetCode() != "c0de" || actor.Address != "192.0.2.1" {
			return nil, im.Errorf(im.CodePermissionDenied, "this code is not valid")
		}
		return proto.Marshal(&wire.ClaimAdminResponse{Tokens: &wire.Tokens{AccessToken: "root"}})
	}}
	h := NewHTTP(logic, HTTPOptions{Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})

	w := do(h, request{method: "GET", path: "/claim?code=" + url.QueryEscape(`c0de"><script>alert(1)</script>`)})
	if w.Code != 200 || strings.Contains(w.Body.String(), "<script>") || !strings.Contains(w.Body.String(), `value="c0de&#34;&gt;`) {
		t.Errorf("form: %d %s", w.Code, w.Body)
	}
	for name, want := range map[string]string{"Referrer-Policy": "no-referrer", "Cache-Control": "no-store"} {
		if got := w.Header().Get(name); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}

	form := url.Values{"code": {"c0de"}, "username": {"boss"}, "password": {"correct horse"}, "again": {"correct horse"}}
	changed := func(name, value string) url.Values {
		v := url.Values{}
		for k := range form {
			v.Set(k, form.Get(k))
		}
		v.Set(name, value)
		return v
	}
	for name, tc := range map[string]struct {
		q      request
		status int
		says   string
	}{
		"wrong code":   {claimRequest(changed("code", "nope"), ""), 403, "this code is not valid"},
		"passwords":    {claimRequest(changed("again", "other"), ""), 400, "differ"},
		"another site": {claimRequest(form, "https://evil.example"), 403, "another site"},
		"far too long": {claimRequest(changed("password", strings.Repeat("x", 20<<10)), ""), 400, "completely"},
		"code in the URL": {request{method: "POST", path: "/claim?code=c0de&username=boss&password=x&again=x",
			header: http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}}, 403, "not valid"},
	} {
		w := do(h, tc.q)
		if w.Code != tc.status || !strings.Contains(w.Body.String(), tc.says) || strings.Contains(w.Body.String(), "correct horse") {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
	}

	calls = nil
	w = do(h, claimRequest(form, "http://example.com")) // httptest's own host
	if w.Code != 200 || !strings.Contains(w.Body.String(), "<strong>boss</strong>") || strings.Contains(w.Body.String(), "c0de") {
		t.Errorf("claim: %d %s", w.Code, w.Body)
	}
	if len(calls) != 2 || calls[0] != claimMethod+" by " || calls[1] != logoutMethod+" by root" {
		t.Errorf("calls: %v", calls)
	}
	for _, secret := range []string{"c0de", "correct horse"} {
		if strings.Contains(log.String(), secret) {
			t.Errorf("%q is in the log: %s", secret, log.String())
		}
	}
}

// Guessing the code is counted like guessing a password.
func TestClaimIsLimited(t *testing.T) {
	h := NewHTTP(&fakeLogic{call: func(context.Context, im.Actor, string, []byte) ([]byte, error) {
		return nil, im.Errorf(im.CodePermissionDenied, "this code is not valid")
	}}, HTTPOptions{Log: quiet(), Limiter: NewLimiter(LimiterOptions{Limits: map[Class]Limit{ClassCredential: {PerSecond: 0.001, Burst: 2}}})})
	q := claimRequest(url.Values{"code": {"guess"}, "username": {"boss"}, "password": {"12345678"}, "again": {"12345678"}}, "")
	for i, want := range []int{403, 403, 429} {
		if w := do(h, q); w.Code != want {
			t.Errorf("guess %d: %d", i, w.Code)
		}
	}
}
