package journaltest

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/skein-im/skein/internal/im"
)

func testSeq(t *testing.T, f *fixture) {
	c, d := im.Group("g"), im.DM("a", "b")
	n := 0
	next := func() int { n++; return n }
	var last uint64
	for range 20 {
		out := f.stored(text(c, "a", next(), "1"), text(d, "a", next(), "2"), text(c, "b", next(), "3"), recall(d, "b", next(), 1))
		if out[0].Seq != last+1 || out[2].Seq != out[0].Seq+1 || out[1].Seq+1 != out[3].Seq {
			t.Fatalf("seqs %d %d %d %d after %d", out[0].Seq, out[1].Seq, out[2].Seq, out[3].Seq, last)
		}
		if out[1].Count != out[3].Count {
			t.Fatalf("a recall was counted: %d then %d", out[1].Count, out[3].Count)
		}
		last = out[2].Seq
	}
	if n := len(f.checkConversation(c)); n != 40 {
		t.Fatalf("%d entries, want 40", n)
	}
	f.reopen()
	f.checkConversation(d)
	out := f.stored(text(c, "a", next(), "after"))
	if out[0].Seq != 41 || out[0].Count != 41 {
		t.Fatalf("after reopening: %+v, want seq 41 count 41", out[0])
	}
	if h := f.head(d); h.Seq != 40 || h.Count != 20 {
		t.Fatalf("head of the dm %+v, want seq 40 count 20", h)
	}
}

func testEmpty(t *testing.T, f *fixture) {
	c := im.Group("nothing")
	if h := f.head(c); h != (im.Head{}) {
		t.Fatalf("head of an empty conversation: %+v", h)
	}
	for _, backward := range []bool{false, true} {
		for _, from := range []uint64{0, 1, 7, ^uint64(0)} {
			if got := f.read(c, from, backward, 10); len(got) != 0 {
				t.Fatalf("read %d entries of an empty conversation", len(got))
			}
		}
	}
	out := []im.Mark{{Read: 9}}
	if err := f.marks.Marks(f.ctx, []im.MarkKey{{User: "nobody", Conversation: c}}, out, false); err != nil || out[0] != (im.Mark{}) {
		t.Fatalf("Marks: %+v, %v; want the zero mark", out[0], err)
	}
	if marks, err := f.marks.UserMarks(f.ctx, "nobody"); err != nil || len(marks) != 0 {
		t.Fatalf("UserMarks: %v, %v", marks, err)
	}
	before := f.position(f.shard(c))
	if out := f.stored(text(c, "a", 1, "x")); out[0].Pos <= before {
		t.Fatalf("the first entry is at %d, the position was %d", out[0].Pos, before)
	}
}

func testEmptyBatch(t *testing.T, f *fixture) {
	out := f.stored(text("grp:g", "a", 1, "x"))
	s := f.shard("grp:g")
	before := f.reaches(s, out[0].Pos)
	f.append()
	same(t, f.append(text("grp:g", "a", 1, "x"))[0], out[0]) // stores nothing either
	if p := f.position(s); p < before {
		t.Fatalf("position went back from %d to %d", before, p)
	}
	if n := len(f.checkConversation("grp:g")); n != 1 {
		t.Fatalf("%d entries", n)
	}
}

// same requires a Duplicate that tells of the original.
func same(t testing.TB, got, original im.Appended) {
	t.Helper()
	want := original
	want.Status = im.Duplicate
	if got.Status != im.Duplicate || got.Seq != want.Seq || got.Count != want.Count || !got.Time.Equal(want.Time) ||
		got.Pos != want.Pos || got.Roster != want.Roster {
		t.Fatalf("got %+v, want the original as a duplicate: %+v", got, want)
	}
}

func testDuplicateInBatch(t *testing.T, f *fixture) {
	c := im.Group("g")
	out := f.append(text(c, "a", 1, "x"), text(c, "a", 2, "y"), text(c, "a", 1, "x"), text(c, "b", 3, "z"), text(c, "a", 2, "y"), text(c, "a", 1, "x"))
	if out[0].Status != im.Stored || out[1].Status != im.Stored || out[3].Status != im.Stored {
		t.Fatalf("%+v", out)
	}
	same(t, out[2], out[0])
	same(t, out[4], out[1])
	same(t, out[5], out[0])
	if out[3].Seq != 3 {
		t.Fatalf("a duplicate took a seq: %+v", out[3])
	}
	if n := len(f.checkConversation(c)); n != 3 {
		t.Fatalf("%d entries, want 3", n)
	}
}

func testDuplicateForEver(t *testing.T, f *fixture) {
	c := im.Group("g")
	first := f.stored(text(c, "a", 1, "x"), text(c, "a", 2, "y"))
	// Push the ids out of every window of recent ones.
	batch := make([]im.Append, 0, 500)
	for n := 3; n < 6000; {
		batch = batch[:0]
		for range 500 {
			batch = append(batch, text(c, "a", n, "filler"))
			n++
		}
		f.stored(batch...)
	}
	again := f.append(text(c, "a", 2, "y"), text(c, "a", 1, "x"))
	same(t, again[0], first[1])
	same(t, again[1], first[0])
	for range 2 {
		f.reopen()
		again = f.append(text(c, "a", 1, "x"), text(c, "a", 100_000, "new"), text(c, "a", 2, "y"))
		same(t, again[0], first[0])
		same(t, again[2], first[1])
	}
	f.checkConversation(c)
}

func testIDOrder(t *testing.T, f *fixture) {
	c := im.Group("g")
	order := []int{50, 10, 90, 30, 70, 20, 80, 60, 40, 100, 5}
	originals := map[int]im.Appended{}
	for _, n := range order[:5] {
		originals[n] = f.stored(text(c, "a", n, "x"))[0]
	}
	var batch []im.Append
	for _, n := range order[5:] {
		batch = append(batch, text(c, "a", n, "x"))
	}
	for i, o := range f.stored(batch...) {
		originals[order[5+i]] = o
	}
	for range 2 {
		for _, n := range []int{100, 5, 50, 90, 10, 60, 40} {
			same(t, f.append(text(c, "a", n, "x"))[0], originals[n])
		}
		f.reopen()
	}
	if out := f.append(text(c, "a", 55, "x"), text(c, "a", 1, "x"), text(c, "a", 55, "x")); out[0].Status != im.Stored || out[1].Status != im.Stored || out[2].Status != im.Duplicate {
		t.Fatalf("%+v", out)
	}
	if n := len(f.checkConversation(c)); n != len(order)+2 {
		t.Fatalf("%d entries, want %d", n, len(order)+2)
	}
}

func testManySenders(t *testing.T, f *fixture) {
	c := im.Group("g")
	var batch []im.Append
	for n := range 300 {
		// Names of which one is the beginning of another.
		batch = append(batch, text(c, im.UserID(fmt.Sprintf("u%d", n)), 300-n, "x"))
	}
	batch = append(batch, text(c, "", 7, "of the server"))
	first := f.stored(batch...)
	f.reopen()
	for i, o := range f.append(batch...) {
		same(t, o, first[i])
	}
	f.checkConversation(c)
}

func testIDConflict(t *testing.T, f *fixture) {
	c, d := im.Group("g"), im.Group("h")
	f.stored(text(d, "b", 99, "seq one of h"))
	first := f.stored(text(c, "a", 1, "x"), text(c, "a", 2, "y"))
	otherHash := text(c, "a", 1, "other")
	refuse := func() {
		t.Helper()
		for i, o := range f.append(otherHash, otherHash) {
			if o != (im.Appended{Status: im.IDConflict}) {
				t.Fatalf("item %d: %+v; want IDConflict and nothing of the original", i, o)
			}
		}
	}
	refuse()
	f.reopen()
	refuse()
	// The same within one batch.
	out := f.append(text(c, "a", 5, "x"), text(c, "a", 5, "other"), text(c, "a", 6, "goes on"))
	if out[0].Status != im.Stored || out[1] != (im.Appended{Status: im.IDConflict}) || out[2].Status != im.Stored {
		t.Fatalf("%+v", out)
	}
	same(t, f.append(text(c, "a", 1, "x"))[0], first[0])
	if n := len(f.checkConversation(c)); n != 4 {
		t.Fatalf("%d entries, want 4", n)
	}
	if n := len(f.checkConversation(d)); n != 1 {
		t.Fatalf("%d entries in the other conversation, want 1", n)
	}
}

// An id names a message of its sender in one conversation. The same one in others,
// none, one, two or many, also in the same batch, names others.
func testSameIDOtherConversation(t *testing.T, f *fixture) {
	c := func(n int) im.ConversationID { return im.Group(fmt.Sprint("g", n)) }
	first := f.stored(text(c(0), "a", 1, "x"))
	out := f.append(text(c(0), "a", 1, "x"), text(c(1), "a", 1, "x"), text(c(2), "a", 1, "y"), text(c(1), "a", 1, "x"), text(c(2), "a", 1, "other"), text(c(1), "b", 1, "x"))
	for i, want := range []im.AppendStatus{im.Duplicate, im.Stored, im.Stored, im.Duplicate, im.IDConflict, im.Stored} {
		if out[i].Status != want {
			t.Fatalf("item %d: %+v, want status %d", i, out[i], want)
		}
	}
	same(t, out[0], first[0])
	same(t, out[3], out[1])
	const many = 60
	var batch []im.Append
	for n := range many {
		batch = append(batch, text(c(10+n), "a", 1, "x"))
	}
	stored := f.stored(batch...)
	for range 2 { // before a new start and after
		for i, o := range f.append(batch...) {
			same(t, o, stored[i])
		}
		same(t, f.append(text(c(0), "a", 1, "x"))[0], first[0])
		same(t, f.append(text(c(2), "a", 1, "y"))[0], out[2])
		if o := f.append(text(c(3), "a", 2, "x"), text(c(2), "a", 1, "x")); o[1] != (im.Appended{Status: im.IDConflict}) {
			t.Fatalf("%+v", o)
		}
		got := f.looked(text(c(0), "a", 1, "x"), text(c(9), "a", 1, "x"), text(c(10+many-1), "a", 1, "x"))
		same(t, got[0], first[0])
		same(t, got[2], stored[many-1])
		if got[1] != (im.Appended{Status: im.Absent}) {
			t.Fatalf("in a conversation without entries: %+v", got[1])
		}
		f.reopen()
	}
	for n := range 3 {
		f.checkConversation(c(n))
	}
}

func testSameIDOtherSender(t *testing.T, f *fixture) {
	c := im.Group("g")
	out := f.stored(text(c, "a", 1, "x"), text(c, "b", 1, "x"), text(c, "", 1, "x"), text(c, "ab", 1, "x"))
	f.reopen()
	for i, s := range []im.UserID{"a", "b", "", "ab"} {
		same(t, f.append(text(c, s, 1, "x"))[0], out[i])
	}
	f.checkConversation(c)
}

func testRosterChanged(t *testing.T, f *fixture) {
	c, d := im.Group("g"), im.Group("h")
	set := text(c, "", 1, "roster 7")
	set.SetRoster = 7
	f.stored(set)
	at := func(a im.Append, roster uint64) im.Append { a.IfRoster = roster; return a }
	first := f.stored(at(text(c, "a", 2, "old"), 7))
	out := f.append(
		at(text(c, "a", 3, "fits"), 7),
		at(text(c, "a", 4, "stale"), 6),
		at(text(c, "a", 5, "fits, but must not overtake"), 7),
		at(text(c, "a", 2, "old"), 6), // a duplicate is answered whatever the roster
		text(d, "a", 6, "another conversation"),
		at(text(c, "b", 7, "another sender waits too"), 7),
		at(text(c, "a", 3, "fits"), 7),
		at(text(c, "a", 4, "stale"), 7),
	)
	want := []im.AppendStatus{im.Stored, im.RosterChanged, im.RosterChanged, im.Duplicate, im.Stored, im.RosterChanged, im.Duplicate, im.RosterChanged}
	for i := range out {
		if out[i].Status != want[i] {
			t.Fatalf("item %d: status %d, want %d", i, out[i].Status, want[i])
		}
		if want[i] == im.RosterChanged && out[i] != (im.Appended{Status: im.RosterChanged}) {
			t.Fatalf("item %d: %+v; want only the status", i, out[i])
		}
	}
	same(t, out[3], first[0])
	same(t, out[6], out[0])
	// What was refused was not stored: the retry is.
	retry := f.stored(at(text(c, "a", 4, "stale"), 7), at(text(c, "a", 5, "fits, but must not overtake"), 7))
	if retry[0].Seq != 4 || retry[1].Seq != 5 {
		t.Fatalf("retry: %+v", retry)
	}
	f.checkConversation(c)
}

func testSetRoster(t *testing.T, f *fixture) {
	c := im.Group("g")
	item := func(n int, from, to uint64) im.Append {
		a := text(c, "a", n, "x")
		a.IfRoster, a.SetRoster = from, to
		return a
	}
	out := f.append(item(1, 0, 3), item(2, 3, 0), item(3, 0, 0), item(4, 3, 0))
	if out[0].Roster != 3 || out[1].Roster != 3 || out[2].Status != im.RosterChanged || out[3].Status != im.RosterChanged {
		t.Fatalf("%+v", out)
	}
	out = f.stored(item(5, 3, 4), item(6, 4, 2), item(7, 2, 0))
	if out[0].Roster != 4 || out[1].Roster != 2 || out[2].Roster != 2 {
		t.Fatalf("%+v", out)
	}
	var rosters []uint64
	for _, e := range f.checkConversation(c) {
		rosters = append(rosters, e.Roster)
	}
	if fmt.Sprint(rosters) != "[3 3 4 2 2]" {
		t.Fatalf("rosters of the entries: %v", rosters)
	}
}

func testRosterReopen(t *testing.T, f *fixture) {
	c := im.Group("g")
	a := text(c, "a", 1, "x")
	a.SetRoster = 9
	f.stored(a)
	f.reopen()
	stale, fits := text(c, "a", 2, "y"), text(c, "a", 3, "z")
	stale.IfRoster, fits.IfRoster = 8, 9
	if out := f.append(stale); out[0].Status != im.RosterChanged {
		t.Fatalf("%+v", out)
	}
	// What was answered as refused is not there, and took no place.
	if out := f.stored(fits); out[0].Seq != 2 {
		t.Fatalf("%+v", out)
	}
	if got := f.checkConversation(c); len(got) != 2 {
		t.Fatalf("%d entries, want 2", len(got))
	}
	if h := f.head(c); h.Roster != 9 {
		t.Fatalf("head %+v", h)
	}
}

func testInvalid(t *testing.T, f *fixture) {
	good := text("grp:g", "a", 1, "x")
	noID, noConversation := good, good
	noID.Entry.ID = im.MessageID{}
	noConversation.Entry.Conversation = ""
	stored := uint64(0)
	for name, batch := range map[string][]im.Append{"no id": {good, noID}, "no conversation": {good, noConversation}} {
		out := make([]im.Appended, len(batch))
		err := f.j.Append(f.ctx, batch, out)
		if partly := new(im.PartlyError); errors.As(err, &partly) && f.shard(batch[1].Entry.Conversation) != f.shard("grp:g") {
			if partly.Errs[0] != nil || out[0].Seq != 1 {
				t.Errorf("%s: the other shard's item is %+v, %v", name, out[0], partly.Errs[0])
			}
			stored, err = 1, partly.Errs[1]
		}
		if !errors.Is(err, im.ErrAppendInvalid) {
			t.Errorf("%s: error %v, want ErrAppendInvalid", name, err)
		}
	}
	if err := f.j.Append(f.ctx, []im.Append{good}, nil); err == nil {
		t.Error("out shorter than the batch was accepted")
	}
	if seq := f.head("grp:g").Seq; seq != stored {
		t.Errorf("%d entries are stored, want %d", seq, stored)
	}
}

func testCancelled(t *testing.T, f *fixture) {
	ctx, cancel := context.WithCancel(f.ctx)
	cancel()
	if err := f.j.Append(ctx, []im.Append{text("grp:g", "a", 1, "x")}, make([]im.Appended, 1)); !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v", err)
	}
	if f.head("grp:g").Seq != 0 {
		t.Fatal("something was stored")
	}
	f.stored(text("grp:g", "a", 1, "x"))
}
