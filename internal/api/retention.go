package api

import (
	"context"
	"slices"
	"time"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

// Retention is how long messages are kept.
type Retention interface {
	// SetRetention sets it for a conversation: keep, 0 for ever; where own is false, as
	// all of the deployment's.
	SetRetention(ctx context.Context, c im.ConversationID, own bool, keep time.Duration) error
	// GetRetention tells it; Keep is the deployment's where it has no time of its own.
	GetRetention(ctx context.Context, c im.ConversationID) (im.Retention, error)
}

func (c *Calls) setRetention(ctx context.Context, _ im.Actor, r *wire.SetRetentionRequest) (*wire.SetRetentionResponse, error) {
	conv, err := c.keeping(ctx, r.GetConversation())
	if err != nil {
		return nil, err
	}
	keep, own := time.Duration(r.GetRetentionS())*time.Second, true
	switch kind := r.GetKind(); {
	case kind == wire.RetentionKind_RETENTION_KIND_TIME:
		err = im.CheckRetention(keep)
	case keep != 0:
		err = im.Wrong("retentionS", "is set with RETENTION_KIND_TIME only")
	case kind == wire.RetentionKind_RETENTION_KIND_UNSPECIFIED:
		own = false
	case kind != wire.RetentionKind_RETENTION_KIND_FOREVER:
		err = im.Wrong("kind", "is none")
	}
	if err != nil {
		return nil, err
	}
	if err := c.Retention.SetRetention(ctx, conv, own, keep); err != nil {
		return nil, err
	}
	return &wire.SetRetentionResponse{}, nil
}

func (c *Calls) getRetention(ctx context.Context, _ im.Actor, r *wire.GetRetentionRequest) (*wire.GetRetentionResponse, error) {
	conv, err := c.keeping(ctx, r.GetConversation())
	if err != nil {
		return nil, err
	}
	kept, err := c.Retention.GetRetention(ctx, conv)
	if err != nil {
		return nil, err
	}
	out := &wire.GetRetentionResponse{RetentionS: uint32(kept.Keep / time.Second), Floor: kept.Floor}
	switch {
	case kept.Own && kept.Keep == 0:
		out.Kind = wire.RetentionKind_RETENTION_KIND_FOREVER
	case kept.Own:
		out.Kind = wire.RetentionKind_RETENTION_KIND_TIME
	}
	return out, nil
}

// keeping is the conversation of that name, whose users are there if it is a dm: nothing
// need have been said in it.
func (c *Calls) keeping(ctx context.Context, name string) (im.ConversationID, error) {
	conv, err := im.ParseConversationID(name)
	if err != nil {
		return conv, err
	}
	a, b, dm := conv.DMMembers()
	if !dm {
		return conv, nil
	}
	ids := slices.Compact([]im.UserID{a, b})
	users, err := c.Accounts.Users(ctx, ids)
	if err == nil && len(users) < len(ids) {
		e := im.Errorf(im.CodeNotFound, "one of the users is not there")
		e.Field = "conversation"
		err = e
	}
	return conv, err
}
