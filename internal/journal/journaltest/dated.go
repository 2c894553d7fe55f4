package journaltest

import (
	"testing"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// What is stored with times of the caller's has these, in all that tells times, after a reopen
// as well; all else is as with Append, and what is appended next is of now again.
func testDated(t *testing.T, f *fixture) {
	c, other := im.Group("dated"), im.Group("dated-other")
	long := time.Date(2015, 3, 4, 5, 6, 7, 890_000_000, time.UTC)
	append3 := func(at []time.Time, batch ...im.Append) []im.Appended {
		t.Helper()
		d, ok := f.j.(im.Dates)
		if !ok {
			f.Fatalf("%T takes no times", f.j)
		}
		out := make([]im.Appended, len(batch))
		if err := d.AppendDated(f.ctx, batch, at, out); err != nil {
			f.Fatalf("AppendDated: %v", err)
		}
		return out
	}
	first, second := text(c, "a", -90_000_000, "one"), text(c, "b", -80_000_000, "two")
	third := text(other, "a", -70_000_000, "elsewhere")
	root := im.Append{Entry: im.Entry{Conversation: c, Sender: "a", Kind: im.EntryReply, Target: 1, ID: text(c, "a", -60_000_000, "").Entry.ID, Body: []byte("reply")}, Hash: 7}
	root.Amend = im.Amend{Change: true, Body: []byte("one, replied to")}
	root.Own = []string{"t:1"}
	times := []time.Time{long, long.Add(time.Minute), long.Add(time.Hour), long.Add(2 * time.Minute)}
	got := append3(times, first, second, third, root)
	for i, want := range []struct{ seq, count uint64 }{{1, 1}, {2, 2}, {1, 1}, {3, 2}} {
		if g := got[i]; g.Status != im.Stored || g.Seq != want.seq || g.Count != want.count || !g.Time.Equal(times[i]) {
			t.Errorf("item %d: %+v, want seq %d at %s", i, g, want.seq, times[i])
		}
	}
	later := make([]time.Time, 4)
	for i := range later {
		later[i] = long.Add(999 * time.Hour)
	}
	conflict := text(c, "b", -80_000_000, "another text")
	again := append3(later, first, conflict, third, root)
	if again[0].Status != im.Duplicate || !again[0].Time.Equal(long) || again[1].Status != im.IDConflict || again[2].Status != im.Duplicate || again[3].Seq != 3 {
		t.Errorf("again: %+v", again)
	}
	if out := append3(later[:1], im.Append{Entry: text(c, "a", 5, "x").Entry, IfRoster: 9}); out[0].Status != im.RosterChanged {
		t.Errorf("on another roster: %+v", out)
	}
	f.reopen()
	entries, err := f.j.Read(f.ctx, c, 0, false, 10)
	if err != nil || len(entries) != 3 {
		t.Fatalf("%d entries, %v", len(entries), err)
	}
	for i, at := range []time.Time{long, long.Add(time.Minute), long.Add(2 * time.Minute)} {
		if !entries[i].Stored.Equal(at) {
			t.Errorf("entry %d is of %s, want %s", i+1, entries[i].Stored, at)
		}
	}
	if string(entries[0].Body) != "one, replied to" || entries[0].Amended != 3 {
		t.Errorf("the root: %+v", entries[0])
	}
	heads := make([]im.Head, 2)
	if err := f.j.Heads(f.ctx, []im.ConversationID{c, other}, heads); err != nil {
		t.Fatal(err)
	}
	if !heads[0].Time.Equal(long.Add(2*time.Minute)) || heads[0].Seq != 3 || !heads[1].Time.Equal(long.Add(time.Hour)) {
		t.Errorf("heads %+v", heads)
	}
	if o := f.stored(text(c, "b", 6, "today")); o[0].Time.Before(time.Now().Add(-time.Hour)) {
		t.Errorf("what comes next is of %s", o[0].Time)
	}
}
