package entrycodec

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

// What is merged says of each message who wrote it first and when, as the catalogue has it.
func TestMerged(t *testing.T) {
	text := func(s string) *wire.Content {
		return &wire.Content{Type: "text", Body: &wire.Content_Text{Text: s}}
	}
	from := []Source{
		{Name: "Ann", Entry: im.Entry{Sender: "ann", Stored: time.UnixMilli(5), Body: Encode(&wire.Entry{Content: text(`"<hi>"`)})}},
		{Name: "Bob", Entry: im.Entry{Sender: "ann", Stored: time.UnixMilli(6), Body: Encode(&wire.Entry{Content: text("yo"), Forward: &wire.Forward{Sender: "bob", StoredAtMs: 2}})}},
		{Name: "Cid", Entry: im.Entry{Sender: "cid", Stored: time.UnixMilli(7), Body: Encode(&wire.Entry{Content: &wire.Content{Type: "com.example.x", Body: &wire.Content_Data{Data: []byte{1}}, Fallback: "x"}})}},
	}
	body, size, err := Merged("Tea", from, true)
	if err != nil {
		t.Fatal(err)
	}
	var w wire.Entry
	if err := Decode(body, &w); err != nil {
		t.Fatal(err)
	}
	if c := w.Content; c.GetType() != "merged" || c.GetFallback() != "Tea" || len(c.GetText()) != size || !w.Silent || w.Forward.GetMerged() != 3 || w.Forward.GetSender() != "" {
		t.Fatalf("%v, %d bytes", &w, size)
	}
	var got merged
	if err := json.Unmarshal([]byte(w.Content.GetText()), &got); err != nil {
		t.Fatal(err)
	}
	want := []mergedEntry{
		{Sender: "ann", Name: "Ann", AtMs: 5, Type: "text", Text: `"<hi>"`},
		{Sender: "bob", Name: "Bob", AtMs: 2, Type: "text", Text: "yo"},
		{Sender: "cid", Name: "Cid", AtMs: 7, Type: "com.example.x", Fallback: "x"},
	}
	if got.Title != "Tea" || len(got.Entries) != 3 {
		t.Fatalf("%+v", got)
	}
	for i := range want {
		if got.Entries[i] != want[i] {
			t.Errorf("%d: %+v, want %+v", i, got.Entries[i], want[i])
		}
	}
	if u, err := Author(&from[1].Entry); err != nil || u != "bob" {
		t.Errorf("the author of a copy: %q, %v", u, err)
	}
}

// A copy says what the message says, and that its links are to be left alone.
func TestCopy(t *testing.T) {
	said := wire.Entry{Content: &wire.Content{Type: "text", Body: &wire.Content_Text{Text: "see https://example.org"}}}
	for _, alone := range []bool{true, false} {
		said.NoPreview = alone
		body, err := Copy(&Source{Entry: im.Entry{Sender: "ann", Stored: time.UnixMilli(5), Body: Encode(&said)}}, true)
		if err != nil {
			t.Fatal(err)
		}
		var w wire.Entry
		if err := Decode(body, &w); err != nil {
			t.Fatal(err)
		}
		if w.Content.GetText() != said.Content.GetText() || w.NoPreview != alone || !w.Silent || w.Forward.GetSender() != "ann" || w.Forward.GetStoredAtMs() != 5 {
			t.Errorf("%v", &w)
		}
	}
}

// Two that ask for the same have the same hash, whatever the originals say; what is asked
// for otherwise has another.
func TestForwardHash(t *testing.T) {
	one := func(c im.ConversationID, seq uint64) []Source { return []Source{{Conversation: c, Seq: seq}} }
	said := one("dm:a:b", 1)
	said[0].Entry.Body, said[0].Name = []byte("x"), "Ann"
	h := ForwardHash("grp:g", one("dm:a:b", 1), nil, false)
	if ForwardHash("grp:g", said, nil, false) != h {
		t.Error("it depends on what the original says")
	}
	for name, other := range map[string]uint64{
		"to": ForwardHash("grp:h", one("dm:a:b", 1), nil, false), "from": ForwardHash("grp:g", one("dm:a:c", 1), nil, false),
		"seq": ForwardHash("grp:g", one("dm:a:b", 2), nil, false), "silent": ForwardHash("grp:g", one("dm:a:b", 1), nil, true),
		"merged": ForwardHash("grp:g", one("dm:a:b", 1), &wire.ForwardMerge{Title: "t"}, false), "title": ForwardHash("grp:g", one("dm:a:b", 1), &wire.ForwardMerge{Title: "u"}, false),
		"more": ForwardHash("grp:g", append(one("dm:a:b", 1), one("dm:a:b", 2)...), &wire.ForwardMerge{Title: "t"}, false),
	} {
		if other == h {
			t.Errorf("%s: the same hash", name)
		}
	}
	_, plain := Message("grp:g", &wire.Send{Content: &wire.Content{}})
	if plain == h {
		t.Error("as of a Send")
	}
}
