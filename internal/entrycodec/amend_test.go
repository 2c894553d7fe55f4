package entrycodec

import (
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/skein-im/skein/wire"
)

// edit has a message say something else; stored and at are when it was stored and is edited.
// What amends a silent message is silent, too: who hears the amendment may not have the
// message.
func TestAmendmentsOfSilentMessages(t *testing.T) {
	for _, silent := range []bool{false, true} {
		s, err := Open(Encode(&wire.Entry{Content: text("text", "one"), Silent: silent}), 0)
		if err != nil {
			t.Fatal(err)
		}
		told, err := s.Edit(Encode(&wire.Entry{Content: text("text", "two")}), time.UnixMilli(5), time.UnixMilli(9))
		if err != nil {
			t.Fatal(err)
		}
		for what, body := range map[string][]byte{"the edit": told, "the message": s.Body(), "a part": s.Stream(text("text", "three"), false, true, false, time.UnixMilli(10))} {
			var w wire.Entry
			if err := Decode(body, &w); err != nil || w.Silent != silent {
				t.Errorf("%s of a message with silent %v: %v, %v", what, silent, w.Silent, err)
			}
		}
	}
}

func edit(t testing.TB, s *State, words string, stored, at int64) []byte {
	t.Helper()
	told, err := s.Edit(Encode(&wire.Entry{Content: text("text", words)}), time.UnixMilli(stored), time.UnixMilli(at))
	if err != nil {
		t.Fatal(err)
	}
	return told
}

// What a body keeps beside the message is told to nobody, whichever way it is decoded,
// and comes back when it is opened.
func TestKeptIsNotTold(t *testing.T) {
	body := Encode(&wire.Entry{Content: text("text", "one"), ReplyTo: 7, Mentions: []string{"a"}, Extra: map[string]string{"k": "v"}})
	s, err := Open(body, 0)
	if err != nil || len(s.Versions) != 0 || string(s.Body()) != string(body) {
		t.Fatalf("%+v, %v", s, err)
	}
	told := edit(t, s, "two", 5, 9)
	if want := Encode(&wire.Entry{Content: text("text", "two"), EditedAtMs: 9, Edits: 1}); string(told) != string(want) {
		t.Errorf("%q, want %q", told, want)
	}
	kept := s.Body()
	if strings.Contains(string(Told(kept)), "one") || !strings.Contains(string(kept), "one") {
		t.Errorf("%q of %q", Told(kept), kept)
	}
	want := &wire.Entry{Content: text("text", "two"), ReplyTo: 7, EditedAtMs: 9, Edits: 1}
	var w, boxed wire.Entry
	var box Box
	if err := Decode(kept, &w); err != nil || !proto.Equal(&w, want) {
		t.Errorf("%v, %v", &w, err)
	}
	if err := box.Decode(kept, &boxed); err != nil || !proto.Equal(&boxed, want) {
		t.Errorf("in a box: %v, %v", &boxed, err)
	}
	again, err := Open(kept, 0)
	if err != nil || len(again.Versions) != 1 {
		t.Fatalf("%+v, %v", again, err)
	}
	first := &wire.Edited{Version: 1, AtMs: 5, Content: text("text", "one"), Mentions: []string{"a"}, Extra: map[string]string{"k": "v"}}
	if !proto.Equal(again.Versions[0], first) {
		t.Errorf("%v, want %v", again.Versions[0], first)
	}
}

// The clock may go back; the time of an edit does not.
func TestEditTimesGrow(t *testing.T) {
	s := &State{}
	edit(t, s, "x", 50, 20)
	if s.Told.EditedAtMs != 50 {
		t.Errorf("edited at %d, before it was stored", s.Told.EditedAtMs)
	}
	edit(t, s, "x", 50, 90)
	edit(t, s, "x", 50, 80)
	if s.Told.EditedAtMs != 90 {
		t.Errorf("edited at %d", s.Told.EditedAtMs)
	}
}

// What is kept is bounded in number and bytes, and the last version is always kept.
func TestVersionsAreBounded(t *testing.T) {
	for _, tt := range []struct{ edits, bytes, kept int }{
		{1, 10, 1}, {49, 10, 49}, {50, 10, 50}, {51, 10, 50}, {200, 10, 50}, {5, 60 << 10, 2}, {1, 64 << 10, 1}, {3, 127 << 10, 1},
	} {
		s := &State{Told: wire.Entry{Content: text("text", strings.Repeat("x", tt.bytes))}}
		for range tt.edits {
			var err error
			edit(t, s, strings.Repeat("x", tt.bytes), 1, 2)
			if s, err = Open(s.Body(), 0); err != nil {
				t.Fatal(err)
			}
		}
		if len(s.Versions) != tt.kept || s.Versions[tt.kept-1].Version != uint32(tt.edits) {
			t.Errorf("%d edits of %d bytes: %d versions are kept", tt.edits, tt.bytes, len(s.Versions))
		}
		if n := len(s.Body()); n > tt.bytes*2+maxVersionBytes+200 {
			t.Errorf("%d edits of %d bytes: a body of %d", tt.edits, tt.bytes, n)
		}
	}
}

// The hash of an edit never changes, and is another one for whatever it says.
func TestEditHash(t *testing.T) {
	e := func() *wire.Edit { return &wire.Edit{Content: text("text", "hi"), Mentions: []string{"x"}} }
	_, first := Edit("dm:a:b", 3, e())
	if first != 0x842062694b5137ba {
		t.Errorf("the hash changed: %#x; every stored id would conflict with its resend", first)
	}
	seen := map[uint64]string{first: "base"}
	for name, h := range map[string]func() (body []byte, hash uint64){
		"target":       func() ([]byte, uint64) { return Edit("dm:a:b", 4, e()) },
		"conversation": func() ([]byte, uint64) { return Edit("dm:a:c", 3, e()) },
		"text":         func() ([]byte, uint64) { x := e(); x.Content = text("text", "ho"); return Edit("dm:a:b", 3, x) },
		"mentions":     func() ([]byte, uint64) { x := e(); x.Mentions = nil; return Edit("dm:a:b", 3, x) },
		"extra":        func() ([]byte, uint64) { x := e(); x.Extra = map[string]string{"a": "b"}; return Edit("dm:a:b", 3, x) },
		"a message": func() ([]byte, uint64) {
			return Message("dm:a:b", &wire.Send{Content: text("text", "hi"), Mentions: []string{"x"}})
		},
	} {
		_, got := h()
		if other, ok := seen[got]; ok {
			t.Errorf("%s and %s have the same hash", name, other)
		}
		seen[got] = name
	}
}

// No bytes bring Open down, and what it takes it gives back.
func FuzzOpen(f *testing.F) {
	s := &State{Told: wire.Entry{Content: text("text", "one")}}
	edit(f, s, "two", 1, 2)
	f.Add(s.Body())
	f.Fuzz(func(t *testing.T, body []byte) {
		s, err := Open(body, 0)
		if err != nil {
			return
		}
		again, err := Open(s.Body(), 0)
		if err != nil || len(again.Versions) != len(s.Versions) || !proto.Equal(&again.Told, &s.Told) {
			t.Fatalf("%+v, %v; was %+v", again, err, s)
		}
	})
}
