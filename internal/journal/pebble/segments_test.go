package pebble

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/skein-im/skein/internal/cache"
	"github.com/skein-im/skein/internal/im"
)

// TestSegments: a conversation that lies in many segments reads as if it lay in
// one, from anywhere, in both directions, with its newest segment in memory and
// without.
func TestSegments(t *testing.T) {
	const total = 40
	fs := vfs.NewMem()
	small := func(o *Options) { o.epochBytes = 700 }
	j := open(t, fs, small)
	for n := 1; n <= total; n++ {
		mustAppend(t, j, "grp:g", n, n)
		if _, err := appendOne(j, message(im.Group(fmt.Sprint("other", n%3)), 1000+n)); err != nil {
			t.Fatal(err)
		}
	}
	if e := j.appender.epoch.number; e < 10 {
		t.Fatalf("only %d epochs: the test tests nothing", e)
	}
	for _, warm := range []bool{true, false} {
		if !warm {
			closeJournal(t, j)
			j = open(t, fs, small)
		}
		for from := range uint64(total + 3) {
			for _, limit := range []int{1, 7, 100} {
				first, last := max(from, 1), min(max(from, 1)+uint64(limit)-1, total)
				requireRange(t, j, from, false, limit, first, last)
				last = min(from-1, total-1) + 1 // from the head for 0
				requireRange(t, j, from, true, limit, max(last, uint64(limit))-uint64(limit)+1, last)
			}
			if !warm {
				j.mu.Lock()
				j.heads = cache.New[im.ConversationID, *conversation](cachedHeads)
				j.mu.Unlock()
			}
		}
	}
	closeJournal(t, j)
}

func requireRange(t *testing.T, j *Journal, from uint64, backward bool, limit int, first, last uint64) {
	t.Helper()
	got, err := j.Read(context.Background(), "grp:g", from, backward, limit)
	if err != nil {
		t.Fatal(err)
	}
	want := uint64(0)
	if last >= first {
		want = last - first + 1
	}
	if uint64(len(got)) != want {
		t.Fatalf("from %d backward %v limit %d: %d entries, want %d … %d", from, backward, limit, len(got), first, last)
	}
	for i, e := range got {
		if e.Seq != first+uint64(i) || string(e.Body) != fmt.Sprint("message ", e.Seq) {
			t.Fatalf("from %d backward %v limit %d: entry %d is seq %d %q", from, backward, limit, i, e.Seq, e.Body)
		}
	}
}

// TestEpochSurvives: a restart goes on in the same epoch, so restarts do not
// keep an epoch from ending.
func TestEpochSurvives(t *testing.T) {
	fs := vfs.NewMem()
	small := func(o *Options) { o.epochBytes = 1000 }
	var last epoch
	for n := 1; n <= 20; n++ {
		j := open(t, fs, small)
		if n > 1 && j.appender.epoch != last {
			t.Fatalf("epoch %+v after a restart, was %+v", j.appender.epoch, last)
		}
		mustAppend(t, j, "grp:g", n, n)
		last = j.appender.epoch
		closeJournal(t, j)
	}
	if last.number < 3 {
		t.Fatalf("still epoch %d", last.number)
	}
}

// toSchema1 makes a journal what version 1 would have written: everything in
// the spaces of then.
func toSchema1(t *testing.T, j *Journal) {
	t.Helper()
	it, err := j.db.NewIter(nil)
	if err != nil {
		t.Fatal(err)
	}
	b := j.db.NewBatch()
	set := func(key []byte, value []byte) {
		if err := b.Set(key, value, nil); err != nil {
			t.Fatal(err)
		}
	}
	for ok := it.First(); ok; ok = it.Next() {
		k, v := it.Key(), it.Value()
		switch k[0] {
		case spaceMeta:
			continue
		case midEntries:
			set(append([]byte{oldEntries}, k[5:]...), v)
		case midIDs, midStrayIDs:
			set(append([]byte{oldIDs}, k[1:]...), v)
		case spaceMark:
			set(append([]byte{oldMarks}, k[1:]...), v)
		case spaceChain:
			set(append([]byte{oldChain}, k[1:]...), v)
		case spaceLast:
			set([]byte(oldPosition), v[:16])
		}
		if err := b.Delete(k, nil); err != nil {
			t.Fatal(err)
		}
	}
	set([]byte(keySchema), []byte{1})
	if err := errors.Join(it.Close(), b.Commit(pebble.Sync)); err != nil {
		t.Fatal(err)
	}
}

// TestMigrationToEpochs: a journal of schema 1 keeps everything: entries, heads,
// marks, ids, timeline, and its place against the witness; also when the first
// attempt is cut short.
func TestMigrationToEpochs(t *testing.T) {
	fs := vfs.NewMem()
	ctx := context.Background()
	j := open(t, fs, func(o *Options) { o.epochBytes = 900 })
	const convs, total = 7, 200
	rng := rand.New(rand.NewPCG(1, 1))
	stored := map[int]im.Appended{}
	for n := range total {
		out, err := appendOne(j, message(im.Group(fmt.Sprint(n%convs)), n+1))
		if err != nil {
			t.Fatal(err)
		}
		stored[n] = out
	}
	if err := j.SetMarks(ctx, []im.Mark{{User: "u", Conversation: "grp:1", Read: 3}}, im.MarkWait{}); err != nil {
		t.Fatal(err)
	}
	timeline := j.Timeline()
	closeJournal(t, j)
	j = open(t, fs)
	toSchema3(t, j)
	toSchema1(t, j)
	cutShort(t, j)
	closeJournal(t, j)
	j = open(t, fs, func(o *Options) { o.epochBytes = 900 })
	defer closeJournal(t, j)
	if j.Timeline() != timeline || j.position() != total {
		t.Fatalf("timeline %s, position %d; want %s, %d", j.Timeline(), j.position(), timeline, total)
	}
	for c := range convs {
		got, err := j.Read(ctx, im.Group(fmt.Sprint(c)), 0, false, 1000)
		if err != nil || len(got) != (total-c+convs-1)/convs {
			t.Fatalf("conversation %d: %d entries, %v", c, len(got), err)
		}
	}
	marks := make([]im.Mark, 1)
	if err := j.Marks(ctx, []im.MarkKey{{User: "u", Conversation: "grp:1"}}, marks, false); err != nil || marks[0].Read != 3 {
		t.Fatalf("mark %+v, %v", marks[0], err)
	}
	for range 50 {
		n := rng.IntN(total)
		if out, err := appendOne(j, message(im.Group(fmt.Sprint(n%convs)), n+1)); err != nil || out.Status != im.Duplicate || out.Seq != stored[n].Seq {
			t.Fatalf("resend of %d: %+v, %v; want %+v", n, out, err, stored[n])
		}
	}
	for n := total; n < 2*total; n++ {
		want := uint64(n/convs) + 1
		if out, err := appendOne(j, message(im.Group(fmt.Sprint(n%convs)), n+1)); err != nil || out.Status != im.Stored || out.Seq != want {
			t.Fatalf("append %d: %+v, %v; want seq %d", n, out, err, want)
		}
	}
	requireNothingOld(t, j)
}

// cutShort does a migration but for its end.
func cutShort(t *testing.T, j *Journal) {
	t.Helper()
	b := j.db.NewBatch()
	if err := errors.Join(newMover(j.db, j.dir, &j.o).run(migrations()[0], b), b.Close()); err != nil {
		t.Fatal(err)
	}
}

func requireNothingOld(t *testing.T, j *Journal) {
	t.Helper()
	it, err := j.db.NewIter(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer it.Close()
	for ok := it.First(); ok; ok = it.Next() {
		if k := string(it.Key()); k[0] > spaceMeta && k[0] < spaceID || k[0] == midStrayIDs || k[0] > spaceEntry || k == oldPosition {
			t.Fatalf("key %q was left", k)
		}
	}
}
