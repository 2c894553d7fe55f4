package api

import (
	"context"

	"github.com/skein-im/skein/internal/contract"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

func (c *Calls) deleteAccount(ctx context.Context, actor im.Actor, r *wire.DeleteAccountRequest) (*wire.DeleteAccountResponse, error) {
	if err := first(knownPassword("password", r.GetPassword()), opaqueIf("code", r.GetCode(), maxCodeBytes)); err != nil {
		return nil, err
	}
	if err := c.Accounts.Delete(ctx, actor, r.GetPassword(), r.GetCode()); err != nil {
		return nil, err
	}
	return &wire.DeleteAccountResponse{}, nil
}

func (c *Calls) eraseUser(ctx context.Context, actor im.Actor, r *wire.EraseUserRequest) (*wire.EraseUserResponse, error) {
	user, err := c.actOn(ctx, actor, r.GetUser())
	if err != nil {
		return nil, err
	}
	e, err := c.Accounts.Erase(ctx, user, r.GetMessages())
	if err != nil {
		return nil, err
	}
	return &wire.EraseUserResponse{Messages: e.Messages, BegunAtMs: contract.Millis(e.Begun), DoneAtMs: contract.Millis(e.Done)}, nil
}
