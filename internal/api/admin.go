package api

import (
	"context"
	"time"

	"github.com/skein-im/skein/internal/account"
	"github.com/skein-im/skein/internal/contract"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

func (c *Calls) claimAdmin(ctx context.Context, actor im.Actor, r *wire.ClaimAdminRequest) (*wire.ClaimAdminResponse, error) {
	if err := first(
		opaque("code", r.GetCode(), maxTokenBytes),
		opaque("username", r.GetUsername(), maxUsernameBytes),
		knownPassword("password", r.GetPassword()),
	); err != nil {
		return nil, err
	}
	t, err := c.Accounts.ClaimAdmin(ctx, actor.Address, r.GetCode(), r.GetUsername(), r.GetPassword())
	if err != nil {
		return nil, err
	}
	return &wire.ClaimAdminResponse{Tokens: wireTokens(t)}, nil
}

func (c *Calls) mintToken(ctx context.Context, actor im.Actor, r *wire.MintTokenRequest) (*wire.MintTokenResponse, error) {
	user, err := userID("user", r.GetUser())
	device, errDevice := contract.ParseDevice(r.GetDevice())
	lifetime, errLifetime := lifetime(r.GetLifetimeMs())
	if err := first(err, contract.CheckText("displayName", r.GetDisplayName(), 0, maxNameChars), errDevice, errLifetime); err != nil {
		return nil, err
	}
	if _, err := c.actOn(ctx, actor, r.GetUser()); err != nil {
		return nil, err
	}
	t, err := c.Accounts.Mint(ctx, account.Minting{User: user, DisplayName: r.GetDisplayName(), Lifetime: lifetime, Device: device, By: actor})
	if err != nil {
		return nil, err
	}
	return &wire.MintTokenResponse{Tokens: wireTokens(t)}, nil
}

func lifetime(ms int64) (time.Duration, error) {
	switch {
	case ms == 0:
		return defaultLifetime, nil
	case ms < 0 || ms > maxLifetime.Milliseconds():
		return 0, im.Wrong("lifetimeMs", "must be between 1 and %d (366 days)", maxLifetime.Milliseconds())
	}
	return time.Duration(ms) * time.Millisecond, nil
}

func (c *Calls) createUser(ctx context.Context, _ im.Actor, r *wire.CreateUserRequest, k *keyed) (*wire.CreateUserResponse, error) {
	if err := first(
		opaque("username", r.GetUsername(), maxUsernameBytes),
		knownPassword("password", r.GetPassword()),
		contract.CheckText("displayName", r.GetDisplayName(), 0, maxNameChars),
	); err != nil {
		return nil, err
	}
	u, err := c.Accounts.CreateUser(ctx, account.Registration{
		Username: r.GetUsername(), Password: r.GetPassword(), DisplayName: r.GetDisplayName(), Key: k.seed("user"),
	})
	if err != nil {
		return nil, err
	}
	return &wire.CreateUserResponse{User: wireUser(u)}, nil
}

func (c *Calls) listUsers(ctx context.Context, _ im.Actor, r *wire.ListUsersRequest) (*wire.ListUsersResponse, error) {
	limit, err := pageLimit(r.GetLimit(), 100, 500)
	after, errCursor := cursor(r.GetCursor())
	if err := first(err, errCursor, knownEnum("state", r.GetState(), wire.AccountState_name)); err != nil {
		return nil, err
	}
	users, next, err := c.Accounts.ListUsers(ctx, im.AccountQuery{
		After: im.UserID(after), Limit: limit, Guests: r.GetGuests(), Query: r.GetQuery(), State: im.AccountState(r.GetState()), WithRole: r.GetWithRole(),
	})
	if err != nil {
		return nil, err
	}
	out := &wire.ListUsersResponse{Next: next}
	for i := range users {
		a := c.wireAccount(&users[i])
		out.Users, out.Accounts = append(out.Users, a.User), append(out.Accounts, a)
	}
	return out, nil
}

func (c *Calls) listUserSessions(ctx context.Context, actor im.Actor, r *wire.ListUserSessionsRequest) (*wire.ListUserSessionsResponse, error) {
	user, err := userID("user", r.GetUser())
	if err != nil {
		return nil, err
	}
	s, err := c.sessions(ctx, actor, user)
	if err != nil {
		return nil, err
	}
	return &wire.ListUserSessionsResponse{Sessions: s}, nil
}

func (c *Calls) kickUser(ctx context.Context, actor im.Actor, r *wire.KickUserRequest) (*wire.KickUserResponse, error) {
	session, errSession := sessionID(r.GetSession(), true)
	if errSession != nil {
		return nil, errSession
	}
	user, err := c.actOn(ctx, actor, r.GetUser())
	if err != nil {
		return nil, err
	}
	n, err := c.Accounts.Revoke(ctx, user, session)
	if err != nil {
		return nil, err
	}
	return &wire.KickUserResponse{Sessions: uint32(n)}, nil
}
