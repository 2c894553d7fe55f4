package directorytest

import "github.com/skein-im/skein/internal/im"

// What is promised to change in somebody's groups is told beside their places
// from the promise on until it is applied, to those whom the change names.
func promisedPlaces(p *people) {
	promised := func(what string, u im.UserID, want ...im.Promised) {
		p.Helper()
		_, got, err := p.db.Memberships(p.ctx, u)
		p.ok(err)
		equal(p, what+": promised to "+string(u), got, want)
	}
	p.users("a_b", "axb")
	p.group("grp:other", "other", "o", "a_b", "axb")
	promised("at rest", "a_b")

	e := p.promise("grp:g", "o", im.Event{Type: im.EventGroupCreated, Users: []im.UserID{"o", "a_b"}, Text: `"axb"`})
	e.SetRoster = 1
	_, err := p.db.CreateGroup(p.ctx, im.GroupInfo{Conversation: "grp:g", Name: `"axb"`, Owner: "o", Created: at}, "", e)
	p.ok(err)
	g := im.Promised{Conversation: "grp:g", Roster: 1}
	promised("created", "o", g)
	promised("created", "a_b", g)
	promised("created", "axb")
	promised("created", "stranger")
	p.ok(p.db.Apply(p.ctx, e, 1))
	promised("applied", "o")
	promised("applied", "a_b")

	for i, x := range []struct {
		event im.Event
		told  bool
	}{
		{im.Event{Type: im.EventMemberAdded, Users: []im.UserID{"axb"}, Role: im.RoleMember}, true},
		{im.Event{Type: im.EventMemberMuted, Users: []im.UserID{"axb"}}, false},
		{im.Event{Type: im.EventMemberRemoved, Users: []im.UserID{"axb"}}, true},
		{im.Event{Type: im.EventMemberAdded, Users: []im.UserID{"axb"}, Role: im.RoleMember}, true},
		{im.Event{Type: im.EventMemberLeft, Users: []im.UserID{"axb"}}, true},
		{im.Event{Type: im.EventGroupRenamed, Text: "axb"}, false},
	} {
		change := p.promise("grp:g", "o", x.event)
		change.IfRoster, change.SetRoster = uint64(i+1), uint64(i+2)
		accepted, err := p.db.PromiseRoster(p.ctx, change)
		p.ok(err)
		equal(p, "accepted", accepted, true)
		if x.told {
			promised("promised", "axb", im.Promised{Conversation: "grp:g", Roster: uint64(i + 2)})
		} else {
			promised("promised", "axb")
		}
		promised("promised", "a_b")
		p.ok(p.db.Apply(p.ctx, change, uint64(i+2)))
		promised("applied", "axb")
	}

	// Several at a time; they come by conversation.
	var want []im.Promised
	for _, c := range []im.ConversationID{"grp:p1", "grp:p2", "grp:p3"} {
		e := p.promise(c, "o", im.Event{Type: im.EventGroupCreated, Users: []im.UserID{"o", "axb"}})
		e.SetRoster = 1
		_, err := p.db.CreateGroup(p.ctx, im.GroupInfo{Conversation: c, Owner: "o", Created: at}, "", e)
		p.ok(err)
		want = append(want, im.Promised{Conversation: c, Roster: 1})
	}
	promised("several", "axb", want...)
}
