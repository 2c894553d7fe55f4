package postgres

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/entrycodec"
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

// An imported thread is found as it was: by its root, by who wrote in it, and by who
// follows it, also where its replies come in another page than its root.
func TestImportThreads(t *testing.T) {
	url := pgtest.Database(t)
	g := im.Group("g")
	entry := func(seq uint64, by im.UserID, kind im.EntryKind, target uint64) ImportedEntry {
		m := message(g, by, int(seq))
		m.Entry.Seq, m.Entry.Count, m.Entry.Pos, m.Entry.Stored = seq, 1, 10+seq, time.UnixMilli(1_800_000_000_000)
		m.Entry.Kind, m.Entry.Target = kind, target
		return ImportedEntry{Entry: m.Entry, Hash: m.Hash}
	}
	entries := []ImportedEntry{entry(1, "ann", im.EntryMessage, 0), entry(2, "bob", im.EntryReply, 1), entry(3, "bob", im.EntryReply, 1), entry(4, "cid", im.EntryReply, 1)}
	m, err := OpenImporter(t.Context(), url)
	must(t, err)
	defer m.Close()
	must(t, m.Begin(t.Context(), "theirs", "1", nil))
	must(t, m.Entries(t.Context(), entries[:2], []byte("2")), m.Entries(t.Context(), entries[2:], []byte("4")))
	must(t, m.Settle(t.Context()), m.Finish(t.Context(), "theirs", im.Eras{{ID: 3, Begin: 0}}, 14))
	j := open(t, url)
	defer j.Close()
	for label, want := range map[string][]uint64{
		entrycodec.LabelReply(1): {2, 3, 4}, entrycodec.LabelWrote(1, "bob"): {2, 3}, entrycodec.LabelWrote(1, "cid"): {4},
		entrycodec.LabelFollows("ann"): {1}, entrycodec.LabelFollows("bob"): {1}, entrycodec.LabelFollows("cid"): {1}, entrycodec.LabelFollows("dan"): nil,
	} {
		var out [1]im.Labelled
		span := im.LabelSpan{Span: im.Span{Conversation: g, Until: 99}, Label: label}
		if err := j.Labelled(t.Context(), []im.LabelSpan{span}, 9, out[:]); err != nil || !slices.Equal(out[0].Seqs, want) {
			t.Errorf("%s: %v, want %v (%v)", label, out[0].Seqs, want, err)
		}
	}
}
