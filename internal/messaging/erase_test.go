package messaging

import (
	"testing"

	"github.com/skein-im/skein/internal/im"
)

// What a damaged block of the store held cannot be taken back; all else of a user's is, before
// it and behind, in this conversation and the next.
func TestEraseMessagesAroundDamage(t *testing.T) {
	w := newWorld(t)
	other := im.DM("alice", "carol")
	for range 40 {
		w.mustSend("alice", ab, "words")
		w.mustSend("bob", ab, "bob's")
	}
	w.mustSend("alice", other, "words")
	w.journal.broken = map[im.Newest]bool{{Conversation: ab, Seq: 3}: true, {Conversation: ab, Seq: 4}: true, {Conversation: ab, Seq: 70}: true}
	calls := 0
	for place := ""; ; {
		var err error
		if place, err = w.EraseMessages(t.Context(), "alice", place); err != nil {
			t.Fatal(err)
		}
		if place == "" {
			break
		}
		if calls++; calls > 1000 {
			t.Fatal("it has no end")
		}
	}
	w.journal.broken = nil
	for c, want := range map[im.ConversationID]int{ab: 39, other: 1} { // 3 is hers, 4 and 70 are bob's
		got, err := w.journal.Read(t.Context(), c, 1, false, 1000)
		if err != nil {
			t.Fatal(err)
		}
		recalled := 0
		for _, e := range got {
			if e.Kind == im.EntryMessage && e.Recalled {
				if recalled++; e.Sender != "alice" {
					t.Errorf("%s: entry %d of %s was taken back", c, e.Seq, e.Sender)
				}
			}
		}
		if recalled != want {
			t.Errorf("%s: %d messages were taken back, not %d", c, recalled, want)
		}
	}
}
