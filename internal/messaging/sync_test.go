package messaging

import (
	"fmt"
	"reflect"
	"slices"
	"sync"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"pgregory.net/rapid"

	"github.com/skein-im/skein/internal/im"
)

func (w *world) sync(u im.UserID, q im.SyncQuery) im.SyncResult {
	w.t.Helper()
	r, err := w.Sync(w.t.Context(), im.Actor{User: u}, q)
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

func conversations(r im.SyncResult) []im.ConversationID {
	var cs []im.ConversationID
	for _, c := range r.Conversations {
		cs = append(cs, c.Conversation)
	}
	slices.Sort(cs)
	return cs
}

// elsewhere stores something that does not concern alice, so that marks set
// before lie behind the position: until then a sync tells them once more.
func (w *world) elsewhere() {
	w.t.Helper()
	w.mustSend("yvonne", im.DM("yvonne", "zoe"), "elsewhere")
}

// However many conversations a sync tells of, it asks the journal for their
// marks once: a journal may be a network away.
func TestSyncAsksForMarksOnce(t *testing.T) {
	w := newWorld(t)
	const others = 20
	for i := range others {
		peer := im.UserID(fmt.Sprintf("user%02d", i))
		w.mustSend(peer, im.DM("alice", peer), "hello")
	}
	at := w.sync("alice", im.SyncQuery{})
	for i := range others {
		peer := im.UserID(fmt.Sprintf("user%02d", i))
		if err := w.Mark(t.Context(), im.Actor{User: "alice"}, im.DM("alice", peer), 1, 1); err != nil {
			t.Fatal(err)
		}
		w.mustSend(peer, im.DM("alice", peer), "again")
	}
	for _, q := range []im.SyncQuery{{}, {Position: at.Position, Timeline: at.Timeline}} {
		before := w.journal.asked
		r := w.sync("alice", q)
		if asked := w.journal.asked - before; len(r.Conversations) != others || asked != 1 {
			t.Errorf("%d conversations, %d questions for marks; want %d and 1", len(r.Conversations), asked, others)
		}
		for _, c := range r.Conversations {
			if peer, _ := c.Conversation.Peer("alice"); c.Read != 1 || c.PeerRead != 2 || c.Unread != 1 {
				t.Errorf("with %s: %+v", peer, c)
			}
		}
	}
}

// Resume: only what changed, with exactly the missed entries.
func TestResumeAnswersWhatChanged(t *testing.T) {
	w := newWorld(t)
	for i := range 50 {
		w.mustSend(im.UserID(fmt.Sprintf("user%02d", i)), im.DM("alice", im.UserID(fmt.Sprintf("user%02d", i))), "hello")
	}
	w.elsewhere()
	cold := w.sync("alice", im.SyncQuery{})
	if len(cold.Conversations) != 50 || cold.Reset || cold.Next != "" {
		t.Fatalf("%d conversations, reset %v, next %q", len(cold.Conversations), cold.Reset, cold.Next)
	}
	q := im.SyncQuery{Position: cold.Position, Timeline: cold.Timeline}
	if r := w.sync("alice", q); len(r.Conversations) != 0 {
		t.Fatalf("nothing changed, got %v", conversations(r))
	}
	for _, i := range []int{3, 7} {
		for range 2 {
			w.mustSend(im.UserID(fmt.Sprintf("user%02d", i)), im.DM("alice", im.UserID(fmt.Sprintf("user%02d", i))), "again")
		}
	}
	r := w.sync("alice", q)
	if got := conversations(r); !slices.Equal(got, []im.ConversationID{im.DM("alice", "user03"), im.DM("alice", "user07")}) {
		t.Fatalf("changed %v", got)
	}
	for _, c := range r.Conversations {
		if len(c.Told.Entries) != 2 || c.Told.Entries[0].Seq != 2 || c.Told.Entries[1].Seq != 3 || c.Unread != 3 {
			t.Fatalf("%+v", c)
		}
	}
}

// A mark of the other side, or of an own other device, is a change too; it is
// told once.
func TestResumeTellsMarks(t *testing.T) {
	w := newWorld(t)
	w.mustSend("alice", ab, "hi")
	at := w.sync("alice", im.SyncQuery{})
	if err := w.Mark(t.Context(), im.Actor{User: "bob"}, ab, 1, 1); err != nil {
		t.Fatal(err)
	}
	r := w.sync("alice", im.SyncQuery{Position: at.Position, Timeline: at.Timeline})
	if len(r.Conversations) != 1 || r.Conversations[0].PeerRead != 1 || len(r.Conversations[0].Told.Entries) != 0 {
		t.Fatalf("%+v", r.Conversations)
	}
	w.elsewhere()
	at = w.sync("alice", im.SyncQuery{})
	if r = w.sync("alice", im.SyncQuery{Position: at.Position, Timeline: at.Timeline}); len(r.Conversations) != 0 {
		t.Fatalf("told again: %v", conversations(r))
	}
	// Every later one as well, though nothing else happens meanwhile.
	for seq := uint64(2); seq < 5; seq++ {
		w.mustSend("alice", ab, "more")
		w.elsewhere() // her own mark is told by now
		at = w.sync("alice", im.SyncQuery{})
		if err := w.Mark(t.Context(), im.Actor{User: "bob"}, ab, seq, seq); err != nil {
			t.Fatal(err)
		}
		r = w.sync("alice", im.SyncQuery{Position: at.Position, Timeline: at.Timeline})
		if len(r.Conversations) != 1 || r.Conversations[0].PeerRead != seq {
			t.Fatalf("mark %d: %+v", seq, r.Conversations)
		}
	}
}

// A mark of one's own that another device moved is a change, in a dm and in a
// group; what happens in a group after one has left is none.
func TestResumeTellsOwnMarks(t *testing.T) {
	w := newWorld(t)
	g, left := im.Group("g"), im.Group("left")
	w.members.add("alice", im.Membership{Conversation: g, First: 1})
	w.members.add("alice", im.Membership{Conversation: left, First: 1, Until: 1})
	for _, c := range []im.ConversationID{ab, g, left} {
		w.mustSend("bob", c, "hi")
	}
	w.elsewhere() // beyond the marks of the senders
	at := w.sync("alice", im.SyncQuery{})
	w.mustSend("bob", left, "without alice")
	for _, c := range []im.ConversationID{ab, g} {
		if err := w.Mark(t.Context(), im.Actor{User: "alice"}, c, 1, 1); err != nil {
			t.Fatal(err)
		}
	}
	r := w.sync("alice", im.SyncQuery{Position: at.Position, Timeline: at.Timeline})
	if got := conversations(r); !slices.Equal(got, []im.ConversationID{ab, g}) {
		t.Fatalf("changed: %v", got)
	}
	for _, c := range r.Conversations {
		if c.Read != 1 || c.Unread != 0 || len(c.Told.Entries) != 0 {
			t.Errorf("%+v", c)
		}
	}
}

func TestPositionOfAnotherTimelineResets(t *testing.T) {
	w := newWorld(t)
	w.mustSend("alice", ab, "hi")
	at := w.sync("alice", im.SyncQuery{})
	for name, q := range map[string]im.SyncQuery{
		"timeline": {Position: at.Position, Timeline: "other"},
		"garbage":  {Position: "!", Timeline: at.Timeline},
		"future":   {Position: im.Place{Era: 1, Pos: 1 << 40}.String(), Timeline: at.Timeline},
	} {
		if r := w.sync("alice", q); !r.Reset || len(r.Conversations) != 1 {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// What a device knows is of another history when its position was told in an era
// that is not there, or beyond the end of one; when the newest entry it has is not
// there; when another is in its place. However far this history is by now.
func TestWhatAnotherHistoryToldResets(t *testing.T) {
	w := newWorld(t)
	w.mustSend("alice", ab, "kept")
	kept := w.sync("alice", im.SyncQuery{})
	newest := func(e *im.Entry) im.Newest {
		return im.Newest{Conversation: e.Conversation, Seq: e.Seq, ID: e.ID, StoredMs: e.Stored.UnixMilli(), Pos: e.Pos}
	}
	have := kept.Conversations[0].Told.Entries[0]
	// The copy ends here; what came after it went on in the same era, then in another.
	w.journal.mu.Lock()
	w.journal.eras = append(w.journal.eras, im.Era{ID: 7, Begin: w.journal.pos})
	w.journal.mu.Unlock()
	w.mustSend("alice", ab, "new")
	place, _ := im.ParsePlace(kept.Position)
	lost := func(change func(n *im.Newest)) im.SyncQuery {
		n := newest(&have)
		change(&n)
		return im.SyncQuery{Position: kept.Position, Timeline: "t1", Newest: n}
	}
	for name, q := range map[string]im.SyncQuery{
		"beyond the end of its era":   {Position: im.Place{Era: place.Era, Pos: place.Pos + 1}.String(), Timeline: "t1"},
		"an era that is not there":    {Position: im.Place{Era: 8, Pos: 1}.String(), Timeline: "t1"},
		"the newest is beyond":        lost(func(n *im.Newest) { n.Seq = 9 }),
		"another is in its place":     lost(func(n *im.Newest) { n.ID[15]++ }),
		"it was stored again":         lost(func(n *im.Newest) { n.Pos++ }),
		"at another time":             lost(func(n *im.Newest) { n.StoredMs++ }),
		"a conversation of the other": lost(func(n *im.Newest) { n.Conversation = "grp:x" }),
		"a cursor":                    {Timeline: "t1", Cursor: im.Place{Era: 8, Pos: 1}.String() + ".1.dm:alice:bob"},
		"a cursor's timeline":         {Timeline: "t0", Cursor: kept.Position + ".1.dm:alice:bob"},
		"no position at all":          {Newest: im.Newest{Conversation: ab, Seq: 9}},
	} {
		if r := w.sync("alice", q); !r.Reset || len(r.Conversations) != 1 || r.Conversations[0].Head.Seq != 2 {
			t.Errorf("%s: %+v", name, r)
		}
		if same, _, err := w.Compare(t.Context(), im.Actor{User: "alice"}, q.Position, im.HeadHash(ab, 2)); q.Newest.Seq == 0 && (same || err != nil) {
			t.Errorf("%s: the digest is compared, %v", name, err)
		}
	}
	var counted dto.Metric
	if err := w.metrics.resets.Write(&counted); err != nil || counted.Counter.GetValue() != 10 {
		t.Errorf("resets counted: %v, %v", &counted, err)
	}
	r := w.sync("alice", im.SyncQuery{Position: kept.Position, Timeline: "t1", Newest: newest(&have)})
	if r.Reset || len(r.Conversations) != 1 || len(r.Conversations[0].Told.Entries) != 1 {
		t.Errorf("what was kept: %+v", r)
	}
}

func TestColdPages(t *testing.T) {
	w := newWorld(t)
	var want []im.ConversationID
	for i := range 25 {
		c := im.DM("alice", im.UserID(fmt.Sprintf("user%02d", i)))
		w.mustSend("alice", c, "x")
		want = append([]im.ConversationID{c}, want...)
	}
	var got []im.ConversationID
	q := im.SyncQuery{Limit: 10}
	for pages := 0; ; pages++ {
		r := w.sync("alice", q)
		for _, c := range r.Conversations {
			got = append(got, c.Conversation)
			if len(c.Told.Entries) != 1 || c.Told.Entries[0].Seq != c.Head.Seq {
				t.Fatalf("%s without its last entry", c.Conversation)
			}
		}
		if q.Cursor = r.Next; r.Next == "" {
			if pages != 2 {
				t.Fatalf("%d pages", pages+1)
			}
			break
		}
	}
	if !slices.Equal(got, want) {
		t.Fatalf("got %v\nwant %v", got, want)
	}
	_, err := w.Sync(t.Context(), im.Actor{User: "alice"}, im.SyncQuery{Cursor: "bogus"})
	wantCode(t, err, im.CodeInvalidArgument)
}

// Who joined late sees nothing from before, who left nothing from after: in a
// pull both ways, in a sync, in the unread count and in a digest.
func TestVisibilityIsTheTimeOfMembership(t *testing.T) {
	w := newWorld(t)
	g := im.Group("g")
	for i := range 10 {
		w.mustSend("alice", g, fmt.Sprint(i+1))
	}
	w.members.add("bob", im.Membership{Conversation: g, First: 4, Until: 7})
	w.members.add("carol", im.Membership{Conversation: g, First: 8})
	for _, tc := range []struct {
		u           im.UserID
		first, last uint64
	}{{"bob", 4, 7}, {"carol", 8, 10}} {
		r := w.sync(tc.u, im.SyncQuery{})
		c := r.Conversations[0]
		if c.Head.Seq != tc.last || c.Unread != tc.last-tc.first+1 || c.Told.Entries[0].Seq != tc.last {
			t.Errorf("%s: %+v", tc.u, c)
		}
		for _, q := range []im.PullQuery{{From: 1}, {From: 0, Backward: true}, {From: 99, Backward: true}, {From: tc.first}, {From: tc.last, Backward: true}} {
			q.Conversation, q.Limit = g, 100
			got, err := w.Pull(t.Context(), im.Actor{User: tc.u}, q)
			if err != nil {
				t.Fatal(err)
			}
			if n := len(got.Entries); n == 0 || got.Entries[0].Seq != tc.first || got.Entries[n-1].Seq != tc.last || got.Head != tc.last {
				t.Errorf("%s %+v: %+v", tc.u, q, got)
			}
		}
		same, _, err := w.Compare(t.Context(), im.Actor{User: tc.u}, w.journal.begin(), im.HeadHash(g, tc.last))
		if err != nil || !same {
			t.Errorf("%s: digest differs, %v", tc.u, err)
		}
	}
	_, err := w.Pull(t.Context(), im.Actor{User: "mallory"}, im.PullQuery{Conversation: g})
	wantCode(t, err, im.CodeNotFound)
}

// After an accepted loss of the journal's end, memberships may begin or end
// beyond it. One such group must not keep a user from all conversations.
func TestSyncAfterAcceptedLoss(t *testing.T) {
	w := newWorld(t)
	lost, cut := im.Group("lost"), im.Group("cut")
	w.members.add("bob", im.Membership{Conversation: lost, First: 28})
	w.members.add("bob", im.Membership{Conversation: cut, First: 1, Until: 40})
	w.mustSend("alice", ab, "hi")
	for _, g := range []im.ConversationID{lost, cut} {
		w.members.add("alice", im.Membership{Conversation: g, First: 1})
		w.mustSend("alice", g, "what is left")
	}
	for _, q := range []im.SyncQuery{{}, {Position: w.journal.begin(), Timeline: w.journal.Timeline()}} {
		var names []im.ConversationID
		for _, c := range w.sync("bob", q).Conversations {
			names = append(names, c.Conversation)
		}
		slices.Sort(names)
		if !slices.Equal(names, []im.ConversationID{ab, cut}) {
			t.Errorf("bob sees %v", names)
		}
	}
	got, err := w.Pull(t.Context(), im.Actor{User: "bob"}, im.PullQuery{Conversation: lost})
	if err != nil || len(got.Entries) != 0 {
		t.Errorf("bob pulls %v, %v", got, err)
	}
}

func TestDigest(t *testing.T) {
	w := newWorld(t)
	w.mustSend("bob", ab, "1")
	at := w.sync("alice", im.SyncQuery{})
	alice := im.Actor{User: "alice"}
	same, pos, err := w.Compare(t.Context(), alice, at.Position, 0)
	if err != nil || !same || pos != at.Position {
		t.Fatal(same, pos, err)
	}
	w.mustSend("bob", ab, "2") // the push of this one is lost
	if same, _, _ := w.Compare(t.Context(), alice, at.Position, 0); same {
		t.Fatal("the lost push was not noticed")
	}
	same, pos, err = w.Compare(t.Context(), alice, at.Position, im.HeadHash(ab, 2))
	if err != nil || !same || pos == at.Position {
		t.Fatal(same, pos, err)
	}
	if same, _, _ := w.Compare(t.Context(), alice, "garbage!", 0); same {
		t.Fatal("garbage position accepted")
	}
}

func TestMarks(t *testing.T) {
	w := newWorld(t)
	for range 3 {
		w.mustSend("alice", ab, "x")
	}
	bob := im.Actor{User: "bob"}
	wantCode(t, w.Mark(t.Context(), bob, ab, 4, 0), im.CodeInvalidArgument)
	wantCode(t, w.Mark(t.Context(), bob, ab, 0, 1<<63), im.CodeInvalidArgument)
	wantCode(t, w.Mark(t.Context(), im.Actor{User: "mallory"}, ab, 1, 0), im.CodeNotFound)
	for _, m := range [][2]uint64{{3, 0}, {2, 2}, {1, 1}} {
		if err := w.Mark(t.Context(), bob, ab, m[0], m[1]); err != nil {
			t.Fatal(err)
		}
	}
	got := w.journal.marks[receiptKey{"bob", ab}]
	if got.Received != 3 || got.Read != 2 || got.ReadCount != 2 {
		t.Fatalf("marks went back: %+v", got)
	}
	if r := w.sync("bob", im.SyncQuery{}); r.Conversations[0].Unread != 1 {
		t.Fatalf("%+v", r.Conversations[0])
	}
	// Nobody is told of a mark that lies behind, e.g. one that a device repeats
	// after a reconnect.
	if n := len(w.out.receipts); n != 2 {
		t.Fatalf("%d receipts: %+v", n, w.out.receipts)
	}
	// Received concerns the other side, read also the own devices.
	if !slices.Equal(w.out.to[0], []im.UserID{"alice"}) || !slices.Equal(w.out.to[1], []im.UserID{"alice", "bob"}) {
		t.Fatalf("receipts to %v", w.out.to)
	}
}

// Two devices of a user mark at the same time: nobody is told of the one
// behind after the other.
func TestMarksOfTwoDevicesTakeTurns(t *testing.T) {
	const last = 200
	w := newWorld(t)
	for range last {
		w.mustSend("alice", ab, "x")
	}
	var devices sync.WaitGroup
	for range 2 {
		devices.Go(func() {
			for seq := uint64(1); seq <= last; seq++ {
				if err := w.Mark(t.Context(), im.Actor{User: "bob"}, ab, seq, seq); err != nil {
					t.Error(err)
				}
			}
		})
	}
	devices.Wait()
	for i := 1; i < len(w.out.receipts); i++ {
		if a, b := w.out.receipts[i-1].Read, w.out.receipts[i].Read; b <= a {
			t.Fatalf("told of %d after %d", b, a)
		}
	}
	if n := len(w.out.receipts); n != last {
		t.Errorf("%d receipts, want %d", n, last)
	}
}

// Unread is exact after any mixture of messages, recalls, events and marks.
func TestUnreadIsExact(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(t)
		g := im.Group("g")
		users := []im.UserID{"alice", "bob", "carol"}
		for _, u := range users {
			w.members.add(u, im.Membership{Conversation: g, First: 1})
		}
		type line struct {
			sender   im.UserID
			message  bool
			recalled bool
		}
		var log []line
		read := map[im.UserID]int{}
		for range rapid.IntRange(1, 40).Draw(rt, "steps") {
			u := rapid.SampledFrom(users).Draw(rt, "user")
			switch rapid.IntRange(0, 4).Draw(rt, "what") {
			case 0, 1:
				w.mustSend(u, g, "x")
				log = append(log, line{sender: u, message: true})
				read[u] = len(log)
			case 2:
				if _, err := w.AppendEvent(t.Context(), im.Promise{ID: w.id(), Conversation: g}, nil); err != nil {
					rt.Fatal(err)
				}
				log = append(log, line{})
			case 3:
				if len(log) == 0 {
					continue
				}
				to := rapid.IntRange(1, len(log)).Draw(rt, "to")
				if err := w.Mark(t.Context(), im.Actor{User: u}, g, 0, uint64(to)); err != nil {
					rt.Fatal(err)
				}
				read[u] = max(read[u], to)
			case 4:
				if len(log) == 0 {
					continue
				}
				to := rapid.IntRange(1, len(log)).Draw(rt, "target")
				if !log[to-1].message {
					continue
				}
				m := im.Message{ID: w.id(), Conversation: g, Kind: im.EntryRecall, Target: uint64(to)}
				if _, err := w.send(u, m); err != nil {
					rt.Fatal(err)
				}
				log[to-1].recalled = true
				log = append(log, line{sender: u})
			}
		}
		if len(log) == 0 {
			return
		}
		for _, u := range users {
			want := uint64(0)
			var recalled []uint64
			for i, l := range log[read[u]:] {
				switch {
				case l.recalled:
					recalled = append(recalled, uint64(read[u]+i+1))
				case l.message:
					want++
				}
			}
			st := w.sync(u, im.SyncQuery{}).Conversations[0]
			if st.Unread != want || st.Recalled != uint64(len(recalled)) || !slices.Equal(st.RecalledSeqs, recalled) {
				rt.Fatalf("%s: unread %d, want %d; recalled %d %v, want %v", u, st.Unread, want, st.Recalled, st.RecalledSeqs, recalled)
			}
		}
	})
}

// A mark that moved after the head was read is told as far as the head: what
// comes behind it is in the next sync, with the mark.
func TestMarkBeyondTheHeadOfASync(t *testing.T) {
	w := newWorld(t)
	v := &view{m: im.Membership{Conversation: "dm:a:b", First: 1}, head: im.Head{Seq: 10, Count: 8}}
	st, err := w.state(t.Context(), v, im.Mark{Received: 12, Read: 12, ReadCount: 10}, im.Mark{}, 0, &recallAsk{})
	if err != nil || st.Read != 10 || st.Unread != 0 {
		t.Errorf("%+v %v", st, err)
	}
}

func TestSignals(t *testing.T) {
	w := newWorld(t)
	if _, err := w.Signal(t.Context(), im.Actor{User: "alice"}, im.Signal{Typing: ab}); err != nil {
		t.Fatal(err)
	}
	w.members.deny["mallory"] = im.Errorf(im.CodeNotContact, "no")
	_, err := w.Signal(t.Context(), im.Actor{User: "mallory"}, im.Signal{Typing: ab})
	wantCode(t, err, im.CodeNotContact)
	if !slices.Equal(w.out.typing, []im.UserID{"alice"}) {
		t.Fatalf("typing %v", w.out.typing)
	}
	// Who says it is Logic's to tell, whatever the gateway was told.
	custom := im.CustomSignal{Conversation: ab, User: "mallory", Type: "cursor", Data: []byte{1}}
	if _, err := w.Signal(t.Context(), im.Actor{User: "alice"}, im.Signal{Custom: &custom}); err != nil {
		t.Fatal(err)
	}
	_, err = w.Signal(t.Context(), im.Actor{User: "mallory"}, im.Signal{Custom: &custom})
	wantCode(t, err, im.CodeNotContact)
	custom.User = "alice"
	if !reflect.DeepEqual(w.out.custom, []im.CustomSignal{custom}) {
		t.Fatalf("told %+v", w.out.custom)
	}
	got, err := w.Signal(t.Context(), im.Actor{User: "alice"}, im.Signal{Watch: []im.UserID{"bob", "mallory"}})
	if err != nil || !slices.Equal(got, []im.Watched{{User: "bob"}}) {
		t.Fatal(got, err)
	}
}
