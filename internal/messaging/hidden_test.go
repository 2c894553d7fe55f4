package messaging

import (
	"errors"
	"testing"

	"github.com/skein-im/skein/internal/im"
)

// Who hides how far they have read: the other of a dm hears and syncs that it came,
// their own devices all of it; and they hear and sync no more of the other.
func TestReadsHidden(t *testing.T) {
	for who, hides := range map[string]map[im.UserID]bool{"nobody": nil, "bob": {"bob": true}, "alice": {"alice": true}} {
		t.Run(who, func(t *testing.T) {
			w := newWorld(t)
			w.mustSend("alice", ab, "1")
			w.members.hides = hides
			if err := w.MarkRead(t.Context(), im.Actor{User: "bob"}, ab, 1); err != nil {
				t.Fatal(err)
			}
			told := map[im.UserID]im.Mark{}
			for i, m := range w.out.receipts {
				for _, u := range w.out.to[i] {
					told[u] = m
				}
			}
			shown := uint64(1)
			if hides != nil {
				shown = 0
			}
			if m := told["alice"]; m.Received != 1 || m.Read != shown {
				t.Errorf("alice hears %+v", m)
			}
			if m := told["bob"]; m.Read != 1 {
				t.Errorf("bob's devices hear %+v", m)
			}
			for _, since := range []bool{false, true} {
				q := im.SyncQuery{}
				if since {
					q = im.SyncQuery{Position: im.Position{}.String(), Timeline: w.journal.Timeline()}
				}
				for u, want := range map[im.UserID][2]uint64{"alice": {1, shown}, "bob": {0, shown}} {
					res, err := w.Sync(t.Context(), im.Actor{User: u}, q)
					if err != nil {
						t.Fatal(err)
					}
					for _, st := range res.Conversations {
						if st.Conversation == ab && (st.PeerRead != want[1] || u == "alice" && st.PeerReceived != want[0] || u == "bob" && st.Read != 1) {
							t.Errorf("%s syncs %+v", u, st)
						}
					}
				}
			}
		})
	}
}

// Who shows again how far they have read shows all of it, to who syncs; at the moment in
// which they do, nobody is told.
func TestReadsShownAgain(t *testing.T) {
	w := newWorld(t)
	w.mustSend("alice", ab, "1")
	w.members.hides = map[im.UserID]bool{"bob": true}
	if err := w.MarkRead(t.Context(), im.Actor{User: "bob"}, ab, 1); err != nil {
		t.Fatal(err)
	}
	for _, want := range []uint64{0, 1} {
		res, err := w.Sync(t.Context(), im.Actor{User: "alice"}, im.SyncQuery{})
		if err != nil {
			t.Fatal(err)
		}
		for _, st := range res.Conversations {
			if st.Conversation == ab && st.PeerRead != want {
				t.Errorf("alice syncs that bob read %d, want %d", st.PeerRead, want)
			}
		}
		w.members.hides = nil
	}
}

// A mark of which nobody can tell whether it is hidden does not move: moved, and told to
// nobody, the other would not hear of it until the next one.
func TestHiddenOrNotIsUnknown(t *testing.T) {
	w := newWorld(t)
	w.mustSend("alice", ab, "1")
	w.members.noReads = errors.New("the directory is away")
	before := len(w.out.receipts)
	if err := w.MarkRead(t.Context(), im.Actor{User: "bob"}, ab, 1); err == nil {
		t.Fatal("the mark moved")
	}
	w.members.noReads = nil
	if err := w.MarkRead(t.Context(), im.Actor{User: "bob"}, ab, 1); err != nil {
		t.Fatal(err)
	}
	told := false
	for i, m := range w.out.receipts[before:] {
		for _, u := range w.out.to[before+i] {
			told = told || u == "alice" && m.Read == 1
		}
	}
	if !told {
		t.Errorf("alice hears %+v", w.out.receipts[before:])
	}
}

// Who hides how far they have read: once it is told that a message was received, nothing
// tells the other when it is read, by whichever way that is said.
func TestTheMomentOfReadingIsHidden(t *testing.T) {
	for way, read := range map[string]func(w *world) error{
		"Read": func(w *world) error {
			return w.Mark(t.Context(), im.Actor{User: "bob"}, ab, 1, 1)
		},
		"MarkRead": func(w *world) error { return w.MarkRead(t.Context(), im.Actor{User: "bob"}, ab, 1) },
	} {
		for _, nodes := range []string{"one", "many"} {
			t.Run(way+"/"+nodes, func(t *testing.T) {
				w := newWorld(t)
				if nodes == "many" {
					w.known = func(c im.ConversationID) (im.Head, bool) { return im.Head{Seq: 1, Count: 1}, true }
				}
				w.mustSend("alice", ab, "1")
				w.members.hides = map[im.UserID]bool{"bob": true}
				if err := w.Mark(t.Context(), im.Actor{User: "bob"}, ab, 1, 0); err != nil {
					t.Fatal(err)
				}
				before := len(w.out.receipts)
				if err := read(w); err != nil {
					t.Fatal(err)
				}
				own := false
				for i, m := range w.out.receipts[before:] {
					for _, u := range w.out.to[before+i] {
						if u == "alice" {
							t.Errorf("alice hears %+v", m)
						}
						own = own || u == "bob" && m.Read == 1
					}
				}
				if !own {
					t.Errorf("bob's devices hear %+v", w.out.receipts[before:])
				}
			})
		}
	}
}
