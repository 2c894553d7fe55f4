package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/skein-im/skein/internal/app"
	"github.com/skein-im/skein/internal/config"
	"github.com/skein-im/skein/internal/doctor"
)

// certificateFindings are what there is to say of the certificates that settings name.
func certificateFindings(c *config.Config, now time.Time) (all []doctor.Finding) {
	for _, k := range app.Certificates(c, now) {
		f := doctor.Finding{Level: doctor.OK, What: "certificate", Found: k.Source + ", until " + k.NotAfter.UTC().Format(time.DateOnly)}
		if k.Trouble != "" {
			f.Level, f.Found, f.Advice = doctor.Warn, k.Source+": "+k.Trouble, "renew it, for the name that people come by; a running server notices new files by itself"
		}
		if k.Over {
			f.Level = doctor.Bad
		}
		all = append(all, f)
	}
	return all
}

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
		Config: cfg, AdminKey: app.AdminKeyFile, Migrated: app.MigratedFile, CheckKey: app.CheckAdminKey,
		Check:        func(c *config.Config) error { return app.Check(c, app.Options{}) },
		Certificates: certificateFindings,
		Media:        app.HasBlob,
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
