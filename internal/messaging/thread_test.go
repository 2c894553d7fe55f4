package messaging

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/skein-im/skein/internal/entrycodec"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

// replying makes a message one of a thread.
func replying(w *world, m im.Message, thread uint64) im.Message {
	w.t.Helper()
	m.Kind, m.Target = im.EntryReply, thread
	var err error
	if m.Hash, err = entrycodec.ThreadHash(m.Conversation, m.Body, m.Kind, thread); err != nil {
		w.t.Fatal(err)
	}
	return m
}

func (w *world) tryReply(u im.UserID, c im.ConversationID, thread uint64, text string) (im.Ack, error) {
	w.t.Helper()
	m := w.mentioning(c, text)
	m.ID = w.early()
	return w.send(u, replying(w, m, thread))
}

func (w *world) reply(u im.UserID, c im.ConversationID, thread uint64, text string) uint64 {
	w.t.Helper()
	ack, err := w.tryReply(u, c, thread, text)
	if err != nil {
		w.t.Fatal(err)
	}
	return ack.Seq
}

// replyInMain has the reply stand in the conversation's line as well.
func (w *world) replyInMain(u im.UserID, c im.ConversationID, thread uint64, text string) uint64 {
	w.t.Helper()
	m := w.mentioning(c, text)
	m.ID, m.Target = w.early(), thread
	var err error
	if m.Hash, err = entrycodec.ThreadHash(c, m.Body, m.Kind, thread); err != nil {
		w.t.Fatal(err)
	}
	ack, err := w.send(u, m)
	if err != nil {
		w.t.Fatal(err)
	}
	return ack.Seq
}

func (w *world) recall(u im.UserID, c im.ConversationID, target uint64) {
	w.t.Helper()
	if _, err := w.send(u, recalling(im.Message{Conversation: c, ID: w.early()}, target)); err != nil {
		w.t.Fatal(err)
	}
}

// thread are the replies of a thread as a user is told them, read in pages.
func (w *world) thread(u im.UserID, c im.ConversationID, seq uint64, page int) (t im.Thread, texts string) {
	w.t.Helper()
	var out []string
	for before := uint64(0); ; {
		got, es, next, err := w.Thread(w.t.Context(), im.Actor{User: u}, c, seq, before, page)
		if err != nil {
			return got, err.Error()
		}
		if len(es) > page {
			w.t.Fatalf("a page of %d has %d", page, len(es))
		}
		var some []string
		for i := range es {
			var e wire.Entry
			if err := entrycodec.Decode(es[i].Body, &e); err != nil {
				w.t.Fatal(err)
			}
			some = append(some, e.GetContent().GetText())
		}
		out = append(some, out...)
		if before = next; next == 0 {
			return got, strings.Join(out, " ")
		}
	}
}

// wantThread checks a thread in pages of each size, and what its root says.
func (w *world) wantThread(u im.UserID, c im.ConversationID, root uint64, texts string) {
	w.t.Helper()
	for _, page := range []int{1, 2, 50} {
		t, got := w.thread(u, c, root, page)
		if got != texts {
			w.t.Fatalf("the thread of %d as %s is told it in pages of %d: %q, want %q", root, u, page, got, texts)
		}
		n := uint32(len(strings.Fields(texts)))
		var e wire.Entry
		if err := entrycodec.Decode(t.Root.Body, &e); err != nil || !t.Root.Recalled && e.GetReplies().GetCount() != n {
			w.t.Fatalf("the root says %v, %v, want %d", e.GetReplies(), err, n)
		}
		if told := w.told(u, c, t.Root.Seq); !told.Recalled && told.GetReplies().GetCount() != n {
			w.t.Fatalf("who reads the root is told %v, want %d", told.GetReplies(), n)
		}
	}
}

// None, one, two and many replies: the root says how many, the thread tells them, the
// conversation shows and counts none of them, and a reply to a reply goes to the root.
func TestThread(t *testing.T) {
	w := newWorld(t, ticking())
	root, other := w.say("alice", ab, "root"), w.say("bob", ab, "other")
	w.wantThread("bob", ab, root, "")
	first := w.reply("bob", ab, root, "one")
	w.wantThread("alice", ab, root, "one")
	w.reply("alice", ab, first, "two") // a reply to a reply
	want := []string{"one", "two"}
	w.wantThread("bob", ab, first, "one two")
	w.say("alice", ab, "between")
	for n := range 60 {
		want = append(want, fmt.Sprint("n", n))
		w.reply([]im.UserID{"alice", "bob"}[n%2], ab, root, want[len(want)-1])
	}
	w.wantThread("bob", ab, root, strings.Join(want, " "))
	w.wantThread("bob", ab, other, "")
	head := w.journal.entries[ab][len(w.journal.entries[ab])-1]
	if head.Count != 3 {
		t.Fatalf("%d messages count as unread, want 3", head.Count)
	}
	got, err := w.Pull(t.Context(), im.Actor{User: "bob"}, im.PullQuery{Conversation: ab, From: other, Limit: 50})
	if err != nil || len(got.Entries) != 2 || len(got.Touched) != 1 || got.Touched[0].Seq != root || got.Last != head.Seq {
		t.Fatalf("a page of the conversation: %d entries, %d touched, to %d: %v", len(got.Entries), len(got.Touched), got.Last, err)
	}
	var touched wire.Entry
	if err := entrycodec.Decode(got.Touched[0].Body, &touched); err != nil || touched.GetReplies().GetCount() != 62 || touched.GetReplies().GetLastAtMs() == 0 {
		t.Fatalf("%v, %v", touched.GetReplies(), err)
	}
	// What is pushed says what the root comes to by it.
	last := w.lastDelivered(ab)
	var pushed wire.Entry
	if err := entrycodec.Decode(last.Body, &pushed); err != nil || last.Target != root || pushed.GetReplies().GetCount() != 62 || pushed.GetContent().GetText() != "n59" {
		t.Fatalf("pushed: %+v, %v", last, err)
	}
	// A reply is edited, reacted to and pinned as any message; its thread has it as it is now.
	if _, err := w.edit("bob", ab, first, "edited"); err != nil {
		t.Fatal(err)
	}
	if _, err := w.react("alice", ab, first, "+1", false); err != nil {
		t.Fatal(err)
	}
	want[0] = "edited"
	w.wantThread("alice", ab, root, strings.Join(want, " "))
	got, err = w.Pull(t.Context(), im.Actor{User: "bob"}, im.PullQuery{Conversation: ab, From: head.Seq + 1, Limit: 50})
	if err != nil || len(got.Entries) != 0 || len(got.Touched) != 2 || got.Touched[0].Seq != root || got.Touched[1].Seq != first {
		t.Fatalf("who was away: %+v, %v", got.Touched, err)
	}
}

// lastDelivered is the newest entry of a conversation, as it is delivered.
func (w *world) lastDelivered(c im.ConversationID) im.Entry {
	w.t.Helper()
	w.journal.mu.Lock()
	head := uint64(len(w.journal.entries[c]))
	w.journal.mu.Unlock()
	return w.delivered(c, head)
}

// delivered is an entry as it is delivered, which may be a moment after its send is
// answered.
func (w *world) delivered(c im.ConversationID, seq uint64) im.Entry {
	w.t.Helper()
	find := func() *im.Entry {
		w.out.mu.Lock()
		defer w.out.mu.Unlock()
		for i := range w.out.delivered {
			if e := &w.out.delivered[i].Entry; e.Conversation == c && e.Seq == seq {
				return e
			}
		}
		return nil
	}
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if e := find(); e != nil {
			return *e
		}
	}
	w.t.Fatalf("%d of %s was not delivered", seq, c)
	return im.Entry{}
}

// What no thread can begin with is refused by its name, and nothing is stored.
func TestWhoMayReply(t *testing.T) {
	w := newWorld(t, ticking())
	g := im.Group("g")
	w.members.add("alice", im.Membership{Conversation: g, First: 1})
	gone, root := w.say("alice", g, "gone"), w.say("alice", g, "root")
	w.recall("alice", g, gone)
	said := w.reply("alice", g, root, "one")
	w.members.add("bob", im.Membership{Conversation: g, First: said})
	late := w.say("alice", g, "late")
	before := len(w.journal.entries[g])
	for _, tt := range []struct {
		by     im.UserID
		thread uint64
		code   im.Code
	}{
		{"alice", gone, im.CodeTooLate},
		{"alice", gone + 2, im.CodeNotFound}, // the recall
		{"alice", 999, im.CodeNotFound},
		{"bob", root, im.CodeNotFound}, // not theirs to read
		{"bob", said, im.CodeNotFound}, // its root is not
	} {
		if _, err := w.tryReply(tt.by, g, tt.thread, "x"); im.CodeOf(err) != tt.code || im.Public(err).Field != "thread" {
			t.Errorf("%+v: %v, field %q", tt, err, im.Public(err).Field)
		}
	}
	if len(w.journal.entries[g]) != before {
		t.Error("something was stored")
	}
	w.reply("bob", g, late, "two")
	// Who may not read a message is told nothing of its thread, by no way.
	if _, got := w.thread("bob", g, root, 9); !strings.Contains(got, "no such message") {
		t.Errorf("%q", got)
	}
	if _, err := w.react("bob", g, said, "x", false); im.CodeOf(err) != im.CodeNotFound {
		t.Errorf("a reaction to a reply of a thread one may not read: %v", err)
	}
	if _, err := w.react("alice", g, said, "x", false); err != nil {
		t.Fatal(err)
	}
	got, err := w.Pull(t.Context(), im.Actor{User: "bob"}, im.PullQuery{Conversation: g, From: late + 2, Limit: 9})
	if err != nil || len(got.Touched) != 0 {
		t.Errorf("%+v, %v", got.Touched, err)
	}
	if shown, err := w.Shown(t.Context(), im.Actor{User: "bob"}, g, []uint64{said, late}); err != nil || len(shown) != 1 {
		t.Errorf("a search shows %+v, %v", shown, err)
	}
}

// A reply that is taken back is out of its thread, which has one less, for who was away
// too; a root that is taken back keeps its thread readable, and gets no more replies.
func TestThreadRecalls(t *testing.T) {
	w := newWorld(t, ticking())
	root := w.say("alice", ab, "root")
	one, two, three := w.reply("bob", ab, root, "one"), w.reply("bob", ab, root, "two"), w.reply("alice", ab, root, "three")
	w.recall("bob", ab, two)
	w.wantThread("alice", ab, root, "one three")
	w.recall("alice", ab, three)
	w.wantThread("alice", ab, root, "one")
	if e := w.told("bob", ab, root); e.GetReplies().GetLastAtMs() != w.journal.entries[ab][one-1].Stored.UnixMilli() {
		t.Errorf("the last reply was at %d", e.GetReplies().GetLastAtMs())
	}
	head := uint64(len(w.journal.entries[ab]))
	w.recall("bob", ab, one)
	got, err := w.Pull(t.Context(), im.Actor{User: "alice"}, im.PullQuery{Conversation: ab, From: head + 1, Limit: 9})
	if err != nil || len(got.Touched) != 2 || got.Touched[0].Seq != root || entrycodec.HasReplies(got.Touched[0].Body) || !got.Touched[1].Recalled {
		t.Errorf("who was away: %+v, %v", got.Touched, err)
	}
	w.wantThread("alice", ab, root, "")
	if list, _, err := w.Threads(t.Context(), im.Actor{User: "alice"}, ab, "", 9); err != nil || len(list) != 0 {
		t.Errorf("a thread without replies is listed: %+v, %v", list, err)
	}
	w.recall("bob", ab, one) // again: nothing is less than none
	w.wantThread("alice", ab, root, "")
	four := w.reply("bob", ab, root, "four")
	w.recall("alice", ab, root)
	w.wantThread("bob", ab, root, "four")
	w.wantThread("bob", ab, four, "four")
	if _, err := w.tryReply("bob", ab, root, "five"); im.CodeOf(err) != im.CodeTooLate {
		t.Errorf("a reply to what was taken back: %v", err)
	}
	w.recall("bob", ab, four)
	w.wantThread("bob", ab, root, "")
	var st im.ConversationState
	for _, c := range w.sync("bob", im.SyncQuery{}).Conversations {
		if c.Conversation == ab {
			st = c
		}
	}
	if st.Unread != 0 || st.Recalled != 1 { // the root alone: no reply ever counted
		t.Errorf("unread %d, recalled %d", st.Unread, st.Recalled)
	}
}

// Replies and recalls of many at once: the root says exactly what its thread has, on one
// node and where others append, too.
func TestRepliesAtOnce(t *testing.T) {
	for _, shared := range []bool{false, true} {
		t.Run(fmt.Sprint("shared=", shared), func(t *testing.T) {
			w := newWorld(t, atStored(time.Minute), func(o *Options) {
				if shared {
					o.Known = func(im.ConversationID) (im.Head, bool) { return im.Head{}, false }
				}
			})
			g := im.Group("g")
			const users = 40
			for u := range users {
				w.members.add(im.UserID(fmt.Sprint("user", u)), im.Membership{Conversation: g, First: 1})
			}
			root := w.say("user0", g, "root")
			var goes []uint64
			for range 10 {
				goes = append(goes, w.reply("user0", g, root, "goes"))
			}
			var got []<-chan outcome
			for u := range users {
				for range 3 {
					m := w.message(g, "stays")
					m.ID = w.early()
					got = append(got, w.start(im.UserID(fmt.Sprint("user", u)), replying(w, m, root+uint64(u%2)))) // the root, or its first reply
				}
				if u%4 == 0 {
					got = append(got, w.start("user0", recalling(im.Message{Conversation: g, ID: w.early()}, goes[u/4])))
				}
				if u%10 == 5 {
					got = append(got, w.start("user0", editing(im.Message{Conversation: g, ID: w.early()}, root, "root, edited")))
				}
			}
			for _, c := range got {
				if o := <-c; o.err != nil {
					t.Error(o.err)
				}
			}
			w.wantThread("user1", g, root, strings.TrimSpace(strings.Repeat("stays ", 3*users)))
		})
	}
}

// The same reply again is stored once and counts once; under its id nothing else is said.
func TestReplyAgain(t *testing.T) {
	w := newWorld(t, ticking())
	root, other := w.say("alice", ab, "root"), w.say("alice", ab, "other")
	m := w.message(ab, "one")
	m.ID = w.early()
	first, err := w.send("bob", replying(w, m, root))
	if err != nil {
		t.Fatal(err)
	}
	again, err := w.send("bob", replying(w, m, root))
	if err != nil || again.Seq != first.Seq {
		t.Errorf("again: %+v, %v", again, err)
	}
	if _, err := w.send("bob", replying(w, m, other)); im.CodeOf(err) != im.CodeIdConflict {
		t.Errorf("in another thread: %v", err)
	}
	if _, err := w.send("bob", m); im.CodeOf(err) != im.CodeIdConflict {
		t.Errorf("in none: %v", err)
	}
	w.wantThread("alice", ab, root, "one")
	w.wantThread("alice", ab, other, "")
}

// follows are the threads that a user follows, each with what is unread, read in pages.
func (w *world) follows(u im.UserID, page int) string {
	w.t.Helper()
	var out []string
	for cursor := ""; ; {
		got, next, err := w.Threads(w.t.Context(), im.Actor{User: u}, "", cursor, page)
		if err != nil {
			return err.Error()
		}
		for i := range got {
			out = append(out, fmt.Sprintf("%s#%d:%d", got[i].Root.Conversation, got[i].Root.Seq, got[i].Unread))
		}
		if cursor = next; next == "" {
			return strings.Join(out, " ")
		}
	}
}

func (w *world) wantFollows(u im.UserID, want string) {
	w.t.Helper()
	for _, page := range []int{1, 2, 50} {
		if got := w.follows(u, page); got != want {
			w.t.Fatalf("%s follows, in pages of %d: %q, want %q", u, page, got, want)
		}
	}
}

// Who wrote in a thread follows it, its root's author too; a user says otherwise, and how
// far they have read.
func TestFollowedThreads(t *testing.T) {
	w := newWorld(t, ticking())
	g := im.Group("g")
	for _, u := range []im.UserID{"alice", "bob", "carol"} {
		w.members.add(u, im.Membership{Conversation: g, First: 1})
	}
	one, two, three := w.say("alice", g, "one"), w.say("bob", g, "two"), w.say("carol", g, "three")
	w.wantFollows("alice", "")
	w.reply("bob", g, one, "a")
	last := w.reply("carol", g, one, "b")
	w.reply("carol", g, two, "c")
	w.wantFollows("alice", fmt.Sprintf("grp:g#%d:2", one))
	w.wantFollows("bob", fmt.Sprintf("grp:g#%d:1 grp:g#%d:1", two, one))
	w.wantFollows("carol", fmt.Sprintf("grp:g#%d:0 grp:g#%d:0", two, one))
	yes, no := true, false
	w.setMine("alice", g, im.MyChange{Thread: &im.ThreadChange{Root: one, Read: &last}})
	w.setMine("alice", g, im.MyChange{Thread: &im.ThreadChange{Root: three, Follow: &yes}})
	w.wantFollows("alice", fmt.Sprintf("grp:g#%d:0 grp:g#%d:0", one, three))
	w.reply("bob", g, three, "d")
	w.reply("bob", g, one, "e")
	w.wantFollows("alice", fmt.Sprintf("grp:g#%d:1 grp:g#%d:1", one, three))
	first := uint64(1)
	w.setMine("alice", g, im.MyChange{Thread: &im.ThreadChange{Root: one, Read: &first, Follow: &no}}) // it never goes back
	w.wantFollows("alice", fmt.Sprintf("grp:g#%d:1", three))
	w.setMine("alice", g, im.MyChange{Thread: &im.ThreadChange{Root: one, Follow: &yes}})
	w.wantFollows("alice", fmt.Sprintf("grp:g#%d:1 grp:g#%d:1", one, three))
	all, _, err := w.Threads(t.Context(), im.Actor{User: "alice"}, g, "", 9)
	if err != nil || len(all) != 3 || all[0].Root.Seq != one || !all[1].Follows || all[2].Follows {
		t.Fatalf("%+v, %v", all, err)
	}
	far := uint64(len(w.journal.entries[g]) + 1)
	for _, tt := range []struct {
		change im.ThreadChange
		code   im.Code
		field  string
	}{
		{im.ThreadChange{Root: 999, Follow: &yes}, im.CodeNotFound, "thread.root"},
		{im.ThreadChange{Root: last, Follow: &yes}, im.CodeNotFound, "thread.root"}, // a reply
		{im.ThreadChange{Root: one, Read: &far}, im.CodeInvalidArgument, "thread.read"},
	} {
		_, err := w.SetMyState(t.Context(), im.Actor{User: "alice"}, g, im.MyChange{Thread: &tt.change})
		if im.CodeOf(err) != tt.code || im.Public(err).Field != tt.field {
			t.Errorf("%+v: %v, field %q", tt.change, err, im.Public(err).Field)
		}
	}
	if _, _, err := w.Threads(t.Context(), im.Actor{User: "alice"}, "", "nonsense", 9); im.Public(err).Field != "cursor" {
		t.Errorf("%v", err)
	}
}

// A mention in a thread counts as one, though nothing is unread by it, until it is read or
// taken back.
func TestMentionInThread(t *testing.T) {
	w := newWorld(t, ticking())
	root := w.say("alice", ab, "root")
	w.mustRead("bob", ab, root)
	w.wantMentions("bob", ab)
	said := w.reply("alice", ab, root, "what do you think @bob")
	w.wantMentions("bob", ab, said)
	w.say("alice", ab, "unread")
	w.wantMentions("bob", ab, said)
	if got := w.listed("bob", 9); len(got) != 1 {
		t.Errorf("listed: %v", got)
	}
	again := w.reply("alice", ab, root, "well @bob")
	w.wantMentions("bob", ab, said, again)
	w.recall("alice", ab, said)
	w.wantMentions("bob", ab, again)
	w.mustRead("bob", ab, again)
	w.wantMentions("bob", ab)
}

func (w *world) mustRead(u im.UserID, c im.ConversationID, seq uint64) {
	w.t.Helper()
	if err := w.MarkRead(w.t.Context(), im.Actor{User: u}, c, seq); err != nil {
		w.t.Fatal(err)
	}
}

// Replies that have disappeared are in no thread, and its root does not count them: not for
// who reads it, and not by the next reply.
func TestThreadOfWhatDisappears(t *testing.T) {
	w, f, g := perishing(t, []im.Window{{First: 1}}, im.Period{After: 40, Lifetime: 5 * time.Minute})
	at := func(seq int) { f.is(saidAt(seq)) }
	at(41)
	w.reply("bob", g, 3, "a")
	at(43)
	w.reply("bob", g, 3, "b")
	w.wantThread("alice", g, 3, "a b")
	at(47)
	w.wantThread("alice", g, 3, "b")
	w.reply("alice", g, 3, "c")
	w.wantThread("bob", g, 3, "b c")
	at(60)
	w.wantThread("bob", g, 3, "")
	w.reply("alice", g, 3, "d")
	w.wantThread("bob", g, 3, "d")
}

// A reply that stands in the conversation's line as well is a message there: it counts, is
// read, and is unread; and it is a reply: its root counts it, its thread has it, what is said
// to it goes to the root. A recall takes it out of both, for who was away, too.
func TestReplyInMain(t *testing.T) {
	w := newWorld(t, ticking())
	root := w.say("alice", ab, "root")
	also := func(u im.UserID, thread uint64, text string) uint64 {
		t.Helper()
		return w.replyInMain(u, ab, thread, text)
	}
	one := also("bob", root, "@alice")
	last := w.lastDelivered(ab)
	var pushed wire.Entry
	if err := entrycodec.Decode(last.Body, &pushed); err != nil || last.Kind != im.EntryMessage || last.Root() != root || pushed.GetReplies().GetCount() != 1 {
		t.Fatalf("pushed: %+v, %v, %v", last, pushed.GetReplies(), err)
	}
	two := w.reply("alice", ab, one, "two")
	three := also("bob", two, "three")
	w.wantThread("alice", ab, root, "@alice two three")
	w.wantThread("bob", ab, three, "@alice two three")
	state := func(u im.UserID) im.ConversationState {
		t.Helper()
		for _, c := range w.sync(u, im.SyncQuery{}).Conversations {
			if c.Conversation == ab {
				return c
			}
		}
		t.Fatal("the conversation is not told")
		return im.ConversationState{}
	}
	if st := state("alice"); st.Unread != 2 || st.UnreadMentions != 1 || st.Head.Count != 3 || st.Told.Entries[0].Seq != three {
		t.Fatalf("%+v", st)
	}
	pull := func(from uint64) (entries, touched []uint64) {
		t.Helper()
		got, err := w.Pull(t.Context(), im.Actor{User: "alice"}, im.PullQuery{Conversation: ab, From: from, Limit: 50})
		if err != nil {
			t.Fatal(err)
		}
		for i := range got.Entries {
			entries = append(entries, got.Entries[i].Seq)
		}
		for i := range got.Touched {
			touched = append(touched, got.Touched[i].Seq)
		}
		return entries, touched
	}
	if es, ts := pull(root); fmt.Sprint(es, ts) != fmt.Sprint([]uint64{root, one, three}, []uint64(nil)) {
		t.Errorf("%v, touched %v", es, ts)
	}
	if es, ts := pull(three); fmt.Sprint(es, ts) != fmt.Sprint([]uint64{three}, []uint64(nil)) {
		t.Errorf("%v, touched %v", es, ts)
	}
	if list, _, err := w.Threads(t.Context(), im.Actor{User: "bob"}, "", "", 9); err != nil || len(list) != 1 || list[0].Root.Seq != root || list[0].Last != three {
		t.Errorf("%+v, %v", list, err)
	}
	head := uint64(len(w.journal.entries[ab]))
	w.recall("bob", ab, one)
	if last := w.lastDelivered(ab); entrycodec.ThreadOf(last.Body) != root {
		t.Errorf("the recall does not name the root: %+v", last)
	}
	if es, ts := pull(head + 1); fmt.Sprint(es, ts) != fmt.Sprint([]uint64(nil), []uint64{root, one}) {
		t.Errorf("who was away: %v, touched %v", es, ts)
	}
	if es, ts := pull(one); fmt.Sprint(es, ts) != fmt.Sprint([]uint64{one, three}, []uint64{root}) {
		t.Errorf("who was away for longer: %v, touched %v", es, ts)
	}
	w.wantThread("alice", ab, root, "two three")
	if st := state("alice"); st.Unread != 1 || st.UnreadMentions != 0 || st.Recalled != 1 {
		t.Errorf("%+v", st)
	}
}

// The root says the same number to all: who was no member for a while, or is none any more,
// is told those replies too that are not theirs to read, as the pushes count them.
func TestRepliesOfSeveralWindows(t *testing.T) {
	w := newWorld(t, ticking())
	g := im.Group("g")
	w.members.add("alice", im.Membership{Conversation: g, First: 1})
	root := w.say("alice", g, "root")
	first := w.reply("alice", g, root, "one")
	away := w.reply("alice", g, root, "two")
	back := w.reply("alice", g, root, "three")
	w.members.add("bob", im.Membership{Conversation: g, First: back, Earlier: []im.Window{{First: 1, Until: first}}})
	w.members.add("carol", im.Membership{Conversation: g, First: 1, Until: away})
	for u, texts := range map[im.UserID]string{"alice": "one two three", "bob": "one three", "carol": "one two"} {
		if th, got := w.thread(u, g, root, 9); got != texts || countOf(t, th.Root.Body) != 3 {
			t.Errorf("%s is told %q of %d", u, got, countOf(t, th.Root.Body))
		}
		if n := w.told(u, g, root).GetReplies().GetCount(); n != 3 {
			t.Errorf("%s reads that there are %d", u, n)
		}
	}
	w.recall("alice", g, away)
	for _, u := range []im.UserID{"alice", "bob", "carol"} {
		if n := w.told(u, g, root).GetReplies().GetCount(); n != 2 {
			t.Errorf("%s reads that there are %d", u, n)
		}
	}
	var pushed wire.Entry
	if err := entrycodec.Decode(w.lastDelivered(g).Body, &pushed); err != nil || pushed.GetReplies().GetCount() != 2 {
		t.Errorf("pushed: %v, %v", &pushed, err)
	}
}

func countOf(t *testing.T, body []byte) uint32 {
	t.Helper()
	var e wire.Entry
	if err := entrycodec.Decode(body, &e); err != nil {
		t.Fatal(err)
	}
	return e.GetReplies().GetCount()
}
