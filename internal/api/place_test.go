package api

import (
	"context"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

// placeCells are the rows of the matrix about how the deployment is, what it announces, and
// what it does not allow.
var placeCells = []cell{
	{"AccountService/GetAnnouncements", "", known, func(*scene) proto.Message { return &wire.GetAnnouncementsRequest{} }},
	{"AdminService/GetHealth", "", admins, func(*scene) proto.Message { return &wire.GetHealthRequest{} }},
	{"AdminService/Announce", "", admins, func(s *scene) proto.Message {
		s.clearPlace()
		return &wire.AnnounceRequest{Text: "The server is away at ten", UntilMs: inAnHour(), Texts: []*wire.AnnouncementText{{Language: "de", Text: "Um zehn ist der Server weg"}}}
	}},
	{"AdminService/WithdrawAnnouncement", "", admins, func(s *scene) proto.Message {
		return &wire.WithdrawAnnouncementRequest{Id: s.announced()}
	}},
	{"AdminService/WithdrawAnnouncement", "that is not there", cellsOf(admins, "ok", "NF"), func(*scene) proto.Message { return &wire.WithdrawAnnouncementRequest{Id: "none"} }},
	{"AdminService/ListFilterRules", "", admins, func(*scene) proto.Message { return &wire.ListFilterRulesRequest{} }},
	{"AdminService/AddFilterRule", "", admins, func(s *scene) proto.Message {
		s.clearPlace()
		return &wire.AddFilterRuleRequest{Rule: rule("viagra")}
	}},
	{"AdminService/RemoveFilterRule", "", admins, func(s *scene) proto.Message { return &wire.RemoveFilterRuleRequest{Id: s.ruled()} }},
	{"AdminService/RemoveFilterRule", "that is not there", cellsOf(admins, "ok", "NF"), func(*scene) proto.Message { return &wire.RemoveFilterRuleRequest{Id: "none"} }},
	{"AdminService/TestFilter", "", admins, func(*scene) proto.Message { return &wire.TestFilterRequest{Text: "Buy V\u200bI\u0301AGRA now"} }},
}

func rule(pattern string) *wire.FilterRule {
	return &wire.FilterRule{Kind: wire.FilterKind_FILTER_KIND_WORD, Pattern: pattern, Action: wire.FilterAction_FILTER_ACTION_REFUSE}
}

// clearPlace takes away what other cells left.
func (s *scene) clearPlace() {
	s.t.Helper()
	var all wire.GetAnnouncementsResponse
	s.must(adminKey, "AccountService/GetAnnouncements", &wire.GetAnnouncementsRequest{}, &all)
	for _, a := range all.Announcements {
		s.must(adminKey, "AdminService/WithdrawAnnouncement", &wire.WithdrawAnnouncementRequest{Id: a.Id}, nil)
	}
	var rules wire.ListFilterRulesResponse
	s.must(adminKey, "AdminService/ListFilterRules", &wire.ListFilterRulesRequest{}, &rules)
	for _, r := range rules.Rules {
		s.must(adminKey, "AdminService/RemoveFilterRule", &wire.RemoveFilterRuleRequest{Id: r.Id}, nil)
	}
}

func (s *scene) announced() string {
	s.t.Helper()
	s.clearPlace()
	var r wire.AnnounceResponse
	s.must(adminKey, "AdminService/Announce", &wire.AnnounceRequest{Text: "hello"}, &r)
	return r.Announcement.Id
}

func (s *scene) ruled() string {
	s.t.Helper()
	s.clearPlace()
	var r wire.AddFilterRuleResponse
	s.must(adminKey, "AdminService/AddFilterRule", &wire.AddFilterRuleRequest{Rule: rule("viagra")}, &r)
	return r.Rule.Id
}

// TestAnnouncements: what is announced is told to everybody who is signed in until it is over
// or withdrawn, at most so many at a time, and to no stranger.
func TestAnnouncements(t *testing.T) {
	w := newWorld(t)
	ann := w.person("ann")
	now := time.Now()
	var made wire.AnnounceResponse
	w.must(adminKey, "AdminService/Announce", &wire.AnnounceRequest{
		Text: "Away\nat ten", Level: wire.AnnouncementLevel_ANNOUNCEMENT_LEVEL_WARNING, UntilMs: now.Add(time.Hour).UnixMilli(), Stays: true,
		Texts: []*wire.AnnouncementText{{Language: "zh-Hans", Text: "十点停机"}},
	}, &made)
	w.must(adminKey, "AdminService/Announce", &wire.AnnounceRequest{Text: "second"}, nil)
	told := func(want ...string) []*wire.Announcement {
		t.Helper()
		var r wire.GetAnnouncementsResponse
		w.must(ann.token, "AccountService/GetAnnouncements", &wire.GetAnnouncementsRequest{}, &r)
		var texts []string
		for _, a := range r.Announcements {
			texts = append(texts, a.Text)
		}
		if strings.Join(texts, "|") != strings.Join(want, "|") {
			t.Errorf("told %q, want %q", texts, want)
		}
		return r.Announcements
	}
	first := told("second", "Away\nat ten")[1]
	if !proto.Equal(first, made.Announcement) || first.Dismissible || first.Level != wire.AnnouncementLevel_ANNOUNCEMENT_LEVEL_WARNING || first.Texts[0].Text != "十点停机" {
		t.Errorf("%v, made %v", first, made.Announcement)
	}
	w.later(2 * time.Hour)
	told("second")
	w.later(0)
	w.must(adminKey, "AdminService/WithdrawAnnouncement", &wire.WithdrawAnnouncementRequest{Id: first.Id}, nil)
	told("second")
	for range im.MaxAnnouncements - 1 {
		w.must(adminKey, "AdminService/Announce", &wire.AnnounceRequest{Text: "more"}, nil)
	}
	if code := w.call(adminKey, "AdminService/Announce", &wire.AnnounceRequest{Text: "one too many"}, nil); code != im.CodeTooLarge {
		t.Errorf("one too many: %q", code)
	}
	for field, bad := range map[string]*wire.AnnounceRequest{
		"text":              {Text: "  \n"},
		"untilMs":           {Text: "x", UntilMs: 5},
		"texts[0].language": {Text: "x", Texts: []*wire.AnnouncementText{{Language: "Deutsch, bitte", Text: "x"}}},
		"texts[1].language": {Text: "x", Texts: []*wire.AnnouncementText{{Language: "de", Text: "x"}, {Language: "DE", Text: "x"}}},
		"texts[0].text":     {Text: "x", Texts: []*wire.AnnouncementText{{Language: "de"}}},
	} {
		if code, in := w.refusal(adminKey, "AdminService/Announce", bad); code != im.CodeInvalidArgument || in != field {
			t.Errorf("%v: %q %q, want %q", bad, code, in, field)
		}
	}
}

// TestFilteredNames: what users call themselves and their groups, and what they say besides
// messages, is held to the rules that refuse: each field of the table, as documented, and who
// is exempt is not.
func TestFilteredNames(t *testing.T) {
	w := newWorld(t)
	s := w.scene(asOwner)
	stranger := w.person("stranger")
	link := s.joins(wire.JoinMode_JOIN_MODE_APPROVAL)
	w.must(adminKey, "AdminService/AddFilterRule", &wire.AddFilterRuleRequest{Rule: rule("viagra")}, nil)
	const bad = "Viagra"
	cases := map[string]map[string]proto.Message{
		"AccountService/Register": {
			"username": &wire.RegisterRequest{Username: "viagra", Password: password}, "displayName": &wire.RegisterRequest{Username: "free", Password: password, DisplayName: bad},
		},
		"AccountService/RegisterGuest":  {"displayName": &wire.RegisterGuestRequest{DisplayName: bad}},
		"AccountService/UpgradeGuest":   {"username": &wire.UpgradeGuestRequest{Username: "viagra", Password: password}},
		"AccountService/ChangeUsername": {"username": &wire.ChangeUsernameRequest{Username: "viagra", Password: password}},
		"UserService/UpdateProfile": {
			"displayName": &wire.UpdateProfileRequest{DisplayName: proto.String(bad)}, "about": &wire.UpdateProfileRequest{About: proto.String("I sell\nviagra")},
		},
		"ContactService/RequestContact": {"message": &wire.RequestContactRequest{User: stranger.id, Message: bad}},
		"GroupService/CreateGroup":      {"name": &wire.CreateGroupRequest{Name: bad}},
		"GroupService/RenameGroup":      {"name": &wire.RenameGroupRequest{Conversation: s.group, Name: bad}},
		"GroupService/UpdateGroup": {
			"description": &wire.UpdateGroupRequest{Conversation: s.group, Description: proto.String(bad)}, "announcement": &wire.UpdateGroupRequest{Conversation: s.group, Announcement: proto.String(bad)},
		},
		"GroupService/SetNickname":   {"nickname": &wire.SetNicknameRequest{Conversation: s.group, Nickname: bad}},
		"GroupService/RequestToJoin": {"text": &wire.RequestToJoinRequest{Code: link, Text: bad}},
	}
	n := 0
	for method, fields := range namedFields {
		method = strings.TrimPrefix(method, "skein.v1.")
		if len(cases[method]) != len(fields) {
			t.Errorf("%s: %d of %d fields are tried", method, len(cases[method]), len(fields))
		}
		for field, in := range cases[method] {
			if code, named := w.refusal(s.me.token, method, in); code != im.CodeFiltered || named != field {
				t.Errorf("%s: %q in %q, want filtered in %q", method, code, named, field)
			}
			n++
		}
	}
	if n < 13 {
		t.Errorf("only %d fields", n)
	}
	// A rule for groups does not hold elsewhere; who is exempt is held to none.
	s.clearPlace()
	groups := rule("viagra")
	groups.Scope, groups.Exempt = wire.FilterScope_FILTER_SCOPE_GROUPS, wire.ServerRole_SERVER_ROLE_MODERATOR
	w.must(adminKey, "AdminService/AddFilterRule", &wire.AddFilterRuleRequest{Rule: groups}, nil)
	w.must(s.me.token, "UserService/UpdateProfile", cases["UserService/UpdateProfile"]["displayName"], nil)
	if code := w.call(s.me.token, "GroupService/RenameGroup", cases["GroupService/RenameGroup"]["name"], nil); code != im.CodeFiltered {
		t.Errorf("in a group: %q", code)
	}
	w.must(adminKey, "AdminService/SetServerRole", &wire.SetServerRoleRequest{User: s.me.id, Role: wire.ServerRole_SERVER_ROLE_MODERATOR}, nil)
	w.must(s.me.token, "GroupService/RenameGroup", cases["GroupService/RenameGroup"]["name"], nil)
}

// TestFilteredMessages: what a rule refuses is stored by no way of saying it, and told without
// naming the rule; a resend of what was stored before the rule is answered as before.
func TestFilteredMessages(t *testing.T) {
	w := newWorld(t)
	s := w.scene(asMember)
	mine := s.says(s.me, s.group)
	id := im.NewMessageID(time.Now(), [10]byte{9: 7})
	early := &wire.SendMessageRequest{Conversation: s.group, Id: id[:], Content: text("get rich")}
	var first, again wire.SendMessageResponse
	w.must(s.me.token, "MessageService/SendMessage", early, &first)
	w.must(adminKey, "AdminService/AddFilterRule", &wire.AddFilterRuleRequest{Rule: rule("get rich")}, nil)
	w.must(s.me.token, "MessageService/SendMessage", early, &again)
	if again.Seq != first.Seq {
		t.Errorf("a resend is %d, was %d", again.Seq, first.Seq)
	}
	before := s.trace()
	const bad = "GET  ri\u200bch"
	poll := text(`{"question":"Which?","options":["tea","Get\u0020rich"]}`)
	poll.Type = "poll"
	image := &wire.Content{Type: "image", Body: &wire.Content_Text{Text: "{}"}, Fallback: bad}
	for name, in := range map[string]proto.Message{
		"SendMessage":          &wire.SendMessageRequest{Conversation: s.group, Content: text(bad)},
		"SendMessage, dm":      &wire.SendMessageRequest{Conversation: dm(s.me, s.owner), Content: text(bad)},
		"SendMessage, options": &wire.SendMessageRequest{Conversation: s.group, Content: poll},
		"SendMessage, caption": &wire.SendMessageRequest{Conversation: s.group, Content: image},
		"SendMessage, thread":  &wire.SendMessageRequest{Conversation: s.group, Content: text(bad), Thread: s.said},
		"EditMessage":          &wire.EditMessageRequest{Conversation: s.group, Seq: mine, Content: text(bad)},
		"ForwardMessages":      &wire.ForwardMessagesRequest{Conversation: s.group, Messages: []*wire.ForwardSource{{Conversation: s.group, Seq: first.Seq}}},
		"StreamMessage":        &wire.StreamMessageRequest{Conversation: s.group, Seq: s.myStream, Content: text(bad), End: true},
		"ScheduleMessage":      &wire.ScheduleMessageRequest{Message: &wire.SendMessageRequest{Conversation: s.group, Content: text(bad)}, AtMs: inAnHour()},
	} {
		if name == "SendMessage, dm" {
			w.befriend(s.me, s.owner)
			before = s.trace()
		}
		method, _, _ := strings.Cut(name, ",")
		if code := w.call(s.me.token, "MessageService/"+method, in, nil); code != im.CodeFiltered {
			t.Errorf("%s: %q", name, code)
		}
	}
	if after := s.trace(); after != before {
		t.Errorf("something was stored: %+v, then %+v", before, after)
	}
	_, err := w.calls.Call(t.Context(), im.Actor{User: im.UserID(s.me.id), Session: im.SessionID(s.me.session)}, callOf(t, "MessageService/SendMessage", &wire.SendMessageRequest{Conversation: s.group, Content: text(bad)}))
	if e := im.Public(err); e.Message != "this is not allowed here" {
		t.Errorf("told: %q", e.Message)
	}
	// What one saves for oneself is one's own.
	w.must(s.me.token, "MessageService/SendMessage", &wire.SendMessageRequest{Conversation: dm(s.me, s.me), Content: text(bad)}, nil)
}

func callOf(t *testing.T, method string, in proto.Message) im.Call {
	t.Helper()
	b, err := proto.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	return im.Call{Method: "skein.v1." + method, Payload: b}
}

// TestReportedByFilter: what breaks a rule to be reported is stored, and moderators find it in
// their queue, once, with what it said; an edit of another message as well.
func TestReportedByFilter(t *testing.T) {
	w := newWorld(t)
	s := w.scene(asMember)
	mine := s.says(s.me, s.group)
	r := rule("casino.example")
	r.Kind, r.Action = wire.FilterKind_FILTER_KIND_LINK, wire.FilterAction_FILTER_ACTION_REPORT
	w.must(adminKey, "AdminService/AddFilterRule", &wire.AddFilterRuleRequest{Rule: r}, nil)
	id := im.NewMessageID(time.Now(), [10]byte{9: 8})
	var sent wire.SendMessageResponse
	for range 2 {
		w.must(s.me.token, "MessageService/SendMessage", &wire.SendMessageRequest{Conversation: s.group, Id: id[:], Content: text("see https://www.CASINO.example/win")}, &sent)
	}
	w.must(s.me.token, "MessageService/EditMessage", &wire.EditMessageRequest{Conversation: s.group, Seq: mine, Content: text("casino.example.")}, nil)
	w.must(s.me.token, "MessageService/SendMessage", &wire.SendMessageRequest{Conversation: s.group, Content: text("https://mycasino.example casino.example.org")}, nil)
	var page wire.ListReportsResponse
	ctx, end := context.WithTimeout(t.Context(), 10*time.Second)
	defer end()
	for len(page.Reports) < 2 {
		if ctx.Err() != nil {
			t.Fatalf("reported: %v", page.Reports)
		}
		w.must(adminKey, "AdminService/ListReports", &wire.ListReportsRequest{Author: s.me.id}, &page)
	}
	seqs := map[uint64]*wire.Report{}
	for _, r := range page.Reports {
		seqs[r.Seq] = r
		if r.Reporter != "" || r.Reason != wire.ReportReason_REPORT_REASON_FILTER || !strings.Contains(r.Text, "casino.example") || r.State != wire.ReportState_REPORT_STATE_OPEN {
			t.Errorf("%v", r)
		}
	}
	if len(page.Reports) != 2 || seqs[sent.Seq].GetSaid() != "see https://www.CASINO.example/win" || seqs[mine].GetSaid() != "casino.example." {
		t.Errorf("%v", page.Reports)
	}
	var report wire.GetReportResponse
	w.must(adminKey, "AdminService/GetReport", &wire.GetReportRequest{Id: seqs[sent.Seq].Id, Around: 2}, &report)
	if len(report.Entries) == 0 {
		t.Error("a report of the filter has nothing around it")
	}
	if code, field := w.refusal(s.me.token, "MessageService/ReportMessage", &wire.ReportMessageRequest{Conversation: s.group, Seq: s.said, Reason: wire.ReportReason_REPORT_REASON_FILTER}); code != im.CodeInvalidArgument || field != "reason" {
		t.Errorf("a user reports as the filter: %q %q", code, field)
	}
}

// TestStrangersRule: a rule for strangers holds in direct chats with who is no contact alone.
func TestStrangersRule(t *testing.T) {
	w := newWorld(t)
	ann, bob := w.person("ann"), w.person("bob")
	w.must(bob.token, "UserService/UpdateProfile", &wire.UpdateProfileRequest{DmPolicy: wire.DmPolicy_DM_POLICY_EVERYONE}, nil)
	r := rule("crypto")
	r.Scope = wire.FilterScope_FILTER_SCOPE_STRANGERS
	w.must(adminKey, "AdminService/AddFilterRule", &wire.AddFilterRuleRequest{Rule: r}, nil)
	say := &wire.SendMessageRequest{Conversation: dm(ann, bob), Content: text("crypto!")}
	if code := w.call(ann.token, "MessageService/SendMessage", say, nil); code != im.CodeFiltered {
		t.Errorf("to a stranger: %q", code)
	}
	w.befriend(ann, bob)
	w.must(ann.token, "MessageService/SendMessage", say, nil)
}

// TestFilteredStream: a part that ends within a word is not refused for the word's beginning,
// the last one is; a text of a client's own type is read as in a message.
func TestFilteredStream(t *testing.T) {
	w := newWorld(t)
	s := w.scene(asMember)
	w.must(adminKey, "AdminService/AddFilterRule", &wire.AddFilterRuleRequest{Rule: rule("ass")}, nil)
	says := func(r *wire.StreamMessageRequest, want im.Code) {
		t.Helper()
		r.Conversation, r.Seq = s.group, s.myStream
		if code := w.call(s.me.token, "MessageService/StreamMessage", r, nil); code != want {
			t.Errorf("%v: %q, want %q", r, code, want)
		}
	}
	says(&wire.StreamMessageRequest{Content: text("an ass")}, "")
	says(&wire.StreamMessageRequest{Offset: 6, Text: "embly; an ass"}, "")
	says(&wire.StreamMessageRequest{Offset: 19, Text: "!"}, im.CodeFiltered)
	own := text(`["an \u0061ss"]`)
	own.Type = "com.example"
	says(&wire.StreamMessageRequest{Content: own}, im.CodeFiltered)
	says(&wire.StreamMessageRequest{Content: text("an ass"), End: true}, im.CodeFiltered)
}

// TestRefusedLetsNobodyAnswer: what is refused, by the filter or otherwise, does not let the
// other write who may not; what is stored does.
func TestRefusedLetsNobodyAnswer(t *testing.T) {
	w := newWorld(t)
	ann, bob := w.person("ann"), w.person("bob")
	w.must(bob.token, "UserService/UpdateProfile", &wire.UpdateProfileRequest{DmPolicy: wire.DmPolicy_DM_POLICY_EVERYONE}, nil)
	w.must(adminKey, "AdminService/AddFilterRule", &wire.AddFilterRuleRequest{Rule: rule("crypto")}, nil)
	says := func(p person, m *wire.SendMessageRequest, want im.Code) {
		t.Helper()
		m.Conversation = dm(ann, bob)
		if code := w.call(p.token, "MessageService/SendMessage", m, nil); code != want {
			t.Errorf("%q, want %q", code, want)
		}
	}
	says(ann, &wire.SendMessageRequest{Content: text("crypto!")}, im.CodeFiltered)
	says(ann, &wire.SendMessageRequest{Content: text("to what?"), ReplyTo: 7}, im.CodeInvalidArgument)
	says(bob, &wire.SendMessageRequest{Content: text("hello?")}, im.CodeNotContact)
	says(ann, &wire.SendMessageRequest{Content: text("hello")}, "")
	says(bob, &wire.SendMessageRequest{Content: text("hello")}, "")
}

// TestWrongRules: each mistake in a rule is told with its field.
func TestWrongRules(t *testing.T) {
	w := newWorld(t)
	link := func(pattern string) *wire.FilterRule {
		r := rule(pattern)
		r.Kind = wire.FilterKind_FILTER_KIND_LINK
		return r
	}
	part := link("a.example")
	part.Part = true
	noted := rule("x")
	noted.Note = strings.Repeat("é", im.MaxFilterNote+1)
	for name, c := range map[string]struct {
		rule  *wire.FilterRule
		field string
		code  im.Code
	}{
		"no rule":     {nil, "rule", im.CodeInvalidArgument},
		"no kind":     {&wire.FilterRule{Pattern: "x", Action: 1}, "rule.kind", im.CodeInvalidArgument},
		"no action":   {&wire.FilterRule{Pattern: "x", Kind: 1}, "rule.action", im.CodeInvalidArgument},
		"unseen":      {rule("\u200b \u0301"), "rule.pattern", im.CodeInvalidArgument},
		"long":        {rule(strings.Repeat("é", im.MaxFilterPattern+1)), "rule.pattern", im.CodeTooLarge},
		"a scheme":    {link("https://a.example"), "rule.pattern", im.CodeInvalidArgument},
		"a path":      {link("a.example/b"), "rule.pattern", im.CodeInvalidArgument},
		"unseen host": {link("\u200b.\u200b"), "rule.pattern", im.CodeInvalidArgument},
		"one label":   {link("example"), "rule.pattern", im.CodeInvalidArgument},
		"part":        {part, "rule.part", im.CodeInvalidArgument},
		"scope":       {&wire.FilterRule{Pattern: "x", Kind: 1, Action: 1, Scope: 9}, "rule.scope", im.CodeInvalidArgument},
		"exempt":      {&wire.FilterRule{Pattern: "x", Kind: 1, Action: 1, Exempt: 9}, "rule.exempt", im.CodeInvalidArgument},
		"note":        {noted, "rule.note", im.CodeTooLarge},
	} {
		if code, field := w.refusal(adminKey, "AdminService/AddFilterRule", &wire.AddFilterRuleRequest{Rule: c.rule}); code != c.code || field != c.field {
			t.Errorf("%s: %q in %q, want %q in %q", name, code, field, c.code, c.field)
		}
	}
	w.must(adminKey, "AdminService/AddFilterRule", &wire.AddFilterRuleRequest{Rule: rule("same")}, nil)
	if code := w.call(adminKey, "AdminService/AddFilterRule", &wire.AddFilterRuleRequest{Rule: rule("same")}, nil); code != im.CodeAlreadyExists {
		t.Errorf("twice: %q", code)
	}
	for n := range 400 {
		code := w.call(adminKey, "AdminService/AddFilterRule", &wire.AddFilterRuleRequest{Rule: rule(strings.Repeat("词", 98) + string(rune('a'+n%26)) + string(rune('a'+n/26)))}, nil)
		if code == im.CodeTooLarge {
			if n < 100 {
				t.Errorf("only %d long ones", n)
			}
			return
		}
		if code != "" && code != im.CodeTooLarge {
			t.Fatalf("rule %d: %q", n, code)
		}
	}
	t.Error("the patterns have no bound together")
}

// TestAnswerToWhoWrote: who takes messages from contacts alone, and writes to somebody who
// takes them from all, is answered; not by others, not after a block, nor after they removed
// the other.
func TestAnswerToWhoWrote(t *testing.T) {
	w := newWorld(t)
	ann, bob, eve := w.person("ann"), w.person("bob"), w.person("eve")
	w.must(bob.token, "UserService/UpdateProfile", &wire.UpdateProfileRequest{DmPolicy: wire.DmPolicy_DM_POLICY_EVERYONE}, nil)
	say := func(from, to person, want im.Code) {
		t.Helper()
		if code := w.call(from.token, "MessageService/SendMessage", &wire.SendMessageRequest{Conversation: dm(from, to), Content: text("hi")}, nil); code != want {
			t.Errorf("%s to %s: %q, want %q", from.username, to.username, code, want)
		}
	}
	say(bob, ann, im.CodeNotContact)
	say(ann, bob, "")
	say(bob, ann, "")
	say(eve, ann, im.CodeNotContact)
	w.must(ann.token, "ContactService/BlockUser", &wire.BlockUserRequest{User: bob.id}, nil)
	say(bob, ann, im.CodeNotContact)
	w.must(ann.token, "ContactService/UnblockUser", &wire.UnblockUserRequest{User: bob.id}, nil)
	say(bob, ann, im.CodeNotContact)
	say(ann, bob, "")
	say(bob, ann, "")
	w.must(ann.token, "ContactService/RemoveContact", &wire.RemoveContactRequest{User: bob.id}, nil)
	say(bob, ann, im.CodeNotContact)
	say(ann, bob, "")
	w.must(ann.token, "UserService/UpdateProfile", &wire.UpdateProfileRequest{DmPolicy: wire.DmPolicy_DM_POLICY_NOBODY}, nil)
	say(bob, ann, im.CodeNotContact)
}
