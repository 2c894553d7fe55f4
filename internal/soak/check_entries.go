package soak

import (
	"cmp"
	"slices"
	"strings"
)

// viewIndex is a view made ready for questions.
type viewIndex struct {
	*View
	name      string
	standings map[string]*Standing
	// byHash is where each message stands.
	byHash map[string]uint64
	// entries of each conversation in seq order.
	entries map[string][]*Entry
}

func (c *checker) indexViews() {
	for i := range c.run.Views {
		v := &c.run.Views[i]
		x := &viewIndex{
			View: v, name: v.Name(),
			standings: map[string]*Standing{}, byHash: map[string]uint64{}, entries: map[string][]*Entry{},
		}
		for j := range v.Standings {
			st := &v.Standings[j]
			x.standings[st.Conversation] = st
			c.heads[st.Conversation] = max(c.heads[st.Conversation], st.Last)
		}
		for j := range v.Entries {
			e := &v.Entries[j]
			x.entries[e.Conversation] = append(x.entries[e.Conversation], e)
		}
		for _, es := range x.entries {
			slices.SortStableFunc(es, func(a, b *Entry) int { return cmp.Compare(a.Seq, b.Seq) })
		}
		c.views = append(c.views, x)
		c.final = v.Timeline
	}
}

// see compares what somebody saw with what others saw in the same place.
func (c *checker) see(p place, s sight) {
	old, ok := c.places[p]
	if !ok {
		c.places[p] = s
		return
	}
	same := old.id == s.id || old.id == "" || s.id == ""
	same = same && (old.hash == s.hash || amended(old.hash) || amended(s.hash))
	if !same {
		c.report.add(Disagree, p.conversation, p.seq, "%s saw %s (%s), %s saw %s (%s)", old.by, old.id, old.hash, s.by, s.id, s.hash)
	}
	if s.entry && !old.entry {
		old.entry = true
		c.places[p] = old
	}
}

// checkSights compares everything that was shown or acknowledged, place by
// place, and with what was sent.
func (c *checker) checkSights() {
	for _, h := range c.run.Histories {
		for i := range h {
			rec := &h[i]
			p := place{rec.Timeline, rec.Conversation, rec.Seq}
			by := rec.User + "/" + rec.Device
			switch rec.Kind {
			case OK:
				c.see(p, sight{rec.ID, rec.Hash, by, false})
			case Received, Applied:
				c.see(p, sight{rec.ID, rec.Hash, by, true})
				c.checkSent(by, rec.Conversation, rec.Seq, rec.ID, rec.Hash)
				if rec.Timeline == c.final && !c.member.may(rec.User, rec.Conversation, rec.Seq) {
					c.report.add(Outsider, rec.Conversation, rec.Seq, "shown to %s", by)
				}
			}
		}
	}
}

// checkSent is about phantoms.
func (c *checker) checkSent(by, conversation string, seq uint64, id, hash string) {
	if !isMessage(hash) {
		return
	}
	switch s := c.sends[hash]; {
	case s == nil:
		c.report.add(Phantom, conversation, seq, "%s saw message %s (%s) that nobody sent", by, id, hash)
	case s.id != "" && id != "" && s.id != id:
		c.report.add(Phantom, conversation, seq, "%s saw %v under the id %s", by, s, id)
	case s.failed != "" && s.acked == 0:
		c.report.add(Phantom, conversation, seq, "%s saw %v, which had been refused (%s)", by, s, s.failed)
	}
}

// checkViews holds each final view against itself and the others.
func (c *checker) checkViews() {
	for _, v := range c.views {
		for i := range v.Entries {
			e := &v.Entries[i]
			c.see(place{v.Timeline, e.Conversation, e.Seq}, sight{e.ID, e.Hash, v.name, true})
			c.checkSent(v.name, e.Conversation, e.Seq, e.ID, e.Hash)
			c.checkSender(v, e)
			c.checkTwice(v, e)
			if v.User != "" && !c.member.may(v.User, e.Conversation, e.Seq) {
				c.report.add(Outsider, e.Conversation, e.Seq, "shown to %s", v.name)
			}
		}
		for conv, head := range c.heads {
			c.checkReach(v, conv, head)
		}
		for _, st := range v.Standings {
			c.checkWhole(v, &st)
		}
	}
}

// checkSender: nothing is taken from somebody who is no member.
func (c *checker) checkSender(v *viewIndex, e *Entry) {
	if e.Message && !c.member.may(e.Sender, e.Conversation, e.Seq) {
		c.report.add(Outsider, e.Conversation, e.Seq, "%s holds a message of %s, who was no member", v.name, e.Sender)
	}
}

func (c *checker) checkTwice(v *viewIndex, e *Entry) {
	hash := e.Hash
	if amended(hash) {
		// Its content is gone, or another: the id tells which it was.
		s := c.byID[senderID{e.Sender, e.ID}]
		if s == nil {
			return
		}
		hash, s.recalled = s.hash, true
	}
	if !isMessage(hash) {
		return
	}
	if at, ok := v.byHash[hash]; ok {
		c.report.add(StoredTwice, e.Conversation, e.Seq, "%s holds message %s at %d as well", v.name, e.ID, at)
		return
	}
	v.byHash[hash] = e.Seq
	if s := c.sends[hash]; s != nil && s.stored == 0 {
		s.stored = e.Seq
	}
}

// checkReach: after the heal everybody holds everything there is for them.
func (c *checker) checkReach(v *viewIndex, conv string, head uint64) {
	st := v.standings[conv]
	entitled := v.User == "" || c.member.may(v.User, conv, head)
	switch {
	case !entitled:
	case st == nil && v.User != "" && strings.HasPrefix(conv, "grp:"):
		c.report.add(UnseenJoin, conv, head, "%s does not know the conversation", v.name)
	case st == nil:
		c.report.add(Diverged, conv, head, "%s does not know the conversation", v.name)
	case st.Last < head:
		c.report.add(Diverged, conv, head, "%s ends at %d", v.name, st.Last)
	}
}

// checkWhole: a view holds every entry that it claims to, and counts right.
func (c *checker) checkWhole(v *viewIndex, st *Standing) {
	next, count, known := st.First, uint64(0), st.First == 1
	for _, e := range v.entries[st.Conversation] {
		if e.Seq < st.First {
			continue // held from before
		}
		if e.Seq > next && c.lacks(v, st.Conversation, next, e.Seq-1) {
			c.report.add(Hole, st.Conversation, next, "%s lacks %d..%d", v.name, next, e.Seq-1)
		}
		known = known && (e.Seq == next || c.amend(st.Conversation, next, e.Seq-1))
		next = e.Seq + 1
		if e.Message {
			count++
		}
		if known && e.Count != count {
			c.report.add(WrongCount, st.Conversation, e.Seq, "%s: %d, counted %d", v.name, e.Count, count)
		}
		count, known = e.Count, true
	}
	if next <= st.Last && st.Last != 0 && c.lacks(v, st.Conversation, next, st.Last) {
		c.report.add(Hole, st.Conversation, next, "%s lacks %d..%d", v.name, next, st.Last)
	}
}

// lacks: some of from..to is for the user to hold; what lies between two times of
// membership is not (SPEC §4.3), and what only amends need not be (SPEC §6.8).
func (c *checker) lacks(v *viewIndex, conv string, from, to uint64) bool {
	return v.User == "" || c.theirs(v.User, conv, from, to)
}

// theirs: some of from..to amends nothing and is the user's to see.
func (c *checker) theirs(user, conv string, from, to uint64) bool {
	for seq := from; seq <= to; seq++ {
		if _, amends := c.amends[conv][seq]; !amends && c.member.may(user, conv, seq) {
			return true
		}
	}
	return false
}

// amend: all of from..to amends other entries.
func (c *checker) amend(conv string, from, to uint64) bool {
	for seq := from; seq <= to; seq++ {
		if _, ok := c.amends[conv][seq]; !ok {
			return false
		}
	}
	return true
}

// indexAmends notes which entries amend others: what each is about.
func (c *checker) indexAmends() {
	c.amends = map[string]map[uint64]uint64{}
	c.isEdits, c.edits, c.reacts = map[place]bool{}, map[place]edits{}, map[place]bool{}
	for _, v := range c.views {
		for i := range v.Entries {
			e := &v.Entries[i]
			if e.Target == 0 {
				continue
			}
			if c.amends[e.Conversation] == nil {
				c.amends[e.Conversation] = map[uint64]uint64{}
			}
			c.amends[e.Conversation][e.Seq] = e.Target
			c.indexEdit(e)
		}
	}
}

// checkLost looks for every acknowledged message in every view that should
// hold it, and for everything that was shown in the journal.
func (c *checker) checkLost() {
	for _, s := range c.order {
		if s.acked == 0 {
			continue
		}
		var missing []string
		for _, v := range c.views {
			if c.shouldHold(v, s) {
				missing = append(missing, v.name)
				if v.Source == SourceJournal {
					c.report.Gone++
				}
			}
		}
		if len(missing) > 0 {
			c.report.add(Lost, s.conversation, s.seq, "%v, acknowledged, is missing in: %s", s, strings.Join(missing, ", "))
		}
	}
	for _, v := range c.views {
		if v.Source == SourceJournal {
			c.checkVanished(v)
		}
	}
}

// shouldHold reports that v does not hold s though it should.
func (c *checker) shouldHold(v *viewIndex, s *send) bool {
	if _, ok := v.byHash[s.hash]; ok {
		return false
	}
	seq := s.seq
	if s.stored != 0 {
		seq = s.stored
	}
	if v.User != "" && !c.member.may(v.User, s.conversation, seq) {
		return false
	}
	st := v.standings[s.conversation]
	return st == nil || seq >= st.First
}

// checkVanished: what was shown to anybody is stored.
func (c *checker) checkVanished(v *viewIndex) {
	for p, s := range c.places {
		if p.timeline != v.Timeline || !s.entry {
			continue
		}
		es := v.entries[p.conversation]
		if _, ok := slices.BinarySearchFunc(es, p.seq, func(e *Entry, seq uint64) int { return cmp.Compare(e.Seq, seq) }); ok {
			continue
		}
		if x := c.sends[s.hash]; x != nil && x.acked != 0 {
			continue // counted already
		}
		c.report.add(Lost, p.conversation, p.seq, "%s saw %s, which is not in the store", s.by, s.id)
		c.report.Gone++
	}
}
