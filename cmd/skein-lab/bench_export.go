package main

import (
	"context"
	"errors"
	"time"

	"github.com/skein-im/skein/internal/bench"
)

type benchExportCmd struct {
	benchFlags `embed:""`
	Messages   int           `default:"100000" help:"Messages that the exported user has, about."`
	Files      int           `default:"1000" help:"Files that messages of theirs name."`
	KB         int           `name:"kb" default:"100" help:"KB of each."`
	Erase      bool          `default:"true" negatable:"" help:"Have the user erased then, with what they wrote, and look what remains."`
	Users      int           `default:"32" help:"Logged-in users, each with 15 conversations."`
	Rate       float64       `default:"500" help:"Messages per second of theirs in all."`
	Duration   time.Duration `default:"20s" help:"How long acks are measured without an export, for the ratio."`
}

// Run measures an export.
func (c *benchExportCmd) Run(ctx context.Context) error {
	o, err := c.options()
	if err != nil {
		return err
	}
	if c.Messages < 1 || c.Files < 0 || c.KB < 1 || c.Users < 16 || c.Rate <= 0 || c.Duration <= 0 {
		return errors.New("bench export: users must be 16 or more, messages, kb, rate and duration positive, files not negative")
	}
	o.Connections, o.Rate, o.Duration, o.Warmup, o.Window, o.Payload = c.Users, c.Rate, c.Duration, 5*time.Second, 1, 100
	r, err := bench.Export(ctx, o, bench.ExportOptions{Messages: c.Messages, Files: c.Files, FileBytes: c.KB << 10, Erase: c.Erase}, c.start)
	return c.print(r, err)
}
