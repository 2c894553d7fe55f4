package soak

import "strings"

// edits are those of one message: how many, and the last one's seq.
type edits struct {
	n    int
	last uint64
}

// checkEdits: a message was edited as often as entries say so, those that were answered
// among them; and who knows the last of them holds what it says then.
func (c *checker) checkEdits() {
	says := map[place]string{} // in the journal
	for _, v := range c.views {
		if v.Source != SourceJournal {
			continue
		}
		for i := range v.Entries {
			e := &v.Entries[i]
			p := place{conversation: e.Conversation, seq: e.Seq}
			says[p] = e.Hash
			if x := c.edits[p]; e.Message && e.Hash != HashRecalled && x.n != editsOf(e.Hash) {
				c.report.add(Amendment, e.Conversation, e.Seq, "%d entries edit it, and it says that it was edited %d times", x.n, editsOf(e.Hash))
			}
		}
	}
	if len(says) > 0 {
		c.checkAnswered()
	}
	for _, v := range c.views {
		for i := range v.Entries {
			e := &v.Entries[i]
			p := place{conversation: e.Conversation, seq: e.Seq}
			x := c.edits[p]
			if x.n > 0 && e.Hash != HashRecalled && says[p] != HashRecalled && e.Hash != says[p] && c.knows(v, e.Conversation, x.last) {
				c.report.add(Amendment, e.Conversation, e.Seq, "%s holds another version of it than the store", v.name)
			}
		}
	}
}

// checkAnswered: the entry that an answer names as an edit or a reaction is one, of that
// message. That the message agrees with all such entries is looked at beside this.
func (c *checker) checkAnswered() {
	for _, h := range c.run.Histories {
		for i := range h {
			rec := &h[i]
			if rec.Timeline != "" && rec.Timeline != c.final {
				continue
			}
			by := place{conversation: rec.Conversation, seq: rec.Count}
			of, amends := c.amends[rec.Conversation][rec.Count]
			switch {
			case rec.Kind == Edited && (!c.isEdits[by] || of != rec.Seq):
				c.report.add(Amendment, rec.Conversation, rec.Seq, "it was answered that it was edited by %d, which is no edit of it", rec.Count)
			case rec.Kind == Reacted && (!c.reacts[by] || !amends || of != rec.Seq):
				c.report.add(Amendment, rec.Conversation, rec.Seq, "it was answered that %s reacted to it by %d, which is no reaction to it", rec.Of, rec.Count)
			}
		}
	}
}

// indexEdit notes an entry that edits another one, once.
func (c *checker) indexEdit(e *Entry) {
	p := place{conversation: e.Conversation, seq: e.Seq}
	if leavesWords(e.Hash) {
		c.reacts[p] = true
	}
	if !strings.HasPrefix(e.Hash, editOf) || c.isEdits[p] {
		return
	}
	c.isEdits[p] = true
	of := place{conversation: e.Conversation, seq: e.Target}
	c.edits[of] = edits{c.edits[of].n + 1, max(c.edits[of].last, e.Seq)}
}

// checkReactions: what a message says of its reactions is what the entries that react to
// it come to, also for who reads it afresh; nobody reacts with what they have already.
func (c *checker) checkReactions() {
	says := map[place]string{}
	for _, v := range c.views {
		if v.Source != SourceJournal {
			continue
		}
		counts, has := map[place]map[string]int{}, map[place]map[string]bool{}
		for i := range v.Entries {
			e := &v.Entries[i]
			if e.React == "" {
				continue
			}
			p := place{conversation: e.Conversation, seq: e.Target}
			if counts[p] == nil {
				counts[p], has[p] = map[string]int{}, map[string]bool{}
			}
			with, add := e.React[1:], e.React[0] == '+'
			if who := e.Sender + " " + with; has[p][who] == add {
				c.report.add(Amendment, e.Conversation, e.Seq, "%s changes nothing with %s, and is stored", e.Sender, e.React)
			} else if has[p][who] = add; add {
				counts[p][with]++
			} else {
				counts[p][with]--
			}
		}
		for i := range v.Entries {
			e := &v.Entries[i]
			p := place{conversation: e.Conversation, seq: e.Seq}
			says[p] = totalsOf(counts[p])
			if e.Message && e.Hash != HashRecalled && e.Totals != says[p] {
				c.report.add(Amendment, e.Conversation, e.Seq, "its reactions are %q, and it says %q", says[p], e.Totals)
			}
		}
	}
	for _, v := range c.views {
		for i := range v.Entries {
			e := &v.Entries[i]
			if want, ok := says[place{conversation: e.Conversation, seq: e.Seq}]; ok && v.Source == SourceFresh && e.Message && e.Hash != HashRecalled && e.Totals != want {
				c.report.add(Amendment, e.Conversation, e.Seq, "its reactions are %q, and %s reads %q", want, v.name, e.Totals)
			}
		}
	}
}
