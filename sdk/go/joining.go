package skein

import (
	"context"
	"time"

	"github.com/skein-im/skein/wire"
)

// CreateLink makes an invite link, until a time (the zero time: for ever) and for so
// many uses (0: any number; at most 1,000,000). Whoever has its code joins, or asks
// to, as the group's setting `join` says; admins and the owner make links.
func (g Groups) CreateLink(ctx context.Context, conversation string, until time.Time, uses uint32) (*wire.InviteLink, error) {
	return g.createLink(ctx, &wire.CreateInviteLinkRequest{Conversation: conversation, MaxUses: uses}, until)
}

// CreateGuestLink is CreateLink of a link by which guests may come as well. SPEC §3.14.
func (g Groups) CreateGuestLink(ctx context.Context, conversation string, until time.Time, uses uint32) (*wire.InviteLink, error) {
	return g.createLink(ctx, &wire.CreateInviteLinkRequest{Conversation: conversation, MaxUses: uses, Guests: true}, until)
}

func (g Groups) createLink(ctx context.Context, req *wire.CreateInviteLinkRequest, until time.Time) (*wire.InviteLink, error) {
	if !until.IsZero() {
		req.ExpiresAtMs = until.UnixMilli()
	}
	var resp wire.CreateInviteLinkResponse
	err := g.c.Call(ctx, groupService+"CreateInviteLink", req, &resp)
	return resp.Link, err
}

// Links returns the group's links (at most 100) to an admin, by code.
func (g Groups) Links(ctx context.Context, conversation string) ([]*wire.InviteLink, error) {
	var all []*wire.InviteLink
	req := &wire.ListInviteLinksRequest{Conversation: conversation}
	for {
		var resp wire.ListInviteLinksResponse
		if err := g.c.Call(ctx, groupService+"ListInviteLinks", req, &resp); err != nil {
			return nil, err
		}
		all = append(all, resp.Links...)
		if resp.Next == "" || resp.Next == req.Cursor {
			return all, nil
		}
		req.Cursor = resp.Next
	}
}

// RevokeLink ends a link.
func (g Groups) RevokeLink(ctx context.Context, conversation, code string) error {
	return g.c.Call(ctx, groupService+"RevokeInviteLink", &wire.RevokeInviteLinkRequest{Conversation: conversation, Code: code}, &wire.RevokeInviteLinkResponse{})
}

// Look returns what whoever has a link may know of its group, and whether they ask
// (Ask) or join (Join).
func (g Groups) Look(ctx context.Context, code string) (*wire.GetInviteLinkResponse, error) {
	var resp wire.GetInviteLinkResponse
	if err := g.c.Call(ctx, groupService+"GetInviteLink", &wire.GetInviteLinkRequest{Code: code}, &resp); err != nil {
		return nil, err
	}
	return &resp, nil
}

// Join makes the user a member by a link.
func (g Groups) Join(ctx context.Context, code string) (*wire.Group, error) {
	var resp wire.JoinByLinkResponse
	err := g.c.Call(ctx, groupService+"JoinByLink", &wire.JoinByLinkRequest{Code: code}, &resp)
	return resp.Group, err
}

// Ask asks the admins of a link's group to let the user in, with a text of at most 200
// characters, and returns the group's conversation, for Withdraw. How it ends comes as
// a JoinRequestEvent, or as the user's being added.
func (g Groups) Ask(ctx context.Context, code, text string) (conversation string, err error) {
	var resp wire.RequestToJoinResponse
	err = g.c.Call(ctx, groupService+"RequestToJoin", &wire.RequestToJoinRequest{Code: code, Text: text}, &resp)
	return resp.Conversation, err
}

// Withdraw ends what the user asked for.
func (g Groups) Withdraw(ctx context.Context, conversation string) error {
	return g.c.Call(ctx, groupService+"WithdrawJoin", &wire.WithdrawJoinRequest{Conversation: conversation}, &wire.WithdrawJoinResponse{})
}

// Requests returns who asks to be a member (at most 500) to an admin, by user id.
func (g Groups) Requests(ctx context.Context, conversation string) ([]*wire.JoinRequest, error) {
	var all []*wire.JoinRequest
	req := &wire.ListJoinRequestsRequest{Conversation: conversation, Limit: 500}
	for {
		var resp wire.ListJoinRequestsResponse
		if err := g.c.Call(ctx, groupService+"ListJoinRequests", req, &resp); err != nil {
			return nil, err
		}
		all = append(all, resp.Requests...)
		if resp.Next == "" || resp.Next == req.Cursor {
			return all, nil
		}
		req.Cursor = resp.Next
	}
}

// Approve makes who asks a member.
func (g Groups) Approve(ctx context.Context, conversation, user string) error {
	return g.c.Call(ctx, groupService+"ApproveJoin", &wire.ApproveJoinRequest{Conversation: conversation, User: user}, &wire.ApproveJoinResponse{})
}

// RefuseJoin ends what somebody asked for; they are told, and may ask again.
func (g Groups) RefuseJoin(ctx context.Context, conversation, user string) error {
	return g.c.Call(ctx, groupService+"RefuseJoin", &wire.RefuseJoinRequest{Conversation: conversation, User: user}, &wire.RefuseJoinResponse{})
}
