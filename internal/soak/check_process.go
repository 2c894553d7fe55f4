package soak

import "slices"

// checkOutbox: what a process had in its outbox on disk is stored or was refused
// with a reason, in its life or after. That it is not stored twice is checked for
// every message.
func (c *checker) checkOutbox(h []Record) {
	open := map[string]bool{} // accepted, not answered
	var accepted []string
	for i := range h {
		rec := &h[i]
		switch rec.Kind {
		case Accepted:
			accepted = append(accepted, rec.Hash)
			open[rec.Hash] = true
		case OK, Failed:
			delete(open, rec.Hash)
		case Started:
			c.report.Carried += len(open)
			clear(open)
		}
	}
	for _, hash := range accepted {
		switch s := c.sends[hash]; {
		case s == nil:
			c.report.add(Phantom, "", 0, "a process took a message that nobody sent: %s", hash)
		case s.acked == 0 && s.failed == "" && s.stored == 0:
			c.report.add(Dropped, s.conversation, 0, "%v was in the outbox, and is neither stored nor refused", s)
		}
	}
}

// telling is what a program was told, in all its processes: a queue on disk that
// each of them reads on from where the one before is known to have been.
type telling struct {
	order []spotOf
	at    map[spotOf]int // in order
	// begun: a process has been told nothing yet. It may begin anywhere from floor on.
	begun bool
	floor int
	// next is where a process stands that is told what was told before, len(order)
	// when it is told what is new.
	next  int
	again int
}

// spotOf is an entry, for one device in one timeline.
type spotOf struct {
	conversation string
	seq          uint64
}

// mostToldAgain is how many events the SDK may repeat after a crash.
const mostToldAgain = 64

// start is the begin of a process.
func (t *telling) start() { t.begun, t.again = true, 0 }

// repeat takes what a process is told. It reports whether that is, as it may be,
// what was told before, and if it comes where it must not, why.
func (t *telling) repeat(rec *Record) (repeated bool, wrong string) {
	p := spotOf{rec.Conversation, rec.Seq}
	i, before := t.at[p]
	if t.begun {
		t.begun = false
		if before && i >= t.floor {
			t.floor, t.next = i, i
		}
	}
	switch {
	case t.next < len(t.order) && before && i == t.next:
		t.next++
		t.again++
		return true, ""
	case t.next < len(t.order):
		wrong = "it was told something else after " + t.order[t.next].conversation + " before"
	}
	if !before {
		t.at[p] = len(t.order)
		t.order = append(t.order, p)
	}
	t.next = len(t.order)
	return false, wrong
}

// checkTold: at the end a program that was killed and started again had been told
// everything its device holds. What it was not told of a conversation at all was
// there when it came to it.
func (c *checker) checkTold(h []Record) {
	if !slices.ContainsFunc(h, func(r Record) bool { return r.Kind == Started }) {
		return
	}
	last := map[string]uint64{}
	for i := range h {
		switch rec := &h[i]; {
		case rec.Kind == Reset:
			clear(last)
		case rec.Kind == Applied && rec.Timeline == c.final:
			last[rec.Conversation] = max(last[rec.Conversation], rec.Seq)
		}
	}
	for _, v := range c.views {
		if v.Source != SourceStore || v.User != h[0].User || v.Device != h[0].Device {
			continue
		}
		for conversation, seq := range last {
			if st := v.standings[conversation]; st != nil && st.Last > seq && c.theirs(v.User, conversation, seq+1, st.Last) {
				c.report.add(Untold, conversation, seq+1, "%s holds everything up to %d", v.name, st.Last)
			}
		}
	}
}
