package messaging

import (
	"fmt"
	"slices"
	"testing"

	"github.com/skein-im/skein/internal/im"
)

func (w *world) mustRecall(u im.UserID, c im.ConversationID, target uint64) im.Ack {
	w.t.Helper()
	ack, err := w.send(u, im.Message{ID: w.id(), Conversation: c, Kind: im.EntryRecall, Target: target})
	if err != nil {
		w.t.Fatal(err)
	}
	return ack
}

// What was recalled is not unread in any time of membership, whether it lies
// below, at or above the read mark, and what was recalled between two of them
// changes nothing: it never counted.
func TestRecalledIsNotUnreadInAnyWindow(t *testing.T) {
	for name, windows := range windowCases() {
		if windows[len(windows)-1].Until != 0 {
			continue // the recalls come after all windows, where the member is still one
		}
		t.Run(name, func(t *testing.T) {
			w, g := windowed(t, windows...)
			var gone []uint64
			for _, seq := range []uint64{1, 3, 5, 6, 9, 10, 15, 22, 29, 30, 31, 40} {
				w.mustRecall("alice", g, seq)
				gone = append(gone, seq)
			}
			for read := uint64(0); read <= 40; read++ {
				if read > 0 {
					if err := w.journal.SetMarks(t.Context(), []im.Mark{{User: "bob", Conversation: g, Read: read, ReadCount: read}}, im.MarkWait{}); err != nil {
						t.Fatal(err)
					}
				}
				after := slices.DeleteFunc(theirs(windows), func(seq uint64) bool { return seq <= read })
				recalled := slices.DeleteFunc(slices.Clone(gone), func(seq uint64) bool { return !slices.Contains(after, seq) })
				st := w.sync("bob", im.SyncQuery{}).Conversations[0]
				if st.Unread != uint64(len(after)-len(recalled)) || st.Recalled != uint64(len(recalled)) || !slices.Equal(st.RecalledSeqs, recalled) {
					t.Errorf("read up to %d: %d unread, %d recalled %v; want %d and %v", read, st.Unread, st.Recalled, st.RecalledSeqs, len(after)-len(recalled), recalled)
				}
				checkHidden(t, windows, st, read)
			}
		})
	}
}

// However many conversations of a page have something unread, the journal is
// asked once what of it was recalled, and not at all when nothing is unread.
func TestRecallsAreAskedForOnce(t *testing.T) {
	for name, tt := range map[string]struct{ unread, read, asked int }{
		"none": {}, "nothing unread": {read: 3}, "one": {unread: 1, read: 2, asked: 1}, "two": {unread: 2, asked: 1}, "many": {unread: 80, read: 20, asked: 1},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			for i := range tt.unread + tt.read {
				g := im.Group(fmt.Sprint("g", i))
				w.members.add("bob", im.Membership{Conversation: g, First: 1})
				w.mustSend("alice", g, "x")
				w.mustSend("alice", g, "y")
				w.mustRecall("alice", g, 1)
				if i >= tt.unread {
					if err := w.Mark(t.Context(), im.Actor{User: "bob"}, g, 0, 3); err != nil {
						t.Fatal(err)
					}
				}
			}
			for _, q := range []im.SyncQuery{{}, {Position: w.journal.begin(), Timeline: "t1"}} {
				w.journal.recallsAsked = 0
				r := w.sync("bob", q)
				var unread int
				for _, st := range r.Conversations {
					unread += int(st.Unread)
				}
				if len(r.Conversations) != tt.unread+tt.read || unread != tt.unread || w.journal.recallsAsked != tt.asked {
					t.Errorf("%d conversations, %d unread, %d questions; want %+v", len(r.Conversations), unread, w.journal.recallsAsked, tt)
				}
			}
		})
	}
}

// The count is exact however many were recalled; the first ones are named, as many
// as an answer has room for.
func TestManyRecalled(t *testing.T) {
	w := newWorld(t)
	states := []im.ConversationState{}
	var ask recallAsk
	const each = namedRecalls + 7
	for n := range 4 {
		g := im.Group(fmt.Sprint("g", n))
		for seq := uint64(1); seq <= each+2; seq++ {
			e := im.Entry{Conversation: g, Seq: seq, Kind: im.EntryMessage, Count: seq, Recalled: seq > 2}
			w.journal.entries[g] = append(w.journal.entries[g], e)
		}
		states = append(states, im.ConversationState{Conversation: g, Unread: each + 1})
		ask.add(n, g, 1, 5) // two windows
		ask.add(n, g, 5, each+2)
	}
	if err := w.leaveOut(t.Context(), "u", &ask, states); err != nil {
		t.Fatal(err)
	}
	left := namedInAll
	for i, st := range states {
		named := min(namedRecalls, left)
		left -= named
		if st.Unread != 1 || st.Recalled != each || len(st.RecalledSeqs) != named {
			t.Fatalf("%d: %d unread, %d recalled, %d named; want 1, %d, %d", i, st.Unread, st.Recalled, len(st.RecalledSeqs), each, named)
		}
		for k, seq := range st.RecalledSeqs {
			if seq != uint64(k)+3 {
				t.Fatalf("%d: the %d-th is %d", i, k, seq)
			}
		}
	}
}
