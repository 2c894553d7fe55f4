package skein

import (
	"slices"

	"github.com/skein-im/skein/wire"
)

// A message that was recalled is not unread (SPEC §4.2). Which ones lie after the
// read mark is kept by number, so that it does not matter how often, or by what, a
// recall is told: by its entry, or with what the server says of the conversation.

// recall takes note that a message was recalled. It is false when only the server
// knows whether that is counted already.
func (r *ConversationRecord) recall(seq uint64) bool {
	if seq <= r.Read || r.theirs(seq, seq) == 0 {
		return true
	}
	i, known := slices.BinarySearch(r.Recalled, seq)
	switch {
	case known:
		return true
	case i == len(r.Recalled) && r.RecalledMore > 0:
		return false
	}
	r.Recalled = slices.Insert(slices.Clone(r.Recalled), i, seq) // the store has the old one
	return true
}

// passRecalled takes note that the read mark is at seq.
func (r *ConversationRecord) passRecalled(seq uint64) {
	r.Recalled, r.RecalledMore = r.behind(r.Recalled, r.RecalledMore, seq)
}

// behind is what lies behind seq of the entries that are named, ascending, and of those
// that are not, which lie behind the named ones up to the head.
func (r *ConversationRecord) behind(named []uint64, more, seq uint64) ([]uint64, uint64) {
	i, at := slices.BinarySearch(named, seq)
	if at {
		i++
	}
	if seq >= r.Head {
		more = 0
	}
	return named[i:], more
}

// named is a set of entries as the server tells it: those it names, ascending, and how
// many more there are.
func named(seqs []uint64, all uint64) (ascending []uint64, more uint64) {
	ascending = slices.Clone(seqs)
	slices.Sort(ascending)
	ascending = slices.Compact(ascending)
	return ascending, all - min(uint64(len(ascending)), all)
}

// unnamed tells that the read mark passed all recalled messages, or all mentions, that
// the server named, and there are more: it alone knows how many the mark passed of those.
func (r *ConversationRecord) unnamed() bool {
	return r.RecalledMore > 0 && len(r.Recalled) == 0 || r.MentionsMore > 0 && len(r.Mentions) == 0
}

// takeRecalled takes over what the server says was recalled after its read mark,
// and returns what was not known here.
func (r *ConversationRecord) takeRecalled(s *wire.ConversationState) (news []uint64) {
	all, more := named(s.RecalledSeqs, s.Recalled)
	var last uint64
	if len(all) > 0 {
		last = all[len(all)-1]
	}
	for _, seq := range all {
		if _, known := slices.BinarySearch(r.Recalled, seq); !known {
			news = append(news, seq)
		}
	}
	if s.Seq < r.High { // what was recalled since the server looked stays
		for _, seq := range r.Recalled {
			if i, known := slices.BinarySearch(all, seq); !known && (more == 0 || seq < last) {
				all = slices.Insert(all, i, seq)
			}
		}
	}
	r.Recalled, r.RecalledMore = all, more
	r.passRecalled(r.Read)
	return news
}

// recalled notes that a message of the conversation was recalled by the entry at by.
// What was recalled before the server last told what is unread is counted already.
func (k *core) recalled(cv *conv, seq, by uint64) {
	k.noteMention(cv, seq, by, false)
	if !cv.rec.recall(seq) && by > cv.told {
		k.askMembership(cv) // the answer tells what is unread as well
	}
}
