package soak

import (
	"slices"
	"time"
)

// moment is when a mark was told.
type moment struct {
	at  int64
	seq uint64 // the greatest so far
}

// checkMarksSeen follows what one device was told about read marks and unread
// counts. Nobody is told of a mark that is not durable, so an answer is held
// against everything told before it was asked for, by any node and on any
// connection, before a crash or after. Receipts travel behind, of several nodes
// one may pass another: the furthest counts (SPEC §6.2).
func (c *checker) checkMarksSeen(h []Record) {
	type key struct{ conversation, of string }
	seen := map[key][]moment{}
	for i := range h {
		rec := &h[i]
		by := rec.User + "/" + rec.Device
		switch rec.Kind {
		case Reset:
			clear(seen)
		case Unread:
			if head := c.heads[rec.Conversation]; rec.Timeline == c.final && rec.Count > head {
				c.report.add(WrongUnread, rec.Conversation, 0, "%s was told %d of %d entries", by, rec.Count, head)
			}
		case Mark:
			k := key{rec.Conversation, rec.Of}
			if floor := floorOf(seen[k], rec); rec.Seq < floor {
				c.report.add(MarkBack, rec.Conversation, rec.Seq, "%s was told so of %s after %d", by, rec.Of, floor)
			}
			next := moment{at: rec.Mono, seq: rec.Seq}
			if n := len(seen[k]); n > 0 {
				next.seq = max(next.seq, seen[k][n-1].seq)
			}
			seen[k] = append(seen[k], next)
			if head := c.heads[rec.Conversation]; rec.Timeline == c.final && rec.Seq > head {
				c.report.add(MarkBeyond, rec.Conversation, rec.Seq, "%s was told so of %s, the end is %d", by, rec.Of, head)
			}
		}
	}
}

// floorOf returns what an answer may not lie below: what had been told when it
// was asked for.
func floorOf(before []moment, rec *Record) uint64 {
	if rec.Since == 0 {
		return 0
	}
	n := len(before)
	for n > 0 && before[n-1].at >= rec.Since {
		n--
	}
	if n == 0 {
		return 0
	}
	return before[n-1].seq
}

// markDurable is within what time a mark that nobody waits for is durable; on a
// machine with much to do it takes a little longer.
const markDurable = 2 * time.Second

// crashed tells whether a fault began before a mark of that time was durable. A
// device on a busy machine writes an answer down later than it was given, so the
// fault may seem to be the earlier one.
func (c *checker) crashed(mono int64) bool {
	return slices.ContainsFunc(c.run.Crashes, func(at int64) bool {
		return at > mono-int64(markDurable) && at < mono+int64(markDurable)
	})
}

// checkFinalMarks holds the read marks at the end against what the devices
// read and sent, and the unread counts against the entries.
func (c *checker) checkFinalMarks() {
	type key struct{ user, conversation string }
	want := map[key]uint64{}
	for _, h := range c.run.Histories {
		for i := range h {
			if rec := &h[i]; rec.Kind == ReadSet && rec.Timeline == c.final && !c.crashed(rec.Mono) {
				k := key{rec.User, rec.Conversation}
				want[k] = max(want[k], rec.Seq)
			}
		}
	}
	for _, s := range c.order {
		// That sending is reading is durable a second later, and who was reset does not
		// repeat it: a copy may be without it.
		if s.acked > c.run.began && s.stored != 0 && !c.crashed(s.acked) {
			k := key{s.user, s.conversation}
			want[k] = max(want[k], s.stored)
		}
	}
	for _, v := range c.views {
		for _, st := range v.Standings {
			if !st.Marks {
				continue
			}
			if w := want[key{v.User, st.Conversation}]; st.Member && v.Source == SourceFresh && st.Read < w {
				c.report.add(MarkLost, st.Conversation, st.Read, "%s: %s read or sent %d", v.name, v.User, w)
			}
			if st.Read > st.Last {
				c.report.add(MarkBeyond, st.Conversation, st.Read, "%s: the end is %d", v.name, st.Last)
			}
			c.checkUnread(v, &st)
		}
	}
}

func (c *checker) checkUnread(v *viewIndex, st *Standing) {
	var unread uint64
	for _, e := range v.entries[st.Conversation] {
		// Of every time the user was a member, not of what lay between (SPEC §4.3).
		// What was recalled is not unread, whenever that was (§4.2).
		if e.Message && e.Hash != HashRecalled && e.Seq > st.Read && e.Seq <= st.Last && c.member.may(v.User, st.Conversation, e.Seq) {
			unread++
		}
	}
	if unread != st.Unread {
		c.report.add(WrongUnread, st.Conversation, st.Read, "%s: told %d, counted %d", v.name, st.Unread, unread)
	}
}
