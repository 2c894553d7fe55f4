package gateway

import (
	"time"

	"github.com/skein-im/skein/internal/gateway/here"
	"github.com/skein-im/skein/internal/im"
)

// Elsewhere tells that users are online at another gateway, or not any more.
func (g *Gateway) Elsewhere(node string, users []im.UserID, online bool) {
	g.presence.Elsewhere(node, users, online)
}

// NodeGone tells that nobody is online at a gateway any more.
func (g *Gateway) NodeGone(node string) { g.presence.NodeGone(node) }

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
	g.presence.AskAgain()
	g.spawn(func() {
		timer := time.NewTimer(0)
		defer timer.Stop()
		users := g.users.List()
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
					g.users.Each(u, func(s *here.Member) { s.Compare() })
				}
			}
			users = users[n:]
			g.Flush()
			timer.Reset(verifyStep)
		}
	})
}
