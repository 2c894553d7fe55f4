package skein

import (
	"testing"
	"time"

	"github.com/skein-im/skein/wire"
)

// A message is pinned, and not any more, by what is pushed and by what is read after an
// absence; an edit leaves the pin, a recall ends it.
func TestPinned(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.sayMany(dm, "bob", 3)
		r.dial()
		check := func(what, want string) {
			t.Helper()
			pause(time.Minute)
			ms, err := r.c.Conversation(dm).History(bg, 0, 10)
			if err != nil || len(ms) != 3 {
				t.Fatalf("%v, %v", ms, err)
			}
			eq(t, what, ms[2].Pinned.GetUser(), want)
			r.checkStore(dm)
		}
		push := func(by string, pinned *wire.Pinned) {
			r.do(func() {
				r.append(nil, &wire.Entry{Conversation: dm, Sender: by, Kind: wire.EntryKind_ENTRY_KIND_PIN, Target: 3, Pinned: pinned})
			})
		}
		check("new", "")
		push("bob", &wire.Pinned{User: "bob", AtMs: 5})
		check("pinned", "bob")
		r.edit(dm, 3, "other words")
		check("after an edit", "bob")
		push(r.user, nil)
		check("not any more", "")
		r.end()
		push(r.user, &wire.Pinned{User: r.user, AtMs: 6})
		r.dial()
		check("after an absence", r.user)
		if n := len(eventsOf[*ChangedEvent](r.events)); n != 1 {
			t.Errorf("%d changes were told of one pin", n)
		}
		r.takeBack(dm, 3)
		check("taken back", "")
	})
}

// A message gets the preview of its link, by what is pushed and by what is read after an
// absence; an edit says what it has then, a recall ends it. It is no message of its own.
func TestPreviewed(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.sayMany(dm, "bob", 3)
		r.dial()
		check := func(what, want string) {
			t.Helper()
			pause(time.Minute)
			ms, err := r.c.Conversation(dm).History(bg, 0, 10)
			if err != nil || len(ms) != 3 {
				t.Fatalf("%v, %v", ms, err)
			}
			eq(t, what, ms[2].Preview.GetTitle(), want)
			r.checkStore(dm)
		}
		push := func(title string) {
			r.do(func() {
				r.append(nil, &wire.Entry{Conversation: dm, Kind: wire.EntryKind_ENTRY_KIND_PREVIEW, Target: 3, Preview: &wire.Preview{Url: "https://tea.example", Title: title}})
			})
		}
		check("new", "")
		push("Tea")
		check("found", "Tea")
		r.edit(dm, 3, "other words")
		check("after an edit that does not have it", "")
		r.end()
		push("Green tea")
		r.dial()
		check("after an absence", "Green tea")
		r.takeBack(dm, 3)
		check("taken back", "")
	})
}

// Who asks for no preview says so to themselves as well, now and later.
func TestNoPreview(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.dial()
		m, err := r.c.Conversation(dm).Send(bg, "https://tea.example", NoPreview())
		if err != nil || !m.NoPreview {
			t.Fatalf("%+v, %v", m, err)
		}
		said, err := r.c.Conversation(dm).said("https://tea.example", []SendOption{NoPreview()})
		if err != nil || !said.GetNoPreview() {
			t.Errorf("%v, %v", said, err)
		}
	})
}

// A silent message says so to its author as well.
func TestSilent(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.dial()
		m, err := r.c.Conversation(dm).Send(bg, "for tomorrow", Silent())
		if err != nil || !m.Silent {
			t.Fatalf("%+v, %v", m, err)
		}
		pause(time.Minute)
		ms, err := r.c.Conversation(dm).History(bg, 0, 10)
		if err != nil || len(ms) != 1 || !ms[0].Silent {
			t.Fatalf("%v, %v", ms, err)
		}
	})
}
