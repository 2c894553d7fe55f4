package soak

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/skein-im/skein/wire"
)

const (
	dm    = "dm:ann:bob"
	grp   = "grp:g"
	line1 = "timeline-1"
)

// story builds the run of a small deployment: ann has two devices, bob and cid
// one each; ann and bob chat, all three are in a group, cid leaves it.
type story struct {
	clock     int64
	histories map[string][]Record // by device
	logs      map[string][]Entry
	read      map[[2]string]uint64 // user, conversation
	skip      map[string]bool      // devices that get nothing now
}

var devices = []string{"ann/1", "ann/2", "bob/1", "cid/1"}

func newStory() *story {
	s := &story{
		histories: map[string][]Record{}, logs: map[string][]Entry{},
		read: map[[2]string]uint64{}, skip: map[string]bool{},
	}
	for _, d := range devices {
		s.rec(d, Record{Kind: Connected})
	}
	return s
}

// rec adds a record a microsecond after the one before.
func (s *story) rec(device string, r Record) int64 {
	s.clock += 1000
	r.User, r.Device, _ = strings.Cut(device, "/")
	r.Mono = s.clock
	if r.Timeline == "" {
		r.Timeline = line1
	}
	s.histories[device] = append(s.histories[device], r)
	return s.clock
}

func user(device string) string { u, _, _ := strings.Cut(device, "/"); return u }

func content(text string) *wire.Content {
	return &wire.Content{Type: "text", Body: &wire.Content_Text{Text: text}}
}

func (s *story) hash(device, conv, text string) string {
	return ContentHash(conv, user(device), content(text), 0)
}

func id(text string) string { return "id-" + text }

func (s *story) invoke(device, conv, text string) {
	s.rec(device, Record{Kind: Invoked, Conversation: conv, Hash: s.hash(device, conv, text), ID: id(text)})
}

// store puts a message at the end of its conversation.
func (s *story) store(device, conv, text string) Entry {
	return s.append(Entry{Conversation: conv, Sender: user(device), ID: id(text), Hash: s.hash(device, conv, text), Message: true})
}

func (s *story) append(e Entry) Entry {
	log := s.logs[e.Conversation]
	e.Seq = uint64(len(log) + 1)
	if len(log) > 0 {
		e.Count = log[len(log)-1].Count
	}
	if e.Message {
		e.Count++
		s.read[[2]string{e.Sender, e.Conversation}] = e.Seq
	}
	s.logs[e.Conversation] = append(log, e)
	return e
}

func (s *story) ok(device string, e Entry) {
	s.rec(device, Record{Kind: OK, Conversation: e.Conversation, Seq: e.Seq, ID: e.ID, Hash: e.Hash})
}

func (s *story) apply(device string, e Entry) {
	s.rec(device, Record{Kind: Applied, Conversation: e.Conversation, Seq: e.Seq, ID: e.ID, Hash: e.Hash})
}

// deliver shows the entry to every device of a member.
func (s *story) deliver(e Entry, to ...string) {
	for _, d := range devices {
		if s.skip[d] || (len(to) > 0 && !slices.Contains(to, d)) {
			continue
		}
		if may := s.members().may(user(d), e.Conversation, e.Seq); !may {
			continue
		}
		s.rec(d, Record{Kind: Received, Conversation: e.Conversation, Seq: e.Seq, ID: e.ID, Hash: e.Hash})
		s.apply(d, e)
	}
}

func (s *story) members() *membership {
	var v View
	for _, log := range s.logs {
		v.Entries = append(v.Entries, log...)
	}
	return membershipOf([]View{v})
}

// say is a message with all that follows from it.
func (s *story) say(device, conv, text string) Entry {
	s.invoke(device, conv, text)
	e := s.store(device, conv, text)
	s.ok(device, e)
	s.deliver(e)
	return e
}

func (s *story) event(joined, left []string) Entry {
	e := s.append(Entry{
		Conversation: grp, Sender: "ann", ID: fmt.Sprint("event", s.clock), Hash: fmt.Sprint("event ", s.clock),
		Joined: joined, Left: left,
	})
	s.deliver(e)
	return e
}

// asks is a question for the head, answered.
func (s *story) asks(device, conv string, head uint64) {
	since := s.rec(device, Record{Kind: Cursor, Conversation: conv}) // any record before the question
	s.rec(device, Record{Kind: Head, Conversation: conv, Seq: head, Since: since})
}

func (s *story) marked(device, conv, of string, seq uint64) {
	s.rec(device, Record{Kind: Mark, Conversation: conv, Of: of, Seq: seq})
}

// end makes the final views.
func (s *story) end() Run {
	var run Run
	for _, d := range devices {
		run.Histories = append(run.Histories, s.histories[d])
	}
	m := s.members()
	view := func(source, device string) View {
		v := View{Source: source, Timeline: line1}
		if device != "" {
			v.User, v.Device, _ = strings.Cut(device, "/")
		}
		for _, conv := range slices.Sorted(maps.Keys(s.logs)) {
			st := Standing{Conversation: conv, Member: true, Marks: source == SourceFresh}
			for _, e := range s.logs[conv] {
				if v.User != "" && !m.may(v.User, conv, e.Seq) {
					continue
				}
				if st.First == 0 {
					st.First = e.Seq
				}
				st.Last = e.Seq
				v.Entries = append(v.Entries, e)
				if e.Message && e.Hash != HashRecalled && e.Seq > s.read[[2]string{v.User, conv}] {
					st.Unread++
				}
			}
			st.Read = s.read[[2]string{v.User, conv}]
			st.Member = m.may(v.User, conv, uint64(len(s.logs[conv])))
			if st.Last != 0 {
				v.Standings = append(v.Standings, st)
			}
		}
		return v
	}
	run.Views = append(run.Views, view(SourceJournal, ""))
	for _, d := range devices {
		run.Views = append(run.Views, view(SourceFresh, d), view(SourceStore, d))
	}
	return run
}

// opening is the part that all stories share.
func opening() *story {
	s := newStory()
	s.event([]string{"ann", "bob", "cid"}, nil)
	s.say("ann/1", dm, "hello")
	s.say("bob/1", dm, "hi")
	s.say("cid/1", grp, "all")
	s.event(nil, []string{"cid"})
	s.say("ann/2", grp, "cid has left")
	s.asks("bob/1", dm, 2)
	s.marked("ann/1", dm, "bob", 1)
	s.marked("ann/1", dm, "bob", 2)
	return s
}

// each calls f for the views of a source ("" = all).
func each(run *Run, source string, f func(v *View)) {
	for i := range run.Views {
		if source == "" || run.Views[i].Source == source {
			f(&run.Views[i])
		}
	}
}

func standing(v *View, conv string) *Standing {
	for i := range v.Standings {
		if v.Standings[i].Conversation == conv {
			return &v.Standings[i]
		}
	}
	return &Standing{}
}

func TestCleanHistory(t *testing.T) {
	s := opening()
	// A message without an answer that is stored, one that is not, one refused,
	// one turned away and sent again, before the next.
	s.invoke("ann/1", dm, "stored, unanswered")
	s.rec("ann/1", Record{Kind: Unknown, Conversation: dm, Hash: s.hash("ann/1", dm, "stored, unanswered")})
	s.deliver(s.store("ann/1", dm, "stored, unanswered"))
	s.invoke("bob/1", dm, "lost, unanswered")
	s.invoke("cid/1", grp, "refused")
	s.rec("cid/1", Record{Kind: Failed, Conversation: grp, Hash: s.hash("cid/1", grp, "refused"), Code: "not_found"})
	s.invoke("bob/1", dm, "late")
	s.rec("bob/1", Record{Kind: Retry, Conversation: dm, Hash: s.hash("bob/1", dm, "late"), Code: "overloaded", Why: "too much waits"})
	late := s.store("bob/1", dm, "late")
	s.ok("bob/1", late)
	s.deliver(late)
	s.say("bob/1", dm, "next")
	s.asks("cid/1", grp, 3) // cid has left, and is answered as far as they may see
	// cid comes back and sees nothing of what was between.
	s.event([]string{"cid"}, nil)
	s.rec("cid/1", Record{Kind: Gap, Conversation: grp, Seq: 4, Count: 4})
	s.say("cid/1", grp, "again")
	// A receipt may lie behind what a sync told, an answer behind what came after
	// it was asked for.
	asked := s.rec("ann/1", Record{Kind: Cursor, Conversation: dm})
	s.rec("ann/1", Record{Kind: Mark, Conversation: dm, Of: "ann", Seq: 3, Since: asked})
	s.marked("ann/1", dm, "ann", 1)
	s.marked("ann/1", dm, "ann", 4)
	s.rec("ann/1", Record{Kind: Mark, Conversation: dm, Of: "ann", Seq: 3, Since: asked})
	s.marked("ann/1", dm, "bob", 1) // so may one receipt behind another: two nodes sent them
	run := s.end()
	// cid's device keeps the part before, too; the server shows the new part only.
	each(&run, SourceFresh, func(v *View) {
		if v.User == "cid" {
			standing(v, grp).First = 5
			v.Entries = slices.DeleteFunc(v.Entries, func(e Entry) bool { return e.Conversation == grp && e.Seq < 5 })
		}
	})
	each(&run, SourceStore, func(v *View) {
		if v.User == "cid" {
			standing(v, grp).First = 5
		}
	})
	r := Check(run)
	if !r.OK() {
		t.Fatalf("a clean history is called broken: %v", r.Violations)
	}
	if r.Sent != 10 || r.Acked != 7 || r.Failed != 1 || r.Unknown != 2 || r.Rejected != 1 || r.RejectedFor["overloaded: too much waits"] != 1 || r.Unanswered != 1 {
		t.Errorf("counted %+v", r)
	}
	if r.LongestNoAck <= 0 {
		t.Error("no window without acks")
	}
}

// Each row breaks one promise and nothing else.
func TestViolations(t *testing.T) {
	for _, tt := range violations {
		t.Run(tt.name, func(t *testing.T) {
			s := opening()
			if tt.during != nil {
				tt.during(s)
			}
			run := s.end()
			if tt.after != nil {
				tt.after(&run)
			}
			expectBroken(t, Check(run), tt.want)
			if clean := Check(opening().end()); !clean.OK() {
				t.Errorf("the opening is broken itself: %v", clean.Violations)
			}
		})
	}
}

func expectBroken(t *testing.T, r *Report, want []Invariant) {
	t.Helper()
	var got []Invariant
	for i := range r.Broken {
		got = append(got, i)
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("found %q, want %q: %v", got, want, r.Violations)
	}
}

// Every invariant has a row.
func TestEveryInvariantIsProved(t *testing.T) {
	all := []Invariant{
		Lost, Phantom, StoredTwice, AppliedTwice, Disagree, Hole, Misordered, RealTime, SenderOrder, StaleRead, HeadBack,
		MarkBack, MarkBeyond, MarkLost, WrongUnread, WrongCount, Outsider, Diverged, EarlyAck, ChangedAnswer, Protocol,
		UnseenJoin, Amendment, FactLost, OldTimeline, NotReset, NeedlessReset,
	}
	proved := map[Invariant]bool{}
	for _, tt := range slices.Concat(violations, factViolations) {
		if len(tt.want) == 1 {
			proved[tt.want[0]] = true
		}
	}
	for _, tt := range returnViolations {
		proved[tt.want[0]] = true
	}
	for _, i := range all {
		if !proved[i] {
			t.Errorf("no history violates %q alone", i)
		}
	}
}

type violation struct {
	name   string
	during func(*story)
	after  func(*Run)
	want   []Invariant
}

var violations = []violation{
	{"acknowledged, nowhere", func(s *story) {
		s.invoke("ann/1", dm, "gone")
		s.ok("ann/1", Entry{Conversation: dm, Seq: 3, ID: id("gone"), Hash: s.hash("ann/1", dm, "gone")})
	}, nil, []Invariant{Lost}},
	{"shown, then gone", func(s *story) {
		s.invoke("ann/1", dm, "gone")
		e := Entry{Conversation: dm, Seq: 3, ID: id("gone"), Hash: s.hash("ann/1", dm, "gone")}
		s.apply("bob/1", e)
	}, nil, []Invariant{Lost}},
	{"acknowledged, missing on one device", func(s *story) {
		s.skip["ann/2"] = true
		s.say("bob/1", dm, "not for the tablet")
	}, func(run *Run) {
		each(run, SourceStore, func(v *View) {
			if v.Device == "2" {
				standing(v, dm).Last = 2
				v.Entries = slices.DeleteFunc(v.Entries, func(e Entry) bool { return e.Conversation == dm && e.Seq == 3 })
			}
		})
	}, []Invariant{Lost, Diverged}},
	{"an unanswered message missing on one device", func(s *story) {
		s.invoke("bob/1", dm, "not for the tablet")
		s.store("bob/1", dm, "not for the tablet")
	}, func(run *Run) {
		each(run, SourceStore, func(v *View) {
			if v.Device == "2" {
				standing(v, dm).Last = 2
				v.Entries = slices.DeleteFunc(v.Entries, func(e Entry) bool { return e.Conversation == dm && e.Seq == 3 })
			}
		})
	}, []Invariant{Diverged}},
	{"nobody sent it", func(s *story) {
		s.deliver(s.store("ann/1", dm, "who said that"))
	}, nil, []Invariant{Phantom}},
	{"other words", func(s *story) {
		s.invoke("ann/1", dm, "yes")
		e := s.store("ann/1", dm, "no")
		s.deliver(e)
	}, nil, []Invariant{Phantom}},
	{"refused, yet stored", func(s *story) {
		s.invoke("ann/1", dm, "refused")
		s.rec("ann/1", Record{Kind: Failed, Conversation: dm, Hash: s.hash("ann/1", dm, "refused"), Code: "muted"})
		s.deliver(s.store("ann/1", dm, "refused"))
	}, nil, []Invariant{Phantom}},
	{"under another id", func(s *story) {
		s.invoke("ann/1", dm, "renamed")
		e := s.append(Entry{Conversation: dm, Sender: "ann", ID: "another", Hash: s.hash("ann/1", dm, "renamed"), Message: true})
		s.deliver(e)
	}, nil, []Invariant{Phantom}},
	{"stored twice", func(s *story) {
		s.invoke("ann/1", dm, "twin")
		s.store("ann/1", dm, "twin")
		s.store("ann/1", dm, "twin")
	}, nil, []Invariant{StoredTwice}},
	{"a resend got another number", func(s *story) {
		e := s.say("ann/1", dm, "once")
		e.Seq = 2
		s.rec("ann/1", Record{Kind: OK, Conversation: dm, Seq: 9, Hash: e.Hash})
	}, nil, []Invariant{StoredTwice}},
	{"applied twice", func(s *story) { s.apply("bob/1", s.logs[dm][1]) }, nil, []Invariant{AppliedTwice}},
	{"two entries in one place", nil, func(run *Run) {
		each(run, SourceStore, func(v *View) {
			if v.User == "cid" {
				v.Entries[0].Hash = "event other"
			}
		})
	}, []Invariant{Disagree}},
	{"acknowledged in another place", func(s *story) {
		s.invoke("ann/1", dm, "third")
		s.invoke("ann/1", dm, "fourth")
		a, b := s.store("ann/1", dm, "third"), s.store("ann/1", dm, "fourth")
		a.Seq, b.Seq = b.Seq, a.Seq
		s.ok("ann/1", a)
		s.ok("ann/1", b)
	}, nil, []Invariant{Disagree}},
	{"skipped", func(s *story) {
		s.skip["bob/1"] = true
		s.say("ann/1", dm, "3")
		s.skip["bob/1"] = false
		s.say("ann/1", dm, "4")
	}, nil, []Invariant{Hole}},
	{"the cursor passes", func(s *story) { s.rec("bob/1", Record{Kind: Cursor, Conversation: dm, Seq: 3}) }, nil, []Invariant{Hole}},
	{"a hole in a store", nil, func(run *Run) {
		each(run, SourceStore, func(v *View) {
			if v.User == "bob" { // the entry with which cid left: no message is lost
				v.Entries = slices.DeleteFunc(v.Entries, func(e Entry) bool { return e.Conversation == grp && e.Seq == 3 })
			}
		})
	}, []Invariant{Hole}},
	{"applied late", func(s *story) {
		s.invoke("ann/1", dm, "3")
		s.invoke("ann/1", dm, "4")
		three, four := s.store("ann/1", dm, "3"), s.store("ann/1", dm, "4")
		s.deliver(four, "bob/1")
		s.deliver(three, "bob/1")
	}, nil, []Invariant{Hole, Misordered}},
	{"applied backwards", func(s *story) {
		const other = "dm:ann:cid"
		s.invoke("ann/1", other, "1")
		s.invoke("ann/1", other, "2")
		one, two := s.store("ann/1", other, "1"), s.store("ann/1", other, "2")
		s.deliver(two, "cid/1")
		s.deliver(one, "cid/1")
	}, nil, []Invariant{Misordered}},
	{"sent later, stands earlier", func(s *story) {
		s.invoke("ann/1", dm, "early")
		s.invoke("bob/1", dm, "late")
		late, early := s.store("bob/1", dm, "late"), Entry{}
		s.histories["bob/1"] = slices.DeleteFunc(s.histories["bob/1"], func(r Record) bool { return r.Hash == late.Hash })
		early = s.store("ann/1", dm, "early")
		s.ok("ann/1", early)
		s.invoke("bob/1", dm, "late")
	}, nil, []Invariant{RealTime}},
	{"two messages of a device change places", func(s *story) {
		s.invoke("ann/1", dm, "one")
		s.invoke("ann/1", dm, "two")
		two, one := s.store("ann/1", dm, "two"), s.store("ann/1", dm, "one")
		s.ok("ann/1", one)
		s.ok("ann/1", two)
	}, nil, []Invariant{SenderOrder}},
	{"overtaken after a refusal", func(s *story) {
		s.invoke("ann/1", dm, "one")
		s.rec("ann/1", Record{Kind: Retry, Conversation: dm, Hash: s.hash("ann/1", dm, "one"), Code: "overloaded"})
		s.invoke("ann/1", dm, "two")
		two, one := s.store("ann/1", dm, "two"), s.store("ann/1", dm, "one")
		s.ok("ann/1", two)
		s.ok("ann/1", one)
	}, nil, []Invariant{SenderOrder}},
	{"an ack is not shown", func(s *story) {
		s.invoke("ann/1", dm, "new")
		s.ok("ann/1", s.store("ann/1", dm, "new"))
		s.asks("bob/1", dm, 2)
	}, nil, []Invariant{StaleRead}},
	{"who is back is answered as if they were not", func(s *story) {
		s.event([]string{"cid"}, nil)
		s.asks("cid/1", grp, 3)
	}, nil, []Invariant{HeadBack}},
	{"the head goes back", func(s *story) {
		s.invoke("ann/1", dm, "new")
		s.store("ann/1", dm, "new")
		s.asks("bob/1", dm, 3)
		s.asks("bob/1", dm, 2)
	}, nil, []Invariant{HeadBack}},
	{"a mark goes back in a crash", func(s *story) {
		s.rec("ann/1", Record{Kind: Connected})
		since := s.rec("ann/1", Record{Kind: Cursor, Conversation: dm})
		s.rec("ann/1", Record{Kind: Mark, Conversation: dm, Of: "bob", Seq: 1, Since: since})
	}, nil, []Invariant{MarkBack}},
	{"a mark goes back in an answer", func(s *story) {
		since := s.rec("ann/1", Record{Kind: Cursor, Conversation: dm})
		s.rec("ann/1", Record{Kind: Mark, Conversation: dm, Of: "bob", Seq: 1, Since: since})
	}, nil, []Invariant{MarkBack}},
	{"a mark beyond the end", func(s *story) { s.marked("ann/1", dm, "bob", 7) }, nil, []Invariant{MarkBeyond}},
	{"what was read is forgotten", func(s *story) {
		s.rec("ann/2", Record{Kind: ReadSet, Conversation: dm, Seq: 2})
	}, nil, []Invariant{MarkLost}},
	{"own messages are not read", nil, func(run *Run) {
		each(run, SourceFresh, func(v *View) {
			if v.User == "bob" {
				standing(v, dm).Read, standing(v, dm).Unread = 1, 1
			}
		})
	}, []Invariant{MarkLost}},
	{"one too many unread", nil, func(run *Run) {
		each(run, SourceFresh, func(v *View) {
			if v.User == "ann" {
				standing(v, dm).Unread++
			}
		})
	}, []Invariant{WrongUnread}},
	{"unread below nothing", func(s *story) {
		s.rec("ann/1", Record{Kind: Unread, Conversation: dm, Count: ^uint64(0)})
	}, nil, []Invariant{WrongUnread}},
	{"counted wrong", nil, func(run *Run) {
		each(run, SourceFresh, func(v *View) {
			if v.User == "bob" {
				v.Entries[1].Count++
			}
		})
	}, []Invariant{WrongCount}},
	{"shown after leaving", func(s *story) {
		e := s.logs[grp][3]
		s.rec("cid/1", Record{Kind: Received, Conversation: grp, Seq: e.Seq, ID: e.ID, Hash: e.Hash})
	}, nil, []Invariant{Outsider}},
	{"shown to a third", func(s *story) {
		e := s.logs[dm][0]
		s.rec("cid/1", Record{Kind: Received, Conversation: dm, Seq: e.Seq, ID: e.ID, Hash: e.Hash})
	}, nil, []Invariant{Outsider}},
	{"taken after leaving", func(s *story) {
		s.invoke("cid/1", grp, "I am still here")
		s.deliver(s.store("cid/1", grp, "I am still here"))
		delete(s.read, [2]string{"cid", grp})
	}, nil, []Invariant{Outsider}},
	{"behind after the heal", nil, func(run *Run) {
		each(run, SourceStore, func(v *View) {
			if v.User == "bob" { // lacks an entry that is no message
				v.Standings = slices.DeleteFunc(v.Standings, func(st Standing) bool { return st.Conversation == "me:bob" })
			}
		})
		for i := range run.Views {
			if v := &run.Views[i]; v.User == "" || (v.User == "bob" && v.Source == SourceFresh) {
				v.Standings = append(v.Standings, Standing{Conversation: "me:bob", First: 1, Last: 1, Member: true, Marks: v.Source == SourceFresh})
				v.Entries = append(v.Entries, Entry{Conversation: "me:bob", Seq: 1, Hash: "event asked", Sender: "ann", ID: "x"})
			}
		}
	}, []Invariant{Diverged}},
	{"faster than the disk", nil, func(run *Run) { run.MinAck = 1500 * time.Nanosecond }, []Invariant{EarlyAck}},
	{"refused after the ack", func(s *story) {
		e := s.say("ann/1", dm, "decide")
		s.rec("ann/1", Record{Kind: Failed, Conversation: dm, Hash: e.Hash, Code: "muted"})
	}, nil, []Invariant{ChangedAnswer}},
	{"a part that was left out", func(s *story) { s.rec("ann/1", Record{Kind: Gap, Conversation: dm, Seq: 1, Count: 1}) }, nil, []Invariant{Hole}},
	{"out of the protocol", func(s *story) { s.rec("ann/1", Record{Kind: Misbehaved, Code: "a frame nobody knows"}) }, nil, []Invariant{Protocol}},
}

func TestTimelines(t *testing.T) {
	// The server lost the end of a conversation and said so: devices begin anew.
	s := opening()
	lost := s.say("ann/1", dm, "lost with the timeline")
	s.logs[dm] = s.logs[dm][:2]
	s.read[[2]string{"ann", dm}] = 1
	const line2 = "timeline-2"
	for _, d := range devices {
		s.rec(d, Record{Kind: Reset, Timeline: line2})
		for _, conv := range []string{dm, grp} {
			for _, e := range s.logs[conv] {
				if s.members().may(user(d), conv, e.Seq) {
					s.rec(d, Record{Kind: Applied, Timeline: line2, Conversation: conv, Seq: e.Seq, ID: e.ID, Hash: e.Hash})
				}
			}
		}
	}
	run := s.end()
	each(&run, "", func(v *View) { v.Timeline = line2 })
	r := Check(run)
	if len(r.Broken) != 1 || r.Broken[Lost] != 1 || r.Lost != 1 || r.Gone != 1 || r.Violations[0].Seq != lost.Seq {
		t.Errorf("want exactly the one lost message, got %v", r.Violations)
	}
}

func TestHistoryReadsWhatRecorderWrote(t *testing.T) {
	var file bytes.Buffer
	r := NewRecorder(&file, "ann", "1")
	at := r.Add(Record{Kind: Invoked, Conversation: dm, Hash: "h", ID: "i"})
	later := r.Add(Record{Kind: OK, Conversation: dm, Seq: 1<<53 + 1, Timeline: line1, Hash: "h", ID: "i"})
	if err := r.Err(); err != nil || later < at {
		t.Fatal(err, at, later)
	}
	whole := file.Len()
	got, err := ReadHistory(bytes.NewReader(file.Bytes()))
	if err != nil || len(got) != 2 || got[1].Seq != 1<<53+1 || got[1].Mono != later || got[0].User != "ann" {
		t.Fatal(got, err)
	}
	// A kill in the middle of a line costs that line only.
	got, err = ReadHistory(bytes.NewReader(file.Bytes()[:whole-5]))
	if err != nil || len(got) != 1 {
		t.Fatal(got, err)
	}
}
