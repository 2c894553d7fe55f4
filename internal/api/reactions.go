package api

import (
	"context"
	"strings"

	"github.com/skein-im/skein/internal/contract"
	"github.com/skein-im/skein/internal/entrycodec"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

func (c *Calls) reactToMessage(ctx context.Context, actor im.Actor, r *wire.ReactToMessageRequest, k *keyed) (*wire.ReactToMessageResponse, error) {
	id, err := c.idFor(r.GetId(), k)
	if err != nil {
		return nil, err
	}
	msg, err := contract.React(&wire.ReactToMessageRequest{
		Conversation: r.GetConversation(), Seq: r.GetSeq(), Id: id, Reaction: r.GetReaction(), Remove: r.GetRemove(),
	})
	if err != nil {
		return nil, err
	}
	ack, err := c.store(ctx, actor, msg)
	if err != nil {
		return nil, err
	}
	return &wire.ReactToMessageResponse{Id: id, Seq: ack.Seq}, nil
}

// Pages of who reacted.
const (
	defaultReactions = 100
	maxReactions     = 500
)

func (c *Calls) listReactions(ctx context.Context, actor im.Actor, r *wire.ListReactionsRequest) (*wire.ListReactionsResponse, error) {
	conv, err := im.ParseConversationID(r.GetConversation())
	if err != nil {
		return nil, err
	}
	if r.GetSeq() == 0 {
		return nil, im.Wrong("seq", "is missing")
	}
	if r.GetReaction() != "" {
		if err := contract.CheckReaction(r.GetReaction()); err != nil {
			return nil, err
		}
	}
	var after entrycodec.Record
	if r.GetCursor() != "" { // the user and what they reacted with
		user, reaction, ok := strings.Cut(r.GetCursor(), " ")
		if !ok || !im.ValidID(user) || contract.CheckReaction(reaction) != nil {
			return nil, im.Wrong("cursor", "is none of this server's")
		}
		after = entrycodec.Record{User: im.UserID(user), Reaction: reaction}
	}
	limit := int(min(r.GetLimit(), maxReactions))
	if limit == 0 {
		limit = defaultReactions
	}
	page, more, err := c.Messages.Reactions(ctx, actor, conv, r.GetSeq(), r.GetReaction(), after, limit)
	if err != nil {
		return nil, err
	}
	out := &wire.ListReactionsResponse{}
	for _, x := range page {
		out.Reacted = append(out.Reacted, &wire.Reacted{User: string(x.User), Reaction: x.Reaction})
	}
	if more {
		last := page[len(page)-1]
		out.Next = string(last.User) + " " + last.Reaction
	}
	return out, nil
}
