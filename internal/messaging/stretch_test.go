package messaging

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/skein-im/skein/internal/im"
)

// amend changes an entry, as whatever amends but a recall will.
func (w *world) amend(c im.ConversationID, target uint64, text string) {
	w.t.Helper()
	e := w.journal.entries[c][target-1]
	m := saying(im.Message{Conversation: c, ID: w.id(), Kind: im.EntryMessage}, text)
	out := make([]im.Appended, 1)
	err := w.journal.Append(w.t.Context(), []im.Append{{
		Entry: im.Entry{Conversation: c, ID: m.ID, Sender: "alice", Kind: 9, Target: target, Body: m.Body},
		Hash:  m.Hash, IfRoster: e.Roster, Amend: im.Amend{Change: true, If: e.Amended, Body: m.Body},
	}}, out)
	if err != nil || out[0].Status != im.Stored {
		w.t.Fatalf("%+v, %v", out[0], err)
	}
}

// said names entries by their seqs and words.
func said(es []im.Entry) string {
	var b strings.Builder
	for i := range es {
		fmt.Fprintf(&b, "%d=%s ", es[i].Seq, words(&es[i]))
	}
	return strings.TrimSpace(b.String())
}

// A device that comes back is told what the entries it missed come to: none, one, two
// and many amendments, of messages it has and of those it missed.
func TestResumeTellsOutcomes(t *testing.T) {
	const have = 5
	for _, tt := range []struct {
		name             string
		missed           func(w *world)
		first, last      uint64
		entries, touched string
	}{
		{"no amendment", func(w *world) { w.mustSend("alice", ab, "6") }, 6, 6, "6=6", ""},
		{"one of a message it has", func(w *world) { w.amend(ab, 2, "2a") }, 6, 6, "", "2=2a"},
		{"one of the last message it has", func(w *world) { w.amend(ab, 5, "5a") }, 6, 6, "", "5=5a"},
		{"two of one", func(w *world) { w.amend(ab, 2, "2a"); w.mustSend("alice", ab, "7"); w.amend(ab, 2, "2b") }, 6, 8, "7=7", "2=2b"},
		{"two of two", func(w *world) { w.amend(ab, 4, "4a"); w.amend(ab, 1, "1a") }, 6, 7, "", "1=1a 4=4a"},
		{"of what was missed", func(w *world) { w.mustSend("alice", ab, "6"); w.amend(ab, 6, "6a") }, 6, 7, "6=6a", ""},
		{"many", func(w *world) {
			for n := range 1000 {
				w.amend(ab, uint64(n%3)+1, fmt.Sprint("state ", n))
			}
			w.mustSend("alice", ab, "last")
		}, 6, 1006, "1006=last", "1=state 999 2=state 997 3=state 998"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			for n := range have {
				w.mustSend("alice", ab, fmt.Sprint(n+1))
			}
			at := w.sync("bob", im.SyncQuery{})
			tt.missed(w)
			r := w.sync("bob", im.SyncQuery{Position: at.Position, Timeline: at.Timeline})
			if len(r.Conversations) != 1 {
				t.Fatalf("%+v", r)
			}
			s := r.Conversations[0].Told
			if s.First != tt.first || s.Last != tt.last || said(s.Entries) != tt.entries || said(s.Touched) != tt.touched {
				t.Errorf("%d–%d %q, touched %q; want %d–%d %q, touched %q", s.First, s.Last, said(s.Entries), said(s.Touched), tt.first, tt.last, tt.entries, tt.touched)
			}
			if named := s.End.Seq == s.Last; named == (len(s.Entries) > 0 && s.Entries[len(s.Entries)-1].Seq == s.Last) || !named && s.End.Seq != 0 {
				t.Errorf("the end %d is named by %+v", s.Last, s.End)
			}
			// A pull of the same gives the same.
			p, err := w.Pull(t.Context(), im.Actor{User: "bob"}, im.PullQuery{Conversation: ab, From: have + 1, Limit: 50})
			if err != nil || p.Last != tt.last || said(p.Entries) != tt.entries || said(p.Touched) != tt.touched || p.End != s.End {
				t.Errorf("pulled: %+v, %v", p, err)
			}
		})
	}
}

// The list shows the last entry that amends nothing, as it is now.
func TestListShowsTheLastMessage(t *testing.T) {
	for _, n := range []int{0, 1, 2, 400} {
		w := newWorld(t)
		w.mustSend("alice", ab, "first")
		w.mustSend("alice", ab, "last")
		for k := range n {
			w.amend(ab, uint64(k%2)+1, fmt.Sprint("state ", k))
		}
		c := w.sync("bob", im.SyncQuery{}).Conversations[0]
		want := "2=last"
		if n > 1 {
			want = fmt.Sprint("2=state ", n-1)
		}
		if s := c.Told; said(s.Entries) != want || s.First != 2 || s.Last != uint64(n)+2 || len(s.Touched) > 0 || (s.End.Seq == s.Last) != (n > 0) {
			t.Errorf("%d amendments: %+v, want %s", n, s, want)
		}
	}
}

// A page of history is messages, whatever was amended in between, and pages leave
// nothing out.
func TestPagesOfHistory(t *testing.T) {
	w := newWorld(t)
	var want []uint64
	for n := range 60 {
		want = append(want, w.mustSend("alice", ab, fmt.Sprint(n)).Seq)
		for range n % 7 {
			w.amend(ab, want[n/2], fmt.Sprint("state ", n))
		}
	}
	for _, backward := range []bool{false, true} {
		var got []uint64
		from := uint64(1)
		if backward {
			from = 0
		}
		for range 100 {
			p, err := w.Pull(t.Context(), im.Actor{User: "bob"}, im.PullQuery{Conversation: ab, From: from, Backward: backward, Limit: 20})
			if err != nil {
				t.Fatal(err)
			}
			if p.First == 0 {
				break
			}
			got = append(got, seqsOf(p.Entries)...)
			if backward {
				if from = p.First - 1; from == 0 {
					break
				}
			} else {
				from = p.Last + 1
			}
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("backward %v: %v, want %v", backward, got, want)
		}
	}
}

// What was amended is told only to who may read it: to a member of several times of
// membership what is of theirs, and nothing from between.
func TestTouchedInWindows(t *testing.T) {
	w, g := windowed(t, im.Window{First: 5, Until: 9}, im.Window{First: 30})
	at := w.sync("bob", im.SyncQuery{})
	for _, seq := range []uint64{2, 6, 20, 35} {
		w.amend(g, seq, fmt.Sprint(seq, "a"))
	}
	s := w.sync("bob", im.SyncQuery{Position: at.Position, Timeline: at.Timeline}).Conversations[0].Told
	if said(s.Touched) != "6=6a 35=35a" || s.First != 41 || s.Last != 44 {
		t.Errorf("%d–%d, touched %q", s.First, s.Last, said(s.Touched))
	}
	p, err := w.Pull(t.Context(), im.Actor{User: "bob"}, im.PullQuery{Conversation: g, From: 36, Limit: 50})
	if err != nil || said(p.Touched) != "6=6a 35=35a" || p.First != 36 || p.Last != 44 {
		t.Errorf("pulled: %+v, %v", p.Stretch, err)
	}
	p, err = w.Pull(t.Context(), im.Actor{User: "bob"}, im.PullQuery{Conversation: g, From: 7, Limit: 50})
	if err != nil || said(p.Touched) != "6=6a" || p.Entries[0].Seq != 7 || p.Last != 44 {
		t.Errorf("pulled over both: %+v, %v", p.Stretch, err)
	}
}
