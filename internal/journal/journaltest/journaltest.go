// Package journaltest is the conformance suite of im.Journal: every engine
// passes Run. It knows the contract in internal/im/journal.go and nothing of an
// engine, starts goroutines only within a test, and makes its names unique per
// test, so that a store may be shared.
package journaltest

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// Harness makes stores for the suite.
type Harness struct {
	// New returns a store without entries. Nothing is open yet.
	New func(t testing.TB) Store
	// Shards tells that the store is several: each of them is followed by itself, so
	// nobody asks all of them for what was stored after a place.
	Shards bool
}

// Store is where an engine keeps its data.
type Store struct {
	// Open opens the engine; the suite closes it before it opens it again, and at
	// the end of the test.
	Open func(t testing.TB) im.Journal
	// Crash ends the open engine as a power cut does, dropping what was not made
	// durable; the next Open finds the rest. Nil when the engine's durability is
	// somebody else's (a database server).
	Crash func(t testing.TB)
	// Save copies the store, which may be open with SavesRunning only, and PutBack,
	// when it is not open, replaces it by the copy. Nil: the engine has RunHistory
	// elsewhere.
	Save, PutBack func(t testing.TB)
	SavesRunning  bool
}

type test struct {
	name string
	run  func(t *testing.T, f *fixture)
}

// Run runs the suite.
func Run(t *testing.T, h Harness) {
	if !h.Shards { // who imports has one store
		run(t, h, []test{{"Dated", testDated}})
	}
	run(t, h, append([]test{
		{"SeqIsContiguousAndCounted", testSeq},
		{"EmptyConversation", testEmpty},
		{"EmptyBatch", testEmptyBatch},
		{"DuplicateWithinBatch", testDuplicateInBatch},
		{"DuplicateAcrossBatchesAndReopen", testDuplicateForEver},
		{"DuplicateOutOfOrderIDs", testIDOrder},
		{"DuplicateAmongManySenders", testManySenders},
		{"IDConflict", testIDConflict},
		{"SameIDOfAnotherSender", testSameIDOtherSender},
		{"RosterChanged", testRosterChanged},
		{"SetRosterWithinBatch", testSetRoster},
		{"RosterSurvivesReopen", testRosterReopen},
		{"SameIDInAnotherConversation", testSameIDOtherConversation},
		{"Recall", testRecall},
		{"RecallWithinBatch", testRecallInBatch},
		{"Change", testChange},
		{"ChangeWithinBatch", testChangeInBatch},
		{"TargetChanged", testTargetChanged},
		{"AmendRefused", testAmendRefused},
		{"Pages", testPages},
		{"PagesOfManyAmendments", testPagesMany},
		{"ReadAt", testReadAt},
		{"Recalled", testRecalled},
		{"Labels", testLabels},
		{"Threads", testThreads},
		{"ThreadsRecalled", testThreadsRecalled},
		{"ThreadsInMain", testThreadsInMain},
		{"Lookup", testLookup},
		{"InvalidBatch", testInvalid},
		{"CancelledContext", testCancelled},
		{"ReadRanges", testReadRanges},
		{"ReadByteBound", testReadBytes},
		{"PrefixesDoNotMix", testPrefixes},
		{"ContentRoundTrip", testRoundTrip},
		{"Heads", testHeads},
		{"Position", testPosition},
		{"Timeline", testTimeline},
		{"Holds", testHolds},
		{"CrashHolds", testCrashHolds},
		{"MarksNeverGoBack", testMarks},
		{"MarksOfUser", testUserMarks},
		{"MarksSurviveReopen", testMarksReopen},
		{"ManyMarksSurviveReopen", testManyMarksReopen},
		{"MarksThatAreWaitedFor", testMarkWait},
		{"MarksThatAreWaitedForSurviveACrash", testMarkWaitCrash},
		{"ManyMarksThatAreWaitedFor", testManyMarkWaits},
		{"MarksMine", testMine},
		{"MarkPosition", testMarkPosition},
		{"MarkPositionElsewhere", testMarkPositionElsewhere},
		{"ManyMarks", testManyMarks},
		{"Concurrency", testConcurrency},
		{"ReadersSeePrefixes", testReaders},
		{"Model", testModel},
		{"CrashKeepsAcknowledged", testCrash},
	}, slices.Concat(trimTests(), followTests(), historyTests())...))
}

func followTests() []test {
	return []test{
		{"Follow", testFollow},
		{"FollowBounds", testFollowBounds},
		{"FollowConcurrent", testFollowConcurrent},
		{"FollowCrash", testFollowCrash},
	}
}

func run(t *testing.T, h Harness, tests []test) {
	for _, tt := range tests {
		if h.Shards && strings.HasPrefix(tt.name, "Follow") {
			continue
		}
		t.Run(tt.name, func(t *testing.T) {
			f := &fixture{TB: t, store: h.New(t), ctx: context.Background(), shards: h.Shards}
			f.open()
			t.Cleanup(func() {
				if f.j != nil {
					if err := f.j.Close(); err != nil {
						t.Errorf("Close: %v", err)
					}
				}
			})
			tt.run(t, f)
		})
	}
}

// fixture is an open journal and shorthands.
type fixture struct {
	testing.TB
	store Store
	ctx   context.Context
	j     im.Journal
	marks im.Marks // the same engine
	// shards: as in Harness.
	shards bool
}

func (f *fixture) open() {
	f.Helper()
	f.j = f.store.Open(f)
	var ok bool
	if f.marks, ok = f.j.(im.Marks); !ok {
		f.Fatal("the engine keeps no marks")
	}
}

func (f *fixture) reopen() {
	f.Helper()
	f.close()
	f.open()
}

func (f *fixture) close() {
	f.Helper()
	if err := f.j.Close(); err != nil {
		f.Fatalf("Close: %v", err)
	}
	f.j = nil
}

// id returns the n-th id: ids grow with n.
func id(n int) im.MessageID {
	var random [10]byte
	binary.BigEndian.PutUint64(random[2:], uint64(n))
	return im.NewMessageID(time.UnixMilli(1_700_000_000_000+int64(n/8)), random)
}

// text makes a plain message. What a body says is nothing to a journal.
func text(c im.ConversationID, sender im.UserID, n int, body string) im.Append {
	return im.Append{
		Entry: im.Entry{Conversation: c, ID: id(n), Sender: sender, Kind: im.EntryMessage, Body: []byte(body)},
		Hash:  hash(c, body),
	}
}

func hash(parts ...any) uint64 {
	h := fnv.New64a()
	fmt.Fprint(h, parts...)
	return h.Sum64()
}

// recall makes an item that takes an entry back.
func recall(c im.ConversationID, sender im.UserID, n int, target uint64) im.Append {
	return im.Append{
		Entry: im.Entry{Conversation: c, ID: id(n), Sender: sender, Kind: im.EntryRecall, Target: target},
		Hash:  hash(c, "recall", target), Amend: im.Amend{Recall: true},
	}
}

// change makes an item that changes an entry which was amended by the entry at
// ifAmended last.
func change(c im.ConversationID, sender im.UserID, n int, target, ifAmended uint64, body string) im.Append {
	return im.Append{
		Entry: im.Entry{Conversation: c, ID: id(n), Sender: sender, Kind: im.EntryEvent, Target: target, Body: []byte("now " + body)},
		Hash:  hash(c, "change", target, body), Amend: im.Amend{Change: true, If: ifAmended, Body: []byte(body)},
	}
}

// reply makes a reply in the thread of a root that was amended by the entry at ifAmended
// last, with the labels that it puts on itself.
func reply(c im.ConversationID, sender im.UserID, n int, root, ifAmended uint64, state string, own ...string) im.Append {
	it := change(c, sender, n, root, ifAmended, state)
	it.Entry.Kind, it.Own = im.EntryReply, own
	return it
}

// withdraw makes an item that recalls target and changes of.
func withdraw(c im.ConversationID, sender im.UserID, n int, target, of, ifAmended uint64, state string) im.Append {
	it := recall(c, sender, n, target)
	it.Amend.Change, it.Amend.Of, it.Amend.If, it.Amend.Body = true, of, ifAmended, []byte(state)
	return it
}

func (f *fixture) append(batch ...im.Append) []im.Appended {
	f.Helper()
	out := make([]im.Appended, len(batch))
	if err := f.j.Append(f.ctx, batch, out); err != nil {
		f.Fatalf("Append: %v", err)
	}
	return out
}

// stored appends and requires every item to be stored.
func (f *fixture) stored(batch ...im.Append) []im.Appended {
	f.Helper()
	out := f.append(batch...)
	for i := range out {
		if out[i].Status != im.Stored {
			f.Fatalf("item %d: status %d, want Stored", i, out[i].Status)
		}
	}
	return out
}

func (f *fixture) read(c im.ConversationID, from uint64, backward bool, limit int) []im.Entry {
	f.Helper()
	entries, err := f.j.Read(f.ctx, c, from, backward, limit)
	if err != nil {
		f.Fatalf("Read(%s, %d, %v, %d): %v", c, from, backward, limit, err)
	}
	return entries
}

// all reads a whole conversation, page by page.
func (f *fixture) all(c im.ConversationID) []im.Entry {
	f.Helper()
	var all []im.Entry
	for {
		page := f.read(c, uint64(len(all))+1, false, 100)
		if len(page) == 0 {
			return all
		}
		all = append(all, page...)
	}
}

func (f *fixture) head(c im.ConversationID) im.Head {
	f.Helper()
	out := make([]im.Head, 1)
	if err := f.j.Heads(f.ctx, []im.ConversationID{c}, out); err != nil {
		f.Fatalf("Heads: %v", err)
	}
	return out[0]
}

// shard is where a conversation's entries are, userShard where a user's marks are.
func (f *fixture) shard(c im.ConversationID) im.Shard {
	if s, ok := f.j.(im.Shards); ok {
		return s.Shard(c)
	}
	return 0
}

func (f *fixture) userShard(u im.UserID) im.Shard {
	if s, ok := f.j.(im.Shards); ok {
		return s.UserShard(u)
	}
	return 0
}

// position is how far the journal is in a shard.
func (f *fixture) position(s im.Shard) uint64 {
	f.Helper()
	p, err := f.j.Position(f.ctx)
	if err != nil {
		f.Fatalf("Position: %v", err)
	}
	if _, named := p.Place(s); !named {
		f.Fatalf("position %q does not name shard %d", p, s)
	}
	return p.At(s)
}

// reaches waits until the position in a shard is pos or more, and returns it: a store
// that several processes append to tells less while something older is under way,
// whoever's.
func (f *fixture) reaches(s im.Shard, pos uint64) uint64 {
	f.Helper()
	for deadline := time.Now().Add(time.Minute); ; {
		if p := f.position(s); p >= pos {
			return p
		} else if time.Now().After(deadline) {
			f.Fatalf("the position stays at %d, an entry or mark is at %d", p, pos)
		}
	}
}

func (f *fixture) seqs(c im.ConversationID, from uint64, backward bool, limit int) []uint64 {
	f.Helper()
	var seqs []uint64
	for _, e := range f.read(c, from, backward, limit) {
		seqs = append(seqs, e.Seq)
	}
	return seqs
}

// checkConversation requires seqs without a gap, counts that fit the kinds, ids
// that appear once per sender, positions that do not fall, and a head that is
// the last entry.
func (f *fixture) checkConversation(c im.ConversationID) []im.Entry {
	f.Helper()
	entries := f.all(c)
	type origin struct {
		sender im.UserID
		id     im.MessageID
	}
	seen := make(map[origin]uint64)
	var count, pos uint64
	for i := range entries {
		e := &entries[i]
		if e.Countable() {
			count++
		}
		if e.Seq != uint64(i)+1 || e.Count != count || e.Pos < pos || e.Conversation != c {
			f.Fatalf("%s: entry %d is %s seq %d count %d pos %d; want seq %d count %d pos >= %d",
				c, i, e.Conversation, e.Seq, e.Count, e.Pos, i+1, count, pos)
		}
		pos = e.Pos
		if first, ok := seen[origin{e.Sender, e.ID}]; ok {
			f.Fatalf("%s: (%s, %s) is at seq %d and %d", c, e.Sender, e.ID, first, e.Seq)
		}
		seen[origin{e.Sender, e.ID}] = e.Seq
	}
	var want im.Head
	if len(entries) > 0 {
		l := entries[len(entries)-1]
		want = im.Head{Seq: l.Seq, Count: l.Count, Time: l.Stored, Roster: l.Roster, Pos: l.Pos}
	}
	if h := f.head(c); !sameHead(h, want) {
		f.Fatalf("%s: head %+v, want that of the last entry, %+v", c, h, want)
	}
	if err := f.checkRecalled(c, entries); err != nil {
		f.Fatal(err)
	}
	if err := f.checkPages(c, entries); err != nil {
		f.Fatal(err)
	}
	return entries
}

func sameHead(a, b im.Head) bool {
	sameTime := a.Time.Equal(b.Time)
	a.Time, b.Time = time.Time{}, time.Time{}
	return sameTime && a == b
}

// differ describes the first difference between two entries, "" for none.
func differ(got, want *im.Entry) string {
	check := func(name string, equal bool, g, w any) string {
		if equal {
			return ""
		}
		return fmt.Sprintf("%s is %v, want %v", name, g, w)
	}
	for _, d := range []string{
		check("conversation", got.Conversation == want.Conversation, got.Conversation, want.Conversation),
		check("seq", got.Seq == want.Seq, got.Seq, want.Seq),
		check("id", got.ID == want.ID, got.ID, want.ID),
		check("sender", got.Sender == want.Sender, got.Sender, want.Sender),
		check("stored", got.Stored.Equal(want.Stored), got.Stored, want.Stored),
		check("kind", got.Kind == want.Kind, got.Kind, want.Kind),
		check("body", bytes.Equal(got.Body, want.Body), got.Body, want.Body),
		check("amended", got.Amended == want.Amended, got.Amended, want.Amended),
		check("count", got.Count == want.Count, got.Count, want.Count),
		check("recalled", got.Recalled == want.Recalled, got.Recalled, want.Recalled),
		check("target", got.Target == want.Target, got.Target, want.Target),
		check("pos", got.Pos == want.Pos, got.Pos, want.Pos),
		check("roster", got.Roster == want.Roster, got.Roster, want.Roster),
		check("event", got.Event == nil, got.Event, "not the journal's"),
	} {
		if d != "" {
			return d
		}
	}
	return ""
}
