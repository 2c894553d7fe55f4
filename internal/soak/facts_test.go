package soak

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// fact adds a record of what is asked and answered over HTTP.
func (s *story) fact(kind Kind, name, value string, number uint64) {
	s.rec("clerk/http", Record{Kind: kind, Of: name, Code: value, Seq: number})
}

func (s *story) recall(target Entry, by string) Entry {
	log := s.logs[target.Conversation]
	e := s.append(Entry{
		Conversation: target.Conversation, Sender: user(by), ID: "recall-" + target.ID,
		Hash: "entry 2 of the target", Target: target.Seq,
	})
	log[target.Seq-1].Hash = HashRecalled
	s.rec("clerk/http", Record{Kind: Recalling, Conversation: target.Conversation, Seq: target.Seq})
	s.deliver(e)
	s.rec("clerk/http", Record{Kind: Recalled, Conversation: target.Conversation, Seq: target.Seq, Count: e.Seq})
	return e
}

// edit has a message edited n times.
func (s *story) edit(target Entry, by string, n int) {
	for k := range n {
		e := s.append(Entry{
			Conversation: target.Conversation, Sender: user(by), ID: fmt.Sprint("edit-", k, target.ID),
			Hash: editOf + fmt.Sprint(target.Seq), Target: target.Seq,
		})
		s.logs[target.Conversation][target.Seq-1].Hash = fmt.Sprint(editedPrefix, k+1, " ", target.ID)
		s.rec("clerk/http", Record{Kind: Editing, Conversation: target.Conversation, Seq: target.Seq})
		s.deliver(e)
		s.rec("clerk/http", Record{Kind: Edited, Conversation: target.Conversation, Seq: target.Seq, Count: e.Seq})
	}
}

// react has users react to a message, or take it back; the message says what it comes to.
func (s *story) react(target Entry, totals string, what ...[2]string) {
	for k, x := range what {
		e := s.append(Entry{
			Conversation: target.Conversation, Sender: x[0], ID: fmt.Sprint("react-", k, target.ID), Hash: reactTo + fmt.Sprint(target.Seq), Target: target.Seq, React: x[1],
		})
		s.deliver(e)
		s.rec("clerk/http", Record{Kind: Reacted, Conversation: target.Conversation, Seq: target.Seq, Count: e.Seq, Of: x[0]})
	}
	s.logs[target.Conversation][target.Seq-1].Totals = totals
}

// synced is a sync that was asked for and answered.
func (s *story) synced(device string) {
	since := s.rec(device, Record{Kind: Disconnected}) // any record before the question
	s.rec(device, Record{Kind: Synced, Since: since})
}

func (s *story) joined(conv, who string) {
	s.rec("clerk/http", Record{Kind: Joined, Conversation: conv, Of: who})
}

// found makes a second group of ann and bob and shows it to some devices.
func (s *story) found(to ...string) Entry {
	e := s.append(Entry{Conversation: "grp:new", Sender: "bob", ID: "new", Hash: "event new", Joined: []string{"ann", "bob"}})
	s.deliver(e, to...)
	s.joined(e.Conversation, "ann")
	return e
}

func cleanFacts() *story {
	s := opening()
	// Answered, asked for, changed, not answered: then either may be found.
	s.fact(Read, "name", "whatever was before", 0)
	s.fact(Asked, "name", "one", 0)
	s.fact(Answered, "name", "one", 0)
	s.fact(Read, "name", "one", 0)
	s.fact(Asked, "name", "two", 0)
	s.fact(Read, "name", "two", 0)
	s.fact(Read, "name", "one", 0)
	s.fact(Asked, "name", "two", 0)
	s.fact(Answered, "name", "two", 0)
	s.fact(Read, "name", "two", 0)
	// A mark may be further than what was answered.
	s.fact(Asked, "mark", "", 3)
	s.fact(Answered, "mark", "", 3)
	s.fact(Read, "mark", "", 3)
	s.fact(Read, "mark", "", 4)
	// Joins are seen; one that was answered after the question need not be.
	s.joined(grp, "ann")
	s.synced("ann/1")
	s.joined(grp, "cid") // who leaves again
	s.synced("cid/1")
	// A message is sent again, long after.
	e := s.logs[dm][0]
	s.rec("ann/1", Record{Kind: Resent, Conversation: dm, Seq: e.Seq, ID: e.ID, Hash: e.Hash})
	s.ok("ann/1", e)
	// And one is taken back, and sent again after that.
	gone := s.say("bob/1", dm, "a mistake")
	s.recall(gone, "bob/1")
	s.rec("bob/1", Record{Kind: Resent, Conversation: dm, Seq: gone.Seq, ID: gone.ID, Hash: gone.Hash})
	s.ok("bob/1", gone)
	// One is edited, and reacted to.
	lunch := s.say("bob/1", dm, "lunch?")
	s.edit(lunch, "bob/1", 2)
	s.react(lunch, "ok 1", [2]string{"ann", "+ok"}, [2]string{"bob", "+no"}, [2]string{"bob", "-no"})
	// One is pinned, and one grows: neither takes anything back.
	for _, of := range []string{pinOf, partOf} {
		s.deliver(s.append(Entry{Conversation: dm, Sender: "bob", ID: of, Hash: of + fmt.Sprint(lunch.Seq), Target: lunch.Seq}))
	}
	return s
}

func TestCleanFacts(t *testing.T) {
	run := cleanFacts().endWithClerk()
	run.Lines = []Line{{Timeline: line1}}
	r := Check(run)
	if !r.OK() {
		t.Fatalf("a clean history is called broken: %v", r.Violations)
	}
	if r.Edited != 2 || r.Joined != 2 || r.Recalled != 1 || r.Resent != 2 || r.Facts != 3 {
		t.Errorf("counted %+v", r)
	}
}

// What was recalled is not unread, also for who was no member when it was.
func TestUnreadOfRecalled(t *testing.T) {
	for _, told := range []uint64{0, 1, 2} {
		s := newStory()
		s.event([]string{"ann", "bob", "cid"}, nil)
		gone := s.say("ann/1", grp, "a slip")
		s.event(nil, []string{"cid"})
		s.recall(gone, "ann/1")
		s.event([]string{"cid"}, nil)
		s.recall(s.say("ann/1", grp, "another"), "ann/1")
		s.say("bob/1", grp, "kept")
		run := s.end()
		each(&run, "", func(v *View) {
			if v.User == "cid" {
				standing(v, grp).Unread = told
			}
		})
		if r := Check(run); (told == 1) != r.OK() {
			t.Errorf("told %d: %v", told, r.Violations)
		}
	}
}

// Who left and came back has as unread what was said in both times, and nothing
// of what was said between.
func TestUnreadOfTwoTimes(t *testing.T) {
	for _, told := range []uint64{1, 2, 3} {
		s := newStory()
		s.event([]string{"ann", "bob", "cid"}, nil)
		s.say("ann/1", grp, "while cid is here")
		s.event(nil, []string{"cid"})
		s.say("ann/1", grp, "while cid is away")
		e := s.event([]string{"cid"}, nil)
		s.say("bob/1", grp, "cid is back")
		run := s.end()
		each(&run, "", func(v *View) {
			if v.User == "cid" {
				standing(v, grp).First = e.Seq
				standing(v, grp).Unread = told
			}
		})
		if r := Check(run); (told == 2) != r.OK() {
			t.Errorf("told %d: %v", told, r.Violations)
		}
	}
}

// endWithClerk is end with the history of the one who uses HTTP only.
func (s *story) endWithClerk() Run {
	run := s.end()
	run.Histories = append(run.Histories, s.histories["clerk/http"])
	return run
}

// A process that is killed and begins again may be told once more what it was
// told last, and goes on from there.
func TestStartedAgain(t *testing.T) {
	s := opening()
	last := s.logs[grp][3]
	s.rec("bob/1", Record{Kind: Started})
	s.apply("bob/1", last)
	s.say("ann/1", dm, "after the start")
	if r := Check(s.end()); !r.OK() || r.Started != 1 {
		t.Fatalf("started %d times: %v", r.Started, r.Violations)
	}
	s = opening()
	s.rec("bob/1", Record{Kind: Started})
	s.say("ann/1", dm, "after the start")
	s.apply("bob/1", last)
	if r := Check(s.end()); r.Broken[AppliedTwice] != 1 {
		t.Errorf("applied again after something new: %v", r.Violations)
	}
}

var factViolations = []violation{
	{"a name is forgotten", func(s *story) {
		s.fact(Asked, "name", "one", 0)
		s.fact(Answered, "name", "one", 0)
		s.fact(Read, "name", "", 0)
	}, nil, []Invariant{FactLost}},
	{"an older name is back", func(s *story) {
		s.fact(Asked, "name", "one", 0)
		s.fact(Answered, "name", "one", 0)
		s.fact(Asked, "name", "two", 0)
		s.fact(Answered, "name", "two", 0)
		s.fact(Read, "name", "one", 0)
	}, nil, []Invariant{FactLost}},
	{"an answered mark is forgotten", func(s *story) {
		s.fact(Asked, "mark", "", 7)
		s.fact(Answered, "mark", "", 7)
		s.fact(Read, "mark", "", 6)
	}, nil, []Invariant{FactLost}},
	{"a join is not told to who resumes", func(s *story) {
		e := s.found("ann/1", "bob/1")
		s.synced("ann/2")
		s.deliver(e, "ann/2") // too late
	}, nil, []Invariant{UnseenJoin}},
	{"a join is not in the device's list at the end", func(s *story) { s.found("ann/1", "bob/1") }, func(run *Run) {
		each(run, SourceStore, func(v *View) {
			if v.Device == "2" {
				v.Standings = slices.DeleteFunc(v.Standings, func(st Standing) bool { return st.Conversation == "grp:new" })
				v.Entries = slices.DeleteFunc(v.Entries, func(e Entry) bool { return e.Conversation == "grp:new" })
			}
		})
	}, []Invariant{UnseenJoin}},
	{"what was taken back is still there", func(s *story) {
		s.recall(s.say("bob/1", dm, "a mistake"), "bob/1")
	}, func(run *Run) {
		each(run, SourceStore, func(v *View) {
			for i := range v.Entries {
				if e := &v.Entries[i]; v.User == "ann" && e.Hash == HashRecalled {
					e.Hash = ContentHash(dm, "bob", content("a mistake"), 0)
				}
			}
		})
	}, []Invariant{Amendment}},
	{"gone, and nobody took it back", nil, func(run *Run) {
		each(run, SourceStore, func(v *View) {
			if v.Device == "2" {
				v.Entries[slices.IndexFunc(v.Entries, func(e Entry) bool { return e.Conversation == dm })].Hash = HashRecalled
			}
		})
	}, []Invariant{Amendment}},
	{"edited, and the message does not say so", func(s *story) {
		s.edit(s.say("bob/1", dm, "a mistake"), "bob/1", 2)
	}, func(run *Run) {
		each(run, SourceJournal, func(v *View) {
			for i := range v.Entries {
				if e := &v.Entries[i]; editsOf(e.Hash) > 0 {
					e.Hash = editedPrefix + "1 x"
				}
			}
		})
	}, []Invariant{Amendment}},
	{"a reaction that was answered is none", func(s *story) {
		e := s.say("bob/1", dm, "lunch?")
		s.rec("clerk/http", Record{Kind: Reacted, Conversation: dm, Seq: e.Seq, Count: e.Seq, Of: "ann"})
	}, nil, []Invariant{Amendment}},
	{"a reaction that was answered is one to another message", func(s *story) {
		e, other := s.say("bob/1", dm, "lunch?"), s.say("bob/1", dm, "or tea?")
		s.react(e, "ok 1", [2]string{"ann", "+ok"})
		s.rec("clerk/http", Record{Kind: Reacted, Conversation: dm, Seq: other.Seq, Count: other.Seq + 1, Of: "ann"})
	}, nil, []Invariant{Amendment}},
	{"an edit that was answered is of another message", func(s *story) {
		e, other := s.say("bob/1", dm, "lunch?"), s.say("bob/1", dm, "or tea?")
		s.edit(e, "bob/1", 1)
		s.rec("clerk/http", Record{Kind: Edited, Conversation: dm, Seq: other.Seq, Count: other.Seq + 1})
	}, nil, []Invariant{Amendment}},
	{"it says that it was edited, and no entry does", func(s *story) {
		s.edit(s.say("bob/1", dm, "a mistake"), "bob/1", 1)
	}, func(run *Run) {
		each(run, SourceJournal, func(v *View) {
			for i := range v.Entries {
				if e := &v.Entries[i]; editsOf(e.Hash) > 0 {
					e.Hash = editedPrefix + "2 x"
				}
			}
		})
	}, []Invariant{Amendment}},
	{"somebody holds an older version", func(s *story) {
		s.edit(s.say("bob/1", dm, "a mistake"), "bob/1", 2)
	}, func(run *Run) {
		each(run, SourceStore, func(v *View) {
			for i := range v.Entries {
				if e := &v.Entries[i]; v.User == "ann" && editsOf(e.Hash) > 0 {
					e.Hash = editedPrefix + "1 x"
				}
			}
		})
	}, []Invariant{Amendment}},
	{"edited without an entry", func(s *story) {
		s.rec("clerk/http", Record{Kind: Editing, Conversation: dm, Seq: 2})
		s.rec("clerk/http", Record{Kind: Edited, Conversation: dm, Seq: 2, Count: 3})
	}, nil, []Invariant{Amendment}},
	{"a message says other reactions than its entries", func(s *story) {
		s.react(s.say("bob/1", dm, "lunch?"), "ok 2", [2]string{"ann", "+ok"}, [2]string{"bob", "+ok"}, [2]string{"bob", "-ok"})
	}, nil, []Invariant{Amendment}},
	{"reactions that nobody made", func(s *story) {
		s.react(s.say("bob/1", dm, "lunch?"), "ok 1")
	}, nil, []Invariant{Amendment}},
	{"the same reaction is stored twice", func(s *story) {
		s.react(s.say("bob/1", dm, "lunch?"), "ok 1", [2]string{"ann", "+ok"}, [2]string{"ann", "+ok"})
	}, nil, []Invariant{Amendment}},
	{"taken back without an entry", func(s *story) {
		s.rec("clerk/http", Record{Kind: Recalling, Conversation: dm, Seq: 2})
		s.rec("clerk/http", Record{Kind: Recalled, Conversation: dm, Seq: 2, Count: 3})
	}, nil, []Invariant{Amendment}},
	{"an old id gets a new place", func(s *story) {
		e := s.logs[dm][0]
		s.rec("ann/1", Record{Kind: Resent, Conversation: dm, Seq: e.Seq, ID: e.ID, Hash: e.Hash})
		e.Seq = 9
		s.ok("ann/1", e)
	}, nil, []Invariant{StoredTwice}},
	{"an old id is stored again", func(s *story) {
		e := s.logs[dm][0]
		s.rec("ann/1", Record{Kind: Resent, Conversation: dm, Seq: e.Seq, ID: e.ID, Hash: e.Hash})
		s.append(e)
	}, nil, []Invariant{StoredTwice}},
	{"an old id is refused", func(s *story) {
		e := s.logs[dm][0]
		s.rec("ann/1", Record{Kind: Resent, Conversation: dm, Seq: e.Seq, ID: e.ID, Hash: e.Hash})
		s.rec("ann/1", Record{Kind: Failed, Conversation: dm, Hash: e.Hash, Code: "not_found"})
	}, nil, []Invariant{ChangedAnswer}},
	{"two leave with one entry, one goes on", func(s *story) {
		s.event(nil, []string{"ann", "bob"})
		e := s.append(Entry{Conversation: grp, Sender: "ann", ID: "event 6", Hash: "event 6"})
		s.rec("bob/1", Record{Kind: Received, Conversation: grp, Seq: e.Seq, ID: e.ID, Hash: e.Hash})
	}, nil, []Invariant{Outsider}},
	{"a connection goes on in an old history", func(s *story) {
		s.clock += int64(time.Minute)
		s.asks("bob/1", dm, 2)
	}, func(run *Run) {
		run.Lines = []Line{{"timeline-0", 0}, {line1, 1}, {"timeline-2", int64(time.Second)}}
		for i := range run.Histories { // the others were told
			for k := range run.Histories[i] {
				if r := &run.Histories[i][k]; r.Mono < int64(time.Second) {
					continue
				} else if r.User != "bob" {
					r.Timeline = "timeline-2"
				}
			}
		}
	}, []Invariant{OldTimeline}},
}

func TestFactViolations(t *testing.T) {
	for _, tt := range factViolations {
		t.Run(tt.name, func(t *testing.T) {
			s := opening()
			if tt.during != nil {
				tt.during(s)
			}
			run := s.endWithClerk()
			if tt.after != nil {
				tt.after(&run)
			}
			expectBroken(t, Check(run), tt.want)
		})
	}
}
