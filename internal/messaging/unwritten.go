package messaging

import (
	"context"

	"github.com/skein-im/skein/internal/im"
)

// unwritten are views of the conversations without entries in which a user set something
// for themselves, e.g. a draft for a friend to whom they have not written yet. No
// membership tells of these; the marks do, if wanted says so.
func (s *Service) unwritten(ctx context.Context, marks []im.Mark, wanted func(m *im.Mark) bool) ([]view, error) {
	var ids []im.ConversationID
	for i := range marks {
		c := marks[i].Conversation
		if marks[i].Mine != "" && c.Kind() != im.KindGroup && !isNote(c) && wanted(&marks[i]) {
			ids = append(ids, c)
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	heads := make([]im.Head, len(ids))
	if err := s.journal.Heads(ctx, ids, heads); err != nil {
		return nil, err
	}
	var views []view
	for i, c := range ids {
		if heads[i] == (im.Head{}) {
			views = append(views, view{m: im.Membership{Conversation: c, First: 1}, unwritten: true})
		}
	}
	return views, nil
}

// lists adds to a cold list the conversations without entries that are wanted and in which
// something is set.
func (s *Service) lists(ctx context.Context, u im.UserID, all []view, wanted func(im.ConversationID) bool) ([]view, error) {
	marks, err := s.markStore.UserMarks(ctx, u)
	if err != nil {
		return nil, err
	}
	more, err := s.unwritten(ctx, marks, func(m *im.Mark) bool {
		mine := s.mine(m, m.Conversation)
		return wanted(m.Conversation) && mine != im.MyState{Conversation: mine.Conversation, Revision: mine.Revision}
	})
	return append(all, more...), err
}
