package terminal

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/skein-im/skein/wire"
)

// findCmd shows the first people whose names begin so.
func (c *Chat) findCmd(ctx context.Context, args []string) error {
	users, next, err := c.client.Users().Search(ctx, strings.Join(args, " "), 0, "")
	if err != nil {
		return err
	}
	for _, u := range users {
		c.printf("  %-20s %s\n", c.remember(u), clean(u.DisplayName))
	}
	switch {
	case next != "":
		c.printf("        · and others\n")
	case len(users) == 0:
		c.printf("        · nobody\n")
	}
	return nil
}

func (c *Chat) tagCmd(ctx context.Context, args []string) error {
	id, err := c.userID(ctx, args[0])
	if err != nil {
		return err
	}
	return c.client.Contacts().SetTags(ctx, id, args[1:]...)
}

// privacyCmd changes who may do something with the user, and shows what is set.
func (c *Chat) privacyCmd(ctx context.Context, args []string) error {
	change := &wire.UpdateProfileRequest{}
	if len(args) > 0 {
		who := strings.ToUpper(strings.Join(args[1:], " "))
		known := false
		switch args[0] {
		case "find":
			change.FindPolicy = wire.FindPolicy(wire.FindPolicy_value["FIND_POLICY_"+who])
			known = change.FindPolicy != 0
		case "write":
			change.DmPolicy = wire.DmPolicy(wire.DmPolicy_value["DM_POLICY_"+strings.Replace(who, "ANYONE", "EVERYONE", 1)])
			known = change.DmPolicy != 0
		case "groups":
			change.GroupPolicy = wire.GroupPolicy(wire.GroupPolicy_value["GROUP_POLICY_"+who])
			known = change.GroupPolicy != 0
		case "presence":
			change.PresencePolicy = wire.PresencePolicy(wire.PresencePolicy_value["PRESENCE_POLICY_"+strings.Replace(who, "ANYONE", "EVERYONE", 1)])
			known = change.PresencePolicy != 0
		case "reads":
			hide := who == "NOBODY"
			change.HideReads, known = &hide, hide || who == "ANYONE"
		}
		if !known {
			return fmt.Errorf("%q: want find, write, groups, presence or reads, and anyone, contacts or nobody (reads: anyone or nobody)", strings.Join(args, " "))
		}
	}
	p, err := c.client.Users().Update(ctx, change) // without a change it only tells
	if err != nil {
		return err
	}
	word := func(name string) string { return strings.ToLower(name[strings.LastIndexByte(name, '_')+1:]) }
	reads := map[bool]string{true: "nobody", false: "anyone"}[p.HideReads]
	c.printf("        · find %s, write %s, groups %s, presence %s, reads %s\n",
		word(p.FindPolicy.String()), word(p.DmPolicy.String()), word(p.GroupPolicy.String()), word(p.PresencePolicy.String()), reads)
	return nil
}

// profileCmd changes one field of what the user shows.
func (c *Chat) profileCmd(ctx context.Context, args []string) error {
	text := strings.Join(args[1:], " ")
	change := &wire.UpdateProfileRequest{}
	switch args[0] {
	case "name":
		change.DisplayName = &text
	case "picture":
		change.Picture = &text
	case "about":
		change.About = &text
	default:
		change.Extra = map[string]string{args[0]: text}
	}
	_, err := c.client.Users().Update(ctx, change)
	return err
}

// whoCmd shows somebody's profile.
func (c *Chat) whoCmd(ctx context.Context, args []string) error {
	id, err := c.userID(ctx, args[0])
	if err != nil {
		return err
	}
	users, err := c.client.Users().Get(ctx, id)
	if err != nil || len(users) == 0 {
		return cmp.Or(err, fmt.Errorf("there is no %s", args[0]))
	}
	u := users[0]
	c.printf("  %-20s %s\n", c.remember(u), clean(u.DisplayName))
	for _, f := range [][2]string{{"about", u.About}, {"picture", u.Picture}} {
		if f[1] != "" {
			c.printf("  %-20s %s\n", f[0], clean(f[1]))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(u.Extra)) {
		c.printf("  %-20s %s\n", clean(key), clean(u.Extra[key]))
	}
	return nil
}
