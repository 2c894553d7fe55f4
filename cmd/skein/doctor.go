package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/skein-im/skein/internal/app"
	"github.com/skein-im/skein/internal/config"
	"github.com/skein-im/skein/internal/doctor"
)

type doctorCmd struct {
	settings `embed:""`
	JSON     bool `name:"json" help:"Print one JSON object on stdout."`
}

// Run looks for what is wrong. Something bad is an error.
func (c *doctorCmd) Run(ctx context.Context) error {
	cfg, err := c.read()
	if err != nil {
		return err
	}
	r := doctor.Examine(ctx, doctor.Options{
		Config: cfg, AdminKey: app.AdminKeyFile, Migrated: app.MigratedFile,
		Check: func(c *config.Config) error { return app.Check(c, app.Options{}) },
	})
	if c.JSON {
		enc := json.NewEncoder(os.Stdout)
		enc.SetIndent("", "  ")
		enc.SetEscapeHTML(false)
		err = enc.Encode(r)
	} else {
		err = r.Print(os.Stdout)
	}
	if err != nil {
		return err
	}
	if n := r.Count(doctor.Bad); n > 0 {
		return fmt.Errorf("%d findings are bad", n)
	}
	return nil
}
