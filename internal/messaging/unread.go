package messaging

import (
	"context"
	"math"
	"slices"

	"github.com/skein-im/skein/internal/entrycodec"
	"github.com/skein-im/skein/internal/im"
)

// How many recalled messages are named, of a conversation and of an answer.
const (
	namedRecalls = 1000
	namedInAll   = 2000
)

// recallAsk gathers, for all conversations of an answer, where recalled messages
// would count as unread, so that the journal is asked once, and not at all when
// nothing is unread.
type recallAsk struct {
	spans []im.Span
	of    []int // the conversations, as places in the answer
	// deleted are the spans, by their number, of which the user deleted every entry.
	deleted map[int]bool
	// quiet are spans in which nothing counts, but replies in threads may mention the user.
	quiet   []im.Span
	quietOf []int
}

// add asks for the entries after..until of conversation n of the answer.
func (a *recallAsk) add(n int, c im.ConversationID, after, until uint64) {
	a.spans = append(a.spans, im.Span{Conversation: c, After: after, Until: until})
	a.of = append(a.of, n)
}

// leaveOut takes what was recalled out of what is unread (SPEC §4.2). The heads
// were read before: a recall that came since counts already, and its entry will
// change nothing for who knows the message to be recalled.
func (s *Service) leaveOut(ctx context.Context, u im.UserID, a *recallAsk, states []im.ConversationState) error {
	if len(a.spans) == 0 {
		return s.mentioned(ctx, u, a, states)
	}
	out, err := s.recalledOf(ctx, a)
	if err != nil {
		return err
	}
	left := namedInAll
	for i := range out {
		st, r := &states[a.of[i]], &out[i]
		n := min(r.Count, st.Unread)
		st.Unread -= n
		// What is named are the first ones: nothing follows where one is left out.
		whole := uint64(len(st.RecalledSeqs)) == st.Recalled
		st.Recalled += n
		if named := min(len(r.Seqs), namedRecalls-len(st.RecalledSeqs), left); whole && named > 0 {
			st.RecalledSeqs = append(slices.Clip(st.RecalledSeqs), r.Seqs[:named]...)
			left -= named
		}
	}
	return s.mentioned(ctx, u, a, states)
}

// mentioned counts which messages of what is unread mention the user (SPEC §4.17), and
// names the first ones.
func (s *Service) mentioned(ctx context.Context, u im.UserID, a *recallAsk, states []im.ConversationState) error {
	var spans []im.LabelSpan
	var of []int
	ask := func(span im.Span, n int) {
		for _, label := range labelsOf(u, span.Conversation) {
			spans, of = append(spans, im.LabelSpan{Span: span, Label: label}), append(of, n)
		}
	}
	quiet := 0
	upTo := func(n int) { // those of one conversation stand together
		for ; quiet < len(a.quiet) && a.quietOf[quiet] <= n; quiet++ {
			ask(a.quiet[quiet], a.quietOf[quiet])
		}
	}
	for i := range a.spans {
		if !a.deleted[i] {
			upTo(a.of[i])
			ask(a.spans[i], a.of[i])
		}
	}
	if upTo(len(states)); len(spans) == 0 {
		return nil
	}
	out := make([]im.Labelled, len(spans))
	if err := s.labels.Labelled(ctx, spans, namedRecalls, out); err != nil {
		return err
	}
	left := namedInAll
	for i := 0; i < len(out); {
		st := &states[of[i]]
		n := i
		seqs, whole := []uint64(nil), uint64(math.MaxUint64) // all up to this seq are in seqs
		for ; n < len(out) && of[n] == of[i]; n++ {
			l := &out[n]
			st.UnreadMentions += l.Count
			if seqs = append(seqs, l.Seqs...); uint64(len(l.Seqs)) < l.Count {
				whole = min(whole, l.Seqs[len(l.Seqs)-1])
			}
		}
		slices.Sort(seqs)
		if at, found := slices.BinarySearch(seqs, whole); found {
			seqs = seqs[:at+1]
		} else {
			seqs = seqs[:at]
		}
		st.MentionSeqs = seqs[:min(len(seqs), namedRecalls, left)]
		left -= len(st.MentionSeqs)
		i = n
	}
	return nil
}

// labelsOf are those by which messages that mention a user are found.
func labelsOf(u im.UserID, c im.ConversationID) []string {
	if c.Kind() == im.KindGroup {
		return []string{entrycodec.LabelOf(u), entrycodec.LabelAll}
	}
	return []string{entrycodec.LabelOf(u)}
}

// count is what of a view is unread, as the difference of two running counts, and
// asks for what of it was recalled. It is number n of the answer.
func (s *Service) count(ctx context.Context, v *view, own im.Mark, st *im.ConversationState, n int, ask *recallAsk) error {
	if own.Read < v.m.First && v.m.First > 1 {
		return s.countIn(ctx, v, own, st, n, ask)
	}
	if st.Unread = v.head.Count - min(own.ReadCount, v.head.Count); st.Unread > 0 {
		ask.addUnread(n, v.m.Conversation, own.Read, v.head.Seq, st.Mine.Deleted)
	} else {
		ask.addQuiet(n, v.m.Conversation, own.Read, v.head.Seq, st.Mine.Deleted)
	}
	return nil
}

// countIn is count when the read mark lies before the last time of membership:
// what was stored while the user was no member does not count.
func (s *Service) countIn(ctx context.Context, v *view, own im.Mark, st *im.ConversationState, n int, ask *recallAsk) error {
	c, before := v.m.Conversation, own.ReadCount
	windows := append(slices.Clip(v.m.Earlier), im.Window{First: v.m.First})
	for i, w := range windows {
		if w.Until != 0 && w.Until <= own.Read {
			continue
		}
		start, after := before, own.Read
		if own.Read < w.First && w.First > 1 {
			var err error
			if start, err = s.countAt(ctx, c, w.First-1, im.Head{}); err != nil {
				return err
			}
			if i > 0 {
				st.Earlier[i-1].Hidden = start - min(before, start)
			}
			after = w.First - 1
		}
		end, until := v.head.Count, v.head.Seq
		if w.Until != 0 {
			var err error
			if end, err = s.countAt(ctx, c, w.Until, im.Head{}); err != nil {
				return err
			}
			until = w.Until
		}
		if end > start {
			st.Unread += end - start
			ask.addUnread(n, c, after, until, st.Mine.Deleted)
		} else {
			ask.addQuiet(n, c, after, until, st.Mine.Deleted)
		}
		before = end
	}
	return nil
}
