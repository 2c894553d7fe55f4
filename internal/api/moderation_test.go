package api

import (
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

// moderationCells are the rows of the matrix about groups, reports, and what is set at run
// time.
var moderationCells = []cell{
	{"AccountService/GetServerInfo", "", anyone, func(*scene) proto.Message { return &wire.GetServerInfoRequest{} }},
	{"AdminService/SetServerSettings", "", admins, func(*scene) proto.Message {
		return &wire.SetServerSettingsRequest{Name: proto.String("Here"), Picture: proto.String("https://example.com/a.png"), Registration: wire.RegistrationMode_REGISTRATION_MODE_OPEN}
	}},
	{"AdminService/ListGroups", "", admins, func(*scene) proto.Message { return &wire.ListGroupsRequest{Limit: 3, Query: "g"} }},
	{"AdminService/InspectGroup", "", admins, func(s *scene) proto.Message { return &wire.InspectGroupRequest{Conversation: s.group} }},
	{"AdminService/InspectGroup", "that is not there", cellsOf(admins, "ok", "NF"), func(*scene) proto.Message { return &wire.InspectGroupRequest{Conversation: "grp:none"} }},
	{"AdminService/SetGroupOwner", "", admins, func(s *scene) proto.Message {
		return &wire.SetGroupOwnerRequest{Conversation: s.group, User: s.bob.id}
	}},
	{"AdminService/SetGroupOwner", "who is no member", admins, func(s *scene) proto.Message {
		return &wire.SetGroupOwnerRequest{Conversation: s.group, User: s.newcomer.id}
	}},
	{"AdminService/CloseGroup", "", admins, func(s *scene) proto.Message { return &wire.CloseGroupRequest{Conversation: s.group} }},
	{"MessageService/ReportMessage", "group", whoReads, func(s *scene) proto.Message {
		return &wire.ReportMessageRequest{Conversation: s.group, Seq: s.said, Reason: wire.ReportReason_REPORT_REASON_SPAM, Text: "again"}
	}},
	{"MessageService/ReportMessage", "chat", friends, func(s *scene) proto.Message {
		return &wire.ReportMessageRequest{Conversation: s.chat, Seq: s.whisper, Reason: wire.ReportReason_REPORT_REASON_ABUSE}
	}},
	{"AdminService/ListReports", "", admins, func(*scene) proto.Message { return &wire.ListReportsRequest{Limit: 3} }},
	{"AdminService/GetReport", "", admins, func(s *scene) proto.Message { return &wire.GetReportRequest{Id: s.reported()} }},
	{"AdminService/GetReport", "that is not there", cellsOf(admins, "ok", "NF"), func(*scene) proto.Message { return &wire.GetReportRequest{Id: strings.Repeat("A", 21) + "Q"} }},
	{"AdminService/DecideReport", "", admins, func(s *scene) proto.Message {
		return &wire.DecideReportRequest{Id: s.reported(), State: wire.ReportState_REPORT_STATE_RESOLVED, Note: "spoke to them"}
	}},
	{"AdminService/TakeBackMessage", "", admins, func(s *scene) proto.Message {
		return &wire.TakeBackMessageRequest{Conversation: s.group, Seq: s.said}
	}},
	{"AdminService/TakeBackMessage", "in a chat", admins, func(s *scene) proto.Message {
		return &wire.TakeBackMessageRequest{Conversation: s.chat, Seq: s.whisper}
	}},
	{"AdminService/TakeBackMessage", "that is not there", cellsOf(admins, "ok", "NF"), func(s *scene) proto.Message {
		return &wire.TakeBackMessageRequest{Conversation: s.group, Seq: 9999}
	}},
}

// reported is a report of the owner's about what bob said.
func (s *scene) reported() string {
	s.t.Helper()
	s.must(s.owner.token, "MessageService/ReportMessage", &wire.ReportMessageRequest{Conversation: s.group, Seq: s.said, Reason: wire.ReportReason_REPORT_REASON_OTHER}, nil)
	var page wire.ListReportsResponse
	s.must(adminKey, "AdminService/ListReports", &wire.ListReportsRequest{Author: s.bob.id, Limit: 1}, &page)
	if len(page.Reports) != 1 {
		s.t.Fatalf("reports: %v", page.Reports)
	}
	return page.Reports[0].Id
}

// TestReports: a member reports a message, once; moderators see it with what was said around
// it, decide, and take it back; its author learns nothing of that but the recall.
func TestReports(t *testing.T) {
	w := newWorld(t)
	s := w.scene(asMember)
	mo := w.person("mo")
	w.must(adminKey, "AdminService/SetServerRole", &wire.SetServerRoleRequest{User: mo.id, Role: wire.ServerRole_SERVER_ROLE_MODERATOR}, nil)
	for i := range 5 {
		s.says(s.owner, s.group)
		if i == 2 {
			s.said = s.says(s.bob, s.group)
		}
	}
	before := s.trace()
	report := &wire.ReportMessageRequest{Conversation: s.group, Seq: s.said, Reason: wire.ReportReason_REPORT_REASON_ABUSE, Text: "not nice"}
	s.must(s.me.token, "MessageService/ReportMessage", report, nil)
	s.must(s.me.token, "MessageService/ReportMessage", report, nil)
	if s.trace() != before {
		t.Errorf("bob hears of it: %+v, then %+v", before, s.trace())
	}
	var page wire.ListReportsResponse
	w.must(mo.token, "AdminService/ListReports", &wire.ListReportsRequest{State: wire.ReportState_REPORT_STATE_OPEN, Author: s.bob.id}, &page)
	if len(page.Reports) != 1 {
		t.Fatalf("%v", page.Reports)
	}
	r := page.Reports[0]
	if r.Conversation != s.group || r.Seq != s.said || r.Author != s.bob.id || r.Reporter != s.me.id || r.Text != "not nice" || r.Said != "hello" || r.State != wire.ReportState_REPORT_STATE_OPEN {
		t.Errorf("%v", r)
	}
	var got wire.GetReportResponse
	w.must(mo.token, "AdminService/GetReport", &wire.GetReportRequest{Id: r.Id, Around: 2}, &got)
	var seqs []uint64
	for _, e := range got.Entries {
		seqs = append(seqs, e.Seq)
	}
	if fmt.Sprint(seqs) != fmt.Sprint([]uint64{s.said - 2, s.said - 1, s.said, s.said + 1, s.said + 2}) {
		t.Errorf("around %d: %v", s.said, seqs)
	}
	w.must(mo.token, "AdminService/TakeBackMessage", &wire.TakeBackMessageRequest{Conversation: s.group, Seq: s.said}, nil)
	w.must(mo.token, "AdminService/TakeBackMessage", &wire.TakeBackMessageRequest{Conversation: s.group, Seq: s.said}, nil)
	w.must(mo.token, "AdminService/DecideReport", &wire.DecideReportRequest{Id: r.Id, State: wire.ReportState_REPORT_STATE_RESOLVED, Note: "taken back"}, nil)
	w.must(mo.token, "AdminService/GetReport", &wire.GetReportRequest{Id: r.Id}, &got)
	if got.Report.State != wire.ReportState_REPORT_STATE_RESOLVED || got.Report.DecidedBy != mo.id || got.Report.DecidedAtMs == 0 || got.Report.Note != "taken back" || got.Report.Said != "hello" {
		t.Errorf("%v", got.Report)
	}
	recalled := false
	for _, e := range got.Entries {
		recalled = recalled || e.Seq == s.said && e.Recalled
	}
	if !recalled {
		t.Errorf("it was not taken back: %v", got.Entries)
	}
	if code := w.call(s.me.token, "MessageService/ReportMessage", &wire.ReportMessageRequest{Conversation: s.group, Seq: s.mine, Reason: wire.ReportReason_REPORT_REASON_SPAM}, nil); code != im.CodePermissionDenied {
		t.Errorf("one's own: %q", code)
	}
	if code := w.call(s.owner.token, "MessageService/ReportMessage", report, nil); code != im.CodeTooLate {
		t.Errorf("what was taken back: %q", code)
	}
	if l := w.lines(&wire.ListAuditLogRequest{By: mo.id, Action: "AdminService/GetReport"}); len(l) != 2 || l[0].Target != r.Id {
		t.Errorf("who read it: %v", l)
	}
}

// Of a report only what its reporter may read is told: nothing of what was said before they
// came, or after they left.
func TestReportsShowWhatTheReporterReads(t *testing.T) {
	w := newWorld(t)
	s := w.scene(asMember)
	late := w.person("late")
	s.must(s.owner.token, "GroupService/UpdateGroup", &wire.UpdateGroupRequest{Conversation: s.group, History: wire.GroupHistory_GROUP_HISTORY_FROM_JOINING}, nil)
	s.must(s.owner.token, "GroupService/AddMembers", &wire.AddMembersRequest{Conversation: s.group, Users: []string{late.id}}, nil)
	seq := s.says(s.bob, s.group)
	s.must(late.token, "MessageService/ReportMessage", &wire.ReportMessageRequest{Conversation: s.group, Seq: seq, Reason: wire.ReportReason_REPORT_REASON_SPAM}, nil)
	s.must(late.token, "GroupService/LeaveGroup", &wire.LeaveGroupRequest{Conversation: s.group}, nil)
	after := s.says(s.bob, s.group)
	var page wire.ListReportsResponse
	w.must(adminKey, "AdminService/ListReports", &wire.ListReportsRequest{Author: s.bob.id}, &page)
	var got wire.GetReportResponse
	w.must(adminKey, "AdminService/GetReport", &wire.GetReportRequest{Id: page.Reports[0].Id, Around: 50}, &got)
	if len(got.Entries) == 0 {
		t.Error("nothing is told")
	}
	for _, e := range got.Entries {
		if e.Seq < seq-1 || e.Seq >= after {
			t.Errorf("entry %d is told; the report is of %d", e.Seq, seq)
		}
	}
}

// TestGroupsOfOthers: administrators find any group, see who is in it, hand it to somebody
// and close it; its members hear of that as if its owner had done it.
func TestGroupsOfOthers(t *testing.T) {
	w := newWorld(t)
	s := w.scene(asMember)
	owner := w.person("theowner")
	var made wire.CreateGroupResponse
	w.must(owner.token, "GroupService/CreateGroup", &wire.CreateGroupRequest{Name: "Ärger im Büro", Members: []string{s.bob.id}}, &made)
	conv := made.Group.GetConversation()
	var found wire.ListGroupsResponse
	for _, query := range []string{"BÜRO", "ärger", conv} {
		w.must(adminKey, "AdminService/ListGroups", &wire.ListGroupsRequest{Query: query}, &found)
		if len(found.Groups) != 1 || found.Groups[0].Conversation != conv || found.Groups[0].Owner != owner.id || found.Groups[0].Members != 2 || found.Next != "" {
			t.Errorf("%q: %v", query, &found)
		}
	}
	seen := map[string]bool{}
	for cursor := ""; ; {
		w.must(adminKey, "AdminService/ListGroups", &wire.ListGroupsRequest{Limit: 1, Cursor: cursor}, &found)
		for _, g := range found.Groups {
			if seen[g.Conversation] {
				t.Errorf("%s comes twice", g.Conversation)
			}
			seen[g.Conversation] = true
		}
		if cursor = found.Next; cursor == "" {
			break
		}
	}
	if !seen[conv] || !seen[s.group] {
		t.Errorf("pages: %v", seen)
	}
	var in wire.InspectGroupResponse
	w.must(adminKey, "AdminService/InspectGroup", &wire.InspectGroupRequest{Conversation: conv}, &in)
	if len(in.Members) != 2 || in.Members[0].User != owner.id || in.Members[0].Role != wire.Role_ROLE_OWNER {
		t.Errorf("members: %v", in.Members)
	}
	// Of a page that is short another one follows.
	w.must(adminKey, "AdminService/InspectGroup", &wire.InspectGroupRequest{Conversation: conv, Limit: 1}, &in)
	w.must(adminKey, "AdminService/InspectGroup", &wire.InspectGroupRequest{Conversation: conv, Cursor: in.Next}, &in)
	if len(in.Members) != 1 || in.Members[0].User != s.bob.id {
		t.Errorf("the next page: %v", in.Members)
	}

	w.must(adminKey, "AdminService/SetGroupOwner", &wire.SetGroupOwnerRequest{Conversation: conv, User: s.newcomer.id}, nil)
	w.must(adminKey, "AdminService/SetGroupOwner", &wire.SetGroupOwnerRequest{Conversation: conv, User: s.newcomer.id}, nil)
	w.must(s.newcomer.token, "GroupService/RenameGroup", &wire.RenameGroupRequest{Conversation: conv, Name: "mine"}, nil)
	w.must(adminKey, "AdminService/InspectGroup", &wire.InspectGroupRequest{Conversation: conv}, &in)
	if in.Group.GetOwner() != s.newcomer.id || len(in.Members) != 3 || in.Members[1].User != owner.id || in.Members[1].Role != wire.Role_ROLE_ADMIN {
		t.Errorf("handed on: %v", &in)
	}
	w.must(s.newcomer.token, "UserService/UpdateProfile", &wire.UpdateProfileRequest{GroupPolicy: wire.GroupPolicy_GROUP_POLICY_NOBODY}, nil)
	if code := w.call(adminKey, "AdminService/SetGroupOwner", &wire.SetGroupOwnerRequest{Conversation: s.group, User: s.newcomer.id}, nil); code != im.CodePermissionDenied {
		t.Errorf("who is to be asked: %q", code)
	}
	w.must(s.newcomer.token, "UserService/UpdateProfile", &wire.UpdateProfileRequest{GroupPolicy: wire.GroupPolicy_GROUP_POLICY_ANYONE}, nil)

	w.must(adminKey, "AdminService/CloseGroup", &wire.CloseGroupRequest{Conversation: conv}, nil)
	if code := w.call(s.bob.token, "MessageService/SendMessage", &wire.SendMessageRequest{Conversation: conv, Content: text("hi")}, nil); code != im.CodeNotFound {
		t.Errorf("after it was closed: %q", code)
	}
	for _, method := range []string{"CloseGroup", "InspectGroup"} {
		var in proto.Message = &wire.CloseGroupRequest{Conversation: conv}
		if method == "InspectGroup" {
			in = &wire.InspectGroupRequest{Conversation: conv}
		}
		if code := w.call(adminKey, "AdminService/"+method, in, nil); code != im.CodeNotFound {
			t.Errorf("%s of a closed group: %q", method, code)
		}
	}
}

// TestServerSettings: name, picture and who may register are told to everybody, changed at
// run time, and count at once.
func TestServerSettings(t *testing.T) {
	w := newWorld(t)
	info := func() *wire.ServerInfo {
		t.Helper()
		var r wire.GetServerInfoResponse
		w.must("", "AccountService/GetServerInfo", &wire.GetServerInfoRequest{}, &r)
		return r.Info
	}
	if i := info(); i.Name != "Skein" || i.Picture != "" || i.Registration != wire.RegistrationMode_REGISTRATION_MODE_OPEN || !i.Guests {
		t.Errorf("as configured: %v", i)
	}
	set := func(r *wire.SetServerSettingsRequest) {
		t.Helper()
		w.must(adminKey, "AdminService/SetServerSettings", r, nil)
	}
	set(&wire.SetServerSettingsRequest{Name: proto.String(" The Meiers "), Picture: proto.String("https://example.com/meiers.png"), Registration: wire.RegistrationMode_REGISTRATION_MODE_CLOSED})
	if i := info(); i.Name != "The Meiers" || i.Picture != "https://example.com/meiers.png" || i.Registration != wire.RegistrationMode_REGISTRATION_MODE_CLOSED {
		t.Errorf("as set: %v", i)
	}
	register := func(invitation string) im.Code {
		w.n++
		return w.call("", "AccountService/Register", &wire.RegisterRequest{Username: fmt.Sprint("comer", w.n), Password: password, Invitation: invitation}, nil)
	}
	if code := register(""); code != im.CodePermissionDenied {
		t.Errorf("closed: %q", code)
	}
	set(&wire.SetServerSettingsRequest{Registration: wire.RegistrationMode_REGISTRATION_MODE_INVITATION})
	var link wire.CreateRegistrationLinkResponse
	w.must(adminKey, "AdminService/CreateRegistrationLink", &wire.CreateRegistrationLinkRequest{}, &link)
	if a, b := register(""), register(link.Link.GetCode()); a != im.CodePermissionDenied || b != "" {
		t.Errorf("by invitation: without one %q, with one %q", a, b)
	}
	set(&wire.SetServerSettingsRequest{Name: proto.String(""), Registration: wire.RegistrationMode_REGISTRATION_MODE_OPEN})
	if i := info(); i.Name != "Skein" || i.Picture == "" || register("") != "" {
		t.Errorf("open again: %v", i)
	}
	for _, bad := range []*wire.SetServerSettingsRequest{
		{Name: proto.String("\u202eevil")}, {Name: proto.String("   ")}, {Name: proto.String(strings.Repeat("x", 65))},
		{Picture: proto.String("http://example.com/a.png")}, {Picture: proto.String("javascript:alert(1)")}, {Picture: proto.String("https://example.com/\"x")}, {Registration: 9},
	} {
		if code := w.call(adminKey, "AdminService/SetServerSettings", bad, nil); code != im.CodeInvalidArgument && code != im.CodeTooLarge {
			t.Errorf("%v: %q", bad, code)
		}
	}
}
