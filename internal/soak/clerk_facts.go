package soak

import (
	"context"
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/skein-im/skein/wire"
)

const (
	contactService = "skein.v1.ContactService/"
	userService    = "skein.v1.UserService/"
	adminService   = "skein.v1.AdminService/"
)

type message = proto.Message

// numbered makes values that differ.
func numbered(what string) func(n int) string {
	return func(n int) string { return fmt.Sprint(what, " ", n) }
}

// inTurn makes two values in turn.
func inTurn(odd, even string) func(n int) string {
	return func(n int) string {
		if n%2 == 1 {
			return odd
		}
		return even
	}
}

func (c *clerk) displayName() *clerkFact {
	return &clerkFact{
		name: "display name", next: numbered("Clerk"),
		set: func(ctx context.Context, v string) error {
			return c.call(ctx, 0, userService+"UpdateProfile", &wire.UpdateProfileRequest{DisplayName: &v}, &wire.UpdateProfileResponse{})
		},
		get: func(ctx context.Context) (string, error) {
			var resp wire.GetUsersResponse
			err := c.call(ctx, 1, userService+"GetUsers", &wire.GetUsersRequest{Ids: []string{c.users[0].id}}, &resp)
			if err != nil || len(resp.Users) == 0 {
				return "", err
			}
			return resp.Users[0].DisplayName, nil
		},
	}
}

// contactOf is what a user's list says of another, nil if nothing.
func (c *clerk) contactOf(ctx context.Context, user, other int) (*wire.Contact, error) {
	var resp wire.ListContactsResponse
	if err := c.call(ctx, user, contactService+"ListContacts", &wire.ListContactsRequest{}, &resp); err != nil {
		return nil, err
	}
	for _, x := range resp.Contacts {
		if x.GetUser().GetId() == c.users[other].id {
			return x, nil
		}
	}
	return nil, nil
}

func (c *clerk) remark() *clerkFact {
	return &clerkFact{
		name: "remark", next: numbered("remark"),
		set: func(ctx context.Context, v string) error {
			return c.call(ctx, 0, contactService+"SetRemark", &wire.SetRemarkRequest{User: c.users[2].id, Remark: v}, &wire.SetRemarkResponse{})
		},
		get: func(ctx context.Context) (string, error) {
			x, err := c.contactOf(ctx, 0, 2)
			return x.GetRemark(), err
		},
	}
}

func (c *clerk) block() *clerkFact {
	return &clerkFact{
		name: "block", next: inTurn("blocked", "free"),
		set: func(ctx context.Context, v string) error {
			if v == "blocked" {
				return c.call(ctx, 1, contactService+"BlockUser", &wire.BlockUserRequest{User: c.users[3].id}, &wire.BlockUserResponse{})
			}
			return c.call(ctx, 1, contactService+"UnblockUser", &wire.UnblockUserRequest{User: c.users[3].id}, &wire.UnblockUserResponse{})
		},
		get: func(ctx context.Context) (string, error) {
			x, err := c.contactOf(ctx, 1, 3)
			if x.GetBlocked() {
				return "blocked", err
			}
			return "free", err
		},
	}
}

func (c *clerk) contact() *clerkFact {
	return &clerkFact{
		name: "contact", next: inTurn("asked", "none"),
		set: func(ctx context.Context, v string) error {
			if v == "asked" {
				return c.call(ctx, 0, contactService+"RequestContact", &wire.RequestContactRequest{User: c.users[3].id}, &wire.RequestContactResponse{})
			}
			return c.call(ctx, 0, contactService+"RemoveContact", &wire.RemoveContactRequest{User: c.users[3].id}, &wire.RemoveContactResponse{})
		},
		get: func(ctx context.Context) (string, error) {
			x, err := c.contactOf(ctx, 0, 3)
			if x == nil || x.State == wire.ContactState_CONTACT_STATE_NONE {
				return "none", err
			}
			return "asked", err
		},
	}
}

func (c *clerk) groupName() *clerkFact {
	return &clerkFact{
		name: "group name", next: numbered("clerks"),
		set: func(ctx context.Context, v string) error {
			return c.call(ctx, 0, groupService+"RenameGroup", &wire.RenameGroupRequest{Conversation: c.group, Name: v}, &wire.RenameGroupResponse{})
		},
		get: func(ctx context.Context) (string, error) {
			var resp wire.GetGroupResponse
			err := c.call(ctx, 1, groupService+"GetGroup", &wire.GetGroupRequest{Conversation: c.group}, &resp)
			return resp.GetGroup().GetName(), err
		},
	}
}

func (c *clerk) member() *clerkFact {
	users := []string{c.users[2].id, c.users[3].id}
	return &clerkFact{
		name: "members", next: inTurn("in", "out"),
		set: func(ctx context.Context, v string) error {
			if v == "in" {
				return c.call(ctx, 0, groupService+"AddMembers", &wire.AddMembersRequest{Conversation: c.group, Users: users}, &wire.AddMembersResponse{})
			}
			return c.call(ctx, 0, groupService+"RemoveMembers", &wire.RemoveMembersRequest{Conversation: c.group, Users: users}, &wire.RemoveMembersResponse{})
		},
		get: func(ctx context.Context) (string, error) {
			var resp wire.ListMembersResponse
			if err := c.call(ctx, 1, groupService+"ListMembers", &wire.ListMembersRequest{Conversation: c.group}, &resp); err != nil {
				return "", err
			}
			n := 0
			for _, m := range resp.Members {
				if m.User == users[0] || m.User == users[1] {
					n++
				}
			}
			return map[int]string{0: "out", 1: "one of two", 2: "in"}[n], nil
		},
	}
}
