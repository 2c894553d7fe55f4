package story

import (
	"github.com/skein-im/skein/wire"
)

// administrators: what an integrator's server and an administrator do. Over the
// connection it is an administrator's, over HTTP the key.
func administrators(t *teller) {
	boss := &person{id: "the key", token: t.server.AdminKey, key: true}
	claim := &wire.ClaimAdminRequest{Code: t.server.ClaimCode, Username: "olga-" + t.tag, Password: password}
	if claim.Code == "" {
		claim.Code = "not-the-code-of-the-link"
		t.refused(nil, "AdminService/ClaimAdmin", claim, wire.CodePermissionDenied)
	} else {
		var r wire.ClaimAdminResponse
		t.call(nil, "AdminService/ClaimAdmin", claim, &r)
		boss = &person{id: r.Tokens.GetUser(), token: r.Tokens.GetAccessToken()}
		t.name(boss.id, "olga")
		t.refused(nil, "AdminService/ClaimAdmin", claim, wire.CodePermissionDenied)
	}
	var made wire.CreateUserResponse
	t.call(boss, "AdminService/CreateUser", &wire.CreateUserRequest{Username: "dora-" + t.tag, Password: password, DisplayName: "dora"}, &made)
	dora := made.User.GetId()
	var token wire.MintTokenResponse
	t.call(boss, "AdminService/MintToken", &wire.MintTokenRequest{User: dora, Device: &wire.Device{Id: "once"}}, &token)
	t.name(dora, "dora")
	var group wire.CreateGroupForResponse
	t.call(boss, "AdminService/CreateGroupFor", &wire.CreateGroupForRequest{Id: "office-" + t.tag, Owner: dora, Name: "Office", Members: []string{t.bob.id}}, &group)
	t.hears("group created by dora bob, dora", t.bobs)

	office := group.Group.GetConversation()
	t.call(boss, "AdminService/SetRetention", &wire.SetRetentionRequest{Conversation: office, Kind: wire.RetentionKind_RETENTION_KIND_TIME, RetentionS: 86_400}, new(wire.SetRetentionResponse))
	var kept wire.GetRetentionResponse
	t.call(boss, "AdminService/GetRetention", &wire.GetRetentionRequest{Conversation: office}, &kept)
	t.check(kept.RetentionS == 86_400 && kept.Floor == 0, "the office keeps messages for a day", &kept)
	t.refused(t.bob, "AdminService/SetRetention", &wire.SetRetentionRequest{Conversation: office}, wire.CodePermissionDenied)

	found, cursor := false, ""
	for range 100 {
		var page wire.ListUsersResponse
		t.call(boss, "AdminService/ListUsers", &wire.ListUsersRequest{Limit: 500, Cursor: cursor}, &page)
		for _, u := range page.Users {
			found = found || u.Id == dora
		}
		if cursor = page.Next; cursor == "" {
			break
		}
	}
	t.check(found, "Dora is in the list", dora)
	var sessions wire.ListUserSessionsResponse
	t.call(boss, "AdminService/ListUserSessions", &wire.ListUserSessionsRequest{User: dora}, &sessions)
	t.check(len(sessions.Sessions) == 1, "Dora's session", sessions.Sessions)
	t.call(boss, "AdminService/KickUser", &wire.KickUserRequest{User: dora}, new(wire.KickUserResponse))
	gone := &person{id: dora, token: token.Tokens.GetAccessToken()}
	t.refused(gone, "AccountService/ListSessions", &wire.ListSessionsRequest{}, wire.CodeSessionRevoked)
	t.refused(t.bob, "AdminService/ListUsers", &wire.ListUsersRequest{}, wire.CodePermissionDenied)
	roles(t, boss, dora)
	moderation(t, boss, dora)
	place(t, boss)
	invitations(t, boss, dora)
	stickers(t, boss)
	pushes(t)
}
