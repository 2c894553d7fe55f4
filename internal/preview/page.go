package preview

import (
	"bytes"
	"net/url"
	"strings"
	"unicode"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
	"golang.org/x/net/html/charset"
)

const (
	// How many characters are told.
	maxTitle, maxDescription, maxSite = 200, 400, 60
	// maxTokens is how many pieces of a page are looked at, maxToken how long one may be.
	maxTokens = 20_000
	maxToken  = maxPage
	// maxMarks is how many marks a character may have above and below it.
	maxMarks = 3
)

// page is what a page says of itself.
type page struct{ title, description, site, image string }

// readPage reads a page as far as its head goes. It is read as tokens, never as a tree: how
// deep it is nested costs nothing.
func readPage(g *got) (p page) {
	r, err := charset.NewReader(bytes.NewReader(g.body), g.kind)
	if err != nil {
		return page{}
	}
	z := html.NewTokenizer(r)
	z.SetMaxBuf(maxToken)
	meta := map[string]string{}
	title, inTitle := "", false
read:
	for range maxTokens {
		kind := z.Next()
		switch kind {
		case html.ErrorToken:
			break read
		case html.TextToken:
			if inTitle && title == "" {
				title = string(z.Text())
			}
		case html.StartTagToken, html.SelfClosingTagToken:
			t := z.Token()
			inTitle = t.DataAtom == atom.Title
			switch t.DataAtom {
			case atom.Meta:
				noteMeta(meta, &t)
			case atom.Body:
				break read
			}
		case html.EndTagToken:
			inTitle = false
			if name, _ := z.TagName(); string(name) == "head" {
				break read
			}
		}
	}
	first := func(names ...string) string {
		for _, n := range names {
			if s := meta[n]; s != "" {
				return s
			}
		}
		return ""
	}
	p.title = clean(first("og:title", "twitter:title"), maxTitle)
	if p.title == "" {
		p.title = clean(title, maxTitle)
	}
	p.description = clean(first("og:description", "twitter:description", "description"), maxDescription)
	p.site = clean(first("og:site_name", "application-name"), maxSite)
	if at, err := url.Parse(strings.TrimSpace(first("og:image:secure_url", "og:image", "og:image:url", "twitter:image"))); err == nil && at.String() != "" {
		p.image = g.at.ResolveReference(at).String()
	}
	return p
}

// noteMeta notes what a meta tag says, the first of each name.
func noteMeta(meta map[string]string, t *html.Token) {
	name, content := "", ""
	for _, a := range t.Attr {
		switch a.Key {
		case "property", "name":
			if name == "" {
				name = strings.ToLower(a.Val)
			}
		case "content":
			content = a.Val
		}
	}
	if _, ok := meta[name]; !ok && len(meta) < 200 && strings.TrimSpace(content) != "" {
		meta[name] = content
	}
}

// clean is a text as it is told: one line, without control characters and those that
// change the direction or are not seen, and not too long.
func clean(s string, most int) string {
	var out []rune
	marks := 0
	for _, r := range strings.ToValidUTF8(s, "\ufffd") {
		switch {
		case unicode.IsSpace(r):
			if len(out) == 0 || out[len(out)-1] == ' ' {
				continue
			}
			r, marks = ' ', 0
		case r == '\u200d': // it joins emojis
		case unicode.In(r, unicode.C):
			continue
		case unicode.In(r, unicode.M):
			if marks++; marks > maxMarks {
				continue
			}
		default:
			marks = 0
		}
		if out = append(out, r); len(out) > most {
			return strings.TrimRight(string(out[:most-1]), " ") + "…"
		}
	}
	return strings.TrimRight(string(out), " ")
}
