package skein

import (
	"context"
	"strings"

	"github.com/skein-im/skein/wire"
)

// Announcements tells what the deployment announces to everybody, the newest first (SPEC
// §3.25). Ask after each StateConnected; an AnnouncementsEvent tells of changes between.
func (c *Client) Announcements(ctx context.Context) ([]*wire.Announcement, error) {
	var resp wire.GetAnnouncementsResponse
	err := c.Call(ctx, accountService+"GetAnnouncements", &wire.GetAnnouncementsRequest{}, &resp)
	return resp.Announcements, err
}

// AnnouncementText is what an announcement says to somebody who reads these languages (tags
// of BCP 47, the preferred one first): in the first of them that it is in, as a whole or as
// its language alone; otherwise its own text.
func AnnouncementText(a *wire.Announcement, languages ...string) string {
	for _, want := range languages {
		for _, exact := range []bool{true, false} {
			for _, t := range a.GetTexts() {
				if strings.EqualFold(t.GetLanguage(), want) || !exact && strings.EqualFold(base(t.GetLanguage()), base(want)) {
					return t.GetText()
				}
			}
		}
	}
	return a.GetText()
}

func base(tag string) string {
	b, _, _ := strings.Cut(tag, "-")
	return b
}

// Health tells how the deployment is, for who has a role on the server.
func (a Admin) Health(ctx context.Context) (*wire.Health, error) {
	var resp wire.GetHealthResponse
	err := a.call(ctx, adminService+"GetHealth", &wire.GetHealthRequest{}, &resp)
	return resp.Health, err
}

// Announce tells everybody something.
func (a Admin) Announce(ctx context.Context, req *wire.AnnounceRequest) (*wire.Announcement, error) {
	var resp wire.AnnounceResponse
	err := a.call(ctx, adminService+"Announce", req, &resp)
	return resp.Announcement, err
}

// Withdraw takes an announcement back.
func (a Admin) Withdraw(ctx context.Context, id string) error {
	return a.call(ctx, adminService+"WithdrawAnnouncement", &wire.WithdrawAnnouncementRequest{Id: id}, &wire.WithdrawAnnouncementResponse{})
}

// FilterRules lists the words and links that are not allowed, or reported.
func (a Admin) FilterRules(ctx context.Context) ([]*wire.FilterRule, error) {
	var resp wire.ListFilterRulesResponse
	err := a.call(ctx, adminService+"ListFilterRules", &wire.ListFilterRulesRequest{}, &resp)
	return resp.Rules, err
}

// AddFilterRule adds a rule. ErrAlreadyExists: there is the same one.
func (a Admin) AddFilterRule(ctx context.Context, rule *wire.FilterRule) (*wire.FilterRule, error) {
	var resp wire.AddFilterRuleResponse
	err := a.call(ctx, adminService+"AddFilterRule", &wire.AddFilterRuleRequest{Rule: rule}, &resp)
	return resp.Rule, err
}

// RemoveFilterRule takes a rule away.
func (a Admin) RemoveFilterRule(ctx context.Context, id string) error {
	return a.call(ctx, adminService+"RemoveFilterRule", &wire.RemoveFilterRuleRequest{Id: id}, &wire.RemoveFilterRuleResponse{})
}

// TestFilter tells which rules a text breaks.
func (a Admin) TestFilter(ctx context.Context, text string) ([]*wire.FilterRule, error) {
	var resp wire.TestFilterResponse
	err := a.call(ctx, adminService+"TestFilter", &wire.TestFilterRequest{Text: text}, &resp)
	return resp.Rules, err
}
