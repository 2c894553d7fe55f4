package gateway

import (
	"github.com/skein-im/skein/internal/gateway/here"
)

// WentBack tells that the stores are not, or no longer, what they were: an older
// copy was put in their place. What was told of conversations says nothing about
// them now, so it is forgotten; every session is told to Sync, and finds out there
// whether what it has is of this history. Until it does, its marks do not count
// (SPEC §7.3).
func (g *Gateway) WentBack() {
	// From here on a session gets no push before its Resync.
	for _, u := range g.users.List() {
		g.users.Each(u, func(s *here.Member) {
			s.Doubt(true)
			s.Compare()
		})
	}
	// The next entry of every group is the first one seen. Until its roster was read
	// again only Heads go out.
	g.groups.Each(func(grp *here.Group) {
		grp.WentBack()
		g.doubt(grp)
	})
	g.told.forget()
	g.Verify(false)
	g.Flush()
}

// forget makes every beacon news.
func (t *told) forget() {
	for i := range t.shards {
		sh := &t.shards[i]
		sh.mu.Lock()
		sh.last.Clear()
		sh.mu.Unlock()
	}
}
