package api

import (
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

// The authorisation matrix (every method × everybody who might call it), over
// HTTP, on the real business packages. The object is always bob: his group, of
// which he is a plain member, his direct chat with his friend, his sessions.
const (
	asNone     = "none"     // no token
	asStranger = "stranger" // a user who has nothing to do with bob
	asFriend   = "friend"   // a contact of bob, not in the group
	asBlocked  = "blocked"  // blocked by bob, not in the group
	asEx       = "ex"       // was in the group
	asMember   = "member"   // in the group
	asAdmin    = "admin"    // in the group, above bob
	asOwner    = "owner"    // in the group, above all
	asRoot     = "root"     // administrator of the server, not in the group
	asKey      = "key"      // the integrator's admin key
	asGuest    = "guest"    // in the group, a guest: TestGuestMatrix
)

var everybody = []string{asNone, asStranger, asFriend, asBlocked, asEx, asMember, asAdmin, asOwner, asRoot, asKey}

// short names of codes in the table.
var outcomes = map[string]im.Code{
	"ok": "", "NT": im.CodeUnauthenticated, "PD": im.CodePermissionDenied, "NF": im.CodeNotFound, "NC": im.CodeNotContact, "BT": im.CodeTokenInvalid, "BC": im.CodeBadCredentials, "AE": im.CodeAlreadyExists,
}

// Rows that many methods share.
const (
	//          none stranger friend blocked ex member admin owner root key
	anyone   = "ok   ok       ok     ok      ok ok     ok    ok    ok   ok"
	users    = "NT   ok       ok     ok      ok ok     ok    ok    ok   PD"
	known    = "NT   ok       ok     ok      ok ok     ok    ok    ok   ok"
	admins   = "NT   PD       PD     PD      PD PD     PD    PD    ok   ok"
	inGroup  = "NT   NF       NF     NF      NF ok     ok    ok    NF   PD"
	whoReads = "NT   NF       NF     NF      ok ok     ok    ok    NF   PD"
	groupMgr = "NT   NF       NF     NF      NF PD     ok    ok    NF   PD"
	ownerFor = "NT   NF       NF     NF      NF PD     PD    ok    NF   PD"
	friends  = "NT   NF       ok     NF      NF NF     NF    NF    NF   PD"
	own      = "NT   ok       ok     ok      ok ok     ok    ok    ok   PD"
	nobody   = "NT   NF       NF     NF      NF NF     NF    NF    NF   PD"
	denied   = "PD   PD       PD     PD      PD PD     PD    PD    PD   PD"
	feed     = "NT   PD       PD     PD      PD PD     PD    PD    PD   PD"
	toBob    = "NT   NC       ok     NC      NC NC     NC    NC    NC   PD"
	ofBob    = "NT   NF       PD     NF      NF NF     NF    NF    NF   PD"
	bobsOnly = "NT   NF       NF     NF      NF PD     PD    PD    NF   PD"
	unusable = "BT   BT       BT     BT      BT BT     BT    BT    BT   BT"
)

// scene is what a cell of the matrix is played on.
type scene struct {
	*world
	bob, newcomer person
	owner         person // of bob's group
	// me is who calls; its zero value has no token.
	me person
	// friend is bob's.
	friend        person
	group, chat   string // bob's group, his direct chat with his friend
	said, whisper uint64 // what bob said in them
	asked         uint64 // bob's poll in the group
	shown         uint64 // bob's message in the group that names the upload file
	file          string
	stuck         string // the picture of a sticker
	grows         uint64 // what bob goes on with
	myStream      uint64 // what who calls goes on with in the group, if they are in it
	mine          uint64 // what who calls said in the group, if they are in it
}

// cell is a row of the matrix: what is called, and what everybody gets.
type cell struct {
	method string
	// about distinguishes several rows of a method.
	about string
	want  string
	in    func(s *scene) proto.Message
}

// matrix has at least one row for every method.
var matrix = slices.Concat(mostCells, securityCells, providerCells, guestCells, stickerCells, threadCells, pushCells, roleCells, moderationCells, placeCells)
var mostCells = []cell{
	{"AccountService/Register", "", anyone, func(s *scene) proto.Message {
		return &wire.RegisterRequest{Username: "new-" + s.bob.username, Password: password}
	}},
	{"AccountService/Login", "", anyone, func(s *scene) proto.Message {
		return &wire.LoginRequest{Username: s.bob.username, Password: password}
	}},
	{"AccountService/Refresh", "", anyone, func(s *scene) proto.Message { return &wire.RefreshRequest{RefreshToken: s.bob.refresh} }},
	{"AccountService/Refresh", "an access token", unusable, func(s *scene) proto.Message { return &wire.RefreshRequest{RefreshToken: s.bob.token} }},
	{"AccountService/Logout", "", users, func(*scene) proto.Message { return &wire.LogoutRequest{} }},
	{"AccountService/ListSessions", "", users, func(*scene) proto.Message { return &wire.ListSessionsRequest{} }},
	{"AccountService/RevokeSession", "own", users, func(s *scene) proto.Message { return &wire.RevokeSessionRequest{Session: cmpOr(s.me.session, "x")} }},
	{"AccountService/RevokeSession", "bob's", nobody, func(s *scene) proto.Message { return &wire.RevokeSessionRequest{Session: s.bob.session} }},
	{"AccountService/ChangePassword", "", users, func(*scene) proto.Message {
		return &wire.ChangePasswordRequest{OldPassword: password, NewPassword: password}
	}},

	{"UserService/GetUsers", "", users, func(s *scene) proto.Message { return &wire.GetUsersRequest{Ids: []string{s.bob.id, "nobody"}} }},
	{"UserService/FindUser", "", "NT ok ok NF ok ok ok ok ok ok", func(s *scene) proto.Message { return &wire.FindUserRequest{Username: s.bob.username} }},
	{"UserService/SearchUsers", "", users, func(s *scene) proto.Message { return &wire.SearchUsersRequest{Prefix: s.bob.username[:2]} }},
	{"UserService/UpdateProfile", "", users, func(*scene) proto.Message {
		return &wire.UpdateProfileRequest{DisplayName: proto.String("Somebody"), DmPolicy: wire.DmPolicy_DM_POLICY_CONTACTS}
	}},

	{"ContactService/RequestContact", "", users, func(s *scene) proto.Message { return &wire.RequestContactRequest{User: s.bob.id, Message: "hi"} }},
	{"ContactService/RequestContact", "who is not there", nobody, func(*scene) proto.Message { return &wire.RequestContactRequest{User: "nobody"} }},
	{"ContactService/AcceptContact", "", friends, func(s *scene) proto.Message { return &wire.AcceptContactRequest{User: s.bob.id} }},
	{"ContactService/RefuseContact", "", users, func(s *scene) proto.Message { return &wire.RefuseContactRequest{User: s.bob.id} }},
	{"ContactService/RemoveContact", "", users, func(s *scene) proto.Message { return &wire.RemoveContactRequest{User: s.bob.id} }},
	{"ContactService/BlockUser", "", users, func(s *scene) proto.Message { return &wire.BlockUserRequest{User: s.bob.id} }},
	{"ContactService/UnblockUser", "", users, func(s *scene) proto.Message { return &wire.UnblockUserRequest{User: s.bob.id} }},
	{"ContactService/SetRemark", "", friends, func(s *scene) proto.Message { return &wire.SetRemarkRequest{User: s.bob.id, Remark: "Bobby"} }},
	{"ContactService/SetTags", "", friends, func(s *scene) proto.Message { return &wire.SetTagsRequest{User: s.bob.id, Tags: []string{"tea"}} }},
	{"ContactService/ListContacts", "", users, func(*scene) proto.Message { return &wire.ListContactsRequest{} }},

	{"GroupService/CreateGroup", "", users, func(s *scene) proto.Message {
		return &wire.CreateGroupRequest{Name: "mine", Members: []string{s.bob.id}, RequestId: "r"}
	}},
	{"GroupService/GetGroup", "", inGroup, func(s *scene) proto.Message { return &wire.GetGroupRequest{Conversation: s.group} }},
	{"GroupService/GetGroup", "that is not there", nobody, func(*scene) proto.Message { return &wire.GetGroupRequest{Conversation: "grp:none"} }},
	{"GroupService/RenameGroup", "", groupMgr, func(s *scene) proto.Message { return &wire.RenameGroupRequest{Conversation: s.group, Name: "new"} }},
	{"GroupService/UpdateGroup", "", groupMgr, func(s *scene) proto.Message {
		return &wire.UpdateGroupRequest{Conversation: s.group, Description: proto.String("tea and talk"), WhoMayPost: wire.GroupPower_GROUP_POWER_ADMINS}
	}},
	{"GroupService/ListMembers", "", inGroup, func(s *scene) proto.Message { return &wire.ListMembersRequest{Conversation: s.group} }},
	{"GroupService/AddMembers", "", groupMgr, func(s *scene) proto.Message {
		return &wire.AddMembersRequest{Conversation: s.group, Users: []string{s.newcomer.id}}
	}},
	{"GroupService/RemoveMembers", "", groupMgr, func(s *scene) proto.Message {
		return &wire.RemoveMembersRequest{Conversation: s.group, Users: []string{s.bob.id}}
	}},
	{"GroupService/LeaveGroup", "", "NT NF NF NF NF ok ok PD NF PD", func(s *scene) proto.Message { return &wire.LeaveGroupRequest{Conversation: s.group} }},
	{"GroupService/DismissGroup", "", ownerFor, func(s *scene) proto.Message { return &wire.DismissGroupRequest{Conversation: s.group} }},
	{"GroupService/SetNickname", "", inGroup, func(s *scene) proto.Message {
		return &wire.SetNicknameRequest{Conversation: s.group, Nickname: "Tea"}
	}},
	{"GroupService/SetNickname", "another's", groupMgr, func(s *scene) proto.Message {
		return &wire.SetNicknameRequest{Conversation: s.group, User: s.bob.id, Nickname: "Cake"}
	}},
	{"GroupService/SetRole", "", ownerFor, func(s *scene) proto.Message {
		return &wire.SetRoleRequest{Conversation: s.group, User: s.bob.id, Role: wire.Role_ROLE_ADMIN}
	}},
	{"GroupService/TransferOwnership", "", ownerFor, func(s *scene) proto.Message {
		return &wire.TransferOwnershipRequest{Conversation: s.group, User: s.bob.id}
	}},
	{"GroupService/MuteMember", "", groupMgr, func(s *scene) proto.Message {
		return &wire.MuteMemberRequest{Conversation: s.group, User: s.bob.id, UntilMs: 4102444800000}
	}},

	{"GroupService/BanMember", "", groupMgr, func(s *scene) proto.Message {
		return &wire.BanMemberRequest{Conversation: s.group, User: s.bob.id, Reason: "spam", UntilMs: 4102444800000}
	}},
	{"GroupService/BanMember", "who is none", groupMgr, func(s *scene) proto.Message {
		return &wire.BanMemberRequest{Conversation: s.group, User: s.newcomer.id}
	}},
	{"GroupService/UnbanMember", "", groupMgr, func(s *scene) proto.Message {
		s.must(s.owner.token, "GroupService/BanMember", &wire.BanMemberRequest{Conversation: s.group, User: s.newcomer.id}, nil)
		return &wire.UnbanMemberRequest{Conversation: s.group, User: s.newcomer.id}
	}},
	{"GroupService/ListBans", "", groupMgr, func(s *scene) proto.Message { return &wire.ListBansRequest{Conversation: s.group} }},
	{"GroupService/ListInvitations", "", users, func(*scene) proto.Message { return &wire.ListInvitationsRequest{} }},
	{"GroupService/AcceptInvitation", "", users, func(s *scene) proto.Message { return &wire.AcceptInvitationRequest{Conversation: s.invitedTo()} }},
	{"GroupService/AcceptInvitation", "without one", inGroup, func(s *scene) proto.Message { return &wire.AcceptInvitationRequest{Conversation: s.group} }},
	{"GroupService/RefuseInvitation", "", users, func(s *scene) proto.Message { return &wire.RefuseInvitationRequest{Conversation: s.invitedTo()} }},
	{"GroupService/RefuseInvitation", "without one", nobody, func(s *scene) proto.Message { return &wire.RefuseInvitationRequest{Conversation: s.group} }},

	{"GroupService/CreateInviteLink", "", groupMgr, func(s *scene) proto.Message {
		s.joins(wire.JoinMode_JOIN_MODE_OPEN)
		return &wire.CreateInviteLinkRequest{Conversation: s.group, MaxUses: 3}
	}},
	{"GroupService/ListInviteLinks", "", groupMgr, func(s *scene) proto.Message { return &wire.ListInviteLinksRequest{Conversation: s.group} }},
	{"GroupService/RevokeInviteLink", "", groupMgr, func(s *scene) proto.Message {
		return &wire.RevokeInviteLinkRequest{Conversation: s.group, Code: s.joins(wire.JoinMode_JOIN_MODE_OPEN)}
	}},
	{"GroupService/GetInviteLink", "", "ok ok ok ok ok ok ok ok ok PD", func(s *scene) proto.Message {
		return &wire.GetInviteLinkRequest{Code: s.joins(wire.JoinMode_JOIN_MODE_APPROVAL)}
	}},
	{"GroupService/GetInviteLink", "that is not there", "NF NF NF NF NF NF NF NF NF PD", func(*scene) proto.Message { return &wire.GetInviteLinkRequest{Code: strings.Repeat("a", 26)} }},
	{"GroupService/JoinByLink", "", users, func(s *scene) proto.Message {
		return &wire.JoinByLinkRequest{Code: s.joins(wire.JoinMode_JOIN_MODE_OPEN)}
	}},
	{"GroupService/JoinByLink", "where admins let in", "NT PD PD PD PD ok ok ok PD PD", func(s *scene) proto.Message {
		return &wire.JoinByLinkRequest{Code: s.joins(wire.JoinMode_JOIN_MODE_APPROVAL)}
	}},
	{"GroupService/RequestToJoin", "", "NT ok ok ok ok AE AE AE ok PD", func(s *scene) proto.Message {
		return &wire.RequestToJoinRequest{Code: s.joins(wire.JoinMode_JOIN_MODE_APPROVAL), Text: "please"}
	}},
	{"GroupService/WithdrawJoin", "of one's own", "NT ok ok ok ok NF NF NF ok PD", func(s *scene) proto.Message {
		_ = s.call(s.me.token, "GroupService/RequestToJoin", &wire.RequestToJoinRequest{Code: s.joins(wire.JoinMode_JOIN_MODE_APPROVAL)}, nil)
		return &wire.WithdrawJoinRequest{Conversation: s.group}
	}},
	{"GroupService/WithdrawJoin", "", nobody, func(s *scene) proto.Message { return &wire.WithdrawJoinRequest{Conversation: s.group} }},
	{"GroupService/ListJoinRequests", "", groupMgr, func(s *scene) proto.Message { return &wire.ListJoinRequestsRequest{Conversation: s.group} }},
	{"GroupService/ApproveJoin", "", groupMgr, func(s *scene) proto.Message {
		return &wire.ApproveJoinRequest{Conversation: s.group, User: s.asks()}
	}},
	{"GroupService/RefuseJoin", "", groupMgr, func(s *scene) proto.Message {
		return &wire.RefuseJoinRequest{Conversation: s.group, User: s.asks()}
	}},
	{"MessageService/SendMessage", "group", inGroup, func(s *scene) proto.Message {
		return &wire.SendMessageRequest{Conversation: s.group, Content: text("hi")}
	}},
	{"MessageService/SendMessage", "to bob", toBob, func(s *scene) proto.Message {
		return &wire.SendMessageRequest{Conversation: dm(s.bob, s.me), Content: text("hi")}
	}},
	{"MessageService/SendMessage", "others' chat", friends, func(s *scene) proto.Message {
		return &wire.SendMessageRequest{Conversation: s.chat, Content: text("hi")}
	}},
	{"MessageService/SendMessage", "own notes", own, func(s *scene) proto.Message {
		return &wire.SendMessageRequest{Conversation: string(im.Saved(im.UserID(cmpOr(s.me.id, "x")))), Content: text("hi")}
	}},
	{"MessageService/SendMessage", "others' notes", nobody, func(s *scene) proto.Message {
		return &wire.SendMessageRequest{Conversation: string(im.Saved(im.UserID(s.bob.id))), Content: text("hi")}
	}},
	{"MessageService/ListEntries", "own notes", own, func(s *scene) proto.Message {
		return &wire.ListEntriesRequest{Conversation: string(im.Saved(im.UserID(cmpOr(s.me.id, "x"))))}
	}},
	{"MessageService/ListEntries", "others' notes", nobody, func(s *scene) proto.Message {
		return &wire.ListEntriesRequest{Conversation: string(im.Saved(im.UserID(s.bob.id)))}
	}},
	{"MessageService/SendMessage", "own feed", feed, func(s *scene) proto.Message {
		return &wire.SendMessageRequest{Conversation: "me:" + cmpOr(s.me.id, "x"), Content: text("hi")}
	}},
	{"MessageService/RecallMessage", "group", groupMgr, func(s *scene) proto.Message {
		return &wire.RecallMessageRequest{Conversation: s.group, Seq: s.said}
	}},
	{"MessageService/RecallMessage", "chat", ofBob, func(s *scene) proto.Message {
		return &wire.RecallMessageRequest{Conversation: s.chat, Seq: s.whisper}
	}},
	{"MessageService/EditMessage", "group", bobsOnly, func(s *scene) proto.Message {
		return &wire.EditMessageRequest{Conversation: s.group, Seq: s.said, Content: text("other words")}
	}},
	{"MessageService/EditMessage", "one's own", inGroup, func(s *scene) proto.Message {
		return &wire.EditMessageRequest{Conversation: s.group, Seq: s.mine, Content: text("other words")}
	}},
	{"MessageService/EditMessage", "chat", ofBob, func(s *scene) proto.Message {
		return &wire.EditMessageRequest{Conversation: s.chat, Seq: s.whisper, Content: text("other words")}
	}},
	{"MessageService/EditMessage", "own feed", feed, func(s *scene) proto.Message {
		return &wire.EditMessageRequest{Conversation: "me:" + cmpOr(s.me.id, "x"), Seq: 1, Content: text("other words")}
	}},
	{"MessageService/ListEdits", "group", whoReads, func(s *scene) proto.Message {
		return &wire.ListEditsRequest{Conversation: s.group, Seq: s.said}
	}},
	{"MessageService/ListEdits", "chat", friends, func(s *scene) proto.Message {
		return &wire.ListEditsRequest{Conversation: s.chat, Seq: s.whisper}
	}},
	{"MessageService/ListEdits", "bob's feed", nobody, func(s *scene) proto.Message {
		return &wire.ListEditsRequest{Conversation: "me:" + s.bob.id, Seq: 1}
	}},
	{"MessageService/ReactToMessage", "group", inGroup, func(s *scene) proto.Message {
		return &wire.ReactToMessageRequest{Conversation: s.group, Seq: s.said, Reaction: "👍"}
	}},
	{"MessageService/ReactToMessage", "chat", friends, func(s *scene) proto.Message {
		return &wire.ReactToMessageRequest{Conversation: s.chat, Seq: s.whisper, Reaction: "👍"}
	}},
	{"MessageService/ReactToMessage", "own feed", feed, func(s *scene) proto.Message {
		return &wire.ReactToMessageRequest{Conversation: "me:" + cmpOr(s.me.id, "x"), Seq: 1, Reaction: "👍"}
	}},
	{"MessageService/ListReactions", "group", whoReads, func(s *scene) proto.Message {
		return &wire.ListReactionsRequest{Conversation: s.group, Seq: s.said}
	}},
	{"MessageService/ListReactions", "chat", friends, func(s *scene) proto.Message {
		return &wire.ListReactionsRequest{Conversation: s.chat, Seq: s.whisper}
	}},
	{"MessageService/ListReactions", "bob's feed", nobody, func(s *scene) proto.Message {
		return &wire.ListReactionsRequest{Conversation: "me:" + s.bob.id, Seq: 1}
	}},
	{"MessageService/ListReaders", "group", inGroup, func(s *scene) proto.Message {
		return &wire.ListReadersRequest{Conversation: s.group, Seq: s.said}
	}},
	{"MessageService/VoteInPoll", "group", inGroup, func(s *scene) proto.Message {
		return &wire.VoteInPollRequest{Conversation: s.group, Seq: s.asked, Options: []string{"a"}}
	}},
	{"MessageService/VoteInPoll", "no poll", nobody, func(s *scene) proto.Message {
		return &wire.VoteInPollRequest{Conversation: s.chat, Seq: s.whisper}
	}},
	{"MessageService/VoteInPoll", "own feed", feed, func(s *scene) proto.Message {
		return &wire.VoteInPollRequest{Conversation: "me:" + cmpOr(s.me.id, "x"), Seq: 1}
	}},
	{"MessageService/StreamMessage", "group", bobsOnly, func(s *scene) proto.Message {
		return &wire.StreamMessageRequest{Conversation: s.group, Seq: s.grows, Offset: 1, Text: "!"}
	}},
	{"MessageService/StreamMessage", "one's own", inGroup, func(s *scene) proto.Message {
		return &wire.StreamMessageRequest{Conversation: s.group, Seq: s.myStream, Offset: 1, Text: "!", End: true}
	}},
	{"MessageService/EndPoll", "group", groupMgr, func(s *scene) proto.Message {
		return &wire.EndPollRequest{Conversation: s.group, Seq: s.asked}
	}},
	{"MessageService/ListVotes", "group", whoReads, func(s *scene) proto.Message {
		return &wire.ListVotesRequest{Conversation: s.group, Seq: s.asked}
	}},
	{"MessageService/ListVotes", "bob's feed", nobody, func(s *scene) proto.Message {
		return &wire.ListVotesRequest{Conversation: "me:" + s.bob.id, Seq: 1}
	}},
	{"MessageService/SendMessage", "mention all", "NT   NF       NF     NF      NF PD     ok    ok    NF   PD", func(s *scene) proto.Message {
		return &wire.SendMessageRequest{Conversation: s.group, Content: text("hello"), GroupMention: wire.GroupMention_GROUP_MENTION_ALL}
	}},
	{"MessageService/PinMessage", "group", groupMgr, func(s *scene) proto.Message {
		return &wire.PinMessageRequest{Conversation: s.group, Seq: s.said}
	}},
	{"MessageService/PinMessage", "chat", friends, func(s *scene) proto.Message {
		return &wire.PinMessageRequest{Conversation: s.chat, Seq: s.whisper}
	}},
	{"MessageService/ForwardMessages", "within the group", inGroup, func(s *scene) proto.Message {
		return &wire.ForwardMessagesRequest{Conversation: s.group, Messages: []*wire.ForwardSource{{Conversation: s.group, Seq: s.said}}}
	}},
	{"MessageService/ForwardMessages", "from the chat to the group", nobody, func(s *scene) proto.Message {
		return &wire.ForwardMessagesRequest{Conversation: s.group, Messages: []*wire.ForwardSource{{Conversation: s.chat, Seq: s.whisper}}}
	}},
	{"MessageService/ForwardMessages", "bob's feed", nobody, func(s *scene) proto.Message {
		return &wire.ForwardMessagesRequest{Conversation: s.chat, Messages: []*wire.ForwardSource{{Conversation: "me:" + s.bob.id, Seq: 1}}, Merge: &wire.ForwardMerge{Title: "x"}}
	}},
	{"MessageService/SetLifetime", "group", groupMgr, func(s *scene) proto.Message {
		return &wire.SetLifetimeRequest{Conversation: s.group, LifetimeS: 86400}
	}},
	{"MessageService/SetLifetime", "chat", friends, func(s *scene) proto.Message {
		return &wire.SetLifetimeRequest{Conversation: s.chat, LifetimeS: 86400}
	}},
	{"MessageService/SetLifetime", "own feed", feed, func(s *scene) proto.Message {
		return &wire.SetLifetimeRequest{Conversation: "me:" + cmpOr(s.me.id, "x"), LifetimeS: 86400}
	}},
	{"MessageService/PinMessage", "own feed", feed, func(s *scene) proto.Message {
		return &wire.PinMessageRequest{Conversation: "me:" + cmpOr(s.me.id, "x"), Seq: 1}
	}},
	{"MessageService/ListPins", "group", whoReads, func(s *scene) proto.Message { return &wire.ListPinsRequest{Conversation: s.group} }},
	{"MessageService/ListPins", "chat", friends, func(s *scene) proto.Message { return &wire.ListPinsRequest{Conversation: s.chat} }},
	{"MessageService/ListPins", "bob's feed", nobody, func(s *scene) proto.Message { return &wire.ListPinsRequest{Conversation: "me:" + s.bob.id} }},
	{"MessageService/ListMentions", "", users, func(*scene) proto.Message { return &wire.ListMentionsRequest{} }},
	{"MessageService/SearchMessages", "all", users, func(*scene) proto.Message { return &wire.SearchMessagesRequest{Query: "x"} }},
	{"MessageService/SearchMessages", "group", whoReads, func(s *scene) proto.Message { return &wire.SearchMessagesRequest{Query: "x", Conversation: s.group} }},
	{"MessageService/SearchMessages", "chat", friends, func(s *scene) proto.Message {
		return &wire.SearchMessagesRequest{Types: []string{"file"}, Conversation: s.chat}
	}},
	{"MessageService/SearchMessages", "bob's feed", nobody, func(s *scene) proto.Message {
		return &wire.SearchMessagesRequest{Query: "x", Conversation: "me:" + s.bob.id}
	}},
	{"MessageService/ScheduleMessage", "group", inGroup, func(s *scene) proto.Message {
		return &wire.ScheduleMessageRequest{Message: &wire.SendMessageRequest{Conversation: s.group, Content: text("later")}, AtMs: inAnHour()}
	}},
	{"MessageService/ScheduleMessage", "others' chat", friends, func(s *scene) proto.Message {
		return &wire.ScheduleMessageRequest{Message: &wire.SendMessageRequest{Conversation: s.chat, Content: text("later")}, AtMs: inAnHour()}
	}},
	{"MessageService/ScheduleMessage", "own feed", feed, func(s *scene) proto.Message {
		return &wire.ScheduleMessageRequest{Message: &wire.SendMessageRequest{Conversation: "me:" + cmpOr(s.me.id, "x"), Content: text("later")}, AtMs: inAnHour()}
	}},
	{"MessageService/ListScheduled", "own", users, func(*scene) proto.Message { return &wire.ListScheduledRequest{} }},
	{"MessageService/ChangeScheduled", "bob's", nobody, func(s *scene) proto.Message {
		return &wire.ChangeScheduledRequest{Id: s.bobSchedules(), AtMs: inAnHour()}
	}},
	{"MessageService/ChangeScheduled", "own", inGroup, func(s *scene) proto.Message {
		return &wire.ChangeScheduledRequest{Id: s.schedules(), AtMs: inAnHour()}
	}},
	{"MessageService/CancelScheduled", "bob's", nobody, func(s *scene) proto.Message { return &wire.CancelScheduledRequest{Id: s.bobSchedules()} }},
	{"MessageService/CancelScheduled", "own", inGroup, func(s *scene) proto.Message { return &wire.CancelScheduledRequest{Id: s.schedules()} }},
	{"MessageService/ListEntries", "group", whoReads, func(s *scene) proto.Message { return &wire.ListEntriesRequest{Conversation: s.group} }},
	{"MessageService/ListEntries", "chat", friends, func(s *scene) proto.Message { return &wire.ListEntriesRequest{Conversation: s.chat} }},
	{"MessageService/ListEntries", "bob's feed", nobody, func(s *scene) proto.Message { return &wire.ListEntriesRequest{Conversation: "me:" + s.bob.id} }},
	{"MessageService/ListConversations", "", users, func(*scene) proto.Message { return &wire.ListConversationsRequest{} }},
	{"MessageService/MarkRead", "group", whoReads, func(s *scene) proto.Message { return &wire.MarkReadRequest{Conversation: s.group, Seq: 1} }},
	{"MessageService/SetMyState", "group", whoReads, func(s *scene) proto.Message {
		return &wire.SetMyStateRequest{Conversation: s.group, Pinned: proto.Bool(true)}
	}},
	{"MessageService/SetMyState", "chat", friends, func(s *scene) proto.Message {
		return &wire.SetMyStateRequest{Conversation: s.chat, Draft: proto.String("hm")}
	}},
	{"MessageService/SetMyState", "bob's feed", nobody, func(s *scene) proto.Message {
		return &wire.SetMyStateRequest{Conversation: "me:" + s.bob.id, Pinned: proto.Bool(true)}
	}},
	{"MessageService/MarkRead", "chat", friends, func(s *scene) proto.Message { return &wire.MarkReadRequest{Conversation: s.chat, Seq: 1} }},
	{"MediaService/GetMedia", "", users, func(s *scene) proto.Message {
		return &wire.GetMediaRequest{Media: []*wire.MediaPlace{{Id: s.shows()}}}
	}},
	{"MediaService/LinkMedia", "what a message of the group names", inGroup, func(s *scene) proto.Message {
		return &wire.LinkMediaRequest{Media: &wire.MediaPlace{Id: s.shows(), Conversation: s.group, Seq: s.shown}}
	}},
	{"MediaService/LinkMedia", "without saying which", inGroup, func(s *scene) proto.Message {
		return &wire.LinkMediaRequest{Media: &wire.MediaPlace{Id: s.shows()}}
	}},
	{"MediaService/LinkMedia", "the picture of a preview in the group", inGroup, func(s *scene) proto.Message {
		id, seq := s.previews()
		return &wire.LinkMediaRequest{Media: &wire.MediaPlace{Id: id, Conversation: s.group, Seq: seq}}
	}},
	{"MediaService/LinkMedia", "that, without saying where", inGroup, func(s *scene) proto.Message {
		id, _ := s.previews()
		return &wire.LinkMediaRequest{Media: &wire.MediaPlace{Id: id}}
	}},
	{"MediaService/LinkMedia", "bob's, before he names it", nobody, func(s *scene) proto.Message {
		return &wire.LinkMediaRequest{Media: &wire.MediaPlace{Id: s.uploads(s.bob)}}
	}},
	{"MediaService/DeleteMedia", "bob's", nobody, func(s *scene) proto.Message { return &wire.DeleteMediaRequest{Id: s.uploads(s.bob)} }},
	{"MediaService/DeleteMedia", "own", own, func(s *scene) proto.Message { return &wire.DeleteMediaRequest{Id: s.uploads(s.me)} }},
	{"MessageService/SendMessage", "bob's upload to the group", nobody, func(s *scene) proto.Message {
		return &wire.SendMessageRequest{Conversation: s.group, Content: text("mine"), Media: []string{s.uploads(s.bob)}}
	}},

	{"AdminService/ClaimAdmin", "wrong code", denied, func(s *scene) proto.Message {
		return &wire.ClaimAdminRequest{Code: "guess", Username: "boss-" + s.bob.username, Password: password}
	}},
	{"AdminService/MintToken", "", admins, func(s *scene) proto.Message { return &wire.MintTokenRequest{User: s.bob.id} }},
	{"AdminService/CreateUser", "", admins, func(s *scene) proto.Message {
		return &wire.CreateUserRequest{Username: "made-" + s.bob.username, Password: password}
	}},
	{"AdminService/ListUsers", "", admins, func(*scene) proto.Message { return &wire.ListUsersRequest{Limit: 3} }},
	{"AdminService/ListUserSessions", "", admins, func(s *scene) proto.Message { return &wire.ListUserSessionsRequest{User: s.bob.id} }},
	{"AdminService/CreateGroupFor", "", admins, func(s *scene) proto.Message {
		return &wire.CreateGroupForRequest{Id: "room-" + s.bob.username, Owner: s.bob.id, Name: "room"}
	}},
	{"AdminService/SetRetention", "", admins, func(s *scene) proto.Message {
		return &wire.SetRetentionRequest{Conversation: s.chat, Kind: wire.RetentionKind_RETENTION_KIND_TIME, RetentionS: 86_400}
	}},
	{"AdminService/GetRetention", "", admins, func(s *scene) proto.Message { return &wire.GetRetentionRequest{Conversation: s.chat} }},
	{"AdminService/KickUser", "", admins, func(s *scene) proto.Message { return &wire.KickUserRequest{User: s.bob.id} }},
}

func cmpOr(a, b string) string {
	if a == "" {
		return b
	}
	return a
}

// Every method has an authorisation test.
func TestEveryRowIsInTheMatrix(t *testing.T) {
	tested := make(map[string]bool)
	for _, c := range matrix {
		tested["skein.v1."+c.method] = true
		if n := len(strings.Fields(c.want)); n != len(everybody) {
			t.Errorf("%s %s: %d outcomes for %d callers", c.method, c.about, n, len(everybody))
		}
	}
	for _, m := range Methods() {
		if !tested[m.Name] {
			t.Errorf("%s has no row in the authorisation matrix", m.Name)
		}
	}
}

func TestAuthorisationMatrix(t *testing.T) {
	w := newWorld(t)
	classes := make(map[string]Class)
	for _, m := range Methods() {
		classes[m.Name] = m.Class
	}
	scenes := make(map[string]*scene)
	for _, c := range matrix {
		name := strings.TrimSpace(c.method + " " + c.about)
		for i, who := range everybody {
			s := scenes[who]
			if s == nil {
				s = w.scene(who)
				scenes[who] = s
			}
			want := outcomes[strings.Fields(c.want)[i]]
			in := c.in(s) // it may prepare something
			before := s.trace()
			m, _ := wire.LookupMethod("skein.v1." + c.method)
			if got := w.call(s.me.token, c.method, in, m.NewResponse()); got != want {
				t.Errorf("%s as %s: %q, want %q", name, who, got, want)
			}
			if after := s.trace(); want != "" && after != before {
				t.Errorf("%s as %s was denied, and changed something: %+v, then %+v", name, who, before, after)
			}
			if want == "" && classes["skein.v1."+c.method] != ClassRead {
				delete(scenes, who) // it is not as it was
			}
		}
	}
}

// scene prepares what a cell needs, afresh: who calls, bob, and what they share.
func (w *world) scene(who string) *scene {
	w.t.Helper()
	cast := w.cast()
	s := &scene{world: w, bob: w.person("bob"), newcomer: cast.newcomer, friend: cast.friend}
	owner, admin := cast.owner, cast.admin
	switch who {
	case asNone:
	case asKey:
		s.me = person{token: adminKey, id: "key"}
	case asRoot:
		s.me = w.login(w.root)
	case asFriend:
		s.friend = w.person(who)
		s.me = s.friend
	case asOwner:
		owner = w.person(who)
		s.me = owner
	case asAdmin:
		admin = w.person(who)
		s.me = admin
	case asGuest:
		s.me = w.guest(who)
	default:
		s.me = w.person(who)
	}
	s.owner = owner
	w.befriend(s.friend, s.bob)
	members := []string{s.bob.id, admin.id}
	if who == asMember || who == asEx || who == asGuest {
		members = append(members, s.me.id)
	}
	var g wire.CreateGroupResponse
	w.must(owner.token, "GroupService/CreateGroup", &wire.CreateGroupRequest{Name: "g", Members: members}, &g)
	s.group, s.chat = g.GetGroup().GetConversation(), dm(s.bob, s.friend)
	w.must(owner.token, "GroupService/SetRole", &wire.SetRoleRequest{Conversation: s.group, User: admin.id, Role: wire.Role_ROLE_ADMIN}, nil)
	s.said, s.whisper = s.says(s.bob, s.group), s.says(s.bob, s.chat)
	var poll wire.SendMessageResponse
	w.must(s.bob.token, "MessageService/SendMessage", &wire.SendMessageRequest{Conversation: s.group, Content: text("?"), Poll: asked("a", "b")}, &poll)
	s.asked = poll.GetSeq()
	w.must(s.bob.token, "MessageService/SendMessage", &wire.SendMessageRequest{Conversation: s.group, Content: text("?"), Streaming: true}, &poll)
	s.grows = poll.GetSeq()
	s.myStream = s.grows
	if s.mine = s.said; who == asMember || who == asGuest || who == asAdmin || who == asOwner {
		s.mine = s.says(s.me, s.group)
		w.must(s.me.token, "MessageService/SendMessage", &wire.SendMessageRequest{Conversation: s.group, Content: text("?"), Streaming: true}, &poll)
		s.myStream = poll.GetSeq()
	}
	if who == asEx {
		w.must(owner.token, "GroupService/RemoveMembers", &wire.RemoveMembersRequest{Conversation: s.group, Users: []string{s.me.id}}, nil)
	}
	if who == asBlocked {
		w.must(s.bob.token, "ContactService/BlockUser", &wire.BlockUserRequest{User: s.me.id}, nil)
	}
	return s
}

// invitedTo is a group that who calls is invited to.
func (s *scene) invitedTo() string {
	s.t.Helper()
	if s.me.session == "" {
		return "grp:none" // they are no user
	}
	s.must(s.me.token, "UserService/UpdateProfile", &wire.UpdateProfileRequest{GroupPolicy: wire.GroupPolicy_GROUP_POLICY_NOBODY}, nil)
	var g wire.CreateGroupResponse
	s.must(s.newcomer.token, "GroupService/CreateGroup", &wire.CreateGroupRequest{Name: "h", Members: []string{s.me.id}}, &g)
	if len(g.GetInvited()) != 1 {
		s.t.Fatalf("invited %v", g.GetInvited())
	}
	return g.GetGroup().GetConversation()
}

// joins is a link of bob's group, which is joined in a way from then on.
func (s *scene) joins(mode wire.JoinMode) string {
	s.t.Helper()
	s.must(s.owner.token, "GroupService/UpdateGroup", &wire.UpdateGroupRequest{Conversation: s.group, Join: mode}, nil)
	var l wire.CreateInviteLinkResponse
	s.must(s.owner.token, "GroupService/CreateInviteLink", &wire.CreateInviteLinkRequest{Conversation: s.group}, &l)
	return l.GetLink().GetCode()
}

// asks is somebody who asks to be in bob's group.
func (s *scene) asks() string {
	s.t.Helper()
	s.must(s.friend.token, "GroupService/RequestToJoin", &wire.RequestToJoinRequest{Code: s.joins(wire.JoinMode_JOIN_MODE_APPROVAL)}, nil)
	return s.friend.id
}

func (s *scene) says(p person, conversation string) uint64 {
	s.t.Helper()
	var r wire.SendMessageResponse
	s.must(p.token, "MessageService/SendMessage", &wire.SendMessageRequest{Conversation: conversation, Content: text("hello")}, &r)
	return r.GetSeq()
}

// trace is what a denied call must leave as it is: the heads of bob's
// conversations and feed, and his sessions.
type trace struct {
	group, chat, feed uint64
	sessions          int
}

func (s *scene) trace() trace {
	s.t.Helper()
	head := func(c string) uint64 {
		r, err := s.messages.Pull(s.t.Context(), im.Actor{User: im.UserID(s.bob.id)}, im.PullQuery{Conversation: im.ConversationID(c), Backward: true, Limit: 1})
		if im.CodeOf(err) == im.CodeNotFound {
			return 0
		}
		if err != nil {
			s.t.Fatal(err)
		}
		return r.Head
	}
	sessions, err := s.accounts.Sessions(s.t.Context(), im.UserID(s.bob.id))
	if err != nil {
		s.t.Fatal(err)
	}
	return trace{head(s.group), head(s.chat), head("me:" + s.bob.id), len(sessions)}
}
