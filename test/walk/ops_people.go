package main

import (
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/skein-im/skein/wire"
)

const maxGroups = 10

func (w *walk) opCreate(u *user) *op {
	n := 0
	for _, c := range w.model.convs {
		if c.group != nil {
			n++
		}
	}
	if n >= maxGroups {
		return nil
	}
	var members []string
	for _, v := range w.users {
		if v != u && w.rng.IntN(3) > 0 {
			members = append(members, v.id)
		}
	}
	name := w.word()
	var resp wire.CreateGroupResponse
	return &op{
		text: fmt.Sprintf("%s makes the group %s of %v", u.id, name, members),
		do:   w.either(u, "GroupService/CreateGroup", &wire.CreateGroupRequest{Name: name, Members: members, RequestId: name}, &resp),
		done: func() error { w.model.created(resp.Group.Conversation, u.id, name, members); return nil },
	}
}

func (w *walk) opAdd(u *user) *op {
	c := w.groupOf(u)
	if c == nil {
		return nil
	}
	users := []string{w.users[w.rng.IntN(len(w.users))].id}
	if v := w.users[w.rng.IntN(len(w.users))].id; v != users[0] {
		users = append(users, v)
	}
	return &op{
		text: fmt.Sprintf("%s adds %v to %s", u.id, users, c.id), want: c.group.mayAdd(u.id),
		do: w.either(u, "GroupService/AddMembers", &wire.AddMembersRequest{Conversation: c.id, Users: users}, &wire.AddMembersResponse{}),
		done: func() error {
			added, ask := w.model.split(c, u.id, users)
			w.model.invited(c, u.id, ask)
			w.model.joined(c, u.id, added)
			return nil
		},
	}
}

func (w *walk) opRemove(u *user) *op {
	c := w.groupOf(u)
	if c == nil {
		return nil
	}
	v := w.other(u)
	o := &op{text: fmt.Sprintf("%s removes %s from %s", u.id, v, c.id), want: c.group.power(u.id, wire.Role_ROLE_ADMIN, v)}
	o.do = w.either(u, "GroupService/RemoveMembers", &wire.RemoveMembersRequest{Conversation: c.id, Users: []string{v}}, &wire.RemoveMembersResponse{})
	o.done = func() error {
		if c.group.members[v] != nil {
			w.model.gone(c, u.id, wire.EventType_EVENT_TYPE_MEMBER_REMOVED, []string{v}, "")
		}
		return nil
	}
	return o
}

func (w *walk) opLeave(u *user) *op {
	c := w.groupOf(u)
	if c == nil {
		return nil
	}
	o := &op{text: fmt.Sprintf("%s leaves %s", u.id, c.id), want: c.group.power(u.id, wire.Role_ROLE_MEMBER, "")}
	if me := c.group.members[u.id]; me != nil && me.role == wire.Role_ROLE_OWNER {
		o.want = denied
	}
	o.do = w.either(u, "GroupService/LeaveGroup", &wire.LeaveGroupRequest{Conversation: c.id}, &wire.LeaveGroupResponse{})
	o.done = func() error {
		w.model.gone(c, u.id, wire.EventType_EVENT_TYPE_MEMBER_LEFT, []string{u.id}, "")
		return nil
	}
	return o
}

func (w *walk) opBan(u *user) *op {
	c := w.groupOf(u)
	if c == nil {
		return nil
	}
	v, reason := w.other(u), w.word()
	o := &op{text: fmt.Sprintf("%s bans %s from %s", u.id, v, c.id), want: c.group.power(u.id, wire.Role_ROLE_ADMIN, v)}
	o.do = w.either(u, "GroupService/BanMember", &wire.BanMemberRequest{Conversation: c.id, User: v, Reason: reason}, &wire.BanMemberResponse{})
	o.done = func() error {
		if c.group.members[v] != nil {
			w.model.gone(c, u.id, wire.EventType_EVENT_TYPE_MEMBER_REMOVED, []string{v}, reason)
		} else {
			w.model.event(c, u.id, wire.EventType_EVENT_TYPE_MEMBER_BANNED, []string{v}, reason, "")
		}
		c.group.bans[v] = reason
		delete(c.group.invited, v)
		return nil
	}
	return o
}

func (w *walk) opUnban(u *user) *op {
	c := w.groupOf(u)
	if c == nil {
		return nil
	}
	v := w.other(u)
	o := &op{text: fmt.Sprintf("%s ends the ban of %s from %s", u.id, v, c.id), want: c.group.power(u.id, wire.Role_ROLE_ADMIN, "")}
	if o.want == okay && c.group.bans[v] == "" {
		o.want = notFound
	}
	o.do = w.either(u, "GroupService/UnbanMember", &wire.UnbanMemberRequest{Conversation: c.id, User: v}, &wire.UnbanMemberResponse{})
	o.done = func() error {
		delete(c.group.bans, v)
		w.model.event(c, u.id, wire.EventType_EVENT_TYPE_MEMBER_UNBANNED, []string{v}, "", "")
		return nil
	}
	return o
}

func (w *walk) opRole(u *user) *op {
	c := w.groupOf(u)
	if c == nil {
		return nil
	}
	v, g := w.other(u), c.group
	want := g.power(u.id, wire.Role_ROLE_OWNER, v)
	if want == okay && g.members[v] == nil {
		want = notFound
	}
	if w.rng.IntN(5) == 0 {
		o := &op{text: fmt.Sprintf("%s hands %s over to %s", u.id, c.id, v), want: want}
		o.do = w.either(u, "GroupService/TransferOwnership", &wire.TransferOwnershipRequest{Conversation: c.id, User: v}, &wire.TransferOwnershipResponse{})
		o.done = func() error {
			g.members[u.id].role, g.members[v].role = wire.Role_ROLE_ADMIN, wire.Role_ROLE_OWNER
			w.model.event(c, u.id, wire.EventType_EVENT_TYPE_OWNER_CHANGED, []string{v}, "", "")
			return nil
		}
		return o
	}
	role := wire.Role_ROLE_MEMBER + wire.Role(w.rng.IntN(2))
	o := &op{text: fmt.Sprintf("%s makes %s %v in %s", u.id, v, role, c.id), want: want}
	o.do = w.either(u, "GroupService/SetRole", &wire.SetRoleRequest{Conversation: c.id, User: v, Role: role}, &wire.SetRoleResponse{})
	o.done = func() error {
		if g.members[v].role != role {
			g.members[v].role = role
			w.model.event(c, u.id, wire.EventType_EVENT_TYPE_ROLE_CHANGED, []string{v}, "", "")
		}
		return nil
	}
	return o
}

func (w *walk) opMute(u *user) *op {
	c := w.groupOf(u)
	if c == nil {
		return nil
	}
	v, on, g := w.other(u), w.rng.IntN(3) == 0, c.group
	until := int64(0)
	if on {
		until = 4_000_000_000_000
	}
	o := &op{text: fmt.Sprintf("%s mutes %s in %s: %t", u.id, v, c.id, on), want: g.power(u.id, wire.Role_ROLE_ADMIN, v)}
	if o.want == okay && g.members[v] == nil {
		o.want = notFound
	}
	o.do = w.either(u, "GroupService/MuteMember", &wire.MuteMemberRequest{Conversation: c.id, User: v, UntilMs: until}, &wire.MuteMemberResponse{})
	o.done = func() error {
		if g.members[v].muted != on {
			g.members[v].muted = on
			w.model.event(c, u.id, wire.EventType_EVENT_TYPE_MEMBER_MUTED, []string{v}, "", "")
		}
		return nil
	}
	return o
}

func (w *walk) opSettings(u *user) *op {
	c := w.groupOf(u)
	if c == nil {
		return nil
	}
	g, want := c.group, c.group.power(u.id, wire.Role_ROLE_ADMIN, "")
	if w.rng.IntN(3) == 0 {
		name := w.word()
		return &op{
			text: fmt.Sprintf("%s renames %s to %s", u.id, c.id, name), want: want,
			do: w.either(u, "GroupService/RenameGroup", &wire.RenameGroupRequest{Conversation: c.id, Name: name}, &wire.RenameGroupResponse{}),
			done: func() error {
				g.name = name
				w.model.event(c, u.id, wire.EventType_EVENT_TYPE_GROUP_RENAMED, nil, name, "")
				return nil
			},
		}
	}
	req := &wire.UpdateGroupRequest{Conversation: c.id}
	next := *g
	switch w.rng.IntN(5) {
	case 0:
		next.description = w.word()
		req.Description = &next.description
	case 1:
		next.addAll = w.rng.IntN(2) == 0
		req.WhoMayAdd = power(next.addAll)
	case 2:
		next.postAdmins = w.rng.IntN(5) == 0
		req.WhoMayPost = power(!next.postAdmins)
	case 3:
		next.mutedAll = w.rng.IntN(5) == 0
		req.MutedAll = &next.mutedAll
	default:
		next.shareAll = w.rng.IntN(2) == 0
		req.History = wire.GroupHistory_GROUP_HISTORY_FROM_JOINING
		if next.shareAll {
			req.History = wire.GroupHistory_GROUP_HISTORY_ALL
		}
	}
	return &op{
		text: fmt.Sprintf("%s sets %v", u.id, req), want: want,
		do: w.either(u, "GroupService/UpdateGroup", req, &wire.UpdateGroupResponse{}),
		done: func() error {
			same := g.description == next.description && g.addAll == next.addAll && g.postAdmins == next.postAdmins && g.mutedAll == next.mutedAll && g.shareAll == next.shareAll
			if !same {
				*g = next
				w.model.event(c, u.id, wire.EventType_EVENT_TYPE_GROUP_CHANGED, nil, "", "")
			}
			return nil
		},
	}
}

func power(all bool) wire.GroupPower {
	if all {
		return wire.GroupPower_GROUP_POWER_ALL
	}
	return wire.GroupPower_GROUP_POWER_ADMINS
}

// opAnswer answers an invitation, or what was none.
func (w *walk) opAnswer(u *user) *op {
	var open []*conversation
	for _, id := range w.model.order {
		if c := w.model.convs[id]; c.group != nil && (c.group.invited[u.id] != "" || w.rng.IntN(30) == 0) {
			open = append(open, c)
		}
	}
	if len(open) == 0 {
		return nil
	}
	c := open[w.rng.IntN(len(open))]
	g := c.group
	by := g.invited[u.id]
	if w.rng.IntN(3) == 0 {
		o := &op{text: fmt.Sprintf("%s refuses to join %s", u.id, c.id)}
		if by == "" {
			o.want = notFound
		}
		o.do = w.either(u, "GroupService/RefuseInvitation", &wire.RefuseInvitationRequest{Conversation: c.id}, &wire.RefuseInvitationResponse{})
		o.done = func() error {
			delete(g.invited, u.id)
			w.model.event(w.model.feed(u.id), u.id, wire.EventType_EVENT_TYPE_GROUP_INVITATION_REFUSED, []string{u.id}, "", c.id)
			return nil
		}
		return o
	}
	o := &op{text: fmt.Sprintf("%s accepts to join %s", u.id, c.id)}
	switch {
	case g.members[u.id] != nil:
	case by == "":
		o.want = notFound
	case g.mayAdd(by) != okay:
		o.want = denied
	}
	o.do = w.either(u, "GroupService/AcceptInvitation", &wire.AcceptInvitationRequest{Conversation: c.id}, &wire.AcceptInvitationResponse{})
	o.done = func() error {
		if g.members[u.id] == nil {
			w.model.joined(c, u.id, []string{u.id})
		}
		return nil
	}
	return o
}

func (w *walk) opContact(u *user) *op {
	v := w.other(u)
	m := w.model
	mine, _ := m.sides(u.id, v)
	o := &op{text: fmt.Sprintf("%s and %s: ", u.id, v)}
	call := func(what string, req, resp proto.Message) *op {
		o.text += what
		o.do = w.either(u, "ContactService/"+what, req, resp)
		return o
	}
	switch w.rng.IntN(8) {
	case 0, 1:
		text := w.word()
		switch _, theirs := m.sides(u.id, v); {
		case mine.state == friend:
		case mine.blocked:
			o.want = denied
		case mine.state == stranger && theirs.state != asked && m.coolsDown(mine):
			o.want = limited
		}
		o.done = func() error { w.requested(u.id, v, text); return nil }
		return call("RequestContact", &wire.RequestContactRequest{User: v, Message: text}, &wire.RequestContactResponse{})
	case 2, 3:
		if mine.state != friend && mine.state != asksMe {
			o.want = notFound
		}
		o.done = func() error {
			if mine.state != friend {
				m.befriend(u.id, v)
			}
			return nil
		}
		return call("AcceptContact", &wire.AcceptContactRequest{User: v}, &wire.AcceptContactResponse{})
	case 4:
		o.done = func() error {
			if mine.state == asksMe {
				_, theirs := m.sides(u.id, v)
				theirs.refused++
				theirs.refusedAt = m.passed
				m.part(u.id, v, wire.EventType_EVENT_TYPE_CONTACT_REFUSED)
			}
			return nil
		}
		return call("RefuseContact", &wire.RefuseContactRequest{User: v}, &wire.RefuseContactResponse{})
	case 5:
		o.done = func() error {
			mine.wrote = false
			if mine.state != stranger {
				m.part(u.id, v, wire.EventType_EVENT_TYPE_CONTACT_REMOVED)
			}
			return nil
		}
		return call("RemoveContact", &wire.RemoveContactRequest{User: v}, &wire.RemoveContactResponse{})
	case 6:
		if w.rng.IntN(2) == 0 {
			return nil
		}
		o.done = func() error {
			if !mine.blocked || mine.state == asksMe {
				m.notices(u.id, v, wire.EventType_EVENT_TYPE_CONTACT_BLOCKED, "", true, false)
			}
			mine.wrote = false
			if mine.blocked = true; mine.state == asksMe {
				mine.state = stranger
			}
			m.sight(u.id)
			return nil
		}
		return call("BlockUser", &wire.BlockUserRequest{User: v}, &wire.BlockUserResponse{})
	}
	o.done = func() error {
		if mine.blocked {
			mine.blocked = false
			m.notices(u.id, v, wire.EventType_EVENT_TYPE_CONTACT_UNBLOCKED, "", true, false)
			m.sight(u.id)
		}
		return nil
	}
	return call("UnblockUser", &wire.UnblockUserRequest{User: v}, &wire.UnblockUserResponse{})
}

// requested is what a request makes of a pair.
func (w *walk) requested(user, peer, text string) {
	m := w.model
	a, b := m.sides(user, peer)
	switch {
	case a.state == friend:
		return
	case a.state == asksMe, b.state == asked:
		m.befriend(user, peer)
		return
	}
	wasA, wasB := a.state, b.state
	if a.state != asked {
		a.state, a.remark = asked, text // the text of the request
	}
	if !b.blocked && b.state == stranger {
		b.state = asksMe
	}
	m.notices(user, peer, wire.EventType_EVENT_TYPE_CONTACT_REQUESTED, a.remark, a.state != wasA, b.state != wasB)
}

func (w *walk) opProfile(u *user) *op {
	p := w.model.profiles[u.id]
	next := *p
	req := &wire.UpdateProfileRequest{}
	switch w.rng.IntN(4) {
	case 0:
		next.groups = slices.Concat([]wire.GroupPolicy{2, 3}, slices.Repeat([]wire.GroupPolicy{1}, 3))[w.rng.IntN(5)]
		req.GroupPolicy = next.groups
	case 1:
		next.everyone = w.rng.IntN(4) > 0
		req.DmPolicy = wire.DmPolicy_DM_POLICY_CONTACTS
		if next.everyone {
			req.DmPolicy = wire.DmPolicy_DM_POLICY_EVERYONE
		}
	case 2:
		next.hides = w.rng.IntN(3) == 0
		req.HideReads = &next.hides
	default:
		next.name = w.word()
		req.DisplayName = &next.name
	}
	return w.profileChange(u, next, req)
}
