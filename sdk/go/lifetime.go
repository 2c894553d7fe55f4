package skein

import (
	"context"
	"time"

	"github.com/skein-im/skein/wire"
)

// SetLifetime has what is said in the conversation from now on disappear after a time, in
// whole seconds, of a minute to 365 days; 0: it stays. In a dm both may, in a group its
// admins. All devices hear LIFETIME_CHANGED. What is gone the server tells nobody any more:
// it is in no answer, and not unread. This device takes it away by itself, also from its
// store and without a connection, by its clock as the server last corrected it, and tells it
// by a GoneEvent. SPEC §4.27.
func (v *Conversation) SetLifetime(ctx context.Context, lifetime time.Duration) error {
	if lifetime < 0 || lifetime%time.Second != 0 || lifetime > 365*24*time.Hour {
		return ErrInvalidArgument
	}
	req := &wire.SetLifetimeRequest{Conversation: v.id, LifetimeS: uint32(lifetime / time.Second)}
	return v.c.Call(ctx, "skein.v1.MessageService/SetLifetime", req, &wire.SetLifetimeResponse{})
}
