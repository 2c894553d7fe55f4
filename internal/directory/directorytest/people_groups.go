package directorytest

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/skein-im/skein/internal/im"
)

func oneRosterPromise(p *people) {
	p.group("grp:g", "g", "o")
	p.group("grp:h", "h", "o")
	try := func(c im.ConversationID, rev uint64) bool {
		pr := p.promise(c, "o", im.Event{Type: im.EventGroupRenamed, Text: "x"})
		pr.IfRoster, pr.SetRoster = rev, rev+1
		accepted, err := p.db.PromiseRoster(p.ctx, pr)
		p.ok(err)
		return accepted
	}
	equal(p, "an old revision", try("grp:g", 0), false)
	equal(p, "a coming revision", try("grp:g", 2), false)
	equal(p, "a group that does not exist", try("grp:none", 0), false)
	equal(p, "the right revision", try("grp:g", 1), true)
	equal(p, "a second promise", try("grp:g", 1), false)
	equal(p, "another group", try("grp:h", 1), true)
	equal(p, "promises", len(p.pending()), 2)
}

func oneRosterPromiseRaced(p *people) {
	p.group("grp:g", "g", "o")
	accepted := make(chan bool, 8)
	var wg sync.WaitGroup
	for range cap(accepted) {
		pr := p.promise("grp:g", "o", im.Event{Type: im.EventGroupRenamed, Text: "x"})
		pr.IfRoster, pr.SetRoster = 1, 2
		wg.Go(func() {
			ok, err := p.db.PromiseRoster(p.ctx, pr)
			if err != nil {
				p.Error(err)
			}
			accepted <- ok
		})
	}
	wg.Wait()
	close(accepted)
	n := 0
	for ok := range accepted {
		if ok {
			n++
		}
	}
	equal(p, "accepted", n, 1)
}

// What should never be: the promise stays and nothing is changed.
func applyAtWrongRevision(p *people) {
	p.group("grp:g", "g", "o")
	pr := p.promise("grp:g", "o", im.Event{Type: im.EventGroupRenamed, Text: "x"})
	pr.IfRoster, pr.SetRoster = 1, 2
	_, err := p.db.PromiseRoster(p.ctx, pr)
	p.ok(err)
	wrong := pr
	wrong.IfRoster, wrong.SetRoster = 7, 8
	if p.db.Apply(p.ctx, wrong, 2) == nil {
		p.Fatal("applied at a wrong revision")
	}
	g, _, err := p.db.Group(p.ctx, "grp:g", nil)
	p.ok(err)
	equal(p, "name", g.Name, "g")
	equal(p, "promises", p.pending(), []im.Promise{pr})
}

// applyWithoutPromise: what nobody promised does not happen, though it would fit.
func applyWithoutPromise(p *people) {
	p.group("grp:g", "g", "o")
	pr := p.promise("grp:g", "o", im.Event{Type: im.EventGroupRenamed, Text: "x"})
	pr.IfRoster, pr.SetRoster = 1, 2
	p.ok(p.db.Apply(p.ctx, pr, 2))
	g, _, err := p.db.Group(p.ctx, "grp:g", nil)
	p.ok(err)
	equal(p, "name and revision", fmt.Sprint(g.Name, g.Rev), "g1")
}

func applyUnknownEvent(p *people) {
	p.group("grp:g", "g", "o")
	pr := p.promise("grp:g", "o", im.Event{Type: 77})
	pr.IfRoster, pr.SetRoster = 1, 2
	_, err := p.db.PromiseRoster(p.ctx, pr)
	p.ok(err)
	if p.db.Apply(p.ctx, pr, 2) == nil {
		p.Fatal("an event that it does not know was applied")
	}
	rev, _ := p.roster("grp:g")
	equal(p, "revision", rev, 1)
}

func (p *people) create(c im.ConversationID, owner im.UserID, request string) im.ConversationID {
	pr := p.promise(c, owner, im.Event{Type: im.EventGroupCreated, Users: []im.UserID{owner}, Text: "g"})
	pr.SetRoster = 1
	got, err := p.db.CreateGroup(p.ctx, im.GroupInfo{Conversation: c, Name: "g", Owner: owner, Created: at}, request, pr)
	if err != nil {
		p.Error(err)
	}
	return got
}

func groupRequestID(p *people) {
	equal(p, "first", p.create("grp:1", "o", "r"), "grp:1")
	equal(p, "again", p.create("grp:2", "o", "r"), "grp:1")
	equal(p, "another owner", p.create("grp:3", "p", "r"), "grp:3")
	equal(p, "another request", p.create("grp:4", "o", "s"), "grp:4")
	equal(p, "no request id", p.create("grp:5", "o", ""), "grp:5")
	equal(p, "no request id again", p.create("grp:6", "o", ""), "grp:6")
	for of, want := range map[[2]string]im.ConversationID{{"o", "r"}: "grp:1", {"p", "r"}: "grp:3", {"o", "s"}: "grp:4", {"p", "s"}: "", {"o", ""}: ""} {
		c, err := p.db.Requested(p.ctx, im.UserID(of[0]), of[1])
		p.ok(err)
		equal(p, "made by "+of[0]+" with "+of[1], c, want)
	}
	var made []im.ConversationID
	for _, pr := range p.pending() {
		made = append(made, pr.Conversation)
	}
	equal(p, "promises", made, []im.ConversationID{"grp:1", "grp:3", "grp:4", "grp:5", "grp:6"})
	g, _, err := p.db.Group(p.ctx, "grp:2", []im.UserID{"o"})
	p.ok(err)
	equal(p, "the one that was not made", g, im.GroupInfo{})
	g, members, err := p.db.Group(p.ctx, "grp:1", []im.UserID{"o"})
	p.ok(err)
	equal(p, "before its entry", g, im.GroupInfo{Conversation: "grp:1", Name: "g", Owner: "o", Created: at, Settings: im.NewGroupSettings()})
	equal(p, "members before its entry", members, nil)
}

func groupRequestIDRaced(p *people) {
	got := make([]im.ConversationID, 8)
	var wg sync.WaitGroup
	var mu sync.Mutex
	for i := range got {
		wg.Go(func() {
			mu.Lock()
			pr := p.promise(im.Group(fmt.Sprint(i)), "o", im.Event{Type: im.EventGroupCreated, Users: []im.UserID{"o"}})
			mu.Unlock()
			pr.SetRoster = 1
			var err error
			got[i], err = p.db.CreateGroup(p.ctx, im.GroupInfo{Conversation: pr.Conversation, Name: "g", Owner: "o", Created: at}, "same", pr)
			if err != nil {
				p.Error(err)
			}
		})
	}
	wg.Wait()
	equal(p, "groups", len(slices.Compact(got)), 1)
	equal(p, "promises", len(p.pending()), 1)
}

func groupLife(p *people) {
	const c = im.ConversationID("grp:g")
	p.group(c, "one", "o", "a", "b")
	mute := at.Add(time.Hour)
	for i, e := range []im.Event{
		{Type: im.EventGroupRenamed, Text: "two"},
		{Type: im.EventMemberAdded, Users: []im.UserID{"c", "d", "a"}, Role: im.RoleMember}, // a is in it
		{Type: im.EventRoleChanged, Users: []im.UserID{"a"}, Role: im.RoleAdmin},
		{Type: im.EventMemberMuted, Users: []im.UserID{"b"}, Until: mute},
		{Type: im.EventMemberRemoved, Users: []im.UserID{"c", "ghost"}},
		{Type: im.EventOwnerChanged, Users: []im.UserID{"a"}, Role: im.RoleOwner},
	} {
		p.change(c, "o", uint64(i+1), uint64(i+2), e)
	}
	p.change(c, "d", 7, 8, im.Event{Type: im.EventMemberLeft, Users: []im.UserID{"d"}})
	joined := at
	member := func(u im.UserID, r im.Role) im.Member { return im.Member{User: u, Role: r, Joined: joined} }
	b := member("b", im.RoleMember)
	b.MutedUntil = mute
	g, members, err := p.db.Group(p.ctx, c, []im.UserID{"o", "a", "b", "c", "ghost"})
	p.ok(err)
	equal(p, "group", g, im.GroupInfo{Conversation: c, Name: "two", Owner: "a", Members: 3, Created: at, Rev: 8, Settings: im.NewGroupSettings()})
	slices.SortFunc(members, func(x, y im.Member) int { return int(x.User[0]) - int(y.User[0]) })
	want := []im.Member{member("a", im.RoleOwner), b, member("o", im.RoleAdmin)}
	equal(p, "members", members, want)
	page, _, err := p.db.MembersPage(p.ctx, c, im.MemberQuery{Limit: 10})
	p.ok(err)
	equal(p, "page", page, []im.Member{want[0], want[2], want[1]})
	rev, roles := p.roster(c)
	equal(p, "revision", rev, 8)
	equal(p, "roster", roles, map[im.UserID]im.Role{"a": im.RoleOwner, "b": im.RoleMember, "o": im.RoleAdmin})
	p.change(c, "a", 8, 9, im.Event{Type: im.EventMemberMuted, Users: []im.UserID{"b"}})
	_, members, err = p.db.Group(p.ctx, c, []im.UserID{"b"})
	p.ok(err)
	equal(p, "unmuted", members, []im.Member{member("b", im.RoleMember)})
	first := map[im.UserID]uint64{}
	again := map[im.UserID]im.Member{}
	whole, err := p.db.Roster(p.ctx, c, func(m im.Member, seq uint64) { again[m.User], first[m.User] = m, seq })
	p.ok(err)
	equal(p, "revision again", whole.Rev, 9)
	equal(p, "name", whole.Name, "two")
	equal(p, "who sees from where", first, map[im.UserID]uint64{"o": 1, "a": 1, "b": 1})
	equal(p, "whole roster", again, map[im.UserID]im.Member{"a": want[0], "b": member("b", im.RoleMember), "o": want[2]})
	rev, roles = p.roster("grp:none")
	equal(p, "no group", fmt.Sprint(rev, roles), "0 map[]")
}

// First and Until are the seqs of the entries that added and removed; the name
// at the time of leaving stays with who left; who comes back sees from there.
func groupBoundsOfReading(p *people) {
	const c = im.ConversationID("grp:g")
	p.group(c, "one", "o", "m")
	equal(p, "from the start", p.membership("m", c), im.Membership{Conversation: c, First: 1, Title: "one"})
	p.change(c, "o", 1, 4, im.Event{Type: im.EventMemberMuted, Users: []im.UserID{"m"}, Until: at})
	p.change(c, "o", 2, 10, im.Event{Type: im.EventMemberRemoved, Users: []im.UserID{"m"}})
	p.change(c, "o", 3, 20, im.Event{Type: im.EventGroupRenamed, Text: "two"})
	equal(p, "left", p.membership("m", c), im.Membership{Conversation: c, First: 1, Until: 10, Title: "one"})
	p.change(c, "o", 4, 30, im.Event{Type: im.EventMemberAdded, Users: []im.UserID{"m"}, Role: im.RoleMember})
	equal(p, "came back", p.membership("m", c), im.Membership{Conversation: c, First: 30, Title: "two", Earlier: []im.Window{{First: 1, Until: 10}}})
	_, members, err := p.db.Group(p.ctx, c, []im.UserID{"m"})
	p.ok(err)
	equal(p, "not muted any more", members[0].MutedUntil.IsZero(), true)
	_, found, err := p.db.Membership(p.ctx, "stranger", c)
	p.ok(err)
	equal(p, "stranger", found, false)

	p.group("grp:a", "other", "m")
	p.ok(p.db.OpenDM(p.ctx, im.DM("m", "o")))
	for range 2 {
		p.ok(p.db.OpenDM(p.ctx, im.Saved("m")))
	}
	p.change(c, "m", 5, 40, im.Event{Type: im.EventMemberLeft, Users: []im.UserID{"m"}})
	all, _, err := p.db.Memberships(p.ctx, "m")
	p.ok(err)
	equal(p, "all of m's", all, []im.Membership{
		{Conversation: "dm:m:m", First: 1},
		{Conversation: "dm:m:o", First: 1},
		{Conversation: "grp:a", First: 1, Title: "other"},
		{Conversation: c, First: 30, Until: 40, Title: "two", Earlier: []im.Window{{First: 1, Until: 10}}},
	})
	none, _, err := p.db.Memberships(p.ctx, "stranger")
	p.ok(err)
	equal(p, "a stranger's", none, nil)
}

// A page of members: greater roles first, each as they joined, of one role alone or
// of all; nicknames are in it, and end with a membership.
func groupPages(p *people) {
	const c = im.ConversationID("grp:g")
	p.group(c, "g", "z", "A", "b", "Z", "a")
	p.change(c, "z", 1, 2, im.Event{Type: im.EventRoleChanged, Users: []im.UserID{"b"}, Role: im.RoleAdmin})
	p.change(c, "z", 2, 3, im.Event{Type: im.EventMemberNicknamed, Users: []im.UserID{"a"}, Text: "Tea ☕"})
	p.change(c, "z", 3, 4, im.Event{Type: im.EventMemberNicknamed, Users: []im.UserID{"ghost"}, Text: "Boo"})
	pages := func(role im.Role) (got []im.UserID) {
		for after := (im.MemberPlace{}); ; {
			page, _, err := p.db.MembersPage(p.ctx, c, im.MemberQuery{Role: role, After: after, Limit: 2})
			p.ok(err)
			for _, m := range page {
				got = append(got, m.User)
				after = m.Place()
			}
			if len(page) < 2 {
				return got
			}
		}
	}
	equal(p, "order", pages(im.RoleNone), []im.UserID{"z", "b", "A", "Z", "a"})
	equal(p, "members", pages(im.RoleMember), []im.UserID{"A", "Z", "a"})
	equal(p, "admins", pages(im.RoleAdmin), []im.UserID{"b"})
	nickname := func() string {
		_, members, err := p.db.Group(p.ctx, c, []im.UserID{"a"})
		p.ok(err)
		page, _, err := p.db.MembersPage(p.ctx, c, im.MemberQuery{Role: im.RoleMember, After: im.MemberPlace{Role: im.RoleMember, Joined: members[0].Joined, User: "Z"}, Limit: 9})
		p.ok(err)
		equal(p, "the same", page, members)
		return members[0].Nickname
	}
	equal(p, "nickname", nickname(), "Tea ☕")
	p.change(c, "z", 4, 5, im.Event{Type: im.EventMemberRemoved, Users: []im.UserID{"a"}})
	p.change(c, "z", 5, 6, im.Event{Type: im.EventMemberAdded, Users: []im.UserID{"a"}, Role: im.RoleMember})
	equal(p, "came back", nickname(), "")
	readers := func(limit int) []im.Reader {
		got, err := p.db.Readers(p.ctx, c, limit)
		p.ok(err)
		return got
	}
	equal(p, "readers", readers(9), []im.Reader{{User: "A", Since: 1}, {User: "Z", Since: 1}, {User: "a", Since: 6}, {User: "b", Since: 1}, {User: "z", Since: 1}})
	equal(p, "so many readers", len(readers(4)), 4)
}

// The largest lists that one call and one entry may have.
func groupOfThousands(p *people) {
	all := []im.UserID{"owner"}
	for i := range 3000 {
		all = append(all, im.UserID(fmt.Sprintf("u%04d", i)))
	}
	p.group("grp:g", "g", all[:1001]...)
	for i := range 4 {
		p.change("grp:g", "owner", uint64(i+1), uint64(i+2), im.Event{Type: im.EventMemberAdded, Users: all[1001+500*i : min(1001+500*(i+1), len(all))], Role: im.RoleMember})
	}
	_, roles := p.roster("grp:g")
	equal(p, "members", len(roles), 3001)
	p.change("grp:g", "owner", 5, 6, im.Event{Type: im.EventMemberRemoved, Users: all[1:501]})
	g, members, err := p.db.Group(p.ctx, "grp:g", all)
	p.ok(err)
	equal(p, "counted", fmt.Sprint(g.Members, len(members)), "2501 2501")
}

func addable(p *people) {
	p.users("me", "friend", "blocks", "blocked", "fan", "busy")
	p.pair(im.Contact{User: "friend", State: im.ContactFriend}, im.Contact{User: "me", State: im.ContactFriend})
	p.pair(im.Contact{User: "fan", State: im.ContactAsked}, im.Contact{User: "me", State: im.ContactAsksMe})
	p.pair(im.Contact{User: "blocks", State: im.ContactFriend}, im.Contact{User: "me", State: im.ContactFriend, Blocked: true})
	p.pair(im.Contact{User: "blocked", State: im.ContactNone, Blocked: true}, im.Contact{User: "me", State: im.ContactNone})
	for u, policy := range map[im.UserID]im.GroupPolicy{"friend": im.GroupsContacts, "fan": im.GroupsContacts, "busy": im.GroupsNobody} {
		_, err := p.db.UpdateUser(p.ctx, u, im.ProfileChange{Groups: policy})
		p.ok(err)
	}
	for i := range 3 {
		p.group(im.Group(fmt.Sprint(i)), "g", "busy", "fan")
	}
	p.change("grp:0", "fan", 1, 2, im.Event{Type: im.EventMemberLeft, Users: []im.UserID{"fan"}})
	got, err := p.db.Addable(p.ctx, "me", []im.UserID{"blocked", "ghost", "blocks", "friend", "fan", "busy"})
	p.ok(err)
	slices.SortFunc(got, func(a, b im.Addable) int { return strings.Compare(string(a.User), string(b.User)) })
	equal(p, "addable", got, []im.Addable{{User: "blocked", Stranger: true}, {User: "busy", Ask: true, Stranger: true, Groups: 3}, {User: "fan", Ask: true, Stranger: true, Groups: 2}, {User: "friend"}})
	n, err := p.db.GroupsOf(p.ctx, "fan")
	p.ok(err)
	equal(p, "groups", n, 2)
	got, err = p.db.Addable(p.ctx, "me", nil)
	p.ok(err)
	equal(p, "nobody", got, nil)
}

func openDM(p *people) {
	c := im.DM("b", "a")
	for range 2 {
		p.ok(p.db.OpenDM(p.ctx, c))
	}
	for _, u := range []im.UserID{"a", "b"} {
		equal(p, "membership", p.membership(u, c), im.Membership{Conversation: c, First: 1})
	}
	for _, bad := range []im.ConversationID{"grp:g", "me:a", "dm:b:a", ""} {
		if im.CodeOf(p.db.OpenDM(p.ctx, bad)) != im.CodeInvalidArgument {
			p.Fatalf("opened %q", bad)
		}
	}
}
