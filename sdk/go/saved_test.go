package skein

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/skein-im/skein/wire"
)

// A user's notes are a conversation like others, without another side: what they write,
// here or on another device, is not unread, and is sent when it is stored.
func TestSaved(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		c := r.dial()
		synctest.Wait()
		notes := c.Saved()
		eq(t, "its id", notes.ID(), "dm:alice:alice")
		m, err := notes.Send(bg, "milk")
		if err != nil || m.Status != StatusSent {
			t.Fatalf("%+v, %v", m, err)
		}
		r.do(func() { // on another device
			r.append(nil, &wire.Entry{Conversation: notes.ID(), Sender: "alice", Kind: wire.EntryKind_ENTRY_KIND_MESSAGE, Content: &wire.Content{Type: "text", Body: &wire.Content_Text{Text: "bread"}}})
		})
		pause(time.Minute)
		s, err := notes.Summary(bg)
		if err != nil || s.Unread != 0 || s.Peer != "" || s.Last == nil || s.Last.Text != "bread" || s.Last.Status != StatusSent {
			t.Errorf("%+v, %v", s, err)
		}
		ms, err := notes.History(bg, 0, 10)
		if err != nil || len(ms) != 2 || !ms[0].Own || !ms[1].Own {
			t.Errorf("%v, %v", ms, err)
		}
		if kindOf("dm:bob:alice") != KindInvalid {
			t.Error("the sides of a dm are in any order")
		}
	})
}
