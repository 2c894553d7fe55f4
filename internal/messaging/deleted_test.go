package messaging

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/entrycodec"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

// deleted is a change that deletes messages.
func deleted(seqs ...uint64) im.MyChange {
	var ranges []im.SeqRange
	for _, seq := range seqs {
		ranges = append(ranges, im.SeqRange{First: seq, Last: seq})
	}
	return im.MyChange{Delete: im.NewSeqSet(ranges...)}
}

// blanks are the seqs of entries that say no more than that their reader deleted them.
func blanks(es []im.Entry) (seqs []uint64) {
	for i := range es {
		var w wire.Entry
		if err := entrycodec.Decode(es[i].Body, &w); err == nil && w.Deleted && w.Content == nil && len(w.Mentions) == 0 {
			seqs = append(seqs, es[i].Seq)
		}
	}
	return seqs
}

// What a user deleted for themselves is not unread, in any time of membership and at any
// read mark, whether it was recalled as well or not; others have it as before.
func TestDeletedIsNotUnread(t *testing.T) {
	for name, windows := range windowCases() {
		if windows[len(windows)-1].Until != 0 {
			continue // the recalls come after all windows, where the member is still one
		}
		t.Run(name, func(t *testing.T) {
			w, g := windowed(t, windows...)
			w.members.add("carol", im.Membership{Conversation: g, First: 1})
			var gone []uint64
			for _, seq := range []uint64{1, 4, 5, 6, 9, 10, 11, 12, 22, 30, 31, 40} {
				if slices.Contains(theirs(windows), seq) {
					w.setMine("bob", g, deleted(seq))
					gone = append(gone, seq)
				}
			}
			for _, seq := range []uint64{3, 5, 10, 15, 30} {
				w.mustRecall("alice", g, seq)
				if !slices.Contains(gone, seq) {
					gone = append(gone, seq)
				}
			}
			slices.Sort(gone)
			for read := uint64(0); read <= 40; read++ {
				if read > 0 {
					if err := w.journal.SetMarks(t.Context(), []im.Mark{{User: "bob", Conversation: g, Read: read, ReadCount: read}}, im.MarkWait{}); err != nil {
						t.Fatal(err)
					}
				}
				after := slices.DeleteFunc(theirs(windows), func(seq uint64) bool { return seq <= read })
				not := slices.DeleteFunc(slices.Clone(gone), func(seq uint64) bool { return !slices.Contains(after, seq) })
				st := w.sync("bob", im.SyncQuery{}).Conversations[0]
				if st.Unread != uint64(len(after)-len(not)) || st.Recalled != uint64(len(not)) || !slices.Equal(st.RecalledSeqs, not) {
					t.Errorf("read up to %d: %d unread, not %d %v; want %d and %v", read, st.Unread, st.Recalled, st.RecalledSeqs, len(after)-len(not), not)
				}
				checkHidden(t, windows, st, read)
			}
			if st := w.sync("carol", im.SyncQuery{}).Conversations[0]; st.Unread != 35 || st.Mine.Deleted != "" {
				t.Errorf("another member has %d unread, %q deleted", st.Unread, st.Mine.Deleted)
			}
		})
	}
}

// What a user deleted is told to them as an empty place, by a pull in any direction, a
// resume and the list, whose last message is the one before; to others as it is.
func TestDeletedIsNotTold(t *testing.T) {
	w, g := windowed(t, im.Window{First: 1})
	w.members.add("carol", im.Membership{Conversation: g, First: 1})
	at := w.sync("bob", im.SyncQuery{})
	w.mustSend("alice", g, "41")
	w.mustSend("alice", g, "42")
	w.mustRecall("alice", g, 2) // the 43rd
	gone := []uint64{2, 7, 8, 39, 41, 42}
	w.setMine("bob", g, deleted(gone...))
	for _, q := range []im.PullQuery{{From: 1}, {Backward: true}, {From: 41, Backward: true}} {
		q.Conversation, q.Limit = g, 100
		for u, want := range map[im.UserID][]uint64{"bob": gone, "carol": nil} {
			r, err := w.Pull(t.Context(), im.Actor{User: u}, q)
			if err != nil || len(r.Entries) < 41 {
				t.Fatalf("%d entries, %v", len(r.Entries), err)
			}
			want = slices.DeleteFunc(slices.Clone(want), func(seq uint64) bool { return seq > r.Entries[len(r.Entries)-1].Seq })
			if got := blanks(r.Entries); !slices.Equal(got, want) {
				t.Errorf("%s, %+v: %v are blank, want %v", u, q, got, want)
			}
		}
	}
	// What it touched before is not told either.
	if r, err := w.Pull(t.Context(), im.Actor{User: "bob"}, im.PullQuery{Conversation: g, From: 43, Limit: 9}); err != nil || len(r.Touched) > 0 {
		t.Errorf("touched: %v, %v", r.Touched, err)
	}
	resume := w.sync("bob", im.SyncQuery{Position: at.Position, Timeline: at.Timeline}).Conversations[0].Told
	if got := blanks(resume.Entries); !slices.Equal(got, []uint64{41, 42}) || len(resume.Touched) > 0 {
		t.Errorf("after an absence: %v are blank, %v touched", got, resume.Touched)
	}
	for u, want := range map[im.UserID][]uint64{"bob": {40, 41, 42}, "carol": {42}} {
		if got := w.sync(u, im.SyncQuery{}).Conversations[0].Told; !slices.Equal(seqsOf(got.Entries), want) || got.First != want[0] || got.Last != 43 {
			t.Errorf("the list tells %s %v, %d to %d", u, seqsOf(got.Entries), got.First, got.Last)
		}
	}
	for seq := uint64(3); seq <= 42; seq++ {
		w.setMine("bob", g, deleted(seq))
	}
	if got := w.sync("bob", im.SyncQuery{}).Conversations[0].Told; len(got.Entries) == 0 || len(blanks(got.Entries)) != len(got.Entries) {
		t.Errorf("with all of it deleted the list tells %v, %v of them blank", seqsOf(got.Entries), blanks(got.Entries))
	}
}

// Lists leave it out: mentions, unread and all, pins, versions, reactions.
func TestDeletedIsNotListed(t *testing.T) {
	w := newWorld(t, ticking())
	g := im.Group("g")
	w.members.rows["bob"] = []im.Membership{{Conversation: g, First: 1}}
	w.members.rows["carol"] = []im.Membership{{Conversation: g, First: 1}}
	for n := range 5 {
		w.mention("alice", g, fmt.Sprint("@bob @carol ", n))
	}
	for _, seq := range []uint64{2, 3} {
		if _, err := w.pin("alice", g, seq, false); err != nil {
			t.Fatal(err)
		}
	}
	w.setMine("bob", g, deleted(1, 3, 4))
	w.wantMentions("bob", g, 2, 5)
	w.wantMentions("carol", g, 1, 2, 3, 4, 5)
	if got := fmt.Sprint(w.listed("bob", 2)); got != "[grp:g 5 grp:g 2]" {
		t.Errorf("mentions: %s", got)
	}
	w.wantPins("bob", g, "2 by alice")
	w.wantPins("carol", g, "3 by alice, 2 by alice")
	for name, err := range map[string]error{
		"versions":  func() error { _, _, err := w.Edits(t.Context(), im.Actor{User: "bob"}, g, 3, 0, 5); return err }(),
		"forwarded": func() error { _, err := w.Message(t.Context(), im.Actor{User: "bob"}, g, 3); return err }(),
	} {
		if im.CodeOf(err) != im.CodeNotFound {
			t.Errorf("%s of what is deleted: %v", name, err)
		}
	}
}

// What was deleted stays so when it is cleared and read: no list and no copy has it again.
func TestDeletedForEver(t *testing.T) {
	w := newWorld(t)
	for range 4 {
		w.mustSend("alice", ab, "x")
	}
	bob, below := im.Actor{User: "bob"}, uint64(4)
	before := w.setMine("bob", ab, deleted(1, 3)).Deleted
	if err := w.MarkRead(t.Context(), bob, ab, 4); err != nil {
		t.Fatal(err)
	}
	if s := w.setMine("bob", ab, im.MyChange{ClearedBelow: &below}); s.Deleted != before || s.ClearedBelow != below {
		t.Errorf("after clearing: %+v", s)
	}
	r, err := w.Pull(t.Context(), bob, im.PullQuery{Conversation: ab, From: 1, Limit: 9})
	if got := blanks(r.Entries); err != nil || !slices.Equal(got, []uint64{1, 3}) || len(r.Entries) != 4 {
		t.Errorf("%d entries, %v are blank, %v", len(r.Entries), got, err)
	}
	for seq, want := range map[uint64]im.Code{1: im.CodeNotFound, 2: "", 3: im.CodeNotFound, 4: ""} {
		_, _, edits := w.Edits(t.Context(), bob, ab, seq, 0, 5)
		_, forward := w.Message(t.Context(), bob, ab, seq)
		if im.CodeOf(edits) != want || im.CodeOf(forward) != want {
			t.Errorf("%d: %v, %v; want %q", seq, edits, forward, want)
		}
	}
}

// Deleting is bounded, and refused for what is no message of theirs; once more is the
// same, and clearing makes no room.
func TestDeleteIsBounded(t *testing.T) {
	w := newWorld(t)
	const many = 2*im.MaxDeleted + 10
	for range many {
		w.mustSend("alice", ab, "x")
	}
	w.mustRecall("alice", ab, 4)
	w.members.add("bob", im.Membership{Conversation: ab, First: 1})
	for name, seqs := range map[string][]uint64{"beyond the end": {2, many + 5}, "an amendment": {many + 1}, "the far end": {1<<63 - 1}} {
		_, err := w.SetMyState(t.Context(), im.Actor{User: "bob"}, ab, deleted(seqs...))
		if e := im.Public(err); e == nil || e.Code != im.CodeNotFound || e.Field != "delete" {
			t.Errorf("%s: %v", name, err)
		}
	}
	g := im.Group("g")
	for range 9 {
		w.mustSend("alice", g, "x")
	}
	w.members.add("bob", im.Membership{Conversation: g, First: 7, Earlier: []im.Window{{First: 2, Until: 3}}})
	for _, seq := range []uint64{1, 4, 6} {
		if _, err := w.SetMyState(t.Context(), im.Actor{User: "bob"}, g, deleted(seq)); im.CodeOf(err) != im.CodeNotFound {
			t.Errorf("%d, when they were no member: %v", seq, err)
		}
	}
	w.setMine("bob", g, deleted(2, 3, 7, 9))
	before := w.setMine("bob", ab, deleted(2, 4))
	if again := w.setMine("bob", ab, deleted(4)); again != before {
		t.Errorf("once more: %+v, before %+v", again, before)
	}
	for seq := uint64(6); seq <= 2*im.MaxDeleted; seq += 2 {
		w.setMine("bob", ab, deleted(seq))
	}
	_, err := w.SetMyState(t.Context(), im.Actor{User: "bob"}, ab, deleted(2*im.MaxDeleted+2))
	if e := im.Public(err); e == nil || e.Code != im.CodeTooLarge || e.Field != "delete" {
		t.Errorf("one stretch too many: %v", err)
	}
	w.setMine("bob", ab, deleted(3)) // 2 to 4 is one
	if s := w.setMine("bob", ab, deleted(2*im.MaxDeleted+1, 2*im.MaxDeleted+2)); s.Deleted.Len() != im.MaxDeleted-1 {
		t.Errorf("%d stretches", s.Deleted.Len())
	}
	// Clearing changes nothing of it, nor of what is unread.
	below := uint64(many)
	unread := w.sync("bob", im.SyncQuery{}).Conversations[0].Unread
	w.setMine("bob", ab, im.MyChange{ClearedBelow: &below})
	if got := w.sync("bob", im.SyncQuery{}).Conversations[0].Unread; got != unread {
		t.Errorf("clearing made %d unread, before %d", got, unread)
	}
	if err := w.MarkRead(t.Context(), im.Actor{User: "bob"}, ab, many); err != nil {
		t.Fatal(err)
	}
	below++
	if s := w.setMine("bob", ab, im.MyChange{ClearedBelow: &below}); s.Deleted.Len() != im.MaxDeleted-1 {
		t.Errorf("after clearing %d stretches are kept", s.Deleted.Len())
	}
	w.setMine("bob", ab, deleted(many-6))
	_, err = w.SetMyState(t.Context(), im.Actor{User: "bob"}, ab, deleted(many-4))
	if e := im.Public(err); e == nil || e.Code != im.CodeTooLarge || e.Field != "delete" {
		t.Errorf("one stretch too many of what is cleared: %v", err)
	}
}

// It is told to the user's devices, and to them alone, and a mark changes nothing of it.
func TestDeletedIsTheirs(t *testing.T) {
	w := newWorld(t)
	w.mustSend("alice", ab, "one")
	w.mustSend("alice", ab, "two")
	s := w.setMine("bob", ab, deleted(1))
	if len(w.out.mine) != 1 || w.out.mine[0] != s || !s.Deleted.Has(1) || s.Deleted.Has(2) {
		t.Fatalf("told %+v", w.out.mine)
	}
	if err := w.MarkRead(t.Context(), im.Actor{User: "bob"}, ab, 2); err != nil {
		t.Fatal(err)
	}
	until := time.UnixMilli(5)
	w.setMine("bob", ab, im.MyChange{MutedUntil: &until})
	if got := w.sync("bob", im.SyncQuery{}).Conversations[0].Mine; got.Deleted != s.Deleted {
		t.Errorf("%+v", got)
	}
	if got := w.sync("alice", im.SyncQuery{}).Conversations[0].Mine; got.Deleted != "" {
		t.Errorf("the other side is told %+v", got)
	}
}
