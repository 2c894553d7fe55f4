package messaging

import (
	"context"
	"errors"
	"slices"

	"github.com/skein-im/skein/internal/im"
)

// Readable tells what the actor may read and did not clear for themselves: of all
// conversations with "", or of one, not_found for strangers. Feeds are no conversations in
// which something is said.
func (s *Service) Readable(ctx context.Context, from im.Actor, c im.ConversationID) ([]im.Readable, error) {
	cleared, err := s.cleared(ctx, from.User)
	if err != nil {
		return nil, err
	}
	if c != "" {
		head, m, err := s.headAs(ctx, from.User, c)
		if err != nil {
			return nil, err
		}
		r := reading{s: s, user: from.User, m: m}
		earlier, err := r.earlier(ctx)
		if err != nil {
			return nil, err
		}
		last := head.Seq
		if m.Until != 0 {
			last = min(last, m.Until)
		}
		return readable(nil, c, head.Pos, append(slices.Clip(earlier), im.Window{First: m.First, Until: last}), cleared[c]), nil
	}
	at, err := s.journal.Position(ctx)
	if err != nil {
		return nil, err
	}
	all, _, err := s.views(ctx, from.User, at, func(im.ConversationID, *im.Head) bool { return true })
	if err == nil {
		all, err = s.settleAll(ctx, from.User, all)
	}
	if err != nil {
		return nil, err
	}
	var out []im.Readable
	for i := range all {
		v := &all[i]
		c := v.m.Conversation
		if v.unwritten || c.Kind() == im.KindMe {
			continue
		}
		out = readable(out, c, v.head.Pos, append(slices.Clip(v.m.Earlier), im.Window{First: v.m.First, Until: v.head.Seq}), cleared[c])
	}
	return out, nil
}

// readable adds the windows of a conversation, from the entry on below which it is
// cleared.
func readable(out []im.Readable, c im.ConversationID, newest uint64, windows []im.Window, cleared uint64) []im.Readable {
	r := im.Readable{Conversation: c, Newest: newest}
	for _, w := range windows {
		if w.First = max(w.First, cleared, 1); w.First <= w.Until {
			r.Windows = append(r.Windows, w)
		}
	}
	if len(r.Windows) == 0 {
		return out
	}
	return append(out, r)
}

// Shown returns those of some entries of a conversation that are messages which the actor
// may read, and neither were recalled nor deleted by them, each as ListEntries tells it.
func (s *Service) Shown(ctx context.Context, from im.Actor, c im.ConversationID, seqs []uint64) ([]im.Entry, error) {
	head, m, err := s.headAs(ctx, from.User, c)
	if err != nil {
		return nil, err
	}
	last := head.Seq
	if m.Until != 0 {
		last = min(last, m.Until)
	}
	r := reading{s: s, user: from.User, m: m}
	if err := r.look(ctx); err != nil {
		return nil, err
	}
	var out []im.Entry
	for _, seq := range seqs {
		may := seq > 0 && seq <= last && !r.deleted.Has(seq)
		if may {
			if may, err = r.may(ctx, seq); err != nil {
				return nil, err
			}
		}
		if !may {
			continue
		}
		got, err := s.journal.Read(ctx, c, seq, false, 1)
		if errors.Is(err, im.ErrJournalDamaged) {
			continue // whoever reads it is told
		}
		if err != nil {
			return nil, err
		}
		if len(got) == 0 || got[0].Seq != seq || !got[0].Kind.Said() || got[0].Recalled || len(got[0].Body) == 0 {
			continue
		}
		if got[0].Kind == im.EntryReply {
			if may, err = r.may(ctx, got[0].Target); err != nil {
				return nil, err
			} else if !may {
				continue
			}
		}
		if err := r.present(ctx, &got[0]); err != nil {
			return nil, err
		}
		out = append(out, got[0])
	}
	return out, nil
}
