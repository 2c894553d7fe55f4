package messaging

import (
	"testing"

	"github.com/skein-im/skein/internal/im"
)

// What a user notes for themselves is read when it is written, on all their devices, and
// nobody is told of a mark but these.
func TestSaved(t *testing.T) {
	w := newWorld(t)
	notes := im.Saved("alice")
	for range 3 {
		w.mustSend("alice", notes, "milk")
	}
	if err := w.MarkRead(t.Context(), im.Actor{User: "alice"}, notes, 3); err != nil {
		t.Fatal(err)
	}
	var mine []im.ConversationState
	for _, st := range w.sync("alice", im.SyncQuery{}).Conversations {
		if st.Conversation == notes {
			mine = append(mine, st)
		}
	}
	if len(mine) == 0 {
		t.Fatal("it is not in the list")
	}
	if st := mine[0]; st.Head.Seq != 3 || st.Read != 3 || st.Unread != 0 || st.PeerRead != 0 || st.PeerReceived != 0 {
		t.Errorf("%+v", st)
	}
	for i, to := range w.out.to {
		for _, u := range to {
			if u != "alice" || len(to) > 1 {
				t.Errorf("of %+v are told %v", w.out.receipts[i], to)
			}
		}
	}
	if _, dm := notes.Peer("alice"); dm {
		t.Error("it has another side")
	}
}
