package api

import (
	"context"
	"time"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

func (c *Calls) setLifetime(ctx context.Context, actor im.Actor, r *wire.SetLifetimeRequest) (*wire.SetLifetimeResponse, error) {
	conv, err := im.ParseConversationID(r.GetConversation())
	if err != nil {
		return nil, err
	}
	lifetime := time.Duration(r.GetLifetimeS()) * time.Second
	switch conv.Kind() {
	case im.KindGroup:
		err = c.Groups.SetLifetime(ctx, actor, conv, lifetime)
	case im.KindDM:
		err = c.Contacts.SetLifetime(ctx, actor, conv, lifetime)
	default:
		err = im.Errorf(im.CodePermissionDenied, "me feeds take entries from the server only")
	}
	if err != nil {
		return nil, err
	}
	return &wire.SetLifetimeResponse{}, nil
}
