package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"text/tabwriter"

	"google.golang.org/protobuf/proto"

	"github.com/skein-im/skein/wire"
)

// groupCmd is what who looks after a server does with any group.
type groupCmd struct {
	List  groupListCmd  `cmd:"" help:"List groups, or find them by what is in their names."`
	Show  groupShowCmd  `cmd:"" help:"Show who is in a group."`
	Owner groupOwnerCmd `cmd:"" help:"Make a user the owner of a group."`
	Close groupCloseCmd `cmd:"" help:"Dismiss a group, for ever."`
}

type groupListCmd struct {
	adminClient `embed:""`
	Query       string `arg:"" optional:"" help:"What is in the name, or the whole id (grp:…)."`
}

func (c *groupListCmd) Run(ctx context.Context) error {
	all := &wire.ListGroupsResponse{}
	for cursor := ""; ; {
		var page wire.ListGroupsResponse
		if err := c.call(ctx, "AdminService/ListGroups", &wire.ListGroupsRequest{Limit: 500, Cursor: cursor, Query: c.Query}, &page); err != nil {
			return err
		}
		all.Groups = append(all.Groups, page.Groups...)
		if cursor = page.Next; cursor == "" {
			break
		}
	}
	if c.JSON {
		return printJSON(all)
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "GROUP\tNAME\tOWNER\tMEMBERS\tCREATED")
	for _, g := range all.Groups {
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%s\n", g.Conversation, g.Name, g.Owner, g.Members, day(g.CreatedAtMs))
	}
	return w.Flush()
}

type groupShowCmd struct {
	adminClient `embed:""`
	Group       string `arg:"" help:"grp:…"`
}

func (c *groupShowCmd) Run(ctx context.Context) error {
	all := &wire.InspectGroupResponse{}
	for cursor := ""; ; {
		var page wire.InspectGroupResponse
		if err := c.call(ctx, "AdminService/InspectGroup", &wire.InspectGroupRequest{Conversation: c.Group, Limit: 1000, Cursor: cursor}, &page); err != nil {
			return err
		}
		all.Group, all.Members = page.Group, append(all.Members, page.Members...)
		if cursor = page.Next; cursor == "" {
			break
		}
	}
	if c.JSON {
		return printJSON(all)
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "USER\tROLE\tJOINED")
	for _, m := range all.Members {
		fmt.Fprintf(w, "%s\t%s\t%s\n", m.User, strings.ToLower(strings.TrimPrefix(m.Role.String(), "ROLE_")), day(m.JoinedAtMs))
	}
	return w.Flush()
}

type groupOwnerCmd struct {
	adminClient `embed:""`
	Group       string `arg:"" help:"grp:…"`
	userRef     `embed:""`
}

func (c *groupOwnerCmd) Run(ctx context.Context) error {
	id, err := c.id(ctx, &c.adminClient)
	if err != nil {
		return err
	}
	return c.call(ctx, "AdminService/SetGroupOwner", &wire.SetGroupOwnerRequest{Conversation: c.Group, User: id}, &wire.SetGroupOwnerResponse{})
}

type groupCloseCmd struct {
	adminClient `embed:""`
	sure        `embed:""`
	Group       string `arg:"" help:"grp:…"`
}

func (c *groupCloseCmd) Run(ctx context.Context) error {
	var is wire.InspectGroupResponse
	if err := c.call(ctx, "AdminService/InspectGroup", &wire.InspectGroupRequest{Conversation: c.Group, Limit: 1}, &is); err != nil {
		return err
	}
	if err := c.ask(fmt.Sprintf("The group %q (%s), with %d members, is dismissed for ever.", is.Group.GetName(), c.Group, is.Group.GetMembers()), groupName(is.Group)); err != nil {
		return err
	}
	return c.call(ctx, "AdminService/CloseGroup", &wire.CloseGroupRequest{Conversation: c.Group}, &wire.CloseGroupResponse{})
}

// reportCmd is the queue of what members reported.
type reportCmd struct {
	List   reportListCmd   `cmd:"" help:"List what members reported, the newest first."`
	Show   reportShowCmd   `cmd:"" help:"Show a report, with what was said around the message, as JSON."`
	Decide reportDecideCmd `cmd:"" help:"Say what became of a report."`
	Recall reportRecallCmd `cmd:"" help:"Take back the message of a report."`
}

var reportStates = map[string]wire.ReportState{
	"any": wire.ReportState_REPORT_STATE_UNSPECIFIED, "open": wire.ReportState_REPORT_STATE_OPEN, "resolved": wire.ReportState_REPORT_STATE_RESOLVED,
	"dismissed": wire.ReportState_REPORT_STATE_DISMISSED,
}

type reportListCmd struct {
	adminClient `embed:""`
	State       string `enum:"any,open,resolved,dismissed" default:"open" help:"open, resolved, dismissed or any."`
}

func (c *reportListCmd) Run(ctx context.Context) error {
	all := &wire.ListReportsResponse{}
	for cursor := ""; ; {
		var page wire.ListReportsResponse
		if err := c.call(ctx, "AdminService/ListReports", &wire.ListReportsRequest{Limit: 200, Cursor: cursor, State: reportStates[c.State]}, &page); err != nil {
			return err
		}
		all.Reports = append(all.Reports, page.Reports...)
		if cursor = page.Next; cursor == "" {
			break
		}
	}
	if c.JSON {
		return printJSON(all)
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "REPORT\tSTATE\tREASON\tAUTHOR\tREPORTER\tREPORTED\tSAID")
	for _, r := range all.Reports {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%.60q\n", r.Id, strings.ToLower(strings.TrimPrefix(r.State.String(), "REPORT_STATE_")),
			strings.ToLower(strings.TrimPrefix(r.Reason.String(), "REPORT_REASON_")), r.Author, r.Reporter, day(r.CreatedAtMs), r.Said)
	}
	return w.Flush()
}

// reportRef is a report.
type reportRef struct {
	Report string `arg:"" help:"Id of the report, as skein report list tells it."`
}

type reportShowCmd struct {
	adminClient `embed:""`
	reportRef   `embed:""`
	Around      uint32 `help:"Entries before and after the message, at most 50." default:"10"`
}

func (c *reportShowCmd) Run(ctx context.Context) error {
	var resp wire.GetReportResponse
	if err := c.call(ctx, "AdminService/GetReport", &wire.GetReportRequest{Id: c.Report, Around: c.Around}, &resp); err != nil {
		return err
	}
	return printJSON(&resp)
}

type reportDecideCmd struct {
	adminClient `embed:""`
	reportRef   `embed:""`
	State       string `arg:"" enum:"open,resolved,dismissed" help:"resolved, dismissed, or open again."`
	Note        string `help:"What was done, for the other moderators."`
}

func (c *reportDecideCmd) Run(ctx context.Context) error {
	return c.call(ctx, "AdminService/DecideReport", &wire.DecideReportRequest{Id: c.Report, State: reportStates[c.State], Note: c.Note}, &wire.DecideReportResponse{})
}

type reportRecallCmd struct {
	adminClient `embed:""`
	reportRef   `embed:""`
}

func (c *reportRecallCmd) Run(ctx context.Context) error {
	var r wire.GetReportResponse
	if err := c.call(ctx, "AdminService/GetReport", &wire.GetReportRequest{Id: c.Report, Around: 1}, &r); err != nil {
		return err
	}
	return c.call(ctx, "AdminService/TakeBackMessage", &wire.TakeBackMessageRequest{Conversation: r.Report.GetConversation(), Seq: r.Report.GetSeq()}, &wire.TakeBackMessageResponse{})
}

// serverCmd is what the server tells everybody of itself.
type serverCmd struct {
	Info   serverInfoCmd   `cmd:"" help:"Show the name of the place, its picture, and who may register."`
	Set    serverSetCmd    `cmd:"" help:"Change them, from now on."`
	Health serverHealthCmd `cmd:"" help:"Show how the server is: stores, queues, nodes, certificates."`
}

type serverInfoCmd struct {
	adminClient `embed:""`
}

func (c *serverInfoCmd) Run(ctx context.Context) error {
	var resp wire.GetServerInfoResponse
	if err := c.call(ctx, "AccountService/GetServerInfo", &wire.GetServerInfoRequest{}, &resp); err != nil {
		return err
	}
	return printInfo(&c.adminClient, resp.Info)
}

func printInfo(c *adminClient, i *wire.ServerInfo) error {
	if c.JSON {
		return printJSON(i)
	}
	fmt.Printf("name: %s\npicture: %s\nregistration: %s\nguests: %t\n", i.GetName(), i.GetPicture(), strings.ToLower(strings.TrimPrefix(i.GetRegistration().String(), "REGISTRATION_MODE_")), i.GetGuests())
	return nil
}

type serverSetCmd struct {
	adminClient  `embed:""`
	Name         *string `help:"Name of the place; empty: as configured."`
	Picture      *string `help:"An https address; empty: none."`
	Registration string  `enum:",open,invitation,closed" default:"" help:"open, invitation or closed."`
}

func (c *serverSetCmd) Run(ctx context.Context) error {
	modes := map[string]wire.RegistrationMode{
		"open": wire.RegistrationMode_REGISTRATION_MODE_OPEN, "invitation": wire.RegistrationMode_REGISTRATION_MODE_INVITATION, "closed": wire.RegistrationMode_REGISTRATION_MODE_CLOSED,
	}
	req := &wire.SetServerSettingsRequest{Registration: modes[c.Registration]}
	if c.Name != nil {
		req.Name = proto.String(*c.Name)
	}
	if c.Picture != nil {
		req.Picture = proto.String(*c.Picture)
	}
	var resp wire.SetServerSettingsResponse
	if err := c.call(ctx, "AdminService/SetServerSettings", req, &resp); err != nil {
		return err
	}
	return printInfo(&c.adminClient, resp.Info)
}
