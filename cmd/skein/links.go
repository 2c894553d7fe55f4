package main

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/skein-im/skein/internal/config"
	"github.com/skein-im/skein/wire"
)

type userInviteCmd struct {
	adminClient `embed:""`
	Note        string          `help:"What administrators see of it."`
	Uses        uint32          `help:"How many may register by it; 0: any number." default:"1"`
	Lifetime    config.Duration `help:"How long it holds, at most 366 days." default:"168h"`
}

func (c *userInviteCmd) Run(ctx context.Context) error {
	var resp wire.CreateRegistrationLinkResponse
	req := &wire.CreateRegistrationLinkRequest{Note: c.Note, MaxUses: c.Uses, LifetimeMs: time.Duration(c.Lifetime).Milliseconds()}
	if err := c.call(ctx, "AdminService/CreateRegistrationLink", req, &resp); err != nil {
		return err
	}
	if c.JSON {
		return printJSON(&resp)
	}
	l := resp.Link
	fmt.Printf("%s\nIt is shown this once, and holds until %s. To register in a browser, at the address by which people reach the server: %s\nTo register in a terminal: skein chat NAME --register --server %s --invite CODE\nTo revoke it: skein user uninvite %s\n",
		l.Code, day(l.ExpiresAtMs), page(c.Server, "/register?invite=", l.Code), c.Server, l.Id)
	return nil
}

type userInvitesCmd struct {
	adminClient `embed:""`
}

func (c *userInvitesCmd) Run(ctx context.Context) error {
	var resp wire.ListRegistrationLinksResponse
	if err := c.call(ctx, "AdminService/ListRegistrationLinks", &wire.ListRegistrationLinksRequest{}, &resp); err != nil {
		return err
	}
	if c.JSON {
		return printJSON(&resp)
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tUSED\tOF\tUNTIL\tNOTE")
	for _, l := range resp.Links {
		of := "any"
		if l.MaxUses > 0 {
			of = fmt.Sprint(l.MaxUses)
		}
		fmt.Fprintf(w, "%s\t%d\t%s\t%s\t%s\n", l.Id, l.Uses, of, day(l.ExpiresAtMs), l.Note)
	}
	return w.Flush()
}

type userUninviteCmd struct {
	adminClient `embed:""`
	ID          string `arg:"" help:"Id of the link, as skein user invites lists it."`
}

func (c *userUninviteCmd) Run(ctx context.Context) error {
	return c.call(ctx, "AdminService/RevokeRegistrationLink", &wire.RevokeRegistrationLinkRequest{Id: c.ID}, &wire.RevokeRegistrationLinkResponse{})
}

type userResetCmd struct {
	adminClient `embed:""`
	userRef     `embed:""`
	WithoutTOTP bool            `name:"without-totp" help:"Take the authenticator app away as well, from who lost it and the recovery codes."`
	Lifetime    config.Duration `help:"How long it holds, at most 7 days." default:"24h"`
}

func (c *userResetCmd) Run(ctx context.Context) error {
	id, err := c.id(ctx, &c.adminClient)
	if err != nil {
		return err
	}
	var resp wire.CreateResetLinkResponse
	req := &wire.CreateResetLinkRequest{User: id, WithoutTotp: c.WithoutTOTP, LifetimeMs: time.Duration(c.Lifetime).Milliseconds()}
	if err := c.call(ctx, "AdminService/CreateResetLink", req, &resp); err != nil {
		return err
	}
	if c.JSON {
		return printJSON(&resp)
	}
	fmt.Printf("%s\nIt is shown this once, and holds until %s. To set the password in a browser, at the address by which people reach the server: %s\nTo set it in a terminal: skein account reset --server %s CODE\n",
		resp.Code, day(resp.ExpiresAtMs), page(c.Server, "/reset?code=", resp.Code), c.Server)
	return nil
}

// page is the page of the web app that takes a code.
func page(server, path, code string) string {
	return strings.TrimSuffix(server, "/") + path + url.QueryEscape(code)
}
