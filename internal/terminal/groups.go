package terminal

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/skein-im/skein/wire"
)

func (c *Chat) groupCmd(ctx context.Context, args []string) error {
	members, err := c.userIDs(ctx, args[1:])
	if err != nil {
		return err
	}
	g, err := c.client.Groups().Create(ctx, args[0], members...)
	if err != nil {
		return err
	}
	c.mu.Lock()
	c.titles[g.Conversation] = clean(g.Name)
	c.mu.Unlock()
	return c.openID(ctx, g.Conversation)
}

// group returns the open conversation if it is a group.
func (c *Chat) group() (string, error) {
	open := c.current()
	if !strings.HasPrefix(open, "grp:") {
		return "", errors.New("open a group first")
	}
	return open, nil
}

func (c *Chat) membersCmd(ctx context.Context, args []string) error {
	g, err := c.group()
	if err != nil {
		return err
	}
	var all []*wire.Member
	if len(args) == 0 {
		all, err = c.client.Groups().Members(ctx, g)
	} else {
		all, err = c.namedMembers(ctx, g, strings.TrimPrefix(strings.Join(args, " "), "@"))
	}
	if err != nil {
		return err
	}
	for _, m := range all {
		c.printf("  %-20s %s%s\n", c.name(ctx, m.User), strings.ToLower(strings.TrimPrefix(m.Role.String(), "ROLE_")), called(m.Nickname))
	}
	return nil
}

// namedMembers are the first members with such a name: a screen of them, of few pages.
func (c *Chat) namedMembers(ctx context.Context, g, name string) (all []*wire.Member, err error) {
	cursor := ""
	for range 20 {
		var some []*wire.Member
		if some, cursor, err = c.client.Groups().Find(ctx, g, name, cursor, 50); err != nil {
			return nil, err
		}
		if all = append(all, some...); cursor == "" || len(all) >= 50 {
			break
		}
	}
	if len(all) == 0 {
		return nil, errors.New("no member has a name that begins like this")
	}
	return all, nil
}

func called(nickname string) string {
	if nickname == "" {
		return ""
	}
	return fmt.Sprintf(", here “%s”", clean(nickname))
}

func (c *Chat) nickCmd(ctx context.Context, args []string) error {
	g, err := c.group()
	if err != nil {
		return err
	}
	user := ""
	if len(args) > 0 && strings.HasPrefix(args[0], "@") {
		if user, err = c.userID(ctx, args[0]); err != nil {
			return err
		}
		args = args[1:]
	}
	return c.client.Groups().SetNickname(ctx, g, user, strings.Join(args, " "))
}

func (c *Chat) inviteCmd(ctx context.Context, args []string) error {
	return c.withMembers(ctx, args, c.client.Groups().Add)
}

func (c *Chat) invitationsCmd(ctx context.Context, _ []string) error {
	all, err := c.client.Groups().Invitations(ctx)
	if err != nil {
		return err
	}
	for _, i := range all {
		c.printf("  %s  “%s”, %d members, from %s, until %s\n", i.Conversation, clean(i.Name), i.Members, c.name(ctx, i.Inviter), time.UnixMilli(i.ExpiresAtMs).Local().Format("Jan 2"))
	}
	return nil
}

func (c *Chat) joinCmd(ctx context.Context, args []string) error {
	by := c.client.Groups().Accept
	if !strings.HasPrefix(args[0], "grp:") {
		look, err := c.client.Groups().Look(ctx, args[0])
		if err != nil {
			return err
		}
		if look.Approval {
			conversation, err := c.client.Groups().Ask(ctx, args[0], strings.Join(args[1:], " "))
			if err == nil {
				c.printf("        ● you asked to join “%s”, %d members  (/withdraw %s)\n", clean(look.Name), look.Members, conversation)
			}
			return err
		}
		by = c.client.Groups().Join
	}
	g, err := by(ctx, args[0])
	if err != nil {
		return err
	}
	c.mu.Lock()
	c.titles[g.Conversation] = clean(g.Name)
	c.mu.Unlock()
	return c.openID(ctx, g.Conversation)
}

func (c *Chat) groupsCmd(ctx context.Context, args []string) error {
	policy := wire.GroupPolicy(wire.GroupPolicy_value["GROUP_POLICY_"+strings.ToUpper(args[0])])
	if policy == wire.GroupPolicy_GROUP_POLICY_UNSPECIFIED {
		return fmt.Errorf("%q: want anyone, contacts or nobody", args[0])
	}
	_, err := c.client.Users().Update(ctx, &wire.UpdateProfileRequest{GroupPolicy: policy})
	return err
}

func (c *Chat) banCmd(ctx context.Context, args []string) error {
	g, err := c.group()
	if err != nil {
		return err
	}
	user, err := c.userID(ctx, args[0])
	if err != nil {
		return err
	}
	return c.client.Groups().Ban(ctx, g, user, strings.Join(args[1:], " "), time.Time{})
}

func (c *Chat) unbanCmd(ctx context.Context, args []string) error {
	g, err := c.group()
	if err != nil {
		return err
	}
	user, err := c.userID(ctx, args[0])
	if err != nil {
		return err
	}
	return c.client.Groups().Unban(ctx, g, user)
}

func (c *Chat) bansCmd(ctx context.Context, _ []string) error {
	g, err := c.group()
	if err != nil {
		return err
	}
	all, err := c.client.Groups().Bans(ctx, g)
	if err != nil {
		return err
	}
	for _, b := range all {
		c.printf("  %-20s by %s%s\n", c.name(ctx, b.User), c.name(ctx, b.By), because(b.Reason, b.UntilMs))
	}
	return nil
}

// because tells a reason and an end, if there are such.
func because(reason string, untilMs int64) string {
	text := ""
	if untilMs != 0 {
		text = " until " + time.UnixMilli(untilMs).Local().Format("Jan 2 15:04")
	}
	if reason != "" {
		text += ": " + clean(reason)
	}
	return text
}

func (c *Chat) kickCmd(ctx context.Context, args []string) error {
	return c.withMembers(ctx, args, c.client.Groups().Remove)
}

// withMembers does something with users and the open group.
func (c *Chat) withMembers(ctx context.Context, refs []string, do func(ctx context.Context, group string, users ...string) ([]string, error)) error {
	g, err := c.group()
	if err != nil {
		return err
	}
	users, err := c.userIDs(ctx, refs)
	if err != nil {
		return err
	}
	_, err = do(ctx, g, users...)
	return err
}

func (c *Chat) roleCmd(ctx context.Context, args []string) error {
	g, err := c.group()
	if err != nil {
		return err
	}
	role := map[string]wire.Role{"admin": wire.Role_ROLE_ADMIN, "member": wire.Role_ROLE_MEMBER}[args[1]]
	if role == wire.Role_ROLE_UNSPECIFIED {
		return fmt.Errorf("%q: want admin or member", args[1])
	}
	user, err := c.userID(ctx, args[0])
	if err != nil {
		return err
	}
	return c.client.Groups().SetRole(ctx, g, user, role)
}

func (c *Chat) muteCmd(ctx context.Context, args []string) error {
	if len(args) == 1 {
		return c.muteHere(ctx, args[0])
	}
	g, err := c.group()
	if err != nil {
		return err
	}
	d, err := time.ParseDuration(args[1])
	if err != nil && args[1] != "0" {
		return fmt.Errorf("%q is not a duration like 10m", args[1])
	}
	user, err := c.userID(ctx, args[0])
	if err != nil {
		return err
	}
	var until time.Time
	if d > 0 {
		until = time.Now().Add(d)
	}
	return c.client.Groups().Mute(ctx, g, user, until)
}

func (c *Chat) leaveCmd(ctx context.Context, _ []string) error {
	g, err := c.group()
	if err != nil {
		return err
	}
	return c.client.Groups().Leave(ctx, g)
}
