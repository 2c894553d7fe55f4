package skein

import (
	"fmt"
	"testing"
	"time"

	"github.com/skein-im/skein/wire"
)

// An edit that is pushed says what its target says now; one that is told late, of what
// is not held, or of what was taken back, changes nothing.
func TestEdit(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.sayMany(dm, "bob", 3)
		r.dial()
		r.sayMany(dm, "bob", 2) // 4, 5
		push := func(seq, target uint64, words string, edits uint32) {
			r.do(func() {
				e := &wire.Entry{
					Conversation: dm, Sender: "bob", Kind: wire.EntryKind_ENTRY_KIND_EDIT, Target: target,
					Content: &wire.Content{Type: "text", Body: &wire.Content_Text{Text: words}}, Mentions: []string{"ann"}, Extra: map[string]string{"k": "v"},
				}
				if r.append(nil, e); e.Seq != seq || e.Edits != edits {
					t.Errorf("%v", e)
				}
			})
			pause(time.Second)
		}
		push(6, 5, "better", 1)
		push(7, 5, "best", 2)
		push(8, 1, "before the window", 1)
		ms, err := r.c.Conversation(dm).History(bg, 0, 10)
		if err != nil || len(ms) != 5 {
			t.Fatalf("%v, %v", ms, err)
		}
		m := ms[4]
		if m.Text != "best" || m.Edits != 2 || m.EditedAt.IsZero() || m.Amended != 7 || len(m.Mentions) != 1 || m.Extra["k"] != "v" || m.Seq != 5 {
			t.Errorf("%+v", m)
		}
		if ms[0].Text != "before the window" || ms[1].Edits != 0 || !ms[1].EditedAt.IsZero() {
			t.Errorf("%+v, %+v", ms[0], ms[1])
		}
		var told []string
		for _, e := range eventsOf[*ChangedEvent](r.events) {
			told = append(told, fmt.Sprint(e.Message.Seq, e.Message.Text))
		}
		eq(t, "told", told, []string{"5better", "5best"})
		late := &wire.Entry{Conversation: dm, Seq: 6, Kind: wire.EntryKind_ENTRY_KIND_EDIT, Target: 5, Edits: 1}
		now := &wire.Entry{Conversation: dm, Seq: 5, Kind: wire.EntryKind_ENTRY_KIND_MESSAGE, Amended: 7, Edits: 2}
		if got := latest(now, late); got != now {
			t.Errorf("an older edit made it %v", got)
		}
		gone := &wire.Entry{Conversation: dm, Seq: 5, Kind: wire.EntryKind_ENTRY_KIND_MESSAGE, Recalled: true, Amended: 2}
		if got := latest(gone, late); got != gone {
			t.Errorf("an edit brought back what was taken back: %v", got)
		}
		if got := latest(&wire.Entry{Conversation: dm, Seq: 4, Kind: wire.EntryKind_ENTRY_KIND_MESSAGE}, late); got.Edits != 0 {
			t.Errorf("an edit changed another message: %v", got)
		}
	})
}
