package story

import (
	"time"

	"github.com/skein-im/skein/wire"
)

// roles: Dora is a moderator for a while; Erik, who writes spam, is banned, let in again,
// and disabled when he leaves.
func roles(t *teller, boss *person, dora string) {
	var me wire.GetMeResponse
	t.call(boss, "AccountService/GetMe", &wire.GetMeRequest{}, &me)
	t.check(me.Role == wire.ServerRole_SERVER_ROLE_OWNER, "who claimed the server, or has its key, is an owner", &me)
	role := func(r wire.ServerRole) {
		t.call(boss, "AdminService/SetServerRole", &wire.SetServerRoleRequest{User: dora, Role: r}, new(wire.SetServerRoleResponse))
	}
	erik := "erik-" + t.tag
	var token, again wire.MintTokenResponse
	t.call(boss, "AdminService/MintToken", &wire.MintTokenRequest{User: erik, DisplayName: "Erik"}, &token)
	t.call(boss, "AdminService/MintToken", &wire.MintTokenRequest{User: dora}, &again)
	if t.err != nil {
		return
	}
	spammer := &person{id: erik, token: token.Tokens.GetAccessToken()}
	moderator := &person{id: dora, token: again.Tokens.GetAccessToken()}
	ban := &wire.BanUserRequest{User: erik, UntilMs: time.Now().Add(time.Hour).UnixMilli(), Reason: "spam"}
	t.refused(moderator, "AdminService/BanUser", ban, wire.CodePermissionDenied)
	role(wire.ServerRole_SERVER_ROLE_MODERATOR)
	var banned wire.BanUserResponse
	t.call(moderator, "AdminService/BanUser", ban, &banned)
	t.check(banned.Sessions == 1, "Erik's session ended", &banned)
	t.refused(spammer, "AccountService/ListSessions", &wire.ListSessionsRequest{}, wire.CodeBanned)
	t.refused(moderator, "AdminService/SetDisabled", &wire.SetDisabledRequest{User: erik, Disabled: true}, wire.CodePermissionDenied)
	var found wire.ListUsersResponse
	t.call(moderator, "AdminService/ListUsers", &wire.ListUsersRequest{Query: erik, State: wire.AccountState_ACCOUNT_STATE_BANNED}, &found)
	t.check(len(found.Accounts) == 1 && found.Accounts[0].BanReason == "spam", "Erik is banned", &found)
	t.call(moderator, "AdminService/UnbanUser", &wire.UnbanUserRequest{User: erik}, new(wire.UnbanUserResponse))
	t.refused(spammer, "AccountService/ListSessions", &wire.ListSessionsRequest{}, wire.CodeSessionRevoked)
	role(wire.ServerRole_SERVER_ROLE_UNSPECIFIED)
	var log wire.ListAuditLogResponse
	t.call(boss, "AdminService/ListAuditLog", &wire.ListAuditLogRequest{By: dora, Target: erik, OldestFirst: true}, &log)
	t.check(len(log.Entries) == 2 && log.Entries[0].Action == "AdminService/BanUser" && log.Entries[1].Action == "AdminService/UnbanUser", "what Dora did is in the audit log", log.Entries)
	t.refused(moderator, "AdminService/BanUser", ban, wire.CodePermissionDenied)

	disable := &wire.SetDisabledRequest{User: erik, Disabled: true}
	t.call(boss, "AdminService/SetDisabled", disable, new(wire.SetDisabledResponse))
	t.refused(boss, "AdminService/MintToken", &wire.MintTokenRequest{User: erik}, wire.CodeBanned)
	disable.Disabled = false
	t.call(boss, "AdminService/SetDisabled", disable, new(wire.SetDisabledResponse))
}
