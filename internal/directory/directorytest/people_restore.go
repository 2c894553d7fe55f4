package directorytest

import (
	"github.com/skein-im/skein/internal/im"
)

func groupRevisions(p *people) {
	p.group("grp:b", "g", "o")
	p.group("grp:a", "g", "o", "m")
	p.change("grp:a", "o", 1, 2, im.Event{Type: im.EventGroupRenamed, Text: "x"})
	p.create("grp:c", "o", "") // its entry is not in the journal yet
	p.group("grp:d", "g", "o")
	first, err := p.db.GroupRevisions(p.ctx, "", 2)
	p.ok(err)
	rest, err := p.db.GroupRevisions(p.ctx, "grp:b", 2)
	p.ok(err)
	none, err := p.db.GroupRevisions(p.ctx, "grp:d", 2)
	p.ok(err)
	equal(p, "first page", first, []im.GroupInfo{{Conversation: "grp:a", Rev: 2}, {Conversation: "grp:b", Rev: 1}})
	equal(p, "second page", rest, []im.GroupInfo{{Conversation: "grp:d", Rev: 1}})
	equal(p, "the end", none, nil)
}

// lossy is a group whose entries from 20 on are lost: who came and went before
// and after that. The names tell when.
func (p *people) lossy(c im.ConversationID) {
	p.Helper()
	p.group(c, "g", "o", "left10", "left30", "back40")
	rev := uint64(0)
	event := func(seq uint64, t im.EventType, u im.UserID) {
		p.Helper()
		rev++
		p.change(c, "o", rev, seq, im.Event{Type: t, Users: []im.UserID{u}, Role: im.RoleMember})
	}
	event(5, im.EventMemberAdded, "came5")
	event(10, im.EventMemberRemoved, "left10")
	event(19, im.EventMemberRemoved, "back40")
	event(20, im.EventMemberAdded, "came20")
	event(25, im.EventMemberAdded, "came25left35")
	event(30, im.EventMemberRemoved, "left30")
	event(35, im.EventMemberRemoved, "came25left35")
	event(40, im.EventMemberAdded, "back40")
}

const lossyRev = 9

// places are what those who ever were in a lossy group may read, zero if nothing.
func (p *people) places(c im.ConversationID) map[im.UserID][2]uint64 {
	p.Helper()
	all := map[im.UserID][2]uint64{}
	for _, u := range []im.UserID{"o", "came5", "came20", "back40", "left10", "left30", "came25left35"} {
		m, found, err := p.db.Membership(p.ctx, u, c)
		p.ok(err)
		if found {
			all[u] = [2]uint64{m.First, m.Until}
		}
	}
	return all
}

// What was lost of a group is not shown to anybody under its old numbers:
// members see from the entry that restored it, former members nothing new.
func groupRestored(p *people) {
	const c = im.ConversationID("grp:g")
	p.lossy(c)
	p.lossy("grp:h")
	p.ok(p.db.OpenDM(p.ctx, im.DM("o", "left30")))
	others := p.places("grp:h")
	rev, before := p.roster(c)
	equal(p, "revision before", rev, lossyRev)
	want := map[im.UserID][2]uint64{
		"o": {1, 0}, "came5": {5, 0}, "came20": {20, 0}, "back40": {20, 0},
		"left10": {1, 10}, "left30": {1, 19},
	}
	for range 2 { // again after a crash
		p.ok(p.db.RestoreGroup(p.ctx, c, lossyRev, 20))
		equal(p, "places", p.places(c), want)
	}
	rev, after := p.roster(c)
	equal(p, "revision", rev, lossyRev)
	equal(p, "roster", after, before)
	g, _, err := p.db.Group(p.ctx, c, nil)
	p.ok(err)
	equal(p, "members counted", g.Members, len(after))
	equal(p, "another group", p.places("grp:h"), others)
	equal(p, "a dm", p.membership("left30", im.DM("o", "left30")), im.Membership{Conversation: im.DM("o", "left30"), First: 1})
}

func groupRestoredFromNothing(p *people) {
	const c = im.ConversationID("grp:g")
	p.lossy(c)
	p.ok(p.db.RestoreGroup(p.ctx, c, lossyRev, 1))
	equal(p, "places", p.places(c), map[im.UserID][2]uint64{"o": {1, 0}, "came5": {1, 0}, "came20": {1, 0}, "back40": {1, 0}})
}

func groupRestoredAtWrongRevision(p *people) {
	const c = im.ConversationID("grp:g")
	p.lossy(c)
	before := p.places(c)
	if p.db.RestoreGroup(p.ctx, c, lossyRev-1, 2) == nil {
		p.Fatal("restored at a wrong revision")
	}
	if p.db.RestoreGroup(p.ctx, "grp:none", 0, 1) == nil {
		p.Fatal("restored a group that does not exist")
	}
	equal(p, "places", p.places(c), before)
}
