package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"time"

	"google.golang.org/protobuf/encoding/protojson"

	"github.com/skein-im/skein/internal/config"
	"github.com/skein-im/skein/wire"
)

// auditCmd exports the audit log.
type auditCmd struct {
	adminClient `embed:""`
	Since       config.Duration `help:"What happened within this time, as 24h; 0: all that is kept." default:"24h"`
	Kind        string          `enum:"any,admin,sign-in" default:"any" help:"admin: what administrators did; sign-in: who signed in, or tried to."`
	By          string          `help:"What this user did, by id." placeholder:"ID"`
	Target      string          `help:"What was done to this user, conversation or other id." placeholder:"ID"`
	Action      string          `help:"As AdminService/BanUser, or login."`
	Failed      bool            `help:"What was refused alone."`
}

// Help is told by --help.
func (c *auditCmd) Help() string {
	return "Writes the lines of the audit log as JSON Lines, the oldest first."
}

func (c *auditCmd) Run(ctx context.Context) error {
	req := &wire.ListAuditLogRequest{Limit: 1000, OldestFirst: true, By: c.By, Target: c.Target, Action: c.Action, Failed: c.Failed}
	req.Kind = map[string]wire.AuditKind{"admin": wire.AuditKind_AUDIT_KIND_ADMIN, "sign-in": wire.AuditKind_AUDIT_KIND_SIGN_IN}[c.Kind]
	if c.Since > 0 {
		req.FromMs = time.Now().Add(-time.Duration(c.Since)).UnixMilli()
	}
	out := bufio.NewWriter(os.Stdout)
	for {
		var page wire.ListAuditLogResponse
		if err := c.call(ctx, "AdminService/ListAuditLog", req, &page); err != nil {
			return err
		}
		for _, e := range page.Entries {
			line, err := protojson.Marshal(e)
			if err != nil {
				return err
			}
			if _, err := fmt.Fprintf(out, "%s\n", line); err != nil {
				return err
			}
		}
		if err := out.Flush(); err != nil {
			return err
		}
		if req.Cursor = page.Next; req.Cursor == "" {
			return nil
		}
	}
}
