package directorytest

import "github.com/skein-im/skein/internal/im"

// comesAndGoes makes u a member n times, from 10·k to 10·k+5, and returns the
// group's next revision.
func (p *people) comesAndGoes(c im.ConversationID, u im.UserID, n int) (rev uint64) {
	p.Helper()
	rev = 1
	for k := range uint64(n) {
		p.change(c, "o", rev, 10*k+10, im.Event{Type: im.EventMemberAdded, Users: []im.UserID{u}, Role: im.RoleMember})
		p.change(c, "o", rev+1, 10*k+15, im.Event{Type: im.EventMemberRemoved, Users: []im.UserID{u}})
		rev += 2
	}
	return rev
}

// Every time of membership stays known: none, one, two, and as many as are kept;
// then the oldest goes.
func everyWindowIsKept(p *people) {
	const c = im.ConversationID("grp:g")
	for i, n := range []int{1, 2, 3, im.MaxWindows, im.MaxWindows + 3} {
		c := c + im.ConversationID(rune('a'+i))
		p.group(c, "g", "o", "other")
		p.comesAndGoes(c, "m", n)
		want := im.Membership{Conversation: c, First: uint64(10 * n), Until: uint64(10*n + 5), Title: "g"}
		for k := max(1, n-im.MaxWindows+1); k < n; k++ {
			want.Earlier = append(want.Earlier, im.Window{First: uint64(10 * k), Until: uint64(10*k + 5)})
		}
		equal(p, "who came and went", p.membership("m", c), want)
		equal(p, "who stayed", p.membership("other", c), im.Membership{Conversation: c, First: 1, Title: "g"})
	}
	all, _, err := p.db.Memberships(p.ctx, "m")
	p.ok(err)
	for _, m := range all {
		equal(p, "in the list", m, p.membership("m", m.Conversation))
	}
}

// A loss of the journal takes from every window what was stored after it.
func windowsAfterALoss(p *people) {
	for i, x := range []struct {
		seq  uint64
		want *im.Membership
	}{
		{50, &im.Membership{First: 30, Until: 35, Earlier: []im.Window{{First: 10, Until: 15}, {First: 20, Until: 25}}}},
		{33, &im.Membership{First: 30, Until: 32, Earlier: []im.Window{{First: 10, Until: 15}, {First: 20, Until: 25}}}},
		{30, &im.Membership{First: 20, Until: 25, Earlier: []im.Window{{First: 10, Until: 15}}}},
		{22, &im.Membership{First: 20, Until: 21, Earlier: []im.Window{{First: 10, Until: 15}}}},
		{12, &im.Membership{First: 10, Until: 11}},
		{10, nil},
	} {
		c := im.Group(string(rune('a' + i)))
		p.group(c, "g", "o")
		rev := p.comesAndGoes(c, "m", 3)
		for range 2 { // again after a crash
			p.ok(p.db.RestoreGroup(p.ctx, c, rev, x.seq))
			m, found, err := p.db.Membership(p.ctx, "m", c)
			p.ok(err)
			equal(p, "found", found, x.want != nil)
			if x.want != nil {
				x.want.Conversation, x.want.Title = c, "g"
				equal(p, "after the loss", m, *x.want)
			}
		}
	}
}
