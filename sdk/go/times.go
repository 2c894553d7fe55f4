package skein

import (
	"slices"

	"github.com/skein-im/skein/wire"
)

// Window is a time of membership that is over, with another one after it (SPEC
// §4.3). What lies between two of them is not the user's to read: it is no hole.
type Window struct {
	// First and Until are its first and its last entry.
	First, Until uint64
	// Hidden is the number of messages between it and the next one, as far as
	// the read mark is not behind them.
	Hidden uint64
}

// after is the seq of the entry that follows seq for the user.
func (r *ConversationRecord) after(seq uint64) uint64 {
	next := seq + 1
	for _, w := range r.Earlier {
		if next <= w.Until {
			return max(next, w.First)
		}
	}
	return max(next, r.First)
}

// before is the seq of the entry that precedes seq for the user, 0 if there is none.
func (r *ConversationRecord) before(seq uint64) uint64 {
	prev := max(seq, 1) - 1
	if prev >= r.First {
		return prev
	}
	for _, w := range slices.Backward(r.Earlier) {
		if prev >= w.First {
			return min(prev, w.Until)
		}
	}
	return 0
}

// begin is the user's very first entry, 0 if it is not known.
func (r *ConversationRecord) begin() uint64 {
	if len(r.Earlier) > 0 {
		return r.Earlier[0].First
	}
	return r.First
}

// theirs is how many of the entries from..to are the user's to read.
func (r *ConversationRecord) theirs(from, to uint64) (n uint64) {
	part := func(first, until uint64) {
		if first, until = max(first, from), min(until, to); first <= until {
			n += until - first + 1
		}
	}
	for _, w := range r.Earlier {
		part(w.First, w.Until)
	}
	part(r.First, to)
	return n
}

// startAt takes note that there is nothing for the user before seq.
func (r *ConversationRecord) startAt(seq uint64) {
	i := slices.IndexFunc(r.Earlier, func(w Window) bool { return w.Until >= seq })
	if i < 0 {
		r.First, r.Earlier = seq, nil
		return
	}
	r.Earlier = slices.Clone(r.Earlier[i:]) // the store has the old one
	r.Earlier[0].First = seq
}

// amidTimes tells that seq lies between two times of membership, and is not the last there:
// the count at it says nothing of how many messages that are not the user's come behind.
func (r *ConversationRecord) amidTimes(seq uint64) bool {
	return r.theirs(seq, seq) == 0 && r.after(seq) != seq+1
}

// pass takes note that the read mark is at seq: what is hidden before it is
// counted in ReadCount.
func (r *ConversationRecord) pass(seq uint64) {
	behind := func(w Window) bool { return w.Until < seq && w.Hidden > 0 }
	if !slices.ContainsFunc(r.Earlier, behind) {
		return
	}
	r.Earlier = slices.Clone(r.Earlier) // the store has the old one
	for i := range r.Earlier {
		if behind(r.Earlier[i]) {
			r.Earlier[i].Hidden = 0
		}
	}
}

// hidden is how many messages after the read mark are not the user's.
func (r *ConversationRecord) hidden() (n uint64) {
	for _, w := range r.Earlier {
		n += w.Hidden
	}
	return n
}

// countBefore is the running count before an entry.
func countBefore(e *wire.Entry) uint64 {
	if e.Kind == wire.EntryKind_ENTRY_KIND_MESSAGE && e.Count > 0 {
		return e.Count - 1
	}
	return e.Count
}

// askMembership asks since when the user is a member of a conversation, and what is
// unread there; nil: one that is not known at all. The question is stored with what gave
// rise to it, and is asked again after a restart, until it is answered.
func (k *core) askMembership(cv *conv) {
	if cv != nil {
		k.unsure[cv] = struct{}{}
		cv.rec.Unsure = true
		k.touch(cv, true)
	}
	if !k.meta.Listing {
		k.requestSync()
	}
}

// listUnsure has the list read again if a sync did not tell of a membership that it
// was asked for: the position was beyond it already.
func (k *core) listUnsure() {
	if len(k.unsure) > 0 && !k.meta.Listing && !k.wantSync {
		k.meta.Listing, k.meta.ListNext = true, ""
		for cv := range k.unsure { // once: the list answers, whoever reads it to its end
			cv.rec.Unsure = false
			k.touch(cv, true)
		}
		clear(k.unsure)
	}
}

// takeWindows takes over the times of membership as the server tells them. One
// that the store holds stays, also when the server, which keeps the latest ones,
// does not name it any more, as far as it is not gone for all (SPEC §4.33). low, if not 0, is where the window has to begin now:
// something before it was not the user's until now, and the store has none of it.
func (cv *conv) takeWindows(s *wire.ConversationState) (low uint64) {
	r := &cv.rec
	newer := s.Seq >= r.High
	if !newer && s.FirstSeq < r.First {
		return 0 // as it was before the user came back
	}
	was := *r
	begin := s.FirstSeq
	if len(s.Earlier) > 0 {
		begin = s.Earlier[0].FirstSeq
	}
	var all []Window
	for _, w := range r.Earlier {
		if w.Until >= r.Low && w.Until > s.Floor && w.Until < begin {
			all = append(all, Window{First: max(w.First, s.Floor+1), Until: w.Until})
		}
	}
	for _, w := range s.Earlier {
		all = append(all, Window{First: w.FirstSeq, Until: w.UntilSeq, Hidden: w.Hidden})
	}
	r.First, r.Earlier = s.FirstSeq, all
	if newer {
		r.Until, cv.told = s.UntilSeq, s.Seq
	}
	cv.forgetEarly(r.after(r.High))
	return r.opened(&was)
}

// opened is the first entry of the window behind the last one of it that was not the
// user's before and is now (a group may show new members everything), 0 if there is none.
func (r *ConversationRecord) opened(was *ConversationRecord) uint64 {
	next := was.First
	for _, w := range slices.Backward(was.Earlier) {
		if last := r.before(next); next <= r.High && last > w.Until && last >= r.Low {
			return next
		}
		next = w.First
	}
	return 0
}

// raise has the window begin at a later entry; what is before it is read again when it
// is shown.
func (k *core) raise(cv *conv, low uint64) {
	// What this batch adds below must not outlive the Forget, which comes first in it.
	k.commit()
	k.batch.Forget = append(k.batch.Forget, EntryRef{cv.rec.ID, low})
	cv.rec.Low = low
	k.touch(cv, true)
}
