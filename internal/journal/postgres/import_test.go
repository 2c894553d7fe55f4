package postgres

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/pg/pgtest"
)

// What is imported is what is read afterwards, by the importer and by the journal,
// and ids, numbers and positions go on from it.
func TestImport(t *testing.T) {
	url := pgtest.Database(t)
	g, h := im.Group("g"), im.DM("ann", "bob")
	at := time.UnixMilli(1_800_000_000_000)
	entry := func(c im.ConversationID, seq, count, pos uint64, body string) ImportedEntry {
		m := message(c, "ann", int(pos))
		m.Entry.Seq, m.Entry.Count, m.Entry.Pos, m.Entry.Stored, m.Entry.Body = seq, count, pos, at, nil
		if body != "" {
			m.Entry.Body = []byte(body)
		}
		return ImportedEntry{Entry: m.Entry, Hash: m.Hash}
	}
	entries := []ImportedEntry{entry(g, 1, 1, 5, ""), entry(g, 2, 2, 6, "b"), entry(h, 1, 1, 7, "c"), entry(g, 3, 2, 8, ""), entry(g, 4, 2, 9, "changes")}
	entries[0].Entry.Recalled, entries[0].Entry.Amended = true, 3
	entries[1].Entry.Amended, entries[1].Entry.Roster = 4, 7
	for i := 3; i < 5; i++ {
		entries[i].Entry.Kind, entries[i].Entry.Target, entries[i].Entry.Roster = im.EntryRecall, uint64(i-2), 7
	}
	marks := []im.Mark{{User: "ann", Conversation: g, Received: 4, Read: 3, ReadCount: 2, Pos: 9, Mine: "pinned\x00"}, {User: "bob", Conversation: h, Received: 1, Pos: 8}}
	m, err := OpenImporter(t.Context(), url)
	must(t, err)
	defer m.Close()
	must(t, m.Begin(t.Context(), "theirs", "1", nil))
	must(t, m.Entries(t.Context(), entries[:2], []byte("2")), m.Entries(t.Context(), entries[2:], []byte("5")), m.Marks(t.Context(), marks, []byte("m")))
	must(t, m.Settle(t.Context()))
	if n, err := m.WrongHeads(t.Context()); n != 0 || err != nil {
		t.Errorf("%d heads are wrong, %v", n, err)
	}
	seen := 0
	must(t, m.EachEntry(t.Context(), func(e *im.Entry, hash uint64) error {
		i := slices.IndexFunc(entries, func(x ImportedEntry) bool { return x.Entry.Pos == e.Pos })
		if seen++; !reflect.DeepEqual(*e, entries[i].Entry) || hash != entries[i].Hash {
			t.Errorf("%+v, want %+v", *e, entries[i].Entry)
		}
		return nil
	}))
	must(t, m.EachMark(t.Context(), func(k *im.Mark) error {
		if seen++; !slices.Contains(marks, *k) {
			t.Errorf("mark %+v", *k)
		}
		return nil
	}))
	if seen != len(entries)+len(marks) {
		t.Errorf("%d rows", seen)
	}
	must(t, m.Finish(t.Context(), "theirs", im.Eras{{ID: 3, Begin: 0}}, 9))
	j := open(t, url)
	defer j.Close()
	var got []im.Entry
	for _, c := range []im.ConversationID{g, h} {
		got = append(got, all(t, j, c)...)
	}
	if j.Timeline() != "theirs" || len(got) != len(entries) || !reflect.DeepEqual(got[0], entries[0].Entry) {
		t.Errorf("timeline %s, %+v", j.Timeline(), got)
	}
	again := message(g, "ann", 6)
	again.IfRoster = 7
	next := message(g, "ann", 100)
	next.IfRoster = 7
	if out := store(t, j, again, next, message("grp:new", "ann", 101)); out[0].Status != im.Duplicate || out[0].Seq != 2 || out[1].Seq != 5 || out[1].Pos <= 9 || out[2].Seq != 1 {
		t.Errorf("%+v", out)
	}
}
