package app

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/skein-im/skein/internal/config"
	"github.com/skein-im/skein/internal/directory"
	dirpostgres "github.com/skein-im/skein/internal/directory/postgres"
	"github.com/skein-im/skein/internal/directory/sqlite"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/journal/pebble"
	"github.com/skein-im/skein/internal/journal/postgres"
)

// journal is what either engine is to a node.
type journal interface {
	im.Journal
	im.Marks
	im.Recalls
	im.Labels
	im.Trims
	im.Lookups
	im.Pages
	im.Follow
}

// sharedJournal is a journal that other processes append to as well, with what
// it tells them beside the contract.
type sharedJournal interface {
	journal
	Known(c im.ConversationID) (im.Head, bool)
	Pulse(ctx context.Context) (im.Place, error)
	Empty(ctx context.Context) (bool, error)
	BeginTimeline(ctx context.Context, begin func(ctx context.Context, now, next string) (bool, error)) (begun bool, err error)
	Eras() im.Eras
	Changed(ctx context.Context, since uint64, limit int) (heads []im.ParcelHead, more bool, err error)
}

// openStores opens what the logic role keeps.
func (a *App) openStores(ctx context.Context, o Options) (err error) {
	if !a.cfg.Is(config.RoleLogic) {
		return nil
	}
	if o.Existing {
		if err := refuseNew(&a.cfg); err != nil {
			return err
		}
	}
	if a.data, err = openData(a.cfg.Data); err != nil {
		return err
	}
	if a.cfg.Store != "" {
		return a.openPostgres(ctx, o)
	}
	if err = a.data.refuseMigrated(); err != nil {
		return err
	}
	if _, err := a.presentKeys(); err != nil {
		return err // it would be found after a wait
	}
	if err := a.waitForRoom(ctx, o.Free); err != nil {
		return err
	}
	if err := a.openEmbedded(ctx, o); err != nil {
		return err
	}
	return a.data.removeSnapshots()
}

// refuseNew refuses a start that would make a store. One of which a part is missing is the
// start's to judge.
func refuseNew(c *config.Config) error {
	if c.Store != "" {
		return errors.New("--existing is for the embedded store, and store names a database")
	}
	for _, name := range []string{"directory.db", "journal"} {
		_, err := os.Stat(filepath.Join(c.Data, name))
		if err == nil || !errors.Is(err, fs.ErrNotExist) {
			return nil
		}
	}
	return fmt.Errorf("data directory %s: there is no store in it, and --existing says that there should be one; nothing was made", c.Data)
}

// openEmbedded opens journal and directory. Both are read and compared first, so
// that a start that is refused leaves every file of theirs as it was.
func (a *App) openEmbedded(ctx context.Context, o Options) error {
	path := a.data.file("directory.db")
	keys, err := a.presentKeys()
	if err != nil {
		return err
	}
	found, err := sqlite.Examine(ctx, path)
	if err != nil {
		return err
	}
	if err := keys.compare(found.Keys, o.NewKeys); err != nil {
		return err
	}
	check := func(journal im.Pair) error {
		if err := compareStores(journal, found.Content); err != nil {
			return fmt.Errorf("data directory %s: %w", a.cfg.Data, err)
		}
		return nil
	}
	j, err := pebble.Open(a.data.file("journal"), pebble.Options{
		AcceptLoss: o.AcceptLoss,
		Check:      check,
		MinFree:    int64(a.cfg.Journal.MinFree),
		CacheBytes: int64(a.cfg.Journal.CacheBytes),
		Now:        a.now,
		Logger:     a.log,
		Registerer: a.metrics,
	})
	if err != nil {
		return err
	}
	a.journal = j
	if a.directory, err = sqlite.Open(path, sqlite.Options{}); err != nil {
		return err
	}
	if join, err := im.ComparePair(j.Pair(), found.Pair); join || err != nil { // an error was accepted as a loss
		p, err := a.directory.Pair(ctx)
		if err != nil {
			return err
		}
		p.Identity, p.Position = rand.Text(), j.Pair().Position
		if err := p.Join(j.SetPair, func(p im.Pair) error { return a.directory.SetPair(ctx, p) }); err != nil {
			return err
		}
	}
	a.empty = func(context.Context) (bool, error) { return j.Pair().Position == 0, nil }
	return a.directory.Watch(ctx, j)
}

// compareStores tells whether the two stores may be served together. Those of an
// earlier version, which know nothing of each other, must at least both be there.
func compareStores(journal im.Pair, d directory.Content) error {
	join, err := im.ComparePair(journal, d.Pair)
	switch {
	case err != nil || !join || journal.Identity != "" || d.Pair.Identity != "":
		return err
	case journal.Position > 0 && !d.Users:
		return im.DirectoryMissing()
	case journal.Position == 0 && d.Entries:
		return im.JournalMissing()
	}
	return nil
}

// openPostgres opens directory and journal in one database. They share the
// connections: a third of them is the journal's, which has one writer.
func (a *App) openPostgres(ctx context.Context, o Options) (err error) {
	for _, embedded := range []string{"directory.db", "journal"} {
		if _, err := os.Stat(a.data.file(embedded)); err == nil && !a.data.migrated() {
			a.log.Warn("the data directory has an embedded store, which is not used; skein migrate-store copies it", "path", a.data.file(embedded))
			break
		}
	}
	if o.NewKeys { // what a node that runs has sealed must not go
		if a.hold, err = postgres.Alone(ctx, a.cfg.Store); err != nil {
			return fmt.Errorf("--new-keys: %w", err)
		}
	}
	most := a.cfg.Postgres.Connections
	if a.directory, err = dirpostgres.Open(ctx, a.cfg.Store, dirpostgres.Options{MaxConns: max(most-most/3, 2), Logger: a.log}); err != nil {
		return err
	}
	s, err := postgres.Open(ctx, a.cfg.Store, postgres.Options{
		MaxConns: max(most/3, 2), Logger: a.log, Registerer: a.metrics, WentBack: a.history.wentBack, NewEra: a.history.newEra,
	})
	if err != nil {
		return err
	}
	a.shared = s
	if unsafe, err := s.PowerLoss(ctx); err != nil {
		return err
	} else if len(unsafe) > 0 {
		a.log.Warn("the database loses acknowledged messages when the power goes, and may be unusable then; skein doctor says more", "why", strings.Join(unsafe, ", "))
	}
	a.journal, a.empty = a.shared, a.shared.Empty
	return a.compareShared(ctx, o.AcceptLoss)
}

// acceptedIn is the beginning of the identity of a pair in PostgreSQL one of whose stores
// was lost, which was accepted; which one, and the timeline that was begun then, follow.
const acceptedIn = "accepted "

// compareShared refuses a database in which one of the two stores is there without
// the other. Accepted, the journal goes on under a new timeline, and the two are not
// refused again until both were there once. Of nodes that accept it at once one begins
// the timeline, and the others go on with it.
func (a *App) compareShared(ctx context.Context, accept bool) error {
	missing, err := a.lossOf(ctx, a.shared.Timeline())
	if missing == nil || err != nil {
		return err
	}
	if !accept {
		return missing
	}
	begun, err := a.shared.BeginTimeline(ctx, func(ctx context.Context, now, next string) (bool, error) {
		lost, err := a.lossOf(ctx, now) // another node may have accepted it since
		if lost == nil || err != nil {
			return false, err
		}
		// If it is not begun after this, the pair names a timeline that is not there, and
		// the loss is still to be accepted.
		return true, a.directory.SetPair(ctx, im.Pair{Identity: accepting(lost, next)})
	})
	if begun {
		a.log.Warn("a loss was accepted: what is left is served under a new timeline", "why", missing, "timeline", a.shared.Timeline())
	}
	return err
}

// lossOf tells what is missing and was not accepted under a timeline, nil if nothing is.
func (a *App) lossOf(ctx context.Context, timeline string) (missing, err error) {
	d, missing, err := a.missingShared(ctx)
	if err != nil {
		return nil, err
	}
	accepted := strings.HasPrefix(d.Pair.Identity, acceptedIn)
	switch {
	case missing == nil && accepted:
		return nil, a.directory.SetPair(ctx, im.Pair{})
	case missing != nil && d.Pair.Identity == accepting(missing, timeline):
		a.log.Warn("a loss was accepted before: this node goes on with the timeline that was begun then", "why", missing, "timeline", timeline)
		return nil, nil
	}
	return missing, nil
}

func accepting(missing error, timeline string) string {
	store := ""
	if lost := (*im.PairError)(nil); errors.As(missing, &lost) {
		store = lost.Store
	}
	return acceptedIn + store + " " + timeline
}

// missingShared tells which of the two stores is missing, nil if none is. Others may
// write meanwhile: what must be there first is asked last.
func (a *App) missingShared(ctx context.Context) (d directory.Content, missing, err error) {
	unused, err := a.shared.Empty(ctx)
	if err != nil {
		return d, nil, err
	}
	if d, err = a.directory.Content(ctx); err != nil {
		return d, nil, err
	}
	if !unused && !d.Users {
		return d, im.DirectoryMissing(), nil
	}
	if unused, err = a.shared.Empty(ctx); err == nil && unused && d.Entries {
		return d, im.JournalMissing(), nil
	}
	return d, nil, err
}

// standing is what a gateway knows a user by (gateway.Options.Standing).
func (a *App) standing(ctx context.Context, u im.UserID) (im.Standing, error) {
	if a.shared == nil {
		return a.members.standing(ctx, u)
	}
	groups, err := a.directory.Standing(ctx, u)
	if err != nil {
		return im.Standing{}, err
	}
	sessions, err := a.directory.Sessions(ctx, u, a.now())
	live := make([]im.SessionID, len(sessions))
	for i := range sessions {
		live[i] = sessions[i].ID
	}
	return im.Standing{Groups: groups, Sessions: live}, err
}
