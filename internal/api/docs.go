package api

import (
	"bytes"
	"fmt"
	"html/template"
	"net/http"
	"regexp"
	"sync"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"

	documents "github.com/skein-im/skein/proto"
)

// document is a page of /docs/ that is written in Markdown.
type document struct {
	Title string
	// Body is trusted: the documents are part of the program.
	Body template.HTML
}

// docs adds /docs/: the protocol, its codes and the API as this server speaks
// them. The Markdown is rendered at the first visit and kept.
func (d *door) docs(mux *http.ServeMux) {
	page := template.Must(template.ParseFS(static, "static/document.html"))
	for path, source := range map[string]struct {
		title string
		text  []byte
	}{
		"/docs/{$}":   {"Skein", []byte(docsIndex)},
		"/docs/spec":  {"The Skein protocol", documents.Spec},
		"/docs/codes": {"Skein's codes", documents.Codes},
	} {
		rendered := sync.OnceValues(func() ([]byte, error) { return render(page, source.title, source.text) })
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) {
			text, err := rendered()
			if err != nil {
				d.o.Log.ErrorContext(r.Context(), "document not rendered", "path", path, "err", err)
				http.Error(w, "the server failed", http.StatusInternalServerError)
				return
			}
			secure(w.Header())
			w.Header().Set("Content-Security-Policy", pagePolicy)
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = w.Write(text)
		})
	}
	files := http.StripPrefix("/docs/proto/", http.FileServerFS(documents.Files))
	mux.HandleFunc("GET /docs/proto/skein/v1/{file}", func(w http.ResponseWriter, r *http.Request) {
		secure(w.Header())
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		files.ServeHTTP(w, r)
	})
	mux.Handle("GET /docs/api", http.RedirectHandler("/api/docs", http.StatusFound))
	mux.Handle("GET /docs", http.RedirectHandler("/docs/", http.StatusFound))
}

const docsIndex = `# Skein

- [The protocol](/docs/spec): what a client and this server say to each other over a connection.
- The messages, field by field, as protobuf: [frames](/docs/proto/skein/v1/frames.proto), [entries](/docs/proto/skein/v1/entry.proto), [methods](/docs/proto/skein/v1/services.proto).
- [Codes](/docs/codes): what a refusal or an end means, and what to do about it.
- [The API](/api/docs): every method, to read and to try; as [OpenAPI 3.1](/api/openapi.json) for generators.
`

var (
	// A numbered paragraph can be linked to, as /docs/spec#5.2.
	numbered = regexp.MustCompile(`<p><strong>([0-9]+\.[0-9]+)`)
	// In SPEC.md each begins a line, a paragraph of its own here.
	begins  = regexp.MustCompile(`(?m)^\*\*[0-9]+\.[0-9]+`)
	section = regexp.MustCompile(`<h2>([0-9]+) `)
	cited   = regexp.MustCompile(`§([0-9]+(?:\.[0-9]+)?)`)
	toCodes = regexp.MustCompile(`(?:<code>proto/)?CODES\.md(?:</code>)?`)
)

// render makes a page of Markdown, with anchors at numbered sections and links
// where one is cited.
func render(page *template.Template, title string, text []byte) ([]byte, error) {
	var body, out bytes.Buffer
	text = begins.ReplaceAll(text, []byte("\n$0"))
	if err := goldmark.New(goldmark.WithExtensions(extension.Table)).Convert(text, &body); err != nil {
		return nil, fmt.Errorf("render %s: %w", title, err)
	}
	b := cited.ReplaceAll(body.Bytes(), []byte(`<a href="/docs/spec#$1">§$1</a>`))
	b = numbered.ReplaceAll(b, []byte(`<p id="$1"><strong>$1`))
	b = section.ReplaceAll(b, []byte(`<h2 id="$1">$1 `))
	b = toCodes.ReplaceAll(b, []byte(`<a href="/docs/codes">CODES</a>`))
	if err := page.Execute(&out, document{Title: title, Body: template.HTML(b)}); err != nil {
		return nil, fmt.Errorf("render %s: %w", title, err)
	}
	return out.Bytes(), nil
}
