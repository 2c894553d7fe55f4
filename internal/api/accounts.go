package api

import (
	"context"

	"github.com/skein-im/skein/internal/account"
	"github.com/skein-im/skein/internal/contract"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

func (c *Calls) register(ctx context.Context, actor im.Actor, r *wire.RegisterRequest, k *keyed) (*wire.RegisterResponse, error) {
	device, err := contract.ParseDevice(r.GetDevice())
	if err := first(
		opaque("username", r.GetUsername(), maxUsernameBytes),
		knownPassword("password", r.GetPassword()),
		contract.CheckText("displayName", r.GetDisplayName(), 0, maxNameChars),
		opaqueIf("invitation", r.GetInvitation(), maxTokenBytes),
		err,
	); err != nil {
		return nil, err
	}
	t, err := c.Accounts.Register(ctx, actor.Address, account.Registration{
		Username: r.GetUsername(), Password: r.GetPassword(), DisplayName: r.GetDisplayName(),
		Device: device, StayLoggedIn: r.GetStayLoggedIn(), Invitation: r.GetInvitation(), Key: k.seed("user " + r.GetUsername()),
	})
	if err != nil {
		return nil, err
	}
	return &wire.RegisterResponse{Tokens: wireTokens(t)}, nil
}

func (c *Calls) login(ctx context.Context, actor im.Actor, r *wire.LoginRequest) (*wire.LoginResponse, error) {
	device, err := contract.ParseDevice(r.GetDevice())
	if err := first(
		opaque("username", r.GetUsername(), maxUsernameBytes),
		knownPassword("password", r.GetPassword()),
		err,
	); err != nil {
		return nil, err
	}
	t, err := c.Accounts.Login(ctx, actor.Address, account.Credentials{
		Username: r.GetUsername(), Password: r.GetPassword(), Device: device, StayLoggedIn: r.GetStayLoggedIn(),
	})
	if err != nil {
		return nil, err
	}
	return &wire.LoginResponse{Tokens: wireTokens(t)}, nil
}

func (c *Calls) refresh(ctx context.Context, _ im.Actor, r *wire.RefreshRequest) (*wire.RefreshResponse, error) {
	if err := opaque("refreshToken", r.GetRefreshToken(), maxTokenBytes); err != nil {
		return nil, err
	}
	t, err := c.Accounts.Refresh(ctx, r.GetRefreshToken())
	if err != nil {
		return nil, err
	}
	return &wire.RefreshResponse{Tokens: wireTokens(t)}, nil
}

func (c *Calls) logout(ctx context.Context, actor im.Actor, _ *wire.LogoutRequest) (*wire.LogoutResponse, error) {
	if err := c.Accounts.Logout(ctx, actor); err != nil {
		return nil, err
	}
	return &wire.LogoutResponse{}, nil
}

func (c *Calls) listSessions(ctx context.Context, actor im.Actor, _ *wire.ListSessionsRequest) (*wire.ListSessionsResponse, error) {
	s, err := c.sessions(ctx, actor, actor.User)
	if err != nil {
		return nil, err
	}
	return &wire.ListSessionsResponse{Sessions: s}, nil
}

func (c *Calls) revokeSession(ctx context.Context, actor im.Actor, r *wire.RevokeSessionRequest) (*wire.RevokeSessionResponse, error) {
	session, err := sessionID(r.GetSession(), false)
	if err != nil {
		return nil, err
	}
	if _, err := c.Accounts.Revoke(ctx, actor.User, session); err != nil {
		return nil, err
	}
	return &wire.RevokeSessionResponse{}, nil
}

func (c *Calls) changePassword(ctx context.Context, actor im.Actor, r *wire.ChangePasswordRequest) (*wire.ChangePasswordResponse, error) {
	if err := first(
		knownPassword("oldPassword", r.GetOldPassword()),
		knownPassword("newPassword", r.GetNewPassword()),
	); err != nil {
		return nil, err
	}
	if err := c.Accounts.ChangePassword(ctx, actor, r.GetOldPassword(), r.GetNewPassword()); err != nil {
		return nil, err
	}
	return &wire.ChangePasswordResponse{}, nil
}

func (c *Calls) getUsers(ctx context.Context, _ im.Actor, r *wire.GetUsersRequest) (*wire.GetUsersResponse, error) {
	ids, err := userIDs("ids", r.GetIds(), 0, maxGetUsers)
	if err != nil {
		return nil, err
	}
	users, err := c.Accounts.Users(ctx, ids)
	if err != nil {
		return nil, err
	}
	return &wire.GetUsersResponse{Users: wireUsers(users)}, nil
}

func (c *Calls) findUser(ctx context.Context, actor im.Actor, r *wire.FindUserRequest) (*wire.FindUserResponse, error) {
	if err := opaque("username", r.GetUsername(), maxUsernameBytes); err != nil {
		return nil, err
	}
	u, err := c.Accounts.FindUser(ctx, actor.User, r.GetUsername())
	if err != nil {
		return nil, err
	}
	return &wire.FindUserResponse{User: wireUser(u)}, nil
}

func (c *Calls) searchUsers(ctx context.Context, actor im.Actor, r *wire.SearchUsersRequest) (*wire.SearchUsersResponse, error) {
	limit, err := pageLimit(r.GetLimit(), account.DefaultFound, account.MaxFound)
	after, errCursor := cursor(r.GetCursor())
	if err := first(err, errCursor); err != nil {
		return nil, err
	}
	users, next, err := c.Accounts.SearchUsers(ctx, actor, r.GetPrefix(), after, limit)
	if err != nil {
		return nil, err
	}
	return &wire.SearchUsersResponse{Users: wireUsers(users), Next: next}, nil
}

func (c *Calls) updateProfile(ctx context.Context, actor im.Actor, r *wire.UpdateProfileRequest) (*wire.UpdateProfileResponse, error) {
	if r.DisplayName != nil {
		if err := contract.CheckText("displayName", r.GetDisplayName(), 1, maxNameChars); err != nil {
			return nil, err
		}
	}
	if _, known := wire.DmPolicy_name[int32(r.GetDmPolicy())]; !known {
		return nil, im.Wrong("dmPolicy", "must be DM_POLICY_CONTACTS, DM_POLICY_EVERYONE or DM_POLICY_NOBODY")
	}
	if _, known := wire.GroupPolicy_name[int32(r.GetGroupPolicy())]; !known {
		return nil, im.Wrong("groupPolicy", "must be GROUP_POLICY_ANYONE, GROUP_POLICY_CONTACTS or GROUP_POLICY_NOBODY")
	}
	if _, known := wire.FindPolicy_name[int32(r.GetFindPolicy())]; !known {
		return nil, im.Wrong("findPolicy", "must be FIND_POLICY_ANYONE, FIND_POLICY_CONTACTS or FIND_POLICY_NOBODY")
	}
	if _, known := wire.PresencePolicy_name[int32(r.GetPresencePolicy())]; !known {
		return nil, im.Wrong("presencePolicy", "must be PRESENCE_POLICY_CONTACTS, PRESENCE_POLICY_EVERYONE or PRESENCE_POLICY_NOBODY")
	}
	u, err := c.Accounts.UpdateProfile(ctx, actor, im.ProfileChange{
		DisplayName: r.DisplayName, Picture: r.Picture, About: r.About, Extra: r.GetExtra(),
		DM: account.DMPolicy(r.GetDmPolicy()), Groups: im.GroupPolicy(r.GetGroupPolicy()), Find: im.FindPolicy(r.GetFindPolicy()),
		Presence: im.PresencePolicy(r.GetPresencePolicy()), HideReads: r.HideReads,
	})
	if err != nil {
		return nil, err
	}
	switch {
	case r.GetPresencePolicy() != 0:
		c.Contacts.PrivacyChanged(ctx, actor.User)
	case r.GetDmPolicy() != 0 || r.HideReads != nil:
		c.Contacts.InvalidateUser(ctx, actor.User)
	}
	c.Contacts.ProfileChanged()
	return &wire.UpdateProfileResponse{
		User: wireUser(u), DmPolicy: wire.DmPolicy(u.DMPolicy), GroupPolicy: wire.GroupPolicy(max(u.GroupPolicy, im.GroupsAnyone)),
		FindPolicy: wire.FindPolicy(max(u.FindPolicy, im.FindAnyone)), PresencePolicy: wire.PresencePolicy(max(u.PresencePolicy, im.PresenceContacts)),
		HideReads: u.HideReads,
	}, nil
}

// sessions lists a user's sessions as seen by actor.
func (c *Calls) sessions(ctx context.Context, actor im.Actor, user im.UserID) ([]*wire.Session, error) {
	list, err := c.Accounts.Sessions(ctx, user)
	if err != nil {
		return nil, err
	}
	out := make([]*wire.Session, len(list))
	for i, s := range list {
		out[i] = &wire.Session{
			Id:           string(s.ID),
			User:         string(s.User),
			Device:       contract.Device(s.Device),
			Client:       s.Client,
			CreatedAtMs:  contract.Millis(s.Created),
			LastSeenAtMs: contract.Millis(s.LastSeen),
			LastAddress:  s.LastAddress,
			Current:      s.ID == actor.Session,
		}
	}
	return out, nil
}

func wireTokens(t account.Tokens) *wire.Tokens {
	return &wire.Tokens{
		User:               string(t.User),
		Session:            string(t.Session),
		AccessToken:        t.Access,
		AccessExpiresAtMs:  contract.Millis(t.AccessExpires),
		RefreshToken:       t.Refresh,
		RefreshExpiresAtMs: contract.Millis(t.RefreshExpires),
	}
}

func wireUser(u account.User) *wire.User {
	p := &u.Profile
	return &wire.User{Id: string(u.ID), Username: u.Username, DisplayName: u.DisplayName, Picture: p.Picture, About: p.About, Extra: p.Extra, Deleted: u.Deleted, Guest: u.Guest}
}

func wireUsers(us []account.User) []*wire.User {
	out := make([]*wire.User, len(us))
	for i, u := range us {
		out[i] = wireUser(u)
	}
	return out
}
