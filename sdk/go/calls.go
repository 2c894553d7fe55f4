package skein

import (
	"context"
	"fmt"
	"time"

	"github.com/skein-im/skein/wire"
)

func (k *core) onResult(f *wire.Result) {
	cl := k.calls[f.Number]
	if cl == nil {
		return
	}
	delete(k.calls, f.Number)
	r := callResult{body: f.GetBody()}
	switch {
	case f.GetError() != nil:
		r.err = errorOf(f.GetError())
	case f.GetJson() != nil:
		r.err = fmt.Errorf("skein: the server answered in JSON")
	}
	cl.reply <- r
}

// Users finds people.
type Users struct{ c *Client }

// Users returns the calls of UserService.
func (c *Client) Users() Users { return Users{c} }

const (
	userService    = "skein.v1.UserService/"
	contactService = "skein.v1.ContactService/"
	groupService   = "skein.v1.GroupService/"
	accountService = "skein.v1.AccountService/"
)

// Find returns the user with exactly this username.
func (u Users) Find(ctx context.Context, username string) (*wire.User, error) {
	var resp wire.FindUserResponse
	err := u.c.Call(ctx, userService+"FindUser", &wire.FindUserRequest{Username: username}, &resp)
	return resp.User, err
}

// Get returns profiles; unknown ids are left out. At most 200.
func (u Users) Get(ctx context.Context, ids ...string) ([]*wire.User, error) {
	var resp wire.GetUsersResponse
	err := u.c.Call(ctx, userService+"GetUsers", &wire.GetUsersRequest{Ids: ids}, &resp)
	return resp.Users, err
}

// Search returns a page of the users whose username, or else display name, begins with
// a prefix of 1 to 64 characters, of any case and width: those whom the user may find.
// limit is at most 50, 0 means 20. next is the cursor of the next page, empty after the
// last one; the first page has an empty cursor.
func (u Users) Search(ctx context.Context, prefix string, limit int, cursor string) (users []*wire.User, next string, err error) {
	var resp wire.SearchUsersResponse
	err = u.c.Call(ctx, userService+"SearchUsers", &wire.SearchUsersRequest{Prefix: prefix, Limit: uint32(max(limit, 0)), Cursor: cursor}, &resp)
	return resp.Users, resp.Next, err
}

// Update changes the own profile and settings; absent fields stay. The user's other
// devices get a ProfileEvent, their contacts a ContactEvent.
func (u Users) Update(ctx context.Context, req *wire.UpdateProfileRequest) (*wire.UpdateProfileResponse, error) {
	var resp wire.UpdateProfileResponse
	err := u.c.Call(ctx, userService+"UpdateProfile", req, &resp)
	return &resp, err
}

// Contacts are the people the user may write to. Changes come as ContactEvents.
type Contacts struct{ c *Client }

// Contacts returns the calls of ContactService.
func (c *Client) Contacts() Contacts { return Contacts{c} }

// Request asks a user to become a contact. If they have asked already, both are.
func (s Contacts) Request(ctx context.Context, user, message string) (*wire.Contact, error) {
	var resp wire.RequestContactResponse
	err := s.c.Call(ctx, contactService+"RequestContact", &wire.RequestContactRequest{User: user, Message: message}, &resp)
	return resp.Contact, err
}

// Accept makes the user who asked a contact.
func (s Contacts) Accept(ctx context.Context, user string) (*wire.Contact, error) {
	var resp wire.AcceptContactResponse
	err := s.c.Call(ctx, contactService+"AcceptContact", &wire.AcceptContactRequest{User: user}, &resp)
	return resp.Contact, err
}

// Refuse turns a request down.
func (s Contacts) Refuse(ctx context.Context, user string) error {
	return s.c.Call(ctx, contactService+"RefuseContact", &wire.RefuseContactRequest{User: user}, &wire.RefuseContactResponse{})
}

// Remove ends it for both sides.
func (s Contacts) Remove(ctx context.Context, user string) error {
	return s.c.Call(ctx, contactService+"RemoveContact", &wire.RemoveContactRequest{User: user}, &wire.RemoveContactResponse{})
}

// Block keeps a user from writing, asking and watching; they are not told.
func (s Contacts) Block(ctx context.Context, user string) error {
	return s.c.Call(ctx, contactService+"BlockUser", &wire.BlockUserRequest{User: user}, &wire.BlockUserResponse{})
}

// Unblock ends a block.
func (s Contacts) Unblock(ctx context.Context, user string) error {
	return s.c.Call(ctx, contactService+"UnblockUser", &wire.UnblockUserRequest{User: user}, &wire.UnblockUserResponse{})
}

// SetRemark gives a contact a private alias; empty removes it.
func (s Contacts) SetRemark(ctx context.Context, user, remark string) error {
	return s.c.Call(ctx, contactService+"SetRemark", &wire.SetRemarkRequest{User: user, Remark: remark}, &wire.SetRemarkResponse{})
}

// List returns all contacts, requests and blocks, by user id.
func (s Contacts) List(ctx context.Context) ([]*wire.Contact, error) {
	var all []*wire.Contact
	req := &wire.ListContactsRequest{Limit: 500}
	for {
		var resp wire.ListContactsResponse
		if err := s.c.Call(ctx, contactService+"ListContacts", req, &resp); err != nil {
			return nil, err
		}
		all = append(all, resp.Contacts...)
		if resp.Next == "" || resp.Next == req.Cursor {
			return all, nil
		}
		req.Cursor = resp.Next
	}
}

// SetTags replaces the user's own tags of somebody in their list: at most 20 of 1 to 32
// characters. Nobody else sees them; the user's other devices get a ContactEvent.
func (s Contacts) SetTags(ctx context.Context, user string, tags ...string) error {
	return s.c.Call(ctx, contactService+"SetTags", &wire.SetTagsRequest{User: user, Tags: tags}, &wire.SetTagsResponse{})
}

// ContactChanges is what changed of the contacts, requests and blocks.
type ContactChanges struct {
	// Contacts are those that changed; who is in the list no more comes with the state
	// NONE, and not blocked. With Whole they are all there are.
	Contacts []*wire.Contact
	// Whole: forget the list of before.
	Whole bool
	// Revision is what to ask with the next time.
	Revision uint64
}

// Since returns what changed since the revision of an earlier answer; 0: all. A program
// that keeps the list keeps the revision with it, and asks from 0 after a ResetEvent.
func (s Contacts) Since(ctx context.Context, revision uint64) (*ContactChanges, error) {
	req := &wire.ListContactsRequest{Limit: 500, Since: revision}
	all := &ContactChanges{Whole: revision == 0}
	for first := true; ; first = false {
		var resp wire.ListContactsResponse
		if err := s.c.Call(ctx, contactService+"ListContacts", req, &resp); err != nil {
			return nil, err
		}
		if resp.Reset_ && !all.Whole {
			all.Contacts, all.Whole, req.Since, first = nil, true, 0, true
		}
		all.Contacts = append(all.Contacts, resp.Contacts...)
		if first || !all.Whole {
			all.Revision = resp.Revision
		}
		if resp.Next == "" || resp.Next == req.Cursor {
			return all, nil
		}
		req.Cursor = resp.Next
	}
}

// Groups makes and changes groups. Changes come as GroupEvents.
type Groups struct{ c *Client }

// Groups returns the calls of GroupService.
func (c *Client) Groups() Groups { return Groups{c} }

// Create makes a group owned by the user. If the connection is lost before the
// answer, it asks again, whatever the server makes of keys; there will be one group.
func (g Groups) Create(ctx context.Context, name string, members ...string) (*wire.Group, error) {
	const method = groupService + "CreateGroup"
	key := keyFor(ctx, method)
	var resp wire.CreateGroupResponse
	err := g.c.call(ctx, &try{method: method, key: key, safe: true}, &wire.CreateGroupRequest{Name: name, Members: members, RequestId: key}, &resp)
	return resp.Group, err
}

// Get returns a group.
func (g Groups) Get(ctx context.Context, conversation string) (*wire.Group, error) {
	var resp wire.GetGroupResponse
	err := g.c.Call(ctx, groupService+"GetGroup", &wire.GetGroupRequest{Conversation: conversation}, &resp)
	return resp.Group, err
}

// Rename changes a group's name.
func (g Groups) Rename(ctx context.Context, conversation, name string) (*wire.Group, error) {
	var resp wire.RenameGroupResponse
	err := g.c.Call(ctx, groupService+"RenameGroup", &wire.RenameGroupRequest{Conversation: conversation, Name: name}, &resp)
	return resp.Group, err
}

// Update changes a group's settings; absent fields stay. It is told by a GroupEvent
// GROUP_CHANGED with what is other now.
func (g Groups) Update(ctx context.Context, req *wire.UpdateGroupRequest) (*wire.Group, error) {
	var resp wire.UpdateGroupResponse
	err := g.c.Call(ctx, groupService+"UpdateGroup", req, &resp)
	return resp.Group, err
}

// Members returns all members: the owner, then admins, then the others, each as they
// joined.
func (g Groups) Members(ctx context.Context, conversation string) ([]*wire.Member, error) {
	var all []*wire.Member
	req := &wire.ListMembersRequest{Conversation: conversation, Limit: 1000}
	for {
		var resp wire.ListMembersResponse
		if err := g.c.Call(ctx, groupService+"ListMembers", req, &resp); err != nil {
			return nil, err
		}
		all = append(all, resp.Members...)
		if resp.Next == "" || resp.Next == req.Cursor {
			return all, nil
		}
		req.Cursor = resp.Next
	}
}

// Find returns at most limit members (0: 200, at most 1,000) whose nickname, display name
// or username begins with query, without case and width, in the order of Members. next
// is the cursor of the next page, "" after the last; in a very large group a page may be
// short, or empty, before it.
func (g Groups) Find(ctx context.Context, conversation, query, cursor string, limit int) (members []*wire.Member, next string, err error) {
	req := &wire.ListMembersRequest{Conversation: conversation, Query: query, Cursor: cursor, Limit: uint32(max(limit, 0))}
	var resp wire.ListMembersResponse
	err = g.c.Call(ctx, groupService+"ListMembers", req, &resp)
	return resp.Members, resp.Next, err
}

// Add adds users and returns those who are new. Who wants to be asked is invited
// instead, and gets an InvitationEvent.
func (g Groups) Add(ctx context.Context, conversation string, users ...string) ([]string, error) {
	var resp wire.AddMembersResponse
	err := g.c.Call(ctx, groupService+"AddMembers", &wire.AddMembersRequest{Conversation: conversation, Users: users}, &resp)
	return resp.Added, err
}

// Ban removes a member of a lower role, or keeps out who is none, until a time; the
// zero time: for ever. All members see the reason.
func (g Groups) Ban(ctx context.Context, conversation, user, reason string, until time.Time) error {
	req := &wire.BanMemberRequest{Conversation: conversation, User: user, Reason: reason}
	if !until.IsZero() {
		req.UntilMs = until.UnixMilli()
	}
	return g.c.Call(ctx, groupService+"BanMember", req, &wire.BanMemberResponse{})
}

// Unban lets a user be added again.
func (g Groups) Unban(ctx context.Context, conversation, user string) error {
	return g.c.Call(ctx, groupService+"UnbanMember", &wire.UnbanMemberRequest{Conversation: conversation, User: user}, &wire.UnbanMemberResponse{})
}

// Bans returns who is banned, by user id.
func (g Groups) Bans(ctx context.Context, conversation string) ([]*wire.Ban, error) {
	var all []*wire.Ban
	req := &wire.ListBansRequest{Conversation: conversation, Limit: 1000}
	for {
		var resp wire.ListBansResponse
		if err := g.c.Call(ctx, groupService+"ListBans", req, &resp); err != nil {
			return nil, err
		}
		all = append(all, resp.Bans...)
		if resp.Next == "" || resp.Next == req.Cursor {
			return all, nil
		}
		req.Cursor = resp.Next
	}
}

// Invitations returns the groups that the user is invited to, by conversation.
func (g Groups) Invitations(ctx context.Context) ([]*wire.Invitation, error) {
	var all []*wire.Invitation
	req := &wire.ListInvitationsRequest{Limit: 200}
	for {
		var resp wire.ListInvitationsResponse
		if err := g.c.Call(ctx, groupService+"ListInvitations", req, &resp); err != nil {
			return nil, err
		}
		all = append(all, resp.Invitations...)
		if resp.Next == "" || resp.Next == req.Cursor {
			return all, nil
		}
		req.Cursor = resp.Next
	}
}

// Accept makes the user a member of a group that they are invited to.
func (g Groups) Accept(ctx context.Context, conversation string) (*wire.Group, error) {
	var resp wire.AcceptInvitationResponse
	err := g.c.Call(ctx, groupService+"AcceptInvitation", &wire.AcceptInvitationRequest{Conversation: conversation}, &resp)
	return resp.Group, err
}

// Refuse ends an invitation.
func (g Groups) Refuse(ctx context.Context, conversation string) error {
	return g.c.Call(ctx, groupService+"RefuseInvitation", &wire.RefuseInvitationRequest{Conversation: conversation}, &wire.RefuseInvitationResponse{})
}

// Remove removes users of a lower role.
func (g Groups) Remove(ctx context.Context, conversation string, users ...string) ([]string, error) {
	var resp wire.RemoveMembersResponse
	err := g.c.Call(ctx, groupService+"RemoveMembers", &wire.RemoveMembersRequest{Conversation: conversation, Users: users}, &resp)
	return resp.Removed, err
}

// Leave leaves a group; the owner transfers it first.
func (g Groups) Leave(ctx context.Context, conversation string) error {
	return g.c.Call(ctx, groupService+"LeaveGroup", &wire.LeaveGroupRequest{Conversation: conversation}, &wire.LeaveGroupResponse{})
}

// Dismiss ends a group (the owner's to do): everybody is out, and nobody comes back.
// Each device hears GROUP_DISMISSED, and may read what was said.
func (g Groups) Dismiss(ctx context.Context, conversation string) error {
	return g.c.Call(ctx, groupService+"DismissGroup", &wire.DismissGroupRequest{Conversation: conversation}, &wire.DismissGroupResponse{})
}

// SetNickname sets what a member is called in a group, "": by their own name. user is
// the caller, also as "", or, for admins, a member of a lower role. All hear
// MEMBER_NICKNAMED.
func (g Groups) SetNickname(ctx context.Context, conversation, user, nickname string) error {
	req := &wire.SetNicknameRequest{Conversation: conversation, User: user, Nickname: nickname}
	return g.c.Call(ctx, groupService+"SetNickname", req, &wire.SetNicknameResponse{})
}

// SetRole makes a member an admin, or an admin a member.
func (g Groups) SetRole(ctx context.Context, conversation, user string, role wire.Role) error {
	req := &wire.SetRoleRequest{Conversation: conversation, User: user, Role: role}
	return g.c.Call(ctx, groupService+"SetRole", req, &wire.SetRoleResponse{})
}

// Transfer hands the group to another member.
func (g Groups) Transfer(ctx context.Context, conversation, user string) error {
	req := &wire.TransferOwnershipRequest{Conversation: conversation, User: user}
	return g.c.Call(ctx, groupService+"TransferOwnership", req, &wire.TransferOwnershipResponse{})
}

// Mute keeps a member from writing until then; the zero time unmutes.
func (g Groups) Mute(ctx context.Context, conversation, user string, until time.Time) error {
	req := &wire.MuteMemberRequest{Conversation: conversation, User: user}
	if !until.IsZero() {
		req.UntilMs = until.UnixMilli()
	}
	return g.c.Call(ctx, groupService+"MuteMember", req, &wire.MuteMemberResponse{})
}

// Sessions are the user's logins.
type Sessions struct{ c *Client }

// Sessions returns the calls about the user's sessions.
func (c *Client) Sessions() Sessions { return Sessions{c} }

// List returns the user's sessions.
func (s Sessions) List(ctx context.Context) ([]*wire.Session, error) {
	var resp wire.ListSessionsResponse
	err := s.c.Call(ctx, accountService+"ListSessions", &wire.ListSessionsRequest{}, &resp)
	return resp.Sessions, err
}

// Revoke ends a session; its sockets close within a second.
func (s Sessions) Revoke(ctx context.Context, session string) error {
	return s.c.Call(ctx, accountService+"RevokeSession", &wire.RevokeSessionRequest{Session: session}, &wire.RevokeSessionResponse{})
}

// Logout ends the own session.
func (s Sessions) Logout(ctx context.Context) error {
	return s.c.Call(ctx, accountService+"Logout", &wire.LogoutRequest{}, &wire.LogoutResponse{})
}

// ChangePassword changes the password and ends all other sessions.
func (s Sessions) ChangePassword(ctx context.Context, old, new string) error {
	req := &wire.ChangePasswordRequest{OldPassword: old, NewPassword: new}
	return s.c.Call(ctx, accountService+"ChangePassword", req, &wire.ChangePasswordResponse{})
}
