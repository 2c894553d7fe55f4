package skein

import (
	"context"
	"iter"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/skein-im/skein/wire"
)

const adminService = "skein.v1.AdminService/"

// Admin are the calls for who has a role on the server, and for an integrator's key. Who may
// call what: SPEC §3.18; otherwise ErrPermissionDenied.
type Admin struct {
	call func(ctx context.Context, method string, req, resp proto.Message) error
}

// Admin returns these calls as the user's, over the client's connection.
func (c *Client) Admin() Admin { return Admin{c.Call} }

// NewAdmin returns these calls over HTTP, with the admin key or the access token of a user
// with a role.
func NewAdmin(baseURL, token string) Admin {
	return Admin{func(ctx context.Context, method string, req, resp proto.Message) error {
		return Post(ctx, baseURL, method, token, req, resp)
	}}
}

// Me tells who the user is, what they may do to the server, and the server's version.
func (s Sessions) Me(ctx context.Context) (*wire.GetMeResponse, error) {
	var resp wire.GetMeResponse
	return &resp, s.c.Call(ctx, accountService+"GetMe", &wire.GetMeRequest{}, &resp)
}

// Users goes through the accounts that a query asks for (its Cursor and Limit aside), page
// by page, in the order of their ids. An error is the last pair.
func (a Admin) Users(ctx context.Context, query *wire.ListUsersRequest) iter.Seq2[*wire.Account, error] {
	return func(yield func(*wire.Account, error) bool) {
		req := &wire.ListUsersRequest{Limit: 500}
		if query != nil {
			req = proto.Clone(query).(*wire.ListUsersRequest)
			req.Limit = 500
		}
		for req.Cursor = ""; ; {
			var page wire.ListUsersResponse
			if err := a.call(ctx, adminService+"ListUsers", req, &page); err != nil {
				yield(nil, err)
				return
			}
			for _, u := range page.Accounts {
				if !yield(u, nil) {
					return
				}
			}
			if req.Cursor = page.Next; req.Cursor == "" {
				return
			}
		}
	}
}

// AuditLog goes through the lines of the audit log that a query asks for (its Cursor and
// Limit aside), page by page. An error is the last pair.
func (a Admin) AuditLog(ctx context.Context, query *wire.ListAuditLogRequest) iter.Seq2[*wire.AuditEntry, error] {
	return func(yield func(*wire.AuditEntry, error) bool) {
		req := &wire.ListAuditLogRequest{}
		if query != nil {
			req = proto.Clone(query).(*wire.ListAuditLogRequest)
		}
		req.Limit = 1000
		for req.Cursor = ""; ; {
			var page wire.ListAuditLogResponse
			if err := a.call(ctx, adminService+"ListAuditLog", req, &page); err != nil {
				yield(nil, err)
				return
			}
			for _, e := range page.Entries {
				if !yield(e, nil) {
					return
				}
			}
			if req.Cursor = page.Next; req.Cursor == "" {
				return
			}
		}
	}
}

// Ban has nobody come in as the user until a time, the zero time: for ever, for a reason
// that they are told. Their sessions end at once, and how many is told.
func (a Admin) Ban(ctx context.Context, user string, until time.Time, reason string) (sessions int, err error) {
	req := &wire.BanUserRequest{User: user, Reason: reason}
	if !until.IsZero() {
		req.UntilMs = until.UnixMilli()
	}
	var resp wire.BanUserResponse
	err = a.call(ctx, adminService+"BanUser", req, &resp)
	return int(resp.Sessions), err
}

// Unban ends a ban.
func (a Admin) Unban(ctx context.Context, user string) error {
	return a.call(ctx, adminService+"UnbanUser", &wire.UnbanUserRequest{User: user}, &wire.UnbanUserResponse{})
}

// Reports returns a page of what members reported, the newest first, and the cursor of the
// next one.
func (a Admin) Reports(ctx context.Context, query *wire.ListReportsRequest) (reports []*wire.Report, next string, err error) {
	var resp wire.ListReportsResponse
	err = a.call(ctx, adminService+"ListReports", query, &resp)
	return resp.Reports, resp.Next, err
}

// Report returns a report, with so many entries before and after the message.
func (a Admin) Report(ctx context.Context, id string, around int) (*wire.GetReportResponse, error) {
	var resp wire.GetReportResponse
	return &resp, a.call(ctx, adminService+"GetReport", &wire.GetReportRequest{Id: id, Around: uint32(around)}, &resp)
}

// Decide says what became of a report.
func (a Admin) Decide(ctx context.Context, id string, state wire.ReportState, note string) error {
	return a.call(ctx, adminService+"DecideReport", &wire.DecideReportRequest{Id: id, State: state, Note: note}, &wire.DecideReportResponse{})
}

// TakeBack takes back a message, whoever wrote it.
func (a Admin) TakeBack(ctx context.Context, conversation string, seq uint64) error {
	return a.call(ctx, adminService+"TakeBackMessage", &wire.TakeBackMessageRequest{Conversation: conversation, Seq: seq}, &wire.TakeBackMessageResponse{})
}

// SetGroupOwner makes a user the owner of a group, adding them if need be.
func (a Admin) SetGroupOwner(ctx context.Context, conversation, user string) error {
	return a.call(ctx, adminService+"SetGroupOwner", &wire.SetGroupOwnerRequest{Conversation: conversation, User: user}, &wire.SetGroupOwnerResponse{})
}

// CloseGroup dismisses a group, as its owner would.
func (a Admin) CloseGroup(ctx context.Context, conversation string) error {
	return a.call(ctx, adminService+"CloseGroup", &wire.CloseGroupRequest{Conversation: conversation}, &wire.CloseGroupResponse{})
}

// SetSettings changes what the server tells everybody of itself, and who may register.
func (a Admin) SetSettings(ctx context.Context, change *wire.SetServerSettingsRequest) (*wire.ServerInfo, error) {
	var resp wire.SetServerSettingsResponse
	err := a.call(ctx, adminService+"SetServerSettings", change, &resp)
	return resp.Info, err
}

// ServerInfo tells what a server tells everybody of itself; it needs no token.
func ServerInfo(ctx context.Context, baseURL string) (*wire.ServerInfo, error) {
	var resp wire.GetServerInfoResponse
	err := Post(ctx, baseURL, accountService+"GetServerInfo", "", &wire.GetServerInfoRequest{}, &resp)
	return resp.Info, err
}

// SetDisabled has nobody come in as the user, or lets them in again.
func (a Admin) SetDisabled(ctx context.Context, user string, disabled bool) error {
	return a.call(ctx, adminService+"SetDisabled", &wire.SetDisabledRequest{User: user, Disabled: disabled}, &wire.SetDisabledResponse{})
}

// SetRole gives a user another role on the server. ErrPermissionDenied: also for the last
// owner.
func (a Admin) SetRole(ctx context.Context, user string, role wire.ServerRole) error {
	return a.call(ctx, adminService+"SetServerRole", &wire.SetServerRoleRequest{User: user, Role: role}, &wire.SetServerRoleResponse{})
}

// Report tells moderators of the message seq, which somebody else wrote, once. Its author is
// told nothing. SPEC §3.22.
func (v *Conversation) Report(ctx context.Context, seq uint64, reason wire.ReportReason, text string) error {
	req := &wire.ReportMessageRequest{Conversation: v.id, Seq: seq, Reason: reason, Text: text}
	return v.c.Call(ctx, "skein.v1.MessageService/ReportMessage", req, &wire.ReportMessageResponse{})
}
