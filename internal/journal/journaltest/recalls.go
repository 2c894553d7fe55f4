package journaltest

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/skein-im/skein/internal/im"
)

// recalled asks for what was recalled in spans.
func (f *fixture) recalled(limit int, spans ...im.Span) []im.Recalled {
	f.Helper()
	r, ok := f.j.(im.Recalls)
	if !ok {
		f.Fatalf("%T does not tell what was recalled", f.j)
	}
	out := make([]im.Recalled, len(spans))
	for i := range out {
		out[i] = im.Recalled{Count: 99, Seqs: []uint64{99}} // of an earlier question
	}
	if err := r.Recalled(f.ctx, spans, limit, out); err != nil {
		f.Fatalf("Recalled: %v", err)
	}
	return out
}

func (f *fixture) wantRecalled(limit int, s im.Span, count uint64, seqs ...uint64) {
	f.Helper()
	got := f.recalled(limit, s)[0]
	if got.Count != count || len(got.Seqs) != len(seqs) || len(seqs) > 0 && !reflect.DeepEqual(got.Seqs, seqs) {
		f.Fatalf("%+v, at most %d: %+v, want %d %v", s, limit, got, count, seqs)
	}
}

// What was recalled is told by where it lies, none, one, two and many, each
// message once; entries that are no messages never count.
func testRecalled(t *testing.T, f *fixture) {
	c, quiet, next := im.Group("g"), im.Group("quiet"), im.Group("g2")
	const many = 40
	f.stored(text(quiet, "a", 1, "x"), text(next, "a", 2, "x"), text(next, "a", 3, "y"))
	for n := range many {
		f.stored(text(c, "a", 10+n, "x"))
	}
	f.recalled(9)
	all := im.Span{Conversation: c, Until: many}
	f.wantRecalled(9, all, 0)
	f.stored(recall(c, "a", 100, 7))
	for range 2 { // before a new start and after
		f.wantRecalled(9, all, 1, 7)
		f.wantRecalled(9, im.Span{Conversation: c, After: 6, Until: 7}, 1, 7) // above the mark
		f.wantRecalled(9, im.Span{Conversation: c, After: 7, Until: 99}, 0)   // at it
		f.wantRecalled(9, im.Span{Conversation: c, After: 8, Until: 99}, 0)   // below it
		f.wantRecalled(9, im.Span{Conversation: c, After: 1, Until: 6}, 0)
		f.wantRecalled(9, im.Span{Conversation: c, After: 7, Until: 7}, 0)
		f.reopen()
	}
	// Twice, by somebody else and in one batch; and what is no message.
	f.stored(recall(c, "b", 101, 7), recall(c, "a", 102, 9), recall(c, "b", 103, 9), recall(c, "a", 104, many+1))
	f.wantRecalled(9, im.Span{Conversation: c, Until: 1 << 62}, 2, 7, 9)
	// In the batch that stores the message.
	head := f.head(c).Seq
	f.stored(text(c, "a", 110, "x"), recall(c, "a", 111, head+1), text(c, "a", 112, "y"))
	f.wantRecalled(9, im.Span{Conversation: c, Until: ^uint64(0)}, 3, 7, 9, head+1)
	// An item that is not stored recalls nothing.
	stale := recall(c, "a", 113, 1)
	stale.IfRoster = 77
	f.append(stale)
	f.wantRecalled(9, all, 2, 7, 9)
	// Many, and no more named than are wanted.
	for n := range many {
		f.stored(recall(c, "a", 200+n, uint64(n)+1))
	}
	f.wantRecalled(3, all, many, 1, 2, 3)
	f.wantRecalled(0, all, many)
	// Many spans in one question, also of the same conversation, and of none.
	f.stored(recall(next, "a", 300, 2))
	got := f.recalled(2, im.Span{Conversation: next, Until: 9}, im.Span{Conversation: quiet, Until: 9}, im.Span{Conversation: "grp:none", Until: 9},
		im.Span{Conversation: c, Until: 4}, im.Span{Conversation: c, After: 38, Until: many})
	want := []im.Recalled{{Count: 1, Seqs: []uint64{2}}, {}, {}, {Count: 4, Seqs: []uint64{1, 2}}, {Count: 2, Seqs: []uint64{39, 40}}}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Fatalf("%v, want %v", got, want)
	}
}

// checkRecalled holds what is told of a conversation against its entries.
func (f *fixture) checkRecalled(c im.ConversationID, entries []im.Entry) error {
	f.Helper()
	var want im.Recalled
	for i := range entries {
		if e := &entries[i]; e.Recalled && e.Countable() {
			want.Count++
			want.Seqs = append(want.Seqs, e.Seq)
		}
	}
	if got := f.recalled(1<<20, im.Span{Conversation: c, Until: ^uint64(0)})[0]; fmt.Sprint(got) != fmt.Sprint(want) {
		return fmt.Errorf("%s: recalled %v, the entries say %v", c, got, want)
	}
	return nil
}
