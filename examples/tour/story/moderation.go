package story

import (
	"google.golang.org/protobuf/proto"

	"github.com/skein-im/skein/wire"
)

// moderation: Bob reports what Dora wrote in a group; an administrator reads it in its
// context, takes it back, hands the group to Bob, and closes it.
func moderation(t *teller, boss *person, dora string) {
	var info wire.GetServerInfoResponse
	t.call(nil, "AccountService/GetServerInfo", &wire.GetServerInfoRequest{}, &info)
	t.check(info.Info.GetName() != "" && info.Info.GetRegistration() == wire.RegistrationMode_REGISTRATION_MODE_OPEN, "anybody may register here", &info)
	settings := &wire.SetServerSettingsRequest{Name: proto.String("The tour " + t.tag), Registration: wire.RegistrationMode_REGISTRATION_MODE_OPEN}
	t.refused(t.bob, "AdminService/SetServerSettings", settings, wire.CodePermissionDenied)
	var set wire.SetServerSettingsResponse
	t.call(boss, "AdminService/SetServerSettings", settings, &set)
	t.check(set.Info.GetName() == "The tour "+t.tag, "the place has a name", &set)
	t.call(boss, "AdminService/SetServerSettings", &wire.SetServerSettingsRequest{Name: proto.String("")}, &set)

	var token wire.MintTokenResponse
	t.call(boss, "AdminService/MintToken", &wire.MintTokenRequest{User: dora}, &token)
	var made wire.CreateGroupForResponse
	t.call(boss, "AdminService/CreateGroupFor", &wire.CreateGroupForRequest{Id: "bazaar-" + t.tag, Owner: dora, Name: "Bazaar", Members: []string{t.bob.id}}, &made)
	t.hears("group created by dora bob, dora", t.bobs)
	if t.err != nil {
		return
	}
	bazaar := made.Group.GetConversation()
	seller := &person{id: dora, token: token.Tokens.GetAccessToken()}
	var said wire.SendMessageResponse
	t.call(seller, "MessageService/SendMessage", &wire.SendMessageRequest{Conversation: bazaar, Content: &wire.Content{Type: "text", Body: &wire.Content_Text{Text: "Buy now!"}}}, &said)
	t.call(t.bob, "MessageService/ReportMessage", &wire.ReportMessageRequest{Conversation: bazaar, Seq: said.Seq, Reason: wire.ReportReason_REPORT_REASON_SPAM, Text: "every day"}, new(wire.ReportMessageResponse))
	t.refused(t.carol, "MessageService/ReportMessage", &wire.ReportMessageRequest{Conversation: bazaar, Seq: said.Seq, Reason: wire.ReportReason_REPORT_REASON_SPAM}, wire.CodeNotFound)
	t.refused(t.bob, "AdminService/ListReports", &wire.ListReportsRequest{}, wire.CodePermissionDenied)
	var queue wire.ListReportsResponse
	t.call(boss, "AdminService/ListReports", &wire.ListReportsRequest{Author: dora, State: wire.ReportState_REPORT_STATE_OPEN}, &queue)
	t.check(len(queue.Reports) == 1 && queue.Reports[0].Said == "Buy now!" && queue.Reports[0].Reporter == t.bob.id, "Bob's report is in the queue", &queue)
	if t.err != nil {
		return
	}
	id := queue.Reports[0].Id
	var report wire.GetReportResponse
	t.call(boss, "AdminService/GetReport", &wire.GetReportRequest{Id: id, Around: 5}, &report)
	t.check(len(report.Entries) == 2, "it is told with what was before it", report.Entries)
	t.call(boss, "AdminService/TakeBackMessage", &wire.TakeBackMessageRequest{Conversation: bazaar, Seq: said.Seq}, new(wire.TakeBackMessageResponse))
	t.call(boss, "AdminService/DecideReport", &wire.DecideReportRequest{Id: id, State: wire.ReportState_REPORT_STATE_RESOLVED, Note: "taken back"}, new(wire.DecideReportResponse))

	var groups wire.ListGroupsResponse
	t.call(boss, "AdminService/ListGroups", &wire.ListGroupsRequest{Query: bazaar}, &groups)
	t.check(len(groups.Groups) == 1 && groups.Groups[0].Owner == dora, "the bazaar is found", &groups)
	t.call(boss, "AdminService/SetGroupOwner", &wire.SetGroupOwnerRequest{Conversation: bazaar, User: t.bob.id}, new(wire.SetGroupOwnerResponse))
	t.hears("owner changed by dora bob", t.bobs)
	var inside wire.InspectGroupResponse
	t.call(boss, "AdminService/InspectGroup", &wire.InspectGroupRequest{Conversation: bazaar}, &inside)
	t.check(inside.Group.GetOwner() == t.bob.id && len(inside.Members) == 2, "it is Bob's", &inside)
	t.call(boss, "AdminService/CloseGroup", &wire.CloseGroupRequest{Conversation: bazaar}, new(wire.CloseGroupResponse))
	t.hears("group dismissed by bob", t.bobs)
}
