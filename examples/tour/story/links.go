package story

import "github.com/skein-im/skein/wire"

// links: Carol asks to be let in by a link, and joins by one when the group is open.
func links(t *teller) {
	all := []*device{t.annPhone, t.annLaptop, t.bobs}
	joined := func(mode wire.JoinMode) {
		t.call(t.bob, "GroupService/UpdateGroup", &wire.UpdateGroupRequest{Conversation: t.tea, Join: mode}, new(wire.UpdateGroupResponse))
		t.hears("group changed by bob", all...)
	}
	t.refused(t.bob, "GroupService/CreateInviteLink", &wire.CreateInviteLinkRequest{Conversation: t.tea}, wire.CodePermissionDenied)
	joined(wire.JoinMode_JOIN_MODE_APPROVAL)
	var made wire.CreateInviteLinkResponse
	t.call(t.bob, "GroupService/CreateInviteLink", &wire.CreateInviteLinkRequest{Conversation: t.tea, MaxUses: 4}, &made)
	code := made.Link.GetCode()
	var look wire.GetInviteLinkResponse
	t.call(t.carol, "GroupService/GetInviteLink", &wire.GetInviteLinkRequest{Code: code}, &look)
	t.check(look.Name == "Tea at four" && look.Members == 2 && look.Approval, "what Carol sees of the group", &look)
	ask := func() {
		t.call(t.carol, "GroupService/RequestToJoin", &wire.RequestToJoinRequest{Code: code, Text: "I bring cake"}, new(wire.RequestToJoinResponse))
	}
	ask()
	var asking wire.ListJoinRequestsResponse
	t.call(t.bob, "GroupService/ListJoinRequests", &wire.ListJoinRequestsRequest{Conversation: t.tea}, &asking)
	t.check(len(asking.Requests) == 1 && asking.Requests[0].Text == "I bring cake", "who asks", asking.Requests)
	t.call(t.bob, "GroupService/RefuseJoin", &wire.RefuseJoinRequest{Conversation: t.tea, User: t.carol.id}, new(wire.RefuseJoinResponse))
	ask()
	t.call(t.carol, "GroupService/WithdrawJoin", &wire.WithdrawJoinRequest{Conversation: t.tea}, new(wire.WithdrawJoinResponse))
	ask()
	t.call(t.bob, "GroupService/ApproveJoin", &wire.ApproveJoinRequest{Conversation: t.tea, User: t.carol.id}, new(wire.ApproveJoinResponse))
	t.hears("member added by bob carol", all...)
	t.call(t.carol, "GroupService/LeaveGroup", &wire.LeaveGroupRequest{Conversation: t.tea}, new(wire.LeaveGroupResponse))
	t.hears("member left by carol carol", all...)

	joined(wire.JoinMode_JOIN_MODE_OPEN)
	t.call(t.carol, "GroupService/JoinByLink", &wire.JoinByLinkRequest{Code: code}, new(wire.JoinByLinkResponse))
	t.hears("member added by carol carol", all...)
	t.call(t.carol, "GroupService/LeaveGroup", &wire.LeaveGroupRequest{Conversation: t.tea}, new(wire.LeaveGroupResponse))
	t.hears("member left by carol carol", all...)
	var left wire.ListInviteLinksResponse
	t.call(t.bob, "GroupService/ListInviteLinks", &wire.ListInviteLinksRequest{Conversation: t.tea}, &left)
	t.check(len(left.Links) == 1 && left.Links[0].Uses == 4, "a link that was used four times", left.Links)
	t.call(t.bob, "GroupService/RevokeInviteLink", &wire.RevokeInviteLinkRequest{Conversation: t.tea, Code: code}, new(wire.RevokeInviteLinkResponse))
	t.refused(t.carol, "GroupService/JoinByLink", &wire.JoinByLinkRequest{Code: code}, wire.CodeNotFound)

	var short wire.CreateGroupResponse
	t.call(t.bob, "GroupService/CreateGroup", &wire.CreateGroupRequest{Name: "Not for long"}, &short)
	t.hears("group created by bob bob", t.bobs)
	gone := short.Group.GetConversation()
	t.call(t.bob, "GroupService/DismissGroup", &wire.DismissGroupRequest{Conversation: gone}, new(wire.DismissGroupResponse))
	t.hears("group dismissed by bob", t.bobs)
	t.refused(t.bob, "MessageService/SendMessage", &wire.SendMessageRequest{Conversation: gone, Content: text("hello?")}, wire.CodeNotFound)
}
