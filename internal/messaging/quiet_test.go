package messaging

import (
	"testing"

	"github.com/skein-im/skein/internal/im"
)

// What the other of a dm is not told of makes no Sync of theirs tell the conversation again:
// neither that the user read it, where they hide that, nor that they set something for
// themselves. The user's own devices are told, and what the other may know is told to them.
func TestQuietMovesAreNotSynced(t *testing.T) {
	w := newWorld(t)
	bob := im.Actor{User: "bob"}
	w.mustSend("alice", ab, "1")
	w.members.hides = map[im.UserID]bool{"bob": true}
	at := map[im.UserID]im.SyncResult{}
	// told is what a user's device is told that comes back.
	told := func(u im.UserID) []im.ConversationState {
		w.mustSend("x", im.Group("g"), "the position moves")
		at[u] = w.sync(u, im.SyncQuery{Position: at[u].Position, Timeline: at[u].Timeline})
		return at[u].Conversations
	}
	w.mustSend("x", im.Group("g"), "beyond the sender's own mark")
	at["alice"], at["bob"] = w.sync("alice", im.SyncQuery{}), w.sync("bob", im.SyncQuery{})
	receive := func(seq uint64) {
		t.Helper()
		if err := w.Mark(t.Context(), bob, ab, seq, 0); err != nil {
			t.Fatal(err)
		}
		if got := told("alice"); len(got) != 1 || got[0].PeerReceived != seq || got[0].PeerRead != 0 {
			t.Fatalf("received %d: alice is told %+v", seq, got)
		}
	}
	quiet := func(what string, do func()) {
		t.Helper()
		told("bob")
		do()
		if got := told("alice"); len(got) > 0 {
			t.Errorf("%s: alice is told %+v", what, got)
		}
		if got := told("bob"); len(got) != 1 || got[0].Conversation != ab {
			t.Errorf("%s: bob's devices are told %+v", what, got)
		}
	}
	read := func(seq uint64) func() {
		return func() {
			if err := w.MarkRead(t.Context(), bob, ab, seq); err != nil {
				t.Fatal(err)
			}
		}
	}
	pin := func(on bool) func() {
		return func() { w.setMine("bob", ab, im.MyChange{Pinned: &on}) }
	}
	quiet("set before anything was received", pin(true))
	receive(1)
	quiet("read", read(1))
	quiet("set after that", pin(false))
	w.mustSend("alice", ab, "2")
	told("alice")
	quiet("set", pin(true))
	receive(2)
	quiet("set, and read", func() { pin(false)(); read(2)() })
	w.members.hides = nil
	w.mustSend("alice", ab, "3")
	told("alice")
	read(3)()
	if got := told("alice"); len(got) != 1 || got[0].PeerRead != 3 {
		t.Errorf("not hidden: alice is told %+v", got)
	}
	quiet("set where nothing is hidden", pin(true))
}

// What a user set where nothing was written yet is told by the next Sync, and by the first
// one of a new device, page by page as all others; what is taken back is not in a list.
func TestMyStateWithoutEntries(t *testing.T) {
	w := newWorld(t)
	saved := im.DM("bob", "bob")
	w.members.rows["bob"] = []im.Membership{{Conversation: ab, First: 1}, {Conversation: saved, First: 1}}
	at := w.sync("bob", im.SyncQuery{})
	if len(at.Conversations) > 0 {
		t.Fatalf("%+v", at.Conversations)
	}
	w.setMine("bob", ab, im.MyChange{Draft: ptr("to be")})
	w.setMine("bob", saved, im.MyChange{Pinned: ptr(true)})
	want := map[im.ConversationID]im.MyState{
		ab:    {Conversation: ab, Revision: 1, Draft: "to be"},
		saved: {Conversation: saved, Revision: 1, Pinned: true},
	}
	for name, q := range map[string]im.SyncQuery{"resume": {Position: at.Position, Timeline: at.Timeline}, "cold": {}, "by pages": {Limit: 1}} {
		got := map[im.ConversationID]im.MyState{}
		for range 3 {
			res := w.sync("bob", q)
			for _, st := range res.Conversations {
				if got[st.Conversation] = st.Mine; st.Head.Seq != 0 || st.Unread != 0 || len(st.Told.Entries) > 0 {
					t.Errorf("%s: %+v", name, st)
				}
			}
			if q.Cursor = res.Next; res.Next == "" {
				break
			}
		}
		if len(got) != 2 || got[ab] != want[ab] || got[saved] != want[saved] {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if got := w.sync("alice", im.SyncQuery{Position: at.Position, Timeline: at.Timeline}).Conversations; len(got) > 0 {
		t.Errorf("alice is told %+v", got)
	}
	at = w.sync("bob", im.SyncQuery{})
	w.setMine("bob", ab, im.MyChange{Draft: ptr("")})
	if got := w.sync("bob", im.SyncQuery{}).Conversations; len(got) != 1 || got[0].Conversation != saved {
		t.Errorf("after it was taken back: %+v", got)
	}
	if got := w.sync("bob", im.SyncQuery{Position: at.Position, Timeline: at.Timeline}).Conversations; len(got) == 0 || got[0].Conversation != ab || got[0].Mine.Revision != 2 || got[0].Mine.Draft != "" {
		t.Errorf("that it was taken back: %+v", got)
	}
	w.members.rows["bob"] = nil // the first message makes the dm
	w.mustSend("alice", ab, "1")
	if got := w.sync("bob", im.SyncQuery{}).Conversations; len(got) != 2 || got[0].Conversation != ab || got[0].Mine.Revision != 2 {
		t.Errorf("with an entry: %+v", got)
	}
}

// A user may be called what a note is: a draft for them is told as any other.
func TestDraftForWhoIsCalledAsANote(t *testing.T) {
	w := newWorld(t)
	c := im.DM("bob", "quiet")
	w.members.rows["bob"] = []im.Membership{{Conversation: c, First: 1}}
	w.setMine("bob", c, im.MyChange{Draft: ptr("to be")})
	if got := w.sync("bob", im.SyncQuery{}).Conversations; len(got) != 1 || got[0].Conversation != c || got[0].Mine.Draft != "to be" {
		t.Errorf("bob's devices are told %+v", got)
	}
	for c, want := range map[im.ConversationID]bool{c: false, im.Group("quiet"): false, noteOf(c): true, noteOf(ab): true} {
		if isNote(c) != want {
			t.Errorf("%s is a note: %t", c, !want)
		}
	}
}

// What a user clears is not unread any more, and the other of a dm is told as of reading.
func TestClearingIsReading(t *testing.T) {
	w := newWorld(t)
	for _, text := range []string{"1", "2", "3"} {
		w.mustSend("alice", ab, text)
	}
	w.setMine("bob", ab, im.MyChange{ClearedBelow: ptr(uint64(3))})
	if st := w.sync("bob", im.SyncQuery{}).Conversations[0]; st.Unread != 1 || st.Read != 2 {
		t.Errorf("two are cleared: %+v", st)
	}
	w.setMine("bob", ab, im.MyChange{ClearedBelow: ptr(uint64(4))})
	if st := w.sync("bob", im.SyncQuery{}).Conversations[0]; st.Unread != 0 || st.Read != 3 {
		t.Errorf("all is cleared: %+v", st)
	}
	if st := w.sync("alice", im.SyncQuery{}).Conversations[0]; st.PeerRead != 3 {
		t.Errorf("alice: %+v", st)
	}
}
