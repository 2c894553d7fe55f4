package soak

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Invariant names a promise.
type Invariant string

// The invariants. Each is checked in time linear (or n log n) in the history.
const (
	// Lost: an acknowledged message, or one that was shown to somebody, is missing
	// in a view that should hold it.
	Lost Invariant = "lost"
	// Dropped: a message that was in an outbox on disk is neither stored nor refused.
	Dropped Invariant = "dropped"
	// Untold: a device holds what its program was never told.
	Untold Invariant = "untold"
	// Phantom: an entry that nobody sent, says something else than was sent, stands
	// under another id, or had been refused for good.
	Phantom Invariant = "phantom"
	// StoredTwice: a message stands in more than one place.
	StoredTwice Invariant = "stored twice"
	// AppliedTwice: a device applied an entry again.
	AppliedTwice Invariant = "applied twice"
	// Disagree: two observers saw different entries in one place.
	Disagree Invariant = "disagree"
	// Hole: entries that a device could see were skipped, or a cursor passed them.
	Hole Invariant = "hole"
	// Misordered: a device applied an entry after a later one.
	Misordered Invariant = "applied out of order"
	// RealTime: a message that was sent after another was acknowledged stands before it.
	RealTime Invariant = "real-time order"
	// SenderOrder: messages of a device stand in another order than it sent them.
	SenderOrder Invariant = "sender order"
	// StaleRead: an answer did not show what had been acknowledged before it was asked for.
	StaleRead Invariant = "stale read"
	// HeadBack: an answer showed less than an earlier one.
	HeadBack Invariant = "head went back"
	// MarkBack: an answer told of a read mark less than the device had been told before.
	MarkBack Invariant = "mark went back"
	// MarkBeyond: a read mark lies beyond the conversation's end.
	MarkBeyond Invariant = "mark beyond head"
	// MarkLost: after all, a user's read mark lies before what they read or sent.
	MarkLost Invariant = "mark lost"
	// WrongUnread: the number of unread messages is not what can be counted.
	WrongUnread Invariant = "unread wrong"
	// WrongCount: an entry's running count is not the one before plus itself.
	WrongCount Invariant = "count wrong"
	// Outsider: something was shown to, or taken from, somebody who was no member then.
	Outsider Invariant = "outsider"
	// Diverged: after the heal a view does not reach the conversation's end.
	Diverged Invariant = "diverged"
	// EarlyAck: an answer came sooner than the disk could have synced.
	EarlyAck Invariant = "early ack"
	// ChangedAnswer: the answers for a message contradict each other.
	ChangedAnswer Invariant = "changed answer"
	// UnseenJoin: a device of a member was told everything that had changed, and
	// nothing of a conversation that its user had joined before.
	UnseenJoin Invariant = "unseen join"
	// Amendment: a message and what was done to it since do not agree: it was taken
	// back and is still there, or is gone and was not taken back.
	Amendment Invariant = "amendment"
	// FactLost: what was answered over HTTP is not so any more.
	FactLost Invariant = "fact lost"
	// OldTimeline: who was connected went on in a history that was over.
	OldTimeline Invariant = "old timeline"
	// NotReset: a device that had what the history has no more was not told so.
	NotReset Invariant = "not reset"
	// NeedlessReset: a device was told to forget everything, and nothing had gone.
	NeedlessReset Invariant = "needless reset"
	// Protocol: a client saw the server break the protocol.
	Protocol Invariant = "protocol"
)

// Line is a timeline of a run and when it began, by the machine's monotonic clock.
type Line struct {
	Timeline string `json:"timeline"`
	Began    int64  `json:"began"`
}

// toldWithin is how soon who is connected must have been told of a new timeline.
const toldWithin = 5 * time.Second

// Run is what is checked.
type Run struct {
	// Histories hold one device each, in its own order.
	Histories [][]Record
	// Views were read after the faults, when all was quiet.
	Views []View
	// MinAck, if set, is the delay that was injected into every sync of the disk.
	MinAck time.Duration
	// Lines are the timelines that followed each other while devices were connected,
	// in their order; empty if the run does not know.
	Lines []Line
	// Returns are the times at which the server was put back to an older copy of
	// itself, in their order; Lines is not needed then.
	Returns []Return
	// Crashes are when faults began, by the machine's monotonic clock: a mark that was
	// not answered for may be lost by one within markDurable (SPEC §6.3), until its
	// device connects anew.
	Crashes []int64
	// began is when this history was put in the place of another, 0 if it was not.
	began int64
}

// Violation is a broken promise.
type Violation struct {
	Invariant    Invariant `json:"invariant"`
	Conversation string    `json:"conversation,omitempty"`
	Seq          uint64    `json:"seq,omitempty"`
	Detail       string    `json:"detail"`
}

func (v Violation) String() string {
	s := string(v.Invariant)
	if v.Conversation != "" {
		s += " in " + v.Conversation
	}
	if v.Seq != 0 {
		s += fmt.Sprintf(" at %d", v.Seq)
	}
	return s + ": " + v.Detail
}

// Report is what was found.
type Report struct {
	// What happened to the messages.
	Sent    int `json:"sent"`
	Acked   int `json:"acked"`
	Failed  int `json:"failed"`
	Unknown int `json:"unknown"` // never answered: 0 or 1 times in the store
	// Unanswered counts connections' ends with a message in flight, Rejected the
	// answers that said later, and RejectedFor what they said.
	Unanswered  int            `json:"unanswered"`
	Rejected    int            `json:"rejected"`
	RejectedFor map[string]int `json:"rejected_for,omitempty"`
	// Applied counts entries over all devices, Connects connections, Started
	// processes of clients that began again.
	Applied  int `json:"applied"`
	Connects int `json:"connects"`
	Started  int `json:"started"`
	// Accepted counts messages that a process had on disk before anybody had seen
	// them, Carried those of them that had no answer when it was killed; ToldAgain
	// the entries that a program was told once more after a start, and MostAgain how
	// many these were at most after one.
	Accepted  int `json:"accepted"`
	Carried   int `json:"carried"`
	ToldAgain int `json:"told_again"`
	MostAgain int `json:"most_again"`
	// Resent counts messages that were sent again after their acknowledgement, Joined
	// the joins, Recalled the recalls Edited the edits, Reacted the reactions and Replied the replies that were answered, Facts the other answers
	// over HTTP.
	Resent   int `json:"resent"`
	Joined   int `json:"joined"`
	Recalled int `json:"recalled"`
	Edited   int `json:"edited"`
	Reacted  int `json:"reacted"`
	Replied  int `json:"replied"`
	Facts    int `json:"facts"`
	// Returned counts how often the server was put back, WentBack the messages that
	// were acknowledged and are not there for that alone: nobody counts on them.
	// Resets counts the devices that were told to forget what they had, each time.
	Returned int `json:"returned"`
	WentBack int `json:"went_back"`
	Resets   int `json:"resets"`

	Lost int `json:"lost"`
	// Gone are those of Lost that are not in the server's store; the others are,
	// but somebody does not see them.
	Gone       int `json:"gone"`
	Duplicated int `json:"duplicated"`
	Disordered int `json:"disordered"`
	// LongestNoAck is the longest time without any acknowledgement between the
	// first and the last one.
	LongestNoAck time.Duration `json:"longest_no_ack_ns"`

	// Broken counts the violations of each invariant.
	Broken map[Invariant]int `json:"broken"`
	// Violations are the first few of each.
	Violations []Violation `json:"violations"`
}

// OK reports whether every promise was kept.
func (r *Report) OK() bool { return len(r.Broken) == 0 }

// shownViolations bounds how many of each invariant are kept.
const shownViolations = 20

func (r *Report) add(i Invariant, conversation string, seq uint64, format string, args ...any) {
	r.Broken[i]++
	if r.Broken[i] <= shownViolations {
		r.Violations = append(r.Violations, Violation{i, conversation, seq, fmt.Sprintf(format, args...)})
	}
	switch i {
	case Lost:
		r.Lost++
	case StoredTwice, AppliedTwice:
		r.Duplicated++
	case Misordered, RealTime, SenderOrder:
		r.Disordered++
	}
}

// send is what became of one message.
type send struct {
	conversation, user, device string
	hash, id                   string
	invoked                    int64
	// acked is the first ok's stamp, 0 if there was none; seq and timeline are its.
	acked    int64
	seq      uint64
	timeline string
	failed   string // the code
	// stored is its seq in the final timeline, 0 if it is not there.
	stored uint64
	// recalled: it stands there without its content.
	recalled bool
	// anew: nobody knows when it was sent.
	anew bool
}

func (s *send) String() string {
	return fmt.Sprintf("message %s of %s/%s", s.id, s.user, s.device)
}

// place is where an entry stands.
type place struct {
	timeline, conversation string
	seq                    uint64
}

// sight is what somebody saw in a place.
type sight struct {
	id, hash, by string
	entry        bool // it was shown, not only acknowledged
}

// senderID names a message also when its content is gone.
type senderID struct{ sender, id string }

type checker struct {
	run    *Run
	report *Report
	// final is the timeline of the views.
	final  string
	sends  map[string]*send // by hash
	byID   map[senderID]*send
	order  []*send // in the order met
	places map[place]sight
	views  []*viewIndex
	heads  map[string]uint64 // the last entry of each conversation in any view
	member *membership
	// amends tells what each entry that amends another one is about, by conversation
	// and seq.
	amends map[string]map[uint64]uint64
	// isEdits are those of them that edit, edits those of each message.
	isEdits map[place]bool
	// reacts are those that react.
	reacts map[place]bool
	edits  map[place]edits
	// takenBack are the messages and replies of which an entry says so.
	takenBack map[place]bool
}

// Check holds a run against the invariants.
func Check(run Run) *Report {
	if len(run.Returns) > 0 {
		return checkReturns(run)
	}
	return check(run)
}

// check is Check for a history that never went back.
func check(run Run) *Report {
	c := &checker{
		run:    &run,
		report: &Report{Broken: map[Invariant]int{}},
		sends:  map[string]*send{},
		byID:   map[senderID]*send{},
		places: map[place]sight{},
		heads:  map[string]uint64{},
	}
	c.indexViews()
	c.indexAmends()
	c.member = membershipOf(run.Views)
	c.collectSends()
	c.checkSights()
	c.checkViews()
	c.checkLost()
	for _, h := range run.Histories {
		c.checkApplied(h)
		c.checkOutbox(h)
		c.checkTold(h)
		c.checkMarksSeen(h)
		c.checkFacts(h)
	}
	c.checkJoins()
	c.checkAmendments()
	c.checkEdits()
	c.checkReactions()
	c.checkReplies()
	c.checkLines()
	c.checkRealTime()
	c.checkSenderOrder()
	c.checkHeads()
	c.checkFinalMarks()
	c.checkAcks()
	return c.report
}

// collectSends reads the senders' side of the histories.
func (c *checker) collectSends() {
	r := c.report
	for _, h := range c.run.Histories {
		for i := range h {
			rec := &h[i]
			switch rec.Kind {
			case Invoked:
				r.Sent++
				if s := c.sends[rec.Hash]; s != nil && rec.Code == sentAnew {
					continue // at an earlier reset, or it is to be sent anyway
				} else if s != nil {
					r.add(Protocol, rec.Conversation, 0, "the workload sent the same content twice: %s", rec.Hash)
					continue
				}
				s := &send{
					conversation: rec.Conversation, user: rec.User, device: rec.Device,
					hash: rec.Hash, id: rec.ID, invoked: rec.Mono, anew: rec.Code == sentAnew,
				}
				c.sends[rec.Hash] = s
				c.order = append(c.order, s)
			case OK, Failed, Retry, Unknown:
				c.answer(rec)
			case Accepted:
				r.Accepted++
				if s := c.sends[rec.Hash]; s != nil && s.id == "" {
					s.id = rec.ID
				}
			case Misbehaved:
				r.add(Protocol, rec.Conversation, rec.Seq, "%s/%s: %s", rec.User, rec.Device, rec.Code)
			default:
				c.count(rec.Kind)
			}
		}
	}
	for _, s := range c.order {
		if s.id != "" {
			c.byID[senderID{s.user, s.id}] = s
		}
		switch {
		case s.acked != 0:
			r.Acked++
		case s.failed != "":
			r.Failed++
		default:
			r.Unknown++
		}
	}
}

// count takes note of what only has to have happened.
func (c *checker) count(k Kind) {
	r := c.report
	n := map[Kind]*int{
		Connected: &r.Connects, Applied: &r.Applied, Started: &r.Started, Resent: &r.Resent, Joined: &r.Joined, Recalled: &r.Recalled, Edited: &r.Edited, Reacted: &r.Reacted, Replied: &r.Replied, Answered: &r.Facts,
		Reset: &r.Resets,
	}[k]
	if n != nil {
		*n++
	}
}

func (c *checker) answer(rec *Record) {
	s := c.sends[rec.Hash]
	if s == nil {
		c.report.add(Phantom, rec.Conversation, rec.Seq, "%s/%s got an answer for a message it did not send", rec.User, rec.Device)
		return
	}
	if s.id == "" {
		s.id = rec.ID
	}
	switch rec.Kind {
	case OK:
		switch {
		case s.failed != "":
			c.report.add(ChangedAnswer, s.conversation, rec.Seq, "%v was refused (%s), then acknowledged", s, s.failed)
		case s.acked != 0 && s.timeline == rec.Timeline && s.seq != rec.Seq:
			c.report.add(StoredTwice, s.conversation, rec.Seq, "%v was acknowledged as %d as well", s, s.seq)
		}
		if s.acked == 0 {
			s.acked, s.seq, s.timeline = rec.Mono, rec.Seq, rec.Timeline
		}
	case Failed:
		if s.acked != 0 {
			c.report.add(ChangedAnswer, s.conversation, s.seq, "%v was acknowledged, then refused (%s)", s, rec.Code)
		}
		s.failed = rec.Code
	case Retry:
		c.report.Rejected++
		if c.report.RejectedFor == nil {
			c.report.RejectedFor = map[string]int{}
		}
		c.report.RejectedFor[rec.Code+": "+rec.Why]++
	case Unknown:
		c.report.Unanswered++
	}
}

// checkAcks looks at when answers came.
func (c *checker) checkAcks() {
	var acks []int64
	for _, s := range c.order {
		if s.acked == 0 {
			continue
		}
		acks = append(acks, s.acked)
		if took := time.Duration(s.acked - s.invoked); took < c.run.MinAck {
			c.report.add(EarlyAck, s.conversation, s.seq, "%v was acknowledged after %v, a sync takes %v", s, took, c.run.MinAck)
		}
	}
	slices.Sort(acks)
	for i := 1; i < len(acks); i++ {
		c.report.LongestNoAck = max(c.report.LongestNoAck, time.Duration(acks[i]-acks[i-1]))
	}
}

// byConversation groups sends.
func byConversation(all []*send, keep func(*send) bool) map[string][]*send {
	out := map[string][]*send{}
	for _, s := range all {
		if keep(s) {
			out[s.conversation] = append(out[s.conversation], s)
		}
	}
	return out
}

func byInvoked(a, b *send) int { return cmp.Compare(a.invoked, b.invoked) }
