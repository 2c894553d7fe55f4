package bench

import (
	"context"
	"fmt"

	"github.com/skein-im/skein/wire"
)

// RosterReport is what the members of a large group cost, none of whom is online.
type RosterReport struct {
	Members int `json:"members"`
	// Join is by a link, Kick by the owner; Page is a page of 200 members, Find one of
	// those whose nickname begins with two letters of it and a number; MentionAll is a
	// message that mentions all, Plain one that does not.
	Join       CallCost `json:"join"`
	Leave      CallCost `json:"leave"`
	Kick       CallCost `json:"kick"`
	Nickname   CallCost `json:"nickname"`
	Page       CallCost `json:"roster_page"`
	Find       CallCost `json:"find"`
	Plain      CallCost `json:"plain"`
	MentionAll CallCost `json:"mention_all"`
	// Ratio is MentionAll's CPU in that of Plain.
	Ratio float64 `json:"mention_all_of_plain"`
}

// Roster measures joining, leaving, kicking, pages of members and mentioning all in a
// group of GroupSize members, Rounds times each, one after the other.
func Roster(ctx context.Context, o Options, start Starter) (*Report, error) {
	o.Scenario = ScenarioRoster
	if o.GroupSize < 2 || o.Rounds < 1 {
		return nil, fmt.Errorf("a group has two members or more, and there is a round or more")
	}
	members := o.GroupSize
	o.GroupSize += o.Rounds // who joins and leaves
	return withServer(ctx, &o, start, func(r *run) error { return r.roster(ctx, members) })
}

func (r *run) roster(ctx context.Context, members int) error {
	users, err := r.s.register(ctx, r.o, r.o.GroupSize)
	if err != nil {
		return err
	}
	inside, outside := users[:members], users[members:]
	name, adding, err := r.s.group(ctx, "large", inside)
	if err != nil {
		return err
	}
	r.r.AddMembersMS = float64(adding.Microseconds()) / 1000
	r.o.progress("  %d members added in %.1f s", members, adding.Seconds())
	owner := inside[0].Token
	if _, err := r.s.timed(ctx, owner, "GroupService/UpdateGroup", &wire.UpdateGroupRequest{Conversation: name, Join: wire.JoinMode_JOIN_MODE_OPEN}, new(wire.UpdateGroupResponse)); err != nil {
		return err
	}
	var link wire.CreateInviteLinkResponse
	if _, err := r.s.timed(ctx, owner, "GroupService/CreateInviteLink", &wire.CreateInviteLinkRequest{Conversation: name}, &link); err != nil {
		return err
	}
	x := &RosterReport{Members: members}
	r.r.Roster = x
	cursor := ""
	join := func(i int) (answered, error) {
		return r.s.timed(ctx, outside[i].Token, "GroupService/JoinByLink", &wire.JoinByLinkRequest{Code: link.Link.GetCode()}, new(wire.JoinByLinkResponse))
	}
	say := func(all wire.GroupMention) func(int) (answered, error) {
		return func(i int) (answered, error) {
			req := &wire.SendMessageRequest{Conversation: name, GroupMention: all, Content: &wire.Content{Type: textType, Body: &wire.Content_Text{Text: fmt.Sprint("message ", i)}}}
			return r.s.timed(ctx, owner, "MessageService/SendMessage", req, new(wire.SendMessageResponse))
		}
	}
	for _, s := range []struct {
		to  *CallCost
		one func(i int) (answered, error)
	}{
		{&x.Join, join},
		{&x.Leave, func(i int) (answered, error) {
			return r.s.timed(ctx, outside[i].Token, "GroupService/LeaveGroup", &wire.LeaveGroupRequest{Conversation: name}, new(wire.LeaveGroupResponse))
		}},
		{new(CallCost), join},
		{&x.Kick, func(i int) (answered, error) {
			return r.s.timed(ctx, owner, "GroupService/RemoveMembers", &wire.RemoveMembersRequest{Conversation: name, Users: []string{outside[i].ID}}, new(wire.RemoveMembersResponse))
		}},
		{&x.Nickname, func(i int) (answered, error) {
			req := &wire.SetNicknameRequest{Conversation: name, Nickname: fmt.Sprintf("Nick %03d", i)}
			return r.s.timed(ctx, inside[i%members].Token, "GroupService/SetNickname", req, new(wire.SetNicknameResponse))
		}},
		{&x.Page, func(i int) (answered, error) {
			var page wire.ListMembersResponse
			a, err := r.s.timed(ctx, inside[i%members].Token, "GroupService/ListMembers", &wire.ListMembersRequest{Conversation: name, Limit: 200, Cursor: cursor}, &page)
			cursor = page.Next
			return a, err
		}},
		{&x.Find, func(i int) (answered, error) {
			var page wire.ListMembersResponse
			a, err := r.s.timed(ctx, inside[i%members].Token, "GroupService/ListMembers", &wire.ListMembersRequest{Conversation: name, Limit: 20, Query: fmt.Sprintf("nick %03d", i%min(members, r.o.Rounds))}, &page)
			if err == nil && len(page.Members) == 0 {
				err = fmt.Errorf("member %d is not found by the nickname", i)
			}
			return a, err
		}},
		{&x.Plain, say(0)},
		{&x.MentionAll, say(wire.GroupMention_GROUP_MENTION_ALL)},
	} {
		if *s.to, err = r.each(ctx, r.o.Rounds, s.one); err != nil {
			return err
		}
	}
	if x.Plain.CPUMicros > 0 {
		x.Ratio = x.MentionAll.CPUMicros / x.Plain.CPUMicros
	}
	return nil
}

// rosters writes what a large group costs.
func (r *Report) rosters(line func(name, format string, args ...any)) {
	x := r.Roster
	if x == nil {
		return
	}
	line("the group", "%10d members, none of them online", x.Members)
	for _, s := range []struct {
		name string
		cost *CallCost
	}{
		{"join", &x.Join}, {"leave", &x.Leave}, {"kick", &x.Kick}, {"nickname", &x.Nickname}, {"page of members", &x.Page},
		{"find a member", &x.Find}, {"plain message", &x.Plain}, {"mention all", &x.MentionAll},
	} {
		s.cost.line(s.name, line)
	}
	line("mention all", "%10.2f of a plain message's CPU", x.Ratio)
}

func (x *CallCost) line(name string, line func(name, format string, args ...any)) {
	line(name, "%10.2f / %.2f ms p50/p99, %.0f bytes, %.0f µs of server CPU", x.MS.P50, x.MS.P99, x.Bytes, x.CPUMicros)
}
