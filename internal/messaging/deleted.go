package messaging

import (
	"context"

	"github.com/skein-im/skein/internal/entrycodec"
	"github.com/skein-im/skein/internal/im"
)

// mayDelete refuses to delete for the user what is no message that they may read.
func (r *reading) mayDelete(ctx context.Context, set im.SeqSet, last uint64) error {
	for some := range set.All() {
		for from := some.First; from <= some.Last; {
			n := int(some.Last-from) + 1
			var got []im.Entry
			var err error
			if some.Last <= last {
				if got, err = r.s.journal.Read(ctx, r.m.Conversation, from, false, n); err != nil {
					return err
				}
			}
			for i := range got {
				may, err := r.may(ctx, from)
				if err != nil {
					return err
				}
				if got[i].Seq != from || !got[i].Kind.Said() || !may {
					return noSuchMessage(from)
				}
				from++
			}
			if len(got) == 0 {
				return noSuchMessage(from)
			}
		}
	}
	return nil
}

func noSuchMessage(seq uint64) error {
	e := im.Errorf(im.CodeNotFound, "%d is no message that you can read", seq)
	e.Field = "delete"
	return e
}

// look finds out what the user deleted for themselves, once.
func (r *reading) look(ctx context.Context) error {
	if r.looked {
		return nil
	}
	deleted, err := r.s.deletedBy(ctx, r.user, r.m.Conversation)
	r.deleted, r.looked = deleted, err == nil
	return err
}

// deletedBy are the messages of a conversation that a user deleted for themselves.
func (s *Service) deletedBy(ctx context.Context, u im.UserID, c im.ConversationID) (im.SeqSet, error) {
	var mark [1]im.Mark
	if err := s.markStore.Marks(ctx, []im.MarkKey{{User: u, Conversation: c}}, mark[:], false); err != nil {
		return "", err
	}
	return s.mine(&mark[0], c).Deleted, nil
}

// shownTo is readable of what the user has not deleted for themselves.
func (s *Service) shownTo(ctx context.Context, u im.UserID, c im.ConversationID, seq uint64) (im.Entry, error) {
	e, err := s.readable(ctx, u, c, seq)
	if err != nil {
		return e, err
	}
	deleted, err := s.deletedBy(ctx, u, c)
	if err == nil && deleted.Has(seq) {
		err = errNoMessage
	}
	return e, err
}

// blank leaves of a message that its reader deleted nothing but its place.
func blank(e *im.Entry) { e.Body = entrycodec.Deleted() }

// addUnread asks for the entries after..until of conversation n of the answer, of which
// the user deleted some: those are known not to be unread.
func (a *recallAsk) addUnread(n int, c im.ConversationID, after, until uint64, deleted im.SeqSet) {
	for _, gone := range deleted.Within(after, until) {
		if gone.First-1 > after {
			a.add(n, c, after, gone.First-1)
		}
		a.add(n, c, gone.First-1, gone.Last)
		if a.deleted == nil {
			a.deleted = map[int]bool{}
		}
		a.deleted[len(a.spans)-1] = true
		after = gone.Last
	}
	if after < until {
		a.add(n, c, after, until)
	}
}

// addQuiet asks for the mentions in the entries after..until of conversation n of the
// answer, of which none counts. A me feed has none.
func (a *recallAsk) addQuiet(n int, c im.ConversationID, after, until uint64, deleted im.SeqSet) {
	if c.Kind() == im.KindMe {
		return
	}
	add := func(after, until uint64) {
		if after < until {
			a.quiet, a.quietOf = append(a.quiet, im.Span{Conversation: c, After: after, Until: until}), append(a.quietOf, n)
		}
	}
	for _, gone := range deleted.Within(after, until) {
		add(after, gone.First-1)
		after = gone.Last
	}
	add(after, until)
}

// recalledOf answers the spans: what was recalled of those that are asked for, all of
// those that the user deleted.
func (s *Service) recalledOf(ctx context.Context, a *recallAsk) ([]im.Recalled, error) {
	out := make([]im.Recalled, len(a.spans))
	if len(a.deleted) == 0 {
		return out, s.recalls.Recalled(ctx, a.spans, namedRecalls, out)
	}
	var spans []im.Span
	for i, span := range a.spans {
		if !a.deleted[i] {
			spans = append(spans, span)
		}
	}
	found := make([]im.Recalled, len(spans))
	if len(spans) > 0 {
		if err := s.recalls.Recalled(ctx, spans, namedRecalls, found); err != nil {
			return nil, err
		}
	}
	next := 0
	for i, span := range a.spans {
		if !a.deleted[i] {
			out[i] = found[next]
			next++
			continue
		}
		out[i].Count = span.Until - span.After
		for seq := span.After + 1; seq <= span.Until && len(out[i].Seqs) < namedRecalls; seq++ {
			out[i].Seqs = append(out[i].Seqs, seq)
		}
	}
	return out, nil
}
