package skein

import (
	"slices"

	"github.com/skein-im/skein/wire"
)

// What is not kept any more (SPEC §4.33) lies up to the floor of its conversation, which the
// server tells as it rises, and in each state of the conversation. The greatest that was told
// counts: what says less was made before.

// floor is up to where a conversation is gone for all, as far as it was told here.
type floor struct {
	seq uint64
	// count is the running count there, if it was told.
	count   uint64
	counted bool
}

// onFloor takes the floor of a conversation as it rises. Of one that is not known, what the
// server will say of it has the floor.
func (k *core) onFloor(f *wire.Floor) {
	cv := k.convs[f.GetConversation()]
	if cv == nil || f.Seq <= cv.floor.seq {
		return
	}
	cv.floor = floor{f.Seq, f.Count, true}
	k.sink(cv)
}

// takeFloor takes the floor that a state told, which is applied. Where the server had not
// noticed yet what is known here, its windows and what it says is unread are cut.
func (k *core) takeFloor(cv *conv, seq uint64) {
	switch {
	case seq > cv.floor.seq:
		cv.floor = floor{seq: seq}
	case seq < cv.floor.seq:
		k.sink(cv)
	}
}

// sink takes away what lies up to the floor of a conversation: from its windows, from what
// is unread, and from what is shown and stored.
func (k *core) sink(cv *conv) {
	r, at := &cv.rec, cv.floor
	if r.begin() > at.seq {
		return
	}
	was := *r
	sure := r.sink(at)
	if l := r.Last; l != nil && l.Seq <= at.seq && !l.Deleted {
		r.Last = blanked(l) // also of one from before the window
	}
	k.outOfWindows(cv, &was, at.seq)
	cv.forgetEarly(r.after(r.High))
	k.trimThreads(cv)
	k.touch(cv, true)
	k.applyEarly(cv, false)
	k.wantPull(cv)
	if !sure {
		k.askWhatIsLeft(cv)
	}
}

// sink cuts the windows and what is unread at a floor. It is false when only the server
// knows what is unread then.
func (r *ConversationRecord) sink(at floor) (sure bool) {
	inside := r.theirs(at.seq, at.seq) > 0
	var kept []Window
	var hidden, behind uint64 // between what goes, and right behind the floor
	for _, w := range r.Earlier {
		switch {
		case w.Until <= at.seq:
			if hidden += w.Hidden; w.Until == at.seq {
				behind = w.Hidden
			}
			continue
		case w.First <= at.seq:
			w.First = at.seq + 1
		}
		kept = append(kept, w)
	}
	r.Earlier, r.First = kept, max(r.First, 1)
	if r.First <= at.seq {
		r.First = at.seq + 1
	}
	below := func(seqs []uint64) int {
		i, _ := slices.BinarySearch(seqs, at.seq+1)
		return i
	}
	recalled, mentions := below(r.Recalled), below(r.Mentions)
	// Those without a name lie behind the last one that has one.
	sure = (r.RecalledMore == 0 || recalled < len(r.Recalled)) && (r.MentionsMore == 0 || mentions < len(r.Mentions))
	r.Recalled, r.Mentions = r.Recalled[recalled:], r.Mentions[mentions:]
	switch {
	case r.Read >= at.seq:
		return true
	case inside && at.counted:
		r.ReadCount = max(r.ReadCount, at.count+behind)
		return sure
	}
	r.ReadCount += hidden + uint64(recalled) // until the server has told
	return false
}
