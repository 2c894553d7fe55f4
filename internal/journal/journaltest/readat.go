package journaltest

import (
	"slices"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// Entries are read by their seqs, in the order in which they are asked for, as Read tells
// them; one that is not there has no Seq. Where they are too much it ends early.
func testReadAt(t *testing.T, f *fixture) {
	c, other := im.Group("g"), im.Group("g2")
	f.stored(text(other, "a", 1, "elsewhere"))
	f.stored(text(c, "a", 2, "one"), text(c, "b", 3, "two"), reply(c, "b", 4, 1, 0, "one, amended"))
	for range 2 { // before a new start and after
		f.wantReadAt(c, nil)
		f.wantReadAt(c, []uint64{2})
		f.wantReadAt(c, []uint64{3, 1, 2, 3})
		f.wantReadAt(c, []uint64{0, 2, 4, 1, 1 << 62, 1<<63 + 5, 3})
		f.wantReadAt(im.Group("none"), []uint64{1, 2})
		f.reopen()
	}
	// Eight of 256 KiB do not come at once, but all of them come.
	big := make([]im.Append, 8)
	want := make([]uint64, 8)
	for i := range big {
		big[i] = text(c, "a", 10+i, string(slices.Repeat([]byte{'x'}, 256<<10)))
		want[i] = uint64(11 - i)
	}
	f.stored(big...)
	var got []uint64
	for calls := 0; len(got) < len(want); calls++ {
		es, err := f.j.(im.Pages).ReadAt(f.ctx, c, want[len(got):])
		if err != nil || len(es) == 0 || len(es) > 5 || calls > len(want) {
			t.Fatalf("%d of %d in call %d, %v", len(es), len(want), calls, err)
		}
		for i := range es {
			got = append(got, es[i].Seq)
		}
	}
	if !slices.Equal(got, want) {
		t.Fatalf("%v, want %v", got, want)
	}
}

// wantReadAt compares what is read by seqs with what Read tells of each.
func (f *fixture) wantReadAt(c im.ConversationID, seqs []uint64) {
	f.Helper()
	got, err := f.j.(im.Pages).ReadAt(f.ctx, c, seqs)
	if err != nil || len(got) != len(seqs) {
		f.Fatalf("%v: %d entries, %v", seqs, len(got), err)
	}
	for i, seq := range seqs {
		var want im.Entry
		if es, err := f.j.Read(f.ctx, c, seq, false, 1); err != nil {
			f.Fatal(err)
		} else if len(es) > 0 && es[0].Seq == seq {
			want = es[0]
		}
		if got[i].Seq != want.Seq || want.Seq > 0 && !sameEntry(got[i], want) {
			f.Fatalf("%v: the %d. is %+v, want %+v", seqs, i+1, got[i], want)
		}
	}
}

func sameEntry(a, b im.Entry) bool {
	same := slices.Equal(a.Body, b.Body) && a.Stored.Equal(b.Stored)
	a.Body, b.Body, a.Stored, b.Stored = nil, nil, time.Time{}, time.Time{}
	return same && a.Conversation == b.Conversation && a.ID == b.ID && a.Sender == b.Sender && a.Kind == b.Kind && a.Count == b.Count &&
		a.Target == b.Target && a.Amended == b.Amended && a.Pos == b.Pos && a.Roster == b.Roster && a.Recalled == b.Recalled
}
