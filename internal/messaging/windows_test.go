package messaging

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/skein-im/skein/internal/entrycodec"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

// windowed is a group of 40 messages of alice's, in which bob was a member for the
// windows given; the last may be open (Until 0).
func windowed(t *testing.T, windows ...im.Window) (*world, im.ConversationID) {
	w, g := newWorld(t), im.Group("g")
	for i := range 40 {
		w.mustSend("alice", g, fmt.Sprint(i+1))
	}
	last := windows[len(windows)-1]
	w.members.add("bob", im.Membership{Conversation: g, First: last.First, Until: last.Until, Earlier: windows[:len(windows)-1]})
	return w, g
}

func theirs(windows []im.Window) (seqs []uint64) {
	for _, w := range windows {
		for seq := w.First; seq <= 40 && (w.Until == 0 || seq <= w.Until); seq++ {
			seqs = append(seqs, seq)
		}
	}
	return seqs
}

func seqsOf(es []im.Entry) (seqs []uint64) {
	for i := range es {
		seqs = append(seqs, es[i].Seq)
	}
	return seqs
}

func windowCases() map[string][]im.Window {
	return map[string][]im.Window{
		"from the beginning":   {{First: 1}},
		"one, joined late":     {{First: 30}},
		"one that is over":     {{First: 5, Until: 9}},
		"two":                  {{First: 5, Until: 9}, {First: 30}},
		"two that are over":    {{First: 1, Until: 9}, {First: 30, Until: 33}},
		"side by side":         {{First: 5, Until: 9}, {First: 10}},
		"many":                 {{First: 1, Until: 1}, {First: 3, Until: 6}, {First: 8, Until: 20}, {First: 22, Until: 22}, {First: 40}},
		"the last has no news": {{First: 2, Until: 30}, {First: 35, Until: 35}},
	}
}

// Who was removed and added again reads what was stored in every time they were
// a member, by pulls of any size in both directions, and nothing else.
func TestEveryWindowIsPulled(t *testing.T) {
	for name, windows := range windowCases() {
		t.Run(name, func(t *testing.T) {
			w, g := windowed(t, windows...)
			want := theirs(windows)
			pull := func(q im.PullQuery) []uint64 {
				r, err := w.Pull(t.Context(), im.Actor{User: "bob"}, q)
				if err != nil {
					t.Fatal(err)
				}
				if r.Head != want[len(want)-1] {
					t.Errorf("head %d, want %d", r.Head, want[len(want)-1])
				}
				return seqsOf(r.Entries)
			}
			for _, limit := range []int{1, 2, 3, 7, 100} {
				for from := uint64(0); from <= 41; from++ {
					up := slices.DeleteFunc(slices.Clone(want), func(seq uint64) bool { return seq < from })
					if got := pull(im.PullQuery{Conversation: g, From: from, Limit: limit}); !slices.Equal(got, up[:min(limit, len(up))]) {
						t.Errorf("%d from %d up: %v", limit, from, got)
					}
					down := slices.DeleteFunc(slices.Clone(want), func(seq uint64) bool { return from != 0 && seq > from })
					if got := pull(im.PullQuery{Conversation: g, From: from, Limit: limit, Backward: true}); !slices.Equal(got, down[max(0, len(down)-limit):]) {
						t.Errorf("%d from %d down: %v", limit, from, got)
					}
				}
			}
		})
	}
}

// A pull that knows a membership from RAM, and reads the times before it when the user
// was removed and added again meanwhile, leaves nothing out: times that touch are one
// by then, across the beginning of the one that RAM knows.
func TestWindowsThatTouchWhileTheyAreRead(t *testing.T) {
	now := []im.Window{{First: 2, Until: 7}, {First: 10, Until: 25}, {First: 30}}
	w, g := windowed(t, now...)
	w.members.inRAM = map[im.UserID]im.Membership{"bob": {Conversation: g, First: 18}} // 10–17, then 18–25
	for from := uint64(2); from <= 17; from++ {
		for _, q := range []im.PullQuery{{Conversation: g, From: from, Limit: 100}, {Conversation: g, From: 20, Backward: true, Limit: 100}} {
			r, err := w.Pull(t.Context(), im.Actor{User: "bob"}, q)
			if err != nil {
				t.Fatal(err)
			}
			told := seqsOf(r.Entries)
			for _, seq := range theirs(now[:2]) {
				if seq >= r.First && seq <= r.Stretch.Last && !slices.Contains(told, seq) {
					t.Errorf("%+v: %d is left out of %d to %d: %v", q, seq, r.First, r.Stretch.Last, told)
				}
			}
		}
	}
}

// Who is a member again is told what was amended between two times of theirs: of
// messages that they could read before, also read ones, and no others.
func TestAmendedBetweenTwoTimes(t *testing.T) {
	for _, many := range []int{0, 1, 2, 1200} {
		w, g := newWorld(t), im.Group("g")
		for n := range 6 {
			w.mustSend("alice", g, fmt.Sprint(n+1))
		}
		w.members.add("bob", im.Membership{Conversation: g, First: 1, Until: 6})
		at := w.sync("bob", im.SyncQuery{})
		w.mustSend("alice", g, "not bob's")
		want := ""
		for n := range many {
			w.amend(g, uint64(n%2)+2, fmt.Sprint("state ", n)) // of 2 and 3
		}
		switch many {
		case 1:
			want = "2=state 0"
		case 2, 1200:
			want = fmt.Sprintf("2=state %d 3=state %d", many-2, many-1)
		}
		w.amend(g, 7, "not bob's either")
		back := w.mustSend("alice", g, "bob's again").Seq
		w.members.set("bob", im.Membership{Conversation: g, First: back, Earlier: []im.Window{{First: 1, Until: 6}}})
		r := w.sync("bob", im.SyncQuery{Position: at.Position, Timeline: at.Timeline})
		if len(r.Conversations) != 1 {
			t.Fatalf("%+v", r)
		}
		told := []im.Stretch{r.Conversations[0].Told}
		for _, from := range []uint64{4, 7, back} { // before the gap, in it, and behind it
			p, err := w.Pull(t.Context(), im.Actor{User: "bob"}, im.PullQuery{Conversation: g, From: from, Limit: 50})
			if err != nil {
				t.Fatal(err)
			}
			told = append(told, p.Stretch)
		}
		for i, s := range told {
			if got := said(s.Touched); got != want || strings.Contains(said(s.Entries), "not") {
				t.Errorf("%d amendments, answer %d: touched %q, want %q; entries %q", many, i, got, want, said(s.Entries))
			}
		}
	}
}

// What was said between two times in threads, and in the conversation's line as well, is
// not theirs who are members again; what it made of a root that is theirs is.
func TestRepliesBetweenTwoTimes(t *testing.T) {
	for _, many := range []int{0, 1, 2, 700} {
		w, g := newWorld(t, ticking()), im.Group("g")
		root, other := w.say("alice", g, "root"), w.say("alice", g, "second")
		w.members.add("bob", im.Membership{Conversation: g, First: 1, Until: other})
		at := w.sync("bob", im.SyncQuery{})
		hidden := w.say("alice", g, "not bob's root")
		for range many {
			w.replyInMain("alice", g, root, "not bob's")
			w.replyInMain("alice", g, hidden, "not bob's")
		}
		want := map[bool][]uint64{true: {root}}[many > 0]
		back := w.say("alice", g, "bob's again")
		w.members.set("bob", im.Membership{Conversation: g, First: back, Earlier: []im.Window{{First: 1, Until: other}}})
		r := w.sync("bob", im.SyncQuery{Position: at.Position, Timeline: at.Timeline})
		if len(r.Conversations) != 1 {
			t.Fatalf("%+v", r)
		}
		told := []im.Stretch{r.Conversations[0].Told}
		for _, from := range []uint64{other, hidden, back} { // before the gap, in it, and behind it
			p, err := w.Pull(t.Context(), im.Actor{User: "bob"}, im.PullQuery{Conversation: g, From: from, Limit: 50})
			if err != nil {
				t.Fatal(err)
			}
			told = append(told, p.Stretch)
		}
		for i, s := range told {
			if got := seqsOf(s.Touched); !slices.Equal(got, want) || strings.Contains(said(s.Entries), "not") {
				t.Fatalf("%d replies, answer %d: touched %v, want %v; entries %q", many, i, got, want, said(s.Entries))
			}
			for _, e := range s.Touched {
				var root wire.Entry
				if err := entrycodec.Decode(e.Body, &root); err != nil || int(root.GetReplies().GetCount()) != many {
					t.Errorf("%d replies, answer %d: the root has %v, %v", many, i, root.GetReplies(), err)
				}
			}
		}
	}
}

// A resume gives the newest missed entries of all windows; unread counts what is
// in them after the read mark.
func TestEveryWindowIsSyncedAndCounted(t *testing.T) {
	for name, windows := range windowCases() {
		t.Run(name, func(t *testing.T) {
			want := theirs(windows)
			for read := uint64(0); read <= 40; read++ {
				w, g := windowed(t, windows...)
				if read > 0 {
					if err := w.journal.SetMarks(t.Context(), []im.Mark{{User: "bob", Conversation: g, Read: read, ReadCount: read}}, im.MarkWait{}); err != nil {
						t.Fatal(err)
					}
				}
				r := w.sync("bob", im.SyncQuery{Position: w.journal.begin(), Timeline: "t1"})
				if len(r.Conversations) != 1 {
					t.Fatalf("%+v", r)
				}
				st := r.Conversations[0]
				if got := seqsOf(st.Told.Entries); !slices.Equal(got, want) {
					t.Fatalf("entries %v, want %v", got, want)
				}
				unread := slices.DeleteFunc(slices.Clone(want), func(seq uint64) bool { return seq <= read })
				if st.Unread != uint64(len(unread)) {
					t.Errorf("read up to %d: %d unread, want %v", read, st.Unread, unread)
				}
				checkHidden(t, windows, st, read)
				since := w.sync("bob", im.SyncQuery{}).Conversations[0]
				if got := seqsOf(since.Told.Entries); !slices.Equal(got, want[len(want)-1:]) || since.Unread != st.Unread {
					t.Errorf("cold: %v, %d unread", got, since.Unread)
				}
			}
		})
	}
}

// checkHidden: with what is hidden a device counts by itself what is unread, from
// any mark that is not behind the server's.
func checkHidden(t *testing.T, windows []im.Window, st im.ConversationState, read uint64) {
	t.Helper()
	if len(st.Earlier) != len(windows)-1 || st.First != windows[len(windows)-1].First {
		t.Fatalf("windows %+v and %d", st.Earlier, st.First)
	}
	for i, w := range st.Earlier {
		next := windows[i+1].First
		var hidden uint64
		if next > read { // in this test every entry counts
			hidden = next - 1 - max(w.Until, min(read, next-1))
		}
		if w.Window != windows[i] || w.Hidden != hidden {
			t.Errorf("read up to %d: window %+v, want %d hidden", read, w, hidden)
		}
	}
}

// A resume within the last window looks at nothing before it.
func TestResumeDoesNotRepeatEarlierWindows(t *testing.T) {
	w, g := windowed(t, im.Window{First: 5, Until: 9}, im.Window{First: 30})
	at := w.sync("bob", im.SyncQuery{})
	w.mustSend("alice", g, "news")
	st := w.sync("bob", im.SyncQuery{Position: at.Position, Timeline: "t1"}).Conversations[0]
	if got := seqsOf(st.Told.Entries); !slices.Equal(got, []uint64{41}) {
		t.Errorf("entries %v", got)
	}
}
