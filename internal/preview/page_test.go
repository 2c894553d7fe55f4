package preview

import (
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"
)

func pageOf(kind, body string) page {
	at, _ := url.Parse("https://tea.example/green/leaf")
	return readPage(&got{body: []byte(body), kind: kind, at: at})
}

func TestPages(t *testing.T) {
	for what, tt := range map[string]struct {
		kind, body string
		want       page
	}{
		"open graph": {"text/html; charset=utf-8", `<html><head><title>t</title><meta property="og:title" content="Green &amp; fine"><meta property='og:description' content="How"><meta property="og:site_name" content=Tea><meta property="og:image" content="/pic.png"></head>`, page{"Green & fine", "How", "Tea", "https://tea.example/pic.png"}},
		"plain": {"text/html", `<TITLE> Green
 tea </TITLE><META NAME="Description" CONTENT="made well">`, page{title: "Green tea", description: "made well"}},
		"twitter":      {"text/html", `<meta name="twitter:title" content="T"><meta name="twitter:image" content="pic.jpg">`, page{title: "T", image: "https://tea.example/green/pic.jpg"}},
		"gb18030":      {"text/html; charset=gb18030", "<title>\xc2\xcc\xb2\xe8</title>", page{title: "绿茶"}},
		"by its meta":  {"text/html", "<meta charset=shift_jis><title>\x97\xce\x92\x83</title>", page{title: "緑茶"}},
		"in the body":  {"text/html", `<body><title>no</title><meta property="og:title" content="no">`, page{}},
		"behind":       {"text/html", `<head></head><meta property="og:title" content="no">`, page{}},
		"in a script":  {"text/html", `<script>"<title>no</title>"</script><title>yes</title>`, page{title: "yes"}},
		"in a comment": {"text/html", `<!-- <title>no</title> --><title>yes</title>`, page{title: "yes"}},
		"empty":        {"text/html", ``, page{}},
		"data picture": {"text/html", `<title>t</title><meta property="og:image" content="data:image/png;base64,AAAA">`, page{title: "t", image: "data:image/png;base64,AAAA"}},
		"directions":   {"text/html", "<title>a\u202eb\u2066c\u200fd\u061c\u200be\ufefff\x00\x1b[31m</title>", page{title: "abcdef\ufffd[31m"}},
		"marks":        {"text/html", "<title>Z" + strings.Repeat("\u0301", 500) + "a</title>", page{title: "Z\u0301\u0301\u0301a"}},
		"emoji":        {"text/html", "<title>👩\u200d🚀</title>", page{title: "👩\u200d🚀"}},
		"deep":         {"text/html", strings.Repeat("<div>", maxTokens+1) + "<title>no</title>", page{}},
		"markup":       {"text/html", `<title>&lt;script&gt;alert(1)&lt;/script&gt;</title>`, page{title: "<script>alert(1)</script>"}},
	} {
		if p := pageOf(tt.kind, tt.body); p != tt.want {
			t.Errorf("%s: %+q", what, p)
		}
	}
	long := pageOf("text/html", "<title>"+strings.Repeat("长 ", 4000)+"</title><meta name=description content='"+strings.Repeat("x", 9000)+"'>")
	if n := utf8.RuneCountInString(long.title); n > maxTitle || n < maxTitle-1 || !strings.HasSuffix(long.title, "…") || utf8.RuneCountInString(long.description) != maxDescription {
		t.Errorf("%d characters: %q", n, long.title)
	}
}

// Whatever a page is, what is told of it is bounded text.
func FuzzPage(f *testing.F) {
	f.Add("text/html", "<title>a</title><meta property=og:image content=x>")
	f.Add("text/html; charset=utf-16", "\xff\xfe<\x00t\x00i\x00t\x00l\x00e\x00>\x00a\x00")
	f.Add("text/html; charset=iso-2022-jp", "\x1b$B<title>")
	f.Fuzz(func(t *testing.T, kind, body string) {
		p := pageOf(kind, body)
		for s, most := range map[string]int{p.title: maxTitle, p.description: maxDescription, p.site: maxSite} {
			if !utf8.ValidString(s) || utf8.RuneCountInString(s) > most || strings.ContainsAny(s, "\n\r\x00\x1b\u202e\u2066\u200f") {
				t.Errorf("%q", s)
			}
		}
	})
}
