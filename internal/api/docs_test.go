package api

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/skein-im/skein/internal/im"
	documents "github.com/skein-im/skein/proto"
)

// Each frame, field by field, is on the server, where SPEC and the index say.
func TestFramesCanBeRead(t *testing.T) {
	h := NewHTTP(&fakeLogic{}, HTTPOptions{Log: quiet()})
	for file, has := range map[string]string{"frames.proto": "message WatchPresence {", "entry.proto": "message Entry {", "services.proto": "message SetMyStateRequest {"} {
		w := do(h, request{method: http.MethodGet, path: "/docs/proto/skein/v1/" + file})
		if w.Code != http.StatusOK || w.Header().Get("Content-Type") != "text/plain; charset=utf-8" || !strings.Contains(w.Body.String(), has) {
			t.Errorf("%s: %d %v", file, w.Code, w.Header())
		}
		if !strings.Contains(docsIndex, file) || !strings.Contains(string(documents.Spec), file) {
			t.Errorf("%s is not named", file)
		}
	}
}

// The documents on the server are whole, and every link in them leads somewhere.
func TestDocuments(t *testing.T) {
	h := NewHTTP(&fakeLogic{}, HTTPOptions{Log: quiet()})
	get := func(path string) string {
		w := do(h, request{method: http.MethodGet, path: path})
		if w.Code != http.StatusOK || w.Header().Get("Content-Type") != "text/html; charset=utf-8" || w.Header().Get("Content-Security-Policy") != pagePolicy {
			t.Errorf("%s: %d %v", path, w.Code, w.Header())
		}
		return w.Body.String()
	}
	pages := map[string]string{"/docs/": get("/docs/"), "/docs/spec": get("/docs/spec"), "/docs/codes": get("/docs/codes"), "/api/docs": get("/api/docs")}
	for _, m := range regexp.MustCompile(`(?m)^\*\*([0-9]+\.[0-9]+)`).FindAllStringSubmatch(string(documents.Spec), -1) {
		if !strings.Contains(pages["/docs/spec"], `id="`+m[1]+`"`) {
			t.Errorf("§%s cannot be linked to", m[1])
		}
	}
	for _, c := range im.Codes() {
		if !strings.Contains(pages["/docs/codes"], "<code>"+string(c.Code)+"</code>") {
			t.Errorf("the codes do not have %s", c.Code)
		}
	}
	for path, text := range pages {
		for _, m := range regexp.MustCompile(`href="([^"#]*)(?:#([^"]*))?"`).FindAllStringSubmatch(text, -1) {
			if to := m[1]; to != "" && do(h, request{method: http.MethodGet, path: to}).Code != http.StatusOK {
				t.Errorf("%s: nothing is at %s", path, to)
			} else if m[2] != "" && !strings.Contains(pages[to], `id="`+m[2]+`"`) {
				t.Errorf("%s: %s has no section %s", path, to, m[2])
			}
		}
	}
	for from, to := range map[string]string{"/docs": "/docs/", "/docs/api": "/api/docs", "/": "/docs/"} {
		if w := do(h, request{method: http.MethodGet, path: from}); w.Code != http.StatusFound || w.Header().Get("Location") != to {
			t.Errorf("%s: %d %v", from, w.Code, w.Header())
		}
	}
	for _, path := range []string{"/docs/nothing", "/docs/proto/skein/v1/nothing.proto"} {
		if w := do(h, request{method: http.MethodGet, path: path}); w.Code != http.StatusNotFound {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
}
