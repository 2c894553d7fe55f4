package pebble

import (
	"errors"
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/skein-im/skein/internal/im"
)

func recallOf(c im.ConversationID, n int, target uint64) im.Append {
	a := message(c, n)
	a.Entry.Kind, a.Entry.Target, a.Entry.Body = im.EntryRecall, target, nil
	a.Amend.Recall = true
	return a
}

func wantRecalled(t *testing.T, j *Journal, want map[im.ConversationID]string) {
	t.Helper()
	for c, w := range want {
		out := make([]im.Recalled, 1)
		if err := j.Recalled(t.Context(), []im.Span{{Conversation: c, Until: maxSeq}}, 100, out); err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(out[0].Count, out[0].Seqs); got != w {
			t.Errorf("%s: %s, want %s", c, got, w)
		}
	}
}

// toSchema2 makes a journal what version 2 would have written: it has no keys of
// what was recalled.
func toSchema2(t *testing.T, j *Journal) {
	t.Helper()
	b := j.db.NewBatch()
	err := errors.Join(
		b.DeleteRange([]byte{spaceRecalled}, []byte{spaceRecalled + 1}, nil),
		b.Set([]byte(keySchema), []byte{2}, nil),
		b.Commit(pebble.Sync),
	)
	if err != nil {
		t.Fatal(err)
	}
}

// A journal of version 2 or 1 is told what was recalled in it: in no, one, two and
// many conversations, in old epochs and new ones, also when it is cut short.
func TestMigrationToRecalls(t *testing.T) {
	for _, older := range []func(*testing.T, *Journal){
		func(t *testing.T, j *Journal) { toSchema3(t, j); toSchema2(t, j) },
		func(t *testing.T, j *Journal) { toSchema3(t, j); toSchema2(t, j); toSchema1(t, j) },
	} {
		for _, convs := range []int{0, 1, 2, 30} {
			fs := vfs.NewMem()
			j := open(t, fs, func(o *Options) { o.epochBytes = 900 })
			mustAppend(t, j, "grp:quiet", 1, 5)
			want := map[im.ConversationID]string{"grp:quiet": "0 []"}
			for n := range convs {
				c := im.Group(fmt.Sprint("g", n))
				batch := []im.Append{}
				for i := range 5 {
					batch = append(batch, message(c, 100+10*n+i))
				}
				for i, target := range []uint64{2, 4, 4} {
					batch = append(batch, recallOf(c, 105+10*n+i, target))
				}
				for _, it := range batch {
					if out, err := appendOne(j, it); err != nil || out.Status != im.Stored {
						t.Fatal(out, err)
					}
				}
				want[c] = "2 [2 4]"
			}
			wantRecalled(t, j, want)
			closeJournal(t, j)
			j = open(t, fs, func(o *Options) { o.epochBytes = 1 << 30 }) // nothing new may begin an epoch
			older(t, j)
			closeJournal(t, j)
			for range 2 {
				j = open(t, fs)
				wantRecalled(t, j, want)
				if v, err := get(j.db, []byte(keySchema)); err != nil || len(v) != 1 || v[0] != schemaVersion {
					t.Errorf("schema %v, %v", v, err)
				}
				closeJournal(t, j)
			}
		}
	}
}

// A journal of version 2 that is not what the witness saw is refused before it is
// converted.
func TestShortenedOfVersion2IsLeftAlone(t *testing.T) {
	fs := vfs.NewMem()
	j := open(t, fs)
	mustAppend(t, j, "grp:g", 1, 9)
	toSchema3(t, j)
	toSchema2(t, j)
	short := sighting{pos: 3, chain: 7}
	if err := j.db.Set([]byte(keyLast), appendEpoch(appendPosition(nil, short), epoch{number: 1}), pebble.Sync); err != nil {
		t.Fatal(err)
	}
	closeJournal(t, j)
	var e *ShortenedError
	if _, err := Open(testDir, Options{FS: fs, Logger: quiet()}); !errors.As(err, &e) || e.Have != 3 {
		t.Fatalf("error %v, want a *ShortenedError that has 3", err)
	}
	db, err := pebble.Open(fs.PathJoin(testDir, "db"), &pebble.Options{FS: fs, ReadOnly: true, Logger: engineLogger{&Journal{o: Options{Logger: quiet()}}}})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if v, err := get(db, []byte(keySchema)); err != nil || len(v) != 1 || v[0] != 2 {
		t.Errorf("a refused start made it schema %v, %v", v, err)
	}
}

// A message that is recalled twice has its key once, of the first recall: a later
// one that a crash takes away leaves it recalled.
func TestRecalledTwice(t *testing.T) {
	j := open(t, vfs.NewMem())
	defer closeJournal(t, j)
	mustAppend(t, j, "grp:g", 1, 3)
	for i := range 2 {
		if _, err := appendOne(j, recallOf("grp:g", 10+i, 2)); err != nil {
			t.Fatal(err)
		}
	}
	v, err := get(j.db, appendRecalledKey(nil, "grp:g", 2))
	if err != nil || len(v) != 1 || v[0] != 4 {
		t.Errorf("%v, %v; want the position of the first recall, 4", v, err)
	}
	// What is not durable yet is not told.
	j.mu.Lock()
	durable := j.durable
	j.durable = 3
	j.mu.Unlock()
	wantRecalled(t, j, map[im.ConversationID]string{"grp:g": "0 []"})
	j.mu.Lock()
	j.durable = durable
	j.mu.Unlock()
	wantRecalled(t, j, map[im.ConversationID]string{"grp:g": "1 [2]"})
}
