package gateway

import (
	"context"
	"slices"

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
	ld := g.groups.loads.begin(u)
	defer g.groups.loads.end(ld)
	before := g.users.of(u)
	standing, err := g.o.Standing(ctx, u)
	if err != nil {
		return err
	}
	// Who came while it was read may have a session that is newer than the reading.
	g.audit(before, standing.Sessions)
	sessions := g.users.of(u)
	member := make(map[im.ConversationID]struct{}, len(standing.Groups))
	for _, x := range standing.Groups {
		c := x.Conversation
		member[c] = struct{}{}
		grp := g.groups.locked(c, true)
		if grp.last == 0 && grp.roster == 0 {
			// The first member here: what changes the roster after this revision is heard,
			// or missed.
			grp.roster = x.Roster
		}
		if !g.groups.loads.overtaken(ld, c) {
			for _, s := range sessions {
				if grp.joins(s) {
					s.Compare()
				}
			}
		}
		g.groups.unlock(grp)
	}
	for _, s := range sessions {
		g.leaveOthers(ld, s, member)
	}
	return nil
}

// audit ends sessions that are over although no Control said so: it was lost.
// live is nil when nobody looked.
func (g *Gateway) audit(sessions []*member, live []im.SessionID) {
	if live == nil {
		return
	}
	for _, s := range sessions {
		if !slices.Contains(live, s.actor.Session) {
			g.kick(s, string(im.CodeSessionRevoked), im.Errorf(im.CodeSessionRevoked, "the session was ended"))
		}
	}
}

// leaveOthers ends the memberships that the reading does not list.
func (g *Gateway) leaveOthers(ld *load, s *member, member map[im.ConversationID]struct{}) {
	for _, grp := range s.inGroups() {
		if _, ok := member[grp.id]; ok {
			continue
		}
		grp.lock()
		if !g.groups.loads.overtaken(ld, grp.id) {
			grp.leave(s)
			s.Compare()
		}
		g.groups.unlock(grp)
	}
}

// compareRoster reads the user's groups again when a Sync knows a membership
// that the registry does not, or the other way round: a roster event was lost.
// It tells whether they agree.
func (g *Gateway) compareRoster(s *member, states []im.ConversationState) bool {
	for i := range states {
		c := states[i].Conversation
		if c.Kind() != im.KindGroup {
			continue
		}
		here := false
		if grp := g.groups.locked(c, false); grp != nil {
			_, here = grp.members[s]
			g.groups.unlock(grp)
		}
		if here != (states[i].Until == 0) {
			g.verifier.user(s.actor.User)
			return false
		}
	}
	return true
}
