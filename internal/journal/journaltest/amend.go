package journaltest

import (
	"errors"
	"testing"

	"github.com/skein-im/skein/internal/im"
)

// entry reads one entry, in both directions.
func (f *fixture) entry(c im.ConversationID, seq uint64) im.Entry {
	f.Helper()
	up, down := f.read(c, seq, false, 1), f.read(c, seq, true, 1)
	if len(up) != 1 || len(down) != 1 || up[0].Seq != seq {
		f.Fatalf("%s has no entry %d", c, seq)
	}
	if d := differ(&down[0], &up[0]); d != "" {
		f.Fatalf("%s %d read backward: %s", c, seq, d)
	}
	return up[0]
}

// like requires an entry to be as want.
func (f *fixture) like(want im.Entry) {
	f.Helper()
	got := f.entry(want.Conversation, want.Seq)
	if d := differ(&got, &want); d != "" {
		f.Fatalf("%s %d: %s", want.Conversation, want.Seq, d)
	}
}

func testRecall(t *testing.T, f *fixture) {
	c := im.Group("g")
	secret := text(c, "a", 2, "secret")
	first := f.stored(text(c, "a", 1, "x"), secret, text(c, "a", 3, "z"))
	before := f.all(c)
	out := f.stored(recall(c, "a", 4, 2))
	want := before[1]
	want.Body, want.Recalled, want.Amended = nil, true, 4
	check := func() {
		t.Helper()
		f.like(want)
		f.like(before[0])
		f.like(before[2])
		if e := f.checkConversation(c)[3]; e.Kind != im.EntryRecall || e.Target != 2 || e.Count != 3 {
			t.Fatalf("the recall: %+v", e)
		}
	}
	check()
	f.reopen()
	check()
	// The id stays: a resend is a duplicate, also of the recall, and changes nothing.
	again := f.append(secret, recall(c, "a", 4, 2))
	same(t, again[0], first[1])
	same(t, again[1], out[0])
	check()
	f.stored(recall(c, "b", 5, 2)) // taken back twice
	if e := f.entry(c, 2); !e.Recalled || len(e.Body) != 0 || e.Amended != 5 {
		t.Fatalf("%+v", e)
	}
	f.stored(recall(c, "b", 6, 5)) // of the last entry: the head keeps its place
	f.reopen()
	f.checkConversation(c)
}

func testRecallInBatch(t *testing.T, f *fixture) {
	c := im.Group("g")
	f.stored(text(c, "a", 1, "x"))
	f.stored(text(c, "a", 2, "secret"), recall(c, "a", 3, 2), recall(c, "a", 4, 1), text(c, "a", 5, "y"))
	for range 2 {
		entries := f.checkConversation(c)
		for i, recalled := range []bool{true, true, false, false, false} {
			if entries[i].Recalled != recalled || recalled != (entries[i].Kind == im.EntryMessage && len(entries[i].Body) == 0) {
				t.Fatalf("entry %d: %+v", i, entries[i])
			}
		}
		f.reopen()
	}
	// An item that is not stored takes nothing back.
	stale := recall(c, "a", 6, 5)
	stale.IfRoster = 77
	f.append(stale)
	if e := f.entry(c, 5); e.Recalled || string(e.Body) != "y" {
		t.Fatalf("%+v", e)
	}
}

// A change replaces the body, and nothing else of the entry: of a message, of an
// event, of one that was changed before, by the same or somebody else.
func testChange(t *testing.T, f *fixture) {
	c := im.Group("g")
	first := f.stored(text(c, "a", 1, "one"), text(c, "a", 2, "two"), text(c, "b", 3, "three"))
	before := f.all(c)
	f.stored(change(c, "a", 4, 2, 0, "two, changed"))
	want := before[1]
	want.Body, want.Amended = []byte("two, changed"), 4
	for range 2 { // before a new start and after
		f.like(before[0])
		f.like(want)
		f.like(before[2])
		entries := f.checkConversation(c)
		if e := entries[3]; e.Target != 2 || string(e.Body) != "now two, changed" || e.Amended != 0 {
			t.Fatalf("the amendment: %+v", e)
		}
		f.reopen()
	}
	f.stored(change(c, "b", 5, 2, 4, "two, changed again"), change(c, "b", 6, 4, 0, "an amendment is amended"))
	want.Body, want.Amended = []byte("two, changed again"), 5
	f.like(want)
	if e := f.entry(c, 4); string(e.Body) != "an amendment is amended" || e.Amended != 6 {
		t.Fatalf("%+v", e)
	}
	f.stored(change(c, "b", 7, 2, 5, "")) // to nothing
	want.Body, want.Amended = nil, 7
	f.like(want)
	// A resend of the message, and of a change, is a duplicate, and changes nothing.
	again := f.append(text(c, "a", 2, "two"), change(c, "a", 4, 2, 0, "two, changed"))
	same(t, again[0], first[1])
	if again[1].Status != im.Duplicate || again[1].Seq != 4 {
		t.Fatalf("%+v", again[1])
	}
	f.like(want)
	// A recall ends it, whatever was changed before.
	f.stored(recall(c, "a", 8, 2))
	want.Recalled, want.Amended = true, 8
	f.like(want)
	f.reopen()
	f.like(want)
	f.checkConversation(c)
}

func testChangeInBatch(t *testing.T, f *fixture) {
	c, d := im.Group("g"), im.Group("h")
	f.stored(text(c, "a", 1, "x"))
	// Of an earlier entry, of one of this batch, and both more than once.
	f.stored(
		text(c, "a", 2, "two"), change(c, "a", 3, 2, 0, "2a"), change(c, "b", 4, 2, 3, "2b"),
		text(d, "a", 5, "other"), change(c, "a", 6, 1, 0, "1a"), change(d, "a", 7, 1, 0, "other, changed"), change(c, "b", 8, 1, 5, "1b"),
	)
	for range 2 {
		for _, want := range []struct {
			c       im.ConversationID
			seq     uint64
			body    string
			amended uint64
		}{{c, 1, "1b", 6}, {c, 2, "2b", 4}, {d, 1, "other, changed", 2}} {
			if e := f.entry(want.c, want.seq); string(e.Body) != want.body || e.Amended != want.amended {
				t.Fatalf("%s %d: %+v, want %q amended by %d", want.c, want.seq, e, want.body, want.amended)
			}
		}
		f.checkConversation(c)
		f.checkConversation(d)
		f.reopen()
	}
	// Recalled and changed in one batch: the recall stays.
	out := f.append(text(c, "a", 20, "y"), recall(c, "a", 21, 7), change(c, "a", 22, 7, 8, "back again"), text(c, "a", 23, "z"))
	if out[0].Seq != 7 || out[1].Status != im.Stored || out[2] != (im.Appended{Status: im.TargetChanged}) || out[3].Status != im.RosterChanged {
		t.Fatalf("%+v", out)
	}
	if e := f.entry(c, 7); !e.Recalled || len(e.Body) != 0 || e.Amended != 8 {
		t.Fatalf("%+v", e)
	}
}

// What is amended must be as the item says; otherwise neither it nor what is behind
// it in its conversation is stored, and the others are.
func testTargetChanged(t *testing.T, f *fixture) {
	c, d := im.Group("g"), im.Group("h")
	f.stored(text(c, "a", 1, "x"), text(c, "a", 2, "y"), text(d, "a", 1, "x"))
	f.stored(change(c, "a", 3, 1, 0, "x1"), recall(c, "a", 4, 2))
	for n, stale := range []im.Append{
		change(c, "a", 10, 1, 0, "stale"), change(c, "a", 10, 1, 2, "of another"), change(c, "a", 10, 1, 9, "ahead"),
		change(c, "a", 10, 2, 0, "recalled"), change(c, "a", 10, 2, 4, "recalled, and known to be"),
	} {
		out := f.append(text(c, "b", 100+n, "before"), stale, text(c, "a", 11, "behind"), text(d, "a", 200+n, "elsewhere"), text(c, "a", 1, "x"))
		want := []im.AppendStatus{im.Stored, im.TargetChanged, im.RosterChanged, im.Stored, im.Duplicate}
		for i := range out {
			if out[i].Status != want[i] {
				t.Fatalf("%s: item %d has status %d, want %d", stale.Amend.Body, i, out[i].Status, want[i])
			}
		}
		if out[1] != (im.Appended{Status: im.TargetChanged}) {
			t.Fatalf("%+v; want only the status", out[1])
		}
	}
	for range 2 {
		one, two := f.entry(c, 1), f.entry(c, 2)
		if string(one.Body) != "x1" || one.Amended != 3 || !two.Recalled || two.Amended != 4 {
			t.Fatalf("%+v, %+v", one, two)
		}
		f.reopen()
	}
	// What was refused was not stored: with what holds now it is.
	out := f.stored(change(c, "a", 10, 1, 3, "x2"), text(c, "a", 11, "behind"))
	if e := f.entry(c, 1); string(e.Body) != "x2" || e.Amended != out[0].Seq {
		t.Fatalf("%+v", e)
	}
	f.checkConversation(c)
	f.checkConversation(d)
}

func testAmendRefused(t *testing.T, f *fixture) {
	c := im.Group("g")
	f.stored(text(c, "a", 1, "x"))
	before := f.position(f.shard(c))
	nothing := recall(c, "a", 3, 0)
	both := change(c, "a", 3, 1, 0, "both")
	both.Amend.Recall = true
	for _, bad := range []im.Append{
		recall(c, "a", 3, 3), recall(c, "a", 3, 9), recall("grp:empty", "a", 3, 1), recall(c, "a", 3, ^uint64(0)),
		change(c, "a", 3, 3, 0, "itself"), change("grp:empty", "a", 3, 1, 0, "none"), nothing, both,
	} {
		batch := []im.Append{text(c, "a", 2, "y"), bad}
		if f.shard(bad.Entry.Conversation) != f.shard(c) {
			batch = batch[1:] // of the other shard nothing would be refused
		}
		if err := f.j.Append(f.ctx, batch, make([]im.Appended, len(batch))); !errors.Is(err, im.ErrAppendInvalid) {
			t.Fatalf("amending %d: error %v, want ErrAppendInvalid", bad.Entry.Target, err)
		}
	}
	if p := f.position(f.shard(c)); p < before || len(f.checkConversation(c)) != 1 || f.head("grp:empty").Seq != 0 {
		t.Fatal("something of a refused batch was stored")
	}
	f.reopen()
	out := f.stored(text(c, "a", 2, "y"), recall(c, "a", 3, 2))
	if out[0].Seq != 2 || out[1].Seq != 3 {
		t.Fatalf("%+v", out)
	}
}
