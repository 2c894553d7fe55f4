package api

import (
	"context"
	"encoding/base64"
	"time"

	"github.com/skein-im/skein/internal/account"
	"github.com/skein-im/skein/internal/contract"
	"github.com/skein-im/skein/internal/entrycodec"
	"github.com/skein-im/skein/internal/group"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

// Bounds of reports.
const (
	maxReportText  = 1000
	maxReportNote  = 1000
	maxContext     = 50
	reportsPerDay  = 100
	defaultContext = 10
)

// Reports keeps what members report.
type Reports interface {
	// PutReport keeps a report, once of a reporter and a message; rate_limited: the reporter
	// has made most since a time.
	PutReport(ctx context.Context, r im.Report, since time.Time, most int) error
	// Report: not_found if there is none.
	Report(ctx context.Context, id im.MessageID) (im.Report, error)
	Reports(ctx context.Context, q im.ReportQuery) ([]im.Report, error)
	// DecideReport: not_found if there is none.
	DecideReport(ctx context.Context, id im.MessageID, state im.ReportState, by im.UserID, note string, at time.Time) error
}

// TakesBack takes back messages, whoever wrote them.
type TakesBack interface {
	// TakeBack: not_found if there is no such message.
	TakeBack(ctx context.Context, c im.ConversationID, seq uint64) error
}

func (c *Calls) moderationRows() []row {
	return []row{
		newRow("AccountService/GetServerInfo", Anyone, ClassRead, small, c.getServerInfo),
		newRow("MessageService/ReportMessage", User, ClassWrite, draft, c.reportMessage),
		newRow("AdminService/SetServerSettings", Admins, ClassAdmin, small, c.setServerSettings),
		newRow("AdminService/ListGroups", Staff, ClassAdmin, small, c.listGroups),
		newRow("AdminService/InspectGroup", Staff, ClassAdmin, small, c.inspectGroup),
		newRow("AdminService/SetGroupOwner", Moderators, ClassAdmin, small, c.setGroupOwner),
		newRow("AdminService/CloseGroup", Moderators, ClassAdmin, small, c.closeGroup),
		newRow("AdminService/ListReports", Moderators, ClassAdmin, small, c.listReports),
		newRow("AdminService/GetReport", Moderators, ClassAdmin, small, c.getReport),
		newRow("AdminService/DecideReport", Moderators, ClassAdmin, draft, c.decideReport),
		newRow("AdminService/TakeBackMessage", Moderators, ClassAdmin, small, c.takeBackMessage),
	}
}

func wireInfo(i im.ServerInfo) *wire.ServerInfo {
	return &wire.ServerInfo{Name: i.Name, Picture: i.Picture, Registration: wire.RegistrationMode(i.Registration), Guests: i.Guests}
}

func (c *Calls) getServerInfo(ctx context.Context, _ im.Actor, _ *wire.GetServerInfoRequest) (*wire.GetServerInfoResponse, error) {
	i, err := c.Accounts.Info(ctx)
	if err != nil {
		return nil, err
	}
	return &wire.GetServerInfoResponse{Info: wireInfo(i)}, nil
}

func (c *Calls) setServerSettings(ctx context.Context, _ im.Actor, r *wire.SetServerSettingsRequest) (*wire.SetServerSettingsResponse, error) {
	if err := first(knownEnum("registration", r.GetRegistration(), wire.RegistrationMode_name), opaqueIf("picture", r.GetPicture(), account.MaxServerPicture)); err != nil {
		return nil, err
	}
	i, err := c.Accounts.SetInfo(ctx, account.SettingsChange{Name: r.Name, Picture: r.Picture, Registration: im.RegistrationMode(r.GetRegistration())})
	if err != nil {
		return nil, err
	}
	return &wire.SetServerSettingsResponse{Info: wireInfo(i)}, nil
}

func (c *Calls) listGroups(ctx context.Context, _ im.Actor, r *wire.ListGroupsRequest) (*wire.ListGroupsResponse, error) {
	limit, err := pageLimit(r.GetLimit(), 100, 500)
	if err := first(err, contract.CheckText("query", r.GetQuery(), 0, maxNameChars)); err != nil {
		return nil, err
	}
	after := im.ConversationID("")
	if r.GetCursor() != "" {
		if !im.ValidID(r.GetCursor()) {
			return nil, im.Wrong("cursor", "is not one of this list")
		}
		after = im.Group(r.GetCursor())
	}
	all, next, err := c.Groups.All(ctx, r.GetQuery(), after, limit)
	if err != nil {
		return nil, err
	}
	out := &wire.ListGroupsResponse{}
	for i := range all {
		out.Groups = append(out.Groups, wireGroup(all[i]))
	}
	if next != "" {
		out.Next = string(next)[len("grp:"):]
	}
	return out, nil
}

func (c *Calls) inspectGroup(ctx context.Context, _ im.Actor, r *wire.InspectGroupRequest) (*wire.InspectGroupResponse, error) {
	conv, err := groupID(r.GetConversation())
	limit, errLimit := pageLimit(r.GetLimit(), group.DefaultPage, group.MaxPage)
	after, errCursor := cursor(r.GetCursor())
	if err := first(err, errLimit, errCursor); err != nil {
		return nil, err
	}
	g, members, next, err := c.Groups.Inspect(ctx, conv, limit, after)
	if err != nil {
		return nil, err
	}
	return &wire.InspectGroupResponse{Group: wireGroup(g), Members: wireMembers(members), Next: next}, nil
}

func (c *Calls) setGroupOwner(ctx context.Context, _ im.Actor, r *wire.SetGroupOwnerRequest) (*wire.SetGroupOwnerResponse, error) {
	conv, err := groupID(r.GetConversation())
	user, errUser := userID("user", r.GetUser())
	if err := first(err, errUser); err != nil {
		return nil, err
	}
	if err := c.mayLead(ctx, user); err != nil {
		return nil, err
	}
	if err := c.Groups.HandTo(ctx, conv, user); err != nil {
		return nil, err
	}
	return &wire.SetGroupOwnerResponse{}, nil
}

func (c *Calls) closeGroup(ctx context.Context, _ im.Actor, r *wire.CloseGroupRequest) (*wire.CloseGroupResponse, error) {
	conv, err := groupID(r.GetConversation())
	if err != nil {
		return nil, err
	}
	if err := c.Groups.End(ctx, conv); err != nil {
		return nil, err
	}
	return &wire.CloseGroupResponse{}, nil
}

func (c *Calls) reportMessage(ctx context.Context, actor im.Actor, r *wire.ReportMessageRequest) (*wire.ReportMessageResponse, error) {
	conv, err := im.ParseConversationID(r.GetConversation())
	if err == nil && r.GetSeq() == 0 {
		err = im.Wrong("seq", "is missing")
	}
	if err == nil && r.GetReason() == wire.ReportReason_REPORT_REASON_UNSPECIFIED {
		err = im.Wrong("reason", "is missing")
	}
	if err == nil && im.ReportReason(r.GetReason()) == im.ReportFilter {
		err = im.Wrong("reason", "is the server's own")
	}
	text := r.GetText()
	if err := first(err, knownEnum("reason", r.GetReason(), wire.ReportReason_name), im.CheckLines("text", &text, maxReportText)); err != nil {
		return nil, err
	}
	e, err := c.Lists.Message(ctx, actor, conv, r.GetSeq())
	if err != nil {
		return nil, err
	}
	if e.Sender == actor.User {
		return nil, im.Errorf(im.CodePermissionDenied, "this message is one's own: it may be taken back")
	}
	id, err := c.newID(nil)
	if err != nil {
		return nil, err
	}
	now := c.Now()
	report := im.Report{
		ID: id, Conversation: conv, Seq: r.GetSeq(), Author: e.Sender, Reporter: actor.User, Reason: im.ReportReason(r.GetReason()), Text: text,
		Said: entrycodec.Said(contract.Entry(&e).GetContent()), Created: now,
	}
	if err := c.Reports.PutReport(ctx, report, now.Add(-24*time.Hour), reportsPerDay); err != nil {
		return nil, err
	}
	return &wire.ReportMessageResponse{}, nil
}

func reportID(s string) (im.MessageID, error) {
	id, err := actID(s)
	if err != nil || id == (im.MessageID{}) {
		return id, im.Wrong("id", "must be that of a report")
	}
	return id, nil
}

func wireReport(r *im.Report) *wire.Report {
	return &wire.Report{
		Id: base64.RawURLEncoding.EncodeToString(r.ID[:]), Conversation: string(r.Conversation), Seq: r.Seq, Author: string(r.Author), Reporter: string(r.Reporter),
		Reason: wire.ReportReason(r.Reason), Text: r.Text, Said: r.Said, CreatedAtMs: contract.Millis(r.Created), State: wire.ReportState(r.State),
		DecidedBy: string(r.DecidedBy), DecidedAtMs: contract.Millis(r.Decided), Note: r.Note,
	}
}

func (c *Calls) listReports(ctx context.Context, _ im.Actor, r *wire.ListReportsRequest) (*wire.ListReportsResponse, error) {
	limit, err := pageLimit(r.GetLimit(), 50, 200)
	after, errCursor := actID(r.GetCursor())
	if err := first(err, errCursor, knownEnum("state", r.GetState(), wire.ReportState_name)); err != nil {
		return nil, err
	}
	author := im.UserID("")
	if r.GetAuthor() != "" {
		if author, err = userID("author", r.GetAuthor()); err != nil {
			return nil, err
		}
	}
	all, err := c.Reports.Reports(ctx, im.ReportQuery{After: after, Limit: limit + 1, State: im.ReportState(r.GetState()), Author: author})
	if err != nil {
		return nil, err
	}
	out := &wire.ListReportsResponse{}
	for i := range all[:min(len(all), limit)] {
		out.Reports = append(out.Reports, wireReport(&all[i]))
	}
	if len(all) > limit {
		out.Next = out.Reports[limit-1].Id
	}
	return out, nil
}

// getReport tells a report with what was said around the message, as who reported it reads
// it: nothing else of the conversation is told.
func (c *Calls) getReport(ctx context.Context, _ im.Actor, r *wire.GetReportRequest) (*wire.GetReportResponse, error) {
	id, err := reportID(r.GetId())
	if err == nil && r.GetAround() > maxContext {
		err = im.Wrong("around", "must be at most %d", maxContext)
	}
	if err != nil {
		return nil, err
	}
	report, err := c.Reports.Report(ctx, id)
	if err != nil {
		return nil, err
	}
	around := int(r.GetAround())
	if around == 0 {
		around = defaultContext
	}
	out := &wire.GetReportResponse{Report: wireReport(&report)}
	reader := im.Actor{User: report.Reporter}
	if reader.User == "" { // the server's own
		reader.User = report.Author
	}
	for _, q := range []im.PullQuery{
		{Conversation: report.Conversation, From: report.Seq, Backward: true, Limit: around + 1},
		{Conversation: report.Conversation, From: report.Seq + 1, Limit: around},
	} {
		got, err := c.Messages.Pull(ctx, reader, q)
		switch im.CodeOf(err) {
		case "":
			out.Entries = append(out.Entries, contract.Range(q.Conversation, &got).GetEntries()...)
		case im.CodeNotFound: // the reporter's account is gone, or what they read
		default:
			return nil, err
		}
	}
	return out, nil
}

func (c *Calls) decideReport(ctx context.Context, actor im.Actor, r *wire.DecideReportRequest) (*wire.DecideReportResponse, error) {
	id, err := reportID(r.GetId())
	if err == nil && r.GetState() == wire.ReportState_REPORT_STATE_UNSPECIFIED {
		err = im.Wrong("state", "is missing")
	}
	note := r.GetNote()
	if err := first(err, knownEnum("state", r.GetState(), wire.ReportState_name), im.CheckLines("note", &note, maxReportNote)); err != nil {
		return nil, err
	}
	if err := c.Reports.DecideReport(ctx, id, im.ReportState(r.GetState()), actor.User, note, c.Now()); err != nil {
		return nil, err
	}
	return &wire.DecideReportResponse{}, nil
}

func (c *Calls) takeBackMessage(ctx context.Context, _ im.Actor, r *wire.TakeBackMessageRequest) (*wire.TakeBackMessageResponse, error) {
	conv, err := im.ParseConversationID(r.GetConversation())
	if err == nil && conv.Kind() == im.KindMe {
		err = im.Wrong("conversation", "must be a dm or a group")
	}
	if err == nil && r.GetSeq() == 0 {
		err = im.Wrong("seq", "is missing")
	}
	if err != nil {
		return nil, err
	}
	if err := c.TakesBack.TakeBack(ctx, conv, r.GetSeq()); err != nil {
		return nil, err
	}
	return &wire.TakeBackMessageResponse{}, nil
}
