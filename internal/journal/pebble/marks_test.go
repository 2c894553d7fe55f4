package pebble

import (
	"context"
	"fmt"
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
