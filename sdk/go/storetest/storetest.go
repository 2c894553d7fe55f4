// Package storetest checks that a skein.Store does what the client relies on.
// Every store passes it; run it against your own.
package storetest

import (
	"context"
	"fmt"
	"math"
	"reflect"
	"sort"
	"testing"

	"google.golang.org/protobuf/proto"

	skein "github.com/skein-im/skein/sdk/go"
	"github.com/skein-im/skein/wire"
)

// Open makes an empty store; the returned function closes it and opens what it
// kept again. A store that keeps nothing returns the same one.
type Open func(t *testing.T) (s skein.Store, reopen func() skein.Store)

// Run runs the suite.
func Run(t *testing.T, open Open) {
	for name, f := range map[string]func(*testing.T, Open){
		"Empty": testEmpty, "Records": testRecords, "Entries": testEntries, "Feed": testFeed,
		"Changed": testChanged, "Forget": testForget, "Reset": testReset, "Outbox": testOutbox, "Threads": testThreads,
		"BigNumbers": testBigNumbers, "ReadsDuringWrites": testConcurrent,
	} {
		t.Run(name, func(t *testing.T) { f(t, open) })
	}
}

const dm = "dm:alice:bob"

func text(conversation string, seq uint64, s string) *wire.Entry {
	return &wire.Entry{
		Conversation: conversation, Seq: seq, Id: fmt.Appendf(nil, "%016d", seq), Sender: "bob",
		Kind: wire.EntryKind_ENTRY_KIND_MESSAGE, Count: seq,
		Content: &wire.Content{Type: "text", Body: &wire.Content_Text{Text: s}},
	}
}

func apply(t *testing.T, s skein.Store, b *skein.Batch) {
	t.Helper()
	if err := s.Apply(context.Background(), b); err != nil {
		t.Fatalf("Apply: %v", err)
	}
}

func load(t *testing.T, s skein.Store) *skein.Snapshot {
	t.Helper()
	snap, err := s.Load(context.Background())
	if err != nil {
		t.Fatalf("Load: %v", err)
	}
	sort.Slice(snap.Conversations, func(i, j int) bool { return snap.Conversations[i].ID < snap.Conversations[j].ID })
	return snap
}

func entries(t *testing.T, s skein.Store, from, to uint64, limit int) []*wire.Entry {
	t.Helper()
	es, err := s.Entries(context.Background(), dm, from, to, limit)
	if err != nil {
		t.Fatalf("Entries: %v", err)
	}
	return es
}

func feed(t *testing.T, s skein.Store, after uint64, limit int) []skein.FeedItem {
	t.Helper()
	items, err := s.Feed(context.Background(), after, limit)
	if err != nil {
		t.Fatalf("Feed: %v", err)
	}
	return items
}

func seqs(es []*wire.Entry) string {
	out := []uint64{}
	for _, e := range es {
		out = append(out, e.Seq)
	}
	return fmt.Sprint(out)
}

func want(t *testing.T, what string, got, want any) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s = %v, want %v", what, got, want)
	}
}

func testEmpty(t *testing.T, open Open) {
	s, reopen := open(t)
	for range 2 {
		snap := load(t, s)
		want(t, "meta", snap.Meta, skein.Meta{})
		want(t, "conversations", len(snap.Conversations), 0)
		want(t, "outbox", len(snap.Outbox), 0)
		want(t, "last feed", snap.LastFeed, 0)
		want(t, "entries", len(entries(t, s, 1, math.MaxUint64, 10)), 0)
		want(t, "feed", len(feed(t, s, 0, 10)), 0)
		apply(t, s, &skein.Batch{})
		s = reopen()
	}
}

func testRecords(t *testing.T, open Open) {
	s, reopen := open(t)
	last := text(dm, 9, "hi")
	c := skein.ConversationRecord{
		ID: dm, Title: "t", First: 1, Until: 2, Low: 3, High: 4, Head: 5, HeadCount: 6, LastAtMs: 7, Read: 8,
		ReadCount: 9, Received: 10, MarkedAtMs: 11, PeerReceived: 12, PeerRead: 13, Last: last,
		Newest:   &wire.Newest{Conversation: dm, Seq: 10, Id: []byte("0123456789abcdef"), StoredAtMs: 21, Pos: 1<<53 + 5},
		Mine:     &wire.MyState{Conversation: dm, Revision: 3, Pinned: true, Draft: "d\x00ö", ClearedBelow: 1<<53 + 7},
		Recalled: []uint64{18, 19, 1<<53 + 3}, RecalledMore: 20, Mentions: []uint64{21, 1<<53 + 5}, MentionsMore: 22,
		Lifetimes: []skein.Lifetime{{After: 23, Until: 1<<53 + 9, Seconds: 31_536_000, Gone: 1<<53 + 8}, {After: 1 << 54, Seconds: 60}},
		Earlier:   []skein.Window{{First: 14, Until: 15, Hidden: 16}, {First: 17, Until: 1<<53 + 1, Hidden: 0}},
	}
	m := skein.Meta{User: "u", Timeline: "t", Device: "d", Position: "p", Listing: true, ListNext: "n", SettledAtMs: 5}
	apply(t, s, &skein.Batch{Meta: &m, Conversations: []*skein.ConversationRecord{{ID: dm, Title: "old"}, {ID: "grp:g"}}})
	apply(t, s, &skein.Batch{Conversations: []*skein.ConversationRecord{&c}})
	s = reopen()
	snap := load(t, s)
	want(t, "meta", snap.Meta, m)
	if len(snap.Conversations) != 2 {
		t.Fatalf("%d conversations, want 2", len(snap.Conversations))
	}
	got := snap.Conversations[0]
	if !proto.Equal(got.Last, last) {
		t.Errorf("last = %v, want %v", got.Last, last)
	}
	if !proto.Equal(got.Newest, c.Newest) {
		t.Errorf("newest = %v, want %v", got.Newest, c.Newest)
	}
	if !proto.Equal(got.Mine, c.Mine) {
		t.Errorf("mine = %v, want %v", got.Mine, c.Mine)
	}
	got.Last, c.Last, got.Newest, c.Newest, got.Mine, c.Mine = nil, nil, nil, nil, nil, nil
	if !reflect.DeepEqual(got, c) {
		t.Errorf("conversation = %+v, want %+v", got, c)
	}
	if len(snap.Conversations[1].Earlier) != 0 {
		t.Errorf("no windows became %v", snap.Conversations[1].Earlier)
	}
	if len(snap.Conversations[1].Recalled) != 0 {
		t.Errorf("nothing recalled became %v", snap.Conversations[1].Recalled)
	}
	if len(snap.Conversations[1].Lifetimes) != 0 {
		t.Errorf("no periods became %v", snap.Conversations[1].Lifetimes)
	}
	if snap.Conversations[1].Last != nil {
		t.Errorf("an absent last entry became %v", snap.Conversations[1].Last)
	}
	if snap.Conversations[1].Newest != nil {
		t.Errorf("an absent newest entry became %v", snap.Conversations[1].Newest)
	}
	if snap.Conversations[1].Mine != nil {
		t.Errorf("what was never set became %v", snap.Conversations[1].Mine)
	}
}

func testEntries(t *testing.T, open Open) {
	s, reopen := open(t)
	b := &skein.Batch{Entries: []*wire.Entry{text("dm:alice:carol", 2, "other")}}
	for seq := uint64(1); seq <= 10; seq++ {
		b.Entries = append(b.Entries, text(dm, seq, "x"))
	}
	apply(t, s, b)
	apply(t, s, &skein.Batch{Entries: []*wire.Entry{text(dm, 5, "replaced")}})
	s = reopen()
	want(t, "all", seqs(entries(t, s, 1, math.MaxUint64, 100)), "[1 2 3 4 5 6 7 8 9 10]")
	want(t, "bounds", seqs(entries(t, s, 3, 6, 100)), "[3 4 5 6]")
	want(t, "newest of many", seqs(entries(t, s, 1, 8, 3)), "[6 7 8]")
	want(t, "nothing", seqs(entries(t, s, 11, 20, 3)), "[]")
	want(t, "upside down", seqs(entries(t, s, 6, 3, 3)), "[]")
	if e := entries(t, s, 5, 5, 1)[0]; !proto.Equal(e, text(dm, 5, "replaced")) {
		t.Errorf("entry 5 = %v", e)
	}
}

func testFeed(t *testing.T, open Open) {
	s, reopen := open(t)
	gap := skein.FeedItem{N: 1, Kind: skein.FeedGap, Conversation: dm, From: 3, Seq: 7}
	msg := skein.FeedItem{N: 2, Kind: skein.FeedEntry, Conversation: dm, Seq: 8, Entry: text(dm, 8, "hi")}
	failed := skein.FeedItem{N: 3, Kind: skein.FeedFailed, Conversation: dm, Failed: &skein.OutboxRecord{
		N: 4, State: skein.OutboxFailed, Send: &wire.Send{Conversation: dm, Id: make([]byte, 16)}, MadeAtMs: 6, Code: "muted", Reason: "r",
	}}
	apply(t, s, &skein.Batch{Feed: []skein.FeedItem{gap, msg}})
	apply(t, s, &skein.Batch{Feed: []skein.FeedItem{failed}})
	s = reopen()
	items := feed(t, s, 0, 2)
	if len(items) != 2 || items[0] != gap || !proto.Equal(items[1].Entry, msg.Entry) {
		t.Fatalf("feed = %+v", items)
	}
	items = feed(t, s, 2, 10)
	if len(items) != 1 || items[0].Failed == nil || items[0].Failed.Code != "muted" || items[0].Failed.MadeAtMs != 6 ||
		!proto.Equal(items[0].Failed.Send, failed.Failed.Send) || items[0].Failed.State != skein.OutboxFailed {
		t.Fatalf("failed = %+v", items)
	}
	apply(t, s, &skein.Batch{FeedHandled: 2})
	want(t, "after handling", len(feed(t, s, 0, 10)), 1)
	apply(t, s, &skein.Batch{FeedHandled: 3})
	s = reopen()
	want(t, "all handled", len(feed(t, s, 0, 10)), 0)
	want(t, "numbers are not used twice", load(t, s).LastFeed, 3)
}

func testChanged(t *testing.T, open Open) {
	s, reopen := open(t)
	e := text(dm, 1, "as it was")
	apply(t, s, &skein.Batch{
		Entries: []*wire.Entry{e}, Feed: []skein.FeedItem{{N: 1, Kind: skein.FeedEntry, Conversation: dm, Seq: 1, Entry: e}},
	})
	state := func(seq uint64, content string, amended uint64) *wire.Entry {
		e := text(dm, seq, content)
		e.Amended = amended
		if content == "" {
			e.Content, e.Recalled = nil, true
		}
		return e
	}
	// An entry and its change may come in one batch, and several changes of one. What
	// is not stored is not added; what left the window may wait in the feed still.
	f, gone := text(dm, 2, "secret"), text(dm, 3, "secret, too")
	apply(t, s, &skein.Batch{
		Entries: []*wire.Entry{f},
		Feed: []skein.FeedItem{
			{N: 2, Kind: skein.FeedAck, Conversation: dm, Seq: 2, Entry: f},
			{N: 3, Kind: skein.FeedEntry, Conversation: dm, Seq: 3, Entry: gone},
			{N: 4, Kind: skein.FeedChanged, Conversation: dm, Seq: 1, Entry: state(1, "changed", 8)},
			{N: 5, Kind: skein.FeedRecalled, Conversation: dm, Seq: 2},
		},
		Changed: []*wire.Entry{
			state(1, "changed", 8), state(2, "", 9), state(3, "", 10), state(99, "unknown", 11), state(1, "changed again", 12),
		},
	})
	s = reopen()
	want(t, "entries", seqs(entries(t, s, 1, 100, 9)), "[1 2]")
	now := map[uint64]*wire.Entry{1: state(1, "changed again", 12), 2: state(2, "", 9), 3: state(3, "", 10)}
	for _, got := range entries(t, s, 1, 2, 9) {
		if !proto.Equal(got, now[got.Seq]) {
			t.Errorf("entry = %v, want %v", got, now[got.Seq])
		}
	}
	items := feed(t, s, 0, 9)
	want(t, "events", len(items), 5)
	for _, it := range items {
		if it.Kind == skein.FeedRecalled {
			if it.Entry != nil || it.Seq != 2 {
				t.Errorf("event = %+v", it)
			}
		} else if !proto.Equal(it.Entry, now[it.Seq]) {
			t.Errorf("event = %v, want %v", it.Entry, now[it.Seq])
		}
	}
	apply(t, s, &skein.Batch{Changed: []*wire.Entry{state(1, "", 13)}})
	if got := entries(t, s, 1, 1, 1)[0]; !proto.Equal(got, state(1, "", 13)) {
		t.Errorf("entry = %v", got)
	}
	if e.Amended != 0 || e.Content == nil || f.Recalled {
		t.Error("the store changed an entry that was passed in")
	}
}

func testForget(t *testing.T, open Open) {
	s, reopen := open(t)
	apply(t, s, &skein.Batch{Entries: []*wire.Entry{text(dm, 1, "a"), text(dm, 2, "b"), text("dm:alice:carol", 1, "c")}})
	// Forget comes before what the same batch adds.
	apply(t, s, &skein.Batch{
		Forget:  []skein.EntryRef{{Conversation: dm, Seq: 9}},
		Entries: []*wire.Entry{text(dm, 8, "kept"), text(dm, 9, "kept")},
	})
	s = reopen()
	want(t, "left", seqs(entries(t, s, 1, 99, 9)), "[8 9]")
	other, _ := s.Entries(context.Background(), "dm:alice:carol", 1, 9, 9)
	want(t, "others", seqs(other), "[1]")
}

func testReset(t *testing.T, open Open) {
	s, reopen := open(t)
	apply(t, s, &skein.Batch{
		Meta:          &skein.Meta{User: "u", Position: "p"},
		Entries:       []*wire.Entry{text(dm, 1, "a")},
		Conversations: []*skein.ConversationRecord{{ID: dm, High: 1}},
		OutboxPut:     []*skein.OutboxRecord{{N: 1, State: skein.OutboxPending, Send: &wire.Send{Conversation: dm}}},
		Feed:          []skein.FeedItem{{N: 1, Kind: skein.FeedEntry, Conversation: dm, Seq: 1, Entry: text(dm, 1, "a")}},
	})
	apply(t, s, &skein.Batch{
		Reset:   true,
		Entries: []*wire.Entry{text(dm, 7, "new")}, Conversations: []*skein.ConversationRecord{{ID: "grp:g"}},
	})
	s = reopen()
	snap := load(t, s)
	want(t, "entries", seqs(entries(t, s, 1, 99, 9)), "[7]")
	if len(snap.Conversations) != 1 || snap.Conversations[0].ID != "grp:g" {
		t.Errorf("conversations = %+v", snap.Conversations)
	}
	want(t, "user", snap.Meta.User, "u")
	want(t, "outbox", len(snap.Outbox), 1)
	items := feed(t, s, 0, 9)
	if len(items) != 1 || items[0].Entry.GetContent().GetText() != "a" {
		t.Errorf("an event not handled yet lost its content: %+v", items)
	}
}

func testThreads(t *testing.T, open Open) {
	s, reopen := open(t)
	root := text(dm, 1<<53+1, "root")
	root.Replies = &wire.Replies{Count: 3, LastAtMs: 9}
	thread := func(conversation string, root *wire.Entry, used uint64, replies ...*wire.Entry) *skein.ThreadRecord {
		return &skein.ThreadRecord{
			Conversation: conversation, Root: root.Seq, Replies: replies, Before: 1<<53 + 2, Stale: used%2 == 1, Used: used,
			Thread: &wire.Thread{Root: root, Last: 1<<53 + 4, Follows: true, Unread: 2, Read: 1<<53 + 3},
		}
	}
	check := func(what string, wanted ...*skein.ThreadRecord) {
		t.Helper()
		s = reopen()
		got := load(t, s).Threads
		sort.Slice(got, func(i, j int) bool { return got[i].Used < got[j].Used })
		if len(got) != len(wanted) {
			t.Fatalf("%s: %d threads, want %d", what, len(got), len(wanted))
		}
		for i, w := range wanted {
			g := &got[i]
			told := func(r *skein.ThreadRecord) *wire.ListThreadResponse {
				return &wire.ListThreadResponse{Thread: r.Thread, Entries: r.Replies, Next: r.Before}
			}
			if g.Conversation != w.Conversation || g.Root != w.Root || g.Stale != w.Stale || g.Used != w.Used || !proto.Equal(told(g), told(w)) {
				t.Errorf("%s: %+v, want %+v", what, g, w)
			}
		}
	}
	check("none")
	reply := text(dm, 1<<53+3, "reply")
	a, b, c := thread(dm, root, 1, reply, text(dm, 1<<53+4, "another")), thread(dm, text(dm, 5, "r"), 2), thread("grp:g", text("grp:g", 5, "r"), 3, reply)
	apply(t, s, &skein.Batch{Threads: []*skein.ThreadRecord{a, b, c}, Entries: []*wire.Entry{root}})
	check("kept", a, b, c)
	// A thread is replaced as a whole, and what is done to the window does not touch it.
	more := thread(dm, text(dm, 5, "r"), 4, text(dm, 8, "x"))
	apply(t, s, &skein.Batch{
		ForgetThreads: []skein.EntryRef{{Conversation: "grp:g", Seq: 5}, {Conversation: dm, Seq: 99}}, Threads: []*skein.ThreadRecord{more},
		Forget: []skein.EntryRef{{Conversation: dm, Seq: 1 << 60}}, Changed: []*wire.Entry{text(dm, 8, "y")},
	})
	check("changed", a, more)
	want(t, "entries", len(entries(t, s, 1, math.MaxInt64, 9)), 0)
	apply(t, s, &skein.Batch{Reset: true, Threads: []*skein.ThreadRecord{c}})
	check("reset", c)
}

func testOutbox(t *testing.T, open Open) {
	s, reopen := open(t)
	rec := func(n uint64, state skein.OutboxState) *skein.OutboxRecord {
		return &skein.OutboxRecord{
			N: n, State: state, MadeAtMs: 5,
			Send: &wire.Send{Conversation: dm, Id: fmt.Appendf(nil, "%016d", n), Content: text(dm, n, "m").Content, Mentions: []string{"x"}},
		}
	}
	apply(t, s, &skein.Batch{OutboxPut: []*skein.OutboxRecord{
		rec(3, skein.OutboxPending), rec(1, skein.OutboxPending), rec(2, skein.OutboxPending),
	}})
	done := rec(2, skein.OutboxStored)
	done.Seq = 12
	refused := rec(4, skein.OutboxFailed)
	refused.Code, refused.Reason = "muted", "until noon"
	// Deletes come before puts: a record may be replaced in one batch.
	apply(t, s, &skein.Batch{OutboxDelete: []uint64{1, 3}, OutboxPut: []*skein.OutboxRecord{done, refused, rec(3, skein.OutboxPending)}})
	s = reopen()
	got := load(t, s).Outbox
	if len(got) != 3 || got[0].N != 2 || got[1].N != 3 || got[2].N != 4 {
		t.Fatalf("outbox = %+v", got)
	}
	if got[0].State != skein.OutboxStored || got[0].Seq != 12 || got[2].Code != "muted" || got[2].Reason != "until noon" || got[1].MadeAtMs != 5 {
		t.Errorf("outbox = %+v", got)
	}
	if !proto.Equal(got[0].Send, done.Send) {
		t.Errorf("send = %v, want %v", got[0].Send, done.Send)
	}
}

func testBigNumbers(t *testing.T, open Open) {
	s, reopen := open(t)
	const big = 1<<53 + 1
	apply(t, s, &skein.Batch{
		Entries:       []*wire.Entry{text(dm, big, "x")},
		Conversations: []*skein.ConversationRecord{{ID: dm, Low: big, High: big, Head: big + 1}},
	})
	s = reopen()
	c := load(t, s).Conversations[0]
	want(t, "window", fmt.Sprint(c.Low, c.High, c.Head), fmt.Sprint(uint64(big), uint64(big), uint64(big+1)))
	want(t, "entry", seqs(entries(t, s, big, big, 1)), fmt.Sprintf("[%d]", uint64(big)))
}

// A batch is seen whole or not at all by a read that goes on at the same time.
func testConcurrent(t *testing.T, open Open) {
	s, _ := open(t)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for seq := uint64(1); seq < 100; seq += 2 {
			b := &skein.Batch{Entries: []*wire.Entry{text(dm, seq, "a"), text(dm, seq+1, "b")}}
			if err := s.Apply(context.Background(), b); err != nil {
				t.Errorf("Apply: %v", err)
				return
			}
		}
	}()
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		es, err := s.Entries(context.Background(), dm, 1, 1000, 1000)
		if err != nil {
			t.Fatal(err)
		}
		if len(es)%2 != 0 {
			t.Fatalf("saw half a batch: %d entries", len(es))
		}
	}
}
