package wire

import "strings"

// Repeat is what repeating a call does whose answer was lost. SPEC §8.
type Repeat uint8

// The kinds of methods by that. The zero Repeat is the careful one: also what this
// version does not know is taken for it.
const (
	// RepeatKey changes something. With an idempotency key a repeat is answered and not
	// carried out again; without one it may be.
	RepeatKey Repeat = iota
	// RepeatSame sets what only the caller sets, to what the request says: a repeat
	// finds it so, and answers alike. A key is checked and not needed.
	RepeatSame
	// RepeatReads changes nothing.
	RepeatReads
)

func (r Repeat) String() string { return [...]string{"key", "same", "reads"}[r] }

// repeats are the methods that need no idempotency key, by service.
var repeats = map[string]Repeat{
	"AccountService/Refresh": RepeatSame, "AccountService/Logout": RepeatSame, "AccountService/RevokeSession": RepeatSame,
	"UserService/UpdateProfile": RepeatSame,
	"ContactService/BlockUser":  RepeatSame, "ContactService/UnblockUser": RepeatSame, "ContactService/SetRemark": RepeatSame, "ContactService/SetTags": RepeatSame,
	"GroupService/AcceptInvitation": RepeatSame, "GroupService/JoinByLink": RepeatSame, "GroupService/RequestToJoin": RepeatSame, "GroupService/ApproveJoin": RepeatSame,
	"PushService/SetPushSubscription": RepeatSame, "PushService/DeletePushSubscription": RepeatSame, "PushService/SetPushSettings": RepeatSame,
	"MessageService/ReportMessage": RepeatSame,
	"MessageService/RecallMessage": RepeatSame, "MessageService/MarkRead": RepeatSame, "MessageService/SetMyState": RepeatSame,

	"AccountService/GetMe": RepeatReads, "AccountService/GetServerInfo": RepeatReads, "AccountService/GetAnnouncements": RepeatReads, "AccountService/ListSessions": RepeatReads, "AccountService/GetSecurity": RepeatReads, "AccountService/ListLoginProviders": RepeatReads, "AccountService/ListIdentities": RepeatReads, "AdminService/ExportUser": RepeatReads, "AdminService/ListRegistrationLinks": RepeatReads,
	"UserService/GetUsers": RepeatReads, "UserService/FindUser": RepeatReads, "UserService/SearchUsers": RepeatReads,
	"ContactService/ListContacts": RepeatReads,
	"GroupService/GetGroup":       RepeatReads, "GroupService/ListMembers": RepeatReads, "GroupService/ListInvitations": RepeatReads, "GroupService/ListBans": RepeatReads,
	"GroupService/ListInviteLinks": RepeatReads, "GroupService/GetInviteLink": RepeatReads, "GroupService/ListJoinRequests": RepeatReads,
	"MediaService/GetMedia": RepeatReads, "MediaService/LinkMedia": RepeatReads, "MediaService/ListStickers": RepeatReads,
	"PushService/GetPushKey": RepeatReads, "PushService/GetPushSettings": RepeatReads,
	"MessageService/ListEdits": RepeatReads, "MessageService/ListReactions": RepeatReads, "MessageService/ListReaders": RepeatReads, "MessageService/ListPins": RepeatReads, "MessageService/ListThread": RepeatReads, "MessageService/ListThreads": RepeatReads, "MessageService/ListMentions": RepeatReads, "MessageService/SearchMessages": RepeatReads, "MessageService/ListVotes": RepeatReads, "MessageService/ListScheduled": RepeatReads, "MessageService/ListEntries": RepeatReads, "MessageService/ListConversations": RepeatReads,
	"AdminService/ListUsers": RepeatReads, "AdminService/ListAuditLog": RepeatReads, "AdminService/ListGroups": RepeatReads, "AdminService/InspectGroup": RepeatReads, "AdminService/ListReports": RepeatReads, "AdminService/GetReport": RepeatReads, "AdminService/ListUserSessions": RepeatReads, "AdminService/GetHealth": RepeatReads, "AdminService/ListFilterRules": RepeatReads, "AdminService/TestFilter": RepeatReads, "AdminService/GetRetention": RepeatReads,
}

// RepeatOf tells what repeating a call of a method does.
func RepeatOf(method string) Repeat { return repeats[strings.TrimPrefix(method, "skein.v1.")] }
