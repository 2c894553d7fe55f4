package gateway

import "github.com/skein-im/skein/internal/im"

// WentBack tells that the stores are not, or no longer, what they were: an older
// copy was put in their place. What was told of conversations says nothing about
// them now, so it is forgotten; every session is told to Sync, and finds out there
// whether what it has is of this history. Until it does, its marks do not count
// (SPEC §7.3).
func (g *Gateway) WentBack() {
	// From here on a session gets no push before its Resync.
	for _, u := range g.users.list() {
		g.users.each(u, func(s *session) {
			s.Doubt(true)
			s.Compare()
		})
	}
	g.groups.startOver(g)
	g.told.forget()
	g.Verify(false)
	g.Flush()
}

// startOver lets the next entry of every group be the first one seen. Until its
// roster was read again only Heads go out.
func (r *groups) startOver(g *Gateway) {
	for i := range r.shards {
		sh := &r.shards[i]
		sh.mu.Lock()
		all := make([]*group, 0, len(sh.m))
		for _, grp := range sh.m {
			all = append(all, grp)
		}
		sh.mu.Unlock()
		for _, grp := range all {
			grp.mu.Lock()
			grp.last, grp.roster = 0, 0
			g.doubt(grp)
			grp.mu.Unlock()
		}
	}
}

// forget makes every beacon news.
func (t *told) forget() {
	for i := range t.shards {
		sh := &t.shards[i]
		sh.mu.Lock()
		sh.now, sh.before = map[im.ConversationID]seqs{}, nil
		sh.mu.Unlock()
	}
}
