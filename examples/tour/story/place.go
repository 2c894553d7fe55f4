package story

import "github.com/skein-im/skein/wire"

// place: an administrator looks how the server is, tells everybody something, and says what is
// not allowed.
func place(t *teller, boss *person) {
	var health wire.GetHealthResponse
	t.call(boss, "AdminService/GetHealth", &wire.GetHealthRequest{}, &health)
	t.check(health.Health.GetReady() && len(health.Health.GetNodes()) > 0 && len(health.Health.GetStores()) > 1, "the server is well", health.Health)
	t.refused(t.bob, "AdminService/GetHealth", &wire.GetHealthRequest{}, wire.CodePermissionDenied)

	var told wire.AnnounceResponse
	t.call(boss, "AdminService/Announce", &wire.AnnounceRequest{Text: "The bazaar is closed " + t.tag}, &told)
	var all wire.GetAnnouncementsResponse
	t.call(t.bob, "AccountService/GetAnnouncements", &wire.GetAnnouncementsRequest{}, &all)
	found := false
	for _, a := range all.Announcements {
		found = found || a.Id == told.Announcement.GetId()
	}
	t.check(found, "Bob reads what is announced", &all)
	t.call(boss, "AdminService/WithdrawAnnouncement", &wire.WithdrawAnnouncementRequest{Id: told.Announcement.GetId()}, new(wire.WithdrawAnnouncementResponse))

	var added wire.AddFilterRuleResponse
	word := "bazaar" + t.tag
	t.call(boss, "AdminService/AddFilterRule", &wire.AddFilterRuleRequest{Rule: &wire.FilterRule{Kind: wire.FilterKind_FILTER_KIND_WORD, Pattern: word, Action: wire.FilterAction_FILTER_ACTION_REFUSE}}, &added)
	t.refused(t.bob, "GroupService/CreateGroup", &wire.CreateGroupRequest{Name: "the new " + word}, wire.CodeFiltered)
	var broken wire.TestFilterResponse
	t.call(boss, "AdminService/TestFilter", &wire.TestFilterRequest{Text: "come to " + word + "!"}, &broken)
	t.check(len(broken.Rules) == 1 && broken.Rules[0].Id == added.Rule.GetId(), "it tells the rule", &broken)
	var rules wire.ListFilterRulesResponse
	t.call(boss, "AdminService/ListFilterRules", &wire.ListFilterRulesRequest{}, &rules)
	t.check(len(rules.Rules) > 0, "the rules", &rules)
	t.call(boss, "AdminService/RemoveFilterRule", &wire.RemoveFilterRuleRequest{Id: added.Rule.GetId()}, new(wire.RemoveFilterRuleResponse))
}
