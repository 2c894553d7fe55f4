package app

import (
	"context"
	"fmt"
	"time"

	"github.com/skein-im/skein/internal/api"
	"github.com/skein-im/skein/internal/feed"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/search"
	searchpostgres "github.com/skein-im/skein/internal/search/postgres"
	searchsqlite "github.com/skein-im/skein/internal/search/sqlite"
	"github.com/skein-im/skein/internal/search/token"
)

// searchFollower is the name that who works on the index is kept under. Each version of
// the tokens has an index of its own where several nodes share one, and who works on it.
var searchFollower = fmt.Sprintf("search%d", token.Version)

// searchConns is how many connections a node has for the search.
const searchConns = 4

// indexEvery is how often the index is written at most. A message is found so much later,
// and who looks for it just then waits; each write costs as much as dozens of messages.
const indexEvery = 200 * time.Millisecond

// searchFile is the index of the search, in the data directory. It is not in backups.
const searchFile = "search.db"

// makeIndex makes the index of the search and what keeps it, if the settings ask for it.
// One that is switched off is removed: what leaves the store meanwhile would stay in it.
func (a *App) makeIndex() error {
	on := a.cfg.Search.Index == "on"
	if a.shared != nil {
		if !on { // others may want it
			return nil
		}
		a.index = searchpostgres.New(a.cfg.Store, searchConns)
	} else {
		index, err := searchsqlite.New(a.data.file(searchFile))
		if err != nil {
			return err
		}
		if !on {
			return index.Reset(context.Background())
		}
		a.index = index
	}
	a.indexer = search.NewIndexer(a.index, a.journal, a.directory, a.log, a.metrics)
	a.followers = append(a.followers, feed.New(feed.Options{
		Name: searchFollower, Journal: a.indexer, Store: a.indexer, Node: a.cfg.Node.Name, Alone: a.shared == nil, Logger: a.log, Registerer: a.metrics,
		Gather: indexEvery,
		Handler: func(ctx context.Context, entries []im.Entry) error {
			if err := a.indexer.Handle(ctx, entries); err != nil {
				return feed.Later(err) // of the index, never of an entry
			}
			return nil
		},
	}))
	return nil
}

// searcher is what the API asks for messages, nil where the settings say that it asks
// nobody.
func (a *App) searcher() api.Search {
	if a.index == nil {
		return nil
	}
	return search.New(a.index, a.indexer, a.messaging, a.metrics)
}

// trims is the journal's, with what is trimmed leaving the index as well.
func (a *App) trims() im.Trims {
	if a.index == nil {
		return a.journal
	}
	return trimming{a.journal, a.index}
}

type trimming struct {
	im.Trims
	index search.Index
}

// Trim is asked for again when the index could not forget.
func (t trimming) Trim(ctx context.Context, s im.Span) error {
	if err := t.Trims.Trim(ctx, s); err != nil {
		return err
	}
	return t.index.Forget(ctx, s)
}
