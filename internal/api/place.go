package api

import (
	"context"
	"math"

	"github.com/skein-im/skein/internal/contract"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/wire"
)

// maxTestText is the longest text that is held against the rules on request, in bytes.
const maxTestText = 16 << 10

func (c *Calls) placeRows() []row {
	return []row{
		newRow("AccountService/GetAnnouncements", Known, ClassRead, small, c.getAnnouncements),
		newRow("AdminService/GetHealth", Staff, ClassAdmin, small, c.getHealth),
		newRow("AdminService/Announce", Admins, ClassAdmin, entry, c.announce),
		newRow("AdminService/WithdrawAnnouncement", Admins, ClassAdmin, small, c.withdrawAnnouncement),
		newRow("AdminService/ListFilterRules", Staff, ClassAdmin, small, c.listFilterRules),
		newRow("AdminService/AddFilterRule", Admins, ClassAdmin, small, c.addFilterRule),
		newRow("AdminService/RemoveFilterRule", Admins, ClassAdmin, small, c.removeFilterRule),
		newRow("AdminService/TestFilter", Staff, ClassAdmin, draft, c.testFilter),
	}
}

func (c *Calls) getHealth(ctx context.Context, _ im.Actor, _ *wire.GetHealthRequest) (*wire.GetHealthResponse, error) {
	if c.Health == nil {
		return nil, im.Errorf(im.CodeUnimplemented, "this server does not tell how it is")
	}
	h, err := c.Health(ctx)
	if err != nil {
		return nil, err
	}
	return &wire.GetHealthResponse{Health: wireHealth(&h)}, nil
}

func (c *Calls) getAnnouncements(context.Context, im.Actor, *wire.GetAnnouncementsRequest) (*wire.GetAnnouncementsResponse, error) {
	if c.Announcements == nil {
		return &wire.GetAnnouncementsResponse{}, nil
	}
	w := contract.Announcements(c.Announcements.Current())
	return &wire.GetAnnouncementsResponse{Announcements: w.Announcements, Revision: w.Revision}, nil
}

func (c *Calls) announce(ctx context.Context, _ im.Actor, r *wire.AnnounceRequest) (*wire.AnnounceResponse, error) {
	until, err := moment("untilMs", r.GetUntilMs())
	if err := first(err, knownEnum("level", r.GetLevel(), wire.AnnouncementLevel_name)); err != nil {
		return nil, err
	}
	if c.Announcements == nil {
		return nil, im.Errorf(im.CodeUnimplemented, "this server announces nothing")
	}
	a := im.Announcement{Warning: r.GetLevel() == wire.AnnouncementLevel_ANNOUNCEMENT_LEVEL_WARNING, Text: r.GetText(), Until: until, Stays: r.GetStays()}
	for _, t := range r.GetTexts() {
		a.Texts = append(a.Texts, im.AnnouncementText{Language: t.GetLanguage(), Text: t.GetText()})
	}
	a, err = c.Announcements.Add(ctx, a)
	if err != nil {
		return nil, err
	}
	return &wire.AnnounceResponse{Announcement: contract.Announcement(&a)}, nil
}

func (c *Calls) withdrawAnnouncement(ctx context.Context, _ im.Actor, r *wire.WithdrawAnnouncementRequest) (*wire.WithdrawAnnouncementResponse, error) {
	if err := listID(r.GetId()); err != nil {
		return nil, err
	}
	if c.Announcements == nil {
		return nil, im.Errorf(im.CodeNotFound, "no such announcement")
	}
	if err := c.Announcements.Withdraw(ctx, r.GetId()); err != nil {
		return nil, err
	}
	return &wire.WithdrawAnnouncementResponse{}, nil
}

// listID checks the id of something in a list of the deployment's.
func listID(id string) error {
	if !im.ValidID(id) {
		return im.Wrong("id", "must match [A-Za-z0-9_-]{1,64}")
	}
	return nil
}

var errNoFilter = im.Errorf(im.CodeUnimplemented, "this server has no filter")

func (c *Calls) listFilterRules(ctx context.Context, _ im.Actor, _ *wire.ListFilterRulesRequest) (*wire.ListFilterRulesResponse, error) {
	if c.Filter == nil {
		return nil, errNoFilter
	}
	all, err := c.Filter.All(ctx)
	if err != nil {
		return nil, err
	}
	return &wire.ListFilterRulesResponse{Rules: wireRules(all)}, nil
}

func wireRules(all []im.FilterRule) (rules []*wire.FilterRule) {
	for i := range all {
		rules = append(rules, wireRule(&all[i]))
	}
	return rules
}

func wireRule(r *im.FilterRule) *wire.FilterRule {
	return &wire.FilterRule{
		Id: r.ID, Kind: wire.FilterKind(r.Kind), Pattern: r.Pattern, Part: r.Part, Action: wire.FilterAction(r.Action), Scope: wire.FilterScope(r.Scope),
		Exempt: wire.ServerRole(r.Exempt), Note: r.Note, CreatedAtMs: contract.Millis(r.Created), CreatedBy: string(r.By),
	}
}

func (c *Calls) addFilterRule(ctx context.Context, actor im.Actor, r *wire.AddFilterRuleRequest) (*wire.AddFilterRuleResponse, error) {
	w := r.GetRule()
	if w == nil {
		return nil, im.Wrong("rule", "is missing")
	}
	if err := first(
		knownEnum("rule.kind", w.GetKind(), wire.FilterKind_name), knownEnum("rule.action", w.GetAction(), wire.FilterAction_name),
		knownEnum("rule.scope", w.GetScope(), wire.FilterScope_name), knownEnum("rule.exempt", w.GetExempt(), wire.ServerRole_name),
	); err != nil {
		return nil, err
	}
	if c.Filter == nil {
		return nil, errNoFilter
	}
	rule, err := c.Filter.Add(ctx, im.FilterRule{
		Kind: im.FilterKind(w.GetKind()), Pattern: w.GetPattern(), Part: w.GetPart(), Action: im.FilterAction(w.GetAction()), Scope: im.FilterScope(w.GetScope()),
		Exempt: im.ServerRole(w.GetExempt()), Note: w.GetNote(), By: actor.User,
	})
	if err != nil {
		return nil, err
	}
	return &wire.AddFilterRuleResponse{Rule: wireRule(&rule)}, nil
}

func (c *Calls) removeFilterRule(ctx context.Context, _ im.Actor, r *wire.RemoveFilterRuleRequest) (*wire.RemoveFilterRuleResponse, error) {
	if err := listID(r.GetId()); err != nil {
		return nil, err
	}
	if c.Filter == nil {
		return nil, errNoFilter
	}
	if err := c.Filter.Remove(ctx, r.GetId()); err != nil {
		return nil, err
	}
	return &wire.RemoveFilterRuleResponse{}, nil
}

func (c *Calls) testFilter(_ context.Context, _ im.Actor, r *wire.TestFilterRequest) (*wire.TestFilterResponse, error) {
	switch n := len(r.GetText()); {
	case n == 0:
		return nil, im.Wrong("text", "is missing")
	case n > maxTestText:
		return nil, im.TooLarge("text", "has %d bytes; at most %d are allowed", n, maxTestText)
	case c.Filter == nil:
		return nil, errNoFilter
	}
	return &wire.TestFilterResponse{Rules: wireRules(c.Filter.Test(r.GetText()))}, nil
}

func wireHealth(h *im.Health) *wire.Health {
	w := &wire.Health{
		AtMs: contract.Millis(h.At), Version: h.Version, GoVersion: h.Go, Node: h.Node, StartedAtMs: contract.Millis(h.Started),
		Ready: h.Ready, Reasons: h.Reasons, Warnings: h.Warnings, Connections: uint32(h.Connections), UsersOnline: uint32(h.Users),
		Stored: h.Stored, StoredPerMinute: uint64(math.Round(60 * h.StoredPerSecond)), SendsWaiting: uint32(h.SendsWaiting), SendsMost: uint32(h.SendsMost),
		Refused: wireCounts(h.Refused), MemoryBytes: h.Memory, Goroutines: uint32(h.Goroutines), OpenFiles: uint32(h.Files), OpenFilesMost: uint32(h.FilesMost),
		Later: &wire.LaterHealth{
			Scheduled: h.Later.Scheduled, Due: h.Later.Due, Timers: h.Later.Timers, TimersDue: h.Later.TimersDue, Erasures: h.Later.Erasures, Promises: h.Later.Promises,
		},
	}
	for _, n := range h.Nodes {
		w.Nodes = append(w.Nodes, &wire.NodeHealth{Name: n.Name, Roles: n.Roles, Ready: n.Ready, HeardAtMs: contract.Millis(n.Heard), Self: n.Self})
	}
	for _, s := range h.Stores {
		w.Stores = append(w.Stores, &wire.StoreHealth{Name: s.Name, Kind: s.Kind, Bytes: s.Bytes, FreeBytes: s.Free, Durability: s.Durability, Trouble: s.Trouble})
	}
	for _, f := range h.Followers {
		w.Followers = append(w.Followers, &wire.FollowerHealth{Name: f.Name, Behind: f.Behind, BehindMs: uint64(max(f.Lag, 0).Milliseconds()), SetAside: f.SetAside, Here: f.Here})
	}
	if p := h.Push; p != nil {
		w.Push = &wire.PushHealth{Subscriptions: p.Subscriptions, Waiting: p.Waiting, Failing: p.Failing, OldestMs: uint64(max(p.Oldest, 0).Milliseconds()), Results: wireCounts(p.Results)}
	}
	for _, k := range h.Certificates {
		w.Certificates = append(w.Certificates, &wire.CertificateHealth{Names: k.Names, NotAfterMs: contract.Millis(k.NotAfter), Source: k.Source, Trouble: k.Trouble})
	}
	return w
}

func wireCounts(all []im.CodeCount) (out []*wire.CodeCount) {
	for _, n := range all {
		out = append(out, &wire.CodeCount{Code: n.Code, Count: n.Count})
	}
	return out
}
