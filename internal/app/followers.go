package app

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/skein-im/skein/internal/audit"
	"github.com/skein-im/skein/internal/feed"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/messaging"
)

// auditFollower is the name that the audit's place is kept under.
const auditFollower = "audit"

// makeFollowers makes the followers that the settings ask for. They need the stores
// only.
func (a *App) makeFollowers() error {
	if a.logic == nil {
		return nil
	}
	if err := a.makeIndex(); err != nil {
		return err
	}
	a.followLinks()
	a.followToPush()
	if a.cfg.Audit.File == "" {
		return nil
	}
	path := a.cfg.Audit.File
	if !filepath.IsAbs(path) {
		path = a.data.file(path)
	}
	file, err := audit.Open(path)
	if err != nil {
		return fmt.Errorf("audit.file: %w", err)
	}
	a.audit = file
	a.follow(auditFollower, func(_ context.Context, entries []im.Entry) error {
		if err := file.Write(entries); err != nil {
			return feed.Later(err) // of a file, never of an entry
		}
		return nil
	})
	return nil
}

// follow adds a follower.
func (a *App) follow(name string, h feed.Handler) {
	a.followers = append(a.followers, feed.New(feed.Options{
		Name: name, Journal: a.journal, Store: a.directory, Handler: h, Node: a.cfg.Node.Name,
		Alone: a.shared == nil, Logger: a.log, Registerer: a.metrics,
	}))
}

// closeFollowers ends them, before the stores.
func (a *App) closeFollowers() error {
	for _, f := range a.followers {
		f.Close()
	}
	if a.push != nil {
		a.push.Close()
	}
	var errs []error
	if a.index != nil {
		errs = append(errs, a.index.Close())
	}
	if a.audit != nil {
		errs = append(errs, a.audit.Close())
	}
	return errors.Join(errs...)
}

// waking tells followers when something was stored. They would find it by themselves,
// a second later.
type waking struct {
	messaging.Deliverer
	followers []*feed.Follower
}

func (w waking) Deliver(batch []im.Delivery) {
	w.Deliverer.Deliver(batch)
	if len(batch) > 0 {
		for _, f := range w.followers {
			f.Wake()
		}
	}
}
