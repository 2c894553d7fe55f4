package api

import (
	"context"

	"github.com/skein-im/skein/internal/contract"
	"github.com/skein-im/skein/internal/group"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

func (c *Calls) createGroup(ctx context.Context, actor im.Actor, r *wire.CreateGroupRequest, k *keyed) (*wire.CreateGroupResponse, error) {
	if err := contract.CheckText("name", r.GetName(), 1, maxNameChars); err != nil {
		return nil, err
	}
	members, err := userIDs("members", r.GetMembers(), 0, maxMembers)
	if err != nil {
		return nil, err
	}
	if id := r.GetRequestId(); id != "" && !im.ValidID(id) {
		return nil, im.Wrong("requestId", "must match [A-Za-z0-9_-]{1,64}")
	}
	g, err := c.Groups.Create(ctx, actor, r.GetName(), members, k.requestID(r.GetRequestId()))
	if err != nil {
		return nil, err
	}
	return &wire.CreateGroupResponse{Group: wireGroup(g)}, nil
}

func (c *Calls) getGroup(ctx context.Context, actor im.Actor, r *wire.GetGroupRequest) (*wire.GetGroupResponse, error) {
	conv, err := groupID(r.GetConversation())
	if err != nil {
		return nil, err
	}
	g, err := c.Groups.Get(ctx, actor, conv)
	if err != nil {
		return nil, err
	}
	return &wire.GetGroupResponse{Group: wireGroup(g)}, nil
}

func (c *Calls) renameGroup(ctx context.Context, actor im.Actor, r *wire.RenameGroupRequest) (*wire.RenameGroupResponse, error) {
	conv, err := groupID(r.GetConversation())
	if err := first(err, contract.CheckText("name", r.GetName(), 1, maxNameChars)); err != nil {
		return nil, err
	}
	g, err := c.Groups.Rename(ctx, actor, conv, r.GetName())
	if err != nil {
		return nil, err
	}
	return &wire.RenameGroupResponse{Group: wireGroup(g)}, nil
}

func (c *Calls) listMembers(ctx context.Context, actor im.Actor, r *wire.ListMembersRequest) (*wire.ListMembersResponse, error) {
	conv, err := groupID(r.GetConversation())
	limit, errLimit := pageLimit(r.GetLimit(), 200, 1000)
	after, errCursor := cursor(r.GetCursor())
	if err := first(err, errLimit, errCursor); err != nil {
		return nil, err
	}
	members, next, err := c.Groups.List(ctx, actor, conv, limit, after)
	if err != nil {
		return nil, err
	}
	out := &wire.ListMembersResponse{Members: make([]*wire.Member, len(members)), Next: next}
	for i, m := range members {
		out.Members[i] = &wire.Member{
			User:         string(m.User),
			Role:         wire.Role(m.Role),
			MutedUntilMs: contract.Millis(m.MutedUntil),
			JoinedAtMs:   contract.Millis(m.Joined),
		}
	}
	return out, nil
}

func (c *Calls) addMembers(ctx context.Context, actor im.Actor, r *wire.AddMembersRequest) (*wire.AddMembersResponse, error) {
	conv, err := groupID(r.GetConversation())
	users, errUsers := userIDs("users", r.GetUsers(), 1, maxMembers)
	if err := first(err, errUsers); err != nil {
		return nil, err
	}
	added, err := c.Groups.Add(ctx, actor, conv, users)
	if err != nil {
		return nil, err
	}
	return &wire.AddMembersResponse{Added: contract.Strings(added)}, nil
}

func (c *Calls) removeMembers(ctx context.Context, actor im.Actor, r *wire.RemoveMembersRequest) (*wire.RemoveMembersResponse, error) {
	conv, err := groupID(r.GetConversation())
	users, errUsers := userIDs("users", r.GetUsers(), 1, maxMembers)
	if err := first(err, errUsers); err != nil {
		return nil, err
	}
	removed, err := c.Groups.Remove(ctx, actor, conv, users)
	if err != nil {
		return nil, err
	}
	return &wire.RemoveMembersResponse{Removed: contract.Strings(removed)}, nil
}

func (c *Calls) leaveGroup(ctx context.Context, actor im.Actor, r *wire.LeaveGroupRequest) (*wire.LeaveGroupResponse, error) {
	conv, err := groupID(r.GetConversation())
	if err != nil {
		return nil, err
	}
	if err := c.Groups.Leave(ctx, actor, conv); err != nil {
		return nil, err
	}
	return &wire.LeaveGroupResponse{}, nil
}

func (c *Calls) setRole(ctx context.Context, actor im.Actor, r *wire.SetRoleRequest) (*wire.SetRoleResponse, error) {
	conv, err := groupID(r.GetConversation())
	user, errUser := userID("user", r.GetUser())
	if err := first(err, errUser); err != nil {
		return nil, err
	}
	if r.GetRole() != wire.Role_ROLE_MEMBER && r.GetRole() != wire.Role_ROLE_ADMIN {
		return nil, im.Wrong("role", "must be ROLE_MEMBER or ROLE_ADMIN; TransferOwnership makes an owner")
	}
	if err := c.Groups.SetRole(ctx, actor, conv, user, im.Role(r.GetRole())); err != nil {
		return nil, err
	}
	return &wire.SetRoleResponse{}, nil
}

func (c *Calls) transferOwnership(ctx context.Context, actor im.Actor, r *wire.TransferOwnershipRequest) (*wire.TransferOwnershipResponse, error) {
	conv, err := groupID(r.GetConversation())
	user, errUser := userID("user", r.GetUser())
	if err := first(err, errUser); err != nil {
		return nil, err
	}
	if err := c.Groups.Transfer(ctx, actor, conv, user); err != nil {
		return nil, err
	}
	return &wire.TransferOwnershipResponse{}, nil
}

func (c *Calls) muteMember(ctx context.Context, actor im.Actor, r *wire.MuteMemberRequest) (*wire.MuteMemberResponse, error) {
	conv, err := groupID(r.GetConversation())
	user, errUser := userID("user", r.GetUser())
	until, errUntil := moment("untilMs", r.GetUntilMs())
	if err := first(err, errUser, errUntil); err != nil {
		return nil, err
	}
	if err := c.Groups.Mute(ctx, actor, conv, user, until); err != nil {
		return nil, err
	}
	return &wire.MuteMemberResponse{}, nil
}

func wireGroup(g group.Group) *wire.Group {
	return &wire.Group{
		Conversation: string(g.Conversation),
		Name:         g.Name,
		Owner:        string(g.Owner),
		Members:      uint32(g.Members),
		CreatedAtMs:  contract.Millis(g.Created),
		Role:         wire.Role(g.Role),
	}
}
