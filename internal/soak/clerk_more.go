package soak

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	skein "github.com/skein-im/skein/sdk/go"
	"github.com/skein-im/skein/wire"
)

// openGroups makes the groups of the clerk's first user and another one: clerks, with what
// happens in groups, days, whose lifetime changes and where nothing is said, and club, which
// a user leaves again and again.
func (c *clerk) openGroups(ctx context.Context) error {
	for _, g := range []struct {
		name  string
		other int
		c     *string
	}{{"clerks", 1, &c.group}, {"days", 1, &c.days}, {"club", 2, &c.club}} {
		var made wire.CreateGroupResponse
		req := &wire.CreateGroupRequest{Name: g.name, RequestId: g.name, Members: []string{c.users[g.other].id}}
		if err := c.call(ctx, 0, groupService+"CreateGroup", req, &made); err != nil {
			return fmt.Errorf("soak: the clerk's group %s: %w", g.name, err)
		}
		*g.c = made.GetGroup().GetConversation()
	}
	return nil
}

// pin is whether the poll is pinned: it says so itself, and the list of pins does.
func (c *clerk) pin() *clerkFact {
	return &clerkFact{
		name: "pin", next: inTurn("pinned", "free"),
		set: func(ctx context.Context, v string) error {
			req := &wire.PinMessageRequest{Conversation: c.dm, Seq: c.poll, Remove: v == "free"}
			return c.call(ctx, 0, messageService+"PinMessage", req, &wire.PinMessageResponse{})
		},
		get: func(ctx context.Context) (string, error) {
			var pins wire.ListPinsResponse
			if err := c.call(ctx, 1, messageService+"ListPins", &wire.ListPinsRequest{Conversation: c.dm}, &pins); err != nil {
				return "", err
			}
			e, err := c.entry(ctx, c.poll)
			listed := slices.ContainsFunc(pins.Entries, func(e *wire.Entry) bool { return e.Seq == c.poll })
			switch {
			case err != nil:
				return "", err
			case listed != (e.GetPinned() != nil):
				return fmt.Sprintf("listed: %t, and it says %v", listed, e.GetPinned()), nil
			case listed:
				return "pinned", nil
			}
			return "free", nil
		},
	}
}

// entry reads an entry of the clerk's dm, nil if it is not there.
func (c *clerk) entry(ctx context.Context, seq uint64) (*wire.Entry, error) {
	var resp wire.ListEntriesResponse
	err := c.call(ctx, 1, messageService+"ListEntries", &wire.ListEntriesRequest{Conversation: c.dm, From: seq, Limit: 1}, &resp)
	if err != nil || len(resp.Entries) == 0 || resp.Entries[0].Seq != seq {
		return nil, err
	}
	return resp.Entries[0], nil
}

// stateOf is what a user's list says of a conversation, nil if nothing.
func (c *clerk) stateOf(ctx context.Context, user int, conversation string) (*wire.ConversationState, error) {
	d, err := c.list(ctx, user)
	for _, st := range d.GetConversations() {
		if st.Conversation == conversation {
			return st, err
		}
	}
	return nil, err
}

// draft is what the first user set for themselves.
func (c *clerk) draft() *clerkFact {
	return &clerkFact{
		name: "draft", next: numbered("draft"),
		set: func(ctx context.Context, v string) error {
			return c.call(ctx, 0, messageService+"SetMyState", &wire.SetMyStateRequest{Conversation: c.dm, Draft: &v}, &wire.SetMyStateResponse{})
		},
		get: func(ctx context.Context) (string, error) {
			st, err := c.stateOf(ctx, 0, c.dm)
			return st.GetMine().GetDraft(), err
		},
	}
}

// lifetime is after how many days what is said in a group disappears.
func (c *clerk) lifetime() *clerkFact {
	const daySeconds = 24 * 60 * 60
	days := map[string]uint32{"a day": daySeconds, "two days": 2 * daySeconds}
	return &clerkFact{
		name: "lifetime", next: inTurn("a day", "two days"),
		set: func(ctx context.Context, v string) error {
			return c.call(ctx, 0, messageService+"SetLifetime", &wire.SetLifetimeRequest{Conversation: c.days, LifetimeS: days[v]}, &wire.SetLifetimeResponse{})
		},
		get: func(ctx context.Context) (string, error) {
			st, err := c.stateOf(ctx, 1, c.days)
			for _, l := range st.GetLifetimes() {
				for name, s := range days {
					if l.Until == 0 && l.LifetimeS == s {
						return name, err
					}
				}
			}
			return fmt.Sprint("periods ", st.GetLifetimes()), err
		},
	}
}

// memberOf is what the list of a group's members says of a user, nil if nothing.
func (c *clerk) memberOf(ctx context.Context, group string, user int) (*wire.Member, error) {
	var resp wire.ListMembersResponse
	err := c.call(ctx, 0, groupService+"ListMembers", &wire.ListMembersRequest{Conversation: group}, &resp)
	for _, m := range resp.Members {
		if m.User == c.users[user].id {
			return m, err
		}
	}
	return nil, err
}

func (c *clerk) role() *clerkFact {
	roles := map[string]wire.Role{"admin": wire.Role_ROLE_ADMIN, "member": wire.Role_ROLE_MEMBER}
	return &clerkFact{
		name: "role", next: inTurn("admin", "member"),
		set: func(ctx context.Context, v string) error {
			return c.call(ctx, 0, groupService+"SetRole", &wire.SetRoleRequest{Conversation: c.group, User: c.users[1].id, Role: roles[v]}, &wire.SetRoleResponse{})
		},
		get: func(ctx context.Context) (string, error) {
			m, err := c.memberOf(ctx, c.group, 1)
			for name, r := range roles {
				if m != nil && m.Role == r {
					return name, err
				}
			}
			return m.String(), err
		},
	}
}

// coming is whether a user is in a group, who leaves by themselves.
func (c *clerk) coming() *clerkFact {
	return &clerkFact{
		name: "coming and going", next: inTurn("gone", "there"),
		set: func(ctx context.Context, v string) error {
			if v == "there" {
				req := &wire.AddMembersRequest{Conversation: c.club, Users: []string{c.users[2].id}}
				return c.call(ctx, 0, groupService+"AddMembers", req, &wire.AddMembersResponse{})
			}
			err := c.call(ctx, 2, groupService+"LeaveGroup", &wire.LeaveGroupRequest{Conversation: c.club}, &wire.LeaveGroupResponse{})
			if e := (*skein.Error)(nil); errors.As(err, &e) && e.Code == wire.CodeNotFound {
				return nil // they left before an answer that was lost
			}
			return err
		},
		get: func(ctx context.Context) (string, error) {
			m, err := c.memberOf(ctx, c.club, 2)
			if m == nil {
				return "gone", err
			}
			return "there", err
		},
	}
}

// stream has a message of the first user's grow to its end, and expects from then on that
// it says all of it, has ended, and was not cut off.
func (c *clerk) stream(ctx context.Context) {
	c.streamed++
	var seq uint64
	id, parts := c.ids.Next(), []string{"so", " it", " grows"}
	f := &clerkFact{
		name: fmt.Sprint("stream ", c.streamed),
		next: func(int) string { return "so it grows, ended" },
		set: func(ctx context.Context, _ string) (err error) {
			if seq, err = c.begin(ctx, id, parts[0]); err != nil {
				return err
			}
			said := parts[0]
			for i, part := range parts[1:] {
				next := c.ids.Next()
				req := &wire.StreamMessageRequest{Conversation: c.dm, Seq: seq, Id: next[:], Offset: uint64(len(said)), Text: part, End: i == len(parts)-2}
				said += part
				err = c.call(ctx, 0, messageService+"StreamMessage", req, &wire.StreamMessageResponse{})
				if e := (*skein.Error)(nil); errors.As(err, &e) && e.Code == wire.CodePartMissing { // a crash took what was not durable
					req.Offset, req.Text, req.Content = 0, "", streamedContent(said)
					err = c.call(ctx, 0, messageService+"StreamMessage", req, &wire.StreamMessageResponse{})
				}
				if err != nil {
					return err
				}
				_ = pause(ctx, 20*time.Millisecond) // the call that follows is refused where ctx ended
			}
			return nil
		},
		get: func(ctx context.Context) (string, error) {
			e, err := c.entry(ctx, seq)
			text := e.GetContent().GetText()
			if !e.GetStreaming() {
				text += ", ended"
			}
			if e.GetCutOff() {
				text += ", cut off"
			}
			return text, err
		},
	}
	c.change(ctx, f)
	c.settle(f)
}

func streamedContent(text string) *wire.Content {
	return &wire.Content{Type: streamedType, Body: &wire.Content_Text{Text: text}}
}

// begin begins a streamed message.
func (c *clerk) begin(ctx context.Context, id [16]byte, text string) (seq uint64, err error) {
	req := &wire.SendMessageRequest{Conversation: c.dm, Id: id[:], Content: streamedContent(text), Streaming: true}
	var resp wire.SendMessageResponse
	err = c.call(ctx, 0, messageService+"SendMessage", req, &resp)
	return resp.Seq, err
}
