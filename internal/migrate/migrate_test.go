package migrate

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	kv "github.com/cockroachdb/pebble/v2"

	"github.com/skein-im/skein/internal/directory"
	dirpostgres "github.com/skein-im/skein/internal/directory/postgres"
	"github.com/skein-im/skein/internal/directory/sqlite"
	"github.com/skein-im/skein/internal/entrycodec"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/journal/pebble"
	"github.com/skein-im/skein/internal/journal/postgres"
	"github.com/skein-im/skein/internal/pg/pgtest"
)

// source is an embedded store with something in every table and every kind of
// entry.
type source struct {
	Options
	timeline string
	place    im.Place
	position uint64
	sent     []im.Append
	stored   []im.Appended
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func newSource(t testing.TB, entries int) *source {
	t.Helper()
	dir := t.TempDir()
	s := &source{Options: Options{Directory: filepath.Join(dir, "directory.db"), Journal: filepath.Join(dir, "journal"), PageEntries: 100}}
	d, err := sqlite.Open(s.Directory, sqlite.Options{})
	must(t, err)
	must(t, d.Close())
	s.exec(t, `INSERT INTO users VALUES ('ann', 'ann', 'Ann Ä. 𝄞', 'argon', TRUE, 1, 1000, 0, 0, 'ann ä. 𝄞', '{"about":"ä","extra":{"k":"v"}}', 3, TRUE, 0, 1000, FALSE, 4, 0, 0, 0, ''), ('Bob', NULL, 'B', '', FALSE, 2, 2000, 3, 2, NULL, '', 0, FALSE, 3000, 0, TRUE, 2, 7, 8, 99, 'späm');
		INSERT INTO sessions VALUES ('s1', 'ann', 'd', 1, 'phone', 'go', 1, 2, '::1', 99, 0), ('s2', 'Bob', '', 0, '', '', 1, 2, '', 99, 5);
		INSERT INTO tokens VALUES (x'00ff', 's1', 1, 1, 99, NULL, 0, NULL), (x'01', 's1', 2, 1, 99, x'00ff', 7, x'beef');
		INSERT INTO claims VALUES ('admin', x'0102', 5);
		INSERT INTO contacts VALUES ('ann', 'Bob', 1, FALSE, 'bobby', '', 3, 'tea
work', 0, 0, 0, 7), ('Bob', 'ann', 1, TRUE, '', 'hello', 4, '', 4, 9, 2, 1);
		INSERT INTO contact_revisions VALUES ('ann', 7, 2), ('Bob', 1, 0);
		INSERT INTO groups VALUES ('grp:g1', 'The group', 'ann', 2, 3, 9, 'ann', NULL, ''), ('grp:g2', '', 'Bob', 1, 1, 9, 'Bob', 'r1', '{"description":"ä","post":2}');
		INSERT INTO memberships VALUES ('ann', 'grp:g1', 1, 0, 3, 0, 9, '', '', 0, 'Tea', x'746561'), ('Bob', 'grp:g1', 7, 9, 0, 0, 9, 'left', '1-5', 5, '', NULL);
		INSERT INTO group_invitations VALUES ('Bob', 'grp:g1', 'ann', 5, 99);
		INSERT INTO group_bans VALUES ('grp:g1', 'eve', 'ann', 'noise', 5, 0);
		INSERT INTO group_links VALUES ('abcdefghijklmnopqrstuvwxyz', 'grp:g1', 'ann', 5, 0, 3, 1, TRUE);
		INSERT INTO group_requests VALUES ('grp:g1', 'Bob', 'please', 5, 99);
		INSERT INTO scheduled VALUES ('ann', x'0190', 'grp:g1', 99, 5, 3, x'3a00', -7, 3, 'muted', 'you are muted', 2, 1);
		INSERT INTO profile_news VALUES ('ann', 'Bob', TRUE);
		INSERT INTO last_seen VALUES ('ann', 77);
		INSERT INTO lifetimes VALUES ('grp:g1', 5, 86400);
		INSERT INTO retention VALUES ('grp:g1', 86400, 4, 3, 1767225600000, 9);
		INSERT INTO timers VALUES (1, 'ann', x'0190', 'grp:g1', -7, 99, 5);
		INSERT INTO identities VALUES ('i1', 'ann', 'corp', 'https://id.example.com', 'ä', 'ann', 'ann@example.com', 5, 6);
		INSERT INTO provider_logins VALUES (x'00fe', 1, '{"v":"ä"}', 99);
		INSERT INTO erasures VALUES ('Bob', TRUE, 3000, 0, 2, 'grp:g1 5');
		INSERT INTO held_names VALUES (x'00fd', 99);
		INSERT INTO former_usernames VALUES ('anna', 'ann', 99);
		INSERT INTO media VALUES ('m1', 'ann', 2, 9, 9, 'ä.png', 'image/png', 3, 4, 0, 'LEHV', x'0001', 'ff00', 't1', 5, 0), ('m2', 'Bob', 1, 9, 4, '', '', 0, 0, 7, '', NULL, '', '', 5, 99);
		INSERT INTO media_pieces VALUES ('m2', 0, 4, 'p1');
		INSERT INTO media_blobs VALUES ('ff00', 'ff00-m1', 1);
		INSERT INTO media_names VALUES ('grp:g1', 'ann', x'0190', 'm1', -7, 99);
		INSERT INTO media_trash VALUES ('p0', 99, FALSE);
		INSERT INTO media_usage VALUES ('ann', 9);
		INSERT INTO sticker_packs VALUES ('cats', 'Cats', 3);
		INSERT INTO stickers VALUES ('cats', 'hi', 0, 'm1', 'a cat', '😺 👋'), ('cats', 'bye', 1, 'm1', 'ä', '');
		INSERT INTO custom_emoji VALUES ('party', 'm1');
		INSERT INTO sticker_revision VALUES (1, 1760000000000);
		INSERT INTO reports VALUES (x'0190', 'grp:g1', 7, 'Bob', 'ann', 2, 'wörds', 'said', 5, 2, 'ann', 6, 'done');
		INSERT INTO server_settings VALUES ('name', 'Pläce', 5);
		INSERT INTO server_lists VALUES ('filter', 7, '[{"pattern":"wörd"}]');
		INSERT INTO wrote_first VALUES ('ann', 'Bob');
		INSERT INTO audit_log VALUES (x'0190', 99, 2, 'login', 'ann', 4, '', '192.0.2.1', 'Phöne', 's1', '', '', 1);
		INSERT INTO outbox VALUES (x'0190', 41, 'grp:g1', 'ann', '{"t":2}', 3, 4)`)
	s.farAhead(t)
	s.fill(t, entries)
	return s
}

func (s *source) exec(t testing.TB, statements string) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+s.Directory+"?vfs=skein-sums")
	must(t, err)
	_, err = db.Exec(statements)
	must(t, errors.Join(err, db.Close()))
}

// farAhead lets the positions of an empty journal begin where no new database's
// transaction ids are: what a server does not carry over shows then.
func (s *source) farAhead(t testing.TB) {
	t.Helper()
	o := pebble.Options{Logger: slog.New(slog.DiscardHandler), AcceptLoss: true}
	j, err := pebble.Open(s.Journal, o)
	must(t, err)
	must(t, j.Close())
	db, err := kv.Open(filepath.Join(s.Journal, "db"), &kv.Options{FormatMajorVersion: kv.FormatTableFormatV6, ErrorIfNotExists: true})
	must(t, err)
	last, closer, err := db.Get([]byte{0x24})
	must(t, err)
	moved := binary.BigEndian.AppendUint64(nil, 1e12)
	moved = append(moved, last[8:]...)
	must(t, errors.Join(closer.Close(), db.Set([]byte{0x24}, moved, kv.Sync), db.Close(), os.Remove(filepath.Join(s.Journal, "witness"))))
	j, err = pebble.Open(s.Journal, o)
	must(t, err)
	must(t, j.Close())
}

// fill appends entries as a server would.
func (s *source) fill(t testing.TB, entries int) {
	t.Helper()
	j, err := pebble.Open(s.Journal, pebble.Options{})
	must(t, err)
	now := time.Now()
	var batch []im.Append
	flush := func() {
		out := make([]im.Appended, len(batch))
		must(t, j.Append(t.Context(), batch, out))
		for i := range out {
			if out[i].Status != im.Stored {
				t.Fatalf("%+v became %+v", batch[i], out[i])
			}
		}
		s.sent, s.stored, batch = append(s.sent, batch...), append(s.stored, out...), nil
	}
	add := func(a im.Append) {
		n := len(s.sent) + len(batch)
		a.Entry.ID = im.NewMessageID(now.Add(time.Duration(n)*time.Millisecond), [10]byte{9: byte(n), 8: byte(n >> 8)})
		a.Hash = uint64(n)<<40 | 1<<63 // as large as they get
		batch = append(batch, a)
		if len(batch) == 1000 {
			flush()
		}
	}
	event := &im.Event{Type: im.EventMemberMuted, Users: []im.UserID{"Bob"}, Role: im.RoleAdmin, Until: now.UTC(), Text: "a\x00\"b\" ä"}
	if len(s.sent) == 0 {
		add(im.Append{Entry: im.Entry{Conversation: "grp:g1", Kind: im.EntryEvent, Body: entrycodec.Event(event)}, SetRoster: 2})
		add(im.Append{Entry: im.Entry{Conversation: "grp:g1", Kind: im.EntryEvent}, IfRoster: 2, SetRoster: 3}) // says nothing
		add(im.Append{IfRoster: 3, Entry: im.Entry{Conversation: "grp:g1", Sender: "ann", Kind: im.EntryMessage, Body: []byte("hi")}})
		add(im.Append{IfRoster: 3, Amend: im.Amend{Recall: true}, Entry: im.Entry{Conversation: "grp:g1", Sender: "ann", Kind: im.EntryRecall, Target: 3}})
		add(im.Append{IfRoster: 3, Amend: im.Amend{Change: true, Body: []byte("changed")}, Entry: im.Entry{Conversation: "grp:g1", Kind: im.EntryEvent, Target: 1}})
	}
	for i := range entries {
		c := im.ConversationID(fmt.Sprintf("dm:Bob:u%d", i%97))
		add(im.Append{Entry: im.Entry{
			Conversation: c, Sender: im.UserID(fmt.Sprintf("u%d", i%97)), Kind: im.EntryMessage,
			Body: []byte{0, byte(i), 0xff},
		}})
	}
	if len(batch) > 0 {
		flush()
	}
	must(t, j.Trim(t.Context(), im.Span{Conversation: "dm:Bob:u1", Until: 2}))
	var marks []im.Mark
	for i := range 250 {
		marks = append(marks, im.Mark{User: im.UserID(fmt.Sprintf("u%d", i)), Conversation: "grp:g1", Received: 3, Read: uint64(i % 4), ReadCount: 1, Mine: []string{"", "pinned\x00"}[i%2]})
	}
	must(t, j.SetMarks(t.Context(), marks, im.MarkWait{}))
	s.timeline = j.Timeline()
	at, err := j.Position(t.Context())
	s.place, _ = at.One()
	s.position = s.place.Pos
	must(t, errors.Join(err, j.Close()))
}

// opened opens the copy as a server does.
func opened(t testing.TB, url string) (*postgres.Journal, *directory.DB) {
	t.Helper()
	d, err := dirpostgres.Open(t.Context(), url, dirpostgres.Options{})
	must(t, err)
	t.Cleanup(func() { d.Close() })
	j, err := postgres.Open(t.Context(), url, postgres.Options{})
	must(t, err)
	t.Cleanup(func() { j.Close() })
	return j, d
}

func refuses(t testing.TB, url, want string) {
	t.Helper()
	j, err := postgres.Open(t.Context(), url, postgres.Options{})
	if err == nil {
		j.Close()
	}
	var e *postgres.UnfinishedError
	if !errors.As(err, &e) || !strings.Contains(err.Error(), "skein migrate-store") || !strings.Contains(err.Error(), want) {
		t.Errorf("a server opens the database with %v, want an error with %q", err, want)
	}
}

// The copy is what the source was, for everybody who asks a journal.
func TestRun(t *testing.T) {
	s := newSource(t, 1000)
	s.To = pgtest.Database(t)
	sum, err := Run(t.Context(), s.Options)
	must(t, err)
	if sum.Entries != 1005 || sum.Marks != 250 || sum.Timeline != s.timeline || sum.Resumed || sum.Rows["users"] != 2 || sum.Rows["outbox"] != 1 {
		t.Errorf("%+v", sum)
	}
	if sum, err := Run(t.Context(), s.Options); err != nil || !sum.Already { // killed before it could tell
		t.Errorf("again: %+v, %v", sum, err)
	}
	j, d := opened(t, s.To)
	s.compareJournals(t, j)
	s.goesOn(t, j)

	// The directory's next promise comes behind those that were copied.
	next, err := pgtest.Collect[struct{ N int64 }](t.Context(), s.To, "SELECT nextval('outbox_places')")
	if err != nil || next[0].N != 42 {
		t.Errorf("the next place is %v: %v", next, err)
	}
	if pending, _, err := d.Pending(t.Context(), 0, 10); err == nil {
		t.Errorf("a promise with a short id was taken for one: %v", pending)
	}
	if _, err := Run(t.Context(), s.Options); err == nil || !strings.Contains(err.Error(), "used the store since") {
		t.Errorf("again, with more in the source: %v", err)
	}
}

// compareJournals asks both journals the same.
func (s *source) compareJournals(t *testing.T, j *postgres.Journal) {
	t.Helper()
	old, err := pebble.Open(s.Journal, pebble.Options{})
	must(t, err)
	if j.Timeline() != s.timeline {
		t.Errorf("timeline %s, want %s", j.Timeline(), s.timeline)
	}
	seen := map[im.ConversationID]bool{}
	for i := range s.sent {
		c := s.sent[i].Entry.Conversation
		if seen[c] {
			continue
		}
		seen[c] = true
		theirs, err := old.Read(t.Context(), c, 0, false, 1000)
		must(t, err)
		ours, err := j.Read(t.Context(), c, 0, false, 1000)
		must(t, err)
		if len(ours) != len(theirs) {
			t.Fatalf("%s has %d entries, want %d", c, len(ours), len(theirs))
		}
		for k := range ours {
			if x := &theirs[k]; x.Event != nil && x.Event.Until.Year() > 9999 {
				x.Event.Until = time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)
			}
			ours[k].Stored = ours[k].Stored.UTC()
			if !reflect.DeepEqual(ours[k], theirs[k]) {
				t.Errorf("%s#%d is %+v, want %+v", c, k+1, ours[k], theirs[k])
			}
		}
		heads := make([]im.Head, 2)
		must(t, old.Heads(t.Context(), []im.ConversationID{c}, heads[:1]))
		must(t, j.Heads(t.Context(), []im.ConversationID{c}, heads[1:]))
		if heads[1].Time = heads[1].Time.UTC(); heads[0] != heads[1] {
			t.Errorf("the head of %s is %+v, want %+v", c, heads[1], heads[0])
		}
	}
	for i := range 250 {
		u := im.UserID(fmt.Sprintf("u%d", i))
		theirs, err := old.UserMarks(t.Context(), u)
		must(t, err)
		ours, err := j.UserMarks(t.Context(), u)
		must(t, err)
		if !reflect.DeepEqual(ours, theirs) {
			t.Errorf("the marks of %s are %+v, want %+v", u, ours, theirs)
		}
	}
	must(t, old.Close())
}

// goesOn sends to the copy: old ids are duplicates, and what is new comes behind
// all positions that clients have.
func (s *source) goesOn(t *testing.T, j *postgres.Journal) {
	t.Helper()
	at, err := j.Position(t.Context())
	if pos := at.At(0); err != nil || pos < s.position || s.position < 1e12 {
		t.Errorf("position %d, clients have up to %d: %v", pos, s.position, err)
	}
	held, err := j.Holds(t.Context(), im.PositionAt(s.place))
	beyond, err2 := j.Holds(t.Context(), im.PositionAt(im.Place{Era: s.place.Era, Pos: s.position + 1000}))
	if err != nil || err2 != nil || !held || beyond {
		t.Errorf("what clients have is of this history: %v, what they cannot have: %v, %v, %v", held, beyond, err, err2)
	}
	for from := 0; from < len(s.sent); from += 250 {
		batch := s.sent[from:min(from+250, len(s.sent))]
		out := make([]im.Appended, len(batch))
		must(t, j.Append(t.Context(), batch, out))
		for i := range out {
			want := s.stored[from+i]
			want.Status = im.Duplicate
			if out[i].Time = out[i].Time.UTC(); out[i] != want {
				t.Fatalf("sent again: %+v, want %+v", out[i], want)
			}
		}
	}
	other := s.sent[10]
	other.Hash++
	fresh := im.Append{Hash: 1, Entry: im.Entry{Conversation: "grp:g1", Sender: "ann", Kind: im.EntryMessage, ID: im.NewMessageID(time.Now(), [10]byte{1})}}
	stale, next := fresh, fresh
	stale.Entry.ID[15]++
	next.IfRoster = 3
	out := make([]im.Appended, 3)
	must(t, j.Append(t.Context(), []im.Append{other, stale, next}, out))
	if out[0].Status != im.IDConflict || out[1].Status != im.RosterChanged || out[2].Status != im.RosterChanged {
		t.Errorf("another content, an old roster: %+v", out)
	}
	must(t, j.Append(t.Context(), []im.Append{next}, out[:1]))
	if out[0].Status != im.Stored || out[0].Seq != 6 || out[0].Pos <= s.position+1 || out[0].Roster != 3 {
		t.Errorf("a new entry: %+v", out[0])
	}
	changed, more, err := j.Changed(t.Context(), s.position, 10)
	if err != nil || more || len(changed) != 1 || changed[0].Conversation != "grp:g1" {
		t.Errorf("changed since the old position: %v, %v", changed, err)
	}
}

// Wherever a run is interrupted, the next one goes on, and nobody serves what
// is there meanwhile.
func TestInterrupted(t *testing.T) {
	s := newSource(t, 1000)
	s.To = pgtest.Database(t)
	var before uint64
	for stop := 1; ; stop++ {
		ctx, cancel := context.WithCancel(t.Context())
		pages := 0
		s.Progress = func(p Progress) {
			if pages++; pages == 1+3*stop {
				cancel()
			}
		}
		sum, err := Run(ctx, s.Options)
		cancel()
		if stop > 1 && (!sum.Resumed || sum.EntriesBefore < before) {
			t.Fatalf("run %d: %+v", stop, sum)
		}
		before = sum.EntriesBefore
		if err == nil {
			if stop < 4 || before != 1005 {
				t.Errorf("run %d found %d entries, it was to be interrupted more often", stop, before)
			}
			break
		}
		if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		refuses(t, s.To, "--to")
	}
	j, _ := opened(t, s.To)
	s.compareJournals(t, j)
}

// A server used the source between two runs: what was copied is not used.
func TestUsedInBetween(t *testing.T) {
	s := newSource(t, 500)
	s.To = pgtest.Database(t)
	ctx, cancel := context.WithCancel(t.Context())
	s.Progress = func(p Progress) {
		if p.What == "entries" && p.Done >= 300 {
			cancel()
		}
	}
	if _, err := Run(ctx, s.Options); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	s.Progress = nil
	s.exec(t, "UPDATE users SET display_name = 'Annabel' WHERE id = 'ann'; DELETE FROM claims")
	s.fill(t, 100)
	sum, err := Run(t.Context(), s.Options)
	if err != nil || !sum.Anew || sum.Resumed || sum.Entries != 605 {
		t.Fatalf("%+v: %v", sum, err)
	}
	j, _ := opened(t, s.To)
	s.compareJournals(t, j)
}

// What is not the source's copy is refused, and stays as it was.
func TestRefused(t *testing.T) {
	s := newSource(t, 10)
	used := pgtest.Database(t)
	d, err := dirpostgres.Open(t.Context(), used, dirpostgres.Options{})
	must(t, err)
	must(t, d.Close())
	pgtest.Exec(t, used, "INSERT INTO claims VALUES ('admin', '\\x01', 1)")
	s.To = used
	if _, err := Run(t.Context(), s.Options); err == nil || !strings.Contains(err.Error(), "there are claims in it") {
		t.Errorf("a database in use: %v", err)
	}
	tables, err := pgtest.Collect[struct{ N int64 }](t.Context(), used, "SELECT count(*) FROM pg_class WHERE relname IN ('skein_migration', 'journal_meta')")
	if err != nil || tables[0].N != 0 {
		t.Errorf("the database was changed: %v, %v", tables, err)
	}
	pgtest.Exec(t, used, "DELETE FROM claims")
	before, err := postgres.Open(t.Context(), used, postgres.Options{}) // there is a journal, but nothing in it
	must(t, err)
	must(t, before.Ping(t.Context()))
	if _, err := Run(t.Context(), s.Options); err == nil || !strings.Contains(err.Error(), "stop it") {
		t.Errorf("a server is connected: %v", err)
	}
	must(t, before.Close())
	if _, err := Run(t.Context(), s.Options); err != nil {
		t.Errorf("empty tables: %v", err)
	}
	other := newSource(t, 10)
	other.To = used
	if _, err := Run(t.Context(), other.Options); err == nil || !strings.Contains(err.Error(), "another store") {
		t.Errorf("another store's: %v", err)
	}
	if j, _ := opened(t, used); j.Timeline() != s.timeline {
		t.Errorf("timeline %s, want %s", j.Timeline(), s.timeline)
	}
	s.To = "postgres://nobody:verysecret@127.0.0.1:1/x"
	if _, err := Run(t.Context(), s.Options); err == nil || strings.Contains(err.Error(), "verysecret") {
		t.Errorf("no database: %v", err)
	}
}

// A copy with any difference is never served.
func TestDifferent(t *testing.T) {
	for table, spoil := range map[string]string{
		"entries":     "UPDATE journal_entries SET hash = hash + 1 WHERE seq = 2 AND sender = 'u5'",
		"marks":       "UPDATE journal_marks SET read_count = 9 WHERE \"user\" = 'u7'",
		"do not hang": "UPDATE journal_heads SET roster = 9 WHERE conversation = 'grp:g1'",
		"sessions":    "UPDATE sessions SET ended_at = 1 WHERE id = 's1'",
		"contacts":    "DELETE FROM contacts WHERE user_id = 'ann'",
		"users":       "UPDATE users SET username = '' WHERE username IS NULL",
	} {
		t.Run(table, func(t *testing.T) {
			s := newSource(t, 300)
			s.To = pgtest.Database(t)
			done := false
			s.Progress = func(p Progress) {
				if p.What == "marks" && p.Done == 250 && !done {
					done = true
					pgtest.Exec(t, s.To, spoil)
				}
			}
			_, err := Run(t.Context(), s.Options)
			var different *DifferentError
			if !errors.As(err, &different) || !strings.Contains(err.Error(), table) {
				t.Errorf("it ended with %v", err)
			}
			refuses(t, s.To, "drop it")
			if _, err := Run(t.Context(), s.Options); err == nil || !strings.Contains(err.Error(), "drop it") {
				t.Errorf("again: %v", err)
			}
		})
	}
}

// The source stays as it was, byte by byte, also one whose server was killed.
func TestSourceUnchanged(t *testing.T) {
	s := newSource(t, 300)
	// Rows that are in the log of SQLite only, as after a crash.
	db, err := sql.Open("sqlite", "file:"+s.Directory+"?vfs=skein-sums&_pragma=wal_autocheckpoint(0)")
	must(t, err)
	_, err = db.Exec("INSERT INTO users VALUES ('late', NULL, 'L', '', FALSE, 2, 2000, 0, 0, NULL, '', 0, FALSE, 0, 0, FALSE, 0, 0, 0, 0, '')")
	must(t, err)
	crashed := t.TempDir()
	for _, name := range []string{"directory.db", "directory.db-wal"} {
		raw, err := os.ReadFile(filepath.Join(filepath.Dir(s.Directory), name))
		must(t, err)
		must(t, os.WriteFile(filepath.Join(crashed, name), raw, 0o600))
	}
	must(t, db.Close())
	s.Directory = filepath.Join(crashed, "directory.db")
	before := content(t, crashed, s.Journal)
	s.To = pgtest.Database(t)
	sum, err := Run(t.Context(), s.Options)
	if err != nil || sum.Rows["users"] != 3 {
		t.Fatalf("%+v: %v", sum, err)
	}
	if after := content(t, crashed, s.Journal); !reflect.DeepEqual(before, after) {
		for name := range after {
			if before[name] != after[name] {
				t.Errorf("%s was changed", name)
			}
		}
	}
}

func content(t *testing.T, dirs ...string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, dir := range dirs {
		must(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() || strings.HasSuffix(path, "-shm") { // an index in memory
				return err
			}
			raw, err := os.ReadFile(path)
			all[path] = string(raw)
			return err
		}))
	}
	return all
}
