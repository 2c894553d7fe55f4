package journaltest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/im"
)

func (f *fixture) setMarks(marks ...im.Mark) {
	f.Helper()
	if err := f.marks.SetMarks(f.ctx, marks, im.MarkWait{}); err != nil {
		f.Fatalf("SetMarks: %v", err)
	}
}

func (f *fixture) mark(u im.UserID, c im.ConversationID) im.Mark {
	f.Helper()
	out := make([]im.Mark, 1)
	if err := f.marks.Marks(f.ctx, []im.MarkKey{{User: u, Conversation: c}}, out, false); err != nil {
		f.Fatalf("Marks: %v", err)
	}
	for _, m := range f.userMarks(u) {
		// A mark that is written in between gets its position then.
		if m.Pos = out[0].Pos; m.Conversation == c && m != out[0] {
			f.Fatalf("Marks says %+v, UserMarks %+v", out[0], m)
		}
	}
	return out[0]
}

func (f *fixture) userMarks(u im.UserID) []im.Mark {
	f.Helper()
	marks, err := f.marks.UserMarks(f.ctx, u)
	if err != nil {
		f.Fatalf("UserMarks: %v", err)
	}
	return marks
}

// wantMark compares all but Pos.
func (f *fixture) wantMark(want im.Mark) {
	f.Helper()
	got := f.mark(want.User, want.Conversation)
	got.Pos = 0
	if got != want {
		f.Fatalf("mark %+v, want %+v", got, want)
	}
}

func testMarks(_ *testing.T, f *fixture) {
	c := im.Group("g")
	m := func(received, read, count uint64) im.Mark {
		return im.Mark{User: "u", Conversation: c, Received: received, Read: read, ReadCount: count}
	}
	steps := []struct{ set, want im.Mark }{
		{m(5, 3, 2), m(5, 3, 2)},
		{m(4, 2, 9), m(5, 3, 2)}, // back: nothing
		{m(7, 0, 0), m(7, 3, 2)}, // each by itself
		{m(0, 6, 5), m(7, 6, 5)},
		{m(7, 6, 8), m(7, 6, 5)}, // the count goes with read
		{m(1<<63, 1<<62, 1<<61), m(1<<63, 1<<62, 1<<61)},
	}
	for i, s := range steps {
		f.setMarks(s.set)
		f.wantMark(s.want)
		if i%2 == 1 {
			f.reopen()
			f.wantMark(s.want)
		}
	}
	// Twice in one call, forward and back.
	f.setMarks(im.Mark{User: "v", Conversation: c, Read: 4, ReadCount: 4}, im.Mark{User: "v", Conversation: c, Read: 2, ReadCount: 2}, im.Mark{User: "v", Conversation: c, Received: 9})
	f.wantMark(im.Mark{User: "v", Conversation: c, Received: 9, Read: 4, ReadCount: 4})
	f.setMarks()
}

func testUserMarks(t *testing.T, f *fixture) {
	for n := range 50 {
		f.setMarks(im.Mark{User: "u", Conversation: im.Group(fmt.Sprint(n)), Received: uint64(n + 1)})
		f.setMarks(im.Mark{User: "uu", Conversation: im.Group(fmt.Sprint(n)), Received: 1000})
		if n == 25 {
			f.reopen()
		}
		if n == 35 {
			f.stored(text("grp:g", "a", 1, "x"))
		}
	}
	f.setMarks(im.Mark{User: "u", Conversation: "grp:3", Received: 300})
	check := func() {
		t.Helper()
		marks := f.userMarks("u")
		if len(marks) != 50 {
			t.Fatalf("%d marks, want 50", len(marks))
		}
		seen := map[im.ConversationID]bool{}
		for _, m := range marks {
			var n uint64
			if _, err := fmt.Sscanf(string(m.Conversation), "grp:%d", &n); err != nil {
				t.Fatal(err)
			}
			want := n + 1
			if n == 3 {
				want = 300
			}
			if m.User != "u" || m.Received != want || seen[m.Conversation] {
				t.Fatalf("%+v, want received %d, once", m, want)
			}
			seen[m.Conversation] = true
		}
	}
	check()
	f.reopen()
	check()
	keys := []im.MarkKey{
		{User: "uu", Conversation: "grp:3"}, {User: "nobody", Conversation: "grp:3"}, {User: "u", Conversation: "grp:3"},
		{User: "u", Conversation: "grp:7"}, {User: "u", Conversation: "grp:none"}, {User: "u", Conversation: "grp:3"},
	}
	out := make([]im.Mark, len(keys))
	if err := f.marks.Marks(f.ctx, keys, out, false); err != nil {
		t.Fatal(err)
	}
	if out[0].Received != 1000 || out[1] != (im.Mark{}) || out[2].Received != 300 || out[3].Received != 8 || out[4] != (im.Mark{}) || out[5] != out[2] {
		t.Fatalf("%+v", out)
	}
	for i := range out {
		if k := (im.MarkKey{User: out[i].User, Conversation: out[i].Conversation}); out[i].Received > 0 && k != keys[i] {
			t.Fatalf("asked for %+v: %+v", keys[i], out[i])
		}
	}
}

func testMarksReopen(_ *testing.T, f *fixture) {
	c := im.Group("g")
	f.setMarks(im.Mark{User: "u", Conversation: c, Received: 5, Read: 4, ReadCount: 3})
	f.reopen()
	f.wantMark(im.Mark{User: "u", Conversation: c, Received: 5, Read: 4, ReadCount: 3})
	if f.store.Crash == nil {
		return
	}
	// A crash may lose the last second's marks, not older ones and not a part of one.
	f.setMarks(im.Mark{User: "u", Conversation: c, Received: 9, Read: 8, ReadCount: 7})
	f.stored(text(c, "a", 1, "x"))
	f.crash()
	if m := f.mark("u", c); m.Received < 9 {
		f.wantMark(im.Mark{User: "u", Conversation: c, Received: 5, Read: 4, ReadCount: 3})
	} else {
		f.wantMark(im.Mark{User: "u", Conversation: c, Received: 9, Read: 8, ReadCount: 7})
	}
}

// More marks at once than an engine may want to write in one go.
func testManyMarksReopen(t *testing.T, f *fixture) {
	const users = 10_000
	var marks []im.Mark
	name := func(i int) im.UserID { return im.UserID(fmt.Sprintf("user%d", i)) }
	c := im.Group("g")
	for i := range users {
		marks = append(marks, im.Mark{User: name(i), Conversation: c, Received: uint64(i + 1)})
	}
	f.setMarks(marks...)
	f.reopen()
	var keys []im.MarkKey
	for i := range users {
		keys = append(keys, im.MarkKey{User: name(i), Conversation: c})
	}
	out := make([]im.Mark, users)
	if err := f.marks.Marks(f.ctx, keys, out, false); err != nil {
		t.Fatal(err)
	}
	for i := range out {
		if out[i].Received != uint64(i+1) {
			t.Fatalf("%s: %+v", keys[i].User, out[i])
		}
	}
}

// settled returns a mark, set before the last append, once a device that syncs
// is past it: it may get its position only when it is written, within a second
// or so.
func (f *fixture) settled(u im.UserID, c im.ConversationID) im.Mark {
	f.Helper()
	for deadline := time.Now().Add(time.Minute); ; {
		m := f.mark(u, c)
		if m.Pos <= f.position(f.userShard(u)) {
			return m
		} else if time.Now().After(deadline) {
			f.Fatalf("the mark stays ahead of all positions: %+v", m)
		}
	}
}

// conversationWith is a conversation in the shard of a user's marks: entries there take
// the position past a mark.
func (f *fixture) conversationWith(u im.UserID) im.ConversationID {
	for n := 0; ; n++ {
		if c := im.Group(fmt.Sprint("with", n)); f.shard(c) == f.userShard(u) {
			return c
		}
	}
}

// A mark has a position of its user's shard, in whichever shard the conversation is:
// a device that synced before is told of it, and at some time one is past it.
func testMarkPositionElsewhere(t *testing.T, f *fixture) {
	n := 0
	for _, c := range []im.ConversationID{"grp:g", "grp:h", "grp:i", "dm:u:v"} {
		for _, u := range []im.UserID{"u", "v", "w"} {
			for range 5 { // the conversation's shard goes ahead of the user's
				n++
				f.stored(text(c, "a", n, "x"))
			}
			p := f.position(f.userShard(u))
			f.setMarks(im.Mark{User: u, Conversation: c, Received: 1})
			if m := f.mark(u, c); m.Pos <= p {
				t.Fatalf("%s's mark in %s is at %d of shard %d: a device that synced at %d would miss it", u, c, m.Pos, f.userShard(u), p)
			}
			n++
			f.stored(text(f.conversationWith(u), "a", n, "x"))
			f.settled(u, c)
		}
	}
}

func testMarkPosition(t *testing.T, f *fixture) {
	c, s := f.conversationWith("u"), f.userShard("u")
	p := f.reaches(s, f.stored(text(c, "a", 1, "x"))[0].Pos)
	f.setMarks(im.Mark{User: "u", Conversation: c, Received: 1})
	m := f.mark("u", c)
	if m.Pos <= p {
		t.Fatalf("mark at %d: a device that synced at %d would miss it", m.Pos, p)
	}
	f.setMarks(im.Mark{User: "u", Conversation: c, Received: 1}) // no change
	f.stored(text(c, "a", 2, "x"))
	m = f.settled("u", c)
	if m.Pos <= p {
		t.Fatalf("mark at %d: a device that synced at %d would miss it", m.Pos, p)
	}
	f.setMarks(im.Mark{User: "u", Conversation: c, Received: 1}) // no change
	if again := f.mark("u", c); again != m {
		t.Fatalf("mark %+v became %+v without a change", m, again)
	}
	f.reopen()
	if again := f.mark("u", c); again != m {
		t.Fatalf("mark %+v became %+v by reopening", m, again)
	}
	p = f.position(s)
	f.setMarks(im.Mark{User: "u", Conversation: c, Received: 2})
	if again := f.mark("u", c); again.Pos <= p {
		t.Fatalf("mark at %d, set at position %d", again.Pos, p)
	}
	f.stored(text(c, "a", 3, "x"))
	if again := f.settled("u", c); again.Pos <= p || again.Received != 2 {
		t.Fatalf("mark %+v, set at position %d", again, p)
	}
}

func testManyMarks(t *testing.T, f *fixture) {
	const users, conversations = 40, 60
	var marks []im.Mark
	for u := range users {
		for c := range conversations {
			marks = append(marks, im.Mark{User: im.UserID(fmt.Sprint("u", u)), Conversation: im.Group(fmt.Sprint(c)), Read: uint64(u*c + 1), ReadCount: uint64(c + 1)})
		}
	}
	for round := range 3 {
		for i := range marks {
			marks[i].Read += uint64(round)
		}
		f.setMarks(marks...)
		if round == 1 {
			f.stored(text("grp:g", "a", 1, "x"))
		}
	}
	for range 2 {
		for u := range users {
			got := f.userMarks(im.UserID(fmt.Sprint("u", u)))
			if len(got) != conversations {
				t.Fatalf("u%d: %d marks", u, len(got))
			}
			for _, m := range got {
				var c int
				if _, err := fmt.Sscanf(string(m.Conversation), "grp:%d", &c); err != nil {
					t.Fatal(err)
				}
				if m.Read != uint64(u*c+1+3) {
					t.Fatalf("%+v, want read %d", m, u*c+4)
				}
			}
		}
		f.reopen()
	}
}

// What a user set for themselves is kept with their marks and moves none of them,
// nor do they it; the last one counts.
func testMine(t *testing.T, f *fixture) {
	c := im.Group("g")
	f.setMarks(im.Mark{User: "u", Conversation: c, Mine: "pinned"})
	f.wantMark(im.Mark{User: "u", Conversation: c, Mine: "pinned"})
	f.setMarks(im.Mark{User: "u", Conversation: c, Received: 5, Read: 4, ReadCount: 3})
	f.wantMark(im.Mark{User: "u", Conversation: c, Received: 5, Read: 4, ReadCount: 3, Mine: "pinned"})
	f.setMarks(im.Mark{User: "u", Conversation: c, Mine: "muted"}, im.Mark{User: "v", Conversation: c, Mine: "v's"}, im.Mark{User: "u", Conversation: c, Read: 5, ReadCount: 4, Mine: "a draft"})
	long := strings.Repeat("x", im.MaxMine)
	f.setMarks(im.Mark{User: "w", Conversation: c, Read: 1, ReadCount: 1, Mine: long})
	for range 2 { // before a new start and after
		f.wantMark(im.Mark{User: "u", Conversation: c, Received: 5, Read: 5, ReadCount: 4, Mine: "a draft"})
		f.wantMark(im.Mark{User: "v", Conversation: c, Mine: "v's"})
		f.wantMark(im.Mark{User: "w", Conversation: c, Read: 1, ReadCount: 1, Mine: long})
		f.reopen()
	}
	f.setMarks(im.Mark{User: "u", Conversation: c, Received: 9})
	f.wantMark(im.Mark{User: "u", Conversation: c, Received: 9, Read: 5, ReadCount: 4, Mine: "a draft"})
	if err := f.marks.SetMarks(f.ctx, []im.Mark{{User: "u", Conversation: c, Mine: long + "x"}}, im.MarkWait{}); err == nil {
		t.Error("more than im.MaxMine bytes were taken")
	}
}
