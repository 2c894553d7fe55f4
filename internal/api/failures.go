package api

import (
	"cmp"
	"slices"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

// Failures lists the codes that a call of the method over HTTP may be answered
// with, in the order of their numbers. It is what the OpenAPI document says; the
// tests that call methods fail at an answer that is not in it.
func (m Method) Failures() []im.CodeInfo {
	codes := []im.Code{
		im.CodeOverloaded, im.CodeRateLimited, im.CodeUnavailable, im.CodeGoingAway, im.CodeInternal, im.CodeCodecUnsupported,
		im.CodeInvalidArgument, im.CodeTooLarge, im.CodeUnprocessable, im.CodeUnimplemented,
		// A token that was sent is checked, also where none is needed.
		im.CodeTokenInvalid, im.CodeTokenExpired, im.CodeSessionRevoked, im.CodeUnauthenticated, im.CodeBanned, im.CodeAccountDeleted,
	}
	if m.Who != Anyone {
		codes = append(codes, im.CodePermissionDenied)
	}
	if m.Class != ClassRead {
		codes = append(codes, im.CodeUnknown, im.CodeConflict, im.CodeStorageFull)
	}
	if m.Repeat == wire.RepeatKey {
		codes = append(codes, im.CodeIdConflict)
	}
	codes = append(codes, ownFailures()[m.Name]...)
	infos := make([]im.CodeInfo, 0, len(codes))
	for _, c := range codes {
		infos = append(infos, c.Info())
	}
	slices.SortFunc(infos, func(a, b im.CodeInfo) int { return cmp.Compare(a.Number, b.Number) })
	return slices.Compact(infos)
}

// ownFailures are the codes of a method besides those that any may have.
func ownFailures() map[string][]im.Code {
	all := make(map[string][]im.Code)
	say := func(service string, codes []im.Code, methods ...string) {
		for _, m := range methods {
			name := "skein.v1." + service + "/" + m
			all[name] = append(all[name], codes...)
		}
	}
	one := func(codes ...im.Code) []im.Code { return codes }
	say("AccountService", one(im.CodePermissionDenied, im.CodeAlreadyExists), "Register")
	say("AccountService", one(im.CodePermissionDenied, im.CodeTooLarge), "RegisterGuest")
	say("AccountService", one(im.CodePermissionDenied, im.CodeAlreadyExists, im.CodeNotFound, im.CodeTooLate), "UpgradeGuest")
	say("AccountService", one(im.CodeBadCredentials), "Login", "ChangePassword")
	say("AccountService", one(im.CodeTotpRequired), "Login")
	say("AccountService", one(im.CodeBadCredentials), "LoginWithCode", "BeginTotp", "ConfirmTotp", "DisableTotp", "NewRecoveryCodes", "DeleteAccount", "BeginExport")
	say("AccountService", one(im.CodeNotFound), "LoginWithCode", "ConfirmTotp", "DisableTotp", "DeleteAccount", "BeginExport", "NewRecoveryCodes", "ResetPassword")
	say("AccountService", one(im.CodeTooLate), "LoginWithCode", "ResetPassword")
	say("AccountService", one(im.CodePermissionDenied), "LoginWithCode")
	say("AccountService", one(im.CodeAlreadyExists), "BeginTotp")
	say("AccountService", one(im.CodeNotFound), "BeginProviderLogin", "AnswerProviderLogin", "FinishProviderLogin", "LinkIdentity", "UnlinkIdentity")
	say("AccountService", one(im.CodeTooLate), "AnswerProviderLogin", "FinishProviderLogin", "LinkIdentity")
	say("AccountService", one(im.CodePermissionDenied), "AnswerProviderLogin", "FinishProviderLogin")
	say("AccountService", one(im.CodeTotpRequired), "FinishProviderLogin")
	say("AccountService", one(im.CodeBadCredentials), "LinkIdentity", "UnlinkIdentity")
	say("AccountService", one(im.CodeAlreadyExists), "LinkIdentity", "ChangeUsername")
	say("AccountService", one(im.CodeBadCredentials), "ChangeUsername")
	say("AdminService", one(im.CodeAlreadyExists, im.CodeNotFound), "SetUsername")
	say("AdminService", one(im.CodeNotFound), "RevokeRegistrationLink", "CreateResetLink")
	say("AccountService", one(im.CodeTokenReused), "Refresh")
	say("AccountService", one(im.CodeNotFound), "RevokeSession", "GetMe")
	say("UserService", one(im.CodeNotFound), "FindUser")
	say("ContactService", one(im.CodeNotFound), "RequestContact", "AcceptContact", "RefuseContact", "RemoveContact", "BlockUser", "UnblockUser", "SetRemark", "SetTags")
	say("GroupService", one(im.CodeNotFound), "CreateGroup", "GetGroup", "RenameGroup", "UpdateGroup", "ListMembers", "AddMembers", "RemoveMembers",
		"LeaveGroup", "DismissGroup", "SetNickname", "SetRole", "TransferOwnership", "MuteMember", "BanMember", "UnbanMember", "ListBans", "AcceptInvitation", "RefuseInvitation",
		"CreateInviteLink", "ListInviteLinks", "RevokeInviteLink", "GetInviteLink", "JoinByLink", "RequestToJoin", "WithdrawJoin", "ListJoinRequests", "ApproveJoin", "RefuseJoin")
	say("GroupService", one(im.CodeAlreadyExists), "RequestToJoin")
	say("GroupService", one(im.CodePermissionDenied), "GetInviteLink")
	say("GroupService", one(im.CodeMuted), "SetNickname")
	say("MediaService", one(im.CodeNotFound), "LinkMedia", "DeleteMedia")
	say("AdminService", one(im.CodeNotFound), "SetStickerPack", "SetCustomEmoji")
	say("PushService", one(im.CodeNotFound), "SetPushSubscription")
	say("MessageService", one(im.CodeNotFound), "SendMessage", "RecallMessage", "EditMessage", "ReactToMessage", "VoteInPoll", "EndPoll", "PinMessage", "ForwardMessages", "StreamMessage", "SetLifetime", "ListPins", "ListThread", "ListThreads", "SearchMessages", "ListEdits", "ListReactions", "ListReaders", "ListVotes", "ListEntries", "MarkRead", "SetMyState")
	say("MessageService", one(im.CodeMuted, im.CodeNotContact), "SendMessage", "EditMessage", "ReactToMessage", "VoteInPoll", "EndPoll", "PinMessage", "ForwardMessages", "StreamMessage", "RecallMessage")
	say("MessageService", one(im.CodeClockSkew), "SendMessage", "EditMessage", "ReactToMessage", "VoteInPoll", "EndPoll", "PinMessage", "ForwardMessages", "StreamMessage")
	say("MessageService", one(im.CodePartMissing), "StreamMessage")
	say("MessageService", one(im.CodeNotContact), "SetLifetime")
	say("MessageService", one(im.CodePermissionDenied), "SendMessage")
	say("MessageService", one(im.CodeTooLarge), "ListReaders")
	say("MessageService", one(im.CodeSlowMode), "SendMessage", "ForwardMessages")
	say("MessageService", one(im.CodeNotFound), "ScheduleMessage", "ChangeScheduled", "CancelScheduled")
	say("MessageService", one(im.CodeNotContact), "ScheduleMessage")
	say("MessageService", one(im.CodeTooLate), "ScheduleMessage", "ChangeScheduled", "CancelScheduled")
	say("MessageService", one(im.CodeTooLate), "SendMessage", "RecallMessage", "EditMessage", "ReactToMessage", "VoteInPoll", "EndPoll", "PinMessage", "ForwardMessages", "StreamMessage")
	say("AdminService", one(im.CodeNotFound), "InspectGroup", "SetGroupOwner", "CloseGroup", "GetReport", "DecideReport", "TakeBackMessage")
	say("MessageService", one(im.CodeNotFound, im.CodeTooLate), "ReportMessage")
	for name := range namedFields {
		all[name] = append(all[name], im.CodeFiltered)
	}
	say("MessageService", one(im.CodeFiltered), "SendMessage", "EditMessage", "ForwardMessages", "StreamMessage", "ScheduleMessage", "ChangeScheduled")
	say("AdminService", one(im.CodeNotFound), "WithdrawAnnouncement", "RemoveFilterRule")
	say("AdminService", one(im.CodeAlreadyExists), "AddFilterRule")
	say("AdminService", one(im.CodePermissionDenied, im.CodeAlreadyExists), "ClaimAdmin")
	say("AdminService", one(im.CodeAlreadyExists), "CreateUser", "MintToken")
	say("AdminService", one(im.CodeAlreadyExists, im.CodeNotFound), "CreateGroupFor")
	say("AdminService", one(im.CodeNotFound), "ListUserSessions", "KickUser", "BanUser", "UnbanUser", "SetDisabled", "SetServerRole", "EraseUser", "ExportUser", "SetRetention", "GetRetention")
	return all
}
