package pebble

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/skein-im/skein/internal/im"
)

// TestMarksFlush: marks are written in parts, beside appends and without taking
// turns with them, and all are durable at the end. (While an append was under
// way, a flush of many marks waited for it, and the next append for the flush.)
func TestMarksFlush(t *testing.T) {
	const users = 5*marksPerWrite + 1
	fs := vfs.NewCrashableMem()
	j := open(t, fs)
	mustAppend(t, j, "grp:g", 1, 1)
	var marks []im.Mark
	for n := range users {
		marks = append(marks, im.Mark{User: im.UserID(fmt.Sprint("u", n)), Conversation: "grp:g", Received: 1, Read: 1, ReadCount: 1})
	}
	if err := j.SetMarks(context.Background(), marks, im.MarkWait{}); err != nil {
		t.Fatal(err)
	}
	j.appendMu.Lock()
	err := j.flushMarks()
	j.appendMu.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	j.mu.Lock()
	waiting := j.marks.dirty.n + j.marks.flying.n
	j.mu.Unlock()
	if waiting != 0 {
		t.Errorf("%d marks still wait", waiting)
	}
	after := fs.CrashClone(vfs.CrashCloneCfg{})
	closeJournal(t, j)
	j = open(t, after)
	defer closeJournal(t, j)
	for _, m := range marks {
		got, err := j.UserMarks(context.Background(), m.User)
		if err != nil || len(got) != 1 || got[0].Read != 1 {
			t.Fatalf("mark of %s after a power cut: %+v, %v", m.User, got, err)
		}
	}
}

// What a user set for themselves is durable when whoever waits for it is told, also
// when nothing else of the mark moved, and an equal one needs no write.
func TestMineIsWaitedFor(t *testing.T) {
	fs := vfs.NewCrashableMem()
	j := open(t, fs)
	wait := func(m im.Mark) {
		t.Helper()
		done := make(chan error, 1)
		if err := j.SetMarks(t.Context(), []im.Mark{m}, im.MarkWait{Soon: true, Stored: func(err error) { done <- err }}); err != nil {
			t.Fatal(err)
		}
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	get := func() im.Mark {
		t.Helper()
		out := make([]im.Mark, 1)
		if err := j.Marks(t.Context(), []im.MarkKey{{User: "u", Conversation: "grp:g"}}, out, false); err != nil {
			t.Fatal(err)
		}
		all, err := j.UserMarks(t.Context(), "u")
		if err != nil || len(all) != 1 || all[0] != out[0] {
			t.Fatalf("%+v, %v, Marks tells %+v", all, err, out[0])
		}
		return out[0]
	}
	long := strings.Repeat("draft ", maxCachedMine)
	for _, mine := range []string{"short", long, "short", long + "!", long} {
		wait(im.Mark{User: "u", Conversation: "grp:g", Mine: mine})
		if m := get(); m.Mine != mine || m.Read != 0 {
			t.Fatalf("%+v, want %s", m, mine)
		}
		wait(im.Mark{User: "u", Conversation: "grp:g", Mine: "short again"})
		wait(im.Mark{User: "u", Conversation: "grp:g", Mine: mine})
		if m := get(); m.Mine != mine {
			t.Fatalf("set after another one: %+v, want %s", m, mine)
		}
		after := fs.CrashClone(vfs.CrashCloneCfg{})
		closeJournal(t, j)
		fs = after
		j = open(t, fs)
		if m := get(); m.Mine != mine {
			t.Fatalf("after a power cut: %+v, want %s", m, mine)
		}
		mustAppendNext(t, j)
		before := get()
		wait(im.Mark{User: "u", Conversation: "grp:g", Mine: mine})
		wait(im.Mark{User: "u", Conversation: "grp:g"})
		if m := get(); m != before {
			t.Errorf("%+v became %+v without a change", before, m)
		}
	}
	wait(im.Mark{User: "u", Conversation: "grp:g", Received: 7})
	if m := get(); m.Mine != long || m.Received != 7 {
		t.Errorf("%+v", m)
	}
	closeJournal(t, j)
}

// mustAppendNext moves the position.
func mustAppendNext(t *testing.T, j *Journal) {
	t.Helper()
	mustStore(t, j, message("grp:next", int(j.position())+1), im.Stored)
}

// What users set is bounded in memory by its bytes: whoever sets more writes it, and
// what is long is not remembered afterwards.
func TestLongMineDoesNotGather(t *testing.T) {
	j := open(t, vfs.NewMem())
	defer closeJournal(t, j)
	var marks []im.Mark
	for n := range maxDirtyMarks*dirtyMine/im.MaxMine + 1 {
		marks = append(marks, im.Mark{User: "u", Conversation: im.Group(fmt.Sprint(n)), Mine: strings.Repeat("x", im.MaxMine)})
	}
	j.flushMu.Lock() // nobody writes them meanwhile
	dirty, _ := j.moveMarks(marks, make([]im.Mark, len(marks)), nil, false)
	again, _ := j.moveMarks(marks, make([]im.Mark, len(marks)), nil, false) // equal ones take no more room
	j.flushMu.Unlock()
	if dirty <= maxDirtyMarks || again != dirty {
		t.Errorf("%d marks with %d bytes count as %d, set again as %d", len(marks), len(marks)*im.MaxMine, dirty, again)
	}
	if err := j.SetMarks(t.Context(), []im.Mark{{User: "v", Conversation: "grp:g", Received: 1}}, im.MarkWait{}); err != nil {
		t.Fatal(err)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if n := j.marks.dirty.mine; n != 0 {
		t.Errorf("%d bytes wait after one more was set", n)
	}
	for i := range marks {
		if m, ok := j.marks.get(im.MarkKey{User: marks[i].User, Conversation: marks[i].Conversation}); ok {
			t.Fatalf("%d bytes are remembered", len(m.Mine))
		}
	}
}
