package app

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/skein-im/skein/internal/config"
	dirpostgres "github.com/skein-im/skein/internal/directory/postgres"
	"github.com/skein-im/skein/internal/directory/sqlite"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/journal/pebble"
	"github.com/skein-im/skein/internal/journal/postgres"
)

// sharedJournal is a journal that other processes append to as well, with what
// it tells them beside the contract.
type sharedJournal interface {
	im.Journal
	Known(c im.ConversationID) (im.Head, bool)
	Pulse(ctx context.Context) (im.Place, error)
	Changed(ctx context.Context, since uint64, limit int) (heads []im.ParcelHead, more bool, err error)
}

// openStores opens what the logic role keeps.
func (a *App) openStores(ctx context.Context, o Options) (err error) {
	if !a.cfg.Is(config.RoleLogic) {
		return nil
	}
	if a.data, err = openData(a.cfg.Data); err != nil {
		return err
	}
	if a.cfg.Store != "" {
		return a.openPostgres(ctx)
	}
	if err = a.data.refuseMigrated(); err != nil {
		return err
	}
	if err = a.data.removeSnapshots(); err != nil {
		return err
	}
	if a.directory, err = sqlite.Open(a.data.file("directory.db"), sqlite.Options{}); err != nil {
		return err
	}
	if err = a.directory.Ping(ctx); err != nil {
		return err
	}
	a.journal, err = opened(pebble.Open(a.data.file("journal"), pebble.Options{
		AcceptLoss: o.AcceptLoss,
		MinFree:    int64(a.cfg.Journal.MinFree),
		CacheBytes: int64(a.cfg.Journal.CacheBytes),
		Logger:     a.log,
		Registerer: a.metrics,
	}))
	return err
}

// opened keeps a nil pointer from becoming a journal.
func opened[J im.Journal](j J, err error) (im.Journal, error) {
	if err != nil {
		return nil, err
	}
	return j, nil
}

// openPostgres opens directory and journal in one database. They share the
// connections: a third of them is the journal's, which has one writer.
func (a *App) openPostgres(ctx context.Context) (err error) {
	for _, embedded := range []string{"directory.db", "journal"} {
		if _, err := os.Stat(a.data.file(embedded)); err == nil && !a.data.migrated() {
			a.log.Warn("the data directory has an embedded store, which is not used; skein migrate-store copies it", "path", a.data.file(embedded))
			break
		}
	}
	most := a.cfg.Postgres.Connections
	if a.directory, err = dirpostgres.Open(ctx, a.cfg.Store, dirpostgres.Options{MaxConns: max(most-most/3, 2)}); err != nil {
		return err
	}
	a.shared, err = postgres.Open(ctx, a.cfg.Store, postgres.Options{MaxConns: max(most/3, 2), Logger: a.log, Registerer: a.metrics})
	if err != nil {
		a.shared = nil
		return err
	}
	a.journal = a.shared
	return nil
}

// adminKey is the key of the integrator and the command line: of the data
// directory alone, or the same on all nodes, made of what they share.
func (a *App) adminKey() (string, error) {
	if !a.cfg.Clustered() {
		return a.data.adminKey()
	}
	mac := hmac.New(sha256.New, []byte(a.cfg.Node.Secret))
	mac.Write([]byte("skein admin key"))
	key := "skk_" + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
	there, err := a.data.readAdminKey()
	switch {
	case err == nil && there == key:
		return key, nil
	case err == nil:
		a.log.Warn("the admin key is another one from now on: that of the cluster, made of node.secret", "file", a.data.file(AdminKeyFile))
	case !errors.Is(err, fs.ErrNotExist):
		return "", err
	}
	if err := writeDurably(a.data.file(AdminKeyFile), key+"\n"); err != nil {
		return "", fmt.Errorf("admin key: %w", err)
	}
	return key, nil
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
	sessions, err := a.directory.Sessions(ctx, u, time.Now())
	live := make([]im.SessionID, len(sessions))
	for i := range sessions {
		live[i] = sessions[i].ID
	}
	return im.Standing{Groups: groups, Sessions: live}, err
}
