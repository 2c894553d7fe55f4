package search

import (
	"slices"
	"strings"
	"testing"

	"github.com/skein-im/skein/internal/entrycodec"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

// A link is an address with a host, whatever its case; text that only looks like one is
// none.
func TestLink(t *testing.T) {
	for text, want := range map[string]bool{
		"https://ok.example": true, "see HTTPS://UPPER.example now": true, "Http://mixed.example": true, "[text](https://md.example)": true,
		"http://[::1]/": true, "http://例え.jp": true, "": false, "http:// nohost": false, "xhttp://a.b": false, "https://": false, "http:/a": false, "example.org": false,
	} {
		if got := link.MatchString(text); got != want {
			t.Errorf("%q: %t", text, got)
		}
	}
}

// What is searched of a message is what its readers see of it, and each text has the path
// that SPEC §4.32 gives it.
func TestSaid(t *testing.T) {
	for _, tt := range []struct {
		kind, text, fallback string
		want                 []field
	}{
		{"text", "{\"name\":\"no body\"}", "", []field{{"text", `{"name":"no body"}`}}},
		{"location", `{"latitude":1,"longitude":2,"name":"Tea house","address":"1 Leaf Street"}`, "[place]", []field{{"fallback", "[place]"}, {"name", "Tea house"}, {"address", "1 Leaf Street"}}},
		{"poll", `{"question":"Which tea?","options":[{"id":"a","text":"green"},{"id":"b","text":"黑茶"}]}`, "", []field{{"question", "Which tea?"}, {"options[0].text", "green"}, {"options[1].text", "黑茶"}}},
		{"merged", `{"title":"Ann and Bob","entries":[{"sender":"ann","name":"Ann","type":"text","text":"hi"},{"sender":"bob","name":"Bob","type":"image","text":"{\"caption\":\"x\"}","fallback":"[picture]"}]}`, "", []field{{"title", "Ann and Bob"}, {"entries[0].text", "hi"}, {"entries[1].fallback", "[picture]"}}},
		{"com.example.seat", `{"name":7,"title":null,"options":{"text":"no list"},"entries":[1,"two",{"type":"text","text":["three"]}],"caption":"right"}`, "", []field{{"caption", "right"}}},
		{"custom", `{"name":`, "cut off", []field{{"fallback", "cut off"}}},
	} {
		body := entrycodec.Encode(&wire.Entry{Content: &wire.Content{Type: tt.kind, Body: &wire.Content_Text{Text: tt.text}, Fallback: tt.fallback}})
		s, ok := saidBy(&im.Entry{Kind: im.EntryMessage, Body: body})
		if !ok || s.kind != tt.kind || !slices.Equal(s.fields, tt.want) {
			t.Errorf("%s %s: %q, want %q", tt.kind, tt.text, s.fields, tt.want)
		}
	}
}

// What is found in many texts of a message is told at so many places.
func TestMatchesAreBounded(t *testing.T) {
	entries := strings.Repeat(`{"type":"text","text":"`+strings.Repeat("tea ", 80)+`"},`, 20)
	body := entrycodec.Encode(&wire.Entry{Content: &wire.Content{Type: "merged", Body: &wire.Content_Text{Text: `{"entries":[` + entries[:len(entries)-1] + `]}`}}})
	a, err := (&Question{Query: "tea"}).check()
	if err != nil {
		t.Fatal(err)
	}
	f, ok := a.means(&im.Entry{Kind: im.EntryMessage, Body: body})
	if !ok || len(f.Matches) != MaxMatches || f.Matches[0].Field != "entries[0].text" || f.Matches[MaxMatches-1].Field != "entries[4].text" {
		t.Errorf("%t, %d places", ok, len(f.Matches))
	}
}
