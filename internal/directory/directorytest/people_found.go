package directorytest

import (
	"fmt"
	"strings"
	"time"

	"github.com/skein-im/skein/internal/im"
)

// Every change of a side has the next revision of its user, and what was forgotten of
// those who are in no list any more raises the floor.
func contactRevisions(p *people) {
	p.users("me", "a", "b", "c")
	friend := func(u im.UserID) im.Contact { return im.Contact{User: u, State: im.ContactFriend, Changed: at} }
	gone := func(u im.UserID, at time.Time) im.Contact {
		return im.Contact{User: u, State: im.ContactNone, Changed: at}
	}
	since := func(u im.UserID, r uint64) string {
		got, err := p.db.ContactsSince(p.ctx, u, r, 100)
		p.ok(err)
		var s []string
		for _, c := range got {
			s = append(s, fmt.Sprint(c.User, c.State, "@", c.Revision))
		}
		return strings.Join(s, " ")
	}
	revision := func(u im.UserID) string {
		r, floor, err := p.db.ContactRevision(p.ctx, u)
		p.ok(err)
		return fmt.Sprint(r, "/", floor)
	}
	equal(p, "of who has none", revision("me"), "0/0")
	for _, u := range []im.UserID{"b", "a", "c"} {
		p.pair(friend(u), friend("me"))
	}
	p.pair(friend("a"), friend("me")) // the same again is no change
	equal(p, "changes", since("me", 0), "b1@1 a1@2 c1@3")
	equal(p, "a's", since("a", 0), "me1@1")
	p.pair(gone("b", at), gone("me", at.Add(time.Hour)))
	equal(p, "changes since", since("me", 2), "c1@3 b4@4")
	equal(p, "revision", revision("me"), "4/0")
	equal(p, "the list", len(p.list("me")), 2)
	more, err := p.db.PurgeContacts(p.ctx, at.Add(time.Second), at, 10)
	p.ok(err)
	equal(p, "more", more, false)
	equal(p, "changes", since("me", 0), "a1@2 c1@3")
	equal(p, "revision when the end is forgotten", revision("me"), "4/4")
	equal(p, "b's", since("b", 0)+" "+revision("b"), "me4@2 2/0")
}

// A request is open for a while; who asked whom is told to who ends it. Who was refused
// is remembered while they may not ask again.
func contactsLapse(p *people) {
	p.users("me", "a", "b")
	ask := func(u im.UserID, when time.Time) {
		p.pair(im.Contact{User: u, State: im.ContactAsked, Asked: when, Changed: when.Add(time.Hour)},
			im.Contact{User: "me", State: im.ContactAsksMe, Asked: when, Changed: when})
	}
	ask("a", at)
	ask("b", at.Add(time.Minute))
	lapsed, err := p.db.LapsedRequests(p.ctx, at, 10)
	p.ok(err)
	equal(p, "lapsed", lapsed, [][2]im.UserID{{"me", "a"}})
	list, err := p.db.Contacts(p.ctx, "me", "", at, 10)
	p.ok(err)
	equal(p, "open", len(list), 1)
	equal(p, "open", list[0].User, "b")
	p.pair(im.Contact{User: "a", State: im.ContactNone, Changed: at, AskAfter: at.Add(time.Hour)}, im.Contact{User: "me", State: im.ContactNone, Changed: at})
	for _, c := range []struct {
		now  time.Time
		left int
	}{{at, 2}, {at.Add(time.Hour), 1}} {
		_, err := p.db.PurgeContacts(p.ctx, at.Add(time.Second), c.now, 10)
		p.ok(err)
		got, err := p.db.ContactsSince(p.ctx, "me", 0, 10)
		p.ok(err)
		equal(p, "left of who was refused", len(got), c.left)
	}
}

// found tells who is found: usernames, or display names, begin with a prefix.
func (p *people) found(viewer im.UserID, prefix string) string {
	p.Helper()
	var s []string
	for _, names := range []bool{false, true} {
		q := im.UserSearch{Viewer: viewer, Prefix: prefix, Names: names, Limit: 2}
		for {
			page, err := p.db.SearchUsers(p.ctx, q)
			p.ok(err)
			for _, f := range page {
				s = append(s, string(f.ID))
				q.After, q.AfterID = f.Name, f.ID
			}
			if len(page) < q.Limit {
				break
			}
		}
		s = append(s, "|")
	}
	return strings.Join(s[:len(s)-1], " ")
}

func (p *people) named(id im.UserID, username, display string) {
	p.Helper()
	p.ok(p.db.CreateUser(p.ctx, im.Credentials{User: im.User{ID: id, Username: username, DisplayName: display, DMPolicy: im.DMContacts, Created: at}}))
}

func searchUsers(p *people) {
	p.named("1", "anna", "Zoe")
	p.named("2", "ann", "Anna Meyer")
	p.named("3", "bob", "ANNE")
	p.named("4", "", "\uff21\uff2eN of the north") // of full width
	p.named("5", "carl", "\u00c4nne")
	p.named("6", "", "100% _sure_")
	p.named("7", "", "\u4e2d\u6587\u540d")
	p.named("8", "", "anne")
	for _, c := range []struct{ prefix, want string }{
		{"ann", "2 1 | 4 3 8"}, {"ANN", "2 1 | 4 3 8"}, {"\uff41nn", "2 1 | 4 3 8"}, {"anna", "1 | 2"},
		{"\u00e4", "| 5"}, {"1", "| 6"}, {"%", "|"}, {"_", "|"}, {"100%", "| 6"}, {"\u4e2d", "| 7"}, {"zo", "| 1"}, {"nn", "|"},
	} {
		equal(p, c.prefix, p.found("", c.prefix), c.want)
	}
	name := "Anders"
	_, err := p.db.UpdateUser(p.ctx, "8", im.ProfileChange{DisplayName: &name})
	p.ok(err)
	equal(p, "another name", p.found("", "and"), "| 8")
	equal(p, "the old name", p.found("", "ann"), "2 1 | 4 3")
	n, err := p.db.FoldNames(p.ctx, 10)
	p.ok(err)
	equal(p, "nothing to fold", n, 0)
}

func searchWhoMayFind(p *people) {
	p.users("me")
	for id, policy := range map[im.UserID]im.FindPolicy{"u0": 0, "u1": im.FindAnyone, "u2": im.FindContacts, "u3": im.FindNobody, "f2": im.FindContacts, "f3": im.FindNobody, "b1": im.FindAnyone, "b2": im.FindContacts} {
		p.ok(p.db.CreateUser(p.ctx, im.Credentials{User: im.User{ID: id, Username: "name-" + string(id), DisplayName: "Person", DMPolicy: im.DMContacts, FindPolicy: policy, Created: at}}))
		if id[0] != 'u' {
			p.pair(im.Contact{User: id, State: im.ContactFriend}, im.Contact{User: "me", State: im.ContactFriend, Blocked: id[0] == 'b'})
		}
	}
	equal(p, "by username", p.found("me", "name"), "f2 u0 u1 |")
	equal(p, "by display name", p.found("me", "person"), "| f2 u0 u1")
	equal(p, "who hides finds themselves", p.found("u3", "name-u3"), "u3 |")
	equal(p, "the integrator", p.found("", "name"), "b1 b2 f2 f3 u0 u1 u2 u3 |")
	for id, want := range map[im.UserID]int{"u1": 1, "u2": 0, "u3": 0, "f2": 1, "f3": 0, "b1": 0} {
		got, err := p.db.SearchUsers(p.ctx, im.UserSearch{Viewer: "me", Username: "name-" + string(id), Limit: 1})
		p.ok(err)
		equal(p, string(id), len(got), want)
	}
}
