package api

import (
	"context"

	"github.com/skein-im/skein/internal/contract"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

func (c *Calls) pinMessage(ctx context.Context, actor im.Actor, r *wire.PinMessageRequest, k *keyed) (*wire.PinMessageResponse, error) {
	id, err := c.idFor(r.GetId(), k)
	if err != nil {
		return nil, err
	}
	msg, err := contract.Pin(&wire.PinMessageRequest{Conversation: r.GetConversation(), Seq: r.GetSeq(), Id: id, Remove: r.GetRemove()})
	if err != nil {
		return nil, err
	}
	ack, err := c.store(ctx, actor, msg)
	if err != nil {
		return nil, err
	}
	return &wire.PinMessageResponse{Id: id, Seq: ack.Seq}, nil
}

func (c *Calls) listPins(ctx context.Context, actor im.Actor, r *wire.ListPinsRequest) (*wire.ListPinsResponse, error) {
	conv, err := im.ParseConversationID(r.GetConversation())
	if err != nil {
		return nil, err
	}
	page, next, err := c.Lists.Pins(ctx, actor, conv, r.GetCursor(), foundLimit(r.GetLimit()))
	if err != nil {
		return nil, err
	}
	return &wire.ListPinsResponse{Entries: contract.Entries(page), Next: next}, nil
}
