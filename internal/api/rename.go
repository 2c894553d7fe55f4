package api

import (
	"context"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

func (c *Calls) changeUsername(ctx context.Context, actor im.Actor, r *wire.ChangeUsernameRequest) (*wire.ChangeUsernameResponse, error) {
	if err := first(opaque("username", r.GetUsername(), maxUsernameBytes), passwordIf(r.GetPassword())); err != nil {
		return nil, err
	}
	u, err := c.Accounts.ChangeUsername(ctx, actor, r.GetUsername(), r.GetPassword())
	if err != nil {
		return nil, err
	}
	c.Contacts.ProfileChanged()
	return &wire.ChangeUsernameResponse{User: wireUser(u)}, nil
}

func (c *Calls) setUsername(ctx context.Context, actor im.Actor, r *wire.SetUsernameRequest) (*wire.SetUsernameResponse, error) {
	if err := opaque("username", r.GetUsername(), maxUsernameBytes); err != nil {
		return nil, err
	}
	user, err := c.actOn(ctx, actor, r.GetUser())
	if err != nil {
		return nil, err
	}
	u, err := c.Accounts.SetUsername(ctx, user, r.GetUsername())
	if err != nil {
		return nil, err
	}
	c.Contacts.ProfileChanged()
	return &wire.SetUsernameResponse{User: wireUser(u)}, nil
}
