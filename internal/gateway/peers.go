package gateway

import (
	"time"

	"github.com/skein-im/skein/internal/im"
)

// Peers are the other gateways, or rather the way to them. Calls never block;
// all but the first four may be lost on the way.
type Peers interface {
	// UserHere has parcels for a user come here from now on, UserGone no more. Calls
	// for one user come in the order of the changes.
	UserHere(u im.UserID)
	UserGone(u im.UserID)
	// GroupHere has parcels for a group come here, GroupGone no more, likewise.
	GroupHere(c im.ConversationID)
	GroupGone(c im.ConversationID)
	// Announce tells who watches a user that they came here, or went.
	Announce(u im.UserID, online bool)
	// Watch asks about users, now and from now on; the answers come to Elsewhere.
	Watch(users []im.UserID)
	// Unwatch ends it.
	Unwatch(users []im.UserID)
}

// alone is a gateway without others.
type alone struct{}

func (alone) UserHere(im.UserID)          {}
func (alone) UserGone(im.UserID)          {}
func (alone) GroupHere(im.ConversationID) {}
func (alone) GroupGone(im.ConversationID) {}
func (alone) Announce(im.UserID, bool)    {}
func (alone) Watch([]im.UserID)           {}
func (alone) Unwatch([]im.UserID)         {}

// Elsewhere tells that users are online at another gateway, or not any more.
func (g *Gateway) Elsewhere(node string, users []im.UserID, online bool) {
	p := g.presence
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, u := range users {
		if w := p.watched[u]; w != nil {
			w.elsewhere(node, online)
		}
	}
}

// NodeGone tells that nobody is online at a gateway any more.
func (g *Gateway) NodeGone(node string) {
	p := g.presence
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, w := range p.watched {
		w.elsewhere(node, false)
	}
}

// elsewhere takes news of a watched user. Caller holds presence.mu.
func (w *watched) elsewhere(node string, online bool) {
	if !online {
		delete(w.nodes, node)
		w.gone()
		return
	}
	if w.nodes == nil {
		w.nodes = map[string]struct{}{}
	}
	w.nodes[node] = struct{}{}
	if !w.online {
		w.tell(true)
	}
}

// The pace at which sessions are told to compare what they have: all at once
// would be as bad as what it repairs.
const (
	verifyStep  = 100 * time.Millisecond
	verifyUsers = 100
)

// Verify reads the standing of all users here again and asks about those who
// are watched: news may have been lost. With all, every session is told to compare what it has as well,
// because what it missed is not known.
func (g *Gateway) Verify(all bool) {
	g.presence.askAgain()
	g.spawn(func() {
		timer := time.NewTimer(0)
		defer timer.Stop()
		users := g.users.list()
		for len(users) > 0 {
			select {
			case <-timer.C:
			case <-g.ctx.Done():
				return
			}
			n := min(len(users), verifyUsers)
			for _, u := range users[:n] {
				g.verifier.user(u)
				if all {
					g.users.each(u, func(s *session) { s.Compare() })
				}
			}
			users = users[n:]
			g.Flush()
			timer.Reset(verifyStep)
		}
	})
}
