package sqlitestore

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"testing"

	"google.golang.org/protobuf/proto"

	skein "github.com/skein-im/skein/sdk/go"
	"github.com/skein-im/skein/wire"
)

// schema1 is the schema as version 1 made it.
const schema1 = `
CREATE TABLE meta (
	one INTEGER PRIMARY KEY CHECK (one = 1),
	user TEXT NOT NULL, timeline TEXT NOT NULL, device TEXT NOT NULL, position TEXT NOT NULL,
	listing INTEGER NOT NULL, list_next TEXT NOT NULL, settled_at INTEGER NOT NULL
) STRICT;
CREATE TABLE counter (name TEXT PRIMARY KEY, n INTEGER NOT NULL) STRICT;
CREATE TABLE conversation (
	id TEXT PRIMARY KEY, title TEXT NOT NULL,
	first_seq INTEGER NOT NULL, until_seq INTEGER NOT NULL, low INTEGER NOT NULL, high INTEGER NOT NULL,
	head INTEGER NOT NULL, head_count INTEGER NOT NULL, last_at INTEGER NOT NULL,
	read_seq INTEGER NOT NULL, read_count INTEGER NOT NULL, received INTEGER NOT NULL, marked_at INTEGER NOT NULL,
	peer_received INTEGER NOT NULL, peer_read INTEGER NOT NULL, last BLOB
) STRICT;
CREATE TABLE entry (
	conversation TEXT NOT NULL, seq INTEGER NOT NULL, body BLOB NOT NULL,
	PRIMARY KEY (conversation, seq)
) STRICT, WITHOUT ROWID;
CREATE TABLE outbox (
	n INTEGER PRIMARY KEY, state INTEGER NOT NULL, send BLOB NOT NULL, made_at INTEGER NOT NULL,
	seq INTEGER NOT NULL, code TEXT NOT NULL, reason TEXT NOT NULL
) STRICT;
CREATE TABLE feed (
	n INTEGER PRIMARY KEY, kind INTEGER NOT NULL, conversation TEXT NOT NULL,
	from_seq INTEGER NOT NULL, seq INTEGER NOT NULL, entry BLOB, failed TEXT
) STRICT;
CREATE INDEX feed_entry ON feed (conversation, seq);
INSERT INTO counter VALUES ('feed', 7);
PRAGMA user_version = 1;
`

// A file of version 1, with no conversation, one and many, or of a client that
// never connected: everything in it is kept, what is written then is kept as well,
// and the client will read the list again, which tells the earlier times of
// membership.
func TestUpgradeFromVersion1(t *testing.T) { testUpgrade(t, false) }

// Version 2 did not know of what was recalled, which the list tells as well.
func TestUpgradeFromVersion2(t *testing.T) { testUpgrade(t, true) }

const toSchema2 = "ALTER TABLE conversation ADD COLUMN earlier BLOB NOT NULL DEFAULT x''; PRAGMA user_version = 2"

func testUpgrade(t *testing.T, second bool) {
	for _, n := range []int{-1, 0, 1, 2, 100} {
		path := filepath.Join(t.TempDir(), "s.db")
		last := &wire.Entry{Conversation: "grp:g", Seq: 9, Count: 8, Sender: "bob"}
		writeVersion1(t, path, n, last, second)
		want := skein.ConversationRecord{
			Title: "t", First: 5, Low: 7, High: 9, Head: 10, HeadCount: 8, LastAtMs: 1, Read: 6, ReadCount: 4,
			Received: 9, MarkedAtMs: 3, PeerReceived: 2, PeerRead: 1,
		}
		for again := range 3 {
			s, err := Open(path)
			if err != nil {
				t.Fatal(err)
			}
			snap, err := s.Load(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if snap.LastFeed != 7 || len(snap.Conversations) != max(n, 0) || n >= 0 && (snap.Meta.Position != "p" || snap.Meta.Listing != (again == 0)) {
				t.Errorf("%d: %+v", n, snap)
			}
			for i := range snap.Conversations {
				r := snap.Conversations[i]
				if !proto.Equal(r.Last, last) {
					t.Errorf("last = %v", r.Last)
				}
				if r.Newest.GetConversation() != "grp:g" || r.Newest.GetSeq() != 9 {
					t.Errorf("newest = %v", r.Newest)
				}
				r.Last, r.Newest = nil, nil
				if fmt.Sprintf("%+v", r) != fmt.Sprintf("%+v", named(want, r.ID)) {
					t.Errorf("%+v", r)
				}
			}
			es, err := s.Entries(t.Context(), "grp:g", 1, 99, 99)
			if err != nil || len(es) != 1 || !proto.Equal(es[0], last) {
				t.Errorf("entries %v, %v", es, err)
			}
			snap.Meta.Listing = false
			want.Earlier = []skein.Window{{First: 1, Until: 2, Hidden: uint64(again)}}
			want.Recalled, want.RecalledMore = []uint64{8, 1 << 40}, uint64(again)
			b := &skein.Batch{}
			if n >= 0 {
				b.Meta = &snap.Meta
			}
			for i := range snap.Conversations {
				snap.Conversations[i].Earlier = want.Earlier
				snap.Conversations[i].Recalled, snap.Conversations[i].RecalledMore = want.Recalled, want.RecalledMore
				b.Conversations = append(b.Conversations, &snap.Conversations[i])
			}
			if err := s.Apply(t.Context(), b); err != nil {
				t.Fatal(err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func named(r skein.ConversationRecord, id string) skein.ConversationRecord {
	r.ID = id
	return r
}

// writeVersion1 makes a file with n conversations; -1: nothing was ever synced.
func writeVersion1(t *testing.T, path string, n int, last *wire.Entry, second bool) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	exec := func(text string, args ...any) {
		t.Helper()
		if _, err := db.Exec(text, args...); err != nil {
			t.Fatal(err)
		}
	}
	exec(schema1)
	body, err := proto.Marshal(last)
	if err != nil {
		t.Fatal(err)
	}
	exec("INSERT INTO entry VALUES ('grp:g', 9, ?)", body)
	if n >= 0 {
		exec("INSERT INTO meta VALUES (1, 'ann', 't', 'd', 'p', 0, '', 5)")
	}
	for i := range n {
		exec("INSERT INTO conversation VALUES (?, 't', 5, 0, 7, 9, 10, 8, 1, 6, 4, 9, 3, 2, 1, ?)", fmt.Sprint("grp:", i), body)
	}
	if second {
		exec(toSchema2)
	}
}

// setMine writes that the list was read, and what the user set, and requires that it is
// there the second time.
func setMine(t *testing.T, s *Store, m skein.Meta, r skein.ConversationRecord, again int) {
	t.Helper()
	mine := &wire.MyState{Conversation: r.ID, Revision: 1, Pinned: true}
	if again == 1 && !proto.Equal(r.Mine, mine) {
		t.Errorf("what was set is %v", r.Mine)
	}
	m.Listing, r.Mine = false, mine
	if err := s.Apply(t.Context(), &skein.Batch{Meta: &m, Conversations: []*skein.ConversationRecord{&r}}); err != nil {
		t.Fatal(err)
	}
}

// Up to version 3 amendments were entries of the window: they are dropped, the last
// message is the one before them, and the newest entry stays the one that proves what
// the device knew. What an event that waits says of them stays.
func TestUpgradeFromVersion3(t *testing.T) {
	const dm = "dm:ann:bob"
	recall := func(seq, target uint64) *wire.Entry {
		return &wire.Entry{
			Conversation: dm, Seq: seq, Id: fmt.Appendf(nil, "%016d", seq), Kind: wire.EntryKind_ENTRY_KIND_RECALL,
			Target: target, Pos: 100 + seq, StoredAtMs: 5, Count: 2,
		}
	}
	message := func(seq uint64) *wire.Entry {
		return &wire.Entry{Conversation: dm, Seq: seq, Kind: wire.EntryKind_ENTRY_KIND_MESSAGE, Pos: 100 + seq, Count: seq}
	}
	for name, window := range map[string][]*wire.Entry{
		"none":                {message(1), message(2)},
		"one":                 {message(1), message(2), recall(3, 1)},
		"two":                 {message(1), recall(2, 1), message(3), recall(4, 3)},
		"many, and no others": {recall(5, 1), recall(6, 2), recall(7, 3)},
	} {
		path := filepath.Join(t.TempDir(), "s.db")
		end := window[len(window)-1]
		writeVersion1(t, path, 0, end, true)
		db, err := sql.Open("sqlite", path)
		if err != nil {
			t.Fatal(err)
		}
		exec := func(text string, args ...any) {
			if _, err := db.Exec(text, args...); err != nil {
				t.Fatal(err)
			}
		}
		exec("DELETE FROM entry")
		exec("ALTER TABLE conversation ADD COLUMN recalled BLOB NOT NULL DEFAULT x''; PRAGMA user_version = 3")
		var want []*wire.Entry
		for _, e := range window {
			body, err := proto.Marshal(e)
			if err != nil {
				t.Fatal(err)
			}
			exec("INSERT INTO entry VALUES (?, ?, ?)", dm, int64(e.Seq), body)
			exec("INSERT INTO feed VALUES (?, 1, ?, 0, ?, ?, NULL)", int64(e.Seq), dm, int64(e.Seq), body)
			exec("INSERT OR REPLACE INTO conversation VALUES (?, '', 1, 0, ?, ?, 9, 8, 1, 6, 4, 9, 3, 2, 1, ?, x'', x'')",
				dm, int64(window[0].Seq), int64(e.Seq), body)
			if e.Target == 0 {
				want = append(want, e)
			}
		}
		db.Close()
		for again := range 2 {
			s, err := Open(path)
			if err != nil {
				t.Fatal(err)
			}
			snap, err := s.Load(t.Context())
			if err != nil || len(snap.Conversations) != 1 {
				t.Fatalf("%s: %+v, %v", name, snap, err)
			}
			r := snap.Conversations[0]
			var last *wire.Entry
			if len(want) > 0 {
				last = want[len(want)-1]
			}
			if (r.Last == nil) != (last == nil) || last != nil && !proto.Equal(r.Last, last) || r.High != end.Seq || snap.Meta.Listing != (again == 0) {
				t.Errorf("%s: last %v, high %d, listing %v; want %v, %d", name, r.Last, r.High, snap.Meta.Listing, last, end.Seq)
			}
			if r.Newest.GetSeq() != end.Seq || r.Newest.GetPos() != end.Pos || string(r.Newest.GetId()) != string(end.Id) {
				t.Errorf("%s: newest %v, want %v", name, r.Newest, end)
			}
			es, err := s.Entries(t.Context(), dm, 1, 99, 99)
			if err != nil || len(es) != len(want) {
				t.Errorf("%s: entries %v, %v; want %v", name, es, err, want)
			}
			if items, err := s.Feed(t.Context(), 0, 99); err != nil || len(items) != len(window) {
				t.Errorf("%s: %d events, %v", name, len(items), err)
			}
			setMine(t, s, snap.Meta, r, again)
			s.Close()
		}
	}
}

// Version 6 knew nothing of what disappears: the client reads the list again, which tells
// it, and all else stays. What is written then is there the next time.
func TestUpgradeFromVersion6(t *testing.T) {
	for _, n := range []int{0, 1, 2, 50} {
		path := filepath.Join(t.TempDir(), "s.db")
		last := &wire.Entry{Conversation: "grp:g", Seq: 9, Count: 8, Sender: "bob"}
		writeVersion1(t, path, n, last, true)
		db, err := sql.Open("sqlite", path)
		if err != nil {
			t.Fatal(err)
		}
		_, err = db.Exec(`ALTER TABLE conversation ADD COLUMN recalled BLOB NOT NULL DEFAULT x'';
			ALTER TABLE conversation ADD COLUMN newest BLOB; ALTER TABLE conversation ADD COLUMN mine BLOB;
			ALTER TABLE conversation ADD COLUMN mentions BLOB NOT NULL DEFAULT x''; UPDATE conversation SET mentions = x'0103';
			PRAGMA user_version = 6`)
		if err != nil {
			t.Fatal(err)
		}
		db.Close()
		want := []skein.Lifetime{{After: 3, Until: 8, Seconds: 60, Gone: 5}, {After: 9, Seconds: 1 << 24}}
		for again := range 3 {
			s, err := Open(path)
			if err != nil {
				t.Fatal(err)
			}
			snap, err := s.Load(t.Context())
			if err != nil || len(snap.Conversations) != n || snap.Meta.Listing != (again == 0) || snap.Meta.Position != "p" {
				t.Fatalf("%d: %+v, %v", n, snap, err)
			}
			b := &skein.Batch{Meta: &snap.Meta}
			b.Meta.Listing = false
			for i := range snap.Conversations {
				r := &snap.Conversations[i]
				if got := fmt.Sprint(r.Lifetimes); again > 0 && got != fmt.Sprint(want) || again == 0 && len(r.Lifetimes) > 0 || fmt.Sprint(r.Mentions) != "[3]" || r.MentionsMore != 1 || !proto.Equal(r.Last, last) {
					t.Errorf("opened %d times: %+v", again+1, r)
				}
				r.Lifetimes = want
				b.Conversations = append(b.Conversations, r)
			}
			if err := s.Apply(t.Context(), b); err != nil {
				t.Fatal(err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// Up to version 7 no question was kept; what is kept now is there after the next start.
func TestUpgradeFromVersion7(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.db")
	last := &wire.Entry{Conversation: "grp:g", Seq: 9, Count: 8, Sender: "bob"}
	writeVersion1(t, path, 2, last, true)
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.Exec(`ALTER TABLE conversation ADD COLUMN recalled BLOB NOT NULL DEFAULT x'';
		ALTER TABLE conversation ADD COLUMN newest BLOB; ALTER TABLE conversation ADD COLUMN mine BLOB;
		ALTER TABLE conversation ADD COLUMN mentions BLOB NOT NULL DEFAULT x'';
		ALTER TABLE conversation ADD COLUMN lifetimes BLOB NOT NULL DEFAULT x''; PRAGMA user_version = 7`)
	if err != nil {
		t.Fatal(err)
	}
	db.Close()
	for again := range 3 {
		s, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		snap, err := s.Load(t.Context())
		if err != nil || len(snap.Conversations) != 2 || snap.Meta.Listing {
			t.Fatalf("%+v, %v", snap, err)
		}
		b := &skein.Batch{}
		for i := range snap.Conversations {
			r := &snap.Conversations[i]
			if r.Unsure != (again == 1 && i == 0) {
				t.Errorf("opened %d times: %s is unsure: %t", again+1, r.ID, r.Unsure)
			}
			r.Unsure = again == 0 && i == 0
			b.Conversations = append(b.Conversations, r)
		}
		if err := s.Apply(t.Context(), b); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// Up to version 8 no threads were kept; everything else stays as it is.
func TestUpgradeFromVersion8(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.db")
	s, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Apply(t.Context(), &skein.Batch{Conversations: []*skein.ConversationRecord{{ID: "grp:g", Unsure: true}}}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("DROP TABLE thread; PRAGMA user_version = 8"); err != nil {
		t.Fatal(err)
	}
	db.Close()
	for again := range 2 {
		s, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		snap, err := s.Load(t.Context())
		if err != nil || len(snap.Conversations) != 1 || !snap.Conversations[0].Unsure || len(snap.Threads) != again {
			t.Fatalf("%+v, %v", snap, err)
		}
		err = s.Apply(t.Context(), &skein.Batch{Threads: []*skein.ThreadRecord{{Conversation: "grp:g", Root: 1, Thread: &wire.Thread{}}}})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
