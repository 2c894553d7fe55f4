package api

import (
	"context"

	"github.com/skein-im/skein/internal/contract"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

// Pages of messages that are found by what they say.
const (
	defaultFound = 50
	maxFound     = 200
)

func foundLimit(asked uint32) int {
	if asked == 0 {
		return defaultFound
	}
	return int(min(asked, maxFound))
}

func (c *Calls) listMentions(ctx context.Context, actor im.Actor, r *wire.ListMentionsRequest) (*wire.ListMentionsResponse, error) {
	page, next, err := c.Lists.Mentions(ctx, actor, r.GetCursor(), foundLimit(r.GetLimit()))
	if err != nil {
		return nil, err
	}
	return &wire.ListMentionsResponse{Entries: contract.Entries(page), Next: next}, nil
}
