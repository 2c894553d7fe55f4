package messaging

import (
	"context"

	"github.com/skein-im/skein/internal/im"
)

// Message returns a message as it is stored, to whom it is to read: for who takes over
// what it says.
func (s *Service) Message(ctx context.Context, from im.Actor, c im.ConversationID, seq uint64) (im.Entry, error) {
	e, err := s.shownTo(ctx, from.User, c, seq)
	switch {
	case err != nil:
		return im.Entry{}, err
	case !e.Kind.Said():
		return im.Entry{}, errNoMessage
	case e.Recalled:
		return im.Entry{}, im.Errorf(im.CodeTooLate, "the message was taken back")
	}
	return e, nil
}

// Stored tells which of an actor's messages are stored, of which Conversation, ID and
// Hash count: the acks of those, and nothing of the others. It is one question to the
// store. What is stored meanwhile may be left out.
func (s *Service) Stored(ctx context.Context, from im.Actor, ms []im.Message) ([]im.Ack, []bool, error) {
	batch := make([]im.Append, len(ms))
	for i := range ms {
		batch[i] = im.Append{Entry: im.Entry{Conversation: ms[i].Conversation, ID: ms[i].ID, Sender: from.User}, Hash: ms[i].Hash}
	}
	out := make([]im.Appended, len(ms))
	if err := s.lookups.Lookup(ctx, batch, out); err != nil {
		return nil, nil, cannotLook(err)
	}
	acks, stored := make([]im.Ack, len(ms)), make([]bool, len(ms))
	for i := range out {
		if stored[i] = out[i].Status == im.Duplicate; stored[i] {
			acks[i] = im.Ack{Seq: out[i].Seq, Stored: out[i].Time, Count: out[i].Count, Pos: out[i].Pos}
		}
	}
	return acks, stored, nil
}

// Entry returns an entry that the actor may read as it is stored, whatever became of it; of a
// reply, if they may read its root.
func (s *Service) Entry(ctx context.Context, from im.Actor, c im.ConversationID, seq uint64) (im.Entry, error) {
	return s.readable(ctx, from.User, c, seq)
}
