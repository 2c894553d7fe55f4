package skein

import (
	"slices"

	"github.com/skein-im/skein/wire"
)

// Which unread messages mention the user, as they are now (SPEC §4.17), is kept by
// number, as what was recalled is: it does not matter how often, or by what, a message
// is told. Behind those that the server named lie more, of which only the number is
// known: once the read mark passes the named ones, or one behind them changes, the
// server is asked.

// mentions tells whether a message counts as a mention of the user.
func (k *core) mentions(e *wire.Entry) bool {
	return e.Kind == wire.EntryKind_ENTRY_KIND_MESSAGE && !e.Recalled && k.mentionsIn(e)
}

// mentionsIn tells whether the words of a message, or of an edit by its author, do.
func (k *core) mentionsIn(e *wire.Entry) bool {
	return e.Sender != k.meta.User &&
		(e.GroupMention == wire.GroupMention_GROUP_MENTION_ALL || slices.Contains(e.Mentions, k.meta.User))
}

// noteMention takes note of whether the message at seq mentions the user, as the entry
// at by left it; by is seq itself where nothing amended it.
func (k *core) noteMention(cv *conv, seq, by uint64, is bool) {
	r := &cv.rec
	if seq <= r.Read || by <= cv.mentionsAt || r.theirs(seq, seq) == 0 {
		return // passed, or told with the conversation
	}
	i, known := slices.BinarySearch(r.Mentions, seq)
	switch unnamed := i == len(r.Mentions) && r.MentionsMore > 0; {
	case known && !is:
		r.Mentions = slices.Delete(slices.Clone(r.Mentions), i, i+1) // the store has the old one
	case !known && is && !unnamed:
		r.Mentions = slices.Insert(slices.Clone(r.Mentions), i, seq)
	case !unnamed || known:
	case by > seq || cv.mentionsAt == 0: // the server knows whether it is among the unnamed
		k.askMembership(cv)
	case is:
		r.MentionsMore++
	}
}

func (r *ConversationRecord) unreadMentions() uint64 { return uint64(len(r.Mentions)) + r.MentionsMore }

// passMentions takes note that the read mark is at seq.
func (r *ConversationRecord) passMentions(seq uint64) {
	r.Mentions, r.MentionsMore = r.behind(r.Mentions, r.MentionsMore, seq)
}

// takeMentions takes over what the server says. What this device knows of later than
// the server looked stays; if that is not enough to tell, the server is asked again.
func (k *core) takeMentions(cv *conv, s *wire.ConversationState) {
	r := &cv.rec
	if s.Seq < r.High && s.Seq < cv.mentionsAt {
		return // as it was before
	}
	all, more := named(s.MentionSeqs, s.UnreadMentions)
	if s.Seq < r.High {
		for _, seq := range r.Mentions {
			switch _, known := slices.BinarySearch(all, seq); {
			case known:
			case seq <= s.Seq:
				defer k.askMembership(cv)
			case more > 0:
				more++
			default:
				all = append(all, seq)
			}
		}
		if r.MentionsMore > 0 || more > 0 {
			defer k.askMembership(cv)
		}
	}
	r.Mentions, r.MentionsMore, cv.mentionsAt = all, more, s.Seq
	r.passMentions(r.Read)
}
