package api

import (
	"context"

	"github.com/skein-im/skein/internal/contract"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

func (c *Calls) streamMessage(ctx context.Context, actor im.Actor, r *wire.StreamMessageRequest, k *keyed) (*wire.StreamMessageResponse, error) {
	id, err := c.idFor(r.GetId(), k)
	if err != nil {
		return nil, err
	}
	msg, err := contract.Stream(r, id)
	if err != nil {
		return nil, err
	}
	ack, err := c.store(ctx, actor, msg)
	if err != nil {
		return nil, err
	}
	return &wire.StreamMessageResponse{Id: id, Seq: ack.Seq}, nil
}
