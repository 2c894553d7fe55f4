package messaging

import (
	"context"
	"slices"

	"github.com/skein-im/skein/internal/im"
)

// Readers tells who of a group's members has read a message, and to whom else it came, in
// the order of their ids: of those who were members when it was written, but its author.
// Who hides how far they have read from the actor, or the actor from them, is told of as
// somebody to whom it came. What is told is durable.
func (s *Service) Readers(ctx context.Context, from im.Actor, c im.ConversationID, seq uint64) (read, received []im.UserID, err error) {
	_, place, err := s.headAs(ctx, from.User, c)
	if err == nil && place.Until != 0 {
		err = im.Errorf(im.CodeNotFound, "no such conversation") // they left it, and read what was before
	}
	if err != nil {
		return nil, nil, err
	}
	e, err := s.shownTo(ctx, from.User, c, seq)
	if err != nil {
		return nil, nil, err
	}
	if !e.Kind.Said() {
		return nil, nil, errNoMessage
	}
	members, err := s.members.Readers(ctx, c, im.MaxReaders+1)
	if err != nil {
		return nil, nil, err
	}
	if len(members) > im.MaxReaders {
		return nil, nil, im.Errorf(im.CodeTooLarge, "a group of more than %d members does not tell who has read a message", im.MaxReaders)
	}
	members = slices.DeleteFunc(members, func(m im.Reader) bool { return m.User == e.Sender || m.Since > seq })
	marks, err := s.marksOf(ctx, c, members)
	if err != nil {
		return nil, nil, err
	}
	var others []im.UserID
	for i := range marks {
		if u := marks[i].User; u != from.User && marks[i].Read >= seq {
			others = append(others, u)
		}
	}
	hidden, err := s.members.ReadsHidden(ctx, from.User, others)
	if err != nil {
		return nil, nil, err
	}
	for i := range marks {
		switch m := &marks[i]; {
		case m.Read >= seq && !slices.Contains(hidden, m.User):
			read = append(read, m.User)
		case max(m.Received, m.Read) >= seq:
			received = append(received, m.User)
		}
	}
	return read, received, nil
}

// marksOf are the durable marks of members, each with its user.
func (s *Service) marksOf(ctx context.Context, c im.ConversationID, members []im.Reader) ([]im.Mark, error) {
	keys, marks := make([]im.MarkKey, len(members)), make([]im.Mark, len(members))
	for i, m := range members {
		keys[i] = im.MarkKey{User: m.User, Conversation: c}
	}
	if len(keys) == 0 {
		return nil, nil
	}
	if err := s.markStore.Marks(ctx, keys, marks, false); err != nil {
		return nil, err
	}
	var set []markPair
	for i := range marks {
		if marks[i].Received > 0 || marks[i].Read > 0 {
			set = append(set, markPair{own: marks[i]})
		}
		marks[i].User = members[i].User // a mark that was never set has none
	}
	return marks, s.settleMarks(ctx, set)
}
