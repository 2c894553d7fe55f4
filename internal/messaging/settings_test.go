package messaging

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// In slow mode the second message of a member is refused for now, whether it comes
// alone or in one batch with the first, and what is behind it waits for it; one that
// was let through comes again unharmed. Other conversations and recalls do not count.
func TestSlowModeKeepsTheOrder(t *testing.T) {
	w := newWorld(t)
	g := im.Group("g")
	first := w.mustSend("alice", g, "first")
	var open atomic.Bool
	var last im.MessageID
	w.members.paced = func(u im.UserID, id im.MessageID) error { // asked by the committer alone
		if open.Load() || last == (im.MessageID{}) || last == id {
			last = id
			return nil
		}
		return &im.Error{Code: im.CodeSlowMode, RetryAfter: time.Second}
	}
	m1, m2, m3 := w.message(g, "one"), w.message(g, "two"), w.message(g, "three")
	entered, release := w.holdAppend()
	before := w.start("bob", w.message(im.DM("alice", "bob"), "holds the committer"))
	<-entered
	got := []<-chan outcome{w.start("alice", m1), w.start("alice", m2), w.start("alice", m3)}
	w.queued(3)
	release()
	w.wantOutcome(before, "another conversation", 1, "")
	w.wantOutcome(got[0], "the first", 2, "")
	w.wantOutcome(got[1], "the second", 0, im.CodeSlowMode)
	w.wantOutcome(got[2], "what is behind it", 0, im.CodeOutOfOrder)
	w.wantOutcome(w.start("alice", m2), "still too early", 0, im.CodeSlowMode)
	open.Store(true)
	w.wantOutcome(w.start("alice", m2), "in time", 3, "")
	open.Store(false)
	w.wantOutcome(w.start("alice", m2), "what is stored, again", 3, "")
	w.mustRecall("alice", g, first.Seq)
}

// Who joined a group that shows what was before reads all of it, and is told that
// nothing of it is unread: what came since is, and what they read since is not.
func TestHistoryIsNotUnread(t *testing.T) {
	w, g := windowed(t, im.Window{First: 1, Until: 29}, im.Window{First: 30})
	rows := w.members.rows["bob"]
	rows[len(rows)-1].ReadTo = 29
	w.mustRecall("alice", g, 12)
	for _, read := range []uint64{0, 7, 29, 35} {
		if read > 0 {
			if err := w.journal.SetMarks(t.Context(), []im.Mark{{User: "bob", Conversation: g, Read: read, ReadCount: read}}, im.MarkWait{}); err != nil {
				t.Fatal(err)
			}
		}
		want := max(read, 29)
		for _, q := range []im.SyncQuery{{}, {Position: w.journal.begin(), Timeline: "t1"}} {
			st := w.sync("bob", q).Conversations[0]
			if st.Read != want || st.Unread != 40-want || st.Recalled != 0 || st.First != 30 || len(st.Earlier) != 1 || st.Earlier[0].Hidden != 0 {
				t.Errorf("read up to %d: %+v", read, st)
			}
		}
	}
	r, err := w.Pull(t.Context(), im.Actor{User: "bob"}, im.PullQuery{Conversation: g, From: 1, Limit: 5})
	if err != nil || len(r.Entries) != 5 || r.Entries[0].Seq != 1 {
		t.Fatal(r, err)
	}
}
