package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/skein-im/skein/internal/config"
	"github.com/skein-im/skein/wire"
)

// announceCmd is what the server tells everybody.
type announceCmd struct {
	Add      announceAddCmd      `cmd:"" default:"withargs" help:"Tell everybody something (the default: skein announce TEXT)."`
	List     announceListCmd     `cmd:"" help:"List what is announced."`
	Withdraw announceWithdrawCmd `cmd:"" help:"Take an announcement back."`
}

type announceAddCmd struct {
	adminClient `embed:""`
	Text        string            `arg:"" help:"What is said, for who finds none of their languages in --in."`
	In          map[string]string `help:"The same in another language, as --in de='…'; several times." placeholder:"LANGUAGE=TEXT"`
	Warning     bool              `help:"Users should act on it, or it will disturb them."`
	For         config.Duration   `help:"How long it is shown, as 48h; without it until it is withdrawn."`
	Stays       bool              `help:"Users may not put it away."`
}

func (c *announceAddCmd) Run(ctx context.Context) error {
	req := &wire.AnnounceRequest{Text: c.Text, Stays: c.Stays, Level: wire.AnnouncementLevel_ANNOUNCEMENT_LEVEL_INFO}
	if c.Warning {
		req.Level = wire.AnnouncementLevel_ANNOUNCEMENT_LEVEL_WARNING
	}
	if c.For != 0 {
		req.UntilMs = time.Now().Add(time.Duration(c.For)).UnixMilli()
	}
	for language, text := range c.In {
		req.Texts = append(req.Texts, &wire.AnnouncementText{Language: language, Text: text})
	}
	var resp wire.AnnounceResponse
	if err := c.call(ctx, "AdminService/Announce", req, &resp); err != nil {
		return err
	}
	if c.JSON {
		return printJSON(&resp)
	}
	fmt.Println(resp.GetAnnouncement().GetId())
	return nil
}

type announceListCmd struct {
	adminClient `embed:""`
}

func (c *announceListCmd) Run(ctx context.Context) error {
	var resp wire.GetAnnouncementsResponse
	if err := c.call(ctx, "AccountService/GetAnnouncements", &wire.GetAnnouncementsRequest{}, &resp); err != nil {
		return err
	}
	if c.JSON {
		return printJSON(&resp)
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "ANNOUNCEMENT\tLEVEL\tSINCE\tUNTIL\tTEXT")
	for _, a := range resp.Announcements {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%.80q\n", a.Id, strings.ToLower(strings.TrimPrefix(a.Level.String(), "ANNOUNCEMENT_LEVEL_")), day(a.CreatedAtMs), day(a.UntilMs), a.Text)
	}
	return w.Flush()
}

type announceWithdrawCmd struct {
	adminClient `embed:""`
	ID          string `arg:"" name:"announcement" help:"Its id, as skein announce list tells it."`
}

func (c *announceWithdrawCmd) Run(ctx context.Context) error {
	return c.call(ctx, "AdminService/WithdrawAnnouncement", &wire.WithdrawAnnouncementRequest{Id: c.ID}, &wire.WithdrawAnnouncementResponse{})
}

// filterCmd is what may not be said.
type filterCmd struct {
	List   filterListCmd   `cmd:"" help:"List the words and links that are not allowed, or reported."`
	Add    filterAddCmd    `cmd:"" help:"Add one; it counts at once."`
	Remove filterRemoveCmd `cmd:"" help:"Take one away."`
	Test   filterTestCmd   `cmd:"" help:"Tell which rules a text breaks."`
}

type filterListCmd struct {
	adminClient `embed:""`
}

func (c *filterListCmd) Run(ctx context.Context) error {
	var resp wire.ListFilterRulesResponse
	if err := c.call(ctx, "AdminService/ListFilterRules", &wire.ListFilterRulesRequest{}, &resp); err != nil {
		return err
	}
	if c.JSON {
		return printJSON(&resp)
	}
	return printRules(resp.Rules)
}

// filterScopes are where rules hold, as it is typed.
var filterScopes = map[string]wire.FilterScope{
	"everywhere": wire.FilterScope_FILTER_SCOPE_UNSPECIFIED, "groups": wire.FilterScope_FILTER_SCOPE_GROUPS, "strangers": wire.FilterScope_FILTER_SCOPE_STRANGERS,
}

func scopeName(s wire.FilterScope) string {
	for name, scope := range filterScopes {
		if scope == s {
			return name
		}
	}
	return s.String()
}

func printRules(rules []*wire.FilterRule) error {
	w := tabwriter.NewWriter(os.Stdout, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "RULE\tKIND\tPATTERN\tDOES\tWHERE\tNOT FOR\tSINCE\tNOTE")
	for _, r := range rules {
		kind := strings.ToLower(strings.TrimPrefix(r.Kind.String(), "FILTER_KIND_"))
		if r.Part {
			kind += ", also inside words"
		}
		exempt := "-"
		if r.Exempt != wire.ServerRole_SERVER_ROLE_UNSPECIFIED {
			exempt = strings.ToLower(strings.TrimPrefix(r.Exempt.String(), "SERVER_ROLE_")) + " and greater"
		}
		fmt.Fprintf(w, "%s\t%s\t%q\t%s\t%s\t%s\t%s\t%s\n", r.Id, kind, r.Pattern, strings.ToLower(strings.TrimPrefix(r.Action.String(), "FILTER_ACTION_")), scopeName(r.Scope), exempt, day(r.CreatedAtMs), r.Note)
	}
	return w.Flush()
}

type filterAddCmd struct {
	adminClient `embed:""`
	Pattern     string `arg:"" help:"A word or a phrase, or with --link a host, as example.com."`
	Link        bool   `help:"It is a host of links, with all below it."`
	Part        bool   `help:"Also inside longer words."`
	Report      bool   `help:"Let it through, and report it to the moderators; without it, it is refused."`
	Where       string `enum:"everywhere,groups,strangers" default:"everywhere" help:"everywhere, groups, or strangers: direct chats with somebody who is no contact."`
	NotFor      string `enum:"none,auditor,moderator,admin,owner" default:"none" help:"Who has this role or a greater one is not held to it."`
	Note        string `help:"For the other administrators."`
}

func (c *filterAddCmd) Run(ctx context.Context) error {
	rule := &wire.FilterRule{
		Kind: wire.FilterKind_FILTER_KIND_WORD, Pattern: c.Pattern, Part: c.Part, Action: wire.FilterAction_FILTER_ACTION_REFUSE,
		Scope: filterScopes[c.Where], Exempt: serverRoles[c.NotFor], Note: c.Note,
	}
	if c.Link {
		rule.Kind = wire.FilterKind_FILTER_KIND_LINK
	}
	if c.Report {
		rule.Action = wire.FilterAction_FILTER_ACTION_REPORT
	}
	var resp wire.AddFilterRuleResponse
	if err := c.call(ctx, "AdminService/AddFilterRule", &wire.AddFilterRuleRequest{Rule: rule}, &resp); err != nil {
		return err
	}
	if c.JSON {
		return printJSON(&resp)
	}
	fmt.Println(resp.GetRule().GetId())
	return nil
}

type filterRemoveCmd struct {
	adminClient `embed:""`
	Rule        string `arg:"" help:"Id of the rule, as skein filter list tells it."`
}

func (c *filterRemoveCmd) Run(ctx context.Context) error {
	return c.call(ctx, "AdminService/RemoveFilterRule", &wire.RemoveFilterRuleRequest{Id: c.Rule}, &wire.RemoveFilterRuleResponse{})
}

type filterTestCmd struct {
	adminClient `embed:""`
	Text        string `arg:"" help:"What somebody might say."`
}

func (c *filterTestCmd) Run(ctx context.Context) error {
	var resp wire.TestFilterResponse
	if err := c.call(ctx, "AdminService/TestFilter", &wire.TestFilterRequest{Text: c.Text}, &resp); err != nil {
		return err
	}
	if c.JSON {
		return printJSON(&resp)
	}
	if len(resp.Rules) == 0 {
		fmt.Println("it breaks no rule")
		return nil
	}
	return printRules(resp.Rules)
}

type serverHealthCmd struct {
	adminClient `embed:""`
}

func (c *serverHealthCmd) Run(ctx context.Context) error {
	var resp wire.GetHealthResponse
	if err := c.call(ctx, "AdminService/GetHealth", &wire.GetHealthRequest{}, &resp); err != nil {
		return err
	}
	if c.JSON {
		return printJSON(&resp)
	}
	printHealth(resp.GetHealth())
	return nil
}

func printHealth(h *wire.Health) {
	state := "ready"
	if !h.Ready {
		state = "NOT READY"
	}
	fmt.Printf("skein %s (%s), %s, up %s\n", h.Version, h.GoVersion, state, time.UnixMilli(h.AtMs).Sub(time.UnixMilli(h.StartedAtMs)).Round(time.Second))
	for _, r := range h.Reasons {
		fmt.Println("  not ready:", r)
	}
	for _, r := range h.Warnings {
		fmt.Println("  warning:", r)
	}
	fmt.Printf("connections %d, users online %d\n", h.Connections, h.UsersOnline)
	fmt.Printf("messages: %d entries stored since the start, %.1f a second of late; %d of at most %d sends wait\n", h.Stored, float64(h.StoredPerMinute)/60, h.SendsWaiting, h.SendsMost)
	for _, r := range h.Refused {
		fmt.Printf("  refused %d times: %s\n", r.Count, r.Code)
	}
	fmt.Printf("process: %s of memory, %d goroutines, %d of %d files open\n", megabytes(int64(h.MemoryBytes)), h.Goroutines, h.OpenFiles, h.OpenFilesMost)
	w := tabwriter.NewWriter(os.Stdout, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "\nNODE\tROLES\tSTATE\tHEARD")
	for _, n := range h.Nodes {
		state := "ready"
		if !n.Ready {
			state = "NOT READY"
		}
		heard := time.UnixMilli(h.AtMs).Sub(time.UnixMilli(n.HeardAtMs)).Round(time.Millisecond).String() + " ago"
		if n.Self {
			heard = "this one"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", n.Name, strings.Join(n.Roles, ", "), state, heard)
	}
	fmt.Fprintln(w, "\nSTORE\tKIND\tTAKES\tFREE\tAN ACK WAITS FOR\tTROUBLE")
	for _, s := range h.Stores {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", s.Name, s.Kind, bytesOr(s.Bytes), bytesOr(s.FreeBytes), s.Durability, s.Trouble)
	}
	fmt.Fprintln(w, "\nFOLLOWER\tBEHIND\tFOR\tSET ASIDE\tWORKS")
	for _, f := range h.Followers {
		where := "elsewhere, or nowhere"
		if f.Here {
			where = "here"
		}
		fmt.Fprintf(w, "%s\t%d\t%s\t%d\t%s\n", f.Name, f.Behind, time.Duration(f.BehindMs)*time.Millisecond, f.SetAside, where)
	}
	_ = w.Flush() // to standard output
	if p := h.Push; p != nil {
		fmt.Printf("\npush: %d devices; %d wait, %d of them failed before, the oldest for %s", p.Subscriptions, p.Waiting, p.Failing, time.Duration(p.OldestMs)*time.Millisecond)
		for _, r := range p.Results {
			fmt.Printf("; %s %d", r.Code, r.Count)
		}
		fmt.Println()
	}
	l := h.GetLater()
	fmt.Printf("later: %d messages wait for their time, %d are due; %d timers, %d are due; %d accounts are being deleted; %d changes wait for their entry\n",
		l.GetScheduled(), l.GetDue(), l.GetTimers(), l.GetTimersDue(), l.GetErasures(), l.GetPromises())
	for _, k := range h.Certificates {
		if k.Trouble != "" {
			fmt.Printf("certificate of %s (%s): %s\n", strings.Join(k.Names, ", "), k.Source, k.Trouble)
			continue
		}
		left := time.UnixMilli(k.NotAfterMs).Sub(time.UnixMilli(h.AtMs))
		fmt.Printf("certificate of %s (%s): until %s, %d days\n", strings.Join(k.Names, ", "), k.Source, day(k.NotAfterMs), int(left.Hours()/24))
	}
}

func bytesOr(n uint64) string {
	if n == 0 {
		return "-"
	}
	return megabytes(int64(n))
}
