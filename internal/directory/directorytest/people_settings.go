package directorytest

import (
	"github.com/skein-im/skein/internal/im"
)

func text(s string) *string { return &s }

// groupSettings: what is set of a group stays set, whatever else of it changes.
func groupSettings(p *people) {
	c := im.ConversationID("grp:g")
	p.group(c, "g", "o")
	settings := func() im.GroupSettings {
		p.Helper()
		g, _, err := p.db.Group(p.ctx, c, nil)
		p.ok(err)
		again, err := p.db.Roster(p.ctx, c, func(im.Member, uint64) {})
		p.ok(err)
		equal(p, "the roster's settings", again.Settings, g.Settings)
		return g.Settings
	}
	equal(p, "of a new group", settings(), im.NewGroupSettings())
	slow, muted := uint32(30), true
	change := im.GroupChange{
		Picture: text("https://a.example/p"), Description: text("d 'quoted' \"twice\"\n"), Announcement: text("ä 🙂"), Extra: map[string]string{"k": "v", "l": "w"},
		Add: im.GroupPowerAll, Post: im.GroupPowerAdmins, Join: im.JoinOpen, History: im.HistoryAll, MutedAll: &muted, SlowMode: &slow,
	}
	p.change(c, "o", 1, 2, im.Event{Type: im.EventGroupChanged, Group: &change})
	want := im.NewGroupSettings().With(&change)
	equal(p, "changed", settings(), want)
	p.change(c, "o", 2, 3, im.Event{Type: im.EventGroupRenamed, Text: "two"})
	equal(p, "renamed", settings(), want)
	next := im.GroupChange{Extra: map[string]string{"k": ""}, Post: im.GroupPowerAll}
	p.change(c, "o", 3, 4, im.Event{Type: im.EventGroupChanged, Group: &next})
	equal(p, "changed again", settings(), want.With(&next))
}

// historyForNewMembers: who sees what was before has it as a time of membership
// before the last one, all read.
func historyForNewMembers(p *people) {
	c := im.ConversationID("grp:g")
	p.group(c, "g", "o")
	all := &im.GroupChange{History: im.HistoryAll}
	p.change(c, "o", 1, 2, im.Event{Type: im.EventMemberAdded, Users: []im.UserID{"a"}})
	p.change(c, "a", 2, 3, im.Event{Type: im.EventMemberLeft, Users: []im.UserID{"a"}})
	p.change(c, "o", 3, 9, im.Event{Type: im.EventMemberAdded, Users: []im.UserID{"a", "b"}, Group: all})
	for _, u := range []im.UserID{"a", "b"} {
		want := im.Membership{Conversation: c, First: 9, Title: "g", Earlier: []im.Window{{First: 1, Until: 8}}, ReadTo: 8}
		for range 2 { // the second time from RAM, where there is such
			equal(p, "the place of "+string(u), p.membership(u, c), want)
			list, _, err := p.db.Memberships(p.ctx, u)
			p.ok(err)
			equal(p, "the places of "+string(u), list, []im.Membership{want})
		}
	}
	p.change(c, "b", 4, 10, im.Event{Type: im.EventMemberLeft, Users: []im.UserID{"b"}})
	p.change(c, "o", 5, 12, im.Event{Type: im.EventMemberAdded, Users: []im.UserID{"b"}})
	equal(p, "again, without", p.membership("b", c), im.Membership{Conversation: c, First: 12, Title: "g", Earlier: []im.Window{{First: 1, Until: 10}}, ReadTo: 8})
}

// takenID: of two groups with one id there is one.
func takenID(p *people) {
	equal(p, "first", p.create("grp:1", "o", ""), "grp:1")
	for _, request := range []string{"", "r"} {
		pr := p.promise("grp:1", "b", im.Event{Type: im.EventGroupCreated, Users: []im.UserID{"b"}, Text: "g"})
		pr.SetRoster = 1
		_, err := p.db.CreateGroup(p.ctx, im.GroupInfo{Conversation: "grp:1", Name: "g", Owner: "b", Created: at}, request, pr)
		equal(p, "the id of another one", im.CodeOf(err), im.CodeAlreadyExists)
	}
	equal(p, "promises", len(p.pending()), 1)
}
