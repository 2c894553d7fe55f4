package api

import (
	"context"

	"github.com/skein-im/skein/internal/contract"
	"github.com/skein-im/skein/internal/group"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

func (c *Calls) dismissGroup(ctx context.Context, actor im.Actor, r *wire.DismissGroupRequest) (*wire.DismissGroupResponse, error) {
	conv, err := groupID(r.GetConversation())
	if err != nil {
		return nil, err
	}
	if err := c.Groups.Dismiss(ctx, actor, conv); err != nil {
		return nil, err
	}
	return &wire.DismissGroupResponse{}, nil
}

func (c *Calls) createInviteLink(ctx context.Context, actor im.Actor, r *wire.CreateInviteLinkRequest) (*wire.CreateInviteLinkResponse, error) {
	conv, err := groupID(r.GetConversation())
	until, errUntil := moment("expiresAtMs", r.GetExpiresAtMs())
	if err := first(err, errUntil); err != nil {
		return nil, err
	}
	l, err := c.Groups.CreateLink(ctx, actor, conv, until, int(r.GetMaxUses()), r.GetGuests())
	if err != nil {
		return nil, err
	}
	return &wire.CreateInviteLinkResponse{Link: wireLink(l)}, nil
}

func wireLink(l im.InviteLink) *wire.InviteLink {
	return &wire.InviteLink{
		Code: l.Code, Conversation: string(l.Conversation), Creator: string(l.Creator),
		CreatedAtMs: contract.Millis(l.Created), ExpiresAtMs: contract.Millis(l.Expires), MaxUses: uint32(l.MaxUses), Uses: uint32(l.Uses), Guests: l.Guests,
	}
}

func (c *Calls) listInviteLinks(ctx context.Context, actor im.Actor, r *wire.ListInviteLinksRequest) (*wire.ListInviteLinksResponse, error) {
	conv, err := groupID(r.GetConversation())
	limit, errLimit := pageLimit(r.GetLimit(), group.MaxLinks, group.MaxLinks)
	after, errCursor := cursor(r.GetCursor())
	if err := first(err, errLimit, errCursor); err != nil {
		return nil, err
	}
	links, next, err := c.Groups.ListLinks(ctx, actor, conv, limit, after)
	if err != nil {
		return nil, err
	}
	out := &wire.ListInviteLinksResponse{Links: make([]*wire.InviteLink, len(links)), Next: next}
	for i, l := range links {
		out.Links[i] = wireLink(l)
	}
	return out, nil
}

func (c *Calls) revokeInviteLink(ctx context.Context, actor im.Actor, r *wire.RevokeInviteLinkRequest) (*wire.RevokeInviteLinkResponse, error) {
	conv, err := groupID(r.GetConversation())
	if err != nil {
		return nil, err
	}
	if err := c.Groups.RevokeLink(ctx, actor, conv, r.GetCode()); err != nil {
		return nil, err
	}
	return &wire.RevokeInviteLinkResponse{}, nil
}

func (c *Calls) getInviteLink(ctx context.Context, actor im.Actor, r *wire.GetInviteLinkRequest) (*wire.GetInviteLinkResponse, error) {
	l, err := c.Groups.Look(ctx, actor, r.GetCode())
	if err != nil {
		return nil, err
	}
	g := &l.Group
	return &wire.GetInviteLinkResponse{
		Name: g.Name, Picture: g.Settings.Picture, Members: uint32(g.Members), Approval: g.Settings.Join == im.JoinApproval,
	}, nil
}

func (c *Calls) joinByLink(ctx context.Context, actor im.Actor, r *wire.JoinByLinkRequest) (*wire.JoinByLinkResponse, error) {
	if err := c.byLink(ctx, actor, r.GetCode()); err != nil {
		return nil, err
	}
	g, err := c.Groups.Join(ctx, actor, r.GetCode())
	if err != nil {
		return nil, err
	}
	return &wire.JoinByLinkResponse{Group: wireGroup(g)}, nil
}

func (c *Calls) requestToJoin(ctx context.Context, actor im.Actor, r *wire.RequestToJoinRequest) (*wire.RequestToJoinResponse, error) {
	if err := c.byLink(ctx, actor, r.GetCode()); err != nil {
		return nil, err
	}
	q, err := c.Groups.Request(ctx, actor, r.GetCode(), r.GetText())
	if err != nil {
		return nil, err
	}
	return &wire.RequestToJoinResponse{Conversation: string(q.Conversation), ExpiresAtMs: contract.Millis(q.Expires)}, nil
}

func (c *Calls) withdrawJoin(ctx context.Context, actor im.Actor, r *wire.WithdrawJoinRequest) (*wire.WithdrawJoinResponse, error) {
	conv, err := groupID(r.GetConversation())
	if err != nil {
		return nil, err
	}
	if err := c.Groups.Withdraw(ctx, actor, conv); err != nil {
		return nil, err
	}
	return &wire.WithdrawJoinResponse{}, nil
}

func (c *Calls) listJoinRequests(ctx context.Context, actor im.Actor, r *wire.ListJoinRequestsRequest) (*wire.ListJoinRequestsResponse, error) {
	conv, err := groupID(r.GetConversation())
	limit, errLimit := pageLimit(r.GetLimit(), group.DefaultPage, group.MaxRequests)
	after, errCursor := cursor(r.GetCursor())
	if err := first(err, errLimit, errCursor); err != nil {
		return nil, err
	}
	all, next, err := c.Groups.ListRequests(ctx, actor, conv, limit, after)
	if err != nil {
		return nil, err
	}
	out := &wire.ListJoinRequestsResponse{Requests: make([]*wire.JoinRequest, len(all)), Next: next}
	for i, q := range all {
		out.Requests[i] = &wire.JoinRequest{User: string(q.User), Text: q.Text, CreatedAtMs: contract.Millis(q.Created), ExpiresAtMs: contract.Millis(q.Expires)}
	}
	return out, nil
}

func (c *Calls) approveJoin(ctx context.Context, actor im.Actor, r *wire.ApproveJoinRequest) (*wire.ApproveJoinResponse, error) {
	conv, err := groupID(r.GetConversation())
	user, errUser := userID("user", r.GetUser())
	if err := first(err, errUser); err != nil {
		return nil, err
	}
	if err := c.Groups.Approve(ctx, actor, conv, user); err != nil {
		return nil, err
	}
	return &wire.ApproveJoinResponse{}, nil
}

func (c *Calls) refuseJoin(ctx context.Context, actor im.Actor, r *wire.RefuseJoinRequest) (*wire.RefuseJoinResponse, error) {
	conv, err := groupID(r.GetConversation())
	user, errUser := userID("user", r.GetUser())
	if err := first(err, errUser); err != nil {
		return nil, err
	}
	if err := c.Groups.RefuseRequest(ctx, actor, conv, user); err != nil {
		return nil, err
	}
	return &wire.RefuseJoinResponse{}, nil
}
