package terminal

import (
	"context"
	"fmt"
	"strconv"
	"time"
)

func (c *Chat) dismissCmd(ctx context.Context, _ []string) error {
	g, err := c.group()
	if err != nil {
		return err
	}
	return c.client.Groups().Dismiss(ctx, g)
}

func (c *Chat) linkCmd(ctx context.Context, args []string) error {
	g, err := c.group()
	if err != nil {
		return err
	}
	var uses uint64
	var until time.Time
	for _, arg := range args {
		if n, err := strconv.ParseUint(arg, 10, 32); err == nil {
			uses = n
			continue
		}
		d, err := time.ParseDuration(arg)
		if err != nil || d <= 0 {
			return fmt.Errorf("%q is neither a number of uses nor a duration like 24h", arg)
		}
		until = time.Now().Add(d)
	}
	l, err := c.client.Groups().CreateLink(ctx, g, until, uint32(uses))
	if err != nil {
		return err
	}
	c.printf("        ● /join %s\n", l.Code)
	return nil
}

func (c *Chat) linksCmd(ctx context.Context, _ []string) error {
	g, err := c.group()
	if err != nil {
		return err
	}
	all, err := c.client.Groups().Links(ctx, g)
	if err != nil {
		return err
	}
	for _, l := range all {
		most := ""
		if l.MaxUses != 0 {
			most = fmt.Sprintf(" of %d", l.MaxUses)
		}
		c.printf("  %s  by %s, used %d%s%s\n", l.Code, c.name(ctx, l.Creator), l.Uses, most, because("", l.ExpiresAtMs))
	}
	return nil
}

func (c *Chat) unlinkCmd(ctx context.Context, args []string) error {
	g, err := c.group()
	if err != nil {
		return err
	}
	return c.client.Groups().RevokeLink(ctx, g, args[0])
}

func (c *Chat) requestsCmd(ctx context.Context, _ []string) error {
	g, err := c.group()
	if err != nil {
		return err
	}
	all, err := c.client.Groups().Requests(ctx, g)
	if err != nil {
		return err
	}
	for _, r := range all {
		c.printf("  %-20s%s\n", c.name(ctx, r.User), because(r.Text, r.ExpiresAtMs))
	}
	return nil
}

func (c *Chat) approveCmd(ctx context.Context, args []string) error {
	return c.answer(ctx, args[0], c.client.Groups().Approve)
}

func (c *Chat) turndownCmd(ctx context.Context, args []string) error {
	return c.answer(ctx, args[0], c.client.Groups().RefuseJoin)
}

// answer does something to somebody in the open group.
func (c *Chat) answer(ctx context.Context, name string, do func(ctx context.Context, group, user string) error) error {
	g, err := c.group()
	if err != nil {
		return err
	}
	user, err := c.userID(ctx, name)
	if err != nil {
		return err
	}
	return do(ctx, g, user)
}
