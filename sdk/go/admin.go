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

// SetDisabled has nobody come in as the user, or lets them in again.
func (a Admin) SetDisabled(ctx context.Context, user string, disabled bool) error {
	return a.call(ctx, adminService+"SetDisabled", &wire.SetDisabledRequest{User: user, Disabled: disabled}, &wire.SetDisabledResponse{})
}

// SetRole gives a user another role on the server. ErrPermissionDenied: also for the last
// owner.
func (a Admin) SetRole(ctx context.Context, user string, role wire.ServerRole) error {
	return a.call(ctx, adminService+"SetServerRole", &wire.SetServerRoleRequest{User: user, Role: role}, &wire.SetServerRoleResponse{})
}
