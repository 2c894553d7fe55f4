package app

import (
	"context"
	"net/netip"

	"github.com/skein-im/skein/internal/feed"
	"github.com/skein-im/skein/internal/im"
	"github.com/skein-im/skein/internal/preview"
)

// previewsFollower is the name that the place of who looks at links is kept under.
const previewsFollower = "previews"

// previewsPage is how many entries are looked at before the place moves: links of so many
// are fetched again after a crash.
const previewsPage = 64

// followLinks has links looked at, if the settings say so, by what makePreviews makes
// later, when there is somebody to carry messages.
func (a *App) followLinks() {
	if a.cfg.Previews.Fetch != "on" {
		return
	}
	a.followers = append(a.followers, feed.New(feed.Options{
		Name: previewsFollower, Journal: a.journal, Store: a.directory, Node: a.cfg.Node.Name, Alone: a.shared == nil, Page: previewsPage,
		Logger: a.log, Registerer: a.metrics,
		Handler: func(ctx context.Context, entries []im.Entry) error {
			if err := a.previews.Handle(ctx, entries); err != nil {
				return feed.Later(err) // of the stores, never of an entry
			}
			return nil
		},
	}))
}

func (a *App) makePreviews(m preview.Messages) {
	c := &a.cfg.Previews
	o := preview.Options{Messages: m, Allow: networks(c.Allow), Deny: networks(c.Deny), Agent: c.Agent, Now: a.now, Logger: a.log}
	if a.media != nil {
		o.Pictures = a.media
	}
	a.previews = preview.New(o)
}

// networks are those of a setting, which was checked.
func networks(all []string) (out []netip.Prefix) {
	for _, s := range all {
		if p, err := netip.ParsePrefix(s); err == nil {
			out = append(out, p)
		}
	}
	return out
}
