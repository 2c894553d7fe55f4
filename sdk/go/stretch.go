package skein

import (
	"maps"

	"github.com/skein-im/skein/wire"
)

// stretch is what the places first..last of a conversation come to (SPEC §6.8):
// entries are those that amend nothing, touched are entries before it that
// something in it amended; both as they are now. end names the entry at last, if it
// is not one of them.
type stretch struct {
	first, last      uint64
	entries, touched []*wire.Entry
	end              *wire.Newest
}

func stretchOf(f *wire.Range) stretch {
	return stretch{f.FirstSeq, f.LastSeq, f.Entries, f.Touched, f.Last}
}

// toldBy is the stretch of a state: up to its head. Who was removed while the state
// was made left behind that: those entries are theirs, and are not told.
func toldBy(s *wire.ConversationState) stretch {
	return stretch{s.FromSeq, s.Seq, s.Entries, s.Touched, s.Last}
}

// upTo is the part of a stretch that ends at seq.
func (s stretch) upTo(seq uint64) stretch {
	if seq < s.last {
		s.last, s.end = seq, nil
	}
	return s
}

// begin is the first entry of a stretch that may be the user's.
func (s stretch) begin(r *ConversationRecord) uint64 { return r.after(max(s.first, 1) - 1) }

// has tells whether an entry is one of those the stretch may tell.
func (s stretch) has(cv *conv, e *wire.Entry) bool {
	return e.GetConversation() == cv.rec.ID && e.Seq >= s.first && e.Seq <= s.last && !amends(e)
}

// place is what came too soon: an entry, or, without one, all places up to last,
// whose entries amend others and were told by their outcome. end names the last one.
type place struct {
	last  uint64
	entry *wire.Entry
	end   *wire.Newest
}

// takeStretch gives a stretch to its conversation: from anywhere, in any order, any
// number of times. Afterwards the window reaches to its end at least, or, if it
// begins after a hole, will once that is filled.
func (k *core) takeStretch(cv *conv, s stretch, quiet bool) {
	r := &cv.rec
	if s.last > r.Head {
		r.Head = s.last
		k.touch(cv, true)
	}
	k.touchedBy(cv, s)
	early := s.begin(r) > r.after(r.High)
	if early && !cv.mayWait(s) {
		return // it is known to be there, and is pulled
	}
	for _, e := range s.touched {
		if e.GetSeq() < s.first {
			k.retake(cv, e)
		}
	}
	if early {
		cv.keepStretch(s)
		return
	}
	for _, e := range s.entries {
		switch {
		case !s.has(cv, e):
		case e.Seq <= r.High:
			k.settle(e)
			k.retake(cv, e)
		default:
			k.apply(cv, e, quiet)
		}
	}
	k.skip(cv, s.last, s.end)
	k.applyEarly(cv, false)
}

// skip moves the end of the window to seq: what lies between amends entries, and
// what it made of them is told apart from this.
func (k *core) skip(cv *conv, seq uint64, end *wire.Newest) {
	r := &cv.rec
	if seq = r.before(seq + 1); seq <= r.High {
		return
	}
	k.reach(cv, seq, end)
	if seq < r.Head {
		return
	}
	r.Head, r.LastAtMs = seq, max(r.LastAtMs, end.GetStoredAtMs())
	if r.lastIsKept() {
		r.HeadCount, cv.countedTo = r.Last.Count, seq // amendments do not count
	}
}

// reach notes that the window ends at seq, and which entry that is.
func (k *core) reach(cv *conv, seq uint64, at *wire.Newest) {
	r := &cv.rec
	r.High = seq
	if at != nil && at.Pos >= r.Newest.GetPos() {
		r.Newest = at
	}
	k.tick++
	cv.changedTick = k.tick
	k.noteChanged(cv)
	k.touch(cv, true)
}

// lastIsKept tells whether Last is of the window: then the running count at High is
// its count.
func (r *ConversationRecord) lastIsKept() bool {
	return r.Last != nil && r.Last.Seq >= r.Low && r.Last.Seq <= r.High
}

// mayWait tells whether what a stretch touched in the hole before it can be
// remembered until that is filled: an answer that fills it may be older.
func (cv *conv) mayWait(s stretch) bool {
	n := len(cv.newer)
	for _, e := range s.touched {
		if e.GetSeq() > cv.rec.High {
			n++
		}
	}
	return n <= maxEarly
}

// keepStretch remembers a stretch that begins after a hole.
func (cv *conv) keepStretch(s stretch) {
	next := s.first
	for _, e := range s.entries {
		if !s.has(cv, e) || e.Seq < next {
			continue
		}
		if e.Seq > next {
			cv.keepEarly(next, place{last: e.Seq - 1})
		}
		cv.keepEarly(e.Seq, place{last: e.Seq, entry: e})
		next = e.Seq + 1
	}
	if next <= s.last {
		cv.keepEarly(next, place{last: s.last, end: s.end})
	}
}

// keepEarly remembers what came too soon, the lowest places first; the head tells
// that the others exist. Of a place that is told twice the outcome counts, not the
// amendment.
func (cv *conv) keepEarly(seq uint64, p place) {
	old, ok := cv.early[seq]
	switch {
	case ok && old.entry == nil && (p.entry != nil || p.last < old.last):
		return
	case ok && old.entry != nil && p.entry != nil:
		p.entry = latest(p.entry, old.entry)
	case !ok && len(cv.early) >= maxEarly:
		var top uint64
		for at := range cv.early {
			top = max(top, at)
		}
		if seq > top {
			return
		}
		delete(cv.early, top)
	}
	cv.early[seq] = p
}

// applyEarly applies what came too soon and is next now.
func (k *core) applyEarly(cv *conv, quiet bool) {
	for len(cv.early) > 0 {
		seq, p, ok := cv.earlyAt(cv.rec.after(cv.rec.High))
		if !ok {
			break
		}
		delete(cv.early, seq)
		if p.entry != nil {
			k.apply(cv, p.entry, quiet)
		} else {
			k.skip(cv, p.last, p.end)
		}
	}
	maps.DeleteFunc(cv.early, func(_ uint64, p place) bool { return p.last <= cv.rec.High })
	maps.DeleteFunc(cv.newer, func(seq uint64, _ *wire.Entry) bool { return seq <= cv.rec.High })
}

// earlyAt finds what is known of a place that came too soon.
func (cv *conv) earlyAt(seq uint64) (uint64, place, bool) {
	if p, ok := cv.early[seq]; ok {
		return seq, p, true
	}
	for at, p := range cv.early {
		if at <= seq && seq <= p.last {
			return at, p, true
		}
	}
	return 0, place{}, false
}

// forgetEarly drops what came too soon and lies below seq.
func (cv *conv) forgetEarly(seq uint64) {
	maps.DeleteFunc(cv.early, func(_ uint64, p place) bool { return p.last < seq })
	maps.DeleteFunc(cv.newer, func(at uint64, _ *wire.Entry) bool { return at < seq })
}

// newestOf names an entry.
func newestOf(e *wire.Entry) *wire.Newest {
	return &wire.Newest{Conversation: e.Conversation, Seq: e.Seq, Id: e.Id, StoredAtMs: e.StoredAtMs, Pos: e.Pos}
}
