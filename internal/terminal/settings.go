package terminal

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/skein-im/skein/wire"
)

// setting is one that /set changes: set fills it into a request and reports whether
// it knows the value.
type setting struct {
	name, values string
	set          func(r *wire.UpdateGroupRequest, value string) bool
}

var powers = map[string]wire.GroupPower{"all": wire.GroupPower_GROUP_POWER_ALL, "admins": wire.GroupPower_GROUP_POWER_ADMINS}

func groupSettings() []setting {
	return []setting{
		{"picture", "https://… or nothing", func(r *wire.UpdateGroupRequest, v string) bool { r.Picture = proto.String(v); return true }},
		{"description", "text", func(r *wire.UpdateGroupRequest, v string) bool { r.Description = proto.String(v); return true }},
		{"announcement", "text", func(r *wire.UpdateGroupRequest, v string) bool { r.Announcement = proto.String(v); return true }},
		{"add", "all or admins", func(r *wire.UpdateGroupRequest, v string) bool { r.WhoMayAdd = powers[v]; return r.WhoMayAdd != 0 }},
		{"post", "all or admins", func(r *wire.UpdateGroupRequest, v string) bool { r.WhoMayPost = powers[v]; return r.WhoMayPost != 0 }},
		{"pin", "all or admins", func(r *wire.UpdateGroupRequest, v string) bool { r.WhoMayPin = powers[v]; return r.WhoMayPin != 0 }},
		{"join", "open, approval or invitation", func(r *wire.UpdateGroupRequest, v string) bool {
			r.Join = wire.JoinMode(wire.JoinMode_value["JOIN_MODE_"+strings.ToUpper(v)])
			return r.Join != 0
		}},
		{"history", "joining or all", func(r *wire.UpdateGroupRequest, v string) bool {
			r.History = map[string]wire.GroupHistory{"joining": wire.GroupHistory_GROUP_HISTORY_FROM_JOINING, "all": wire.GroupHistory_GROUP_HISTORY_ALL}[v]
			return r.History != 0
		}},
		{"muteall", "on or off", func(r *wire.UpdateGroupRequest, v string) bool {
			r.MutedAll = proto.Bool(v == "on")
			return v == "on" || v == "off"
		}},
		{"slow", "seconds, 0 to end it", func(r *wire.UpdateGroupRequest, v string) bool {
			n, err := strconv.ParseUint(v, 10, 32)
			r.SlowModeS = proto.Uint32(uint32(n))
			return err == nil
		}},
	}
}

func settingNames() string {
	var names []string
	for _, s := range groupSettings() {
		names = append(names, s.name)
	}
	return strings.Join(names, " ")
}

func (c *Chat) setCmd(ctx context.Context, args []string) error {
	g, err := c.group()
	if err != nil {
		return err
	}
	for _, s := range groupSettings() {
		if s.name != args[0] {
			continue
		}
		req := &wire.UpdateGroupRequest{Conversation: g}
		if !s.set(req, strings.Join(args[1:], " ")) {
			return fmt.Errorf("/set %s: want %s", s.name, s.values)
		}
		_, err := c.client.Groups().Update(ctx, req)
		return err
	}
	return fmt.Errorf("/set knows %s", settingNames())
}

func (c *Chat) infoCmd(ctx context.Context, _ []string) error {
	id, err := c.group()
	if err != nil {
		return err
	}
	g, err := c.client.Groups().Get(ctx, id)
	if err != nil {
		return err
	}
	c.printf("  %s, %d members, you are %s\n", clean(g.Name), g.Members, short(g.Role.String(), "ROLE_"))
	c.printf("  %s\n", changes(&wire.GroupChange{
		Picture: &g.Picture, Description: &g.Description, Announcement: &g.Announcement, Extra: g.Extra, WhoMayAdd: g.WhoMayAdd, WhoMayPost: g.WhoMayPost,
		WhoMayMentionAll: g.WhoMayMentionAll, WhoMayPin: g.WhoMayPin, Join: g.Join, History: g.History, MutedAll: &g.MutedAll, SlowModeS: &g.SlowModeS,
	}))
	return nil
}

// changes puts what changed of a group into words.
func changes(g *wire.GroupChange) string {
	var parts []string
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	if g == nil {
		g = &wire.GroupChange{}
	}
	for _, t := range []struct {
		name string
		text *string
	}{{"picture", g.Picture}, {"description", g.Description}, {"announcement", g.Announcement}} {
		if t.text != nil {
			add("%s “%s”", t.name, clean(*t.text))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(g.GetExtra())) {
		add("%s “%s”", clean(key), clean(g.Extra[key]))
	}
	for _, v := range [...]struct{ name, value, prefix string }{
		{"add", g.GetWhoMayAdd().String(), "GROUP_POWER_"}, {"post", g.GetWhoMayPost().String(), "GROUP_POWER_"},
		{"mention all", g.GetWhoMayMentionAll().String(), "GROUP_POWER_"}, {"pin", g.GetWhoMayPin().String(), "GROUP_POWER_"},
		{"join", g.GetJoin().String(), "JOIN_MODE_"}, {"history", g.GetHistory().String(), "GROUP_HISTORY_"},
	} {
		if value := short(v.value, v.prefix); value != "unspecified" {
			add("%s: %s", v.name, value)
		}
	}
	if g.MutedAll != nil {
		add("all muted: %t", *g.MutedAll)
	}
	if g.SlowModeS != nil {
		add("slow mode: %d s", *g.SlowModeS)
	}
	if len(parts) == 0 {
		return "see /info"
	}
	return strings.Join(parts, ", ")
}

// short is the name of an enum's value without its type.
func short(value, prefix string) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(value, prefix)), "_", " ")
}
