package api

import (
	"context"

	"github.com/skein-im/skein/internal/contract"
	"github.com/skein-im/skein/internal/entrycodec"
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
	g, invited, err := c.Groups.CreateNew(ctx, actor, group.NewGroup{Name: r.GetName(), Members: members, RequestID: k.requestID(r.GetRequestId())})
	if err != nil {
		return nil, err
	}
	return &wire.CreateGroupResponse{Group: wireGroup(g), Invited: contract.Strings(invited)}, nil
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

func (c *Calls) updateGroup(ctx context.Context, actor im.Actor, r *wire.UpdateGroupRequest) (*wire.UpdateGroupResponse, error) {
	conv, err := groupID(r.GetConversation())
	change, errChange := groupChange(&wire.GroupChange{
		Picture: r.Picture, Description: r.Description, Announcement: r.Announcement, Extra: r.Extra,
		WhoMayAdd: r.WhoMayAdd, WhoMayPost: r.WhoMayPost, WhoMayMentionAll: r.WhoMayMentionAll, WhoMayPin: r.WhoMayPin,
		Join: r.Join, History: r.History, MutedAll: r.MutedAll, SlowModeS: r.SlowModeS,
	})
	if err := first(err, errChange); err != nil {
		return nil, err
	}
	g, err := c.Groups.Update(ctx, actor, conv, change)
	if err != nil {
		return nil, err
	}
	return &wire.UpdateGroupResponse{Group: wireGroup(g)}, nil
}

// groupChange refuses the enum values that this server does not know; the rest is
// checked where it is changed.
func groupChange(w *wire.GroupChange) (*im.GroupChange, error) {
	power := func(field string, p wire.GroupPower) error { return knownEnum(field, p, wire.GroupPower_name) }
	err := first(power("whoMayAdd", w.GetWhoMayAdd()), power("whoMayPost", w.GetWhoMayPost()), power("whoMayMentionAll", w.GetWhoMayMentionAll()),
		power("whoMayPin", w.GetWhoMayPin()),
		knownEnum("join", w.GetJoin(), wire.JoinMode_name), knownEnum("history", w.GetHistory(), wire.GroupHistory_name))
	return entrycodec.GroupChange(w), err
}

func knownEnum[E ~int32](field string, value E, names map[int32]string) error {
	if _, ok := names[int32(value)]; !ok {
		return im.Wrong(field, "is not known")
	}
	return nil
}

func (c *Calls) createGroupFor(ctx context.Context, _ im.Actor, r *wire.CreateGroupForRequest, k *keyed) (*wire.CreateGroupForResponse, error) {
	if !im.ValidID(r.GetId()) {
		return nil, im.Wrong("id", "must match [A-Za-z0-9_-]{1,64}")
	}
	owner, err := userID("owner", r.GetOwner())
	members, errMembers := userIDs("members", r.GetMembers(), 0, maxMembers)
	settings, errSettings := groupChange(r.GetSettings())
	if err := first(err, contract.CheckText("name", r.GetName(), 1, maxNameChars), errMembers, im.In("settings", errSettings)); err != nil {
		return nil, err
	}
	g, err := c.Groups.CreateFor(ctx, owner, group.NewGroup{
		Conversation: im.Group(r.GetId()), Name: r.GetName(), Members: members, RequestID: k.requestID(""), Settings: settings,
	})
	if err != nil {
		return nil, err
	}
	return &wire.CreateGroupForResponse{Group: wireGroup(g)}, nil
}

func (c *Calls) listMembers(ctx context.Context, actor im.Actor, r *wire.ListMembersRequest) (*wire.ListMembersResponse, error) {
	conv, err := groupID(r.GetConversation())
	limit, errLimit := pageLimit(r.GetLimit(), 200, 1000)
	after, errCursor := cursor(r.GetCursor())
	if err := first(err, errLimit, errCursor, knownEnum("role", r.GetRole(), wire.Role_name)); err != nil {
		return nil, err
	}
	members, next, err := c.Groups.List(ctx, actor, conv, im.Role(r.GetRole()), r.GetQuery(), limit, after)
	if err != nil {
		return nil, err
	}
	return &wire.ListMembersResponse{Members: wireMembers(members), Next: next}, nil
}

func wireMembers(members []group.Member) []*wire.Member {
	out := make([]*wire.Member, len(members))
	for i, m := range members {
		out[i] = &wire.Member{
			User:         string(m.User),
			Role:         wire.Role(m.Role),
			MutedUntilMs: contract.Millis(m.MutedUntil),
			JoinedAtMs:   contract.Millis(m.Joined),
			Nickname:     m.Nickname,
		}
	}
	return out
}

func (c *Calls) addMembers(ctx context.Context, actor im.Actor, r *wire.AddMembersRequest) (*wire.AddMembersResponse, error) {
	conv, err := groupID(r.GetConversation())
	users, errUsers := userIDs("users", r.GetUsers(), 1, maxMembers)
	if err := first(err, errUsers); err != nil {
		return nil, err
	}
	added, invited, err := c.Groups.Add(ctx, actor, conv, users)
	if err != nil {
		return nil, err
	}
	return &wire.AddMembersResponse{Added: contract.Strings(added), Invited: contract.Strings(invited)}, nil
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

func (c *Calls) setNickname(ctx context.Context, actor im.Actor, r *wire.SetNicknameRequest) (*wire.SetNicknameResponse, error) {
	conv, err := groupID(r.GetConversation())
	user, errUser := im.UserID(""), error(nil)
	if r.GetUser() != "" {
		user, errUser = userID("user", r.GetUser())
	}
	if err := first(err, errUser); err != nil {
		return nil, err
	}
	if err := c.Groups.Nickname(ctx, actor, conv, user, r.GetNickname()); err != nil {
		return nil, err
	}
	return &wire.SetNicknameResponse{}, nil
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
	if r.GetRole() == wire.Role_ROLE_ADMIN {
		if err := c.mayLead(ctx, user); err != nil {
			return nil, err
		}
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
	if err := c.mayLead(ctx, user); err != nil {
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

func (c *Calls) banMember(ctx context.Context, actor im.Actor, r *wire.BanMemberRequest) (*wire.BanMemberResponse, error) {
	conv, err := groupID(r.GetConversation())
	user, errUser := userID("user", r.GetUser())
	until, errUntil := moment("untilMs", r.GetUntilMs())
	if err := first(err, errUser, errUntil); err != nil {
		return nil, err
	}
	if err := c.Groups.Ban(ctx, actor, conv, user, r.GetReason(), until); err != nil {
		return nil, err
	}
	return &wire.BanMemberResponse{}, nil
}

func (c *Calls) unbanMember(ctx context.Context, actor im.Actor, r *wire.UnbanMemberRequest) (*wire.UnbanMemberResponse, error) {
	conv, err := groupID(r.GetConversation())
	user, errUser := userID("user", r.GetUser())
	if err := first(err, errUser); err != nil {
		return nil, err
	}
	if err := c.Groups.Unban(ctx, actor, conv, user); err != nil {
		return nil, err
	}
	return &wire.UnbanMemberResponse{}, nil
}

func (c *Calls) listBans(ctx context.Context, actor im.Actor, r *wire.ListBansRequest) (*wire.ListBansResponse, error) {
	conv, err := groupID(r.GetConversation())
	limit, errLimit := pageLimit(r.GetLimit(), group.DefaultPage, group.MaxPage)
	after, errCursor := cursor(r.GetCursor())
	if err := first(err, errLimit, errCursor); err != nil {
		return nil, err
	}
	bans, next, err := c.Groups.ListBans(ctx, actor, conv, limit, after)
	if err != nil {
		return nil, err
	}
	out := &wire.ListBansResponse{Bans: make([]*wire.Ban, len(bans)), Next: next}
	for i, b := range bans {
		out.Bans[i] = &wire.Ban{User: string(b.User), By: string(b.By), Reason: b.Reason, CreatedAtMs: contract.Millis(b.Created), UntilMs: contract.Millis(b.Until)}
	}
	return out, nil
}

func (c *Calls) listInvitations(ctx context.Context, actor im.Actor, r *wire.ListInvitationsRequest) (*wire.ListInvitationsResponse, error) {
	limit, err := pageLimit(r.GetLimit(), group.DefaultInvitations, group.MaxInvitations)
	after, errCursor := cursor(r.GetCursor())
	if err := first(err, errCursor); err != nil {
		return nil, err
	}
	list, next, err := c.Groups.Invitations(ctx, actor, limit, after)
	if err != nil {
		return nil, err
	}
	out := &wire.ListInvitationsResponse{Invitations: make([]*wire.Invitation, len(list)), Next: next}
	for i, inv := range list {
		out.Invitations[i] = &wire.Invitation{
			Conversation: string(inv.Conversation), Name: inv.Group.Name, Picture: inv.Group.Settings.Picture, Members: uint32(inv.Group.Members),
			Inviter: string(inv.Inviter), CreatedAtMs: contract.Millis(inv.Created), ExpiresAtMs: contract.Millis(inv.Expires),
		}
	}
	return out, nil
}

func (c *Calls) acceptInvitation(ctx context.Context, actor im.Actor, r *wire.AcceptInvitationRequest) (*wire.AcceptInvitationResponse, error) {
	conv, err := groupID(r.GetConversation())
	if err != nil {
		return nil, err
	}
	g, err := c.Groups.Accept(ctx, actor, conv)
	if err != nil {
		return nil, err
	}
	return &wire.AcceptInvitationResponse{Group: wireGroup(g)}, nil
}

func (c *Calls) refuseInvitation(ctx context.Context, actor im.Actor, r *wire.RefuseInvitationRequest) (*wire.RefuseInvitationResponse, error) {
	conv, err := groupID(r.GetConversation())
	if err != nil {
		return nil, err
	}
	if err := c.Groups.Refuse(ctx, actor, conv); err != nil {
		return nil, err
	}
	return &wire.RefuseInvitationResponse{}, nil
}

func wireGroup(g group.Group) *wire.Group {
	return &wire.Group{
		Conversation: string(g.Conversation),
		Name:         g.Name,
		Owner:        string(g.Owner),
		Members:      uint32(g.Members),
		CreatedAtMs:  contract.Millis(g.Created),
		Role:         wire.Role(g.Role),

		Picture: g.Settings.Picture, Description: g.Settings.Description, Announcement: g.Settings.Announcement, Extra: g.Settings.Extra,
		WhoMayAdd: wire.GroupPower(g.Settings.Add), WhoMayPost: wire.GroupPower(g.Settings.Post), WhoMayMentionAll: wire.GroupPower(g.Settings.MentionAll),
		WhoMayPin: wire.GroupPower(g.Settings.Pin),
		Join:      wire.JoinMode(g.Settings.Join), History: wire.GroupHistory(g.Settings.History), MutedAll: g.Settings.MutedAll, SlowModeS: g.Settings.SlowMode,
	}
}
