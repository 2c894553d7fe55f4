package story

import (
	"time"

	"github.com/skein-im/skein/wire"
)

// groups: Ann makes one with Bob.
func groups(t *teller) {
	all := []*device{t.annPhone, t.annLaptop, t.bobs}
	var made wire.CreateGroupResponse
	t.call(t.ann, "GroupService/CreateGroup", &wire.CreateGroupRequest{Name: "Tea", Members: []string{t.bob.id}}, &made)
	t.tea = made.Group.GetConversation()
	t.hears("group created by ann ann, bob", all...)
	t.call(t.ann, "GroupService/RenameGroup", &wire.RenameGroupRequest{Conversation: t.tea, Name: "Tea at four"}, new(wire.RenameGroupResponse))
	t.hears("group renamed by ann", all...)
	description := "Every day"
	t.call(t.ann, "GroupService/UpdateGroup", &wire.UpdateGroupRequest{Conversation: t.tea, Description: &description}, new(wire.UpdateGroupResponse))
	t.hears("group changed by ann", all...)
	t.refused(t.bob, "GroupService/UpdateGroup", &wire.UpdateGroupRequest{Conversation: t.tea, Description: &description}, wire.CodePermissionDenied)

	var got wire.GetGroupResponse
	t.call(t.bob, "GroupService/GetGroup", &wire.GetGroupRequest{Conversation: t.tea}, &got)
	t.check(got.Group.GetName() == "Tea at four" && got.Group.GetDescription() == description && got.Group.GetMembers() == 2, "the group", got.Group)
	t.send(t.bob, t.tea, "Who brings the cake?")
	t.hears("bob: Who brings the cake?", all...)
}

// members: Carol comes, has her roles, and leaves.
func members(t *teller) {
	all := []*device{t.annPhone, t.annLaptop, t.bobs}
	add := &wire.AddMembersRequest{Conversation: t.tea, Users: []string{t.carol.id}}
	t.call(t.ann, "GroupService/AddMembers", add, new(wire.AddMembersResponse))
	t.hears("member added by ann carol", all...)
	t.call(t.ann, "GroupService/MuteMember", &wire.MuteMemberRequest{Conversation: t.tea, User: t.carol.id, UntilMs: time.Now().Add(time.Hour).UnixMilli()}, new(wire.MuteMemberResponse))
	t.hears("member muted by ann carol", all...)
	t.refused(t.carol, "MessageService/SendMessage", &wire.SendMessageRequest{Conversation: t.tea, Content: text("I do")}, wire.CodeMuted)
	t.call(t.ann, "GroupService/SetRole", &wire.SetRoleRequest{Conversation: t.tea, User: t.bob.id, Role: wire.Role_ROLE_ADMIN}, new(wire.SetRoleResponse))
	t.hears("role changed by ann bob", all...)
	t.call(t.bob, "GroupService/RemoveMembers", &wire.RemoveMembersRequest{Conversation: t.tea, Users: []string{t.carol.id}}, new(wire.RemoveMembersResponse))
	t.hears("member removed by bob carol", all...)

	t.call(t.ann, "GroupService/AddMembers", add, new(wire.AddMembersResponse))
	t.hears("member added by ann carol", all...)
	t.call(t.carol, "GroupService/SetNickname", &wire.SetNicknameRequest{Conversation: t.tea, Nickname: "The cake"}, new(wire.SetNicknameResponse))
	t.hears("member nicknamed by carol carol", all...)
	var list wire.ListMembersResponse
	t.call(t.carol, "GroupService/ListMembers", &wire.ListMembersRequest{Conversation: t.tea}, &list)
	t.check(len(list.Members) == 3 && list.Members[0].User == t.ann.id && list.Members[1].User == t.bob.id && list.Members[2].Nickname == "The cake", "three members, by role", list.Members)
	list.Reset()
	t.call(t.carol, "GroupService/ListMembers", &wire.ListMembersRequest{Conversation: t.tea, Query: "the C"}, &list)
	t.check(len(list.Members) == 1 && list.Members[0].User == t.carol.id, "a member is found by the beginning of the nickname", list.Members)
	t.call(t.carol, "GroupService/LeaveGroup", &wire.LeaveGroupRequest{Conversation: t.tea}, new(wire.LeaveGroupResponse))
	t.hears("member left by carol carol", all...)
	t.call(t.ann, "GroupService/TransferOwnership", &wire.TransferOwnershipRequest{Conversation: t.tea, User: t.bob.id}, new(wire.TransferOwnershipResponse))
	t.hears("owner changed by ann bob", all...)
}

// joining: who is banned stays out; who wants to be asked first is asked.
func joining(t *teller) {
	all := []*device{t.annPhone, t.annLaptop, t.bobs}
	t.call(t.bob, "GroupService/BanMember", &wire.BanMemberRequest{Conversation: t.tea, User: t.carol.id, Reason: "no cake"}, new(wire.BanMemberResponse))
	t.hears("member banned by bob carol", all...)
	var bans wire.ListBansResponse
	t.call(t.ann, "GroupService/ListBans", &wire.ListBansRequest{Conversation: t.tea}, &bans)
	t.check(len(bans.Bans) == 1 && bans.Bans[0].Reason == "no cake", "the ban", bans.Bans)
	t.call(t.bob, "GroupService/UnbanMember", &wire.UnbanMemberRequest{Conversation: t.tea, User: t.carol.id}, new(wire.UnbanMemberResponse))
	t.hears("member unbanned by bob carol", all...)

	t.call(t.ann, "GroupService/LeaveGroup", &wire.LeaveGroupRequest{Conversation: t.tea}, new(wire.LeaveGroupResponse))
	t.hears("member left by ann ann", t.bobs)
	t.call(t.ann, "UserService/UpdateProfile", &wire.UpdateProfileRequest{GroupPolicy: wire.GroupPolicy_GROUP_POLICY_NOBODY}, new(wire.UpdateProfileResponse))
	t.hears("profile changed", t.annPhone, t.annLaptop)
	again := &wire.AddMembersRequest{Conversation: t.tea, Users: []string{t.ann.id}}
	var added wire.AddMembersResponse
	t.call(t.bob, "GroupService/AddMembers", again, &added)
	t.check(len(added.Invited) == 1, "Ann is asked first", &added)
	t.hears("group invited by bob: Tea at four", t.annPhone, t.annLaptop)
	t.call(t.ann, "GroupService/RefuseInvitation", &wire.RefuseInvitationRequest{Conversation: t.tea}, new(wire.RefuseInvitationResponse))
	t.call(t.bob, "GroupService/AddMembers", again, &added)
	t.hears("group invited by bob: Tea at four", t.annPhone, t.annLaptop)
	var invitations wire.ListInvitationsResponse
	t.call(t.ann, "GroupService/ListInvitations", &wire.ListInvitationsRequest{}, &invitations)
	t.check(len(invitations.Invitations) == 1, "the invitation", invitations.Invitations)
	t.call(t.ann, "GroupService/AcceptInvitation", &wire.AcceptInvitationRequest{Conversation: t.tea}, new(wire.AcceptInvitationResponse))
	t.hears("member added by ann ann", t.bobs)
}
