package pebble

import (
	"context"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/skein-im/skein/internal/im"
)

// What was recalled is gone from the disk as what was trimmed is, also when the start
// comes in between.
func TestRecallGivesRoomBack(t *testing.T) {
	fs := vfs.NewMem()
	small := func(o *Options) { o.epochBytes = 1 << 20 }
	j := open(t, fs, small)
	const n = 8000
	fillWordy(t, j, "grp:g", 0, n)
	if err := j.db.Compact(context.Background(), []byte{spaceEntry}, []byte{spaceEntry + 1}, false); err != nil {
		t.Fatal(err)
	}
	before := onDisk(t, j)
	for from := 0; from < n; from += 1000 {
		batch := make([]im.Append, 1000)
		for k := range batch {
			it := wordy("grp:g", n+from+k)
			it.Entry.Kind, it.Entry.Target, it.Entry.Body = im.EntryRecall, uint64(from+k+1), nil
			it.Amend = im.Amend{Recall: true}
			batch[k] = it
		}
		if err := j.Append(context.Background(), batch, make([]im.Appended, len(batch))); err != nil {
			t.Fatal(err)
		}
	}
	closeJournal(t, j)
	j = open(t, fs, small)
	defer closeJournal(t, j)
	if err := j.giveBack(context.Background(), 0); err != nil {
		t.Fatal(err)
	}
	after := onDisk(t, j)
	t.Logf("%d bytes, before %d", after, before)
	if after > before/2 {
		t.Errorf("%d bytes are left of %d", after, before)
	}
}
