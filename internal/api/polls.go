package api

import (
	"context"

	"github.com/skein-im/skein/internal/contract"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

func (c *Calls) voteInPoll(ctx context.Context, actor im.Actor, r *wire.VoteInPollRequest, k *keyed) (*wire.VoteInPollResponse, error) {
	id, err := c.idFor(r.GetId(), k)
	if err != nil {
		return nil, err
	}
	msg, err := contract.Vote(&wire.VoteInPollRequest{Conversation: r.GetConversation(), Seq: r.GetSeq(), Id: id, Options: r.GetOptions()})
	if err != nil {
		return nil, err
	}
	ack, err := c.store(ctx, actor, msg)
	if err != nil {
		return nil, err
	}
	return &wire.VoteInPollResponse{Id: id, Seq: ack.Seq}, nil
}

func (c *Calls) endPoll(ctx context.Context, actor im.Actor, r *wire.EndPollRequest, k *keyed) (*wire.EndPollResponse, error) {
	id, err := c.idFor(r.GetId(), k)
	if err != nil {
		return nil, err
	}
	msg, err := contract.EndPoll(&wire.EndPollRequest{Conversation: r.GetConversation(), Seq: r.GetSeq(), Id: id})
	if err != nil {
		return nil, err
	}
	ack, err := c.store(ctx, actor, msg)
	if err != nil {
		return nil, err
	}
	return &wire.EndPollResponse{Id: id, Seq: ack.Seq}, nil
}

// Pages of who voted.
const (
	defaultVotes = 100
	maxVotes     = 500
)

func (c *Calls) listVotes(ctx context.Context, actor im.Actor, r *wire.ListVotesRequest) (*wire.ListVotesResponse, error) {
	conv, err := im.ParseConversationID(r.GetConversation())
	if err != nil {
		return nil, err
	}
	if r.GetSeq() == 0 {
		return nil, im.Wrong("seq", "is missing")
	}
	if r.GetOption() != "" {
		if err := contract.CheckOption("option", r.GetOption()); err != nil {
			return nil, err
		}
	}
	if r.GetCursor() != "" && !im.ValidID(r.GetCursor()) { // the user
		return nil, im.Wrong("cursor", "is none of this server's")
	}
	limit := int(min(r.GetLimit(), maxVotes))
	if limit == 0 {
		limit = defaultVotes
	}
	page, more, err := c.Messages.Votes(ctx, actor, conv, r.GetSeq(), r.GetOption(), im.UserID(r.GetCursor()), limit)
	if err != nil {
		return nil, err
	}
	out := &wire.ListVotesResponse{Voted: page}
	if more {
		out.Next = page[len(page)-1].User
	}
	return out, nil
}
