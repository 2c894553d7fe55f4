package api

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/skein-im/skein/internal/im"
)

// Who may not call a method learns nothing of how its request has to look, and
// the server spends nothing on reading it: every method, with every kind of body
// that is wrong.
func TestHTTPAuthenticatesBeforeItReads(t *testing.T) {
	logic := &fakeLogic{call: func(context.Context, im.Actor, string, []byte) ([]byte, error) { return nil, nil }}
	h := NewHTTP(logic, HTTPOptions{Log: quiet(), Limiter: NewLimiter(LimiterOptions{Unlimited: true})})
	bodies := map[string]request{
		"empty":           {},
		"no JSON":         {body: "{"},
		"no object":       {body: "[1]"},
		"a type":          {body: `{"conversation":5}`},
		"deep":            {body: strings.Repeat(`{"a":`, 1000)},
		"far too long":    {body: `{"user":"` + strings.Repeat("x", 1<<20) + `"}`},
		"no type":         {body: "{}", header: http.Header{"Content-Type": {""}}},
		"another type":    {body: "{}", header: http.Header{"Content-Type": {"text/plain"}}},
		"broken protobuf": {body: "\xff\xff", header: http.Header{"Content-Type": {"application/proto"}}},
	}
	for _, m := range Methods() {
		for name, b := range bodies {
			ask := func(token string) (int, im.Code) {
				q := post(strings.TrimPrefix(m.Name, "skein.v1."), token, b.body)
				for k, v := range b.header {
					q.header[k] = v
				}
				w := do(h, q)
				if w.Code == http.StatusOK {
					return w.Code, ""
				}
				code, _ := errorOf(t, w)
				return w.Code, code
			}
			if status, code := ask("nobody's"); status != 401 || code != im.CodeTokenInvalid {
				t.Errorf("%s, %s, a bad token: %d %s", m.Name, name, status, code)
			}
			status, code := ask("")
			if open := m.Who == Anyone; !open && (status != 401 || code != im.CodeUnauthenticated) || open && status == 401 {
				t.Errorf("%s, %s, no token: %d %s", m.Name, name, status, code)
			}
			if m.Who >= Staff {
				if status, code := ask("alice"); status != 403 || code != im.CodePermissionDenied {
					t.Errorf("%s, %s, no administrator: %d %s", m.Name, name, status, code)
				}
			}
			if m.Who == User {
				if status, code := ask("key"); status != 403 || code != im.CodePermissionDenied {
					t.Errorf("%s, %s, the admin key: %d %s", m.Name, name, status, code)
				}
			}
		}
	}
}
