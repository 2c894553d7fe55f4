package entrycodec

import (
	"strings"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

func TestLink(t *testing.T) {
	for said, want := range map[string]string{
		"https://tea.example":                                 "https://tea.example",
		"see https://tea.example/green?a=1&b=2#c, please":     "https://tea.example/green?a=1&b=2#c",
		"HTTP://Tea.Example/X":                                "HTTP://Tea.Example/X",
		"first http://one.example then http://two.example":    "http://one.example",
		"(https://tea.example/a_(b))":                         "https://tea.example/a_(b)",
		"[tea](https://tea.example/a)":                        "https://tea.example/a",
		"<https://tea.example/a>":                             "https://tea.example/a",
		"**https://tea.example/a**":                           "https://tea.example/a",
		"\"https://tea.example/a\".":                          "https://tea.example/a",
		"看https://tea.example/绿茶，好":                           "https://tea.example/绿茶",
		"（https://tea.example/a）":                             "https://tea.example/a",
		"https://tea.example/a\u202egpj.exe":                  "https://tea.example/a",
		"https://tea.example/a...":                            "https://tea.example/a",
		"http://[2001:db8::1]/a":                              "http://[2001:db8::1]/a",
		"no link":                                             "",
		"tea.example":                                         "",
		"ftp://tea.example":                                   "",
		"xhttps://tea.example":                                "",
		"javascript:alert(1)":                                 "",
		"file:///etc/passwd":                                  "",
		"https://":                                            "",
		"https://user:pass@tea.example/":                      "",
		"https://tea.example@evil.example/":                   "",
		"https://tea.example/%zz":                             "",
		"https://tea.example/" + strings.Repeat("a", maxLink): "",
	} {
		if got := Link(text("text", said)); got != want {
			t.Errorf("%q: %q", said, got)
		}
	}
	if got := Link(text("com.example.own", "https://tea.example")); got != "" {
		t.Errorf("of another type: %q", got)
	}
}

// A message has the preview of its first link, until an edit gives it another; whoever
// makes the same again makes it under the same id, and of another link under another.
func TestPreviewFollowsTheLink(t *testing.T) {
	s, err := Open(Encode(&wire.Entry{Content: text("text", "see https://a.example")}), 0)
	if err != nil {
		t.Fatal(err)
	}
	at := time.UnixMilli(1000)
	e := &im.Entry{Conversation: "dm:a:b", Seq: 3, Stored: at}
	ask := func(url string) []byte {
		body, _ := Preview("dm:a:b", 3, &im.Preview{URL: url, Title: "T"}, &im.Upload{ID: "PIC"})
		return body
	}
	edit := func(to string) *wire.Entry {
		t.Helper()
		body, _ := Edit("dm:a:b", 3, &wire.Edit{Content: text("text", to)})
		told, err := s.Edit(body, at, at)
		var w wire.Entry
		if err != nil || Decode(told, &w) != nil {
			t.Fatal(err)
		}
		return &w
	}
	if _, ok, err := s.Preview(ask("https://b.example")); ok || err != nil {
		t.Error("it has the preview of another link", err)
	}
	first, _ := PreviewID(e, s)
	if _, ok, err := s.Preview(ask("https://a.example")); !ok || err != nil || s.WantsPreview() != "" {
		t.Error("it has none", err)
	}
	if _, ok, _ := s.Preview(ask("https://a.example")); ok {
		t.Error("it has it twice")
	}
	if w := edit("now https://a.example, and more"); w.Preview.GetTitle() != "T" || s.WantsPreview() != "" {
		t.Errorf("the same link: %v", w)
	}
	s, err = Open(s.Body(), 9)
	if err != nil {
		t.Fatal(err)
	}
	if id, ok := PreviewID(e, s); id != first || !ok || len(MediaIDs(s.Body())) != 1 || !AsksOf(s.Body()).Preview {
		t.Error("what it has is not found", ok, MediaIDs(s.Body()))
	}
	if w := edit("https://b.example"); w.Preview != nil || s.WantsPreview() != "https://b.example" || len(MediaIDs(s.Body())) != 0 {
		t.Errorf("another link: %v", w)
	}
	if id, ok := PreviewID(e, s); id == first || ok {
		t.Error("the next one is taken for the first")
	}
	if edit("no link"); s.WantsPreview() != "" {
		t.Error("it wants one without a link")
	}
	s.Told.Content = text("text", "https://a.example")
	for _, set := range []func(){func() { s.Told.Streaming = true }, func() { s.Told.Streaming, s.Told.NoPreview = false, true }} {
		if set(); s.WantsPreview() != "" {
			t.Error("it wants one while it grows, or although its author does not")
		}
	}
	_, plain := Message("dm:a:b", &wire.Send{Content: text("text", "x")})
	if _, other := Message("dm:a:b", &wire.Send{Content: text("text", "x"), NoPreview: true}); plain == other {
		t.Error("a message without previews is taken for one with them")
	}
}
