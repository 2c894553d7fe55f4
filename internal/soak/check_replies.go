package soak

import (
	"cmp"
	"slices"
)

// threads are those of the store: the replies of each root, ascending.
type threads map[place][]*Entry

// checkReplies: a root says how many replies the store has in its thread, whatever crashed
// between; each reply that was answered is there, once; and who reads the threads afresh is
// told these replies, in their order, those that were said while they were no member left
// out, and the same number as everybody.
func (c *checker) checkReplies() {
	for _, v := range c.views {
		if v.Source != SourceJournal {
			continue
		}
		of := c.checkRoots(v)
		c.checkReplied(of)
		for _, fresh := range c.views {
			if fresh.Source == SourceFresh {
				c.checkThreads(fresh, of)
			}
		}
	}
}

// checkRoots holds the threads of the store against what their roots say.
func (c *checker) checkRoots(v *viewIndex) threads {
	of := threads{}
	once := map[senderID]uint64{}
	for conversation, entries := range v.entries {
		roots := map[uint64]*Entry{}
		for _, e := range entries {
			roots[e.Seq] = e
			if e.Thread == 0 {
				continue
			}
			if id := (senderID{e.Sender, conversation + e.ID}); once[id] != 0 {
				c.report.add(StoredTwice, conversation, e.Seq, "the reply %s stands at %d as well", e.ID, once[id])
			} else {
				once[id] = e.Seq
			}
			if root := roots[e.Thread]; root == nil || !root.Message || root.Thread != 0 {
				c.report.add(Amendment, conversation, e.Seq, "it is in the thread of %d, which is no message of the conversation before it", e.Thread)
			}
			if e.Says != HashRecalled {
				p := place{conversation: conversation, seq: e.Thread}
				of[p] = append(of[p], e)
			}
		}
		for seq, e := range roots {
			if n := len(of[place{conversation: conversation, seq: seq}]); e.Message && e.Hash != HashRecalled && e.Replies != n {
				c.report.add(Amendment, conversation, seq, "its thread has %d replies, and it says %d", n, e.Replies)
			}
		}
	}
	return of
}

// checkReplied: what was answered to be a reply is one. It may have been taken back since.
func (c *checker) checkReplied(of threads) {
	for _, h := range c.run.Histories {
		for i := range h {
			rec := &h[i]
			if rec.Kind != Replied || rec.Timeline != "" && rec.Timeline != c.final {
				continue
			}
			is := func(e *Entry) bool { return e.Seq == rec.Count && e.ID == rec.ID && e.Sender == rec.Of }
			if c.takenBack[place{conversation: rec.Conversation, seq: rec.Count}] || slices.ContainsFunc(of[place{conversation: rec.Conversation, seq: rec.Seq}], is) {
				continue
			}
			c.report.add(Lost, rec.Conversation, rec.Seq, "it was answered that %s replied to it by %d, which is not in its thread", rec.Of, rec.Count)
			c.report.Gone++
		}
	}
}

// checkThreads holds what a user reads of threads against the store.
func (c *checker) checkThreads(v *viewIndex, of threads) {
	told := map[place]bool{}
	for i := range v.Threads {
		t := &v.Threads[i]
		p := place{conversation: t.Root.Conversation, seq: t.Root.Seq}
		told[p] = true
		if n := len(of[p]); t.Root.Hash != HashRecalled && t.Root.Replies != n {
			c.report.add(Amendment, p.conversation, p.seq, "its thread has %d replies, and %s reads that it has %d", n, v.name, t.Root.Replies)
		}
		want := c.repliesOf(v.User, p, of)
		if !slices.IsSortedFunc(t.Replies, func(a, b Entry) int { return cmp.Compare(a.Seq, b.Seq) }) {
			c.report.add(Misordered, p.conversation, p.seq, "%s reads its replies in another order than they were said in", v.name)
		}
		got := map[uint64]*Entry{}
		for k := range t.Replies {
			e := &t.Replies[k]
			if got[e.Seq] != nil {
				c.report.add(AppliedTwice, p.conversation, e.Seq, "%s is told the reply twice", v.name)
			}
			got[e.Seq] = e
			if !c.member.may(v.User, p.conversation, e.Seq) {
				c.report.add(Outsider, p.conversation, e.Seq, "the reply is shown to %s", v.name)
			}
		}
		for _, e := range want {
			switch g := got[e.Seq]; {
			case g == nil:
				c.report.add(Lost, p.conversation, e.Seq, "%s reads the thread of %d without the reply", v.name, p.seq)
			case g.ID != e.ID || g.Sender != e.Sender || g.Says != e.Says:
				c.report.add(Disagree, p.conversation, e.Seq, "%s is told another reply than is stored", v.name)
			}
			delete(got, e.Seq)
		}
		for seq, e := range got {
			if c.member.may(v.User, p.conversation, seq) {
				c.report.add(Phantom, p.conversation, seq, "%s is told the reply %s, which is not in the store's thread", v.name, e.ID)
			}
		}
	}
	for p := range of {
		if !told[p] && c.listed(v, p) && len(c.repliesOf(v.User, p, of)) > 0 {
			c.report.add(Lost, p.conversation, p.seq, "%s is told of no thread of it", v.name)
		}
	}
}

// repliesOf are the replies of a thread that are a user's to read.
func (c *checker) repliesOf(user string, p place, of threads) (theirs []*Entry) {
	for _, e := range of[p] {
		if c.member.may(user, p.conversation, e.Seq) {
			theirs = append(theirs, e)
		}
	}
	return theirs
}

// listed: the root is among what a view holds, and was not taken back.
func (c *checker) listed(v *viewIndex, p place) bool {
	_, holds := slices.BinarySearchFunc(v.entries[p.conversation], p.seq, func(e *Entry, seq uint64) int { return cmp.Compare(e.Seq, seq) })
	return holds && !c.takenBack[p]
}
