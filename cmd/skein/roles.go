package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/skein-im/skein/internal/config"
	"github.com/skein-im/skein/wire"
)

type userBanCmd struct {
	adminClient `embed:""`
	userRef     `embed:""`
	For         config.Duration `help:"How long, as 48h; without it for ever."`
	Reason      string          `help:"What the user is told, at most 200 characters."`
}

func (c *userBanCmd) Run(ctx context.Context) error {
	id, err := c.exactly(ctx, &c.adminClient)
	if err != nil {
		return err
	}
	req := &wire.BanUserRequest{User: id, Reason: c.Reason}
	if c.For != 0 {
		req.UntilMs = time.Now().Add(time.Duration(c.For)).UnixMilli()
	}
	var resp wire.BanUserResponse
	if err := c.call(ctx, "AdminService/BanUser", req, &resp); err != nil {
		return err
	}
	if c.JSON {
		return printJSON(&resp)
	}
	until := "for ever"
	if req.UntilMs != 0 {
		until = "until " + day(req.UntilMs)
	}
	fmt.Printf("banned %s; %d sessions ended\n", until, resp.Sessions)
	return nil
}

type userUnbanCmd struct {
	adminClient `embed:""`
	userRef     `embed:""`
}

func (c *userUnbanCmd) Run(ctx context.Context) error {
	id, err := c.id(ctx, &c.adminClient)
	if err != nil {
		return err
	}
	return c.call(ctx, "AdminService/UnbanUser", &wire.UnbanUserRequest{User: id}, &wire.UnbanUserResponse{})
}

type userDisableCmd struct {
	adminClient `embed:""`
	userRef     `embed:""`
}

func (c *userDisableCmd) Run(ctx context.Context) error {
	return setDisabled(ctx, &c.adminClient, c.userRef, true)
}

type userEnableCmd struct {
	adminClient `embed:""`
	userRef     `embed:""`
}

func (c *userEnableCmd) Run(ctx context.Context) error {
	return setDisabled(ctx, &c.adminClient, c.userRef, false)
}

func setDisabled(ctx context.Context, c *adminClient, user userRef, disabled bool) error {
	id, err := user.id(ctx, c)
	if err != nil {
		return err
	}
	var resp wire.SetDisabledResponse
	if err := c.call(ctx, "AdminService/SetDisabled", &wire.SetDisabledRequest{User: id, Disabled: disabled}, &resp); err != nil {
		return err
	}
	if c.JSON {
		return printJSON(&resp)
	}
	if disabled {
		fmt.Printf("disabled; %d sessions ended\n", resp.Sessions)
	}
	return nil
}

// serverRoles are the roles as they are typed.
var serverRoles = map[string]wire.ServerRole{
	"none": wire.ServerRole_SERVER_ROLE_UNSPECIFIED, "auditor": wire.ServerRole_SERVER_ROLE_AUDITOR, "moderator": wire.ServerRole_SERVER_ROLE_MODERATOR,
	"admin": wire.ServerRole_SERVER_ROLE_ADMIN, "owner": wire.ServerRole_SERVER_ROLE_OWNER,
}

type userRoleCmd struct {
	adminClient `embed:""`
	userRef     `embed:""`
	Role        string `arg:"" enum:"none,auditor,moderator,admin,owner" help:"none, auditor, moderator, admin or owner."`
}

func (c *userRoleCmd) Run(ctx context.Context) error {
	id, err := c.id(ctx, &c.adminClient)
	if err != nil {
		return err
	}
	return c.call(ctx, "AdminService/SetServerRole", &wire.SetServerRoleRequest{User: id, Role: serverRoles[c.Role]}, &wire.SetServerRoleResponse{})
}

// accountStates are the states as they are typed.
var accountStates = map[string]wire.AccountState{
	"any": wire.AccountState_ACCOUNT_STATE_UNSPECIFIED, "active": wire.AccountState_ACCOUNT_STATE_ACTIVE, "banned": wire.AccountState_ACCOUNT_STATE_BANNED,
	"disabled": wire.AccountState_ACCOUNT_STATE_DISABLED, "deleted": wire.AccountState_ACCOUNT_STATE_DELETED,
}

// stateOf says in a few words what became of an account.
func stateOf(a *wire.Account) string {
	state := strings.ToLower(strings.TrimPrefix(a.State.String(), "ACCOUNT_STATE_"))
	switch {
	case a.State != wire.AccountState_ACCOUNT_STATE_BANNED:
		return state
	case a.BannedUntilMs == 0:
		return state + " for ever"
	}
	return state + " until " + day(a.BannedUntilMs)
}

func roleOf(a *wire.Account) string {
	if a.Role == 0 {
		return "-"
	}
	return strings.ToLower(strings.TrimPrefix(a.Role.String(), "SERVER_ROLE_"))
}
