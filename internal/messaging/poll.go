package messaging

import (
	"context"
	"strconv"

	"github.com/skein-im/skein/internal/entrycodec"
	"github.com/skein-im/skein/internal/im"
)

// poll decides about a vote, or the end of a poll, and changes target to what that makes
// of it. Who may write in a conversation may vote in what they may read of it; who may
// take the message back may end its poll.
func (s *Service) poll(ctx context.Context, e *im.Entry, m *amending, target *im.Entry) error {
	state, err := s.amendable(ctx, e, target)
	switch {
	case err != nil:
		return err
	case state.Told.Poll == nil:
		return im.Errorf(im.CodeNotFound, "the message is no poll")
	case e.Kind == im.EntryPollEnd:
		err = s.endPoll(ctx, e, m, target, state)
	default:
		err = s.vote(ctx, e, m, state)
	}
	if err != nil {
		return err
	}
	target.Body = state.Body()
	m.amend.Body = target.Body
	return nil
}

func (s *Service) endPoll(ctx context.Context, e *im.Entry, m *amending, target *im.Entry, state *entrycodec.State) error {
	if target.Sender != e.Sender {
		if err := s.permissions.MayRecall(ctx, e.Sender, e.Conversation, target.Sender); err != nil {
			return err
		}
	}
	now := s.now()
	if entrycodec.Ended(state.Told.Poll, now) {
		return errSame
	}
	m.told, m.kept = state.EndPoll(now), nil
	return nil
}

// vote: what is told of it lies in the poll's message alone. Its own entry keeps nothing
// of it, so a recall erases it, and nobody who reads the journal's entries finds there
// who chose what.
func (s *Service) vote(ctx context.Context, e *im.Entry, m *amending, state *entrycodec.State) error {
	bucket, err := s.bucket(ctx, e.Conversation, state.BucketOf(e.Sender))
	if err != nil {
		return err
	}
	at, many, err := state.Choice(e.Body)
	switch {
	case err != nil:
		return im.Wrap(err, im.CodeUnprocessable, "what the vote says cannot be read")
	case at >= 0:
		return &im.Error{Code: im.CodeNotFound, Field: "options[" + strconv.Itoa(at) + "]", Message: "this is no option of the poll"}
	case many:
		return im.Wrong("options", "must have one at most: this poll has a single choice")
	case entrycodec.Ended(state.Told.Poll, s.now()):
		return im.Errorf(im.CodeTooLate, "the poll has ended")
	}
	m.told, err = state.Vote(e.Sender, e.Body, bucket)
	switch {
	case err != nil:
		return im.Wrap(err, im.CodeUnprocessable, "who voted cannot be read")
	case m.told == nil:
		return errSame
	}
	if at, seq, full := state.Full(); full {
		old, err := s.bucket(ctx, e.Conversation, seq)
		if err != nil {
			return err
		}
		m.kept, m.carries = entrycodec.WithKept(nil, state.Spill(at, old)), true
	}
	return nil
}

// Votes tells who chose what in a poll (option "": something), in an order of its own:
// at most limit of them behind the user after, and whether there are more. Who may read
// the message may read it, unless the poll is anonymous; of one that was taken back there
// are none.
func (s *Service) Votes(ctx context.Context, from im.Actor, c im.ConversationID, seq uint64, option string, after im.UserID, limit int) ([]*entrycodec.Voted, bool, error) {
	e, err := s.shownTo(ctx, from.User, c, seq)
	if err != nil {
		return nil, false, err
	}
	if !e.Kind.Said() {
		return nil, false, errNoMessage
	}
	if e.Recalled {
		return nil, false, nil
	}
	state, err := entrycodec.Open(e.Body, e.Amended)
	switch {
	case err != nil:
		return nil, false, im.Wrap(err, im.CodeUnprocessable, "what the message says cannot be read")
	case state.Told.Poll == nil:
		return nil, false, im.Errorf(im.CodeNotFound, "the message is no poll")
	case state.Told.Poll.Anonymous:
		return nil, false, im.Errorf(im.CodePermissionDenied, "the poll is anonymous")
	}
	return state.Votes(option, after, limit, func(seq uint64) ([]entrycodec.Record, error) { return s.bucket(ctx, c, seq) })
}
