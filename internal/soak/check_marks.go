package soak

// moment is when a mark was told.
type moment struct {
	at      int64
	seq     uint64 // the greatest so far
	receipt uint64 // the greatest so far of those that nobody asked for
}

// checkMarksSeen follows what one device was told about read marks and unread
// counts. A crash of the server may cost marks, so going back counts within a
// connection only. A receipt travels a little behind: it is held against
// earlier receipts, an answer against everything told before it was asked for.
func (c *checker) checkMarksSeen(h []Record) {
	type key struct{ conversation, of string }
	seen := map[key][]moment{}
	for i := range h {
		rec := &h[i]
		by := rec.User + "/" + rec.Device
		switch rec.Kind {
		case Connected, Reset:
			clear(seen)
		case Unread:
			if head := c.heads[rec.Conversation]; rec.Timeline == c.final && rec.Count > head {
				c.report.add(WrongUnread, rec.Conversation, 0, "%s was told %d of %d entries", by, rec.Count, head)
			}
		case Mark:
			k := key{rec.Conversation, rec.Of}
			floor, next := floorOf(seen[k], rec)
			seen[k] = append(seen[k], next)
			if rec.Seq < floor {
				c.report.add(MarkBack, rec.Conversation, rec.Seq, "%s was told so of %s after %d", by, rec.Of, floor)
			}
			if head := c.heads[rec.Conversation]; rec.Timeline == c.final && rec.Seq > head {
				c.report.add(MarkBeyond, rec.Conversation, rec.Seq, "%s was told so of %s, the end is %d", by, rec.Of, head)
			}
		}
	}
}

// floorOf returns what rec may not lie below, and the moment after it.
func floorOf(before []moment, rec *Record) (floor uint64, next moment) {
	next = moment{at: rec.Mono}
	if n := len(before); n > 0 {
		next.seq, next.receipt = before[n-1].seq, before[n-1].receipt
	}
	if rec.Since == 0 {
		floor = next.receipt
		next.receipt = max(next.receipt, rec.Seq)
	} else {
		// What had been told when the question was asked.
		n := len(before)
		for n > 0 && before[n-1].at >= rec.Since {
			n--
		}
		if n > 0 {
			floor = before[n-1].seq
		}
	}
	next.seq = max(next.seq, rec.Seq)
	return floor, next
}

// checkFinalMarks holds the read marks at the end against what the devices
// read and sent, and the unread counts against the entries.
func (c *checker) checkFinalMarks() {
	type key struct{ user, conversation string }
	want := map[key]uint64{}
	for _, h := range c.run.Histories {
		for i := range h {
			if rec := &h[i]; rec.Kind == ReadSet && rec.Timeline == c.final {
				k := key{rec.User, rec.Conversation}
				want[k] = max(want[k], rec.Seq)
			}
		}
	}
	for _, s := range c.order {
		if s.acked != 0 && s.stored != 0 {
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
		if e.Message && e.Seq > st.Read && e.Seq >= st.First && e.Seq <= st.Last {
			unread++
		}
	}
	if unread != st.Unread {
		c.report.add(WrongUnread, st.Conversation, st.Read, "%s: told %d, counted %d", v.name, st.Unread, unread)
	}
}
