package api

import "slices"

// Sizes of requests. 512 ids of 64 bytes fit in 40 KiB; 1000 in 70 KiB.
const (
	small = 4 << 10
	ids   = 80 << 10
	entry = 96 << 10
	draft = 32 << 10 // a draft of 4,096 bytes, each of which JSON may write as six
)

// Methods lists what the table says of every method. It is the same for all
// Calls.
func Methods() []Method {
	rows := new(Calls).table()
	out := make([]Method, len(rows))
	for i, r := range rows {
		out[i] = r.Method
	}
	return out
}

// table is every method there is: name, who may call it, rate class, the
// largest request in bytes, handler.
func (c *Calls) table() []row {
	return slices.Concat(c.peopleRows(), c.securityRows(), c.providerRows(), c.guestRows(), c.groupRows(), c.messageRows(), c.mediaRows(), c.stickerRows(), c.pushRows(), c.adminRows(), c.exportRows(), c.roleRows(), c.auditRows(), c.moderationRows(), c.placeRows())
}

func (c *Calls) peopleRows() []row {
	return []row{
		newMaker("AccountService/Register", Anyone, ClassCredential, small, c.register),
		newRow("AccountService/Login", Anyone, ClassCredential, small, c.login),
		newRow("AccountService/Refresh", Anyone, ClassCredential, small, c.refresh),
		newRow("AccountService/Logout", User, ClassWrite, small, c.logout),
		newRow("AccountService/ListSessions", User, ClassRead, small, c.listSessions),
		newRow("AccountService/RevokeSession", User, ClassWrite, small, c.revokeSession),
		newRow("AccountService/ChangePassword", User, ClassCredential, small, c.changePassword),
		newRow("UserService/GetUsers", User, ClassRead, ids, c.getUsers),
		newRow("UserService/FindUser", Known, ClassRead, small, c.findUser),
		newRow("UserService/SearchUsers", User, ClassRead, small, c.searchUsers),
		newRow("UserService/UpdateProfile", User, ClassWrite, small, c.updateProfile),
		newRow("ContactService/RequestContact", User, ClassWrite, small, c.requestContact),
		newRow("ContactService/AcceptContact", User, ClassWrite, small, c.acceptContact),
		newRow("ContactService/RefuseContact", User, ClassWrite, small, c.refuseContact),
		newRow("ContactService/RemoveContact", User, ClassWrite, small, c.removeContact),
		newRow("ContactService/BlockUser", User, ClassWrite, small, c.blockUser),
		newRow("ContactService/UnblockUser", User, ClassWrite, small, c.unblockUser),
		newRow("ContactService/SetRemark", User, ClassWrite, small, c.setRemark),
		newRow("ContactService/SetTags", User, ClassWrite, draft, c.setTags),
		newRow("ContactService/ListContacts", User, ClassRead, small, c.listContacts),
	}
}

func (c *Calls) groupRows() []row {
	return []row{
		newMaker("GroupService/CreateGroup", User, ClassWrite, ids, c.createGroup),
		newRow("GroupService/GetGroup", User, ClassRead, small, c.getGroup),
		newRow("GroupService/RenameGroup", User, ClassWrite, small, c.renameGroup),
		newRow("GroupService/UpdateGroup", User, ClassWrite, draft, c.updateGroup),
		newRow("GroupService/ListMembers", User, ClassRead, small, c.listMembers),
		newRow("GroupService/AddMembers", User, ClassWrite, ids, c.addMembers),
		newRow("GroupService/RemoveMembers", User, ClassWrite, ids, c.removeMembers),
		newRow("GroupService/LeaveGroup", User, ClassWrite, small, c.leaveGroup),
		newRow("GroupService/DismissGroup", User, ClassWrite, small, c.dismissGroup),
		newRow("GroupService/SetNickname", User, ClassWrite, small, c.setNickname),
		newRow("GroupService/SetRole", User, ClassWrite, small, c.setRole),
		newRow("GroupService/TransferOwnership", User, ClassWrite, small, c.transferOwnership),
		newRow("GroupService/MuteMember", User, ClassWrite, small, c.muteMember),
		newRow("GroupService/BanMember", User, ClassWrite, small, c.banMember),
		newRow("GroupService/UnbanMember", User, ClassWrite, small, c.unbanMember),
		newRow("GroupService/ListBans", User, ClassRead, small, c.listBans),
		newRow("GroupService/ListInvitations", User, ClassRead, small, c.listInvitations),
		newRow("GroupService/AcceptInvitation", User, ClassWrite, small, c.acceptInvitation),
		newRow("GroupService/RefuseInvitation", User, ClassWrite, small, c.refuseInvitation),
		newRow("GroupService/CreateInviteLink", User, ClassWrite, small, c.createInviteLink),
		newRow("GroupService/ListInviteLinks", User, ClassRead, small, c.listInviteLinks),
		newRow("GroupService/RevokeInviteLink", User, ClassWrite, small, c.revokeInviteLink),
		newRow("GroupService/GetInviteLink", Anyone, ClassRead, small, c.getInviteLink),
		newRow("GroupService/JoinByLink", User, ClassWrite, small, c.joinByLink),
		newRow("GroupService/RequestToJoin", User, ClassWrite, small, c.requestToJoin),
		newRow("GroupService/WithdrawJoin", User, ClassWrite, small, c.withdrawJoin),
		newRow("GroupService/ListJoinRequests", User, ClassRead, small, c.listJoinRequests),
		newRow("GroupService/ApproveJoin", User, ClassWrite, small, c.approveJoin),
		newRow("GroupService/RefuseJoin", User, ClassWrite, small, c.refuseJoin),
	}
}

func (c *Calls) messageRows() []row {
	return []row{
		newMaker("MessageService/SendMessage", User, ClassSend, entry, c.sendMessage),
		newRow("MessageService/RecallMessage", User, ClassSend, small, c.recallMessage),
		newMaker("MessageService/EditMessage", User, ClassSend, entry, c.editMessage),
		newRow("MessageService/ListEdits", User, ClassRead, small, c.listEdits),
		newMaker("MessageService/ReactToMessage", User, ClassSend, small, c.reactToMessage),
		newRow("MessageService/ListReactions", User, ClassRead, small, c.listReactions),
		newRow("MessageService/ListReaders", User, ClassRead, small, c.listReaders),
		newMaker("MessageService/StreamMessage", User, ClassSend, entry, c.streamMessage),
		newMaker("MessageService/VoteInPoll", User, ClassSend, small, c.voteInPoll),
		newMaker("MessageService/EndPoll", User, ClassSend, small, c.endPoll),
		newRow("MessageService/ListVotes", User, ClassRead, small, c.listVotes),
		newMaker("MessageService/PinMessage", User, ClassSend, small, c.pinMessage),
		newRow("MessageService/SetLifetime", User, ClassWrite, small, c.setLifetime),
		newRow("MessageService/ListPins", User, ClassRead, small, c.listPins),
		newRow("MessageService/ListThread", User, ClassRead, small, c.listThread),
		newRow("MessageService/ListThreads", User, ClassRead, small, c.listThreads),
		newMaker("MessageService/ForwardMessages", User, ClassSend, entry, c.forwardMessages),
		newRow("MessageService/ListMentions", User, ClassRead, small, c.listMentions),
		newRow("MessageService/SearchMessages", User, ClassRead, small, c.searchMessages),
		newMaker("MessageService/ScheduleMessage", User, ClassWrite, entry, c.scheduleMessage),
		newRow("MessageService/ListScheduled", User, ClassRead, small, c.listScheduled),
		newRow("MessageService/ChangeScheduled", User, ClassWrite, entry, c.changeScheduled),
		newRow("MessageService/CancelScheduled", User, ClassWrite, small, c.cancelScheduled),
		newRow("MessageService/ListEntries", User, ClassRead, small, c.listEntries),
		newRow("MessageService/ListConversations", User, ClassRead, small, c.listConversations),
		newRow("MessageService/MarkRead", User, ClassMark, small, c.markRead),
		newRow("MessageService/SetMyState", User, ClassMark, draft, c.setMyState),
	}
}

func (c *Calls) adminRows() []row {
	return []row{
		newRow("AdminService/ClaimAdmin", Anyone, ClassCredential, small, c.claimAdmin),
		newRow("AdminService/MintToken", Admins, ClassAdmin, small, c.mintToken),
		newMaker("AdminService/CreateUser", Admins, ClassAdmin, small, c.createUser),
		newRow("AdminService/ListUsers", Staff, ClassAdmin, small, c.listUsers),
		newRow("AdminService/ListUserSessions", Staff, ClassAdmin, small, c.listUserSessions),
		newRow("AdminService/KickUser", Moderators, ClassAdmin, small, c.kickUser),
		newMaker("AdminService/CreateGroupFor", Admins, ClassAdmin, entry, c.createGroupFor),
		newRow("AdminService/SetRetention", Admins, ClassAdmin, small, c.setRetention),
		newRow("AdminService/GetRetention", Staff, ClassAdmin, small, c.getRetention),
	}
}
