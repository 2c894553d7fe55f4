package soak

import (
	"fmt"
	"slices"
	"testing"
)

// reply is said in the thread of a message, which counts it; it stands in the conversation's
// line as well if also.
func (s *story) reply(root Entry, by, text string, also bool) Entry {
	e := Entry{
		Conversation: root.Conversation, Sender: user(by), ID: id(text), Thread: root.Seq,
		Says: s.hash(by, root.Conversation, text), Hash: replyIn + fmt.Sprint(root.Seq), Target: root.Seq,
	}
	if also {
		e.Hash, e.Target, e.Message = e.Says, 0, true
		s.invoke(by, root.Conversation, text)
	}
	e = s.append(e)
	s.logs[root.Conversation][root.Seq-1].Replies++
	s.deliver(e)
	s.rec("clerk/http", Record{Kind: Replied, Conversation: e.Conversation, Seq: root.Seq, Count: e.Seq, ID: e.ID, Of: e.Sender})
	return e
}

// withdraw takes a reply back.
func (s *story) withdraw(e Entry, by string) {
	hash := s.logs[e.Conversation][e.Seq-1].Hash
	s.recall(e, by)
	log := s.logs[e.Conversation]
	if log[e.Seq-1].Says = HashRecalled; e.Target != 0 {
		log[e.Seq-1].Hash = hash
	}
	log[e.Thread-1].Replies--
}

// endWithThreads is endWithClerk with threads in the fresh views.
func (s *story) endWithThreads() Run {
	run := s.endWithClerk()
	each(&run, SourceFresh, func(v *View) {
		of := map[place][]Entry{}
		for _, e := range v.Entries {
			if e.Thread != 0 && e.Says != HashRecalled {
				p := place{conversation: e.Conversation, seq: e.Thread}
				of[p] = append(of[p], e)
			}
		}
		for _, e := range v.Entries {
			if replies := of[place{conversation: e.Conversation, seq: e.Seq}]; len(replies) > 0 && e.Hash != HashRecalled {
				v.Threads = append(v.Threads, ThreadView{Root: e, Replies: replies})
			}
		}
	})
	return run
}

// cleanReplies has threads of a dm, and of a group that somebody leaves and comes back to.
func cleanReplies() *story {
	s := opening()
	lunch := s.say("bob/1", dm, "lunch?")
	s.reply(lunch, "ann/1", "yes", false)
	s.withdraw(s.reply(lunch, "bob/1", "no", false), "bob/1")
	s.withdraw(s.reply(lunch, "bob/1", "never", true), "bob/1")
	s.reply(lunch, "bob/1", "at noon", true)
	gone := s.say("ann/1", dm, "a mistake")
	s.reply(gone, "bob/1", "why?", false)
	s.recall(gone, "ann/1")
	s.event([]string{"cid"}, nil)
	all := s.say("cid/1", grp, "who is in?")
	s.reply(all, "ann/1", "me", false)
	s.event(nil, []string{"cid"})
	s.reply(all, "bob/1", "me, too", false)
	s.event([]string{"cid"}, nil)
	s.reply(all, "cid/1", "and me", false)
	return s
}

func TestCleanReplies(t *testing.T) {
	r := Check(cleanReplies().endWithThreads())
	if !r.OK() {
		t.Fatalf("a clean history is called broken: %v", r.Violations)
	}
	if r.Replied != 8 {
		t.Errorf("%d replies were answered", r.Replied)
	}
}

// threadOf is the thread that a user reads in a conversation.
func threadOf(run *Run, user, conversation string) *ThreadView {
	var found *ThreadView
	each(run, SourceFresh, func(v *View) {
		for i := range v.Threads {
			if v.User == user && v.Threads[i].Root.Conversation == conversation {
				found = &v.Threads[i]
			}
		}
	})
	return found
}

// inStore changes the entries of the store.
func inStore(run *Run, change func(e *Entry)) {
	each(run, SourceJournal, func(v *View) {
		for i := range v.Entries {
			change(&v.Entries[i])
		}
	})
}

func TestReplyViolations(t *testing.T) {
	for _, tt := range []violation{
		{"a root says one less", nil, func(run *Run) {
			inStore(run, func(e *Entry) { e.Replies -= min(e.Replies, 1) })
		}, []Invariant{Amendment}},
		{"a root says one more", nil, func(run *Run) {
			inStore(run, func(e *Entry) { e.Replies += min(e.Replies, 1) })
		}, []Invariant{Amendment}},
		{"a message without replies says that it has one", nil, func(run *Run) {
			inStore(run, func(e *Entry) {
				if e.Message && e.Seq == 1 {
					e.Replies = 1
				}
			})
		}, []Invariant{Amendment}},
		{"somebody reads another number", nil, func(run *Run) { threadOf(run, "cid", grp).Root.Replies = 2 }, []Invariant{Amendment}},
		{"an answered reply is not there", func(s *story) {
			s.rec("clerk/http", Record{Kind: Replied, Conversation: dm, Seq: 1, Count: 99, ID: "gone", Of: "ann"})
		}, nil, []Invariant{Lost}},
		{"an answered reply is in another thread", func(s *story) {
			e := s.reply(s.say("ann/1", dm, "tea?"), "bob/1", "gladly", false)
			s.rec("clerk/http", Record{Kind: Replied, Conversation: dm, Seq: 1, Count: e.Seq, ID: e.ID, Of: "bob"})
		}, nil, []Invariant{Lost}},
		{"a reply is stored twice", func(s *story) {
			root := s.say("ann/1", dm, "tea?")
			s.reply(root, "bob/1", "gladly", false)
			s.reply(root, "bob/1", "gladly", false)
		}, nil, []Invariant{StoredTwice}},
		{"a reply below nothing", func(s *story) {
			e := s.reply(s.say("ann/1", dm, "tea?"), "bob/1", "gladly", false)
			s.logs[dm][e.Seq-1].Thread, s.logs[dm][e.Thread-1].Replies = 999, 0
		}, func(run *Run) { run.Histories = run.Histories[:len(run.Histories)-1] }, []Invariant{Amendment}},
		{"a thread without one of its replies", nil, func(run *Run) {
			th := threadOf(run, "ann", dm)
			th.Replies = th.Replies[:len(th.Replies)-1]
		}, []Invariant{Lost}},
		{"a thread is not told", nil, func(run *Run) {
			each(run, SourceFresh, func(v *View) {
				if v.User == "bob" {
					v.Threads = v.Threads[:1]
				}
			})
		}, []Invariant{Lost}},
		{"replies in another order", nil, func(run *Run) { slices.Reverse(threadOf(run, "bob", grp).Replies) }, []Invariant{Misordered}},
		{"a reply twice in its thread", nil, func(run *Run) {
			th := threadOf(run, "bob", grp)
			th.Replies = append(th.Replies, th.Replies[len(th.Replies)-1])
		}, []Invariant{AppliedTwice}},
		{"another reply than is stored", nil, func(run *Run) { threadOf(run, "bob", grp).Replies[0].Says = "x" }, []Invariant{Disagree}},
		{"one that was taken back is told", func(s *story) {
			root := s.say("ann/1", dm, "tea?")
			s.reply(root, "bob/1", "gladly", false)
			s.withdraw(s.reply(root, "bob/1", "or not", false), "bob/1")
		}, func(run *Run) {
			th := threadOf(run, "ann", dm)
			e := th.Replies[0]
			e.Seq++
			th.Replies = append(th.Replies, e)
		}, []Invariant{Phantom}},
		{"a reply of while one was no member", nil, func(run *Run) {
			th := threadOf(run, "cid", grp)
			th.Replies = slices.Insert(th.Replies, 1, threadOf(run, "bob", grp).Replies[1])
		}, []Invariant{Outsider}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := cleanReplies()
			if tt.during != nil {
				tt.during(s)
			}
			run := s.endWithThreads()
			if tt.after != nil {
				tt.after(&run)
			}
			expectBroken(t, Check(run), tt.want)
		})
	}
}
