// Package webapp serves the web app, which is built into the program: `make web`
// writes it to dist, and go:embed takes it from there. A program that was built
// without it serves a small page that says so (ADR 9).
//
// It owns the app's files, how they are cached, and the policy that its page
// lives under. It must not know the API: what is no file of the app and no page
// that a browser opens goes to the next handler.
//
// Invariants: a file under assets/ has its hash in its name and never changes, so
// it is cached for a year. Everything else is asked for again each time, by its
// ETag. The page may load, and connect to, nothing but its own origin; it has no
// inline script or style, and no text becomes a script (Trusted Types). Nobody
// frames the app. The widget is what other sites' pages load, by a name that stays:
// it may be loaded from anywhere, and is asked for again after some minutes.
package webapp

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"
	"time"
)

//go:embed all:dist
var dist embed.FS

// unbuilt is the page of a program that was built without the app; it is committed.
const unbuilt = "unbuilt.html"

// policy is the page's Content-Security-Policy.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; img-src 'self' blob: data:; " +
	"media-src 'self' blob:; connect-src 'self'; worker-src 'self'; manifest-src 'self'; form-action 'self'; base-uri 'none'; " +
	"frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types skein"

// widget is the script for pages of other sites (docs/embedding.md). It says nothing that
// is not public; who may use the API from such a page is http.origins.
const widget = "skein-widget.js"

// apart are paths that belong to others, whoever asks for them: a browser that
// opens one learns that there is nothing, and not that there is an app.
var apart = []string{"/api", "/ws", "/media", "/export", "/docs", "/claim", "/login/callback", "/livez", "/readyz", "/metrics"}

// file is one file of the app, as it is sent.
type file struct {
	name  string
	typ   string
	etag  string
	plain []byte
	// forms are the file compressed, by the name of the coding; nil where that is no use.
	forms map[string][]byte
}

// codings are tried in this order.
var codings = []struct{ name, suffix string }{{"br", ".br"}, {"gzip", ".gz"}}

// app is the files by their paths, "/assets/index-1a2b.js".
type app struct {
	files map[string]*file
	page  *file
	next  http.Handler
}

// Handler serves the app: its files, and its page for each path that a browser
// opens. Everything else goes to next.
func Handler(next http.Handler) http.Handler {
	sub, err := fs.Sub(dist, "dist")
	if err != nil {
		panic(err) // dist is a constant
	}
	return handler(sub, next)
}

// Built reports whether the program has the app.
func Built() bool {
	_, err := fs.Stat(dist, "dist/index.html")
	return err == nil
}

func handler(files fs.FS, next http.Handler) http.Handler {
	a := &app{files: make(map[string]*file), next: next}
	err := fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(name, ".br") || strings.HasSuffix(name, ".gz") {
			return err
		}
		f, err := read(files, name)
		a.files["/"+name] = f
		return err
	})
	if err != nil {
		panic(err) // they are part of the program
	}
	a.page = a.files["/index.html"]
	if a.page == nil {
		a.page = a.files["/"+unbuilt]
	}
	delete(a.files, "/index.html")
	delete(a.files, "/"+unbuilt)
	return a
}

func read(files fs.FS, name string) (*file, error) {
	plain, err := fs.ReadFile(files, name)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(plain)
	f := &file{name: name, typ: typeOf(name), etag: `"` + base64.RawURLEncoding.EncodeToString(sum[:12]), plain: plain}
	for _, c := range codings {
		b, err := fs.ReadFile(files, name+c.suffix)
		if err != nil {
			continue
		}
		if f.forms == nil {
			f.forms = make(map[string][]byte)
		}
		f.forms[c.name] = b
	}
	return f, nil
}

// typeOf does not ask the operating system, whose tables differ.
func typeOf(name string) string {
	switch path.Ext(name) {
	case ".html":
		return "text/html; charset=utf-8"
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	case ".webmanifest":
		return "application/manifest+json"
	case ".json":
		return "application/json"
	case ".svg":
		return "image/svg+xml"
	case ".png":
		return "image/png"
	case ".woff2":
		return "font/woff2"
	}
	if t := mime.TypeByExtension(path.Ext(name)); t != "" {
		return t
	}
	return "application/octet-stream"
}

func (a *app) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		a.next.ServeHTTP(w, r)
		return
	}
	if f := a.files[r.URL.Path]; f != nil {
		f.serve(w, r)
		return
	}
	if !opens(r) {
		a.next.ServeHTTP(w, r)
		return
	}
	a.page.serve(w, r)
}

// opens reports whether a browser opens a page of the app. A path with a dot is a
// file's: one that is not there is not the page, or an old page would take it for a script.
func opens(r *http.Request) bool {
	p := r.URL.Path
	for _, other := range apart {
		if p == other || strings.HasPrefix(p, other+"/") {
			return false
		}
	}
	if strings.HasPrefix(p, "/assets/") {
		return false
	}
	return p == "/" || strings.Contains(r.Header.Get("Accept"), "text/html")
}

func (f *file) serve(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	body, coding := f.form(r.Header.Get("Accept-Encoding"))
	h.Set("Content-Type", f.typ)
	h.Set("X-Content-Type-Options", "nosniff")
	if f.name == widget {
		elsewhere(h)
	} else {
		own(h, strings.HasPrefix(f.name, "assets/"))
	}
	if f.forms != nil {
		h.Add("Vary", "Accept-Encoding")
	}
	// One for each coding: they are other bytes.
	etag := f.etag + coding + `"`
	h.Set("ETag", etag)
	if strings.Contains(r.Header.Get("If-None-Match"), etag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	if coding == "" {
		// No compression on the way: what is worth it is compressed already.
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(body))
		return
	}
	h.Set("Content-Encoding", coding)
	w.WriteHeader(http.StatusOK)
	if r.Method != http.MethodHead {
		_, _ = w.Write(body)
	}
}

// own are the headers of what belongs to the app's own page.
func own(h http.Header, named bool) {
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), microphone=(self), geolocation=(self)")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Content-Security-Policy", policy)
	if named {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	} else {
		h.Set("Cache-Control", "no-cache")
	}
}

// elsewhere are the headers of the widget: any site may load it, also with integrity
// (which needs CORS) and where the site's policy asks of all that it loads to say so.
// After an upgrade pages have the new one within minutes, and none waits for it.
func elsewhere(h http.Header) {
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Cross-Origin-Resource-Policy", "cross-origin")
	h.Set("Cache-Control", "public, max-age=300, stale-while-revalidate=86400")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'") // opened by itself it is a text
}

// form chooses the smallest form that the browser takes.
func (f *file) form(accept string) (body []byte, coding string) {
	for _, c := range codings {
		if b := f.forms[c.name]; b != nil && accepts(accept, c.name) {
			return b, c.name
		}
	}
	return f.plain, ""
}

func accepts(header, coding string) bool {
	for part := range strings.SplitSeq(header, ",") {
		name, q, _ := strings.Cut(strings.TrimSpace(part), ";")
		if strings.EqualFold(strings.TrimSpace(name), coding) {
			q = strings.ReplaceAll(q, " ", "")
			return q != "q=0" && q != "q=0.0" && q != "q=0.00" && q != "q=0.000"
		}
	}
	return false
}
