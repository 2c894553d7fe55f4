package pebble

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/skein-im/skein/internal/entrycodec"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

// dump is what the code of schema 3 read in the journal it had made, testdata/schema3:
// messages of text and of bytes, answers and mentions, recalls of messages, of an
// event, of an older epoch, twice and within a batch, events with all they can have,
// ids of another time, six epochs, a part of it in a table and the rest in the log.
type dump struct {
	Timeline string
	Position uint64
	Entries  []dumped
	Marks    []im.Mark
	Recalled map[im.ConversationID][]uint64
}

type dumped struct {
	Conversation im.ConversationID
	Seq          uint64
	ID           im.MessageID
	Sender       im.UserID
	StoredMs     int64
	Kind         im.EntryKind
	Count        uint64
	Pos, Roster  uint64
	Recalled     bool
	Target       uint64
	Type         string
	Content      []byte
	Text         bool
	ReplyTo      uint64
	Mentions     []im.UserID
	Event        *im.Event
	Hash         uint64
}

func schema3(t *testing.T) (d dump) {
	t.Helper()
	raw, err := os.ReadFile("testdata/schema3.json")
	if err == nil {
		err = json.Unmarshal(raw, &d)
	}
	if err != nil || len(d.Entries) != 180 {
		t.Fatal(len(d.Entries), err)
	}
	return d
}

// schema3FS is a disk with the journal of schema 3.
func schema3FS(t *testing.T) *vfs.MemFS {
	t.Helper()
	fs := vfs.NewCrashableMem()
	if err := fs.MkdirAll(filepath.Dir(testDir), 0o755); err != nil {
		t.Fatal(err)
	}
	if ok, err := vfs.Clone(vfs.Default, fs, "testdata/schema3", testDir, vfs.CloneSync); err != nil || !ok {
		t.Fatal(ok, err)
	}
	for dir := filepath.Dir(testDir); ; dir = filepath.Dir(dir) {
		if err := syncDir(fs, dir); err != nil {
			t.Fatal(err)
		}
		if dir == filepath.Dir(dir) {
			return fs
		}
	}
}

// content is what an entry says, decoded from its body.
func content(t *testing.T, e *im.Entry) (d dumped) {
	t.Helper()
	d = dumped{e.Conversation, e.Seq, e.ID, e.Sender, e.Stored.UnixMilli(), e.Kind, e.Count, e.Pos, e.Roster, e.Recalled, e.Target, "", nil, false, 0, nil, nil, 0}
	var w wire.Entry
	if err := entrycodec.Decode(e.Body, &w); err != nil {
		t.Fatal(err)
	}
	d.Type, d.ReplyTo = w.GetContent().GetType(), w.GetReplyTo()
	switch b := w.GetContent().GetBody().(type) {
	case *wire.Content_Text:
		d.Content, d.Text = []byte(b.Text), true
	case *wire.Content_Data:
		d.Content = b.Data
	}
	for _, u := range w.GetMentions() {
		d.Mentions = append(d.Mentions, im.UserID(u))
	}
	again := *e
	if err := entrycodec.SetEvent(&again); err != nil {
		t.Fatal(err)
	}
	if len(e.Body) > 0 {
		d.Event = again.Event
	}
	return d
}

// requireDump requires a journal to hold what the dump says, and nothing besides.
func requireDump(t *testing.T, j *Journal, want *dump) {
	t.Helper()
	if j.Timeline() != want.Timeline || j.position() != want.Position {
		t.Fatalf("timeline %s at %d, want %s at %d", j.Timeline(), j.position(), want.Timeline, want.Position)
	}
	last := map[placeKey]uint64{}
	for _, w := range want.Entries {
		if w.Kind == im.EntryRecall {
			last[placeKey{w.Conversation, w.Target}] = max(last[placeKey{w.Conversation, w.Target}], w.Seq)
		}
	}
	ids, err := (&Reader{j: j}).newIDReader(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer ids.it.Close()
	for i := range want.Entries {
		w := want.Entries[i]
		es, err := j.Read(t.Context(), w.Conversation, w.Seq, false, 1)
		if err != nil || len(es) != 1 {
			t.Fatal(w.Conversation, w.Seq, len(es), err)
		}
		got := content(t, &es[0])
		var seq uint64
		if seq, got.Hash, err = ids.get(&es[0]); err != nil || seq != w.Seq {
			t.Fatalf("the id of %s#%d is kept with %d: %v", w.Conversation, w.Seq, seq, err)
		}
		if len(got.Content)+len(w.Content) == 0 {
			got.Content, w.Content = nil, nil
		}
		if w.Event != nil && got.Event != nil && len(w.Event.Users)+len(got.Event.Users) == 0 {
			got.Event.Users = w.Event.Users
		}
		if w.Recalled { // what an event had said was left in it
			w.Event = nil
		}
		if !reflect.DeepEqual(got, w) {
			t.Fatalf("got %+v\nwant %+v", got, w)
		}
		if es[0].Amended != last[placeKey{w.Conversation, w.Seq}] {
			t.Fatalf("%s#%d is amended by %d, want %d", w.Conversation, w.Seq, es[0].Amended, last[placeKey{w.Conversation, w.Seq}])
		}
		if w.Kind == im.EntryMessage && !w.Recalled {
			requireHash(t, &es[0], w.Hash)
		}
	}
	n := len(want.Entries)
	if e, i := countKeys(t, j, spaceEntry), countKeys(t, j, spaceID)+countKeys(t, j, spaceStrayID); e != n || i != n {
		t.Fatalf("%d entries and %d ids, want %d", e, i, n)
	}
	requireNothingOld(t, j)
	for c, seqs := range want.Recalled {
		wantRecalled(t, j, map[im.ConversationID]string{c: fmt.Sprint(len(seqs), seqs)})
	}
	for _, m := range want.Marks {
		out := make([]im.Mark, 1)
		if err := j.Marks(t.Context(), []im.MarkKey{{User: m.User, Conversation: m.Conversation}}, out, false); err != nil || out[0] != m {
			t.Fatalf("mark %+v, %v, want %+v", out[0], err, m)
		}
	}
}

// requireHash requires what a client sends now to be known for what it sent then.
func requireHash(t *testing.T, e *im.Entry, want uint64) {
	t.Helper()
	var w wire.Entry
	if err := entrycodec.Decode(e.Body, &w); err != nil {
		t.Fatal(err)
	}
	if _, hash := entrycodec.Message(e.Conversation, &wire.Send{Content: w.Content, ReplyTo: w.ReplyTo, Mentions: w.Mentions}); hash != want {
		t.Fatalf("%s#%d has hash %d, a resend %d", e.Conversation, e.Seq, want, hash)
	}
}

// requireResends requires every id to be known in its conversation, and no other.
func requireResends(t *testing.T, j *Journal, want *dump) {
	t.Helper()
	heads, err := []im.Head{{}, {}}, error(nil)
	if err = j.Heads(t.Context(), []im.ConversationID{"grp:g", "grp:new"}, heads); err != nil {
		t.Fatal(err)
	}
	for i, w := range want.Entries {
		it := im.Append{Entry: im.Entry{Conversation: w.Conversation, ID: w.ID, Sender: w.Sender, Kind: w.Kind, Target: w.Target}, Hash: w.Hash}
		other, changed := it, it
		other.Entry.Conversation, other.IfRoster = "grp:new", 0
		changed.Hash++
		out := make([]im.Appended, 4)
		if err := j.Append(t.Context(), []im.Append{it, other, changed, other}, out); err != nil {
			t.Fatal(err)
		}
		if out[0].Status != im.Duplicate || out[0].Seq != w.Seq || out[0].Pos != w.Pos || out[0].Time.UnixMilli() != w.StoredMs || out[2] != (im.Appended{Status: im.IDConflict}) {
			t.Fatalf("a resend of %s#%d is answered %+v, another message %+v", w.Conversation, w.Seq, out[0], out[2])
		}
		if n := heads[1].Seq + uint64(i) + 1; out[1].Status != im.Stored || out[1].Seq != n || out[3].Status != im.Duplicate || out[3].Seq != n {
			t.Fatalf("in another conversation: %+v, again %+v, want seq %d", out[1], out[3], n)
		}
	}
}

// A journal of schema 3, and the same as schemas 2 and 1 had it, says the same
// afterwards, and goes on.
func TestMigrationToBodies(t *testing.T) {
	want := schema3(t)
	older := func(t *testing.T, fs vfs.FS, change ...func(*testing.T, *Journal)) {
		t.Helper()
		db, err := pebble.Open(fs.PathJoin(testDir, "db"), &pebble.Options{FS: fs, Logger: engineLogger{&Journal{o: Options{Logger: quiet()}}}})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range change {
			f(t, &Journal{db: db})
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		if err := fs.Remove(fs.PathJoin(testDir, ledgerName)); err != nil { // it knows other files
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		schema int
		change []func(*testing.T, *Journal)
	}{{3, nil}, {2, []func(*testing.T, *Journal){toSchema2}}, {1, []func(*testing.T, *Journal){toSchema2, toSchema1}}} {
		t.Run(fmt.Sprint("schema=", tt.schema), func(t *testing.T) {
			fs := schema3FS(t)
			if len(tt.change) > 0 {
				older(t, fs, tt.change...)
			}
			for range 2 {
				j := open(t, fs)
				requireDump(t, j, &want)
				closeJournal(t, j)
			}
			j := open(t, fs)
			if p := j.Pair(); p.Identity != "an identity" || p.Changes != 7 {
				if tt.schema > 1 {
					t.Errorf("pair %+v", p)
				}
			}
			requireResends(t, j, &want)
			closeJournal(t, j)
		})
	}
}

// A migration whose power is cut at any moment, and again in the next try, leaves a
// journal that is converted as a whole by the try after that.
func TestMigrationToBodiesIsCut(t *testing.T) {
	want := schema3(t)
	parts := 0
	cutAt(t, schema3FS(t), cut{parts: &parts})
	if parts < 20 {
		t.Fatalf("only %d parts: the test tests nothing", parts)
	}
	rng := rand.New(rand.NewPCG(3, 9))
	const cuts = 30
	whole, midway := 0, 0
	for round := range cuts {
		fs := schema3FS(t)
		for range 1 + round%2 {
			c := cut{percent: []int{0, 50, 100}[round%3], rng: rng, atPart: 1 + rng.IntN(parts)}
			if round%5 == 0 {
				// No part of a directory: the store relies on files appearing in their order.
				c.atPart, c.atWrite, c.percent = 0, 1+rng.IntN(50), 100*rng.IntN(2)
			}
			fs = cutAt(t, fs, c)
		}
		switch schema, some := schemaOf(t, fs); {
		case schema == schemaVersion:
			whole++
		case some:
			midway++
		}
		j := open(t, fs)
		requireDump(t, j, &want)
		closeJournal(t, j)
	}
	t.Logf("of %d that were cut %d were converted, %d in part", cuts, whole, midway)
	if midway < cuts/3 {
		t.Error("the cuts do not come in the migration")
	}
}

// cut says when the power is cut: when a part of the migration was written and synced,
// or before any write to the disk. Of what was not synced so many percent are there.
type cut struct {
	atPart, atWrite int
	percent         int
	rng             *rand.Rand
	parts           *int // is set to how many parts there are
}

// cutAt opens the journal of a disk, and returns the disk as it is after the cut.
func cutAt(t *testing.T, disk *vfs.MemFS, c cut) (after *vfs.MemFS) {
	t.Helper()
	var writes atomic.Int64
	var once sync.Once
	now := func() {
		once.Do(func() { after = disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: c.percent, RNG: c.rng}) })
	}
	fs := errorfs.Wrap(disk, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind.ReadOrWrite() == errorfs.OpIsWrite && writes.Add(1) == int64(c.atWrite) {
			now()
		}
		return nil
	}))
	part := 0
	j := open(t, fs, func(o *Options) {
		o.migrateBytes = 400
		o.migrateWrote = func(db *pebble.DB) {
			if part++; part == c.atPart {
				if err := db.LogData(nil, pebble.Sync); err != nil {
					t.Error(err)
				}
				now()
			}
		}
	})
	if c.parts != nil {
		*c.parts = part
	}
	closeJournal(t, j)
	now() // it was done before
	return after
}

// schemaOf tells the schema of a journal, and whether there are entries as the newest
// one has them.
func schemaOf(t *testing.T, fs vfs.FS) (schema uint64, some bool) {
	t.Helper()
	j := &Journal{dir: testDir, fs: fs, o: Options{FS: fs, Logger: quiet()}.withDefaults()}
	db, err := j.openReadOnly(fs.PathJoin(testDir, "db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	m, _, err := loadMeta(db)
	if err != nil {
		t.Fatal(err)
	}
	return m.schema, countKeys(t, &Journal{db: db}, spaceEntry) > 0
}

// A reader of a converted journal tells what the code of schema 3 told of it.
func TestReaderOfConverted(t *testing.T) {
	want := schema3(t)
	dir := filepath.Join(t.TempDir(), "journal")
	if err := os.CopyFS(dir, os.DirFS("testdata/schema3")); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenReader(dir, Options{MinFree: -1}); err == nil {
		t.Error("a reader took a journal of schema 3")
	}
	j, err := Open(dir, Options{MinFree: -1})
	if err != nil {
		t.Fatal(err)
	}
	closeJournal(t, j)
	r, err := OpenReader(dir, Options{MinFree: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	n := 0
	err = r.Entries(context.Background(), nil, func(_ []byte, e *im.Entry, hash uint64) error {
		if w := want.Entries[n]; e.Conversation != w.Conversation || e.Seq != w.Seq || hash != w.Hash {
			t.Errorf("entry %d is %s#%d with hash %d, was %s#%d with %d", n, e.Conversation, e.Seq, hash, w.Conversation, w.Seq, w.Hash)
		}
		n++
		return nil
	})
	if err != nil || n != len(want.Entries) {
		t.Errorf("%d entries, %v, want %d", n, err, len(want.Entries))
	}
	if _, damaged, err := r.Inspect(t.Context()); err != nil || len(damaged) > 0 {
		t.Error(damaged, err)
	}
}

// Without room for a second copy of the entries nothing is converted, and with it all.
func TestMigrationNeedsRoom(t *testing.T) {
	want := schema3(t)
	mem := schema3FS(t)
	disk := &smallDisk{FS: mem}
	disk.free.Store(defaultMinFree + 1000)
	for range 2 {
		if _, err := Open(testDir, Options{FS: disk, Logger: quiet()}); !errors.Is(err, im.ErrJournalFull) {
			t.Fatalf("error %v, want ErrJournalFull", err)
		}
		if v, some := schemaOf(t, mem); v != 3 || some {
			t.Fatalf("schema %d, converted in part: %v", v, some)
		}
	}
	disk.free.Store(1 << 30)
	j := open(t, disk)
	requireDump(t, j, &want)
	closeJournal(t, j)
}
