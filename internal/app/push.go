package app

import (
	"context"
	"strings"
	"time"

	"github.com/skein-im/skein/internal/feed"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/push"
)

// pushFollower is the name that the place of who wakes devices is kept under.
const pushFollower = "push"

// pushGather is the least time between two looks of it: messages wait for seconds anyway,
// and what is stored meanwhile shares the questions.
const pushGather = time.Second

// followToPush has stored messages wake devices, by what makePush makes later.
func (a *App) followToPush() {
	if a.cfg.Push.Send != "on" {
		return
	}
	a.followers = append(a.followers, feed.New(feed.Options{
		Name: pushFollower, Journal: pushJournal{a.journal, a}, Store: a.directory, Node: a.cfg.Node.Name, Alone: a.shared == nil, Gather: pushGather,
		Logger: a.log, Registerer: a.metrics,
		Handler: func(ctx context.Context, entries []im.Entry) error {
			if err := a.push.Handle(ctx, entries); err != nil {
				return feed.Later(err) // of the stores, never of an entry
			}
			return nil
		},
	}))
}

// pushJournal is the journal as the service reads it, which is made later.
type pushJournal struct {
	im.Follow
	a *App
}

func (j pushJournal) After(ctx context.Context, after im.Place, limit int) (im.Followed, error) {
	return j.a.push.After(ctx, j.Follow, after, limit)
}

// startPush makes the key pair at the first start, and begins to wake devices. A store that
// cannot do that now is asked again by who needs the pair.
func (a *App) startPush(ctx context.Context) {
	if a.push == nil {
		return
	}
	if err := a.push.Prepare(ctx); err != nil {
		a.log.Error("push: the key pair cannot be used; tried again when it is needed", "err", err)
	}
	a.push.Start()
}

// makePush makes what wakes devices, over the messages that are there by now.
func (a *App) makePush(key string) {
	c := &a.cfg.Push
	if c.Send != "on" {
		return
	}
	contact := c.Contact
	if contact == "" && strings.HasPrefix(a.cfg.HTTP.PublicURL, "https://") {
		contact = a.cfg.HTTP.PublicURL
	}
	a.push = push.New(push.Options{
		Keys: a.directory, Subscriptions: a.directory, Queue: a.directory, Messages: a.messaging, Marks: a.journal,
		SealKey: push.SealKey(key), Alone: a.shared == nil, Contact: contact, Wait: time.Duration(c.Wait), TTL: time.Duration(c.TTL),
		Allow: networks(c.Allow), Deny: networks(c.Deny), Now: a.now, Logger: a.log, Registerer: a.metrics,
	})
}
