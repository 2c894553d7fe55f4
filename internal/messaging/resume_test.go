package messaging

import (
	"fmt"
	"testing"

	"github.com/skein-im/skein/internal/im"
)

// A resume is told in pages. None, one, as many as a page holds, one more, and
// many: all are told, the position comes with the last page, and what changes
// between the pages is told by them or by the next resume; who is cut off begins
// again.
func TestResumePages(t *testing.T) {
	for _, n := range []int{0, 1, resumePage - 1, resumePage, resumePage + 1, 2000} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			w := newWorld(t)
			w.mustSend("someone", im.DM("alice", "someone"), "x")
			w.elsewhere()
			from := w.sync("alice", im.SyncQuery{})
			dm := func(i int) im.ConversationID { return im.DM("alice", im.UserID(fmt.Sprintf("user%04d", i))) }
			for i := range n {
				w.mustSend(im.UserID(fmt.Sprintf("user%04d", i)), dm(i), "x")
			}
			told := map[im.ConversationID]uint64{}
			resume := func(position string, change func(page int)) (string, int) {
				q := im.SyncQuery{Position: position, Timeline: from.Timeline}
				for page := 1; ; page++ {
					r := w.sync("alice", q)
					if r.Reset || len(r.Conversations) > resumePage || (r.Next == "") != (r.Position != "") {
						t.Fatalf("page %d: %d conversations, position %q, next %q, reset %v", page, len(r.Conversations), r.Position, r.Next, r.Reset)
					}
					for _, st := range r.Conversations {
						told[st.Conversation] = st.Head.Seq
					}
					if r.Next == "" {
						return r.Position, page
					}
					q.Cursor = r.Next
					change(page)
				}
			}
			// Cut off after a page: nothing has moved.
			if first := w.sync("alice", im.SyncQuery{Position: from.Position, Timeline: from.Timeline}); (first.Next != "") != (n > resumePage) || len(first.Conversations) != min(n, resumePage) {
				t.Fatalf("the first page has %d conversations, next %q", len(first.Conversations), first.Next)
			}
			want := map[im.ConversationID]uint64{}
			for i := range n {
				want[dm(i)] = 1
			}
			position, pages := resume(from.Position, func(page int) {
				for _, i := range []int{0, n / 2, n - 1} { // told already, about to be, and not yet
					want[dm(i)]++
					w.mustSend("alice", dm(i), "more")
				}
				c := im.DM("alice", im.UserID(fmt.Sprintf("a%d", page))) // before all cursors
				w.mustSend("alice", c, "new")
				want[c] = 1
			})
			if least := max(1, (n+resumePage-1)/resumePage); pages < least || pages > least+1 {
				t.Errorf("%d pages", pages)
			}
			resume(position, func(int) {})
			for c, seq := range want {
				if told[c] != seq {
					t.Errorf("%s is told up to %d, want %d", c, told[c], seq)
				}
			}
			if len(told) != len(want) {
				t.Errorf("%d are told, want %d", len(told), len(want))
			}
			if r := w.sync("alice", im.SyncQuery{Position: from.Position, Timeline: from.Timeline, Cursor: "nonsense"}); n > 0 && len(r.Conversations) == 0 {
				t.Error("who comes with a cursor that is none does not begin again")
			}
		})
	}
}
