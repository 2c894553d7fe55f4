package skein

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/skein-im/skein/wire"
)

func ranges(seqs ...uint64) (out []*wire.SeqRange) {
	for _, seq := range seqs {
		out = append(out, &wire.SeqRange{First: seq, Last: seq})
	}
	return out
}

// gone tells whether the user deleted an entry for themselves.
func (f *fake) gone(e *wire.Entry) bool {
	return slices.ContainsFunc(f.mine[e.Conversation].GetDeleted(), func(r *wire.SeqRange) bool { return r.First <= e.Seq && e.Seq <= r.Last })
}

// blank is an entry as it is told to who deleted it.
func blank(e *wire.Entry) *wire.Entry {
	return &wire.Entry{
		Conversation: e.Conversation, Seq: e.Seq, Id: e.Id, Sender: e.Sender, StoredAtMs: e.StoredAtMs, Kind: e.Kind,
		Count: e.Count, Recalled: e.Recalled, Pos: e.Pos, Amended: e.Amended, Deleted: true,
	}
}

// checkDeleted compares what is shown of a group, in pages of each size, with what the
// user did not delete of n messages.
func (r *rig) checkDeleted(what string, n uint64, gone ...uint64) {
	r.t.Helper()
	synctest.Wait()
	v := r.c.Conversation(grp)
	var want []uint64
	for seq := uint64(1); seq <= n; seq++ {
		if !slices.Contains(gone, seq) {
			want = append(want, seq)
		}
	}
	for _, limit := range []int{1, 2, 50} {
		var got []uint64
		for before := uint64(0); ; before = got[0] {
			ms, err := v.History(bg, before, limit)
			if err != nil || len(ms) > limit {
				r.t.Fatalf("%s: %d messages, %v", what, len(ms), err)
			}
			if len(ms) == 0 {
				break
			}
			var page []uint64
			for _, m := range ms {
				page = append(page, m.Seq)
			}
			got = append(page, got...)
		}
		if !slices.Equal(got, want) {
			r.t.Errorf("%s, in pages of %d: %v, want %v", what, limit, got, want)
		}
	}
	s, err := v.Summary(bg)
	if err != nil || (s.Last == nil) != (len(want) == 0) || s.Last != nil && s.Last.Seq != want[len(want)-1] {
		r.t.Errorf("%s: the last one is %v, %v; want %v", what, s.Last, err, want)
	}
	r.do(func() {
		if st := r.fake.state(grp); s.Unread != st.Unread || s.UnreadMentions != st.UnreadMentions {
			r.t.Errorf("%s: %d unread, %d mentions; the server says %d and %d", what, s.Unread, s.UnreadMentions, st.Unread, st.UnreadMentions)
		}
	})
}

// What the user deletes for themselves, here or elsewhere, is shown no more: in history,
// as the last message, and as unread; after a restart, an absence and on a new device.
func TestDeleteForMe(t *testing.T) {
	for _, low := range []int{0, 5} { // with all of it stored, or the end
		inBubble(t, func(t *testing.T, r *rig) {
			r.keepMine()
			r.sayMany(grp, "bob", low)
			r.dial()
			r.do(func() { // some of them mention the user
				for n := range 10 - low {
					r.append(nil, &wire.Entry{Conversation: grp, Sender: "bob", Kind: wire.EntryKind_ENTRY_KIND_MESSAGE, Mentions: []string{"alice"}, Content: &wire.Content{Type: "text", Body: &wire.Content_Text{Text: fmt.Sprint(n)}}})
				}
			})
			pause(time.Second)
			r.checkDeleted("before", 10)
			v := r.c.Conversation(grp)
			if err := v.DeleteForMe(bg, 3, 10); err != nil {
				t.Fatal(err)
			}
			r.checkDeleted("two", 10, 3, 10)
			r.recall(grp, 10) // the 11th entry
			r.recall(grp, 7)
			r.checkDeleted("one of them was taken back as well", 10, 3, 10)
			if err := v.DeleteForMe(bg, 7); err != nil {
				t.Fatal(err)
			}
			r.checkDeleted("what was taken back", 10, 3, 7, 10)
			state := func() *wire.MyState { return proto.Clone(r.mine[grp]).(*wire.MyState) }
			next := state()
			next.Revision, next.Deleted = next.Revision+1, ranges(1, 3, 7, 9, 10)
			r.setElsewhere(next, true)
			r.checkDeleted("elsewhere", 10, 1, 3, 7, 9, 10)
			r.edit(grp, 9, "other words") // of what is not shown
			r.checkDeleted("what was edited", 10, 1, 3, 7, 9, 10)
			if err := v.MarkRead(bg, 4); err != nil {
				t.Fatal(err)
			}
			pause(time.Second)
			r.checkDeleted("read in part", 10, 1, 3, 7, 9, 10)
			r.restart()
			r.checkDeleted("after a restart", 10, 1, 3, 7, 9, 10)
			r.end()
			r.do(func() { r.onCall = nil })
			last := state()
			last.Revision, last.Deleted = last.Revision+1, append(last.Deleted, ranges(15)...)
			r.sayMany(grp, "bob", 2) // the 14th and the 15th entry
			r.setElsewhere(last, false)
			shown := len(eventsOf[*MessageEvent](r.events))
			r.dial()
			pause(time.Second)
			eq(t, "messages that were told", len(eventsOf[*MessageEvent](r.events))-shown, 1)
			r.checkDeleted("after an absence", 15, 1, 3, 7, 9, 10, 11, 12, 13, 15) // 11 to 13 amend
			r.store = NewMemoryStore()
			r.restart()
			pause(time.Second)
			r.checkDeleted("on a new device", 15, 1, 3, 7, 9, 10, 11, 12, 13, 15)
		})
	}
}
