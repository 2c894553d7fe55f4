package gateway

import (
	"context"
	"slices"

	"github.com/skein-im/skein/internal/gateway/here"
	"github.com/skein-im/skein/internal/im"
)

// loadGroups reads the groups of a user and makes the user's sessions members
// of exactly those. One that was something else until now missed the entry that
// changed it, and what followed: it is told to sync.
//
// Roster events note themselves first and look the group up second; here the
// group is looked up first and the note asked for second, under the group's
// lock. So an event during the reading is either seen as a note, or it finds
// what was done here and corrects it.
func (g *Gateway) loadGroups(ctx context.Context, u im.UserID) error {
	ld := g.groups.Loads.Begin(u)
	defer g.groups.Loads.End(ld)
	before := g.users.Of(u)
	standing, err := g.o.Standing(ctx, u)
	if err != nil {
		return err
	}
	// Who came while it was read may have a session that is newer than the reading.
	g.audit(before, standing.Sessions)
	sessions := g.users.Of(u)
	member := make(map[im.ConversationID]struct{}, len(standing.Groups))
	for _, x := range standing.Groups {
		c := x.Conversation
		member[c] = struct{}{}
		grp := g.groups.Locked(c, true)
		if grp.Last == 0 && grp.Roster == 0 {
			// The first member here: what changes the roster after this revision is heard,
			// or missed.
			grp.Roster = x.Roster
		}
		if !g.groups.Loads.Overtaken(ld, c) {
			for _, s := range sessions {
				if grp.Joins(s, x.From) {
					s.Compare()
				}
			}
		}
		g.groups.Unlock(grp)
	}
	for _, s := range sessions {
		g.leaveOthers(ld, s, member)
	}
	return nil
}

// audit ends sessions that are over although no Control said so: it was lost.
// live is nil when nobody looked.
func (g *Gateway) audit(sessions []*here.Member, live []im.SessionID) {
	if live == nil {
		return
	}
	for _, s := range sessions {
		if !slices.Contains(live, s.Actor.Session) {
			g.kick(s, string(im.CodeSessionRevoked), im.Errorf(im.CodeSessionRevoked, "the session was ended"))
		}
	}
}

// leaveOthers ends the memberships that the reading does not list.
func (g *Gateway) leaveOthers(ld *here.Load, s *here.Member, member map[im.ConversationID]struct{}) {
	for _, grp := range s.InGroups() {
		if _, ok := member[grp.ID]; ok {
			continue
		}
		grp.Lock()
		if !g.groups.Loads.Overtaken(ld, grp.ID) {
			grp.Leave(s)
			s.Compare()
		}
		g.groups.Unlock(grp)
	}
}

// sameGroups tells whether a Sync knows the memberships that the registry does. If not, a
// roster event was lost: the user's groups are to be read again (verifier.user).
func (g *Gateway) sameGroups(s *here.Member, states []im.ConversationState) bool {
	for i := range states {
		c := states[i].Conversation
		if c.Kind() != im.KindGroup {
			continue
		}
		here := false
		if grp := g.groups.Locked(c, false); grp != nil {
			_, here = grp.Members[s]
			g.groups.Unlock(grp)
		}
		if here != (states[i].Until == 0) {
			return false
		}
	}
	return true
}
