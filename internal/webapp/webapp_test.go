package webapp

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"
)

// built stands for an app: the page, a script in all its forms, an icon that is not worth compressing.
var built = fstest.MapFS{
	"unbuilt.html":         {Data: []byte("not built")},
	"index.html":           {Data: []byte("<page>")},
	"index.html.gz":        {Data: []byte("page in gzip")},
	"assets/a-1f.js":       {Data: []byte("plain script")},
	"assets/a-1f.js.br":    {Data: []byte("script in br")},
	"assets/a-1f.js.gz":    {Data: []byte("script in gzip")},
	"icons/192.png":        {Data: []byte("icon")},
	"manifest.webmanifest": {Data: []byte("{}")},
	"skein-widget.js":      {Data: []byte("widget")},
	"skein-widget.js.br":   {Data: []byte("widget in br")},
}

// next answers what the app leaves to others.
var next = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "next", http.StatusNotFound) })

func get(h http.Handler, path string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, path, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// TestPageForEveryPathThatABrowserOpens: every state of the app has a URL, and a
// reload of any is the app. What belongs to others stays theirs.
func TestPageForEveryPathThatABrowserOpens(t *testing.T) {
	h := handler(built, next)
	const browser = "text/html,application/xhtml+xml,*/*;q=0.8"
	for _, path := range []string{"/", "/c/dm:a:b", "/c/g:x/m/17", "/people", "/settings/devices", "/search?q=x", "/apiary"} {
		if w := get(h, path, "Accept", browser); w.Code != 200 || w.Body.String() != "<page>" {
			t.Errorf("%s: %d %q", path, w.Code, w.Body)
		}
	}
	for _, path := range []string{"/api", "/api/skein.v1.X/Y", "/ws", "/media/x", "/docs/nothing", "/claim", "/login/callback?code=x", "/export", "/livez", "/assets/old-3e.js", "/assets/"} {
		if w := get(h, path, "Accept", browser); w.Code != 404 || strings.TrimSpace(w.Body.String()) != "next" {
			t.Errorf("%s: %d %q, want the next handler's answer", path, w.Code, w.Body)
		}
	}
	if w := get(h, "/people", "Accept", "*/*"); w.Code != 404 {
		t.Errorf("a program that asks for a path that is none: %d", w.Code)
	}
	r := httptest.NewRequest(http.MethodPost, "/", nil)
	w := httptest.NewRecorder()
	if h.ServeHTTP(w, r); w.Code != 404 {
		t.Errorf("POST /: %d", w.Code)
	}
}

func TestFormsAndCaches(t *testing.T) {
	h := handler(built, next)
	const year = "public, max-age=31536000, immutable"
	for _, c := range []struct{ path, accept, body, coding, typ, cache string }{
		{"/assets/a-1f.js", "gzip, deflate, br", "script in br", "br", "text/javascript; charset=utf-8", year},
		{"/assets/a-1f.js", "br;q=0, gzip", "script in gzip", "gzip", "text/javascript; charset=utf-8", year},
		{"/assets/a-1f.js", "", "plain script", "", "text/javascript; charset=utf-8", year},
		{"/", "br, gzip", "page in gzip", "gzip", "text/html; charset=utf-8", "no-cache"},
		{"/icons/192.png", "br, gzip", "icon", "", "image/png", "no-cache"},
		{"/manifest.webmanifest", "br", "{}", "", "application/manifest+json", "no-cache"},
	} {
		w := get(h, c.path, "Accept-Encoding", c.accept)
		got := [...]string{w.Body.String(), w.Header().Get("Content-Encoding"), w.Header().Get("Content-Type"), w.Header().Get("Cache-Control")}
		if w.Code != 200 || got != [...]string{c.body, c.coding, c.typ, c.cache} {
			t.Errorf("%s (%s): %d %q", c.path, c.accept, w.Code, got)
		}
		again := get(h, c.path, "Accept-Encoding", c.accept, "If-None-Match", w.Header().Get("ETag"))
		if again.Code != 304 || again.Body.Len() != 0 {
			t.Errorf("%s again: %d", c.path, again.Code)
		}
	}
	if a, b := get(h, "/", "Accept-Encoding", "gzip").Header().Get("ETag"), get(h, "/").Header().Get("ETag"); a == b || a == "" {
		t.Errorf("one ETag, %s, for two forms", a)
	}
}

// TestPolicy: nothing inline, nothing from elsewhere, no text that becomes a script.
func TestPolicy(t *testing.T) {
	p := get(handler(built, next), "/").Header().Get("Content-Security-Policy")
	for _, want := range []string{"default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'", "frame-ancestors 'none'", "base-uri 'none'", "require-trusted-types-for 'script'", "trusted-types skein"} {
		if !strings.Contains(p, want) {
			t.Errorf("the policy has no %s: %s", want, p)
		}
	}
	for _, no := range []string{"unsafe", "http:", "https:", "*"} {
		if strings.Contains(p, no) {
			t.Errorf("the policy allows %s: %s", no, p)
		}
	}
}

// TestWidget: pages of other sites load it, and have a new one within minutes.
func TestWidget(t *testing.T) {
	h := handler(built, next)
	w := get(h, "/skein-widget.js", "Accept-Encoding", "br", "Origin", "https://shop.example")
	if w.Code != 200 || w.Body.String() != "widget in br" || w.Header().Get("Content-Encoding") != "br" {
		t.Errorf("%d %q %v", w.Code, w.Body, w.Header())
	}
	for name, want := range map[string]string{
		"Access-Control-Allow-Origin": "*", "Cross-Origin-Resource-Policy": "cross-origin", "X-Content-Type-Options": "nosniff",
		"Cache-Control": "public, max-age=300, stale-while-revalidate=86400", "Content-Type": "text/javascript; charset=utf-8", "Vary": "Accept-Encoding",
	} {
		if got := w.Header().Get(name); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
	if w := get(h, "/"); w.Header().Get("Access-Control-Allow-Origin") != "" || w.Header().Get("Cross-Origin-Resource-Policy") != "same-origin" {
		t.Errorf("the app's page: %v", w.Header())
	}
	if w := get(handler(fstest.MapFS{"unbuilt.html": built["unbuilt.html"]}, next), "/skein-widget.js"); w.Code != 404 {
		t.Errorf("a program without it: %d", w.Code)
	}
}

// TestUnbuilt: a program without the app says so, and how to get one.
func TestUnbuilt(t *testing.T) {
	h := handler(fstest.MapFS{"unbuilt.html": built["unbuilt.html"]}, next)
	if w := get(h, "/"); w.Code != 200 || w.Body.String() != "not built" {
		t.Errorf("%d %q", w.Code, w.Body)
	}
	if w := get(h, "/unbuilt.html"); w.Code != 404 {
		t.Errorf("the page is no file: %d", w.Code)
	}
	if w := get(Handler(next), "/"); w.Code != 200 || w.Body.Len() == 0 {
		t.Errorf("this very program: %d", w.Code)
	}
}
