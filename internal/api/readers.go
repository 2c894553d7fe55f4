package api

import (
	"context"

	"github.com/skein-im/skein/internal/contract"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

func (c *Calls) listReaders(ctx context.Context, actor im.Actor, r *wire.ListReadersRequest) (*wire.ListReadersResponse, error) {
	conv, err := groupID(r.GetConversation())
	if err != nil {
		return nil, err
	}
	if r.GetSeq() == 0 {
		return nil, im.Wrong("seq", "is missing")
	}
	read, received, err := c.Lists.Readers(ctx, actor, conv, r.GetSeq())
	if err != nil {
		return nil, err
	}
	return &wire.ListReadersResponse{Read: contract.Strings(read), Received: contract.Strings(received)}, nil
}
