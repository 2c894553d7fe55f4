package entrycodec

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

func text(kind, s string) *wire.Content {
	return &wire.Content{Type: kind, Body: &wire.Content_Text{Text: s}}
}

// The hash tells two messages apart in every field, also where one field ends
// and the next begins; it is stored, so it must never change.
func TestHash(t *testing.T) {
	base := func() *wire.Send {
		return &wire.Send{Content: text("text", "hi"), ReplyTo: 3, Mentions: []string{"x", "y"}}
	}
	_, first := Message("dm:a:b", base())
	if first != 0xf66934b886fefa07 {
		t.Errorf("the hash changed: %#x; every stored id would conflict with its resend", first)
	}
	seen := map[uint64]string{first: "base"}
	different := func(name string, h uint64) {
		t.Helper()
		if other, ok := seen[h]; ok {
			t.Errorf("%s and %s have the same hash", name, other)
		}
		seen[h] = name
	}
	_, h := Message("dm:a:c", base())
	different("conversation", h)
	for name, change := range map[string]func(*wire.Send){
		"type":        func(s *wire.Send) { s.Content = text("texth", "i") },
		"body":        func(s *wire.Send) { s.Content = text("text", "ho") },
		"data":        func(s *wire.Send) { s.Content.Body = &wire.Content_Data{Data: []byte("hi")} },
		"reply":       func(s *wire.Send) { s.ReplyTo = 4 },
		"mentions":    func(s *wire.Send) { s.Mentions = []string{"xy"} },
		"no mentions": func(s *wire.Send) { s.Mentions = nil },
		"fallback":    func(s *wire.Send) { s.Content.Fallback = "z" },
		"mention":     func(s *wire.Send) { s.Mentions = append(s.Mentions, "z") },
		"extra":       func(s *wire.Send) { s.Extra = map[string]string{"a": "bc", "d": ""} },
		"extra 2":     func(s *wire.Send) { s.Extra = map[string]string{"a": "b", "c": "d"} },
		"extra 3":     func(s *wire.Send) { s.Extra = map[string]string{"a": "bcd"} },
		"extra 4":     func(s *wire.Send) { s.Extra = map[string]string{"abcd": ""} },
		"extra 5":     func(s *wire.Send) { s.Extra = map[string]string{"z": ""} },
		"both":        func(s *wire.Send) { s.Content.Fallback, s.Extra = "z", map[string]string{"z": ""} },
	} {
		s := base()
		change(s)
		_, h := Message("dm:a:b", s)
		different(name, h)
	}
	different("recall", RecallHash("dm:a:b", 3))
	different("recall of another", RecallHash("dm:a:b", 4))
	different("recall elsewhere", RecallHash("dm:a:c", 3))
	other := base()
	other.Id = make([]byte, 16)
	if _, h := Message("dm:a:b", other); h != first {
		t.Error("the id is not part of what a message says")
	}
}

// Keys have no order: the same extra is the same message, and the same bytes.
func TestExtraHasNoOrder(t *testing.T) {
	s := &wire.Send{Content: text("text", "hi"), Extra: map[string]string{}}
	for _, k := range []string{"d", "a", "c", "b", "f", "e", "h", "g"} {
		s.Extra[k] = k + k
	}
	body, h := Message("dm:a:b", s)
	if h != 0x85c48e6945e64afc {
		t.Errorf("the hash changed: %#x; every stored id would conflict with its resend", h)
	}
	for range 50 {
		if again, g := Message("dm:a:b", s); g != h || string(again) != string(body) {
			t.Fatalf("%x, %#x, and then %x, %#x", body, h, again, g)
		}
	}
	empty := &wire.Send{Content: text("text", "hi")}
	_, none := Message("dm:a:b", empty)
	empty.Extra = map[string]string{}
	if _, got := Message("dm:a:b", empty); got != none {
		t.Error("an empty extra is another message than none")
	}
}

// Both ways to decode a body give what was encoded, also of a newer version that
// has more fields, and a box is used again without leaving anything.
func TestRoundTrip(t *testing.T) {
	var box Box
	var again wire.Entry
	rapid.Check(t, func(t *rapid.T) {
		want := &wire.Entry{
			ReplyTo:  rapid.SampledFrom([]uint64{0, 1, 1 << 60}).Draw(t, "reply"),
			Mentions: rapid.SliceOfN(rapid.StringMatching(`[a-z]{1,9}`), 0, 3).Draw(t, "mentions"),
		}
		switch rapid.IntRange(0, 4).Draw(t, "content") {
		case 0:
			want.Content = text("text", rapid.String().Draw(t, "text"))
		case 1:
			want.Content = &wire.Content{Type: "x.y", Body: &wire.Content_Data{Data: rapid.SliceOf(rapid.Byte()).Draw(t, "data")}}
		case 2:
			want.Content = &wire.Content{Type: "empty"}
		case 3:
			want.Event = &wire.Event{Type: wire.EventType_EVENT_TYPE_MEMBER_MUTED, Users: []string{"a", "b"}, UntilMs: 7, Text: "why"}
		}
		body := Encode(want)
		if rapid.Bool().Draw(t, "extra") {
			want.Extra = rapid.MapOfN(rapid.StringMatching(`[a-z]{1,3}`), rapid.String(), 1, 4).Draw(t, "map")
			body = Encode(want)
		}
		if c := want.Content; c != nil && rapid.Bool().Draw(t, "fallback") {
			c.Fallback = "instead"
			body = Encode(want)
		}
		if rapid.Bool().Draw(t, "newer") { // field 99
			body = append(body, 0x9a, 0x06, 2, 'h', 'i')
			want = proto.Clone(want).(*wire.Entry)
			want.ProtoReflect().SetUnknown([]byte{0x9a, 0x06, 2, 'h', 'i'})
		}
		var got wire.Entry
		if err := Decode(body, &got); err != nil || !proto.Equal(&got, want) {
			t.Fatalf("%v: %v, want %v", err, &got, want)
		}
		if box.Odd() {
			again.Reset()
		}
		again.Content, again.ReplyTo, again.Mentions, again.Event = nil, 0, again.Mentions[:0], nil
		if err := box.Decode(body, &again); err != nil || !proto.Equal(&again, want) {
			t.Fatalf("in a box: %v: %v, want %v", err, &again, want)
		}
		box.Clear()
	})
}

// No bytes bring the decoder down, and what is no body is refused, not guessed.
func TestDecodeRefuses(t *testing.T) {
	for name, body := range map[string]string{
		"a later form": "\x01abc", "cut off": "\x3a\x05\x0a", "no field": "\x07", "a length beyond the end": "\x4a\xff\xff\xff\xff\x7f",
	} {
		var w, boxed wire.Entry
		var box Box
		if err := Decode([]byte(body), &w); !errors.Is(err, ErrBody) {
			t.Errorf("%s: %v", name, err)
		}
		if err := box.Decode([]byte(body), &boxed); !errors.Is(err, ErrBody) {
			t.Errorf("%s, in a box: %v", name, err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(Encode(&wire.Entry{Content: text("text", "hi"), ReplyTo: 3, Mentions: []string{"x"}})))
	f.Add([]byte(Encode(&wire.Entry{Event: &wire.Event{Users: []string{"a"}}})))
	f.Fuzz(func(t *testing.T, body []byte) {
		var w, boxed wire.Entry
		var box Box
		a, b := Decode(body, &w), box.Decode(body, &boxed)
		if (a == nil) != (b == nil) {
			t.Fatalf("%v, in a box %v", a, b)
		}
	})
}

func TestEvents(t *testing.T) {
	until := time.UnixMilli(1_800_000_000_123).UTC()
	for _, want := range []*im.Event{
		{Type: im.EventGroupRenamed, Text: "new"},
		{Type: im.EventLifetimeChanged, Lifetime: 24 * time.Hour},
		{Type: im.EventMemberMuted, Users: []im.UserID{"a", "b"}, Role: im.RoleAdmin, Until: until},
		{},
	} {
		e := im.Entry{Kind: im.EntryEvent, Body: Event(want)}
		if err := SetEvent(&e); err != nil {
			t.Fatal(err)
		}
		if e.Event.Type != want.Type || e.Event.Lifetime != want.Lifetime || e.Event.Text != want.Text || e.Event.Role != want.Role || len(e.Event.Users) != len(want.Users) || !e.Event.Until.Equal(want.Until) {
			t.Errorf("%+v, want %+v", e.Event, want)
		}
	}
	m := im.Entry{Kind: im.EntryMessage, Body: Encode(&wire.Entry{Content: text("text", "hi")})}
	if err := SetEvent(&m); err != nil || m.Event != nil {
		t.Errorf("a message: %v, %v", m.Event, err)
	}
	if err := SetEvent(&im.Entry{Kind: im.EntryEvent, Body: []byte{1}}); !errors.Is(err, ErrBody) {
		t.Errorf("a damaged event: %v", err)
	}
}

// What was kept before there were bodies says the same.
func TestOld(t *testing.T) {
	for _, tt := range []struct {
		kind im.EntryKind
		old  Old
		want *wire.Entry
	}{
		{im.EntryMessage, Old{Type: "text", Content: []byte("hi"), Text: true, ReplyTo: 2, Mentions: []im.UserID{"a", "b"}}, &wire.Entry{Content: text("text", "hi"), ReplyTo: 2, Mentions: []string{"a", "b"}}},
		{im.EntryMessage, Old{Type: "x", Content: []byte{0, 1}}, &wire.Entry{Content: &wire.Content{Type: "x", Body: &wire.Content_Data{Data: []byte{0, 1}}}}},
		{im.EntryEvent, Old{Event: &im.Event{Type: im.EventMemberAdded, Users: []im.UserID{"u"}}}, &wire.Entry{Event: &wire.Event{Type: wire.EventType_EVENT_TYPE_MEMBER_ADDED, Users: []string{"u"}}}},
		{im.EntryRecall, Old{}, &wire.Entry{}},
	} {
		var got wire.Entry
		if err := Decode(tt.old.Body(tt.kind), &got); err != nil || !proto.Equal(&got, tt.want) {
			t.Errorf("%+v: %v, %v; want %v", tt.old, &got, err, tt.want)
		}
	}
}

// A body costs a few bytes more than what it says, and a box decodes it for nothing.
func TestCost(t *testing.T) {
	s := strings.Repeat("x", 150)
	body := Encode(&wire.Entry{Content: text("text", s)})
	if over := len(body) - len(s) - len("text"); over > 9 {
		t.Errorf("%d bytes besides type and text", over)
	}
	var box Box
	var w wire.Entry
	if n := testing.AllocsPerRun(100, func() {
		w.Content = nil
		if box.Decode(body, &w) != nil {
			t.Fatal("refused")
		}
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestMessageAllocates: each message of a member passes here. What is allocated for it is its body.
func TestMessageAllocates(t *testing.T) {
	send := &wire.Send{Content: &wire.Content{Type: "text", Body: &wire.Content_Text{Text: "hello"}}, ReplyTo: 7, Mentions: []string{"bob"}}
	if n := testing.AllocsPerRun(100, func() { Message("dm:alice:bob", send) }); n > 1 {
		t.Errorf("%v allocations for a message, want one: its body", n)
	}
}

// TestUnknownInContent: what a client says in its content that this version does not
// know, also a known field as another wire type, is neither kept nor hashed: a resend
// without it is the same message, and nobody is sent it.
func TestUnknownInContent(t *testing.T) {
	for _, unknown := range [][]byte{{3 << 3, 1}, {0x9a, 0x06, 2, 'h', 'i'}} { // data, as a varint; field 99
		for _, extra := range []map[string]string{nil, {"key": "value"}} {
			send := func() *wire.Send {
				return &wire.Send{Content: &wire.Content{Type: "text", Body: &wire.Content_Text{Text: "hello"}}, Mentions: []string{"bob"}, Extra: extra}
			}
			want, wantHash := Message("dm:alice:bob", send())
			said := send()
			said.Content.ProtoReflect().SetUnknown(unknown)
			if body, hash := Message("dm:alice:bob", said); !bytes.Equal(body, want) || hash != wantHash {
				t.Errorf("%x: %x with the hash %x, want %x with %x", unknown, body, hash, want, wantHash)
			}
		}
	}
	content := func(unknown []byte) *wire.Content {
		c := &wire.Content{Type: "text", Body: &wire.Content_Text{Text: "hello"}}
		c.ProtoReflect().SetUnknown(unknown)
		return c
	}
	reaction := func(unknown []byte) *wire.React {
		r := &wire.React{Reaction: "👍"}
		r.ProtoReflect().SetUnknown(unknown)
		return r
	}
	unknown := []byte{0x9a, 0x06, 2, 'h', 'i'}
	want, wantHash := Edit("dm:alice:bob", 7, &wire.Edit{Content: content(nil)})
	if body, hash := Edit("dm:alice:bob", 7, &wire.Edit{Content: content(unknown)}); !bytes.Equal(body, want) || hash != wantHash {
		t.Errorf("an edit: %x, want %x", body, want)
	}
	want, wantHash = React("dm:alice:bob", 7, reaction(nil))
	if body, hash := React("dm:alice:bob", 7, reaction(unknown)); !bytes.Equal(body, want) || hash != wantHash {
		t.Errorf("a reaction: %x, want %x", body, want)
	}
	if body, _ := Message("dm:alice:bob", &wire.Send{}); len(body) != 0 {
		t.Errorf("without content: %x", body)
	}
}
