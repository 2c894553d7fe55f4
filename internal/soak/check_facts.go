package soak

import (
	"cmp"
	"slices"
)

// fact is what is known of one fact while its history is read.
type fact struct {
	known  bool
	value  string
	number uint64
	// open are the values that may come to be at any time: they were asked for, and
	// nobody was told what became of it.
	open map[string]int
}

// checkFacts: what was answered over HTTP is there whenever it is asked for, in
// spite of all crashes. Values that were asked for without an answer may be there
// or not; a fact that is a number only grows.
func (c *checker) checkFacts(h []Record) {
	facts := map[string]*fact{}
	for i := range h {
		rec := &h[i]
		switch rec.Kind {
		case Asked, Answered, Read:
		default:
			continue
		}
		f := facts[rec.Of]
		if f == nil {
			f = &fact{open: map[string]int{}}
			facts[rec.Of] = f
		}
		switch rec.Kind {
		case Asked:
			f.open[rec.Code]++
		case Answered:
			if f.open[rec.Code]--; f.open[rec.Code] == 0 {
				delete(f.open, rec.Code)
			}
			f.known, f.value, f.number = true, rec.Code, max(f.number, rec.Seq)
		case Read:
			c.checkFact(rec, f)
		}
	}
}

func (c *checker) checkFact(rec *Record, f *fact) {
	switch {
	case !f.known:
	case rec.Seq < f.number:
		c.report.add(FactLost, rec.Conversation, rec.Seq, "%s: %d, though %d had been answered", rec.Of, rec.Seq, f.number)
	case rec.Code != f.value && f.open[rec.Code] == 0:
		c.report.add(FactLost, rec.Conversation, rec.Seq, "%s: %q, though %q had been answered", rec.Of, rec.Code, f.value)
	}
}

// join is an answer that a user is a member.
type join struct {
	at           int64
	conversation string
}

// checkJoins: a device that was told all that had changed was told of every
// conversation its user had joined before it asked, whatever it resumed from.
// Those that the user leaves again are left out: they may have left before.
func (c *checker) checkJoins() {
	joins := map[string][]join{} // by user
	for _, h := range c.run.Histories {
		for i := range h {
			rec := &h[i]
			if rec.Kind != Joined {
				continue
			}
			if s := c.member.spans(rec.Of, rec.Conversation); len(s) == 1 && s[0].to == 0 {
				joins[rec.Of] = append(joins[rec.Of], join{rec.Mono, rec.Conversation})
			}
		}
	}
	for _, js := range joins {
		slices.SortFunc(js, func(a, b join) int { return cmp.Compare(a.at, b.at) })
	}
	for _, h := range c.run.Histories {
		c.checkJoinsSeen(h, joins)
	}
}

func (c *checker) checkJoinsSeen(h []Record, joins map[string][]join) {
	told := map[string]bool{}
	next := 0
	for i := range h {
		rec := &h[i]
		switch rec.Kind {
		case Reset:
			clear(told)
			next = 0
		case Received, Applied, Head, Mark:
			told[rec.Conversation] = true
		case Synced:
			all := joins[rec.User]
			for ; next < len(all) && all[next].at < rec.Since; next++ {
				if j := all[next]; !told[j.conversation] {
					c.report.add(UnseenJoin, j.conversation, 0, "%s/%s was told all that had changed, and nothing of it", rec.User, rec.Device)
				}
			}
		}
	}
}

// checkAmendments: a message that was taken back has no content in any view, and
// has one unless a recall follows it.
func (c *checker) checkAmendments() {
	wanted := map[place]bool{} // answered
	for _, h := range c.run.Histories {
		for i := range h {
			if rec := &h[i]; rec.Kind == Recalled && (rec.Timeline == "" || rec.Timeline == c.final) {
				wanted[place{conversation: rec.Conversation, seq: rec.Seq}] = true
			}
		}
	}
	recalls := map[place]uint64{} // the entry that says so
	c.takenBack = map[place]bool{}
	for conversation, amends := range c.amends {
		for seq, target := range amends {
			if p := (place{conversation: conversation, seq: seq}); c.isEdits[p] || c.reacts[p] {
				continue
			}
			of := place{conversation: conversation, seq: target}
			recalls[of] = max(recalls[of], seq)
			c.takenBack[of] = true
		}
	}
	for _, v := range c.views {
		for i := range v.Entries {
			e := &v.Entries[i]
			p, gone := place{conversation: e.Conversation, seq: e.Seq}, e.Hash == HashRecalled
			seq, recalled := recalls[p]
			switch {
			case !e.Message:
			case wanted[p] && !recalled && v.Source == SourceJournal:
				c.report.add(Amendment, e.Conversation, e.Seq, "it was answered that it was taken back, and %s has no entry that says so", v.name)
			case recalled && !gone && c.knows(v, e.Conversation, seq):
				c.report.add(Amendment, e.Conversation, e.Seq, "%s holds what was taken back", v.name)
			case gone && !recalled && v.whole(e.Conversation, c.heads[e.Conversation]):
				c.report.add(Amendment, e.Conversation, e.Seq, "%s lacks the content, and nobody took it back", v.name)
			}
		}
	}
}

// knows: a view has come as far as an entry that is its user's to see. Who was no
// member when a message was taken back, and is one again, may hold it still.
func (c *checker) knows(v *viewIndex, conversation string, seq uint64) bool {
	if v.Source == SourceJournal {
		return true
	}
	st := v.standings[conversation]
	return st != nil && st.Last >= seq && c.member.may(v.User, conversation, seq)
}

// whole tells that the view holds the conversation up to its head.
func (v *viewIndex) whole(conversation string, head uint64) bool {
	st := v.standings[conversation]
	return st != nil && st.Last >= head
}

// checkLines: whoever is connected when a history ends is told soon: nothing is
// shown or answered in the old one after that.
func (c *checker) checkLines() {
	lines := c.run.Lines
	if len(lines) < 2 {
		return
	}
	place := map[string]int{}
	for i, l := range lines {
		place[l.Timeline] = i
	}
	for _, h := range c.run.Histories {
		for i := range h {
			rec := &h[i]
			switch rec.Kind {
			case OK, Received, Applied, Head, Mark, Unread:
			default:
				continue
			}
			n, known := place[rec.Timeline]
			if !known || n+1 == len(lines) {
				continue
			}
			if late := rec.Mono - lines[n+1].Began; late > int64(toldWithin) {
				c.report.add(OldTimeline, rec.Conversation, rec.Seq, "%s/%s: %s in %s, %v after it was over", rec.User, rec.Device, rec.Kind, rec.Timeline, toldWithin)
				break
			}
		}
	}
}
