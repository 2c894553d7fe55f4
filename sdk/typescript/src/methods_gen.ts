// Code generated from the methods of internal/api by proto/openapigen. DO NOT EDIT.

/** What repeating a call does: it changes nothing, does the same again, or needs a key. SPEC §8. */
export type Repeat = "reads" | "same" | "key"

const repeats: Readonly<Record<string, Repeat>> = {
  "skein.v1.AccountService/GetSecurity": "reads",
  "skein.v1.AccountService/ListIdentities": "reads",
  "skein.v1.AccountService/ListLoginProviders": "reads",
  "skein.v1.AccountService/ListSessions": "reads",
  "skein.v1.AccountService/Logout": "same",
  "skein.v1.AccountService/Refresh": "same",
  "skein.v1.AccountService/RevokeSession": "same",
  "skein.v1.AdminService/ExportUser": "reads",
  "skein.v1.AdminService/ListRegistrationLinks": "reads",
  "skein.v1.AdminService/ListUserSessions": "reads",
  "skein.v1.AdminService/ListUsers": "reads",
  "skein.v1.ContactService/BlockUser": "same",
  "skein.v1.ContactService/ListContacts": "reads",
  "skein.v1.ContactService/SetRemark": "same",
  "skein.v1.ContactService/SetTags": "same",
  "skein.v1.ContactService/UnblockUser": "same",
  "skein.v1.GroupService/AcceptInvitation": "same",
  "skein.v1.GroupService/ApproveJoin": "same",
  "skein.v1.GroupService/GetGroup": "reads",
  "skein.v1.GroupService/GetInviteLink": "reads",
  "skein.v1.GroupService/JoinByLink": "same",
  "skein.v1.GroupService/ListBans": "reads",
  "skein.v1.GroupService/ListInvitations": "reads",
  "skein.v1.GroupService/ListInviteLinks": "reads",
  "skein.v1.GroupService/ListJoinRequests": "reads",
  "skein.v1.GroupService/ListMembers": "reads",
  "skein.v1.GroupService/RequestToJoin": "same",
  "skein.v1.MediaService/GetMedia": "reads",
  "skein.v1.MediaService/LinkMedia": "reads",
  "skein.v1.MediaService/ListStickers": "reads",
  "skein.v1.MessageService/ListConversations": "reads",
  "skein.v1.MessageService/ListEdits": "reads",
  "skein.v1.MessageService/ListEntries": "reads",
  "skein.v1.MessageService/ListMentions": "reads",
  "skein.v1.MessageService/ListPins": "reads",
  "skein.v1.MessageService/ListReactions": "reads",
  "skein.v1.MessageService/ListReaders": "reads",
  "skein.v1.MessageService/ListScheduled": "reads",
  "skein.v1.MessageService/ListThread": "reads",
  "skein.v1.MessageService/ListThreads": "reads",
  "skein.v1.MessageService/ListVotes": "reads",
  "skein.v1.MessageService/MarkRead": "same",
  "skein.v1.MessageService/RecallMessage": "same",
  "skein.v1.MessageService/SearchMessages": "reads",
  "skein.v1.MessageService/SetMyState": "same",
  "skein.v1.UserService/FindUser": "reads",
  "skein.v1.UserService/GetUsers": "reads",
  "skein.v1.UserService/SearchUsers": "reads",
  "skein.v1.UserService/UpdateProfile": "same",
}

/** Of a method, skein.v1.<Service>/<Method>; one that is not known here is taken for one that needs a key. */
export function repeatOf(method: string): Repeat {
  return repeats[method] ?? "key"
}
