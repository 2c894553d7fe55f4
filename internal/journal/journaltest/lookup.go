package journaltest

import (
	"reflect"
	"testing"

	"github.com/skein-im/skein/internal/im"
)

// looked asks what became of ids.
func (f *fixture) looked(batch ...im.Append) []im.Appended {
	f.Helper()
	l, ok := f.j.(im.Lookups)
	if !ok {
		f.Fatalf("%T looks nothing up", f.j)
	}
	out := make([]im.Appended, len(batch))
	for i := range out {
		out[i] = im.Appended{Status: im.Busy, Seq: 99} // of an earlier question
	}
	if err := l.Lookup(f.ctx, batch, out); err != nil {
		f.Fatalf("Lookup: %v", err)
	}
	return out
}

// What was stored is found by its id, none, one, two and many, as Append would
// answer it, whatever the roster is by now; nothing is stored by asking.
func testLookup(t *testing.T, f *fixture) {
	c, other := im.Group("g"), im.Group("other")
	f.looked()
	first, second := text(c, "a", 1, "x"), text(c, "b", 1, "y") // one id, two senders
	never := text(c, "a", 9, "z")
	if got := f.looked(first, never); got[0] != (im.Appended{Status: im.Absent}) || got[1] != got[0] {
		t.Fatalf("of an empty journal: %+v", got)
	}
	stored := f.stored(first, second)
	old := text(other, "a", -100_000_000, "an id of long ago")
	stored = append(stored, f.stored(old)...)
	moved := text(c, "a", 2, "roster")
	moved.SetRoster = 5
	f.stored(moved)
	for range 2 { // before a new start and after
		elsewhere, changed := first, second
		elsewhere.Entry.Conversation = other
		changed.Hash++
		got := f.looked(first, second, old, never, elsewhere, changed, first)
		want := []im.Appended{stored[0], stored[1], stored[2], {Status: im.Absent}, {Status: im.Absent}, {Status: im.IDConflict}, stored[0]}
		for i := range want {
			if want[i].Status == im.Stored {
				want[i].Status = im.Duplicate
			}
			if !got[i].Time.Equal(want[i].Time) {
				t.Errorf("item %d: stored at %v, want %v", i, got[i].Time, want[i].Time)
			}
			got[i].Time = want[i].Time
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("%+v\nwant %+v", got, want)
		}
		f.reopen()
	}
	if n := len(f.read(c, 0, false, 10)); n != 3 {
		t.Errorf("%d entries after looking; 3 were stored", n)
	}
	const many = 300
	var batch []im.Append
	for n := range many {
		batch = append(batch, text(other, "many", 1000+n, "x"))
	}
	f.stored(batch[:many/2]...)
	for i, o := range f.looked(batch...) {
		if want := i < many/2; (o.Status == im.Duplicate) != want || (o.Status == im.Absent) == want {
			t.Fatalf("item %d of %d, half of them stored: %+v", i, many, o)
		}
	}
}
