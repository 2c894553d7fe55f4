package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/skein-im/skein/internal/app"
)

type schemaCmd struct {
	settings `embed:""`
	Contract bool `help:"Take the steps after which the version before is refused. Refused itself while a node of that version is connected."`
	JSON     bool `name:"json" help:"Print one JSON object on stdout."`
}

// Run shows the versions of the tables in the database that nodes share, or ends
// an upgrade.
func (c *schemaCmd) Run(ctx context.Context) error {
	cfg, err := c.read()
	if err != nil {
		return err
	}
	all, err := app.Schemas(ctx, cfg, c.Contract, slog.New(slog.NewTextHandler(os.Stderr, nil)))
	if err != nil {
		return err
	}
	if c.JSON {
		enc := json.NewEncoder(os.Stdout)
		enc.SetIndent("", "  ")
		return enc.Encode(all)
	}
	return c.print(os.Stdout, all)
}

func (c *schemaCmd) print(w io.Writer, all []app.Schema) error {
	for _, s := range all {
		_, err := fmt.Fprintf(w, "%s: schema %d, for programs that know %d or later; this one knows %d\n", s.Store, s.After.Version, s.After.Least, s.Known)
		switch {
		case err != nil:
			return err
		case s.Before != s.After:
			_, err = fmt.Fprintf(w, "  it was %d, for %d or later: there is no way back to a program of before but a backup\n", s.Before.Version, s.Before.Least)
		case s.Waiting > 0:
			_, err = fmt.Fprintf(w, "  %d steps are left for `skein migrate --contract`, after which older programs are refused\n", s.Waiting)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
