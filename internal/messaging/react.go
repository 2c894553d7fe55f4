package messaging

import (
	"context"
	"errors"

	"github.com/skein-im/skein/internal/entrycodec"
	"github.com/skein-im/skein/internal/im"
)

// errSame: an amendment changes nothing, so nothing is stored. It is no refusal: its
// sender is answered without a seq, unless it was stored when it changed something.
var errSame = im.Errorf(im.CodeInvalidArgument, "it is so already")

// amendable is what a message says that is reacted to, voted in or pinned: it is of who does
// so, or theirs to read, and was not taken back.
func (s *Service) amendable(ctx context.Context, e, target *im.Entry) (*entrycodec.State, error) {
	if target.Sender != e.Sender && e.Sender != "" {
		if _, err := s.readable(ctx, e.Sender, e.Conversation, e.Target); err != nil {
			return nil, err
		}
	}
	if target.Recalled {
		return nil, im.Errorf(im.CodeTooLate, "the message was taken back")
	}
	state, err := entrycodec.Open(target.Body, target.Amended)
	if err != nil {
		return nil, im.Wrap(err, im.CodeUnprocessable, "what the message says cannot be read")
	}
	return state, nil
}

// react: who may write in a conversation may react to what they may read of it. It
// changes target to what the reaction makes of it.
func (s *Service) react(ctx context.Context, e *im.Entry, m *amending, target *im.Entry) error {
	state, err := s.amendable(ctx, e, target)
	if err != nil {
		return err
	}
	bucket, err := s.bucket(ctx, e.Conversation, state.BucketOf(e.Sender))
	if err != nil {
		return err
	}
	m.told, err = state.React(e.Sender, e.Body, bucket)
	switch {
	case errors.Is(err, entrycodec.ErrReactions):
		return im.TooLarge("reaction", "would be one more kind on this message; at most %d are allowed", entrycodec.MaxReactions)
	case err != nil:
		return im.Wrap(err, im.CodeUnprocessable, "who reacted to the message cannot be read")
	case m.told == nil:
		return errSame
	}
	if err := s.emojiThere(ctx, e.Body); err != nil {
		return err
	}
	m.kept = e.Body
	if at, seq, full := state.Full(); full {
		old, err := s.bucket(ctx, e.Conversation, seq)
		if err != nil {
			return err
		}
		m.kept, m.carries = entrycodec.WithKept(e.Body, state.Spill(at, old)), true
	}
	target.Body = state.Body()
	m.amend.Body = target.Body
	return nil
}

// bucket reads the reactions that an entry carries; none for seq 0.
func (s *Service) bucket(ctx context.Context, c im.ConversationID, seq uint64) ([]entrycodec.Record, error) {
	if seq == 0 {
		return nil, nil
	}
	got, err := s.journal.Read(ctx, c, seq, false, 1)
	if err != nil {
		return nil, err
	}
	if len(got) == 0 || got[0].Seq != seq {
		return nil, im.Errorf(im.CodeInternal, "entry %d of a conversation is missing", seq)
	}
	records, err := entrycodec.Bucket(got[0].Body)
	if err != nil {
		return nil, im.Wrap(err, im.CodeUnprocessable, "who reacted to the message cannot be read")
	}
	return records, nil
}

// Reactions tells who reacted to a message with what (reaction "": with anything), in an
// order of its own: at most limit of them behind after, and whether there are more. Who
// may read the message may read it; of one that was taken back there are none.
func (s *Service) Reactions(ctx context.Context, from im.Actor, c im.ConversationID, seq uint64, reaction string, after entrycodec.Record, limit int) ([]entrycodec.Record, bool, error) {
	e, err := s.shownTo(ctx, from.User, c, seq)
	if err != nil {
		return nil, false, err
	}
	if !e.Kind.Said() {
		return nil, false, errNoMessage
	}
	state, err := entrycodec.Open(e.Body, e.Amended)
	if err != nil {
		return nil, false, im.Wrap(err, im.CodeUnprocessable, "what the message says cannot be read")
	}
	return state.Reacted(reaction, after, limit, func(seq uint64) ([]entrycodec.Record, error) { return s.bucket(ctx, c, seq) })
}
