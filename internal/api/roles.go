package api

import (
	"context"

	"github.com/skein-im/skein/internal/account"
	"github.com/skein-im/skein/internal/contract"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

func (c *Calls) roleRows() []row {
	return []row{
		newRow("AccountService/GetMe", Known, ClassRead, small, c.getMe),
		newRow("AdminService/BanUser", Moderators, ClassAdmin, small, c.banUser),
		newRow("AdminService/UnbanUser", Moderators, ClassAdmin, small, c.unbanUser),
		newRow("AdminService/SetDisabled", Admins, ClassAdmin, small, c.setDisabled),
		newRow("AdminService/SetServerRole", Owners, ClassAdmin, small, c.setServerRole),
	}
}

// actOn is the user with an id, on whose account the actor may act: whose role is a lesser
// one, or who they are themselves.
func (c *Calls) actOn(ctx context.Context, actor im.Actor, id string) (im.UserID, error) {
	user, err := userID("user", id)
	if err != nil || user == actor.User {
		return user, err
	}
	u, err := c.Accounts.Me(ctx, user)
	if im.CodeOf(err) == im.CodeNotFound {
		return user, nil // whoever does something to them says so
	}
	if err != nil {
		return user, err
	}
	return user, actor.Role.ActOn(u.Role)
}

func (c *Calls) getMe(ctx context.Context, actor im.Actor, _ *wire.GetMeRequest) (*wire.GetMeResponse, error) {
	me := &wire.GetMeResponse{Session: string(actor.Session), Role: wire.ServerRole(actor.Role), ServerVersion: c.Version}
	if actor.User == "" {
		return me, nil
	}
	u, err := c.Accounts.Me(ctx, actor.User)
	if err != nil {
		return nil, err
	}
	me.User, me.Role, me.HideReads = wireUser(u), wire.ServerRole(u.Role), u.HideReads
	me.DmPolicy, me.GroupPolicy = wire.DmPolicy(u.DMPolicy), wire.GroupPolicy(max(u.GroupPolicy, im.GroupsAnyone))
	me.FindPolicy, me.PresencePolicy = wire.FindPolicy(max(u.FindPolicy, im.FindAnyone)), wire.PresencePolicy(max(u.PresencePolicy, im.PresenceContacts))
	return me, nil
}

func (c *Calls) banUser(ctx context.Context, actor im.Actor, r *wire.BanUserRequest) (*wire.BanUserResponse, error) {
	user, err := userID("user", r.GetUser())
	until, errUntil := moment("untilMs", r.GetUntilMs())
	if err := first(err, errUntil, contract.CheckText("reason", r.GetReason(), 0, account.MaxBanReason)); err != nil {
		return nil, err
	}
	n, err := c.Accounts.Ban(ctx, actor, user, until, r.GetReason())
	if err != nil {
		return nil, err
	}
	return &wire.BanUserResponse{Sessions: uint32(n)}, nil
}

func (c *Calls) unbanUser(ctx context.Context, actor im.Actor, r *wire.UnbanUserRequest) (*wire.UnbanUserResponse, error) {
	user, err := userID("user", r.GetUser())
	if err != nil {
		return nil, err
	}
	if err := c.Accounts.Unban(ctx, actor, user); err != nil {
		return nil, err
	}
	return &wire.UnbanUserResponse{}, nil
}

func (c *Calls) setDisabled(ctx context.Context, actor im.Actor, r *wire.SetDisabledRequest) (*wire.SetDisabledResponse, error) {
	user, err := userID("user", r.GetUser())
	if err != nil {
		return nil, err
	}
	n, err := c.Accounts.Disable(ctx, actor, user, r.GetDisabled())
	if err != nil {
		return nil, err
	}
	return &wire.SetDisabledResponse{Sessions: uint32(n)}, nil
}

func (c *Calls) setServerRole(ctx context.Context, _ im.Actor, r *wire.SetServerRoleRequest) (*wire.SetServerRoleResponse, error) {
	user, err := userID("user", r.GetUser())
	if err := first(err, knownEnum("role", r.GetRole(), wire.ServerRole_name)); err != nil {
		return nil, err
	}
	if err := c.Accounts.SetRole(ctx, user, im.ServerRole(r.GetRole())); err != nil {
		return nil, err
	}
	return &wire.SetServerRoleResponse{}, nil
}

func (c *Calls) wireAccount(a *im.AccountInfo) *wire.Account {
	w := &wire.Account{
		User: wireUser(a.User), Role: wire.ServerRole(a.Role), State: wire.AccountState(a.State(c.Now())),
		CreatedAtMs: contract.Millis(a.Created), LastSeenAtMs: contract.Millis(a.LastSeen), Sessions: uint32(a.Sessions), StorageBytes: uint64(max(a.StorageBytes, 0)),
		Password: a.Password, Totp: a.SecondFactor,
	}
	if w.State == wire.AccountState_ACCOUNT_STATE_BANNED {
		w.BannedUntilMs, w.BanReason = contract.Millis(a.Barred.Until), a.Barred.Reason
	}
	return w
}
