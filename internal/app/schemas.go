package app

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/skein-im/skein/internal/config"
	"github.com/skein-im/skein/internal/directory"
	dirpostgres "github.com/skein-im/skein/internal/directory/postgres"
	"github.com/skein-im/skein/internal/journal/postgres"
	"github.com/skein-im/skein/internal/schema"
)

// Schema is what one of the stores' schema was and is.
type Schema struct {
	Store  string       `json:"store"`
	Before schema.Range `json:"before"`
	After  schema.Range `json:"after"`
	Known  int          `json:"known"`
	// Waiting is how many steps are left that an operator takes.
	Waiting int `json:"waiting"`
}

// Schemas tells of the schemas in a database that nodes share. With contract it
// takes the steps after which programs of before are refused, while nodes of this
// version run; as long as one of before is connected it is an *schema.InUseError.
func Schemas(ctx context.Context, cfg config.Config, contract bool, log *slog.Logger) (all []Schema, err error) {
	if cfg.Store == "" {
		return nil, errors.New("this is for the database that nodes share (--store): the embedded store has one program at a time, whose start takes every step")
	}
	x, err := postgres.Examine(ctx, cfg.Store, time.Now)
	if err != nil {
		return nil, err
	}
	j := Schema{Store: "journal", Before: x.Journal, After: x.Journal, Known: postgres.Steps().Known()}
	d := Schema{Store: "directory", Before: x.Directory, After: x.Directory, Known: directory.Steps("postgres").Known()}
	if contract {
		// The journal's connections are never idle: who runs is seen there.
		if j.Before, j.After, err = postgres.Contract(ctx, cfg.Store, log); err != nil {
			return nil, err
		}
		if d.Before, d.After, err = dirpostgres.Contract(ctx, cfg.Store, dirpostgres.Options{Logger: log}); err != nil {
			return nil, err
		}
	}
	j.Waiting, d.Waiting = postgres.Steps().Waiting(j.After), directory.Steps("postgres").Waiting(d.After)
	return []Schema{j, d}, nil
}
