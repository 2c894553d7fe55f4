package soak

import (
	"bytes"
	"maps"
	"slices"
	"testing"
	"time"
)

// copied is a copy of a story's store.
type copied struct {
	logs  map[string][]Entry
	read  map[[2]string]uint64
	began int64
	line  int
}

func (s *story) copy(line int) copied {
	c := copied{logs: map[string][]Entry{}, read: maps.Clone(s.read), line: line}
	for name, log := range s.logs {
		c.logs[name] = slices.Clone(log)
	}
	s.clock += 1000
	c.began = s.clock
	return c
}

// journal is the store as it is.
func (s *story) journal() View { return s.end().Views[0] }

// putBack ends the server and starts it with a copy.
func (s *story) putBack(c copied) Return {
	s.clock += 1000
	r := Return{CopyBegan: c.began, CopyEnded: c.began, Of: c.line, Over: s.clock, End: s.journal()}
	s.logs, s.read = c.logs, c.read
	s.clock += int64(time.Second)
	r.Kept, r.Began, r.Ready = s.journal(), s.clock, s.clock
	return r
}

// resets tells devices so and shows them what there is.
func (s *story) resets(to ...string) {
	for _, d := range to {
		s.rec(d, Record{Kind: Reset})
	}
	for _, name := range slices.Sorted(maps.Keys(s.logs)) {
		for _, e := range s.logs[name] {
			s.deliver(e, to...)
		}
	}
}

// A server is put back three times, the second time to a copy that is older than
// the first return. What each return loses is counted, and nothing else is lost.
func TestPutBack(t *testing.T) {
	s := opening()
	oldest := s.copy(0)
	s.say("ann/1", dm, "in one copy")
	kept := s.copy(0)
	lost := s.say("bob/1", dm, "in no copy")
	s.say("ann/1", dm, "in no copy either")
	first := s.putBack(kept)
	s.resets(devices...)
	s.say("ann/1", dm, "of the second history")
	// What is lost may be sent again, and come to stand where it was.
	s.rec("bob/1", Record{Kind: Resent, Conversation: dm, Seq: lost.Seq, ID: lost.ID, Hash: lost.Hash})
	again := s.store("bob/1", dm, "in no copy")
	s.ok("bob/1", again)
	s.deliver(again)
	second := s.putBack(oldest)
	s.resets(devices...)
	s.say("bob/1", dm, "of the third history")
	newer := s.copy(2)
	third := s.putBack(newer) // without anything lost
	s.say("ann/1", dm, "of the fourth history")
	run := s.end()
	run.Returns = []Return{first, second, third}
	r := Check(run)
	if !r.OK() {
		t.Fatalf("clean returns are called broken: %v", r.Violations)
	}
	// Of the opening three in dm and grp each, and of those later two are there.
	if r.Returned != 3 || r.WentBack != 4 || r.Acked != 6 || r.Sent != 10 || r.Resets != 8 {
		t.Errorf("returned %d, went back %d, acknowledged %d, sent %d, resets %d", r.Returned, r.WentBack, r.Acked, r.Sent, r.Resets)
	}
}

// A message that was acknowledged and not applied yet when the device was reset
// may be sent once more, though no program asked for it.
func TestSentAnewByTheOutbox(t *testing.T) {
	s := opening()
	c := s.copy(0)
	s.skip["ann/1"] = true // its acknowledgement is there, it is not applied
	e := s.say("ann/1", dm, "acknowledged")
	s.skip["ann/1"] = false
	r := s.putBack(c)
	s.resets(devices...)
	s.say("ann/1", dm, "before it")
	again := s.append(Entry{Conversation: dm, Sender: "ann", ID: e.ID, Hash: e.Hash, Message: true})
	s.deliver(again)
	run := s.end()
	run.Returns = []Return{r}
	if r := Check(run); !r.OK() {
		t.Fatal(r.Violations)
	}
}

// A message that was lost by the return may be stored again by a node that outlived it
// and still had the request, though its device has shown it: soon after only, and where
// there are such nodes.
func TestStoredAnewByANode(t *testing.T) {
	for name, tt := range map[string]struct {
		stays, ok bool
		before    time.Duration
	}{"nodes stay": {true, true, 0}, "nodes stay, long ago": {true, false, time.Minute}, "none": {false, false, 0}} {
		s := opening()
		c := s.copy(0)
		e := s.say("ann/1", dm, "acknowledged and shown")
		s.clock += int64(tt.before)
		r := s.putBack(c)
		r.Stays = tt.stays
		s.resets(devices...)
		s.deliver(s.append(Entry{Conversation: dm, Sender: "ann", ID: e.ID, Hash: e.Hash, Message: true}))
		run := s.end()
		run.Returns = []Return{r}
		if got := Check(run); got.OK() != tt.ok {
			t.Errorf("%s: %v", name, got.Violations)
		}
	}
}

// Where connections outlive a return, a device is shown entries of the new history
// in the places of old ones until it is told; it forgets them then. Where they do
// not, that is a broken promise.
func TestShownBetweenTwoHistories(t *testing.T) {
	for _, stays := range []bool{true, false} {
		s := opening()
		c := s.copy(0)
		s.say("ann/1", dm, "lost")
		r := s.putBack(c)
		r.Stays = stays
		s.say("bob/1", dm, "of the new history, in its place")
		s.rec("ann/1", Record{Kind: Misbehaved, Code: "a mark beyond the last entry"})
		s.resets(devices...)
		s.say("ann/1", dm, "after that")
		run := s.end()
		run.Returns = []Return{r}
		if got := Check(run); got.OK() != stays {
			t.Errorf("connections stay %v: %v", stays, got.Violations)
		}
	}
}

var returnViolations = []struct {
	name  string
	story func(*story) Return
	want  []Invariant
}{
	{"the copy lacks what was acknowledged before it", func(s *story) Return {
		c := s.copy(0)
		s.say("ann/1", dm, "before the copy")
		c.began = s.clock + 1
		s.clock += 1000
		r := s.putBack(c)
		s.resets(devices...)
		return r
	}, []Invariant{Lost}},
	{"acknowledged after the return, and lost", func(s *story) Return {
		c := s.copy(0)
		s.say("ann/1", dm, "lost by the return")
		r := s.putBack(c)
		s.resets(devices...)
		s.invoke("ann/1", dm, "gone")
		s.ok("ann/1", Entry{Conversation: dm, Seq: 3, ID: id("gone"), Hash: s.hash("ann/1", dm, "gone")})
		return r
	}, []Invariant{Lost}},
	{"acknowledged, and not in the store when it ended", func(s *story) Return {
		c := s.copy(0)
		s.invoke("ann/1", dm, "gone")
		s.ok("ann/1", Entry{Conversation: dm, Seq: 3, ID: id("gone"), Hash: s.hash("ann/1", dm, "gone")})
		r := s.putBack(c)
		s.resets(devices...)
		return r
	}, []Invariant{Lost}},
	{"a device is not told", func(s *story) Return {
		c := s.copy(0)
		s.say("ann/1", grp, "lost by the return")
		r := s.putBack(c)
		s.resets("ann/1", "ann/2", "cid/1")
		s.clock += int64(time.Minute)
		s.synced("bob/1") // it has grp up to 5, and nothing of it is shown to it again
		return r
	}, []Invariant{NotReset}},
	{"a device is told late", func(s *story) Return {
		c := s.copy(0)
		s.say("ann/1", dm, "lost by the return")
		r := s.putBack(c)
		s.resets("ann/1", "ann/2", "cid/1")
		s.clock += int64(time.Minute)
		s.marked("bob/1", dm, "ann", 1)
		s.resets("bob/1")
		return r
	}, []Invariant{OldTimeline}},
	{"a device skips what is new", func(s *story) Return {
		c := s.copy(0)
		s.say("ann/1", dm, "lost by the return")
		r := s.putBack(c)
		s.resets("ann/1", "ann/2", "cid/1")
		s.skip["bob/1"] = true
		s.say("ann/1", dm, "where the lost one was")
		s.skip["bob/1"] = false
		s.say("ann/1", dm, "behind it")
		return r
	}, []Invariant{Hole}},
	{"reset, though nothing had gone", func(s *story) Return {
		s.resets("bob/1")
		r := s.putBack(s.copy(0))
		return r
	}, []Invariant{NeedlessReset}},
	{"reset again, though nothing had gone since", func(s *story) Return {
		c := s.copy(0)
		s.say("ann/1", dm, "lost by the return")
		r := s.putBack(c)
		s.resets(devices...)
		s.rec("bob/1", Record{Kind: Disconnected})
		s.resets("bob/1")
		return r
	}, []Invariant{NeedlessReset}},
}

func TestPutBackViolations(t *testing.T) {
	for _, tt := range returnViolations {
		t.Run(tt.name, func(t *testing.T) {
			s := opening()
			r := tt.story(s)
			run := s.end()
			run.Returns = []Return{r}
			expectBroken(t, Check(run), tt.want)
		})
	}
}

// An answer is of the time at which it came, however late it is written down: what
// is asked in between may wait for a server that was put back.
func TestStampOfAnAnswer(t *testing.T) {
	var b bytes.Buffer
	r := NewRecorder(&b, "ann", "1")
	came := Now()
	if at := r.Add(Record{Kind: OK, Mono: came}); at != came {
		t.Errorf("stamped %d, came at %d", at, came)
	}
	if at := r.Add(Record{Kind: Invoked}); at <= came {
		t.Errorf("stamped %d, after %d", at, came)
	}
}
