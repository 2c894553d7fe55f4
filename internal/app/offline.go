package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/skein-im/skein/internal/config"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/importing"
	"github.com/skein-im/skein/internal/journal/postgres"
	"github.com/skein-im/skein/internal/media"
	"github.com/skein-im/skein/internal/platform"
)

// Offline is a store that no server uses, opened as a server with these settings would, for
// who writes to it what was said elsewhere.
type Offline struct {
	app   *App
	spool string
	hold  *postgres.Hold // of a database
}

// OpenOffline opens the stores of a server that does not run: those of the data directory,
// which are made if there are none, or a database that no node is connected to and nobody else
// imports into.
func OpenOffline(ctx context.Context, cfg config.Config, log *slog.Logger) (_ *Offline, err error) {
	if err := cfg.Check(); err != nil {
		return nil, err
	}
	if !cfg.Is(config.RoleLogic) {
		return nil, errors.New("the settings are of a node without the role logic, which has no store")
	}
	var hold *postgres.Hold
	if cfg.Store != "" {
		if hold, err = postgres.Alone(ctx, cfg.Store); err != nil {
			return nil, err
		}
	}
	a := &App{cfg: cfg, now: time.Now, log: log, metrics: prometheus.NewRegistry(), failed: make(chan error, 1), stopping: make(chan struct{}), began: time.Now()}
	defer func() {
		if err != nil {
			err = errors.Join(err, a.close())
			if hold != nil {
				err = errors.Join(err, hold.Close())
			}
		}
	}()
	if err := a.openStores(ctx, Options{}); err != nil {
		if errors.Is(err, ErrInUse) {
			err = fmt.Errorf("%w: stop the server first, or wait until the import that runs has ended", err)
		}
		return nil, err
	}
	spool := a.data.file("spool")
	if err := platform.MkdirAll(spool); err != nil {
		return nil, err
	}
	return &Offline{a, spool, hold}, nil
}

// Spool is a directory for what does not fit into memory.
func (o *Offline) Spool() string { return o.spool }

// Target is the store for an import. Files are taken as the settings say, without a quota.
func (o *Offline) Target(ctx context.Context) (importing.Target, error) {
	a := o.app
	t := importing.Target{Directory: a.directory, Now: a.now}
	t.DM, t.Find = newUserPolicies(&a.cfg)
	var ok bool
	if t.Journal, ok = a.journal.(importing.Journal); !ok {
		return t, errors.New("this journal takes no times of others")
	}
	if o.hold != nil {
		t.Journal = heldJournal{t.Journal, o.hold}
	}
	store, err := a.openMediaOf(ctx)
	if store == nil || err != nil {
		return t, err
	}
	options, err := a.mediaOptions(store, "") // no links are made
	if err != nil {
		return t, err
	}
	options.Uploads, options.Names = a.directory, a.directory
	options.Quota = im.MediaQuota{Open: 1 << 30}
	t.Media = media.New(options)
	return t, nil
}

// heldJournal stores nothing once others may import into its database, too.
type heldJournal struct {
	importing.Journal
	hold *postgres.Hold
}

func (j heldJournal) AppendDated(ctx context.Context, batch []im.Append, at []time.Time, out []im.Appended) error {
	if err := j.hold.Held(ctx); err != nil {
		return err
	}
	return j.Journal.AppendDated(ctx, batch, at, out)
}

func (j heldJournal) SetMarks(ctx context.Context, marks []im.Mark, w im.MarkWait) error {
	if err := j.hold.Held(ctx); err != nil {
		return err
	}
	return j.Journal.SetMarks(ctx, marks, w)
}

// MappingFile is where the mapping of an import is kept: another run takes it again.
func (o *Offline) MappingFile(workspace string) (string, error) {
	dir := o.app.data.file("imports")
	return filepath.Join(dir, workspace+".json"), platform.MkdirAll(dir)
}

// Close closes the stores, and then gives the database back.
func (o *Offline) Close() error {
	err := o.app.close()
	if o.hold != nil {
		err = errors.Join(err, o.hold.Close())
	}
	return err
}
