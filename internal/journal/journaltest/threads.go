package journaltest

import (
	"slices"
	"testing"

	"github.com/skein-im/skein/internal/im"
)

// A reply changes its root and has labels of its own, in one step: none, one, two and
// many of them. It does not count as unread, keeps what it says, and lies in no page but by
// what it made of its root.
func testThreads(t *testing.T, f *fixture) {
	c, other := im.Group("g"), im.Group("g2")
	f.wantLabelled(9, c, "t1", 0, 99)
	f.stored(text(c, "a", 1, "root"), text(c, "b", 2, "beside it"), text(other, "a", 3, "elsewhere"))
	first := withLabels(reply(c, "b", 4, 1, 0, "root, 1", "t1", "y"), "f", "")
	f.stored(first, reply(c, "a", 5, 1, 3, "root, 2", "t1"), text(c, "a", 6, "after"))
	for range 2 { // before a new start and after
		f.wantLabelled(9, c, "t1", 0, 99, 3, 4)
		f.wantLabelled(9, c, "y", 0, 99, 3)
		f.wantLabelled(9, c, "f", 0, 99, 1)
		f.wantLabelled(9, other, "t1", 0, 99)
		root, said := f.entry(c, 1), f.entry(c, 3)
		if string(root.Body) != "root, 2" || root.Amended != 4 || string(said.Body) != "now root, 1" || said.Kind != im.EntryReply || said.Target != 1 {
			t.Fatalf("root %+v, reply %+v", root, said)
		}
		if head := f.head(c); head.Seq != 5 || head.Count != 3 {
			t.Fatalf("head %+v: replies count", head)
		}
		p, err := f.page(im.PageQuery{Conversation: c, From: 2, Until: 9, Limit: 9})
		if err != nil || len(p.Entries) != 2 || len(p.Touched) != 1 || p.Touched[0].Seq != 1 {
			t.Fatalf("%+v, %v", p, err)
		}
		f.reopen()
	}
	// A resend changes nothing and labels nothing.
	again := first
	again.Own = []string{"again"}
	if out := f.append(again); out[0].Status != im.Duplicate || out[0].Seq != 3 {
		t.Fatalf("a resend: %+v", out)
	}
	f.wantLabelled(9, c, "again", 0, 99)
	// One that saw another root is not stored, and what is behind it is not, either.
	out := f.append(reply(c, "b", 7, 1, 3, "stale", "t1"), text(c, "b", 8, "behind it"))
	if out[0].Status != im.TargetChanged || out[1].Status != im.RosterChanged {
		t.Fatalf("a stale reply: %+v", out)
	}
	f.wantLabelled(9, c, "t1", 0, 99, 3, 4)
	// A reply to what is in the same batch; and many.
	f.stored(text(c, "b", 9, "second root"), reply(c, "a", 10, 6, 0, "second root, 1", "t6"))
	f.wantLabelled(9, c, "t6", 0, 99, 7)
	many := make([]im.Append, 30)
	for i := range many {
		many[i] = reply(c, "a", 100+i, 6, uint64(7+i), "many", "t6")
	}
	f.stored(many...)
	if got := f.labelled(2, im.LabelSpan{Span: im.Span{Conversation: c, After: 7, Until: 99}, Label: "t6"})[0]; got.Count != 30 || len(got.Seqs) != 2 {
		t.Fatalf("%+v", got)
	}
	// A trim takes the labels of the replies along, and leaves their places.
	f.trim(c, 0, 4)
	for range 2 {
		f.wantLabelled(9, c, "t1", 0, 99)
		f.wantLabelled(9, c, "f", 0, 99)
		if e := f.entry(c, 3); len(e.Body) != 0 || e.Target != 1 || e.Kind != im.EntryReply {
			t.Fatalf("%+v", e)
		}
		f.reopen()
	}
	if out := f.append(reply(c, "b", 200, 1, 4, "to what is gone", "t1")); out[0].Status != im.TargetChanged {
		t.Fatalf("a reply to what was trimmed: %+v", out)
	}
}

// A reply is taken back together with what that makes of its root, or not at all. What was
// taken back has no labels and is not unread by it, and a recalled root is changed by
// nothing.
func testThreadsRecalled(t *testing.T, f *fixture) {
	c := im.Group("g")
	f.stored(text(c, "a", 1, "root"), reply(c, "b", 2, 1, 0, "1", "t1"), reply(c, "b", 3, 1, 2, "2", "t1"))
	if out := f.append(withdraw(c, "b", 4, 2, 1, 2, "stale")); out[0].Status != im.TargetChanged {
		t.Fatalf("a recall that saw another root: %+v", out)
	}
	if e := f.entry(c, 2); e.Recalled || len(e.Body) == 0 {
		t.Fatalf("half of it was done: %+v", e)
	}
	gone := withLabels(withdraw(c, "b", 5, 2, 1, 3, "1 again"), "", "none")
	f.stored(gone)
	for range 2 {
		e, root := f.entry(c, 2), f.entry(c, 1)
		if !e.Recalled || len(e.Body) != 0 || e.Amended != 4 || string(root.Body) != "1 again" || root.Amended != 4 || root.Recalled {
			t.Fatalf("reply %+v, root %+v", e, root)
		}
		f.wantLabelled(9, c, "t1", 0, 99, 3)
		f.wantRecalled(9, im.Span{Conversation: c, Until: 99}, 0)
		if head := f.head(c); head.Count != 1 {
			t.Fatalf("%+v", head)
		}
		f.reopen()
	}
	if out := f.append(gone); out[0].Status != im.Duplicate {
		t.Fatalf("again: %+v", out)
	}
	// In one batch with the reply, and with labels for the root.
	f.stored(reply(c, "b", 6, 1, 4, "2", "t1"), withLabels(withdraw(c, "b", 7, 5, 1, 5, "1"), "x", ""))
	f.wantLabelled(9, c, "t1", 0, 99, 3)
	f.wantLabelled(9, c, "x", 0, 99, 1)
	// The root is taken back: its replies stay, and change it no more.
	f.stored(recall(c, "a", 8, 1))
	if out := f.append(withdraw(c, "b", 9, 3, 1, 6, "0")); out[0].Status != im.TargetChanged {
		t.Fatalf("%+v", out)
	}
	f.stored(recall(c, "b", 10, 3))
	f.wantRecalled(9, im.Span{Conversation: c, Until: 99}, 1, 1)
	// What no journal can do.
	for i, it := range []im.Append{withdraw(c, "a", 20, 2, 2, 0, "x"), withdraw(c, "a", 21, 2, 77, 0, "x"), withdraw(c, "a", 22, 0, 1, 0, "x"), both(c)} {
		if err := f.j.Append(f.ctx, []im.Append{it}, make([]im.Appended, 1)); err == nil {
			t.Fatalf("item %d was taken", i)
		}
	}
}

// both changes one entry and names another one beside it.
func both(c im.ConversationID) im.Append {
	it := change(c, "a", 30, 1, 0, "x")
	it.Amend.Of = 2
	return it
}

// A message in a thread that is a message of the conversation as well changes its root and
// counts, lies in pages, and touches nothing there; what recalls it names it and its root.
func testThreadsInMain(t *testing.T, f *fixture) {
	c := im.Group("g")
	both := func(n int, root, ifAmended uint64, state string) im.Append {
		it := reply(c, "b", n, root, ifAmended, state, "t1")
		it.Entry.Kind = im.EntryMessage
		return it
	}
	f.stored(text(c, "a", 1, "root"), both(2, 1, 0, "root, 1"), reply(c, "a", 3, 1, 2, "root, 2", "t1"), both(4, 1, 3, "root, 3"), text(c, "a", 5, "after"))
	seqs := func(q im.PageQuery) (entries, touched []uint64) {
		t.Helper()
		q.Conversation = c
		p, err := f.page(q)
		if err != nil {
			t.Fatal(err)
		}
		for i := range p.Entries {
			entries = append(entries, p.Entries[i].Seq)
			if e := &p.Entries[i]; e.Seq == 2 && e.Root() != 1 {
				t.Fatalf("%+v", e)
			}
		}
		for i := range p.Touched {
			touched = append(touched, p.Touched[i].Seq)
		}
		return entries, touched
	}
	wants := func(q im.PageQuery, entries, touched []uint64) {
		t.Helper()
		if e, x := seqs(q); !slices.Equal(e, entries) || !slices.Equal(x, touched) {
			t.Fatalf("%+v: %v, touched %v; want %v, touched %v", q, e, x, entries, touched)
		}
	}
	for range 2 {
		if head := f.head(c); head.Seq != 5 || head.Count != 4 {
			t.Fatalf("head %+v", head)
		}
		if root := f.entry(c, 1); string(root.Body) != "root, 3" || root.Amended != 4 {
			t.Fatalf("%+v", root)
		}
		f.wantLabelled(9, c, "t1", 0, 99, 2, 3, 4)
		for _, backward := range []bool{false, true} {
			wants(im.PageQuery{From: 1, Until: 9, Limit: 9, Backward: backward}, []uint64{1, 2, 4, 5}, nil)
			wants(im.PageQuery{From: 4, Until: 9, Limit: 9, Backward: backward}, []uint64{4, 5}, nil)
			wants(im.PageQuery{From: 2, Until: 2, Limit: 1, Backward: backward}, []uint64{2}, nil)
			wants(im.PageQuery{From: 3, Until: 4, Limit: 9, Backward: backward}, []uint64{4}, []uint64{1})
		}
		f.reopen()
	}
	f.stored(withdraw(c, "b", 6, 4, 1, 4, "root, 2 again"))
	if e := f.entry(c, 4); !e.Recalled || e.Root() != 1 || len(e.Body) != 0 {
		t.Fatalf("%+v", e)
	}
	wants(im.PageQuery{From: 5, Until: 9, Limit: 9}, []uint64{5}, []uint64{4})
	f.wantRecalled(9, im.Span{Conversation: c, Until: 99}, 1, 4)
	f.wantLabelled(9, c, "t1", 0, 99, 2, 3)
}
