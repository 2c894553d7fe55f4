package skein

import (
	"fmt"
	"testing"
	"time"

	"github.com/skein-im/skein/wire"
)

// totals are the reactions of a message; * is the user's own.
func totals(m *Message) (s string) {
	for _, r := range m.Reactions {
		s += fmt.Sprintf("%s%d%s ", r.Reaction, r.Count, map[bool]string{true: "*"}[r.Mine])
	}
	return s
}

// Reactions that are pushed are counted in their message, others' and the user's own, on
// whichever device; who was away learns what they come to; an edit leaves them.
func TestReactions(t *testing.T) {
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
			eq(t, what, totals(ms[2]), want)
			r.checkStore(dm)
		}
		push := func(by, reaction string, remove bool) {
			r.do(func() {
				r.append(nil, &wire.Entry{
					Conversation: dm, Sender: by, Kind: wire.EntryKind_ENTRY_KIND_REACTION, Target: 3,
					React: &wire.React{Reaction: reaction, Remove: remove},
				})
			})
		}
		check("none", "")
		push("bob", "👍", false)
		check("one", "👍1 ")
		push(r.user, "👍", false)
		push("bob", "ok", false)
		check("two kinds", "👍2* ok1 ")
		push("bob", "👍", true)
		check("the user's stays", "👍1* ok1 ")
		push("bob", "👍", false)
		push(r.user, "👍", true)
		check("another's stays", "👍1 ok1 ")
		r.edit(dm, 3, "other words")
		check("after an edit", "👍1 ok1 ")
		r.end()
		push("bob", "👍", true)
		push(r.user, "ok", false)
		r.dial()
		check("after an absence", "ok2* ")
		if n := len(eventsOf[*ChangedEvent](r.events)); n != 1 {
			t.Errorf("%d changes were told of what two reactions came to", n)
		}
		r.takeBack(dm, 3)
		check("taken back", "")
	})
}
